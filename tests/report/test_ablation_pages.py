"""Pages of Figures 6 and 7, Tables 8 to 12 and of statistics, from synthetic results."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ensemble_search.analysis import load
from ensemble_search.report import build as report
from ensemble_search.report import pages
from ensemble_search.report.pages import statistics
from ensemble_search.report.section import Panels
from ensemble_search.report.tables import Table
from ensemble_search.runtime import files
from support import made_results as made
from support.made_ablations import METHODS, study

pytestmark = pytest.mark.slow

PAGES = ["autogluon", "member_diversity", "same_budget", "sensitivity", "sizes", "statistics",
         "strategies", "weights"]  # fmt: skip


def errors(method: str, dataset: str, repeat: int):
    """Each method is 1 point worse than the one before, on validation and test."""
    level = 0.1 + 0.01 * list(METHODS).index(method) + 0.002 * repeat
    return [np.nan, *[level] * 7], [np.nan, *[level + 0.1] * 7]


def page(name: str, results: Path, content: dict) -> report.Made:
    """Make one page into ``results/report``."""
    read = load.load(content, results)
    (module,) = (m for m in pages.modules() if m.endswith(f".{name}"))
    return report.make(module, read, results / "report")


def words(found: report.Made) -> str:
    parts = [p for s in found.sections for p in s.parts]
    return "\n".join(p for p in parts if isinstance(p, str))


def rows(found: report.Made, name: str) -> dict[str, list[str]]:
    """Cells of a table by their row's name; bold ones in asterisks."""
    tables = [p for s in found.sections for p in s.parts if isinstance(p, Table)]
    table = next(t for t in tables if t.name == f"{found.name}-{name}")
    return {r[0].text: [f"*{c.text}*" if c.best else c.text for c in r[1:]] for r in table.rows}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    results = tmp_path_factory.mktemp("whole")
    made.write(results, study(), errors)
    return results


@pytest.mark.parametrize(
    ("name", "families", "printed"),
    [
        ("weights", {"Ensemble es25": "DivBO DivBO-fixed"},
         ["DivBO", "DivBO (fixed)"]),
        ("strategies", {"Search divbo": "DivBO DivBO-bagged"}, ["Ensemble selection", "Bagging"]),
        ("sizes", {"Search bo": "BO-ES BO-ES-100"}, ["BO-ES (25)", "BO-ES (100)"]),
        ("same_budget",
         {"Ensemble es25": "RS-ES BO-ES kBO-ES DivBO DivBO-fixed DivBO-bold DivBO-late"},
         ["RS-ES", "kBO-ES", "DivBO"]),
    ],
)  # fmt: skip
def test_each_ablation_compares_the_methods_that_differ_in_it_only(whole, name, families, printed):
    found = page(name, whole, study())
    assert found.error == found.reason == ""
    shown = {}
    for section in found.sections:
        table = next(p for p in section.parts if isinstance(p, Table))
        shown[section.title] = " ".join(table.columns[1:])
    assert shown == families
    table = pd.read_csv(whole / f"report/tables/{found.name}-beside.csv")
    expected = [(d, m) for d in ("quake", "wind") for m in printed]
    assert list(zip(table["dataset"], table["method"], strict=True)) == expected


def test_table_of_variants_by_hand(whole):
    found = page("weights", whole, study())
    table = rows(found, "test-error")
    assert table["quake"] == ["*24.10 ± 0.14*", "26.10 ± 0.14"]
    assert table["average rank"] == ["1.00", "2.00"]
    assert table["minus DivBO, points"] == ["", "+2.00"]
    assert table["DivBO better / same / worse"] == ["", "0 / 2 / 0"]
    text = words(found)
    assert "DivBO: w grows towards 0.025 (β = 0.05, τ = 0.2)" in text
    assert "DivBO-fixed: w = 0.1 throughout" in text
    assert "Compared on quake, wind, 4 of 4 runs" in text
    # Table 8: 45.55 on quake; 8 evaluations and 2 repeats are not the paper's 250 and 10.
    assert rows(found, "beside")["quake"] == ["24.10 (45.55)", "26.10 (45.63)"]


