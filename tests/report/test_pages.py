"""Pages of the report: their numbers by hand, and that every page is written."""

import re
import sys
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.transforms import Bbox

from ensemble_search.analysis import datasets, ranks
from ensemble_search.analysis.load import diversities, load
from ensemble_search.analysis.losses import ERROR
from ensemble_search.data import normalise, paper_sets, prepare, split
from ensemble_search.data.sources import Raw, source_key
from ensemble_search.papers import agreement
from ensemble_search.papers.divbo import (
    minimum_diversity,
    pool_updates,
    rank_curves,
    speed_up,
    suggested_learners,
)
from ensemble_search.papers.divbo.test_errors import common_ranks
from ensemble_search.problems.classification import CLASSIFICATION
from ensemble_search.report import pages, write
from ensemble_search.report.plots import curve_figures, figures
from ensemble_search.runtime import code_version
from ensemble_search.runtime.files import Missing
from support import ROOT, SCRIPTS
from support import made_results as made
from support.html_page import Page, text_of

pytestmark = pytest.mark.slow

nan = np.nan


# What the paper prints


def test_the_printed_ranks_of_table_1_follow_from_its_printed_means():
    errors = agreement.errors("test-error").pivot(index="dataset", columns="method", values="mean")
    printed = agreement.entry("test-rank")["values"]
    table = ranks.rank(errors[list(printed)].to_numpy())
    assert table.shape == (15, 9)
    assert table.sum(axis=1).tolist() == [45] * 15
    assert dict(zip(printed, table.mean(axis=0).round(2), strict=True)) == printed


def test_the_printed_counts_of_lowest_errors_follow_from_the_printed_means():
    errors = agreement.errors("test-error").pivot(index="dataset", columns="method", values="mean")
    counts = ranks.lowest(errors)
    assert counts.sum() == 15
    assert counts[counts > 1].to_dict() == agreement.entry("best-datasets")["values"]


def test_the_data_sets_of_the_paper_are_those_of_its_study_and_its_table():
    study = yaml.safe_load((ROOT / "config.yaml").read_text())
    assert {d: s["openml"] for d, s in study["datasets"].items()} == paper_sets.IDS
    assert set(agreement.entry("test-error")["values"]) == set(paper_sets.IDS)


@pytest.mark.parametrize("name", ["weight-error", "size-error", "autogluon-error"])
def test_what_the_paper_calls_significant_agrees_with_its_means(name):
    entry = agreement.entry(name)
    subject, other = entry["significant"]["of"]
    better, same = (entry["significant"][outcome] for outcome in ("better", "same"))
    rest = set(entry["values"]) - {*better, *same}
    assert len(better) + len(same) + len(rest) == 5
    assert all(d in entry["significant"]["also"] for d in rest)
    for dataset in better:
        means = entry["values"][dataset]
        assert means[subject][0] < means[other][0]


def ours(mean: float, std: float = 0.01, repeats: int = 10) -> pd.DataFrame:
    row = {"dataset": "quake", "method": "DivBO", "mean": mean, "std": std, "repeats": repeats}
    return pd.DataFrame([row, {**row, "method": "mine"}])


STUDY = {
    "datasets": ["quake"],
    "budget": {"evaluations": 250},
    "repeats": 10,
    "space": "divbo",
    "sources": {"quake": {"openml": 772}},
}


