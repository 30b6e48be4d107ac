"""The papers' numbers beside those of rows, by hand."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.evidence import published
from ensemble_search.evidence import rows as evidence
from ensemble_search.papers.printed import values


def table(losses: dict, column: str = "test") -> pd.DataFrame:
    """Rows of runs; ``losses`` by (dataset, repeat) and method, the same after each tenth.

    NaN: without a model.
    """
    runs = pd.DataFrame(
        [
            {
                "dataset": d,
                "repeat": r,
                "method": method,
                column: loss,
                "test_tenths": " ".join([evidence.text(loss)] * 10),
                evidence.BETTER: "",
            }
            for (d, r), by in losses.items()
            for method, loss in by.items()
        ]
    )
    filled = pd.DataFrame(evidence.with_failures({}, runs.to_dict("records")))
    return filled.astype({column: float})


def study(name, space, methods, datasets, **more):
    return {
        "study": name,
        "space": space,
        "methods": {method: {} for method in methods},
        "datasets": list(datasets),
        "budget": {"evaluations": 150},
        **more,
    }


METHODS = ("ESMBO", "RS", "SMBO", "ERS")


def losses(*values):
    return dict(zip(METHODS, values, strict=True))


#: On d, ESMBO wins one repeat against RS and ties in the other; on e, it loses to all.
RUNS = {
    ("d", 0): losses(0.1, 0.2, 0.3, 0.4),
    ("d", 1): losses(0.2, 0.2, 0.3, 0.4),
    ("e", 0): losses(0.4, 0.1, 0.2, 0.3),
    ("e", 1): losses(0.4, 0.1, 0.2, 0.3),
}


def test_shares_of_repeats_won():
    shares = published.won(table(RUNS), [*METHODS])
    assert shares[0, 0].tolist() == [0.5, 0.75, 1, 1]
    assert shares[1, 0].tolist() == [0.5, 0, 0, 0]
    assert shares + shares.swapaxes(1, 2) == pytest.approx(np.ones((2, 4, 4)))


def test_winning_frequencies_and_ranks_by_hand():
    text = "\n".join(published.lines(study("esmbo-svm", "svm", METHODS, "de"), table(RUNS)))
    assert text.startswith("\n## Beside the paper's numbers\n")
    assert "averaged over 2 data sets" in text
    assert "The paper has 39 data sets of its own." in text
    assert "the paper's are averages over the last 15 iterations" in text
    # Two standard errors, with 2 and 39 data sets: sqrt(1 / 2 + 1 / 39).
    assert "for shares near one half, these are 0.73." in text
    # ESMBO: 0.75 and 0; 1 and 0; 1 and 0. Ranks on d: 1 and 1.5, on e: 4.
    assert "| ESMBO |  | 0.38 (0.54) | 0.50 (0.55) | 0.50 (0.56) | 2.62 (2.35) |" in text
    assert "Without ≠, they need not agree" in text
    # RS: ranks 2 and 1.5, and 1.
    assert "| 1.38 (2.52) |" in text


def test_sign_tests_by_hand():
    text = "\n".join(published.lines(study("esmbo-svm", "svm", METHODS, "de"), table(RUNS)))
    # ESMBO wins on one of two data sets: p = 1; RS on both against SMBO and ERS: p = 2/4.
    assert "\n| ESMBO |  | 1/0/1: 1.00 | 1/0/1: 1.00 | 1/0/1: 1.00 |\n" in text
    assert "\n| RS | 1/0/1: 1.00 |  | 2/0/0: 0.50 | 2/0/0: 0.50 |\n" in text
    assert "\n| SMBO | 1/0/1: 1.00 | 0/0/2: 0.50 |  | 2/0/0: 0.50 |\n" in text
    assert "two-sided, without ties: it does not say which is ahead" in text
    assert "These are 6 tests, each shown from both sides, without correction" in text
    # One of two repeats each: as many.
    level = {("d", 0): losses(1, 2, 3, 4), ("d", 1): losses(2, 1, 3, 4)}
    runs = table({**RUNS, **level})
    text = "\n".join(published.lines(study("esmbo-svm", "svm", METHODS, "de"), runs))
    assert "\n| ESMBO |  | 0/1/1: 1.00 | 1/0/1: 1.00 | 1/0/1: 1.00 |\n" in text


def test_expected_ranks_over_the_budget():
    """ESMBO has no model after the first tenth of the repeats on d, and then the lowest loss."""
    runs = table(RUNS).set_index(["dataset", "method"])
    runs.loc[("d", "ESMBO"), "test_tenths"] = " ".join(["", *["0.05"] * 9])
    of = study("esmbo-svm", "svm", METHODS, "de")
    lines = published.lines(of, runs.reset_index())
    place = lines.index(f"|  | {' | '.join(f'{10 * k} %' for k in range(1, 11))} |")
    # In the paper's order: ESMBO, RS, SMBO, ERS. On e, ESMBO is always the last, RS the first.
    first, later = [4, 1, 2, 3], [2.5, 1.5, 2.5, 3.5]
    for line, method, *ranks in zip(
        lines[place + 2 :], ("ESMBO", "RS", "SMBO", "ERS"), first, later, strict=False
    ):
        assert (
            line == f"| {method} | {' | '.join(f'{r:.2f}' for r in [ranks[0], *9 * ranks[1:]])} |"
        )
    text = "\n".join(lines)
    assert "curve over the iterations for each method (Figure 2, right-hand column)" in text
    assert "whose numbers are not printed" in text
    of = study("esmbo-svr", "svr", METHODS, "de", metric="squared-error")
    assert "(Figure 1, right-hand column)" in "\n".join(published.lines(of, runs.reset_index()))


def test_poisson_binomial_test_by_hand():
    """ESMBO's chance against RS on d is 0.5, in one repeat 1 from the middle on; on e, it is 1."""
    of = study("esmbo-svm", "svm", METHODS, "de")
    runs = table(RUNS)
    assert "Poisson binomial test: probability" not in "\n".join(published.lines(of, runs))
    against_rs = {("d", 0): [0.5] * 5 + [1.0] * 5, ("d", 1): [0.5] * 10}
    found = []
    for run in runs.itertuples():
        chances = {other: [0.75] * 10 for other in METHODS if other != run.method}
        if run.method == "ESMBO":
            chances["RS"] = against_rs.get((run.dataset, run.repeat), [1.0] * 10)
        listed = (f"{m}:{'/'.join(map(str, values))}" for m, values in chances.items())
        found.append(" ".join(listed))
    runs = runs.assign(better=found)
    text = "\n".join(published.lines(of, runs))
    assert "From 4 repeats on 2 data sets. For the marks" in text
    # After winning two of two data sets, the share is Beta(3, 1), above 1/2 with 7/8; one, Beta(2,
    # 2), with 1/2; none, with 1/8. Chances of 1/2 and 1: 11/16; 3/4 and 1: 25/32; twice 3/4: 11/16.
    assert f"\n| RS | {' | '.join(['0.69'] * 5 + ['0.78'] * 5)} |" in text
    assert f"\n| SMBO | {' | '.join(['0.69'] * 10)} |" in text
    assert "\n| ESMBO |  | 0.78 | 0.69 | 0.69 |\n" in text
    assert "(Figure 2, left-hand column)" in text
    # A repeat counts if all four methods have chances.
    runs.loc[runs.index[0], "better"] = ""
    text = "\n".join(published.lines(of, runs))
    assert "From 3 repeats on 2 data sets; rows of older versions lack" in text


