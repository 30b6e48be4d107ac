"""Evidence: one row per run (data set, repeat, method) of a study, small enough to be committed.

A row is current as long as the recorded numbers (``tests/recorded/numbers.json``) of the parts that
made it stay the same: code changes that change no number make no row stale. For searches by other
libraries, the driver and the pinned versions replace recorded numbers. For replays, the table's
checksum replaces those of pipelines: a row shows what methods find in that table.
"""

import csv
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensemble_search.analysis import curves, load, losses, pairwise
from ensemble_search.analysis.load import Results
from ensemble_search.analysis.ranks import Comparison
from ensemble_search.evaluation import table
from ensemble_search.papers.divbo import (
    member_diversity,
    minimum_diversity,
    pool_updates,
    suggested_learners,
)
from ensemble_search.papers.esmbo.checks import spaces
from ensemble_search.papers.esmbo.winning_frequencies import space_of
from ensemble_search.report.pages import divisions
from ensemble_search.results import layout, outdated
from ensemble_search.runtime import code_version, files, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.files import Missing
from ensemble_search.runtime.names import CLASSIFICATION

if TYPE_CHECKING:
    import pandas as pd

#: A study and its rows, as in ``evidence/<study>/``.
Evidence = tuple[Mapping[str, Any], Sequence[Mapping[str, str]]]

FILE = "runs.csv"
#: Columns that identify a row.
KEY = ("dataset", "repeat", "method")
COLUMNS = (
    *KEY,
    "split",
    "validation",  # loss by the study's metric, after the whole budget
    "test",
    "test_tenths",  # test losses after each tenth of the budget
    "validation_curve",  # the lowest loss so far, each time it falls, as iteration:loss or fit:loss
    "updates_100",  # ensembles that improved in the last 100 iterations, as in Table 4 of DivBO
    "updates_50",
    "members",
    "member_error",  # mean validation loss of the final ensemble's members
    "disagreement",  # between their predicted classes, mean over pairs
    "minimum_diversity",  # mean over the last fifth of the suggestions
    "suggested_error",  # mean validation loss of all suggestions that were fitted successfully
    "suggested_beats",  # share of the study's random search with a higher loss than this mean
    "evaluations",
    "failed",
    "cpu_seconds",
    "suggest_seconds",
    "test_rows",
    "majority",  # test error of the most frequent training class
    "numbers",
    "commit",
    "stale",
)
#: An additional column if the study has divisions: test losses on each, in order.
DIVISIONS = "test_divisions"
#: An additional column if the study is a replay: the first digits of the table's checksum.
TABLE = "table"
TABLE_DIGITS = 12
#: An additional column if the study has a space of the ESMBO paper and its four methods: after each
#: tenth of the budget, the chance that the run's model is better than another method's, by its
#: losses on single test rows, as in ``pairwise.chances``: ``RS:0.5/0.61/... SMBO:...``.
BETTER = "better"
#: An additional column if a data set has ``train_rows``: these, as JSON.
PART = "train_rows"
OPTIONAL = (DIVISIONS, TABLE, BETTER, PART)
#: Spaces whose operators are among the recorded pipelines; others have their own numbers.
COMMON = ("divbo", "divbo-small")
NONE = {"suggested_error": np.nan, "suggested_beats": np.nan}
ENVIRONMENTS = Path(__file__).parents[3] / "envs"
#: Number of digits of losses and seconds.
DIGITS = 6


def numbers(study: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, str]:
    """Return, by method, a digest of the numbers of its parts in ``tests/recorded/numbers.json``.

    Raises UserError if the optimizer, its diversity surrogate or the ensemble of a method has none.
    """
    found = {}
    for method, parts in study["methods"].items():
        search, ensemble = study["searches"][parts["search"]], study["ensembles"][parts["ensemble"]]
        search, ensemble = outdated.current(search, "optimizer"), outdated.current(ensemble, "type")
        made = plugins.make("optimizers", search, "optimizer", f"searches.{parts['search']}")
        library = getattr(made, "library", None)
        own = recorded["search"].get("random" if library else search["optimizer"], {})
        own = {**recorded.get("refitting", {}), **own}
        keys = "configurations", "errors", ensemble["type"]
        diversity = getattr(made, "diversity_surrogate", None)
        lacking = [search["optimizer"]] if keys[0] not in own else []
        lacking += [ensemble["type"]] if keys[2] not in own else []
        lacking += [diversity] if diversity not in (None, *recorded["surrogate"]) else []
        if lacking:
            raise UserError(
                f"methods.{method}: '{lacking[0]}' has no recorded numbers; run: make record"
            )
        surrogate = recorded["surrogate"].get(diversity)
        content = [{key: own[key] for key in keys}, surrogate, pipelines(study, recorded)]
        if library:
            content.append(_driver(library))
        # As in rows from before: with the settings that no longer exist.
        settings = [
            {**outdated.FORMER.get(search["optimizer"], {}), **search},
            {**outdated.FORMER.get(ensemble["type"], {}), **ensemble},
            *(study[key] for key in ("space", "metric", "limits")),
        ]
        settings += [_budget(study), study["split"], study["seed"]]
        if study.get("divisions"):
            settings.append(study["divisions"])
        found[method] = files.digest([content, settings])[:8]
    return found


