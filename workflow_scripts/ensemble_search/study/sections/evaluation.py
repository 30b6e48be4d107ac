"""`evaluation`: whether configurations are fitted, or looked up where they have been before."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class Evaluation(Section):
    """How the searches evaluate configurations; by default, they are fitted."""

    replay: str | None = Field(
        None,
        min_length=1,
        description="folder of tables, such as results/<study>/tables: searches choose among their "
        "configurations, and look up their results",
    )
    share: bool = Field(
        False,
        description="what one search has fitted, others of the study look up; changes no result",
    )
    tables: str | None = Field(
        None,
        min_length=1,
        description="with `share`, a folder of tables of another study: what is there is looked up",
    )

    @field_validator("replay", "tables")
    @classmethod
    def _spelled(cls, path: str | None) -> str | None:
        """Spell a folder below the working directory as the rule that may make it does."""
        if path is None:
            return None
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            pass  # it may still have to be made
        except OSError as error:
            raise ValueError(f"cannot be looked at: {error.strerror}") from None
        here, real = os.path.realpath("."), os.path.realpath(path)
        below = real.startswith(here + os.sep)
        return os.path.relpath(real, here) if below else os.path.normpath(path)

    def table(self, dataset: str, split: str) -> str | None:
        """Folder of the table of a data set and split; None without ``replay``."""
        return f"{self.replay}/{dataset}/{split}" if self.replay else None


def problems(study: "Study") -> Iterator[str]:
    """Check the paths of the tables, which may still have to be made, and what goes together."""
    section = study.evaluation
    for key in ("replay", "tables"):
        if set("{}\n") & set(getattr(section, key) or ""):
            yield f"evaluation.{key}: a path must not contain braces or line breaks"
    if section.replay and section.share:
        yield "evaluation.share: replayed searches fit nothing; remove share or replay"
    if section.tables and not section.share:
        yield "evaluation.tables: needs share: true (or use replay, to look up only)"
    if section.tables == f"results/{study.study}/tables" and study.tables:
        yield (
            "evaluation.tables: these are made by this study, whose jobs share their evaluations "
            "anyway; remove the key"
        )
