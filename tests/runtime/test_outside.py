"""Parts from outside: found, rejected in one line, and versioned like built-in ones."""

import os
import re
import signal
import sys

import pytest
import yaml

from ensemble_search.jobs import Jobs, check_plugins
from ensemble_search.runtime import outside, plugins, signals
from ensemble_search.runtime.code_version import Guard, files_outside, libraries
from ensemble_search.runtime.errors import UserError
from support.checkout import STUDY

MINE = """
from ensemble_search.optimizers._help import HALF
from ensemble_search.optimizers.random import RandomSearch as _Random

class Mine(_Random):
    rate: float = HALF
"""
PAGE = "TITLE, ORDER = 'Mine', 900\ndef build(results, publish):\n    return 'nothing'\n"


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A folder of parts in use, and a function that writes further files."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(outside.VARIABLE, raising=False)

    def write(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        outside.use([])  # what is cached is of the files before
        return file

    write("parts/optimizers/_help.py", "HALF = 0.5\n")
    write("parts/optimizers/mine.py", MINE)
    yield write
    monkeypatch.undo()
    outside.use([])


def study(plugins, **more):
    searches = {**STUDY["searches"], "mine": {"optimizer": "mine"}}
    methods = {**STUDY["methods"], "Mine": {"search": "mine", "ensemble": "best"}}
    return yaml.safe_dump(
        {**STUDY, "searches": searches, "methods": methods, "plugins": plugins, **more}
    )


def test_a_file_in_a_folder_is_a_plugin_as_any_other(parts, tmp_path):
    outside.use(["parts"])
    assert "mine" in plugins.available("optimizers") and "bo" in plugins.available("optimizers")
    assert plugins.module_name("optimizers", "mine") == "ensemble_search.optimizers.mine"
    made = plugins.make("optimizers", {"optimizer": "mine"}, "optimizer", "s")
    assert made.rate == 0.5
    assert os.environ[outside.VARIABLE] == str(tmp_path / "parts")
    outside.use([])
    assert "mine" not in plugins.available("optimizers")
    assert outside.VARIABLE not in os.environ
    with pytest.raises(ModuleNotFoundError):
        __import__(type(made).__module__)


def test_versions_follow_the_file_and_its_helper_but_not_the_place(parts, tmp_path):
    parts("study.yaml", study(["parts"]))

    def versions(file="study.yaml"):
        jobs = Jobs.load(file)
        return [jobs.search_code(name) for name in ("mine", "bo", "random")]

    mine, *others = versions()
    assert files_outside("ensemble_search.optimizers.mine") == [
        "ensemble_search/optimizers/_help.py",
        "ensemble_search/optimizers/mine.py",
    ]
    guard = Guard("ensemble_search.optimizers.mine")
    parts("parts/optimizers/_help.py", "# a comment\nHALF = 0.5\n")
    assert versions() == [mine, *others]
    guard.check()
    parts("parts/optimizers/_help.py", "HALF = 0.25\n")
    changed, *same = versions()
    assert changed != mine and same == others
    with pytest.raises(UserError, match=r"'parts/optimizers/_help\.py' was changed while"):
        guard.check()
    parts("parts/optimizers/unused.py", MINE.replace("Mine", "Unused"))
    assert versions() == [changed, *others]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "parts").rename(tmp_path / "elsewhere/other")
    parts("elsewhere/study.yaml", study(["other/"]))
    assert versions("elsewhere/study.yaml") == [changed, *others]


def test_libraries_of_a_part_are_recorded(parts):
    parts("parts/optimizers/_help.py", "import psutil, optuna.samplers\nHALF = 0.5\n")
    outside.use(["parts"])
    assert "optuna" in libraries("ensemble_search.optimizers.mine")


def test_folders_start_at_the_file_that_names_them_and_are_inherited(parts):
    parts("main/study.yaml", study(["../parts"]))
    parts("more/parts/metrics/half.py", "from ensemble_search.metrics.error import Error as _E\n"
          "class Half(_E):\n    title = 'half'\n")  # fmt: skip
    own = {"study": "own", "extends": "../main/study.yaml", "plugins": ["parts"], "metric": "half"}
    parts("more/study.yaml", yaml.safe_dump(own))
    jobs = Jobs.load("more/study.yaml")
    assert jobs.study.plugins == ["parts", "more/parts"]
    assert jobs.study.metric == "half"
    jobs = Jobs.load("more/study.yaml", {"plugins": ["../parts"], "metric": "error"})
    assert jobs.study.plugins == ["parts"]
    assert "plugins" not in jobs.report() + jobs.search("wine", "mine", 0)