def test_errors_agree_within_two_standard_errors():
    # Printed: 45.55 ± 1.37. 0.01² / 10 + 0.0137² / 10 + 2 · 0.4528 · 0.5472 / 436 = 0.03414².
    found = agreement.compare_errors(STUDY, "test-error", ours(0.45), {"quake": 436}).iloc[0]
    assert (found["method"], found["verdict"]) == ("DivBO", "agrees")
    assert found[["published", "error"]].tolist() == pytest.approx([0.4555, 0.03414], rel=1e-3)
    for mean, verdict in ((0.4555 + 0.067, "agrees"), (0.4555 + 0.069, "differs")):
        table = agreement.compare_errors(STUDY, "test-error", ours(mean), {"quake": 436})
        assert table["verdict"].tolist() == [verdict]  # "mine" is not printed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": {"evaluations": 60}}, "60 evaluations instead of 250"),
        ({"budget": {"seconds": 60}}, "a budget in seconds"),
        ({"repeats": 3}, "3 repeats instead of 10"),
        ({"space": "divbo-small"}, "space divbo-small instead of divbo"),
        ({"split": {"resample": "per-repeat"}}, "a split for every repeat"),
        ({"split": {"resample": 3}}, "3 splits instead of one"),
        ({"sources": {"quake": {"file": "q.csv"}}}, "quake is not OpenML's 772"),
    ],
)
def test_other_settings_cannot_be_compared(change, words):
    assert agreement.obstacles(STUDY, "test-error", ["quake"]) == []
    study = {**STUDY, **change}
    found = agreement.compare_errors(study, "test-error", ours(0.45), {"quake": 436}).iloc[0]
    assert found["verdict"] == agreement.INCOMPARABLE
    assert words in found["reason"]
    assert "1 of the paper's 15 data sets" in agreement.obstacles(STUDY, "test-rank")


def test_common_ranks_leave_out_methods_that_lack_a_data_set():
    rows = [("d", "A", 0.1, 0.4), ("d", "B", 0.2, 0.3), ("e", "A", 0.2, 0.2), ("e", "B", 0.2, 0.1)]
    rows.append(("d", "C", 0.0, 0.0))
    table = pd.DataFrame(rows, columns=["dataset", "method", "ours", "published"])
    assert common_ranks(table).to_dict() == {
        "ours": {"A": 1.25, "B": 1.75},
        "ours_best": {"A": 2, "B": 1},
        "published": {"A": 2, "B": 1},
        "published_best": {"A": 0, "B": 2},
    }


# Figures 3 and 4c


def rank_frame(**ranked: list[float]) -> pd.DataFrame:
    rows = [(t, m, r) for m, values in ranked.items() for t, r in enumerate(values, 1)]
    return pd.DataFrame(rows, columns=["iteration", "method", "rank"])


@pytest.mark.parametrize(
    ("mine", "first"),
    [
        ([1, 1, 1, 1], 1),
        ([2, 1, 2, 1], 4),
        ([2, 1, 1.5, 1], 4),  # level with another is no lead
        ([2, 2, 1, 1], 3),
        ([1, 1, 1, 1.5], None),
        ([1, 1, 1, 2], None),
    ],
)
def test_a_method_leads_from_where_its_rank_stays_the_lowest(mine, first):
    curves = rank_frame(A=mine, B=[3 - r for r in mine], C=[3] * 4)
    assert rank_curves.leads_from(curves, "A") == first


PAPER = {
    "RS": ("random", "best"),
    "EO": ("ensemble-optimization", "slots"),
    "NES": ("neural-ensemble-search", "selection"),
    "RS-ES": ("random", "selection"),
    "BO-bagging": ("bo", "bagging"),
    "mine": ("an-optimizer-of-a-user", "stacking"),
    "DivBO-": ("divbo", "best"),
    "DivBO": ("divbo", "selection"),
}


def paper_study() -> dict:
    study = made.study(tuple(PAPER), ("quake", "wind", "d3"), repeats=2, budget=4)
    for name, (optimizer, ensemble) in PAPER.items():
        parts = study["methods"][name]
        study["searches"][parts["search"]] = {"optimizer": optimizer}
        study["ensembles"][parts["ensemble"]] = {"type": ensemble}
    return study


