"""Searches of other projects, each run by a process in an environment of its own.

SMAC3's facade for hyperparameters, OpenBox's advisor with its forest (pyrfr), and Optuna's TPE, all
with their own defaults; SMAC3 and OpenBox are told the seed, SMAC3 the budget too. `make peers`
installs them. The process is told of the space in JSON, builds its own, suggests a configuration,
and is told the error; so the problems are those of all other searches, rounding included. A failed
evaluation has the worst error so far, as in this project's searches.

    .venv-smac/bin/python benchmarks/peers.py smac 0 100

is such a process; it reads from its standard input.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

#: To be raised when something here changes what is found.
VERSION = 1
#: Each search with the environment that it runs in.
NAMES = {"smac": "smac", "openbox": "openbox", "optuna": "openbox"}
MOST = 1000  # configurations of Optuna, which knows no forbidden ones, until one is legal


class Peer:
    """A search of another project; see :class:`search_quality.Own`."""

    def __init__(self, name: str, root: Path, evaluations: int):
        environment = NAMES[name]
        self.python = root / f".venv-{environment}" / "bin" / "python"
        self.peer, self.evaluations = name, evaluations
        # SMAC3's initial design is a share of the budget.
        self.name = f"{name} evaluations={evaluations}" if name == "smac" else name
        pins = (root / "envs" / f"{environment}.txt").read_bytes()
        self.version = f"{VERSION}-{zlib.crc32(pins):08x}"

    @contextmanager
    def suggester(self, problem, number: int) -> Iterator[Callable]:
        """Start the process; give the function from a history to a configuration and seconds."""
        command = [self.python, Path(__file__), self.peer, str(number), str(self.evaluations)]
        # The order of sets decides as well.
        description = describe(problem.space)
        fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
        with subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **fixed},
            text=True,
        ) as process:
            tell(process.stdin, description)

            def suggest(history):
                if len(history):
                    tell(process.stdin, float(history.errors[-1]))
                answer = json.loads(process.stdout.readline())
                return problem.space.configuration(answer["values"]), answer["seconds"]

            try:
                yield suggest
            finally:
                process.kill()


def tell(stream, content: Any) -> None:
    """Write a line of JSON."""
    stream.write(json.dumps(content) + "\n")
    stream.flush()


def describe(space) -> dict[str, list]:
    """Describe a space in JSON: hyperparameters, parents first, and forbidden combinations.

    ``when`` of a hyperparameter is null, or a parent and those of its values under which it is
    active.

    Raises
    ------
    UserError
        If a hyperparameter has several conditions, which the other searches are not told of.
    """
    from ConfigSpace.conditions import Conjunction

    from ensemble_search.runtime.errors import UserError  # not in the peers' environments

    described = []
    for column in space.columns:
        hyperparameter = space.configspace[column.name]
        conditions = space.configspace.parent_conditions_of[column.name]
        if len(conditions) > 1 or any(isinstance(c, Conjunction) for c in conditions):
            raise UserError(
                f"hyperparameter '{column.name}' has several conditions; searches of other "
                "projects can be told of one: choose another space or other searches"
            )
        when = None
        for condition in conditions:
            values = getattr(condition, "values", None) or [condition.value]
            when = [condition.parent.name, list(values)]
        described.append(
            {
                "name": column.name,
                "kind": "categorical"
                if column.categorical
                else ("ordinal" if column.choices else ("integer" if column.whole else "float")),
                "bounds": [column.lower, column.upper],
                "log": column.log,
                "choices": column.choices,
                "default": plain(hyperparameter.default_value),
                "when": when,
            }
        )
    forbidden = [
        {part.hyperparameter.name: plain(part.value) for part in clause.components}
        for clause in space.configspace.forbidden_clauses
    ]
    return {"hyperparameters": described, "forbidden": forbidden}


def plain(value: Any) -> Any:
    """Turn a number of NumPy into one of Python."""
    return value.item() if hasattr(value, "item") else value


# What follows runs in the environment of the other project.


def config_space(description: dict[str, list]):
    """Build the space for SMAC3 and OpenBox, whose versions of ConfigSpace differ."""
    import ConfigSpace as cs

    space = cs.ConfigurationSpace(seed=0)
    for h in description["hyperparameters"]:
        lower, upper = h["bounds"]
        match h["kind"]:
            case "categorical":
                made = cs.CategoricalHyperparameter(
                    h["name"], h["choices"], default_value=h["default"]
                )
            case "ordinal":
                made = cs.OrdinalHyperparameter(h["name"], h["choices"], default_value=h["default"])
            case "integer":
                made = cs.UniformIntegerHyperparameter(
                    h["name"], int(lower), int(upper), default_value=h["default"], log=h["log"]
                )
            case _:
                made = cs.UniformFloatHyperparameter(
                    h["name"], lower, upper, default_value=h["default"], log=h["log"]
                )
        add(space, "add_hyperparameter", made)
    for h in description["hyperparameters"]:
        if h["when"]:
            parent, values = h["when"]
            condition = cs.InCondition(get(space, h["name"]), get(space, parent), values)
            add(space, "add_condition", condition)
    for clause in description["forbidden"]:
        parts = [cs.ForbiddenEqualsClause(get(space, k), v) for k, v in clause.items()]
        add(space, "add_forbidden_clause", cs.ForbiddenAndConjunction(*parts))
    return space


def add(space, old: str, part) -> None:
    """Add a part to a space: by ``add``, which old versions of ConfigSpace do not have."""
    (space.add if hasattr(space, "add") else getattr(space, old))(part)


def get(space, name: str):
    """Return a hyperparameter by name."""
    return space[name] if hasattr(space, "add") else space.get_hyperparameter(name)


class Smac:
    """SMAC3's HyperparameterOptimizationFacade."""

    def __init__(self, description: dict[str, list], seed: int, evaluations: int):
        import tempfile

        from smac import HyperparameterOptimizationFacade, Scenario

        scenario = Scenario(
            config_space(description),
            deterministic=True,
            n_trials=evaluations,
            seed=seed,
            output_directory=Path(tempfile.mkdtemp()),
        )
        self.facade = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=50
        )

    def ask(self) -> dict[str, Any]:
        """Suggest a configuration."""
        self.trial = self.facade.ask()
        return dict(self.trial.config)

    def tell(self, error: float) -> None:
        """Learn its error."""
        from smac.runhistory.dataclasses import TrialValue

        self.facade.tell(self.trial, TrialValue(cost=error))


