"""`evaluation`: how the folder of tables is spelled; `tables`: how many configurations it needs."""

import pytest

from ensemble_search.optimizers._brackets import Hyperband, SuccessiveHalving
from ensemble_search.optimizers.bohb import ModelBasedHyperband
from ensemble_search.optimizers.random import RandomSearch
from ensemble_search.runtime.errors import UserError
from ensemble_search.search.budget import Budget
from ensemble_search.study import model
from ensemble_search.study.sections.evaluation import Evaluation
from support.toy_space import ToySpace, search


@pytest.mark.parametrize(
    "path",
    ["results/s/tables", "results/s/tables/", "./results/x/../s/tables", "{here}/results/s/tables",
     "link"],
)  # fmt: skip
def test_a_folder_below_this_one_has_one_spelling(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("results/s/tables")
    found = Evaluation(replay=path.replace("{here}", str(tmp_path)))
    assert found.replay == "results/s/tables"
    assert Evaluation(share=True, tables=found.replay + "/").tables == "results/s/tables"
    assert found.table("wine", "fixed") == "results/s/tables/wine/fixed"


def test_folders_elsewhere_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Evaluation(replay="../other/tables/").replay == "../other/tables"
    assert Evaluation(replay="/far/away").replay == "/far/away"
    assert Evaluation().table("wine", "fixed") is None


@pytest.mark.parametrize("budget", [{"fits": 3}, {"fits": 12}, {"fits": 20}, {"evaluations": 90}])
@pytest.mark.parametrize(
    "optimizer",
    [Hyperband(), ModelBasedHyperband(), SuccessiveHalving(), RandomSearch(),
     RandomSearch(fidelities=[1 / 27, 1 / 9, 1 / 3, 1]), RandomSearch(fidelities=[1 / 3])],
    ids=str,
)  # fmt: skip
def test_a_search_needs_as_many_configurations_as_it_evaluates(optimizer, budget):
    least = optimizer.minimum_evaluations
    limit = Budget(**budget, minimum=least)
    _, made = search(optimizer, ToySpace(), 250)
    end = next(n for n in range(251) if not limit.allows([s.fidelity for s in made[:n]]))
    found = {tuple(sorted(s.configuration.items())) for s in made[:end]}
    wanted = optimizer.configurations(budget.get("evaluations"), budget.get("fits"))
    assert wanted == len(found)


def replayed(budget, random: int, **settings):
    names = ("random", "hyperband", "bohb")
    return {
        "study": "s",
        "datasets": {"wine": {"sklearn": "wine"}},
        "searches": {name: {"optimizer": name} for name in names}
        | {"hyperband": {"optimizer": "hyperband", **settings}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {name: {"search": name, "ensemble": "best"} for name in names},
        "budget": budget,
        "tables": {"random": random, "fidelities": ["1/27", "1/9", "1/3", 1]},
        "evaluation": {"replay": "results/s/tables"},
    }


@pytest.mark.parametrize(
    ("budget", "least"),
    # 27 + 12 + 6 + 1 of the brackets, which cost 4, 3.67, 4 and 4 fits; these, 3 more,
    # 27 + 12 + 2; the first bracket.
    [({"fits": 12}, 46), ({"fits": 24}, 90), ({"seconds": 100.0}, 27), ({"evaluations": 60}, 60)],
)
def test_a_table_must_have_what_brackets_draw(budget, least):
    search = "random" if "evaluations" in budget else "hyperband"
    expected = (
        f"study: tables.random: {least - 1} are fewer than the configurations that search "
        f"'{search}' asks for within budget.{next(iter(budget))}; raise it to at least {least}"
    )
    with pytest.raises(UserError) as caught:
        model.check(replayed(budget, least - 1))
    assert caught.value.problems == (expected,)
    model.check(replayed(budget, least))
    elsewhere = replayed(budget, least - 1) | {"evaluation": {"replay": "results/t/tables"}}
    model.check(elsewhere)


@pytest.mark.parametrize("optimizer", ["hyperband", "bohb", "successive-halving"])
def test_fits_must_cover_the_first_bracket(optimizer):
    """27, 9, 3 and 1 evaluations, each of which take one full fit together."""
    content = replayed({"fits": 3}, 400)
    content["searches"] = {name: {"optimizer": optimizer} for name in content["searches"]}
    with pytest.raises(UserError) as caught:
        model.check(content)
    assert "study: budget.fits: 3 is below what search 'random' needs, 4" in caught.value.problems
    model.check(content | {"budget": {"fits": 4}})


def test_a_search_of_a_method_must_fit_on_all_rows():
    content = replayed({"fits": 12}, 400)
    content["searches"]["random"]["fidelities"] = ["1/9", "1/3"]
    said = "study: searches.random: its fidelities, 1/9, 1/3, lack all rows; add 1"
    with pytest.raises(UserError) as caught:
        model.check(content)
    assert caught.value.problems == (said,)
    del content["methods"]["random"]
    model.check(content)


def test_too_few_fits_for_boasf_are_called_fits():
    content = replayed({"fits": 48}, 400)
    content["searches"]["random"] = {"optimizer": "boasf"}
    message = r"searches\.random\.budget: 48 full fits \(the study's, .* smallest budget is 66,"
    with pytest.raises(UserError, match=message):
        model.check(content)


def test_settings_of_searches_may_be_fractions():
    study = model.check(replayed({"fits": 12}, 60, smallest="1/27"))
    assert study.searches["hyperband"] == {"optimizer": "hyperband", "eta": 3, "smallest": 1 / 27}
