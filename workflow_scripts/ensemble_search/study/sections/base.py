"""Parts that several sections of a study share."""

import reprlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from ensemble_search.runtime import outside, plugins, signals
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import REGRESSION
from ensemble_search.runtime.plugins import nearest

#: Largest seed: tables store 64 bits.
SEED = 2**63 - 1
#: Largest time limit in seconds, 32 years: beyond any machine.
SECONDS = 1e9


class Section(BaseModel):
    """Base of the sections: rejects unknown keys, type conversions and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def plugin_problems(where: str, kind: str, name: str) -> Iterator[str]:
    """Check that a plugin of this name exists and can be loaded.

    ``where`` is the key that names it, ``kind`` the folder of the plugin.
    """
    known = plugins.available(kind)
    if name not in known:
        yield f"{where}: there is no '{name}'; {nearest(name, known)}"
        return
    try:
        plugins.load(kind, name)
    except UserError as error:
        yield f"{where}: {error}"


def unknown(where: str, names: Iterable[str], study: Any, section: str) -> Iterator[str]:
    """Find names, given as ``where`` says, that are not in a section of the study."""
    known = list(getattr(study, section))
    for name in dict.fromkeys(names):
        if name not in known:
            yield f"{where}: '{name}' is not among {section}; {nearest(name, known)}"


def repeated(where: str, values: Sequence[Any]) -> Iterator[str]:
    """Find values that are given twice."""
    twice = (value for place, value in enumerate(values) if value in values[:place])
    for value in dict.fromkeys(twice):
        yield f"{where}: '{value}' is written twice; keep one"


def check_task(made: Any, task: str | None, where: str) -> None:
    """Check that the settings of an optimizer or ensemble suit the task of the study.

    Raises UserError, naming the unsuitable setting.
    """
    if task == REGRESSION and getattr(made, "ties", None) == "log-loss":
        raise UserError(
            f"{where}.ties: log-loss needs class probabilities, and this is a regression; "
            "take random or selected-first"
        )
    metric = getattr(made, "metric", None)
    if metric and task and (other := plugins.load("metrics", metric).task) != task:
        raise UserError(f"{where}.metric: '{metric}' is for {other}, and this is a {task}")
    other = getattr(made, "similarity_task", None)
    if other and task and other != task:
        raise UserError(
            f"{where}.similarity: '{made.similarity}' is for {other}, and this is a {task}"
        )


def check_type(value: Any, kind: Any, where: str, what: str) -> None:
    """Check the type, for pydantic, of a value that a part, perhaps from outside, returns.

    Raises UserError if it has another type: ``where`` is the key that names the part, and ``what``
    the class and property that returned the value.
    """
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]["msg"]
        raise UserError(
            f"{where}: {what} is {reprlib.repr(value)}: {first[:1].lower()}{first[1:]}"
        ) from None


def check_planned(made: Any, kind: type, where: str) -> None:
    """Check that ``planned`` of a part of class ``kind`` returned another one; else UserError."""
    if not isinstance(made, kind):
        raise UserError(
            f"{where}: {kind.__name__}.planned returns {reprlib.repr(made)}; it must return a "
            f"{kind.__name__}, such as self"
        )


def mistakes(check: Callable[..., Any], *arguments: Any) -> Iterator[str]:
    """Call a function and yield the lines of its UserError, if it raises one."""
    try:
        check(*arguments)
    except UserError as error:
        yield from error.problems
    except PydanticUserError as error:  # a field of a part from outside has an unknown type
        yield f"plugins: {str(error).splitlines()[0]}"
    # In code of a part from outside, such as a validator, which may raise anything.
    except BaseException as error:
        if signals.caused(error):
            raise
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [f for f in frames if outside.holds(Path(f.filename))]
        if not theirs:
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())
        place = outside.shown(Path(theirs[-1].filename))
        yield f"plugins: '{place}', line {theirs[-1].lineno}: {said}"