def several(places: dict[str, float]):
    """Errors of 6 repeats: on quake as these places, in every repeat; on wind without order."""

    def found(method, dataset, repeat):
        level = 0.2 + places[method] + 0.001 * repeat
        if dataset == "wind":
            level = 0.2 + 0.01 * ((repeat + list(places).index(method)) % 2)
        return [level] * 8, [level] * 8

    return found


def test_variants_name_the_data_sets_that_differ(tmp_path):
    content = study(["DivBO", "DivBO-fixed"], repeats=6)
    made.write(tmp_path, content, several({"DivBO": 0, "DivBO-fixed": 0.01}))
    found = page("weights", tmp_path, content)
    assert found.error == found.reason == ""
    text = words(found)
    # 2 / 2^6 = 0.031; on wind three differences are as positive as three are negative.
    line = "Test error of DivBO against DivBO-fixed: significantly lower on quake (p = 0.031); "
    assert line + "not significantly different on wind (p = 1)." in text
    printed = "Table 8 of the paper: DivBO against DivBO (fixed): significantly lower on "
    assert printed + "elevators, house_8L, pol, wind; not significantly different on quake." in text
    assert rows(found, "tests") == {"quake": ["*+1.00, p 0.031 B*"], "wind": ["+0.00, p 1 S"]}


def test_sizes_name_the_data_sets_that_differ(tmp_path):
    content = study(["BO-ES-100", "BO-ES"], repeats=6)
    made.write(tmp_path, content, several({"BO-ES-100": 0.02, "BO-ES": 0.01}))
    text = words(page("sizes", tmp_path, content))
    line = "Test error of BO-ES against BO-ES-100: significantly lower on quake (p = 0.031); "
    assert line in text
    assert (
        "Table 10 of the paper: BO-ES (25) against BO-ES (100): significantly lower on elevators, "
        "house_8L, pol, quake; not significantly different on wind." in text
    )


def test_sensitivity_shows_the_grid_with_its_gaps(whole):
    found = page("sensitivity", whole, study())
    assert found.error == found.reason == ""
    table = next(p for p in found.sections[0].parts if isinstance(p, Table))
    assert table.columns == ["data set", "β", "τ = 0.05", "τ = 0.2"]
    cells = [[c.text for c in row] for row in table.rows if row[0].text == "quake"]
    assert cells == [["quake", "0.05", "18.10 ± 0.14", "14.10 ± 0.14"],
                     ["quake", "0.1", "–", "17.10 ± 0.14"]]  # fmt: skip
    assert [c.text for row in table.rows for c in row if c.best] == ["14.10 ± 0.14"] * 2
    assert "wind: from 14.10 % (β = 0.05, τ = 0.2) to 18.10 % (β = 0.05, τ = 0.05)" in words(found)
    panels = next(p for p in found.sections[0].parts if isinstance(p, Panels))
    assert [caption for caption, _ in panels.drawings] == ["quake", "wind"]


def test_members_of_the_final_ensemble_are_compared(tmp_path):
    content = study(["BO-ES", "DivBO"], ["quake"], repeats=1)
    made.write(tmp_path, content, errors)
    (tmp_path / "searches/quake/bo/0/predictions-validation.npy").unlink()
    labels = np.array([0, 0, 1, 1])
    np.savez(tmp_path / "splits/quake/fixed/inputs.npz", y_validation=labels)
    # Members 2, 5 and 7; the first two differ on the last sample only.
    predictions = np.full((8, 4, 1), np.nan, dtype=np.float32)
    predictions[1, :, 0] = [0.1, 0.2, 0.9, 0.8]
    predictions[4, :, 0] = [0.1, 0.2, 0.9, 0.4]
    predictions[6, :, 0] = [0.9, 0.2, 0.1, 0.4]
    files.write_npy(tmp_path / "searches/quake/divbo/0/predictions-validation.npy", predictions)
    members = {"iteration": [2, 4, 8, 8, 8], "member": [2, 4, 7, 2, 5], "weight": [1.0] * 5}
    files.write_parquet(tmp_path / "ensembles/quake/divbo/es25/0/members.parquet", members)
    found = page("member_diversity", tmp_path, content)
    assert found.error == found.reason == ""
    # Pairs (2, 5), (2, 7), (5, 7): exactly one is right on 1, 3 and 2 of 4 samples; the mean
    # differences are 0.1, 0.5 and 0.4. The predictions of BO-ES are not there.
    table = pd.read_csv(tmp_path / "report/tables/member-diversity-disagreement.csv")
    row = table.set_index("method").loc["DivBO"]
    assert row["members"] == 3
    assert row["disagreement"] == pytest.approx(0.5)
    assert row["diversity"] == pytest.approx(1 / 3)
    assert table["disagreement"].isna().sum() == 1
    assert rows(found, "disagreement")["quake"] == ["–", "*0.500*"]
    assert "DivBO 0.500 (0.27)" in words(found)
    drawn = pd.read_csv(tmp_path / "report/figures/member-diversity-DivBO.csv")
    assert drawn["evaluation"].tolist() == [2, 5, 7]
    assert drawn["7"].tolist() == pytest.approx([0.5, 0.4, 0])


