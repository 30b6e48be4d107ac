"""The papers' claims: what they name exists, and evidence decides them."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from ensemble_search.analysis.effects import detectable
from ensemble_search.evidence import claims as decided
from ensemble_search.evidence import measured, page
from ensemble_search.evidence import rows as evidence
from ensemble_search.jobs import Jobs
from ensemble_search.papers import claims, printed
from ensemble_search.papers.claims import Decide
from ensemble_search.papers.divbo import checks as divbo
from support import ALL_STUDIES, ROOT, STUDIES

pytestmark = pytest.mark.slow

CLAIMS = {(p, n): claim for p in printed.PAPERS for n, claim in claims.load(p).items()}
DECIDED = sorted({s for claim in CLAIMS.values() if claim.decide for s in claim.studies})
RULE = Decide(column="test", lower=["DivBO"], higher=["RS"])


def decide(rule, *studies):
    """Decide from rows of studies."""
    return decided.decide(rule, *(({}, made) for made in studies))


def test_claims_of_all_papers():
    counts = {paper: len(claims.load(paper)) for paper in printed.PAPERS}
    assert counts == {"divbo": 38, "esmbo": 14, "boasf": 11, "dodge": 14}


@pytest.mark.parametrize(("paper", "name"), CLAIMS)
def test_numbers_and_studies_of_a_claim_exist(paper, name):
    claim = CLAIMS[paper, name]
    assert set(claim.numbers) <= set(printed.load(paper))
    assert set(claim.studies) <= set(ALL_STUDIES)
    assert claim.studies or not claim.decide


@pytest.mark.parametrize("study", [study for study in DECIDED if study in STUDIES])
def test_the_methods_of_a_decision_are_those_of_its_study(study):
    made = Jobs.load(str(STUDIES[study])).report()
    recorded = json.loads((ROOT / "tests/recorded/numbers.json").read_text(encoding="utf-8"))
    methods = {*json.loads(made)["methods"], *measured.numbers(json.loads(made), recorded)}
    for claim in CLAIMS.values():
        if study in claim.studies and claim.decide:
            rule = claim.decide
            assert {*rule.lower, *rule.higher, *rule.halfway} <= methods


@pytest.mark.parametrize("other", ["RS-ES", "BO-ES", "RB-ES"])
def test_sizes_are_those_of_table_1(other):
    rule = claims.load("divbo")[f"better-than-{other.lower()}"].decide
    assert 100 * rule.size == pytest.approx(divbo.difference(other)["mean"])


@pytest.mark.parametrize(
    ("claim", "table", "lower", "higher"),
    [
        ("selection-is-best", "strategy-error", "Ensemble selection", "Stacking"),
        ("small-ensembles", "size-error", "BO-ES (25)", "BO-ES (100)"),
    ],
)
def test_sizes_are_mean_differences_of_a_table(claim, table, lower, higher):
    printed_errors = printed.load("divbo")[table]["values"].values()
    differences = [row[higher][0] - row[lower][0] for row in printed_errors]
    size = claims.load("divbo")[claim].decide.size
    assert 100 * size == pytest.approx(np.mean(differences))


def test_an_interval_below_the_claimed_size_is_smaller():
    rule = Decide(column="test", lower=["DivBO"], higher=["RS"], size=0.05)
    small = rows([-0.01, 0.01, 0.02])  # mean 0.0067, up to 0.045
    assert decide(rule, small)[0] == decided.SMALLER
    assert decide(rule, rows([-0.03, -0.04, -0.05]))[0] == decided.DIFFERS
    assert decide(RULE, small)[0] == decided.OPEN
    # Without a printed size, an interval between minus the margin and 0 says nothing about it.
    rule = Decide(column="test", lower=["DivBO"], higher=["RS"], margin=0.1)
    assert decide(rule, rows([-0.15, -0.05, -0.07]))[0] == decided.OPEN
    assert decide(rule, rows([0.01, 0.012, 0.014]))[0] == decided.AGREES


def test_only_intervals_that_include_0_are_smaller():
    """One pair agrees, below the claimed size; the other is undecided, up to more than the size."""
    rule = Decide(column="test", lower=["DivBO"], higher=["RS", "BO"], size=0.05)
    certain = rows([0.01, 0.011, 0.012])
    other = [
        {**row, "method": "BO", "test": f"{0.2 + lead}"}
        for row, lead in zip(certain[1::2], [-0.1, -0.1, 0.1, 0.1, 0.2, 0.2], strict=True)
    ]
    verdict, pairs = decide(rule, [*certain, *other])
    assert pairs["low"].max() > 0 and pairs["high"].min() < 0.05 < pairs["high"].max()
    assert verdict == decided.OPEN


def test_equal_differences_of_few_data_sets_do_not_decide():
    assert decide(RULE, rows([0.03, 0.03]))[0] == decided.OPEN
    assert decide(RULE, rows([0.03] * 6))[0] == decided.AGREES


def test_runs_without_a_model_have_the_worst_loss():
    """Without them, the method that failed would be ahead."""
    runs = rows([-0.03, -0.04, -0.05], repeats=1)
    failed = [{**row, "test": "" if row["method"] == "RS" else row["test"]} for row in runs[:2]]
    filled = evidence.with_failures({}, [*failed, *runs[2:]])
    assert filled[1]["test"] == "1"
    assert filled[2:] == runs[2:]
    assert decide(RULE, filled)[1]["difference"].item() == pytest.approx((0.8 - 0.11) / 3)
    study = {"methods": {"DivBO": {}, "RS": {}}, "datasets": ["d0", "d1", "d2"], "repeats": 1}
    assert page.mean_errors(study, [*failed, *runs[2:]]).loc["d0"].tolist() == [0.2, 1]
    squared = evidence.with_failures({"metric": "squared-error"}, rows([2.0], 1) + failed)
    assert squared[-1]["test"] == evidence.text(1.01 * 2.19)


def test_an_unknown_column_raises():
    with pytest.raises(ValidationError, match="column"):
        Decide(column="tests", lower=["a"], higher=["b"])


def rows(differences, repeats=2, **changes) -> list[dict[str, str]]:
    """Rows of DivBO at 0.2 and of RS so much higher, by data set."""
    blank = dict.fromkeys(evidence.COLUMNS, "1") | {"stale": ""}
    return [
        {**blank, "dataset": f"d{i}", "repeat": str(r), "method": method, "test": str(test)}
        | changes
        for i, difference in enumerate(differences)
        for r in range(repeats)
        for method, test in (("DivBO", 0.2), ("RS", 0.2 + difference + 0.01 * (2 * r - 1)))
    ]


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        # Mean and 12.706 (n = 2) or 4.303 (3) standard errors.
        ([0.03, 0.05], decided.OPEN),
        ([0.03, 0.04, 0.05], decided.AGREES),
        ([-0.03, -0.04, -0.05], decided.DIFFERS),
        ([0.03, -0.04, 0.05], decided.OPEN),
        ([0.03], decided.MISSING),
    ],
)
def test_a_claim_is_decided_by_its_interval(differences, verdict):
    found, pairs = decide(RULE, rows(differences))
    assert found == verdict
    if verdict == decided.AGREES:
        line = pairs.iloc[0]
        assert (line["lower"], line["higher"], line["units"]) == ("DivBO", "RS", 3)
        half = 4.302653 * 0.01 / 3**0.5
        assert [*line[["difference", "low", "high"]]] == pytest.approx(
            [0.04, 0.04 - half, 0.04 + half]
        )
        assert line["detectable"] == pytest.approx(detectable(np.array([0.03, 0.04, 0.05])))


def test_ranks_need_six_data_sets():
    rule = RULE.model_copy(update={"by": "rank"})
    assert decide(rule, rows([0.03] * 5))[0] == decided.OPEN
    verdict, pairs = decide(rule, rows([0.03] * 6))
    assert (verdict, pairs["difference"].item()) == (decided.AGREES, 1)


def test_intervals_of_ranks_are_possible():
    """Ranks differ by 1 and -1: their mean by 0 ± 12.7."""
    line = decide(RULE.model_copy(update={"by": "rank"}), rows([0.03, -0.03]))[1].iloc[0]
    assert [*line[["difference", "low", "high"]]] == [0, -1, 1]
    assert np.isnan(line["detectable"])


def test_stale_rows_and_unknown_methods_do_not_count():
    assert decide(RULE, rows([0.03, 0.04], stale="yes"))[0] == decided.MISSING
    rule = RULE.model_copy(update={"higher": ["BO"]})
    assert decide(rule, rows([0.03, 0.04]))[0] == decided.MISSING
    assert decide(RULE, [])[0] == decided.MISSING


def test_runs_that_lack_a_method_do_not_count():
    some = [r for r in rows([0.03, 0.04, 0.05]) if (r["dataset"], r["method"]) != ("d2", "RS")]
    assert decide(RULE, some)[1]["units"].item() == 2


def test_committed_evidence_decides_all_claims_of_its_study():
    for folder in (path.parent for path in (ROOT / "evidence").glob("*/study.json")):
        content = [*evidence.read(folder), *measured.read(folder)]
        content = [row | {"stale": ""} for row in content]
        for claim in CLAIMS.values():
            if claim.decide and folder.name in claim.studies and not claim.decide.largest_in_first:
                about = {*claim.decide.datasets, *claim.decide.printed}
                units = "repeat" if claim.decide.over == "repeats" else "dataset"
                of_units = {row[units] for row in content}
                if about - {row["dataset"] for row in content} or len(of_units) < 2:
                    continue  # not run yet
                verdict, pairs = decide(claim.decide, content)
                pairs_of = 1 if claim.decide.by == "best" else len(claim.decide.higher) or 1
                expected = len(claim.decide.lower) * pairs_of
                assert verdict != decided.MISSING
                assert len(pairs) == expected


def test_the_lowest_validation_loss_of_an_iteration():
    """Older rows lack it; a run without a model until then has the worst loss."""
    rule = Decide(column="validation_100", lower=["DivBO"], higher=["RS"])
    made = rows([0.0] * 3)
    for row in made:
        lead = 0.01 * int(row["dataset"][1]) if row["method"] == "RS" else 0.0
        row["validation_curve"] = f"1:0.5 99:{0.3 + lead} 100:{0.2 + lead} 101:0.1"
    found = decide(rule, made)[1].iloc[0]
    assert found["difference"] == pytest.approx(0.01) and found["units"] == 3
    made[0]["validation_curve"] = "101:0.1"
    found = decide(rule, made)[1].iloc[0]
    assert found["difference"] == pytest.approx((-0.8 / 2 + 0.01 + 0.02) / 3)
    assert found["units"] == 3
    for row in made[:4]:
        row["validation_curve"] = ""
    assert decide(rule, made)[1].iloc[0]["units"] == 2
    made[0]["test_tenths"] = made[2]["test_tenths"] = " " * 9  # never a model
    for row in made[1:4:2]:
        row["validation_curve"] = "1:0.2"
    found = decide(rule, made)[1].iloc[0]
    assert found["difference"] == pytest.approx((-0.8 + 0.01 + 0.02) / 3)


def test_the_first_tenth():
    rule = Decide(column="test_1", lower=["DivBO"], higher=["RS"])
    made = rows([0.0] * 3)
    for row in made:
        lead = 0.01 * int(row["dataset"][1]) if row["method"] == "RS" else 0.0
        row["test_tenths"] = f"{0.3 + lead} 0.1"
    assert decide(rule, made)[1]["difference"].item() == pytest.approx(0.01)
    made[0]["test_tenths"] = " 0.1"  # without a model after the first tenth
    found = decide(rule, made)[1].iloc[0]
    assert (
        found["difference"] == pytest.approx((-0.7 / 2 + 0.01 + 0.02) / 3) and found["units"] == 3
    )


def test_twice_the_seconds_of_fitting_and_suggesting_are_a_difference_of_one():
    rule = Decide(column="seconds", lower=["DivBO"], higher=["RS"])
    made = rows([0.0, 0.0])
    for row in made:
        row["cpu_seconds"], row["suggest_seconds"] = {"RS": ("5", "3")}.get(
            row["method"], ("1", "3")
        )
    assert decide(rule, made)[1]["difference"].item() == pytest.approx(1)


def test_iterations_to_the_higher_one_of_two_final_losses():
    """DivBO ends lower: it reaches RS's 0.2 at 16, and RS itself at 64."""
    rule = Decide(column="reached", lower=["DivBO"], higher=["RS"])
    made = rows([0.0] * 3)
    for row in made:
        curve = "1:0.5 16:0.19 200:0.1" if row["method"] == "DivBO" else "1:0.4 64:0.2"
        row["validation_curve"] = curve
    pair = decide(rule, made)[1].iloc[0]
    assert (pair["difference"], pair["units"]) == (2, 3)
    for row in made:
        if row["dataset"] == "d0" and row["method"] == "RS":
            row["validation_curve"] = "1:0.4"
    # Where RS ends at 0.4, DivBO is there at 16.
    assert decide(rule, made)[1]["difference"].item() == pytest.approx((2 + 2 - 4) / 3)
    made[0]["validation_curve"] = made[2]["validation_curve"] = ""
    assert decide(rule, made)[1]["units"].item() == 2


