"""Plugins: what a file must define, and the one line that each mistake of its author gets."""

import subprocess
import sys
from collections import Counter

import pytest

from ensemble_search.ensembles.base import Ensemble
from ensemble_search.ensembles.selection import Selection
from ensemble_search.jobs import Jobs
from ensemble_search.optimizers.base import Optimizer
from ensemble_search.optimizers.bo import BayesianOptimization
from ensemble_search.runtime import code_version, plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model, schema
from ensemble_search.study.sections.names import NAME
from support import ROOT, SCRIPTS

GOOD = """
from ensemble_search.optimizers.random import RandomSearch as _Random

class _Helper: ...

class Mine(_Random):
    rate: float = 0.5
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into a folder that counts as part of ``ensemble_search.<kind>``."""

    def into(kind: str, name: str, text: str):
        package = __import__(f"ensemble_search.{kind}", fromlist=["base"])
        (tmp_path / kind).mkdir(exist_ok=True)
        (tmp_path / kind / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(plugins, "ROOT", tmp_path)
        monkeypatch.setattr(plugins, "SHARED", {})
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / kind)])

    before = set(sys.modules)
    plugins.load.cache_clear()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield into
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    plugins.load.cache_clear()


def test_a_file_is_a_plugin(write):
    write("optimizers", "mine_too.py", GOOD)
    assert plugins.available("optimizers") == ["mine-too"]
    made = plugins.make("optimizers", {"optimizer": "mine-too", "rate": 1}, "optimizer", "s")
    assert (type(made).__name__, made.rate) == ("Mine", 1.0)


def test_the_schema_has_the_settings_of_a_new_file(write):
    write("optimizers", "mine_too.py", GOOD)
    searches = schema.schema()["properties"]["searches"]["patternProperties"][NAME]
    (mine,) = searches["anyOf"]
    assert mine["properties"]["optimizer"] == {"const": "mine-too"}
    assert mine["properties"]["rate"]["default"] == 0.5


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("optimizers", "", "exactly one public class, a subclass of Optimizer; found none"),
        ("optimizers", GOOD + "class Other(Mine): ...", "found Mine, Other"),
        ("optimizers", "class A: ...", "class A must be a subclass of Optimizer"),
        ("ensembles", "class A: ...", "class A must be a subclass of Ensemble"),
        ("spaces", "class A: ...", "class A must be a subclass of Space"),
        ("surrogates", "class A: ...", "subclass of DiversitySurrogate or PerformanceSurrogate"),
        (
            "optimizers",
            "from ensemble_search.optimizers import base\nclass A(base.Optimizer): ...",
            "class A must define suggest",
        ),
        ("optimizers", "x = 1\nclass A(:", "line 2: cannot be imported: SyntaxError"),
        ("optimizers", "\n\nimport no_such", "line 3: cannot be imported: ModuleNotFoundError"),
        ("optimizers", "x = 1 / 0\n", "line 1: cannot be imported: ZeroDivisionError"),
    ],
)
def test_mistakes_of_an_author(write, kind, text, says):
    write(kind, "mine_broken.py", text)
    with pytest.raises(UserError) as caught:
        plugins.load(kind, "mine-broken")
    assert str(caught.value).startswith(f"{kind}/mine_broken.py: ")
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_name_with_a_hyphen(write):
    write("optimizers", "my-own.py", GOOD)
    with pytest.raises(UserError, match=r"^optimizers/my-own\.py: rename the file to my_own\.py"):
        plugins.load("optimizers", "my-own")


def test_the_study_names_the_file(write):
    write("ensembles", "mine_bad.py", "class A: ...")
    write("spaces", "mine_space.py", "class B: ...")
    metric = "class C(base.Metric):\n    def loss(self, labels, predictions):\n        return 0.0"
    write("metrics", "mine_metric.py", f"from ensemble_search.metrics import base\n{metric}")
    content = {
        "study": "s",
        "datasets": {"wine": {"sklearn": "wine"}},
        "searches": {"x": {"optimizer": "x"}},
        "ensembles": {"e": {"type": "mine-bad"}},
        "methods": {"m": {"search": "x", "ensemble": "e"}},
        "space": "mine-space",
        "metric": "mine-metric",
    }
    with pytest.raises(UserError) as caught:
        model.check(content, "f")
    lines = str(caught.value).split("\nerror: ")
    assert "f: space: spaces/mine_space.py: class B must be a subclass of Space" in lines
    assert "f: ensembles.e: ensembles/mine_bad.py: class A must be a subclass of Ensemble" in lines
    assert "f: metric: 'mine-metric' has no title, such as title = \"log loss\"" in lines