def test_autogluon_stands_beside_the_methods_or_says_why_not(tmp_path):
    content = study(["RS-ES", "DivBO"], ["quake", "wind"])
    made.write(tmp_path, content, errors)
    scores = {"status": "ok", "validation_error": 0.08, "test_error": 0.21}
    files.write_json(tmp_path / "autogluon/quake/scores.json", scores)
    lost = {"status": "not run", "reason": "the environment autogluon is not installed"}
    files.write_json(tmp_path / "autogluon/wind/scores.json", lost)
    found = page("autogluon", tmp_path, content)
    assert found.error == found.reason == ""
    assert rows(found, "test-error")["quake"] == ["*20.10 ± 0.14*", "24.10 ± 0.14", "21.00"]
    assert rows(found, "validation-error")["quake"][2] == "*8.00*"
    assert rows(found, "test-error")["wind"][2] == "–"
    assert rows(found, "not-run") == {"wind": ["not run", lost["reason"]]}
    assert rows(found, "beside")["quake"] == ["24.10 (44.75)", "21.00 (44.72)"]


def test_autogluons_single_run_is_tested_against_all_repeats(tmp_path):
    content = study(["RS-ES", "DivBO"], ["quake", "wind"], repeats=6)
    made.write(tmp_path, content, several({"RS-ES": 0.05, "DivBO": 0.0}))
    for dataset in ("quake", "wind"):
        scores = {"status": "ok", "validation_error": 0.2, "test_error": 0.2051}
        files.write_json(tmp_path / f"autogluon/{dataset}/scores.json", scores)
    found = page("autogluon", tmp_path, content)
    assert found.error == found.reason == ""
    # DivBO on quake: 20.0 to 20.5 %, all below 20.51; on wind 20 and 21 %, by turns.
    table = rows(found, "tests")
    assert table["quake"] == ["+4.74, p 0.031 W", "*−0.26, p 0.031 B*"]
    assert table["wind"][1].endswith("S")
    text = words(found)
    assert (
        "Test error of DivBO against AutoGluon: significantly lower on quake (p = 0.031);" in text
    )
    assert "RS-ES against AutoGluon" not in text  # only the reference in words
    assert (
        "Table 12 of the paper: DivBO (AutoGluon) against AutoGluon: significantly lower on "
        "elevators, pol, wind; not significantly different on quake; slightly worse on house_8L."
        in text
    )
    shown = [t for s in found.sections for t in s.parts if isinstance(t, Table)]
    notes = [note for table in shown for note in table.notes]
    assert any("AutoGluon's number is treated as fixed" in note for note in notes)
    assert not any("nothing can be significant" in note for note in notes)


def test_autogluon_is_not_tested_against_repeats_on_other_splits(tmp_path):
    content = study(["RS-ES", "DivBO"], ["quake"], repeats=6)
    content["split"] = {**content["split"], "resample": "per-repeat"}
    made.write(tmp_path, content, several({"RS-ES": 0.05, "DivBO": 0.0}))
    for repeat in range(6):
        made.write_split(tmp_path, "quake", name=f"repeat-{repeat}")
    scores = {"status": "ok", "validation_error": 0.2, "test_error": 0.2051}
    files.write_json(tmp_path / "autogluon/quake/scores.json", scores)
    found = page("autogluon", tmp_path, content)
    assert found.error == found.reason == ""
    assert "repeats on other splits cannot be tested against it" in words(found)
    assert "significantly" not in words(found).split("Table 12")[0]


