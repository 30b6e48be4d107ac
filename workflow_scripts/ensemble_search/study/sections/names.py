"""`study` and all other names that users choose: they become folders."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

#: Names start with a letter or digit and cannot leave the results folder.
NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$"
Name = Annotated[str, Field(pattern=NAME)]
#: Sections whose entries have names that users choose.
NAMED = ("datasets", "searches", "ensembles", "methods")
#: Folders below results/ that belong to no study.
TAKEN = {"data": "the downloads", "slurm": "the logs of SLURM"}
#: Names that Windows reserves for devices, with any extension.
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def is_name(name: str) -> bool:
    """Whether a name can be that of a folder, on all systems."""
    return re.fullmatch(NAME, name) is not None and not DEVICES.fullmatch(name)


def problems(study: "Study") -> Iterator[str]:
    """Check that names are unique as folder names, even if case is ignored."""
    names = {"study": [study.study]}
    names |= {section: list(getattr(study, section)) for section in NAMED}
    for section, entries in names.items():
        seen: dict[str, str] = {}
        for name in entries:
            where = section if section == "study" else f"{section}.{name}"
            if DEVICES.fullmatch(name):
                yield f"{where}: '{name}' is a device's name on Windows; choose another"
            other = seen.setdefault(name.lower(), name)
            if other != name:
                yield (
                    f"{where}: differs from '{other}' in case only, which some file systems do not "
                    "distinguish; choose another name"
                )
    if content := TAKEN.get(name := study.study.lower()):
        yield f"study: '{study.study}' is taken: results/{name} has {content}; choose another name"