@pytest.mark.parametrize(
    ("studies", "verdict"),
    [
        ([[0.03, 0.04, 0.05], [0.03, 0.04, 0.05]], decided.AGREES),
        ([[0.03, 0.04, 0.05], [0.03, -0.04, 0.05]], decided.OPEN),
        ([[0.03, 0.04, 0.05], []], decided.OPEN),
        ([[-0.03, -0.04, -0.05], [0.03, 0.04, 0.05]], decided.DIFFERS),
        ([[-0.03, -0.04, -0.05], []], decided.DIFFERS),
        ([[], []], decided.MISSING),
    ],
)
def test_a_claim_about_several_studies_is_about_each(studies, verdict):
    found, pairs = decide(RULE, *(rows(differences) for differences in studies))
    assert found == verdict
    assert [*pairs["study"]] == [i for i, differences in enumerate(studies) if differences]


def test_a_difference_that_is_larger_in_the_first_study():
    rule = RULE.model_copy(update={"largest_in_first": True})
    hard, easy = rows([0.05, 0.07, 0.06]), rows([0.01, 0.02, 0.03])
    verdict, pairs = decide(rule, hard, easy, easy)
    assert verdict == decided.AGREES and len(pairs) == 2
    assert [*pairs["difference"]] == pytest.approx([0.04, 0.04])  # 0.04, 0.05, 0.03
    assert decide(rule, easy, hard)[0] == decided.DIFFERS
    # Of an easy study of one data set, the others have no counterpart.
    assert decide(rule, hard, rows([0.01]))[0] == decided.MISSING