@pytest.mark.parametrize(
    ("files", "folders", "says"),
    [
        ({}, ["no"], "there is no folder 'no'"),
        ({"a/x.py": ""}, ["a"], "'a' has none of the folders optimizers/, ensembles/, spaces/"),
        ({"a/optimizers/bo.py": ""}, ["a"], "'a/optimizers/bo.py' has the name of the built-in "
         "ensemble_search/optimizers/bo.py; rename it"),
        ({"a/optimizers/hyperband.py": ""}, ["a"], "the built-in ensemble_search/optimizers/_bra"),
        ({"a/optimizers/_designs.py": ""}, ["a"], "the built-in ensemble_search/optimizers/_desi"),
        ({"a/pages/overview.py": "", "b/pages/overview.py": ""}, ["a", "b"],
         "'b/pages/overview.py' has the name of 'a/pages/overview.py'; rename it"),
        ({"a/spaces/my-own.py": ""}, ["a"], "'a/spaces/my-own.py': rename it to my_own.py"),
        ({"a/spaces/1a.py": ""}, ["a"], "'a/spaces/1a.py': rename it to part_1a.py"),
        ({"a:b/spaces/x.py": ""}, ["a:b"], "may not have ':' in its path"),
        ({}, ["a\0b"], "may not have ':' in its path"),
        ({}, "parts", "plugins: "),
        ({}, [5], "plugins.0: must be text"),
        ({}, [""], "plugins.0: "),
    ],
)  # fmt: skip
def test_what_cannot_be_used_gets_a_line(parts, files, folders, says):
    for name, text in files.items():
        parts(name, text)
    parts("study.yaml", study(folders))
    with pytest.raises(UserError) as caught:
        Jobs.load("study.yaml")
    (line,) = [line for line in caught.value.problems if says in line]
    assert line.startswith("study.yaml: plugins")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("optimizers/bad.py", "x = 1\nclass A(:", "line 2: cannot be imported: SyntaxError"),
        ("ensembles/bad.py", "import no_such", "line 1: cannot be imported: ModuleNotFoundError"),
        ("metrics/bad.py", "class A: ...", "class A must be a subclass of MeanLoss or Metric"),
        ("spaces/bad.py", "import sys\nsys.exit(3)", "line 2: cannot be imported: SystemExit: 3"),
        ("pages/bad.py", "1 / 0", "line 1: cannot be imported: ZeroDivisionError"),
        ("pages/bad.py", "TITLE = 'x'", "must define ORDER"),
    ],
)
def test_all_files_are_imported_before_a_study_runs(parts, name, text, says):
    parts(f"parts/{name}", text)
    outside.use(["parts"])
    with pytest.raises(UserError) as caught:
        check_plugins("study.yaml: plugins")
    assert str(caught.value).startswith(f"study.yaml: plugins: parts/{name}: ")
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_field_of_an_unknown_type_costs_a_line(parts):
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    parts(
        "parts/optimizers/mine.py",
        base + 'class Mine(RandomSearch):\n    """M."""\n    x: "No" = 3',
    )
    parts("study.yaml", study(["parts"], searches={"mine": {"optimizer": "mine"}}))
    with pytest.raises(UserError, match="plugins: `Mine` is not fully defined; you should define"):
        Jobs.load("study.yaml")


@pytest.mark.parametrize("method", ["model_post_init", "check_space"])
def test_what_a_part_raises_while_settings_are_checked_costs_a_line(parts, method):
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    own = f"def {method}(self, given):\n        raise RuntimeError('not so')\n"
    parts("parts/optimizers/mine.py", f'{base}class Mine(RandomSearch):\n    """M."""\n    {own}')
    parts("study.yaml", study(["parts"], searches={"mine": {"optimizer": "mine"}}))
    with pytest.raises(
        UserError, match=r"'parts/optimizers/mine.py', line 5: RuntimeError: not so"
    ):
        Jobs.load("study.yaml")


@pytest.mark.parametrize(
    ("libraries", "says"),
    [
        ('("torch.nn",)', "Own.libraries has 'torch.nn'; name the package alone, 'torch'"),
        ('"torch"', "Own.libraries is 'torch': input should be a valid tuple"),
    ],
)
def test_libraries_of_a_space_are_names_of_packages(parts, libraries, says):
    base = "from ensemble_search.spaces.divbo_small import DivboSmall as _Base\n"
    parts("parts/spaces/own.py", f"{base}class Own(_Base):\n    libraries = {libraries}\n")
    parts("study.yaml", study(["parts"], space="own"))
    with pytest.raises(UserError, match=f"space: {says}"):
        Jobs.load("study.yaml")


