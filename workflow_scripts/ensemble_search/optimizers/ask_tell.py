"""Optimizers of other libraries, each run by a driver in its own environment."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, field_validator

from ensemble_search.drivers.base import plain
from ensemble_search.optimizers._model_based.batches import BatchOptimizer
from ensemble_search.optimizers.base import History, Optimizer, Suggestion, random_new
from ensemble_search.runtime import plugins
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import Space

SCRIPTS = Path(__file__).parents[2]
SERVE = "ensemble_search/drivers/_serve.py"
#: Largest number of values of a hyperparameter that others depend on.
MOST_VALUES = 1000


class AskTell(BatchOptimizer):
    """Another library's optimizer: Optuna, SMAC3, OpenBox, Hyperopt, Nevergrad, or your driver's.

    Before every suggestion, the library gets all evaluations and a seed for this iteration, so that
    a search can be resumed and rerun exactly. A failed evaluation gets the worst loss of a success,
    a pending one the median. The initial design is this project's, so that all searches can begin
    alike; the library's own is switched off. On a table, the nearest configuration that has not
    been evaluated is suggested. A suggestion that was already evaluated is replaced by a random one
    (``origin: known``). The versions of all packages of the library's environment are part of a
    search's fingerprint.
    """

    library: str = Field("optuna", description="The library: a file in drivers/.")

    @field_validator("library")
    @classmethod
    def _exists(cls, name: str) -> str:
        """Reject a library without a driver."""
        plugins.checked("drivers", name)
        return name

    def planned(self, evaluations: int | None, seconds: float | None = None) -> Optimizer:
        """Check that the library is installed; see :meth:`Optimizer.planned`."""
        if not self._python.exists():
            folder = self._python.parents[1].name
            built_in = SCRIPTS.parent / "envs" / f"{folder.removeprefix('.venv-')}.txt"
            command = f"python3 -m venv {folder} && {folder}/bin/pip install {self.library}"
            raise UserError(
                f"library: '{self.library}' needs the environment '{folder}' beside the Snakefile, "
                f"which is not there; run: {'make peers' if built_in.exists() else command}"
            )
        return super().planned(evaluations, seconds)

    def check_space(self, space: Space) -> None:
        """Reject spaces that cannot be described to a driver."""
        super().check_space(space)
        describe(space)

    @property
    def modules(self) -> list[str]:
        """The driver's module."""
        return [plugins.module_name("drivers", self.library)]

    @property
    def versions(self) -> dict[str, str]:
        """See :attr:`Optimizer.versions`."""
        packages = self._python.parents[1].glob("lib/python*/site-packages")
        found = metadata.distributions(path=[str(folder) for folder in packages])
        return {d.name: d.version for d in sorted(found, key=lambda d: d.name.lower())}

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Return the library's suggestion, or the row of a table nearest to it."""
        if first := self.first(history, rng):
            return first
        space = getattr(history.space, "whole", history.space)
        losses = history.errors.tolist()
        evaluations = [
            [dict(o.configuration), loss]
            for o, loss in zip(history.observations, losses, strict=True)
        ]
        process = _process(self.library, self._python, json.dumps(describe(space)), os.getpid())
        values = process.suggest(evaluations, int(rng.integers(2**31)))
        try:
            point = space.configuration(values).point
        except UserError as error:
            raise UserError(
                f"library '{self.library}': suggests what is not in the space '{space.name}': "
                f"{error}"
            ) from None
        found = history.space.nearest_new(point, history.seen)
        if found is None:
            return Suggestion(random_new(history, rng), {"origin": "known"})
        return Suggestion(found, {"origin": self.library})

    @property
    def _python(self) -> Path:
        environment = plugins.load("drivers", self.library).environment
        if environment is None:
            return Path(sys.executable)
        return SCRIPTS.parent / f".venv-{environment}" / "bin" / "python"