def test_repeats_of_one_data_set():
    made = rows([0.03], repeats=3)  # 0.02, 0.04, 0.06
    assert decide(RULE, made)[0] == decided.MISSING
    rule = RULE.model_copy(update={"over": "repeats"})
    verdict, pairs = decide(rule, made)
    assert (verdict, pairs["units"].item()) == (decided.OPEN, 3)
    half = 4.302653 * 0.02 / 3**0.5
    assert [*pairs[["low", "high"]].iloc[0]] == pytest.approx([0.04 - half, 0.04 + half])


def test_spread_over_repeats():
    """DivBO is always at 0.2; RS at 0.22, 0.24, ..., 0.30, with a median of 0.26."""
    rule = RULE.model_copy(update={"over": "repeats", "by": "spread"})
    verdict, pairs = decide(rule, rows([0.03], repeats=5))
    deviations = np.array([0.04, 0.02, 0, 0.02, 0.04])
    assert pairs["difference"].item() == pytest.approx(deviations.mean())
    half = 2.776445 * deviations.std(ddof=1) / 5**0.5
    assert pairs["low"].item() == pytest.approx(deviations.mean() - half)
    assert verdict == decided.AGREES


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.001, -0.002, 0.002], decided.AGREES),
        ([0.06, 0.061, 0.062], decided.DIFFERS),
        ([-0.06, -0.061, -0.062], decided.DIFFERS),
        ([0.02, -0.04, 0.04], decided.OPEN),
    ],
)
def test_claims_that_methods_are_alike(differences, verdict):
    rule = RULE.model_copy(update={"within": 0.02})
    assert decide(rule, rows(differences))[0] == verdict


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.001, -0.002, 0.002], decided.AGREES),
        ([0.06, 0.061, 0.062], decided.AGREES),
        ([-0.06, -0.061, -0.062], decided.DIFFERS),
        ([0.02, -0.04, 0.04], decided.OPEN),
    ],
)
def test_claims_that_a_method_is_not_worse(differences, verdict):
    rule = RULE.model_copy(update={"margin": 0.02})
    assert decide(rule, rows(differences))[0] == verdict