def test_post_hoc_designs_are_ranked_among_themselves(tmp_path):
    study = paper_study()
    designs = ["RS-ES", "BO-bagging", "mine", "DivBO"]
    assert rank_curves.post_hoc(study) == designs
    # The single models and the others are better than all of them, which may not matter.
    test = dict(zip(PAPER, (0.1, 0.11, 0.12, 0.3, 0.28, 0.26, 0.13, 0.24), strict=True))

    def errors(method, dataset, repeat):
        # At the first two iterations DivBO is the worst of all.
        late = 0.5 if method == "DivBO" else test[method]
        return [0.4, 0.4, 0.4, 0.4 - test[method] / 10], [late, late, test[method], test[method]]

    made.write(tmp_path, study, errors)
    write.write(study, tmp_path, tmp_path / "report")
    curve = pd.read_csv(tmp_path / "report/figures/rank-curves-post-hoc.csv")
    wide = curve.pivot(index="iteration", columns="method", values="rank")
    assert wide[designs].to_numpy().tolist() == [[3, 2, 1, 4]] * 2 + [[4, 3, 2, 1]] * 2
    whole = pd.read_csv(tmp_path / "report/figures/rank-curves-test.csv")
    assert whole.groupby("iteration")["rank"].sum().tolist() == [36] * 4
    last = pd.read_csv(tmp_path / "report/tables/rank-curves-last.csv").set_index("method")
    ends = {"DivBO": 1, "mine": 2, "BO-bagging": 3, "RS-ES": 4}
    assert last["post_hoc"].dropna().to_dict() == ends
    assert last.loc["DivBO", "test"] == 5
    text = text_of(tmp_path / "report/pages/rank-curves.html")
    assert "Here these are RS-ES, BO-bagging, mine, DivBO, ranked on 6 runs" in text
    assert "the ranks of the 4 methods add up to 10" in text
    assert "Not ranked here: RS, EO, NES, DivBO- (the best" in text
    assert (
        "DivBO has the lowest average rank in test error among the post-hoc designs from "
        "iteration 3 of 4 on." in text
    )
    # The highest test error comes down furthest in validation: RS-ES.
    assert "DivBO does not have the lowest average rank in validation error at the end." in text
    assert "Section 4.3 (Figure 3) of the paper: after about 100 of 250." in text
    assert "The best of the others is RS-ES with 1.00." in text
    assert "The paper's second-best, which it does not name there, has 2.58." in text


def test_how_often_the_reference_is_best_stands_beside_the_papers(report):
    folder = report[1] / "report"
    text = text_of(folder / "pages/test-errors.html")
    table = pd.read_csv(folder / "tables/test-errors-ours.csv")
    errors = table.pivot(index="dataset", columns="method", values="mean")
    others = errors.drop(columns="DivBO").min(axis=1)
    best, alone = ((errors["DivBO"] - others < limit).sum() for limit in (1e-12, -1e-12))
    tied = f", on {alone or 'none'} of them alone" if alone < best else ""
    assert (
        f"DivBO has the lowest mean test error of 3 methods on {best} of 2 data sets{tied}. "
        "Section 4.3 (Table 1) of the paper: of nine methods DivBO on 10 of 15 and RB-ES on 3 of "
        "15." in text
    )


def test_figure_1_is_said_to_be_of_20_runs(report):
    file = report[1] / "report/pages/minimum-diversity.html"
    text = text_of(file)
    assert "Figure 1 of the paper shows 20 runs on quake (10 by default elsewhere); ours " in text
    assert "ours has 2 runs per data set." in text


# Table 4


def frame(ensembles: dict[int, dict[int, float]]) -> pd.DataFrame:
    rows = [(t, m, w) for t, weights in ensembles.items() for m, w in weights.items()]
    return pd.DataFrame(rows, columns=["iteration", "member", "weight"])