def test_a_mistake_of_the_whole_model_names_the_settings(write):
    write(
        "ensembles",
        "mine_two.py",
        "from pydantic import model_validator\n"
        "from ensemble_search.ensembles.best import Best as _Best\n"
        "class A(_Best):\n"
        "    low: int = 1\n"
        "    high: int = 2\n"
        "    @model_validator(mode='after')\n"
        "    def _order(self):\n"
        "        if self.low > self.high:\n"
        "            raise ValueError('low is above high')\n"
        "        return self\n",
    )
    with pytest.raises(UserError, match=r"^ensemble: low is above high$"):
        plugins.make("ensembles", {"type": "mine-two", "low": 3}, "type", "ensemble")


def test_settings_of_an_init_are_fields(write):
    init = "    def __init__(self, k=3):\n        super().__init__()\n        self.k = k\n"
    write("optimizers", "mine_init.py", GOOD + init)
    with pytest.raises(UserError, match=r"^s\.k: settings are fields .*; remove its __init__$"):
        plugins.make("optimizers", {"optimizer": "mine-init"}, "optimizer", "s")


def test_every_wrong_setting_gets_a_line():
    wrong = {"optimizer": "bo", "initial": "7", "interleave": float("nan"), "stepz": 1}
    with pytest.raises(UserError) as caught:
        plugins.make("optimizers", wrong, "optimizer", "searches.x")
    lines = caught.value.problems
    assert [line.split(":")[0] for line in lines] == [
        "searches.x.initial",
        "searches.x.interleave",
        "searches.x.stepz",
    ]


def test_settings_are_strict_but_whole_numbers_are_numbers():
    for plugin, wrong in ((BayesianOptimization, {"initial": 7.0}), (Selection, {"size": "7"})):
        assert issubclass(plugin, (Optimizer, Ensemble))
        with pytest.raises(ValueError, match="valid integer"):
            plugin.model_validate(wrong)
    assert BayesianOptimization.model_validate({"interleave": 0}).interleave == 0.0


def test_the_class_of_a_module_outside_the_package():
    from support import hostile_space

    assert plugins.the_class(hostile_space) is hostile_space.HostileSpace


def test_looking_up_plugins_and_code_does_not_grow_with_the_jobs(monkeypatch):
    searches = {"random": {"optimizer": "random"}, "bo": {"optimizer": "bo"}}
    ensembles = {"best": {"type": "best"}, "stacking": {"type": "stacking"}}
    pairs = [(s, e) for s in searches for e in ensembles]
    content = {
        "study": "s",
        "datasets": {"wine": {"sklearn": "wine"}, "iris": {"sklearn": "iris"}},
        "searches": searches,
        "ensembles": ensembles,
        "methods": {f"{s}-{e}": {"search": s, "ensemble": e} for s, e in pairs},
        "surrogates": {"names": ["forest-kernel"]},
    }
    counts = Counter()

    def count(module, name):
        original = getattr(module, name)

        def counted(*arguments):
            counts[name] += 1
            return original(*arguments)

        monkeypatch.setattr(module, name, counted)

    for name in ("_files", "make"):
        count(plugins, name)
    count(code_version, "_closure")

    def look_ups(repeats):
        jobs = Jobs(model.check({**content, "repeats": repeats}))
        counts.clear()
        for _ in range(2 * repeats):
            for search, ensemble in pairs:
                jobs.search_code(search)
                jobs.ensemble_code(ensemble)
                jobs.refits(ensemble)
            jobs.surrogate_code("forest-kernel")
            jobs.configurations_code()
            jobs.report_code()
        return dict(counts)

    look_ups(1)  # what is found once in a process
    assert look_ups(1) == look_ups(20)


def test_reading_a_study_is_cheap():
    """Every job on a cluster reads the study; these imports take longer than all else of it."""
    file = "studies/divbo/surrogates.yaml"
    code = f"import sys; from ensemble_search.jobs import Jobs; Jobs.load({file!r})"
    heavy = {"ConfigSpace", "scipy", "sklearn", "lightgbm", "pandas", "matplotlib", "pyarrow"}
    code += "\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(SCRIPTS)},
        text=True,
        capture_output=True,
        check=True,
    )
    assert not heavy & set(run.stdout.split())