def _budget(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's budget; keys newer than the first rows are included only if given."""
    first = ("evaluations", "fits", "seconds")
    return {k: v for k, v in study["budget"].items() if k in first or v is not None}


def pipelines(study: Mapping[str, Any], recorded: Mapping[str, Any]) -> Any:
    """Return the recorded numbers of the space's pipelines; empty if the study fits nothing."""
    if replayed(study):
        return None
    if study["space"] in COMMON:
        return recorded["pipeline"]
    if study["space"] not in recorded["space"]:
        raise UserError(f"space: '{study['space']}' has no recorded numbers; run: make record")
    return recorded["space"][study["space"]]


def replayed(study: Mapping[str, Any]) -> str | None:
    """Return the folder of tables on which a study is replayed; None if it is live."""
    return (study.get("evaluation") or {}).get("replay")


def data(study: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, str]]:
    """Return what rows of a data set and split have in the columns PART and TABLE.

    TABLE is left out if the study is no replay, or the table does not exist. Raises UserError if a
    ``table.json`` cannot be read.
    """
    folder, found = replayed(study), {}
    for dataset, split in product(study["datasets"], set(layout.splits(study))):
        found[dataset, split] = {PART: _part(study, dataset)}
        place = Path(str(folder), dataset, split)
        if folder and (place / table.MANIFEST).exists():
            checksum = table.checksum(table.manifest(place))
            found[dataset, split][TABLE] = checksum[:TABLE_DIGITS]
    return found


def _part(study: Mapping[str, Any], dataset: str) -> str:
    """Describe the part of a data set's training rows that is used; empty for all."""
    part = study.get("train_rows", {}).get(dataset)
    return json.dumps(part) if part else ""


def _driver(library: str) -> str:
    """Return a digest of a driver and of the versions in ``envs/``, instead of recorded numbers."""
    driver = plugins.load("drivers", library)
    pinned = ENVIRONMENTS / f"{driver.environment}.txt"
    versions = [pinned.read_text(encoding="utf-8")] if pinned.exists() else []
    return files.digest([code(driver), *versions])


def code(made: Any) -> str:
    """Return the code of the file of a module or class; comments and docstrings do not count."""
    return code_version.syntax(Path(inspect.getfile(made)).read_text(encoding="utf-8"))


def rows(
    study: Mapping[str, Any], results: Path, recorded: Mapping[str, Any]
) -> list[dict[str, str]]:
    """Return the rows of all finished runs of a study in ``results/<study>``, as text."""
    found = load.load(study, results)
    if found.manifests.empty:
        return []
    current = numbers(study, recorded)
    runs = found.manifests.set_index(["dataset", "search", "repeat"])
    sizes = found.datasets.set_index("dataset")
    diversity = minimum_diversity.follow(found, found.methods)
    diversity = diversity.groupby(["dataset", "method", "repeat"])["minimum"].mean()
    improved = pool_updates.count(found, found.methods).set_index(["dataset", "method", "repeat"])
    learners = _suggested(found)
    divided = divisions.load(found)[0].groupby(["dataset", "method", "repeat"])["test_error"]
    divided = {key: " ".join(map(text, losses)) for key, losses in divided}
    better = _better(found)
    made = []
    every = Comparison(found.scores, found.methods, [], [], 0)
    in_order = curves.over_budget(found, every).scores.sort_values("iteration")
    for key, scores in in_order.groupby(["dataset", "method", "repeat"], observed=True):
        dataset, method, repeat = key
        run = runs.loc[(dataset, study["methods"][method]["search"], repeat)]
        last, n = scores.iloc[-1], len(scores)
        ends = _tenths(n)
        tenths = np.where(ends > 0, scores["test_error"].to_numpy()[ends - 1], np.nan)
        row = {
            "dataset": dataset,
            "repeat": repeat,
            "method": method,
            "split": found.splits[repeat],
            "validation": last["validation_error"],
            "test": last["test_error"],
            "test_tenths": " ".join(map(text, tenths)),
            "validation_curve": _curve(scores["validation_error"].to_numpy()),
            **{f"updates_{n}": _count(improved, key, f"last_{n}") for n in pool_updates.SPANS},
            "members": int(last["members"]),
            **_members(found, dataset, method, repeat),
            "minimum_diversity": diversity.get(key, np.nan),
            **learners.get((dataset, study["methods"][method]["search"], repeat), NONE),
            "evaluations": run["evaluations"],
            "failed": run["evaluations"] - run["status"].get("ok", 0),
            "cpu_seconds": run["cpu_seconds"],
            "suggest_seconds": run["suggest_seconds"],
            "test_rows": int(sizes.loc[dataset, "test"]),
            "majority": sizes.loc[dataset, "majority_error"],
            "numbers": current[method],
            "commit": _commit(run),
            "stale": "",
        }
        if own := better.get(key):
            row[BETTER] = own
        if isinstance(run.get("table"), dict):
            row[TABLE] = run["table"]["checksum"][:TABLE_DIGITS]
        if part := _part(study, dataset):
            row[PART] = part
        if study.get("divisions"):
            if key not in divided:
                continue
            row[DIVISIONS] = divided[key]
        made.append({name: text(value) for name, value in row.items()})
    return made