def test_marks_of_the_paper_stand_beside_the_sign_test():
    of = study("esmbo-mlp", "mlp", METHODS, "de")
    text = "\n".join(published.lines(of, table(RUNS)))
    # In the paper's order: ESMBO, SMBO, ERS, RS.
    assert "\n| ESMBO |  | 1/0/1: 1.00 (∘) | 1/0/1: 1.00 (••) | 1/0/1: 1.00 (••) |\n" in text
    # As in the paper's Table 1, each test has thresholds of its own.
    light, full, _ = values("esmbo", "significance").values()
    assert f"(∘: a probability above {light[0]} of being better, •: above {full[0]})" in text
    assert f"(∘: p below {light[1]}, •: below {full[1]})" in text


def test_equal_methods_have_equal_ranks_even_if_none_has_a_model():
    none = dict.fromkeys(RUNS, losses(*[np.nan] * 4))
    text = "\n".join(published.lines(study("esmbo-svm", "svm", METHODS, "de"), table(none)))
    assert text.count("| 2.50 (2.") == 4


def test_what_has_no_numbers_of_the_paper():
    assert published.lines(study("made", "svm", METHODS, "de"), table(RUNS)) == []
    assert published.lines(study("esmbo-bootstraps", "divbo", METHODS, "de"), table(RUNS)) == []
    assert published.lines(study("boasf-grid", "logistic-regression-hpo", (), "de"), RUNS) == []
    one = {key: value for key, value in RUNS.items() if key[0] == "d"}
    assert published.lines(study("esmbo-svm", "svm", METHODS, "de"), table(one)) == []


SOURCES = {
    "asbestos": {"openml": 459},
    "wine": {"sklearn": "wine"},
    "digits": {"sklearn": "digits"},
    "adult": {"openml": 1590},
    "other": {"openml": 1},
}


