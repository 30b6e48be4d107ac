"""SMAC3 (Lindauer et al., JMLR 2022)."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensemble_search.drivers._configspace import config_space
from ensemble_search.drivers.base import Driver


class Smac(Driver):
    """SMAC3's hyperparameter facade: forest, log expected improvement, random interleaving."""

    environment = "smac"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        from ConfigSpace import Configuration
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        made = config_space(space)
        with tempfile.TemporaryDirectory() as folder:
            scenario = Scenario(
                made,
                deterministic=True,
                n_trials=len(evaluations) + 2,
                seed=seed,
                output_directory=Path(folder),
            )
            first = Configuration(made, values=evaluations[0][0])
            facade = Facade(
                scenario,
                lambda configuration, seed=0: 0.0,
                initial_design=Facade.get_initial_design(
                    scenario, n_configs=0, additional_configs=[first]
                ),
                overwrite=True,
                logging_level=50,
            )
            for values, loss in evaluations:
                info = TrialInfo(Configuration(made, values=values), seed=0)
                facade.tell(info, TrialValue(cost=loss), save=False)
            # Like `ask`, which would first compare all evaluated configurations with each other.
            return dict(next(facade.intensifier.config_generator))