def test_an_update_is_effective_if_members_or_weights_change_and_the_error_falls():
    members = frame(
        {
            2: {2: 1.0},  # the first ensemble: no update
            3: {2: 0.5, 3: 0.5},  # changes, falls
            4: {3: 0.5, 2: 0.5},  # the same
            5: {2: 0.5, 5: 0.5},  # changes, does not fall
            7: {2: 0.25, 5: 0.75},  # other weights, falls; at 6 the error falls alone
            8: {8: 1.0},  # changes, rises
        }
    )
    error = [nan, 0.5, 0.4, 0.4, 0.4, 0.3, 0.2, 0.3]
    found = pool_updates.effective(members, error)
    assert np.flatnonzero(found).tolist() == [2, 6]
    assert np.flatnonzero(pool_updates.changes(members, 8)).tolist() == [1, 2, 4, 6, 7]


def test_the_last_updates_are_those_of_the_run_itself():
    """With a budget in seconds, shorter runs repeat their last row in the scores."""
    own = {0: 60, 1: 200}
    scores = pd.concat(
        pd.DataFrame(
            {
                "method": "DivBO", "dataset": "wind", "repeat": repeat,
                "iteration": range(1, 201), "validation_error": 1.0 / np.arange(1, 201).clip(max=n),
            }
        )
        for repeat, n in own.items()
    )  # fmt: skip
    manifests = pd.DataFrame({"repeat": own, "evaluations": own}).assign(
        dataset="wind", search="divbo"
    )
    results = SimpleNamespace(
        study={"methods": {"DivBO": {"search": "divbo", "ensemble": "selection"}}},
        scores=scores,
        manifests=manifests.assign(repeat=list(own)),
        members=lambda *run: frame({t: {t: 1.0} for t in range(1, own[run[-1]] + 1)}),
        given=lambda *run: 0,
    )
    counts = pool_updates.count(results, ["DivBO"])
    assert counts["last_50"].tolist() == [50, 50]
    assert counts["last_100"].isna().tolist() == [True, False]


# Figures 1 and 5


def test_minimum_diversity_of_three_members_by_hand():
    # Probability of class 1 on two samples; evaluation 5 failed.
    stored = np.array([[0, 0], [1, 1], [0.5, 0.5], [0.2, 0.4], [nan, nan], [0.1, 0.1]])
    errors = np.array([0.1, 0.2, 0.4, 0.3, nan, 0.6])
    members = frame({1: {1: 1.0}, 3: dict.fromkeys((1, 2, 3), 1 / 3), 4: {2: 0.5, 3: 0.5}})
    found = minimum_diversity.of_run(
        lambda rows, columns: diversities(stored[..., None], rows - 1, columns - 1),
        errors,
        members,
        first=4,
    )
    minimum, fixed, average = (part.tolist() for part in found)
    # 4 is (0.3 + 0.1) / 2 from member 3; 6 is 0.4 from 3, and 0.1 from 1, which has left by then.
    assert minimum == pytest.approx([0.2, nan, 0.4], nan_ok=True)
    assert fixed == pytest.approx([0.2, nan, 0.1], nan_ok=True)
    assert average == pytest.approx([0.3, 0.3, 0.3])


@pytest.mark.parametrize("columns", [1, 3])
def test_diversities_are_those_that_the_search_uses(columns):
    p = np.random.default_rng(0).random((6, 50, columns))
    full = np.concatenate([1 - p, p], axis=-1) if columns == 1 else p
    found = diversities(p, np.array([0, 5]), np.array([1, 2, 5]))
    expected = [[CLASSIFICATION.diversity(full[i], full[j]) for j in (1, 2, 5)] for i in (0, 5)]
    assert found == pytest.approx(np.array(expected))


# Table 3


