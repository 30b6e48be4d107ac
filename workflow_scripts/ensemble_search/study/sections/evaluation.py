"""`evaluation` and `tables`: whether configurations are fitted, or looked up in tables."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, field_validator

from ensemble_search.runtime.plugins import nearest
from ensemble_search.runtime.shares import Share, distinct, names
from ensemble_search.study.sections import searches
from ensemble_search.study.sections.base import Section, unknown

if TYPE_CHECKING:
    from ensemble_search.study.model import Study

NonEmpty = Annotated[str, Field(min_length=1)]


class Evaluation(Section):
    """How searches evaluate configurations; by default, they fit them."""

    replay: str | None = Field(
        None,
        min_length=1,
        description="folder of tables, such as `results/<study>/tables`: searches choose among "
        "their configurations and look up the results",
    )
    share: bool = Field(
        False,
        description="searches of the study share their fits; the results do not change",
    )
    tables: str | None = Field(
        None,
        min_length=1,
        description="with `share`, a folder of tables of another study, whose fits are shared, too",
    )

    warm_start: dict[str, NonEmpty] = Field(
        {},
        description="search -> folder of tables: the search starts with their evaluations, which "
        "do not count towards its budget",
    )

    @field_validator("replay", "tables")
    @classmethod
    def _spelled(cls, path: str | None) -> str | None:
        return None if path is None else _spell(path)

    @field_validator("warm_start")
    @classmethod
    def _all_spelled(cls, paths: dict[str, str]) -> dict[str, str]:
        return {search: _spell(path) for search, path in paths.items()}

    def table(self, dataset: str, split: str) -> str | None:
        """Folder of the table of a data set and split; None without ``replay``."""
        return f"{self.replay}/{dataset}/{split}" if self.replay else None


def _spell(path: str) -> str:
    """Write the path of a folder below the working directory as the rule that may make it does."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # it may not exist yet
    except OSError as error:
        raise ValueError(f"cannot be looked at: {error.strerror}") from None
    here, real = os.path.realpath("."), os.path.realpath(path)
    below = real.startswith(here + os.sep)
    return os.path.relpath(real, here) if below else os.path.normpath(path)


def problems(study: "Study") -> Iterator[str]:
    """Check the paths of tables, which may not exist yet, and which settings go together."""
    section = study.evaluation
    paths = {"replay": section.replay, "tables": section.tables}
    paths |= {f"warm_start.{search}": path for search, path in section.warm_start.items()}
    for key, path in paths.items():
        if set("{}\n") & set(path or ""):
            yield f"evaluation.{key}: a path must not contain braces or line breaks"
    if section.replay and section.share:
        yield "evaluation.share: replayed searches fit nothing; remove share or replay"
    own = f"results/{study.study}/tables"
    for search, path in section.warm_start.items():
        where = f"evaluation.warm_start.{search}"
        if search not in study.searches:
            yield f"{where}: is not among searches; {nearest(search, list(study.searches))}"
        if section.replay:
            yield f"{where}: a replayed search begins with no evaluations; remove it or replay"
        if path == own and study.tables and study.tables.searches:
            yield f"{where}: the table would be made of searches; remove tables.searches"
    if section.tables and not section.share:
        yield "evaluation.tables: needs share: true (or use replay, to look up only)"
    if section.tables == own and study.tables:
        yield (
            "evaluation.tables: these are made by this study, whose jobs share their evaluations "
            "anyway; remove the key"
        )


class Tables(Section):
    """Evaluated configurations of every data set and split, to replay searches on."""

    random: int = Field(
        1000,
        ge=0,
        le=1_000_000,
        description="random configurations, evaluated in jobs of 100; one that two jobs draw is "
        "kept once",
    )
    fidelities: Annotated[list[Share], AfterValidator(distinct)] = Field(
        [1.0],
        min_length=1,
        description="shares of the training rows on which each configuration is evaluated",
    )
    searches: list[str] = Field([], description="searches whose evaluations are added")


def problems_of_tables(study: "Study") -> Iterator[str]:
    """Check the names of the searches, and that there are enough configurations."""
    section = study.tables
    if section is None:
        return
    if not section.random and not section.searches:
        yield "tables.random: a table of 0 random configurations and no searches is empty; raise it"
    if 1 not in section.fidelities:
        yield f"tables.fidelities: {names(section.fidelities)} lack all rows; add 1"
    replay = study.evaluation.replay
    if replay == f"results/{study.study}/tables":
        needed = {name: searches.configurations(study, name) for name in study.used("search")}
        most = max(needed, key=needed.__getitem__)
        if needed[most] > section.random:
            yield (
                f"tables.random: {section.random} are fewer than the configurations that search "
                f"'{most}' asks for within budget.{study.budget.unit}; raise it to at least "
                f"{needed[most]}"
            )
        # All searches need all rows, which a line above says.
        for name, shares in searches.lacking(study, {1.0, *section.fidelities}):
            yield (
                f"tables.fidelities: search '{name}' may ask for {shares} of the training rows, "
                "which the table lacks; add them, or change the settings of the search, such as "
                "smallest"
            )
    yield from unknown("tables.searches", section.searches, study, "searches")
    if section.searches and replay:
        yield (
            "tables.searches: the searches of this study are replayed on a table and evaluate "
            "nothing that could be added; name them in a study without evaluation.replay"
        )