def test_friedmans_p_of_few_data_sets(tmp_path):
    def ordered(method, dataset, repeat):
        order = ["BO-ES", "DivBO", "RS-ES"] if dataset == "d2" else ["DivBO", "BO-ES", "RS-ES"]
        level = 0.1 + 0.01 * order.index(method)
        return [level] * 8, [level] * 8

    content = study(["RS-ES", "BO-ES", "DivBO"], ["d0", "d1", "d2"], repeats=2)
    made.write(tmp_path, content, ordered)
    found = page("statistics", tmp_path, content)
    text = words(found)
    # With two repeats, a large delta says nothing.
    assert rows(found, "within-data-sets")["BO-ES"][-1] == "–"
    # Rank sums 4, 5 and 9: chi-square 14/3; 42 of the 216 permutations have 14/3 or 6. Its
    # distribution would say 0.097, and F = 7 with 2 and 4 degrees 0.049.
    assert "differ no more than by chance: Friedman χ² = 4.67, p = 0.19, by permuting" in text


def test_statistics_by_hand(tmp_path):
    # On each of 7 data sets DivBO < BO-ES < RS-ES, by 1 and 3 points, in all of 6 repeats.
    places = {"DivBO": 0.0, "BO-ES": 0.01, "RS-ES": 0.03}

    def ordered(method, dataset, repeat):
        level = 0.1 + 0.02 * int(dataset[1]) + places[method] + 0.0001 * repeat
        return [level] * 8, [level + 0.05] * 8

    content = study(["RS-ES", "BO-ES", "DivBO"], [f"d{i}" for i in range(7)], repeats=6)
    made.write(tmp_path, content, ordered)
    found = page("statistics", tmp_path, content)
    assert found.error == found.reason == ""
    text = words(found)
    # All data sets have the same ranks: chi-square is N (k - 1) = 14.
    assert "differ by more than chance: Friedman χ² = 14.00, p = 0.0001, by" in text
    assert "(Nemenyi, all pairs at once, α = 0.05) only where they are more than 1.25 apart" in text
    assert "DivBO differs significantly from RS-ES." in text
    row = rows(found, "over-data-sets")["RS-ES"]
    # 2 / 2^7 = 0.0156, times 2 by Holm.
    # Differences are the same on all data sets: nothing says how much they vary.
    assert row == ["+3.00", "–", "–", "+2.00", "–", "7 / 0 / 0",
                   "0.016", "0.031", "+1.00", "all of the rank sum for DivBO"]  # fmt: skip
    # 2 / 2^6 = 0.031 is significant, but not times 2.
    notes = [n for x in found.sections for t in x.parts if isinstance(t, Table) for n in t.notes]
    assert [n[:60] for n in notes if "nothing can be" in n] == [
        "With 6 repeats the smallest possible p-value is 0.031, and H"]  # fmt: skip
    within = rows(found, "within-data-sets")["BO-ES"]
    assert within == ["7 / 0 / 0", "0 / 7 / 0", "+1.00", "7 / 0"]
    assert "excludes 0 by chance" not in " ".join(notes)
    assert "up to 0.7 of the 14 unadjusted tests would be significant" in " ".join(notes)
    over = rows(found, "overfitting")["DivBO"]
    assert over[:4] == ["selection", "25", "3.0", "16.02"]
    assert over[-2:] == ["+5.00", "+5.00"]
    # d0: error 15.025 %, 100 test rows: sqrt(0.15025 * 0.84975 / 100) = 3.57 points.
    assert rows(found, "resolution")["d0"] == ["15.03", "0.02", "100", "3.57"]
    assert "but not whether another split of the same data would, let alone other data" in text


def test_one_data_set_and_split_have_no_parts_of_variance(tmp_path):
    content = study(["RS-ES", "DivBO"], ["d0"], repeats=7)
    made.write(tmp_path, content, several({"RS-ES": 0.05, "DivBO": 0.0}))
    text = words(page("statistics", tmp_path, content))
    assert "With one data set and one split, the parts of a difference's variance cannot" in text


