"""Code versions follow the code and its imports, and nothing else."""

import textwrap

import pytest

from ensemble_search.runtime import code_version as module
from ensemble_search.runtime.code_version import code_version, files
from ensemble_search.runtime.errors import UserError


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small library; returns a function that writes a file of it and forgets the caches."""
    monkeypatch.setattr(module, "ROOT", tmp_path)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        for function in (
            code_version,
            module._known,
            module._files_of,
            module._imported_by,
        ):
            function.cache_clear()

    write("lib/__init__.py", "")
    write("lib/a.py", "from lib import b\nimport lib.c\nx = 1\n")
    write("lib/b.py", 'def f():\n    """Return."""\n    from lib.d import g\n    return g\n')
    write("lib/c.py", "y = 2\n")
    write("lib/d.py", "def g():\n    pass\n")
    write("lib/other.py", "z = 3\n")
    return write


def test_follows_imports_wherever_they_stand(tree):
    found = files("lib.a")
    assert found == ["lib/__init__.py", "lib/a.py", "lib/b.py", "lib/c.py", "lib/d.py"]


def test_other_packages_are_listed_wherever_their_imports_stand(tree):
    tree("lib/d.py", "import os.path, torch.nn\n\n\ndef g():\n    from odd_name import x\n")
    tree("lib/other.py", "import elsewhere\n")
    assert module.libraries("lib.a") == ["odd_name", "torch"]


@pytest.mark.parametrize(
    "text", ["from . import d", "from .d import g", "from ..lib import d", "from ..lib.d import g"]
)
def test_follows_relative_imports(tree, text):
    tree("lib/other.py", f"{text}\n")
    assert "lib/d.py" in files("lib.other")


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("lib/d.py", "def g():\n    return 1\n", False),
        ("lib/d.py", "# why\ndef g( ):\n\n    pass\n", True),
        ("lib/d.py", 'def g():\n    """New words."""\n    pass\n', True),
        (
            "lib/b.py",
            'def f():\n    """Other."""\n    from lib.d import (g,)\n    return g\n',
            True,
        ),
        (
            "lib/b.py",
            'def f():\n    """Return."""\n    from lib.d import g\n    return g()\n',
            False,
        ),
        ("lib/other.py", "z = 4\n", True),
        ("lib/a.py", "from lib import b\nimport lib.c\nx = '1'\n", False),
    ],
)
def test_changes_with_the_code_only(tree, file, text, same):
    before = code_version("lib.a")
    tree(file, text)
    assert (code_version("lib.a") == before) is same


def test_a_removed_docstring_leaves_the_code(tree):
    before = code_version("lib.d")
    tree("lib/d.py", 'def g():\n    """Only words."""\n')
    assert code_version("lib.d") == before


@pytest.mark.parametrize(
    ("field", "same"),
    [
        ('Field(1, description="Other words, " "in parts.", ge=0)', True),
        ("Field(1, ge=0)", True),
        ('Field(2, description="Words.", ge=0)', False),
        ('Field(1, description="Words.", ge=1)', False),
    ],
)
def test_descriptions_of_settings_are_no_code(tree, field, same):
    text = "class S:\n    size: int = {}\n"
    tree("lib/d.py", text.format('Field(1, description="Words.", ge=0)'))
    before = code_version("lib.d")
    tree("lib/d.py", text.format(field))
    assert (code_version("lib.d") == before) is same


def test_guard_sees_changed_code_only(tree):
    guard = module.Guard("lib.a")
    guard.check()
    tree("lib/d.py", "# a comment\ndef g():\n    pass\n")
    guard.check()
    tree("lib/other.py", "z = 5\n")
    guard.check()
    for text in ("def g():\n    return 2\n", "def g(:\n"):
        tree("lib/d.py", text)
        with pytest.raises(UserError, match=r"'lib/d\.py' was changed while this job ran"):
            guard.check()


def counted(monkeypatch) -> list[str]:
    """Names of the files that are parsed from now on, as in a new process."""
    parsed, parse = [], module._parse
    monkeypatch.setattr(
        module, "_parse", lambda text, path: (parsed.append(path.as_posix()), parse(text, path))[1]
    )
    module._kept.cache_clear()
    return parsed


def test_only_changed_files_are_parsed_again(tree, monkeypatch):
    before = code_version("lib.a")
    parsed = counted(monkeypatch)
    tree("lib/other.py", "")  # forgets what this process knows
    assert code_version("lib.a") == before
    assert parsed == []
    tree("lib/d.py", "def g():\n    return 1\n")
    assert code_version("lib.a") != before
    assert parsed == ["lib/d.py"]
    tree("lib/d.py", "def g():\n    pass\n")
    assert code_version("lib.a") == before


@pytest.mark.parametrize("text", ["", "[]", "{", '{"lib/d.py": 1, "lib/a.py": ["", "", ""]}', "\0"])
def test_damage_of_what_is_kept_changes_nothing(tree, tmp_path, text):
    before = code_version("lib.a")
    (tmp_path / module.KEPT).write_text(text)
    module._kept.cache_clear()
    tree("lib/other.py", "")
    assert code_version("lib.a") == before


def test_what_another_parser_kept_is_not_used(tree, monkeypatch):
    code_version("lib.a")
    parsed = counted(monkeypatch)
    monkeypatch.setattr(module.sys, "version", "4.0")
    tree("lib/other.py", "")
    code_version("lib.a")
    assert "lib/d.py" in parsed


def test_a_folder_that_cannot_be_written(tree, tmp_path):
    (tmp_path / "__pycache__").write_text("a file")
    assert len(code_version("lib.a")) == 16


def test_studies_are_no_code_of_a_split():
    """Otherwise, a change in the message of a mistake would run a whole study again."""
    assert not [name for name in files("split") if name.startswith("ensemble_search/study/")]
