"""Links between the pages of the documentation lead to files and headings that exist."""

import ast
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from support import ROOT, SCRIPTS

PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "evidence/**/*.md", "examples/**/*.md", "tests/**/*.md")
    for page in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """The headings, as GitHub writes them in addresses."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{path}#{anchor}"


def test_modules_that_are_named_exist():
    """But for those of a reader's own."""
    known = {path.name for path in ROOT.glob("[!.]*/**/*.py")} | {"mine.py", "_help.py"}
    for page in PAGES:
        for path in re.findall(r"`([\w/.-]+\.py)`", page.read_text(encoding="utf-8")):
            assert Path(path).name in known, f"{page.relative_to(ROOT)}: {path}"


def test_headings_are_read():
    assert {"extending-another-study", "regression"} <= anchors(ROOT / "docs/studies.md")


def test_the_readme_leads_to_every_page():
    linked = {path for path, _ in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))}
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= linked


def test_the_site_lists_every_page():
    """As `make docs` checks, but without MkDocs."""
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(re.findall(r"^ +- .*: (docs/\S+)$", site, flags=re.M)) == pages


def test_what_the_api_reference_lists_exists():
    (table,) = (
        node.value
        for node in ast.parse((ROOT / "docs/site.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign | ast.Assign) and ast.unparse(node).startswith("API")
    )
    for modules in ast.literal_eval(table).values():
        for module, names in modules.items():
            content = import_module(f"ensemble_search.{module}")
            assert [name for name in names if not getattr(content, name).__doc__] == []


def test_the_api_reference_describes_all_fields(monkeypatch):
    """Without MkDocs and Griffe, which read the same lines."""
    griffe = SimpleNamespace(Extension=object, Attribute=None, Docstring=lambda text, parent: text)
    for name in ("config", "config.defaults", "structure", "structure.files"):
        monkeypatch.setitem(sys.modules, f"mkdocs.{name}", MagicMock())
    for name, module in (("mkdocs", MagicMock()), ("griffe", griffe)):
        monkeypatch.setitem(sys.modules, name, module)
    site = runpy.run_path(str(ROOT / "docs/site.py"))
    found = {}
    for modules in site["API"].values():
        for module in modules:
            file = SCRIPTS / f"ensemble_search/{module.replace('.', '/')}.py"
            for part in ast.parse(file.read_text(encoding="utf-8")).body:
                if not isinstance(part, ast.ClassDef) or part.name.startswith("_"):
                    continue
                for field in part.body:
                    if isinstance(field, ast.AnnAssign):
                        attr = SimpleNamespace(
                            docstring=None, filepath=file, lineno=field.lineno,
                            parent=SimpleNamespace(is_class=True),
                        )  # fmt: skip
                        site["Comments"]().on_attribute_instance(attr=attr)
                        found[part.name, ast.unparse(field.target)] = attr.docstring
    assert [name for name, text in found.items() if not text] == []
    assert found["Metric", "title"] == "Name in tables and figures."
    assert found["Members", "weights"] == "Of shape (n_members,), positive; they sum to 1."
    assert found["Pool", "train_labels"] == found["Pool", "train_inputs"]
    assert found["Pool", "seed"] == "Seed for random ties and for folds."