def test_gaps_are_over_full_fits_if_the_budget_is(tmp_path):
    content = study(["RS-ES", "DivBO"], ["d0"], repeats=1)
    validation = np.full(8, 0.1)
    content["budget"] = {"fits": 4}
    grows = validation, validation + np.arange(1, 9) / 100
    made.write(tmp_path, content, lambda *_: grows, fidelity=dict.fromkeys(content["methods"], 0.5))
    found = page("statistics", tmp_path, content)
    tables = [p for s in found.sections for p in s.parts if isinstance(p, Table)]
    (gaps,) = (t for t in tables if t.name == "statistics-overfitting")
    assert gaps.columns[-2:] == ["gap at full fit 1", "gap at 4"]
    assert rows(found, "overfitting")["DivBO"][-2:] == ["+2.00", "+8.00"]  # evaluations 2 and 8


def test_statistics_count_the_intervals_that_they_show(tmp_path):
    def varied(method, dataset, repeat):
        place = {"DivBO": 0, "BO-ES": 1, "RS-ES": 2 + 2 * int(dataset[1])}[method]
        place = 0.5 if (method, dataset) == ("RS-ES", "d0") else place
        return [0.1 + 0.01 * place] * 8, [0.1 + 0.01 * place] * 8

    content = study(["RS-ES", "BO-ES", "DivBO"], ["d0", "d1", "d2"], repeats=2)
    made.write(tmp_path, content, varied)
    found = page("statistics", tmp_path, content)
    over = rows(found, "over-data-sets")
    # BO-ES is one point worse on every data set, so only its rank varies: 3, 2, 2 against 1.
    assert over["BO-ES"][:5] == ["+1.00", "–", "–", "+1.33", "−0.10 to +2.00"]
    assert over["RS-ES"][3:5] == ["+1.67", "+0.23 to +2.00"]
    text = " ".join(n for x in found.sections for p in x.parts if isinstance(p, Table)
                    for n in p.notes)  # fmt: skip
    assert (
        "Of 3 comparisons without any true effect, about 0.15 would have an interval that excludes "
        "0 by chance; here 1 does. These are the intervals of error and of rank."
    ) in text
    assert "clipped to the possible differences, of ranks ±2" in text


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("case", ["nothing", "one method", "one run", "missing"])
def test_pages_of_unfinished_studies_say_what_is_missing(tmp_path, name, case):
    content = study()
    skip = [(m, d, r) for m in METHODS for d in ("quake", "wind") for r in (0, 1)]
    if case == "one method":
        content, skip = study(["DivBO"], ["quake"], 1), []
    elif case == "one run":
        content, skip = study(["BO-ES", "DivBO"], ["quake"], 1), []
    elif case == "missing":
        skip = [s for s in skip if s[0] not in ("DivBO", "DivBO-bold", "BO-ES") or s[2]]
    made.write(tmp_path, content, errors, skip)
    found = page(name, tmp_path, content)
    assert found.error == ""
    assert bool(found.reason) != bool(found.sections)
    if case == "nothing":
        assert found.reason or "None of them has results yet." in words(found)
    if name == "statistics" and case == "one run":
        assert "needs at least 2 data sets and 3 methods; there are 1 and 2" in words(found)
        assert "With one repeat per data set, the spread over repeats is unknown." in words(found)


def test_the_same_results_give_the_same_files(whole):
    made_twice = []
    for _ in range(2):
        for name in ("statistics", "sensitivity"):
            page(name, whole, study())
        folder = whole / "report"
        made_twice.append({f.name: f.read_bytes() for f in folder.rglob("*.*")})
    assert made_twice[0] == made_twice[1]
    assert "statistics-critical-difference.svg" in made_twice[0]


@pytest.mark.parametrize(
    ("r", "n", "words"),
    [
        (1.0, 2, "all of the rank sum for A; 2 data sets"),
        (-0.8, 9, "90 % of the rank sum for A"),
        (0.0, 2, "balanced; 2 data sets"),
    ],
)
def test_a_share_of_the_rank_sum_on_few_data_sets_says_how_many(r, n, words):
    assert statistics._share(r, "A", n) == words
