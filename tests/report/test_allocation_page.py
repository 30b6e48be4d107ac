"""Which arms got the evaluations, from the reasons that searches store."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from ensemble_search.analysis.arms import caveats, rounds
from ensemble_search.analysis.load import load
from ensemble_search.report import build as pages
from ensemble_search.report import write as write_report
from ensemble_search.report.section import Panels
from ensemble_search.runtime import files
from ensemble_search.runtime.files import Unusable
from support import made_results as made
from support.html_page import Page, squeezed

pytestmark = pytest.mark.slow

STUDY = made.study(methods=["RS", "BOASF", "RB"], datasets=["quake"], budget=6, repeats=2)
STUDY["searches"]["search-boasf"] = {"optimizer": "boasf"}
STUDY["searches"]["search-rb"] = {"optimizer": "rising-bandit"}
PAGE = "ensemble_search.report.pages.allocation"


def write(results, search: str, repeat: int, reasons: list, arms: str) -> None:
    """Write a search of these reasons (JSON), with arms for algorithms."""
    settings = made.made_with(STUDY, search)
    made.write_search(results, "quake", search, repeat, [0.5] * len(reasons), made_with=settings)
    path = results / f"searches/quake/{search}/{repeat}/observations.parquet"
    table = pq.read_table(path)
    for name, column in (("why", reasons), ("config.algorithm", list(arms))):
        table = table.set_column(table.schema.get_field_index(name), name, [column])
    files.write_parquet(path, table)


def arms(turns: str) -> list[str]:
    """Reasons of turns such as ``1a:abc``: the round, the arm and the survivors."""
    return [
        json.dumps({"origin": "x", "round": int(t[0]), "arm": t[1], "surviving": list(t[3:])})
        for t in turns.split()
    ]


@pytest.fixture
def results(tmp_path):
    write(tmp_path, "search-rs", 0, ["{}"] * 6, "abcabc")
    # A piece of a space is not an algorithm: the arm is what the search says.
    write(tmp_path, "search-boasf", 0, arms("1a:abc 1b:abc 1c:abc 2a:ac 2a:ac 2a:ac"), "zzzzzz")
    write(tmp_path, "search-boasf", 1, arms("1a:abc 1b:abc 1c:abc 2b:b 2b:b 2b:b"), "zzzzzz")
    # The last arm is used up: what a dropped one gets is not counted.
    write(tmp_path, "search-rb", 0, arms("1a:abc 1b:abc 1c:abc 2a:ab 2b:ab 3b:b 3a:b"), "abcabba")
    return tmp_path


def test_rounds_by_hand(results):
    found = rounds(load(STUDY, results)).drop(columns="dataset")
    runs = found.groupby(["search", "repeat"])
    shown = {key: [tuple(row) for row in run.to_numpy()[:, 2:]] for key, run in runs}
    assert shown == {
        ("search-boasf", 0): [
            (1, "a", 1, False), (1, "b", 1, True), (1, "c", 1, False),
            (2, "a", 3, False), (2, "c", 0, False),
        ],
        ("search-boasf", 1): [
            (1, "a", 1, True), (1, "b", 1, False), (1, "c", 1, True), (2, "b", 3, False),
        ],
        ("search-rb", 0): [
            (1, "a", 1, False), (1, "b", 1, False), (1, "c", 1, True),
            (2, "a", 1, True), (2, "b", 1, False), (3, "b", 1, False),
        ],
    }  # fmt: skip


def test_page(results, tmp_path):
    page = pages.make(PAGE, load(STUDY, results), tmp_path)
    assert (page.error, page.reason) == ("", "")
    assert [s.title for s in page.sections] == [
        "search-boasf (boasf)",
        "search-rb (rising-bandit)",
    ]
    text, table, panels = page.sections[0].parts
    assert "(mean of 2 runs): 3 → 1.5." in text
    assert "in the last round got 100 % of that round's evaluations" in text
    assert "(mean of 1 runs): 3 → 2 → 1." in page.sections[1].parts[0]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "1.0 (−1)", "1.5", "2.5"],
        ["b", "1.0 (−1)", "1.5", "2.5"],
        ["c", "1.0 (−1)", "0.0", "1.0"],
    ]
    assert isinstance(panels, Panels) and [title for title, _ in panels.drawings] == ["quake"]
    csv = pd.read_csv(tmp_path / "tables/allocation-search-boasf.csv")
    assert csv["competes"].tolist() == [2, 2, 2, 1, 1, 1]
    assert csv["evaluations"].tolist() == [1, 1, 1, 1.5, 1.5, 0]
    assert (tmp_path / "figures/allocation-search-rb-quake.svg").exists()


def test_arms_are_averaged_over_the_runs_that_reach_a_round(results, tmp_path):
    """One arm always competes."""
    write(results, "search-rb", 1, arms("1a:abc 1b:abc 1c:abc 2a:a 2a:a 2a:a"), "abcaaa")
    page = pages.make(PAGE, load(STUDY, results), tmp_path)
    text = page.sections[1].parts[0]
    assert "(mean of 2 runs, 1 of which reach the last round): 3 → 1.5 → 1." in text


def test_searches_that_dropped_no_arm_are_named(results, tmp_path):
    assert caveats(load(STUDY, results)) == []
    # Its first pulls are the whole budget: two arms of three, or all of them, had a turn.
    write(results, "search-rb", 0, arms("1a:abc 1a:abc 1a:abc 1b:abc 1b:abc 1b:abc"), "aaabbb")
    write(results, "search-rb", 1, arms("1a:abc 1b:abc 1c:abc 2a:abc 2b:abc 2c:abc"), "abcabc")
    text = "Search 'search-rb' (rising-bandit) dropped no arm (such as an algorithm) in any run"
    early = "1 of 2 runs the budget ended in the first round, after 2 of 3 arms."
    assert caveats(load(STUDY, results)) == [f"{text}; in {early}"]
    write(results, "search-rb", 1, arms("1a:abc 1b:abc 1c:abc 1a:abc 1b:abc 1c:abc"), "abcabc")
    text += f": arms never competed; in {early}"
    assert caveats(load(STUDY, results)) == [text]
    write_report.write(STUDY, results, tmp_path / "report")
    assert text in squeezed(Page((tmp_path / "report/index.html").read_text(encoding="utf-8")))
    write(results, "search-rb", 1, arms("1a:abc 1b:abc 1c:abc 2a:ab 2b:ab 3b:b"), "abcabb")
    (caveat,) = caveats(load(STUDY, results))
    assert caveat == (
        "Search 'search-rb' (rising-bandit): in 1 of 2 runs the budget ended in the first round, "
        "after 2 of 3 arms."
    )


def test_names_of_pieces_are_short_in_figures():
    from ensemble_search.report.pages.allocation import _short

    assert [_short("C 1, max_iter 2"), _short("extra_trees")] == ["1 2", "extra_trees"]


def test_page_without_arms(results, tmp_path):
    study = made.study(methods=["RS"], datasets=["quake"], budget=6)
    assert "arms compete" in pages.make(PAGE, load(study, results), tmp_path).reason
    assert "arms compete" in pages.make(PAGE, load(study, tmp_path / "x"), tmp_path).reason


@pytest.mark.parametrize("text", ["", "[", '{"surviving": 3}'])
def test_reasons_that_are_none(results, text):
    write(results, "search-boasf", 0, [text] * 6, "aaaaaa")
    with pytest.raises(Unusable, match=r"search-boasf/0/observations\.parquet"):
        rounds(load(STUDY, results))