class _Process:
    """A process in the library's environment that makes suggestions for one space."""

    def __init__(self, library: str, python: Path, space: str):
        self.library = library
        module = plugins.module_name("drivers", library)
        self.messages = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        # Hash seeds change the order of sets, from which some libraries draw.
        fixed = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(SCRIPTS)}
        self.process = subprocess.Popen(
            [python, "-P", SCRIPTS / SERVE, module, str(sys.modules[module].__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.messages,
            env={**os.environ, **fixed},
            text=True,
        )
        atexit.register(self.process.kill)
        self._write(space)

    def suggest(self, evaluations: list, seed: int) -> dict[str, Any]:
        """Ask for the next configuration.

        Raises
        ------
        UserError
            With the library's error, or the end of its output if the process ended.
        """
        self._write(json.dumps([evaluations, seed]))
        assert self.process.stdout is not None  # a pipe
        line = self.process.stdout.readline()
        if line:
            answer = json.loads(line)
            if "values" in answer:
                return answer["values"]
            problem = answer["error"]
        else:
            self.messages.seek(0)
            problem = (self.messages.read().strip().splitlines() or ["it ended"])[-1]
        raise UserError(f"library '{self.library}': {' '.join(problem.split())}")

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None  # a pipe
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the next read reports the reason


_process = cache(lambda library, python, space, pid: _Process(library, python, space))


@cache
def describe(space: Space) -> dict[str, list[dict[str, Any]]]:
    """Describe a space as JSON values, for :meth:`drivers.base.Driver.suggest`.

    Raises
    ------
    UserError
        If a hyperparameter has several conditions, or one on a number with more than
        :data:`MOST_VALUES` values, or a forbidden clause is more than a conjunction of single
        values.
    """
    from ConfigSpace.conditions import Conjunction
    from ConfigSpace.forbidden import ForbiddenAndConjunction, ForbiddenEqualsClause

    def problem(name: str, reason: str) -> UserError:
        return UserError(
            f"optimizer: 'ask-tell' cannot describe '{name}' of the space '{space.name}', which "
            f"{reason}; use another space or optimizer"
        )

    columns = {column.name: column for column in space.columns}
    hyperparameters = []
    for column in space.columns:
        conditions: Sequence[Any] = space.configspace.parent_conditions_of[column.name]
        if len(conditions) > 1 or any(isinstance(c, Conjunction) for c in conditions):
            raise problem(column.name, "has several conditions")
        described: dict[str, Any] = {"name": column.name, "when": None}
        for condition in conditions:
            parent = columns[condition.parent.name]
            possible: Sequence[Any] = parent.choices or ()
            if parent.choices is None and parent.whole:
                possible = range(int(parent.lower), int(parent.upper) + 1)
            if not 0 < len(possible) <= MOST_VALUES:
                raise problem(column.name, f"depends on '{parent.name}', which has too many values")
            active = [v for v in possible if condition.satisfied_by_value({parent.name: v})]
            described["when"] = [parent.name, active]
        if column.choices is not None:
            described["kind"] = "categorical" if column.categorical else "ordinal"
            described["choices"] = list(column.choices)
        else:
            number = int if column.whole else float
            described["kind"] = "integer" if column.whole else "float"
            described |= {"lower": number(column.lower), "upper": number(column.upper)}
            described["log"] = column.log
        described["default"] = plain(space.configspace[column.name].default_value)
        hyperparameters.append(described)
    forbidden = []
    for clause in space.configspace.forbidden_clauses:
        parts: Sequence[Any] = [clause]
        if isinstance(clause, ForbiddenAndConjunction):
            parts = clause.components
        if not all(isinstance(part, ForbiddenEqualsClause) for part in parts):
            raise UserError(
                f"optimizer: 'ask-tell' cannot describe the space '{space.name}', which forbids "
                f"{clause}; use another space or optimizer"
            )
        forbidden.append({part.hyperparameter.name: plain(part.value) for part in parts})
    return {"hyperparameters": hyperparameters, "forbidden": forbidden}