@pytest.mark.parametrize(
    ("choices", "right"),
    [
        (["sqrt", "log2"], True),
        ([1, 2.5], True),
        ([True, False], True),
        (["sqrt", 0.5], False),
        ([True, 2], False),
        ([(100,), (100, 50)], False),
    ],
)
def test_choices_of_a_space_have_one_type(parts, choices, right):
    """Otherwise, no column could hold them."""
    parts(
        "parts/spaces/own.py",
        "from ConfigSpace import Categorical, ConfigurationSpace\n"
        "from ensemble_search.spaces.divbo_small import DivboSmall as _Base\n"
        "class Own(_Base):\n"
        "    def define(self):\n"
        f"        return ConfigurationSpace([Categorical('leaf', {choices})])\n",
    )
    parts("study.yaml", study(["parts"], space="own"))
    if right:
        Jobs.load("study.yaml")
        return
    said = f"space: hyperparameter 'leaf': choices {choices} must all be numbers, text, or true"
    with pytest.raises(UserError, match=re.escape(said)):
        Jobs.load("study.yaml")


@pytest.mark.parametrize("name", ["../mine", "/etc/passwd", "a/b", ".", "mine.py", "_help", "a\0"])
def test_names_do_not_leave_the_folders(parts, name):
    parts("study.yaml", study(["parts"], searches={"mine": {"optimizer": name}}))
    with pytest.raises(UserError) as caught:
        Jobs.load("study.yaml")
    assert "searches.mine.optimizer: there is no '" in str(caught.value)


@pytest.fixture
def package(parts, tmp_path, monkeypatch):
    """An installed package with entry points; returns a function that installs another."""
    monkeypatch.syspath_prepend(tmp_path / "installed")

    def install(name, points, group="optimizers"):
        folder = f"installed/{name}-1.5.dist-info"
        parts(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        parts(f"{folder}/RECORD", f"{name}/__init__.py,,\n")
        parts(f"{folder}/entry_points.txt", f"[ensemble_search.{group}]\n{points}\n")
        outside._entry_points.cache_clear()
        outside.roots.cache_clear()

    parts("installed/kit/__init__.py", "")
    parts("installed/kit/help.py", "HALF = 0.5\n")
    parts("installed/kit/mine.py", MINE.replace("ensemble_search.optimizers._help", "kit.help"))
    install("kit", "packed = kit.mine")
    yield install
    for name in [n for n in sys.modules if n.partition(".")[0] == "kit"]:
        del sys.modules[name]
    monkeypatch.undo()
    for cache in outside._caches:
        cache.cache_clear()


def test_entry_points_of_installed_packages_are_plugins(package):
    outside.use([])
    assert plugins.make("optimizers", {"optimizer": "packed"}, "optimizer", "s").rate == 0.5
    module = plugins.module_name("optimizers", "packed")
    assert module == "kit.mine"
    assert files_outside(module) == ["kit/__init__.py", "kit/help.py", "kit/mine.py"]
    assert "kit" in libraries("kit.help")  # which imports nothing


def test_what_a_part_of_a_package_raises_costs_a_line(package, parts):
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    own = "    def planned(self, *budget): raise RuntimeError('not so')\n"
    parts("installed/kit/mine.py", f"{base}class Mine(RandomSearch):\n{own}")
    parts("study.yaml", study([], searches={"mine": {"optimizer": "packed"}}))
    with pytest.raises(UserError, match=r"'installed/kit/mine.py', line 3: RuntimeError: not so"):
        Jobs.load("study.yaml")


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ("bo = kit.mine", r"'bo' of other .* has the name of the built-in ensemble_search/opt.*bo"),
        ("packed = kit.mine", "has the name of entry point 'packed' of kit"),
        ("mine = kit.mine", r"has the name of 'parts/optimizers/mine\.py'; remove one"),
        ("x = kit.mine:Mine", "its value must be a module; found 'kit.mine:Mine'"),
        ("x.y = kit.mine", "a name has letters, digits and hyphens only"),
        ("x = search", "its module has the name of 'search' in workflow_scripts"),
    ],
)
def test_entry_points_that_cannot_be_used(package, points, says):
    package("other", points)
    with pytest.raises(UserError, match=says):
        outside.use(["parts"])


