"""The page on winning frequencies, expected ranks and their tests."""

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import poisson_binomial
from ensemble_search.report import pages, write
from ensemble_search.runtime.errors import UserError
from support import made_results as made
from support.html_page import text_of

pytestmark = pytest.mark.slow

DATASETS = [f"d{i}" for i in range(8)]
TITLE = "Do the differences hold over data sets?"
LEVELS = {"RS": 0.6, "RS-ES": 0.4, "DivBO": 0.35}


def errors(method: str, dataset: str, repeat: int):
    """RS is the worst by far; DivBO has a lower error than RS-ES on 6 of 8 data sets."""
    level = LEVELS[method] if dataset < "d6" or method != "DivBO" else 0.45
    return [level] * 20, [level] * 20


def errors_alike(method: str, dataset: str, repeat: int):
    level = 0.4 if (method == "RS") == (dataset == "d0") else 0.3999
    return [level] * 20, [level] * 20


@pytest.fixture(autouse=True)
def without_other_pages(monkeypatch):
    monkeypatch.setattr(pages, "modules", lambda: [f"{pages.__name__}.over_data_sets"])


@pytest.fixture
def study(tmp_path):
    content = made.study(datasets=DATASETS, repeats=2, budget=20)
    made.write(tmp_path, content, errors)
    return content, tmp_path


def page(content: dict, results) -> str:
    assert write.write(content, results, results / "report") == []
    return text_of(results / "report/pages/over-data-sets.html")


def test_the_table(study):
    content, results = study
    text = page(content, results)
    tex = (results / "report/tables/over-data-sets-winning.tex").read_text()
    pairs = pd.read_csv(results / "report/tables/over-data-sets-winning.csv")
    pairs = pairs.set_index(["method", "against"])
    # RS has 15 wrong labels or more that are right there, so that 8 wins of 8 are all but certain;
    # RS-ES has 5, or lacks 5.
    pair = pairs.loc["DivBO", "RS"]
    assert pair["winning_frequency"] == 1 and pair["expected_rank"] == 1.25
    assert pair["probability"] == pytest.approx(1 - 0.5**9, abs=1e-3)
    assert pair["p"] == pairs.loc["RS", "DivBO"]["p"] == pytest.approx(0.5**7)
    pair = pairs.loc["DivBO", "RS-ES"]
    assert pair["winning_frequency"] == 0.75
    chances = np.repeat([1 - 0.5**6, 0.5**6], [6, 2])
    assert pair["probability"] == pytest.approx(poisson_binomial.better(chances))
    assert pair["p"] == pytest.approx(2 * 37 / 256)
    assert "two-sided, without ties, shown beside the higher frequency of a pair" in text
    assert "of 3 sign tests without any true difference, up to 0.15 would" in text
    assert "DivBO1.00 ●●0.75 ∘–1.25" in text
    assert "RS-ES1.00 ●●0.251.75" in text
    assert "RS0.000.003.00" in text  # significantly worse, without a symbol
    assert r"DivBO & 1.00 {\Large$\bullet$}{\Large$\bullet$} & 0.75 $\circ$--" in tex
    assert r"\textbf{1.25}" in tex and r"\textbf{1.75}" not in tex
    assert "share of 8 data sets, mean over iterations 6 to 20, ties count one half" in text
    assert "At the last iteration the probability is above 0.95 against RS." in text
    figures = {path.name for path in (results / "report/figures").glob("over-data-sets-*.csv")}
    assert figures == {"over-data-sets-ranks.csv", "over-data-sets-probabilities.csv"}


def test_ensembles_of_older_versions_must_be_made_again(study):
    content, results = study
    (results / "ensembles/d3/search-rs/ensemble-rs/1/losses.npz").unlink()
    text = page(content, results)
    assert "There is no Poisson binomial test: not all ensembles have the losses of single" in text
    assert "the next run of the study rebuilds these ensembles." in text
    assert "DivBO1.00 ●0.751.25" in text
    assert "How sure" not in text


def test_a_damaged_file_ends_the_report(study):
    content, results = study
    path = results / "ensembles/d3/search-rs/ensemble-rs/1/losses.npz"
    path.write_bytes(path.read_bytes()[:90])
    with pytest.raises(UserError, match=f"cannot read '{path}': .*; remove the folder") as caught:
        write.write(content, results, results / "report")
    assert "\n" not in str(caught.value)


def test_a_metric_that_is_no_mean_over_samples(tmp_path):
    content = made.study(datasets=DATASETS, repeats=2, budget=20) | {"metric": "auc"}
    made.write(tmp_path, content, errors)
    text = page(content, tmp_path)
    assert "There is no Poisson binomial test: the metric is not a mean over test samples." in text
    assert "DivBO1.00 ●0.751.25" in text


def test_symbols_are_explained_if_there_are_some(study, tmp_path):
    text = page(*study)
    assert "The values behind the symbols" in text and "First symbol: Poisson binomial" in text
    content = made.study(datasets=["d0", "d1"], repeats=2, budget=20)  # p-values of 1/4 or more
    for metric in ("error", "auc"):
        made.write(tmp_path / metric, content := {**content, "metric": metric}, errors_alike)
        text = page(content, tmp_path / metric)
        assert "the two of a pair add up to 1. Bold: lowest expected rank." in text
        assert "symbol" not in text and "•" not in text


def test_methods_are_compared_after_equal_full_fits_if_the_budget_is_in_these(tmp_path):
    """RS evaluates on half of the rows: after n full fits, it has made 2 n evaluations."""
    content = made.study(["RS", "DivBO"], ["d0", "d1"], repeats=1)
    content["budget"] = {"fits": 4}
    tests = {"RS": [0.5, 0.5, *[0.1] * 6], "DivBO": [0.3] * 4}
    made.write(tmp_path, content, lambda m, *_: (tests[m], tests[m]), fidelity={"RS": 0.5})
    text = page(content, tmp_path)
    assert "share of 2 data sets, mean over full fits 1 to 4, ties count one half" in text
    assert "Expected rank over full fits" in text and "iteration" not in text
    figures = tmp_path / "report/figures"
    ranks = pd.read_csv(figures / "over-data-sets-ranks.csv").set_index("method")["rank"]
    assert ranks["RS"].tolist() == [2, 1, 1, 1] and ranks["DivBO"].tolist() == [1, 2, 2, 2]
    better = pd.read_csv(figures / "over-data-sets-probabilities.csv")["probability"]
    assert better[0] > 0.8 and max(better[1:]) < 0.2


def test_one_data_set_is_not_enough(tmp_path):
    content = made.study(datasets=["d0"], budget=20)
    made.write(tmp_path, content, errors)
    assert write.write(content, tmp_path, tmp_path / "report") == []
    assert not (tmp_path / "report/pages/over-data-sets.html").exists()
    text = text_of(tmp_path / "report/index.html")
    assert f"{TITLE} it needs runs on at least 2 data sets" in text.replace(": it", " it")
