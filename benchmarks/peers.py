"""Unmodified searches of other projects, each in its own process and environment.

SMAC3's facade for hyperparameters, OpenBox's advisor with its forest (pyrfr), and Optuna's TPE, all
with their own defaults and initial designs, unlike ``optimizer: ask-tell``, which uses this
project's. `make peers` installs them. A failed evaluation counts as the worst error so far, as in
this project's searches.

    .venv-smac/bin/python benchmarks/peers.py smac 0 100

starts such a process, which reads from its standard input.
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

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))

from ensemble_search.drivers._configspace import config_space
from ensemble_search.drivers._serve import plain
from ensemble_search.drivers.base import legal
from ensemble_search.drivers.optuna import run
from ensemble_search.runtime import errors

#: Increase this if a change here affects results.
VERSION = 1
#: Searches, and the environments in which they run.
NAMES = {name: name for name in ("smac", "openbox", "optuna")}
MOST = 1000  # attempts to get a legal configuration: Optuna knows no forbidden ones


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
        """Start the process; yield a function from a history to a configuration and seconds."""
        command = [self.python, Path(__file__), self.peer, str(number), str(self.evaluations)]
        from ensemble_search.optimizers.ask_tell import describe  # not in the peers' environments

        description = describe(problem.space)
        # The order of sets affects results, too.
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


# The following runs in the environment of the other project.


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
        """Report its error."""
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
        """Report its error."""
        from openbox import Observation

        self.advisor.update_observation(Observation(self.configuration, [error]))


class Optuna:
    """Optuna's TPE with a define-by-run space; ordinal values are given by their positions."""

    def __init__(self, description: dict[str, list], seed: int, evaluations: int):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.description = description
        self.study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def ask(self) -> dict[str, Any]:
        """Suggest a legal configuration; illegal ones are marked as failed at no cost."""
        from optuna.trial import TrialState

        for _ in range(MOST):
            self.trial = self.study.ask()
            values = run(self.trial, self.description)
            if legal(self.description, values):
                return values
            self.study.tell(self.trial, state=TrialState.FAIL)
        raise RuntimeError(f"{MOST} forbidden configurations")

    def tell(self, error: float) -> None:
        """Report its error."""
        self.study.tell(self.trial, error)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("seed", type=int)
    parser.add_argument("evaluations", type=int)
    options = parser.parse_args()
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # the output of libraries is not an answer
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
    errors.run(main)