def _tenths(n: int) -> np.ndarray:
    """Return the iterations at the end of each tenth of n; 0 before the first."""
    return np.arange(1, 11) * n // 10


def _better(found: Results) -> dict[tuple[str, str, int], str]:
    """Return :data:`BETTER` by data set, method and repeat; empty for other studies."""
    printed = spaces().get(space_of(found.study))
    if printed is None or not {*printed.index} <= {*found.study["methods"]}:
        return {}
    methods = [*printed.index]
    pairs = np.array([*permutations(range(len(methods)), 2)])
    made = {}
    for (dataset, repeat), own in found.scores.groupby(["dataset", "repeat"], observed=True):
        lengths = own.groupby("method", observed=True).size().reindex(methods, fill_value=0)
        try:
            stored = [found.sample_losses(method, dataset, repeat) for method in methods]
        except Missing:
            continue
        if lengths.nunique() > 1:
            continue
        tenths = np.repeat(_tenths(lengths.iloc[0])[:, None], len(methods), axis=1)
        chances = pairwise.of_run(stored, tenths, pairs).T
        for place, method in enumerate(methods):
            others = zip(pairs, chances, strict=True)
            made[dataset, method, repeat] = " ".join(
                f"{methods[other]}:{'/'.join(f'{p:.4g}' for p in own_chances)}"
                for (first, other), own_chances in others
                if first == place
            )
    return made


def _commit(run: "pd.Series") -> str:
    """Return the commit of a search, with ``+`` after changes; outside a repository, "unknown"."""
    if not isinstance(run["commit"], str):
        return "unknown"
    return run["commit"][:12] + ("+" if run["dirty"] else "")


def _curve(losses: np.ndarray) -> str:
    """Format the iterations at which the lowest loss so far falls."""
    lowest = np.fmin.accumulate(np.where(np.isnan(losses), np.inf, losses))
    falls = np.flatnonzero(lowest < np.append(np.inf, lowest[:-1]))
    return " ".join(f"{place + 1}:{text(float(lowest[place]))}" for place in falls)


def _suggested(found: Results) -> dict[tuple, dict[str, float]]:
    """Quality of the suggestions of each search (data set, search, repeat)."""
    searches = found.study["searches"]
    uniform = [name for name, search in searches.items() if search["optimizer"] == "random"]
    made = {}
    for (dataset, repeat), runs in found.observations.groupby(["dataset", "repeat"]):
        table = suggested_learners.errors(runs)
        drawn = runs[runs["search"].isin(uniform[:1])]["error"].dropna()
        table["beats"] = suggested_learners.beaten(table, {dataset: drawn.to_numpy()})
        for search, mean, beats in zip(table["search"], table["mean"], table["beats"], strict=True):
            made[dataset, search, repeat] = {"suggested_error": mean, "suggested_beats": beats}
    return made


def _count(counts: "pd.DataFrame", key: tuple, column: str) -> float:
    return float(counts.at[key, column]) if key in counts.index else np.nan


def _members(found: Results, dataset: str, method: str, repeat: int) -> dict[str, float]:
    """Mean loss and disagreement of the members of a final ensemble; NaN if not stored.

    Members of regressions, which predict no classes, have no disagreement.
    """
    try:
        final = member_diversity.read(found, method, dataset, repeat)
    except Missing:
        return {"member_error": np.nan, "disagreement": np.nan}
    search = found.study["methods"][method]["search"]
    errors = found.errors(dataset, search, repeat)[np.array(final.members, dtype=int) - 1]
    mean = float(errors.mean()) if len(errors) else np.nan
    disagreement = final.disagreement if found.losses.task == CLASSIFICATION else np.nan
    return {"member_error": mean, "disagreement": disagreement}