def test_the_mean_over_divisions():
    rule = Decide(column="test_divisions", lower=["DivBO"], higher=["RS"])
    made = rows([0.0] * 3)
    for row in made:
        lead = 0.01 * int(row["dataset"][1]) if row["method"] == "RS" else 0.0
        row["test_divisions"] = f"0.1 {0.3 + 2 * lead}"
    assert decide(rule, made)[1]["difference"].item() == pytest.approx(0.01)


def test_the_share_of_data_sets_on_which_a_method_is_best():
    """The interval of 9 of 10 by Clopper and Pearson is [0.555, 0.997]; by chance it is 0.5."""
    rule = RULE.model_copy(update={"by": "best", "size": 0.1})
    verdict, pairs = decide(rule, rows([0.03] * 9 + [-0.03]))
    assert verdict == decided.AGREES
    found = pairs[["difference", "low", "high"]].iloc[0]
    assert [*found] == pytest.approx([0.4, 0.05498, 0.49747], abs=1e-5)
    assert decide(rule, rows([0.03] * 5 + [-0.03] * 5))[0] == decided.OPEN
    assert decide(rule, rows([-0.03] * 8))[0] == decided.DIFFERS
    # Ties count for all: on 4 of 10 data sets, each of two is lowest, which is chance on 70 %.
    verdict, pairs = decide(rule, rows([0.0] * 4 + [0.03] * 6))
    assert (verdict, pairs["chance"].item()) == (decided.OPEN, 0.7)
    assert pairs["difference"].item() == pytest.approx(0.3)