class OpenBox:
    """OpenBox's advisor with its forest."""

    def __init__(self, description: dict[str, list], seed: int, evaluations: int):
        import tempfile

        from openbox import Advisor

        self.advisor = Advisor(
            config_space(description),
            surrogate_type="prf",
            acq_type="ei",
            acq_optimizer_type="local_random",
            random_state=seed,
            output_dir=tempfile.mkdtemp(),
            logger_kwargs={"level": "ERROR"},
        )

    def ask(self) -> dict[str, Any]:
        """Suggest a configuration."""
        self.configuration = self.advisor.get_suggestion()
        values = self.configuration.get_dictionary()
        return {name: value for name, value in values.items() if value is not None}

    def tell(self, error: float) -> None:
        """Learn its error."""
        from openbox import Observation

        self.advisor.update_observation(Observation(self.configuration, [error]))


class Optuna:
    """Optuna's TPE, on a space that is defined by running it; ordinal values by their position."""

    def __init__(self, description: dict[str, list], seed: int, evaluations: int):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.description = description
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def ask(self) -> dict[str, Any]:
        """Suggest a legal configuration; others fail, and cost nothing."""
        from optuna.trial import TrialState

        for _ in range(MOST):
            self.trial = self.study.ask()
            values = self._run()
            clauses = self.description["forbidden"]
            if not any(all(values.get(k) == v for k, v in c.items()) for c in clauses):
                return values
            self.study.tell(self.trial, state=TrialState.FAIL)
        raise RuntimeError(f"{MOST} forbidden configurations")

    def _run(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for h in self.description["hyperparameters"]:
            if h["when"] and values.get(h["when"][0]) not in h["when"][1]:
                continue
            name, (lower, upper) = h["name"], h["bounds"]
            match h["kind"]:
                case "categorical":
                    values[name] = self.trial.suggest_categorical(name, h["choices"])
                case "ordinal":
                    values[name] = h["choices"][self.trial.suggest_int(name, 0, int(upper))]
                case "integer":
                    values[name] = self.trial.suggest_int(
                        name, int(lower), int(upper), log=h["log"]
                    )
                case _:
                    values[name] = self.trial.suggest_float(name, lower, upper, log=h["log"])
        return values

    def tell(self, error: float) -> None:
        """Learn its error."""
        self.study.tell(self.trial, error)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("seed", type=int)
    parser.add_argument("evaluations", type=int)
    options = parser.parse_args()
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # what libraries print is not an answer
        description = json.loads(sys.stdin.readline())
        kind = {"smac": Smac, "openbox": OpenBox, "optuna": Optuna}[options.name]
        search = kind(description, options.seed, options.evaluations)
        while True:
            start = time.process_time()
            values = {name: plain(value) for name, value in search.ask().items()}
            seconds = time.process_time() - start
            tell(answers, {"values": values, "seconds": seconds})
            line = sys.stdin.readline()
            if not line:
                return
            search.tell(json.loads(line))


if __name__ == "__main__":
    main()