@pytest.mark.parametrize("more", [{"divisions": 5}, {"deliver": {"method": "Mine"}}])
def test_an_ensemble_that_cannot_be_imported_hides_no_other_mistake(parts, more):
    parts("parts/ensembles/broken.py", "import nothing_like_this\n")
    ensembles, one = {"best": {"type": "broken"}}, {"mine": {"optimizer": "mine"}}
    methods = {"Mine": {"search": "mine", "ensemble": "best"}}
    about = {"searches": one, "ensembles": ensembles, "methods": methods, **more}
    parts("study.yaml", study(["parts"], **about, report={"reference": "Yours"}))
    with pytest.raises(UserError) as caught:
        Jobs.load("study.yaml")
    found = [line.split(": ")[1] for line in caught.value.problems]
    assert found == ["ensembles.best", "report.reference"]


def test_pages_are_found(parts):
    from ensemble_search.report import pages

    parts("parts/pages/mine_too.py", PAGE)
    outside.use(["parts"])
    assert "ensemble_search.report.pages.mine_too" in pages.modules()
    pages.check_outside()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "def planned(self, evaluations, seconds=None): return None",
            "Mine.planned returns None; ",
        ),
        ("def planned(self, *budget): return 'x'", "Mine.planned returns 'x'; "),
        ("minimum_evaluations = property(lambda self: '5')", "Mine.minimum_evaluations is '5': "),
        ("minimum_evaluations = property(lambda self: None)", "Mine.minimum_evaluations is None"),
        (
            "shares = property(lambda self: 1.0)",
            "Mine.shares is 1.0: input should be",
        ),
        ("shares = property(lambda self: (2.0,))", "Mine.shares is (2.0,): input should be less"),
        ("modules = property(lambda self: None)", "Mine.modules is None: input should be a valid"),
    ],
)
def test_wrong_types_of_an_optimizer_cost_a_line(parts, body, says):
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    parts(
        "parts/optimizers/mine.py", f'{base}class Mine(RandomSearch):\n    """M."""\n    {body}\n'
    )
    parts("study.yaml", study(["parts"]))
    with pytest.raises(UserError) as caught:
        Jobs.load("study.yaml")
    assert "searches.mine.optimizer: " + says in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def planned(self, evaluations): return None", r"Own\.planned returns None; "),
        ("modules = property(lambda self: None)", r"Own\.modules is None: input should be a val"),
    ],
)
def test_a_wrong_type_of_an_ensemble_costs_a_line(parts, body, says):
    parts(
        "parts/ensembles/own.py",
        f"from ensemble_search.ensembles.best import Best\nclass Own(Best):\n    {body}\n",
    )
    ensembles = {**STUDY["ensembles"], "own": {"type": "own"}}
    parts("study.yaml", study(["parts"], ensembles=ensembles))
    with pytest.raises(UserError, match=rf"ensembles\.own\.type: {says}"):
        Jobs.load("study.yaml")


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit", "SystemExit"])
@pytest.mark.parametrize("where", ["module", "planned", "shares"])
def test_a_part_that_raises_what_ctrl_c_raises_costs_a_line(parts, error, where, monkeypatch):
    monkeypatch.setattr(signal, "default_int_handler", None)  # as in scripts, which replace it
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    text = f"{base}class Mine(RandomSearch):\n    def planned(self, *budget): raise {error}\n"
    own = {}
    if where == "module":
        text = f"raise {error}\n"
    if where == "shares":  # tables that the study makes itself are to have all of them
        text = text.replace("def planned(self, *budget)", "@property\n    def shares(self)")
        replay = f"results/{STUDY['study']}/tables"
        own = {"tables": {"random": 9}, "evaluation": {"replay": replay}}
    parts("parts/optimizers/mine.py", text)
    parts("study.yaml", study(["parts"], **own))
    with pytest.raises(UserError, match=error):
        Jobs.load("study.yaml")


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("where", ["module", "planned"])
def test_ctrl_c_in_a_part_is_not_its_mistake(parts, ours, where, monkeypatch):
    """Nor without our handlers: in Snakemake, or in a notebook."""
    if ours:
        monkeypatch.setattr(signal, "default_int_handler", None)
        monkeypatch.setattr(signals, "received", [2])
    base = "from ensemble_search.optimizers.random import RandomSearch\n"
    text = f"{base}class Mine(RandomSearch):\n    def planned(self, *budget): {{}}\n"
    raising = "raise KeyboardInterrupt" if ours else "import signal; signal.raise_signal(2)"
    parts("parts/optimizers/mine.py", ("{}\n" if where == "module" else text).format(raising))
    parts("study.yaml", study(["parts"]))
    with pytest.raises(KeyboardInterrupt):
        Jobs.load("study.yaml")