def test_balanced_accuracies_by_hand():
    methods = ("BOASF", "Hyperopt", "BOHB", "RS")
    runs = {
        (d, r): {"BOASF": 0.2 + 0.02 * r, "Hyperopt": 0.3, "BOHB": 0.21, "RS": 0.0}
        for d in SOURCES
        for r in (0, 1)
    }
    name = "boasf-logistic-regression"
    of = study(name, "logistic-regression-hpo", methods, SOURCES, sources=SOURCES)
    text = "\n".join(published.lines(of, table(runs, "validation")))
    assert "on validation rows, means over repeats, on the 4 data sets so far" in text
    assert "In parentheses: Table 2 of the paper" in text
    assert "| data set | in the paper | BOASF | Hyperopt (Hyperopt-full) | BOHB |" in text
    # Losses 0.2 and 0.22.
    for row in (
        "| asbestos | openml_459 | 79.0 (81.1, 82.5) | 70.0 (82.5, 82.5) | 79.0 (82.8, 82.8) |",
        "| wine | wine | 79.0 (98.6, 94.4) | 70.0 (94.1, 94.1) | 79.0 (92.7, 94.4) |",
        "| digits | digits | 79.0 (95.0, 95.4) | 70.0 (95.3, 95.4) | 79.0 (93.8, 95.0) |",
        "| adult | adult | 79.0 (76.6, 66.0) | 70.0 (66.0, 66.2) | 79.0 (76.6, 66.0) |",
    ):
        assert row in text
    assert "other" not in text.partition("| --- |")[2]
    assert "\n| Hyperopt (Hyperopt-full) | 4/0/0: 0.12 | 2/0/2: 1 | 1/2/1: 1 |\n" in text
    assert "\n| BOHB | 0/4/0: 1 | 2/1/1: 1 | 1/2/1: 1 |" in text


def test_a_repeat_without_a_model_has_the_worst_accuracy():
    """As in the report: leaving it out would reward a method that fails."""
    runs = {("wine", 0): {"BOASF": np.nan, "BO": 0.2}, ("wine", 1): {"BOASF": 0.1, "BO": 0.2}}
    of = study("boasf-models", "boasf", ("BOASF", "BO"), ["wine"], sources=SOURCES)
    text = "\n".join(published.lines(of, table(runs)))
    # Accuracies 0 and 0.9.
    assert "| wine | wine | 45.0 (99.3, 99.3) | 80.0 (99.3, 99.3) |" in text


def test_table_1_is_compared_on_test_rows():
    methods = ("BOASF", "BO", "SelectBest", "RF-TPE", "Hyperopt")
    runs = {("wine", 0): dict(zip(methods, (0.01, 0.02, 0.01, 0.0, 0.5), strict=True))}
    of = study("boasf-models", "boasf", methods, ["wine"], sources=SOURCES)
    text = "\n".join(published.lines(of, table(runs)))
    assert "The paper does not say on which rows its accuracies are." in text
    assert (
        "| wine | wine | 99.0 (99.3, 99.3) | 98.0 (99.3, 99.3) | 99.0 (97.7, 97.7) | "
        "100.0 (97.7, 97.2) |"
    ) in text
    assert "\n| BO (AutoSklearn) | 1/0/0: 1 | 0/1/0: 1 | 0/1/0: 1 |\n" in text
    assert "\n| RF-TPE (RandomForest&TPE) | 0/0/1: 1 | 1/0/0: 1 | 1/0/0: 1 |" in text


def test_wins_and_ties_by_settings_of_boasf():
    """On d, c2 ties and c3 wins over the mean of repeats; on e, both lose by validation losses."""
    settings = {"c2": {"exploration": 2.0}, "c3": {"exploration": 3.0}}
    searches = {name: {"optimizer": "boasf", "rounds": 2} | of for name, of in settings.items()}
    of = study(
        "boasf-grid",
        "logistic-regression-hpo",
        (),
        "de",
        searches={**searches, "tpe": {"optimizer": "tpe"}},
        ensembles={"best": {"type": "best"}},
    )
    names = {"c2": "c2", "c3": "c3", "Hyperopt": "tpe"}
    of["methods"] = {m: {"search": search, "ensemble": "best"} for m, search in names.items()}
    runs = {
        ("d", 0): {"c2": 0.1, "c3": 0.1, "Hyperopt": 0.3},
        ("d", 1): {"c2": 0.3, "c3": 0.2, "Hyperopt": 0.1},
        ("e", 0): {"c2": 0.3, "c3": 0.3, "Hyperopt": 0.2},
    }
    rows = table(runs, "validation").assign(test=0.1)
    rows.loc[(rows["dataset"] == "d") & (rows["method"] == "c2"), "test"] = 1.0
    text = "\n".join(published.lines(of, rows))
    assert text.startswith("\n## Beside the paper's numbers\n\nPercentage of data sets on which")
    assert "is not worse than Hyperopt, by the mean loss over repeats; equal means" in text
    assert "data sets with a lower, equal and higher loss, and p of a sign test" in text
    head = "|  | r = 2 |\n| --- | --- |\n"
    assert f"Validation losses, 2 data sets:\n\n{head}| c = 2 | 50 (0/1/1: 1.00) |\n" in text
    assert "\n| c = 3 | 50 (1/0/1: 1.00) |\n" in text
    assert f"Test losses, 2 data sets:\n\n{head}| c = 2 | 50 (0/1/1: 1.00) |\n" in text
    assert "\n| c = 3 | 100 (0/2/0: 1.00) |" in text
    of["methods"].pop("Hyperopt")
    assert published.lines(of, rows[rows["method"] != "Hyperopt"]) == []