def tenths(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return test losses after each tenth of the budget, shape (runs, 10); NaN without a model."""
    import pandas as pd

    return rows["test_tenths"].str.split(" ", expand=True).apply(pd.to_numeric)


def with_failures(
    study: Mapping[str, Any], rows: Iterable[Mapping[str, str]]
) -> list[Mapping[str, str]]:
    """Give runs that never had a model a validation and test loss; see ``Losses.with_failures``."""
    import pandas as pd

    made: list[Mapping[str, str]] = list(rows)
    for column in ("validation", "test"):
        runs = {place: row for place, row in enumerate(made) if column in row}
        values = pd.to_numeric(pd.Series({place: row[column] for place, row in runs.items()}))
        if not values.isna().any():
            continue
        datasets = pd.Series({place: row["dataset"] for place, row in runs.items()})
        filled = losses.of(study).with_failures(values, datasets)
        for place in values.index[values.isna()]:
            made[place] = {**made[place], column: text(float(filled[place]))}
    return made


def levelled(means: "pd.DataFrame") -> "pd.DataFrame":
    """Make means of stored losses equal, per row, that differ only by the digits not stored.

    Otherwise, repeats with the same number of errors in all could be ahead or behind.
    """
    import pandas as pd

    values = means.to_numpy(float)
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    apart = np.diff(ordered, axis=1) > 10.0 ** (1 - DIGITS) * np.abs(ordered[:, 1:])
    places = np.arange(1, values.shape[1]) * apart
    firsts = np.maximum.accumulate(np.pad(places, ((0, 0), (1, 0))), axis=1)
    made = np.empty_like(values)
    np.put_along_axis(made, order, np.take_along_axis(ordered, firsts, axis=1), axis=1)
    return pd.DataFrame(np.where(np.isnan(values), np.nan, made), means.index, means.columns)


def text(value: Any) -> str:
    """Format a value of a row."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.{DIGITS}g}"
    return str(value)


def read(folder: Path, name: str = FILE, columns: Sequence[str] = COLUMNS) -> list[dict[str, str]]:
    """Read the rows of ``evidence/<study>``; empty without a file.

    Raises UserError if a line has columns other than these and, optionally, :data:`OPTIONAL`.
    """
    path = folder / name
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    for line, row in enumerate(found, 2):
        if not {*columns} <= {*row} <= {*columns, *OPTIONAL} or None in row.values():
            raise UserError(f"'{path}': line {line} does not have the columns {', '.join(columns)}")
    return found


def merge(
    old: Iterable[Mapping[str, str]],
    new: Iterable[Mapping[str, str]],
    current: Mapping[str, str],
    there: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
) -> list[dict[str, str]]:
    """Replace old rows of the same run by new ones, mark stale rows, and sort by :data:`KEY`.

    Rows are stale if their numbers are not ``current`` (:func:`numbers`), or if their data are not
    those ``there`` (:func:`data`; none by default).
    """
    merged = {tuple(row[key] for key in KEY): dict(row) for row in [*old, *new]}
    for row in merged.values():
        now = (there or {}).get((row["dataset"], row.get("split", "")), {})
        same = all(row.get(column, "") == value for column, value in now.items())
        row["stale"] = "" if same and row["numbers"] == current.get(row["method"]) else "yes"
    return sorted(
        merged.values(), key=lambda row: (row["dataset"], int(row["repeat"]), row["method"])
    )


def write(
    folder: Path,
    content: Iterable[Mapping[str, str]],
    name: str = FILE,
    columns: Sequence[str] = COLUMNS,
) -> None:
    """Write the rows of ``evidence/<study>``, with the :data:`OPTIONAL` columns that they have."""
    content = list(content)
    columns = [*columns, *(key for key in OPTIONAL if any(key in row for row in content))]
    folder.mkdir(parents=True, exist_ok=True)
    with files.atomic(folder / name) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(content)


def missing(
    study: Mapping[str, Any], content: Iterable[Mapping[str, str]]
) -> list[tuple[int, str]]:
    """List the repeats of data sets that lack a current row of some method.

    Pairs (repeat, data set), ordered by repeat: all data sets of repeat 0, then of repeat 1, and so
    on.
    """
    there = {tuple(row[key] for key in KEY) for row in content if not row["stale"]}
    return [
        (repeat, dataset)
        for repeat in range(study["repeats"])
        for dataset in study["datasets"]
        if not all((dataset, str(repeat), method) in there for method in study["methods"])
    ]


def progress(study: Mapping[str, Any], content: Iterable[Mapping[str, str]]) -> tuple[int, int]:
    """Count the repeats of data sets that are done, and all of them."""
    total = study["repeats"] * len(study["datasets"])
    return total - len(missing(study, content)), total