def test_the_share_of_data_sets_on_which_a_method_is_not_worse():
    """Of 12 data sets, 2 with ties: 12 and 2 are not worse, 7 of 12 by chance."""
    rule = RULE.model_copy(update={"by": "tied"})
    verdict, pairs = decide(rule, rows([0.03] * 10 + [0.0] * 2))
    assert verdict == decided.AGREES
    assert [*pairs[["lower", "higher", "units"]].iloc[0]] == ["DivBO", "RS", 12]
    assert pairs["chance"].item() == pytest.approx(7 / 12)
    found = pairs[["difference", "low", "high"]].iloc[0]
    # Clopper and Pearson's interval of 12 of 12 begins at 0.025^(1/12).
    assert [*found] == pytest.approx([5 / 12, 0.025 ** (1 / 12) - 7 / 12, 5 / 12])
    # Of methods that always tie, none is worse: by chance, too.
    assert decide(rule, rows([0.0] * 20))[0] == decided.OPEN
    assert decide(rule, rows([0.03] * 1 + [-0.03] * 9))[0] == decided.DIFFERS


def test_studies_can_be_pooled():
    """A data set of both studies counts once, with the mean of its ranks, or of its losses."""
    studies = rows([0.03, -0.03, 0.01]), rows([0.01, 0.01])
    rule = RULE.model_copy(update={"pooled": True})
    _, pairs = decide(rule, *studies)
    assert pairs[["study", "units"]].to_numpy().tolist() == [[0, 3]]
    assert pairs["difference"].item() == pytest.approx((0.02 - 0.01 + 0.01) / 3)
    _, pairs = decide(rule.model_copy(update={"by": "rank"}), *studies)
    assert pairs["difference"].item() == pytest.approx((1 + 0 + 1) / 3)
    # Data sets of another target or split, with another baseline, are others.
    others = rows([0.01, 0.01], majority="0.4")
    assert decide(rule, studies[0], others)[1]["units"].item() == 5


def test_most_of_a_gain_is_more_than_half():
    """Of a gain of 0.4, a method lacks 0.1 on average: halfway is 0.1 above it."""
    rule = Decide(column="test", lower=["some"], halfway=["none", "all"])
    made = [
        {"dataset": d, "repeat": "0", "method": method, "test": str(test), "stale": ""}
        for i, d in enumerate("abcdef")
        for method, test in (("none", 0.5), ("all", 0.1), ("some", 0.2 + 0.01 * (-1) ** i))
    ]
    verdict, pairs = decide(rule, made)
    assert verdict == decided.AGREES
    assert pairs["difference"].tolist() == pytest.approx([0.1])
    assert pairs["higher"].tolist() == ["halfway between none and all"]


def test_what_a_paper_prints_is_compared_over_repeats():
    rule = Decide(
        column="tau", over="repeats", lower=["lgbm"], printed={"a": 0.6, "b": 0.5}, within=0.1
    )
    taus = {"a": (0.5, 0.7, 0.6), "b": (0.5, 0.52, 0.54), "c": (0.9, 0.9, 0.9)}

    def made(shift: float) -> list[dict[str, str]]:
        return [
            {"dataset": d, "repeat": str(r), "method": "lgbm", "tau": str(t + shift), "stale": ""}
            for d, values in taus.items()
            for r, t in enumerate(values)
        ]

    # Printed minus found, means over a and b: 0.05, -0.06, -0.02.
    verdict, pairs = decide(rule, made(0))
    line = pairs.iloc[0]
    assert (line["higher"], line["units"]) == ("printed", 3)
    half = 4.302653 * np.std([0.05, -0.06, -0.02], ddof=1) / 3**0.5
    assert [*line[["difference", "low", "high"]]] == pytest.approx(
        [-0.01, -0.01 - half, -0.01 + half]
    )
    assert verdict == decided.OPEN
    assert decide(rule, made(0.5))[0] == decided.DIFFERS
    assert decide(rule.model_copy(update={"within": 0.2}), made(0))[0] == decided.AGREES


def test_a_claim_about_some_data_sets_is_decided_by_them_alone():
    rule = RULE.model_copy(update={"datasets": ["d0"], "over": "repeats"})
    verdict, pairs = decide(rule, rows([0.03, -0.5], repeats=3))
    assert pairs["units"].item() == 3
    assert pairs["difference"].item() == pytest.approx(0.04)  # 0.03 + 0.01 * (-1, 1, 3)
    assert verdict == decided.OPEN
