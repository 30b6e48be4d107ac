"""Hook of MkDocs: the repository's pages at their places, so that their links work, and the API.

Pages of evidence are listed below the ledger; files that are not pages are copied if a page links
to them.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

from griffe import Attribute, Docstring, Extension
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
#: Modules of the API reference: what users import, and the base classes of their own parts.
API = {
    "Ensembles for a table": {
        "delivery.fitting": ["fit"],
        "predictor.ensemble": ["load_ensemble", "DeliveredClassifier", "DeliveredRegressor"],
    },
    "Optimizers": {"optimizers.base": ["Optimizer", "Suggestion", "History", "Observation"]},
    "Ensembles": {"ensembles.base": ["Ensemble", "Pool", "Members", "Refit"]},
    "Surrogates": {"surrogates.base": ["DiversitySurrogate", "PerformanceSurrogate"]},
    "Search spaces": {"spaces.base": ["Space", "Configuration"]},
    "Metrics": {"metrics.base": ["Metric", "MeanLoss"]},
    "Drivers of other libraries": {"drivers.base": ["Driver"]},
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of evidence."""
    (evidence,) = (part["Evidence"] for part in config.nav or [] if "Evidence" in part)
    pages = sorted(p for p in _pages() if p.startswith("evidence/") and p.count("/") == 2)
    evidence += [{page.split("/")[1]: page} for page in pages]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Collect the pages, what they link to, and the API reference."""
    pages = _pages()
    paths = {*pages}
    for page in pages:
        for link in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            target = (ROOT / page).parent / link
            if target.is_file():
                paths.add(str(target.resolve().relative_to(ROOT)))
    for file in [*files]:  # found by MkDocs at places of its own
        if Path(str(file.abs_src_path)).is_relative_to(ROOT / "docs"):
            files.remove(file)
    for path in sorted(paths):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    text = ["# API"]
    for title, modules in API.items():
        objects = [f"{module}.{name}" for module, names in modules.items() for name in names]
        text += [f"## {title}", *(f"::: ensemble_search.{name}" for name in objects)]
    files.append(File.generated(config, "api.md", content="\n\n".join(text) + "\n"))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Remove the roles of Sphinx from docstrings, which MkDocs shows as text."""
    return re.sub(r":(?:attr|class|data|func|meth|mod):(?=<code>)", "", html)


class Comments(Extension):
    """Fields are described by comments ``#:`` beside them, or above the first of several."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Add the description of a field."""
        if attr.docstring or not (attr.parent and attr.parent.is_class and attr.lineno):
            return
        lines = Path(str(attr.filepath)).read_text(encoding="utf-8").split("\n")
        *above, own = lines[: attr.lineno]
        found = own.partition("  #: ")[2:]
        if not found[0]:
            while above and re.match(r"    \w[^#]*$", above[-1]):
                above.pop()
            found = ()
            while above and above[-1].startswith("    #: "):
                found = above.pop().removeprefix("    #: "), *found
        if text := " ".join(found):
            attr.docstring = Docstring(f"{text[0].upper()}{text[1:].rstrip('.')}.", parent=attr)


def _pages() -> list[str]:
    """Paths of the Markdown pages, relative to the repository."""
    command = ["git", "ls-files", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    return [path for path in listed.stdout.split() if not path.startswith("tests/")]