def test_suggested_learners_by_hand():
    columns = ["dataset", "search", "repeat", "error", "fidelity"]
    rows = [("d", "bo", 0, 0.1, 1.0), ("d", "bo", 0, nan, 1.0), ("d", "bo", 0, 0.3, 1.0)]
    rows += [("d", "bo", 1, 0.8, 1.0), ("e", "bo", 0, nan, 1.0)]
    # Those on all rows are the best of those on half the rows.
    rows += [("d", "halving", 1, 0.9, 0.5), ("d", "halving", 0, 0.4, 1.0)]
    observations = pd.DataFrame(rows, columns=columns)
    assert suggested_learners.on_few_rows(observations) == ["halving"]
    table = suggested_learners.errors(observations)
    row = table.iloc[0]
    assert (len(table), row["learners"], row["repeats"]) == (1, 3, 2)
    assert row[["mean", "std"]].tolist() == pytest.approx([0.4, np.std([0.1, 0.3, 0.8], ddof=1)])
    assert row["between"] == pytest.approx(np.std([0.2, 0.8], ddof=1))
    random = {"d": np.array([0.1, 0.4, 0.5, 0.9])}
    assert suggested_learners.beaten(table, random).tolist() == [0.5]  # an equal one is not beaten
    assert suggested_learners.beaten(table, {}).isna().all()


