"""Synthetic errors in the form that analyses take."""

import pandas as pd


def frame(runs: dict[tuple[str, str, int], list[float]], validation=None) -> pd.DataFrame:
    """Scores of runs given as (method, dataset, repeat) -> test errors by iteration."""
    parts = []
    for (method, dataset, repeat), test in runs.items():
        val = (validation or runs)[method, dataset, repeat]
        columns = {"method": method, "dataset": dataset, "repeat": repeat}
        columns |= {"iteration": range(1, len(test) + 1), "validation_error": val}
        parts.append(pd.DataFrame({**columns, "test_error": test, "members": 2}))
    scores = pd.concat(parts, ignore_index=True)
    for column in ("method", "dataset"):
        scores[column] = pd.Categorical(scores[column], scores[column].unique())
    return scores


def final(table: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Final errors given as dataset -> method -> errors by repeat."""
    parts = {d: pd.DataFrame(errors) for d, errors in table.items()}
    return pd.concat(parts, names=["dataset", "repeat"])


def observations() -> pd.DataFrame:
    rows = [
        ("d", "s", 0, 1, "ok", 1.0, 9.0, 8.0, None, None, "knn"),
        ("d", "s", 0, 2, "crash", 2.0, 3.0, 2.0, "ValueError", "b", "lda"),
        ("d", "s", 1, 1, "crash", 3.0, 2.0, 2.0, "ValueError", "a", "lda"),
        ("e", "s", 1, 1, "timeout", 2.0, 8.0, 3.0, "", None, "knn"),
    ]
    columns = ["dataset", "search", "repeat", "iteration", "status", "suggest_seconds"]
    columns += ["fit_seconds", "cpu_seconds", "error_type", "message", "algorithm"]
    return pd.DataFrame(rows, columns=columns)
