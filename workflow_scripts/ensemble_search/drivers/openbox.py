"""OpenBox (Li et al., KDD 2021)."""

import tempfile
from collections.abc import Sequence
from typing import Any

from ensemble_search.drivers._configspace import config_space
from ensemble_search.drivers.base import Driver


class OpenBox(Driver):
    """OpenBox's advisor: pyrfr's random forest, expected improvement, random interleaving."""

    environment = "openbox"

    def suggest(
        self, space: dict[str, Any], evaluations: Sequence[tuple[dict, float]], seed: int
    ) -> dict[str, Any]:
        """See :meth:`Driver.suggest`."""
        from ConfigSpace import Configuration
        from openbox import Advisor, Observation

        made = config_space(space)
        with tempfile.TemporaryDirectory() as folder:
            advisor = Advisor(
                made,
                initial_trials=1,
                surrogate_type="prf",
                acq_type="ei",
                acq_optimizer_type="local_random",
                random_state=seed,
                output_dir=folder,
                logger_kwargs={"level": "ERROR"},
            )
            for values, loss in evaluations:
                advisor.update_observation(Observation(Configuration(made, values=values), [loss]))
            found = advisor.get_suggestion().get_dictionary()
        return {name: value for name, value in found.items() if value is not None}