# The pages


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A study whose methods build ensembles over 60 evaluations, and its report."""
    results = tmp_path_factory.mktemp("pages")
    study = made.study(("RS-ES", "BO-ES", "DivBO"), repeats=2, budget=60)
    study["ensembles"] = {name: {"type": "selection"} for name in study["ensembles"]}
    study["sources"] = {"quake": {"openml": 772}, "wind": {"openml": 847}}

    def error(method, dataset, repeat):
        rng = np.random.default_rng([len(method), len(dataset), repeat])
        fall = 0.3 - np.minimum.accumulate(rng.random(60)) / 10
        return np.r_[nan, np.round(0.6 - fall[1:], 3)], np.r_[nan, fall[1:]]

    made.write(results, study, error)
    write.write(study, results, results / "report")
    return study, results


def test_budgets_that_are_not_in_evaluations(report):
    study, results = report
    study = {**study, "budget": {"seconds": 60}}
    assert "the budget is not in evaluations" in speed_up.build(load(study, results), None)
    study["budget"] = {"evaluations": None, "fits": 12}
    assert "the budget is in full fits" in pool_updates.build(load(study, results), None)


@pytest.mark.parametrize(
    ("times", "shown"),
    [([nan, 3.0], "< 1"), ([nan, 3.0, 5.0], "3.0×"), ([2.0, 3.0], "2.5×"), ([nan, nan], "< 1")],
)
def test_the_median_speed_up_is_no_mean_with_never(times, shown):
    speed = pd.DataFrame(
        {"dataset": [f"d{i}" for i in range(len(times))], "method": "RS", "speed_up": times}
    )
    table = speed_up.speed_table(speed, "DivBO", ERROR)
    assert table.rows[-1][1].text == shown
    assert "mean of the middle two, or < 1 if one of these is" in table.notes[0]


def test_every_page_is_written_and_no_link_is_broken(report):
    _, results = report
    folder = results / "report"
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert "could not be made" not in index
    names = {m.rsplit(".", 1)[1].replace("_", "-") for m in pages.modules()}
    written = {f.stem for f in (folder / "pages").iterdir()}
    paper = {"test-errors", "significance", "rank-curves", "each-data-set", "speed-up"}
    paper |= {"suggested-learners", "pool-updates", "minimum-diversity"}
    assert paper <= written <= names
    for file in (folder / "index.html", *(folder / "pages").iterdir()):
        text = file.read_text(encoding="utf-8")
        html = Page(text)
        ids = [attributes["id"] for _, attributes in html.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        for link in html.all("a"):
            target, _, anchor = link["href"].partition("#")
            assert not target or (file.parent / target).exists(), (file.name, target)
            assert not anchor or target or anchor in ids
        assert all("alt" in image for image in html.all("img"))
        assert html.all("script") == [{}]
        shown = re.sub('base64,[^"]*', "", text)
        assert not re.search(r"(https?:)?//[\w.]+/|@import|url\(", shown)
        assert str(results) not in text


def test_pool_updates_of_a_report_are_those_counted_by_hand(report):
    study, results = report
    table = pd.read_csv(results / "report/tables/pool-updates-last-50.csv")
    line = table.query("method == 'DivBO' and dataset == 'wind' and repeat == 1").iloc[0]
    parts = study["methods"]["DivBO"]
    folder = results / f"ensembles/wind/{parts['search']}/{parts['ensemble']}/1"
    errors = pd.read_parquet(folder / "scores.parquet")["validation_error"].to_numpy()
    # The made ensembles have other members at every iteration: falls of the error are all.
    assert line["last_50"] == sum(errors[t] < errors[t - 1] for t in range(10, 60))
    assert line["last_50"] > 0
    assert not (results / "report/tables/pool-updates-last-100.csv").exists()


def test_minimum_diversity_of_a_report(report):
    study, results = report
    table = pd.read_csv(results / "report/tables/minimum-diversity-minimum.csv")
    assert len(table) == 6
    stored = load(study, results).predictions("quake", "search-divbo", 0, "validation")
    # Last fifth: iterations 49 to 60, each against the two before it; all stored from 0.
    gaps = [
        min(np.abs(stored[t] - stored[m]).mean() for m in (t - 1, t - 2)) for t in range(48, 60)
    ]
    curve = pd.read_csv(results / "report/figures/minimum-diversity-minimum-quake.csv")
    mine = curve[curve["method"] == "DivBO"]
    other = load(study, results).predictions("quake", "search-divbo", 1, "validation")
    more = [min(np.abs(other[t] - other[m]).mean() for m in (t - 1, t - 2)) for t in range(48, 60)]
    assert mine["iteration"].tolist() == list(range(49, 61))
    assert mine["minimum"].to_numpy() == pytest.approx((np.array(gaps) + more) / 2, abs=1e-6)


def write_with_one_on_half_of_the_rows(folder, study):
    fall = np.linspace(0.5, 0.3, 20)
    fidelity = {"DivBO": np.where(np.arange(1, 21) == 18, 0.5, 1.0)}
    made.write(folder, study, lambda *_: (fall, fall), fidelity=fidelity)


def test_suggestions_on_a_share_of_the_rows_have_no_minimum_diversity(tmp_path):
    study = made.study(("DivBO",), ("quake",), repeats=1, budget=20)
    write_with_one_on_half_of_the_rows(tmp_path, study)
    rows = minimum_diversity.follow(load(study, tmp_path), ["DivBO"])
    assert rows["iteration"].tolist() == [17, 18, 19, 20]
    assert rows["minimum"].isna().tolist() == [False, True, False, False]


def test_searches_that_suggest_on_few_rows_are_not_compared_by_their_suggestions(tmp_path):
    study = made.study(("RS-ES", "DivBO"), ("quake",), repeats=1, budget=20)
    write_with_one_on_half_of_the_rows(tmp_path, study)
    (section, *_) = suggested_learners.build(load(study, tmp_path), None)
    assert section.parts[1].startswith("Left out: search-divbo. They fit some suggestions on few")
    assert section.parts[2].data["search"].tolist() == ["search-rs-es"]
    del study["methods"]["RS-ES"]
    said = "no search has finished that fits all of its suggestions on all training rows"
    assert suggested_learners.build(load(study, tmp_path), None) == said


def test_a_page_says_what_cannot_be_compared(report):
    folder = report[1] / "report/pages"
    text = text_of(folder / "test-errors.html")
    assert "None of the 6 figures that both have can be compared." in text
    assert "quake, wind: 60 evaluations instead of 250; 2 repeats instead of 10." in text


@pytest.mark.parametrize("methods", [3, 10, 18])
def test_the_names_of_many_lines_stay_apart_and_inside(methods):
    names = [f"method {i}" for i in range(methods)]
    rows = [(t, m, 0.3 + i * 1e-5, 0.01) for i, m in enumerate(names) for t in range(1, 21)]
    curves = pd.DataFrame(rows, columns=["iteration", "method", "mean", "std"])
    look = figures.styles(names, names[0])
    figure = curve_figures.error_panel(curves, names, look, "test", ERROR)
    figure.canvas.draw()
    (axes,) = figure.axes
    if methods == 18:
        texts = [text.get_text() for text in axes.texts]
        assert [text for text in texts if text in names] == names
        drawn = (*axes.patches, *axes.texts, *figure.texts)
        boxes = [artist.get_window_extent() for artist in drawn]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        assert Bbox.union([*boxes, figure.bbox]).bounds == figure.bbox.bounds
        return
    labels = sorted((text.get_position()[1] for text in axes.texts), reverse=True)
    assert len(labels) == (10 if methods == 10 else 0)  # 3 have a legend
    low, high = axes.get_ylim()
    if labels:
        assert low <= labels[-1]
        assert labels[0] <= high
        assert np.diff(labels).max() <= -0.99 * (high - low) / 26


def test_small_frames_have_their_lines_inside():
    """Also those of ranks, whose axis descends."""
    names = [f"method {i}" for i in range(12)]
    rows = [(t, m, i + 1.0) for i, m in enumerate(names) for t in range(1, 21)]
    curves = pd.DataFrame(rows, columns=["iteration", "method", "rank"])
    figure = curve_figures.rank_lines(curves, names, figures.styles(names, names[0]), ERROR)
    (axes,) = figure.axes
    frames = [frame.get_window_extent().padded(0.01) for frame in axes.patches]
    assert len(frames) == 12
    for line in axes.lines:
        box = line.get_window_extent()
        assert any(Bbox.union([frame, box]).bounds == frame.bounds for frame in frames)


def test_whatever_the_report_is_made_from_reruns_it():
    rules = (ROOT / "rules/report.smk").read_text()
    code = set(code_version.files("report", *pages.modules()))
    made_from = [
        file.relative_to(SCRIPTS).as_posix()
        for folder in ("analysis", "papers", "report")
        for file in (SCRIPTS / "ensemble_search" / folder).rglob("*.*")
        if "__pycache__" not in file.parts
        and file.suffix != ".yaml"
        and file.stem not in ("claims", "checks")  # of the evidence
    ]
    assert len(made_from) > 40
    assert '"ensemble_search/papers").glob("*/*.yaml")' in rules
    for name in made_from:
        assert name in code or name in rules, name


@pytest.fixture
def own_pages(tmp_path, monkeypatch):
    """Replace the pages of the report by those of a test, given by name and source."""
    monkeypatch.syspath_prepend(tmp_path)

    def use(**sources: str):
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source)
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(pages, "modules", lambda: list(sources))

    return use


def test_a_page_that_raises_does_not_end_the_report(own_pages, tmp_path, capsys):
    head = "from ensemble_search.report.section import Section\nTITLE, ORDER = 'Page {0}', {0}\n"
    head += "def build(results, publish):\n    "
    own_pages(
        raising_page=head.format(2) + "return 1 / len(results.missing.iloc[:0])",
        silent_page=head.format(3) + "return 'nobody asked'",
        good_page=head.format(1) + "return [Section('Fine & <b>', ['text'])]",
        broken_page="TITLE = (",
    )
    study = made.study(repeats=1)
    output = tmp_path / "report"
    write.write(study, tmp_path / "nothing", output)
    index = text_of(output / "index.html")
    line = "Page 1 Page 2: could not be made (ZeroDivisionError: division by zero)"
    assert line in index
    assert "broken-page: could not be made (SyntaxError" in index
    assert "Page 3: nobody asked" in index
    good, raising = (text_of(output / f"pages/{n}-page.html") for n in ("good", "raising"))
    assert "Fine & <b>" in good
    assert "could not be made: ZeroDivisionError: division by zero. The report's log" in raising
    assert not (output / "pages/silent-page.html").exists()
    printed = capsys.readouterr().err
    assert "Traceback" in printed
    assert "raising_page.py" in printed


def test_the_page_of_the_data_sets(tmp_path):
    frame = pd.DataFrame(
        {
            "id": range(20),
            "when": ["2020-12-31", "2021-01-01", None, "2021-01-02"] * 5,
            "name": [f"n{i}" for i in range(20)],
            "colour": [*["red", "blue"] * 9, "green", "red"],
            "y": ["a", "b", "b", "b"] * 5,
        }
    )
    described = normalise.normalise(Raw(frame, "y", "mine", {}), {"drop": ["id"]})
    source = {"file": "mine.csv", "target": "y", "columns": {"drop": ["id"]}}
    normalise.write(*described, tmp_path / "data" / source_key(source))
    study = made.study(("RS",), ("mine", "wine"))
    study["sources"] = {"mine": source, "wine": {"sklearn": "wine"}}  # not fetched yet
    results = load(study, tmp_path / "made")
    found = datasets.table(study, results.folder).iloc[0].to_dict()
    assert np.isnan(found.pop("prepared"))
    kinds = {"numeric": 0, "date": 1, "boolean": 0, "categorical": 2}
    assert found == {
        **{"dataset": "mine", "rows": 20, "features": 3, "classes": 2, "smallest_class": 0.25},
        **{**kinds, "missing": 5 / 60, "left_out": 1},
    }
    settings = {"train": 0.6, "validation": 0.2, "test": 0.2, "seed": 1}
    split.write(*prepare.make_split(*described, settings), results.folder / "splits/mine/fixed")
    table = datasets.table(study, results.folder)
    assert table["left_out"].tolist() == [2]
    assert table["prepared"].tolist()[0] >= 5
    gone = datasets.gone(study, results.folder)
    assert gone.to_numpy().tolist()[:2] == [
        ["mine", "id", "the study drops it"],
        ["mine", "name", "12 of 12 values are distinct (names or identifiers)"],
    ]
    write.write(study, results.folder, tmp_path / "report")
    shown = text_of(tmp_path / "report/pages/data-sets.html")
    assert "1 date, 2 categorical" in shown
    assert "25.0 %" in shown
    assert "column 'when' is text such as '2020-12-31': read as ISO dates" in shown
    for name in ("sizes", "left-out", "notes"):
        for ending in ("csv", "tex"):
            assert (tmp_path / f"report/tables/data-sets-{name}.{ending}").is_file()


def test_searches_are_read_from_the_study_that_has_them(tmp_path):
    study = made.study(("DivBO",), ("quake", "wind"), repeats=2, budget=3)
    home = tmp_path / "main"
    mine = tmp_path / "ablation"
    with_ = made.made_with(study, "search-divbo")
    for results, dataset, repeat, error in (
        (home, "quake", 0, 0.1),
        (mine, "quake", 0, 0.5),
        (home, "quake", 1, 0.6),
        (mine, "quake", 1, 0.2),
        (mine, "wind", 0, 0.3),
    ):
        made.write_search(results, dataset, "search-divbo", repeat, [error] * 3, made_with=with_)
    study["homes"] = {"search-divbo": {"quake": {"study": "main", "repeats": 1}}}
    results = load(study, mine)
    first = results.observations.query("iteration == 1")[["dataset", "repeat", "error"]]
    expected = [["quake", 0, 0.1], ["quake", 1, 0.2], ["wind", 0, 0.3]]
    assert first.to_numpy().tolist() == expected
    stored = np.load(home / "searches/quake/search-divbo/0/predictions-validation.npy")
    assert (results.predictions("quake", "search-divbo", 0, "validation") == stored).all()
    with pytest.raises(Missing):
        results.predictions("wind", "search-divbo", 1, "validation")
    made.write_search(mine, "wind", "search-divbo", 1, [0.1, 0.2])
    stored = np.load(mine / "searches/wind/search-divbo/1/predictions-test.npy")
    assert (results.predictions("wind", "search-divbo", 1, "test") == stored).all()
