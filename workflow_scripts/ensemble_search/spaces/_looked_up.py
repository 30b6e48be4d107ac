"""Spaces of models fitted elsewhere: evaluations can be looked up, but not fitted."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ensemble_search.drivers._configspace import config_space
from ensemble_search.runtime.errors import UserError
from ensemble_search.runtime.names import TASKS
from ensemble_search.spaces.base import Space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace


class LookedUp(Space):
    """Base of the spaces that `make table` writes.

    Attributes
    ----------
    hyperparameters
        In the format of :meth:`drivers.base.Driver.suggest`.
    """

    tasks: ClassVar[tuple[str, ...]] = TASKS
    hyperparameters: ClassVar[Sequence[Mapping[str, Any]]]

    def define(self) -> "ConfigurationSpace":
        """See :meth:`Space.define`."""
        return config_space({"hyperparameters": self.hyperparameters, "forbidden": []})

    def pipeline(self, values: Mapping[str, Any], categorical: np.ndarray, threads: int):
        """Raise UserError: there is nothing to fit."""
        raise UserError(
            f"space '{self.name}': its models were made elsewhere and cannot be fitted; replay "
            "searches on their table (evaluation.replay), without ensembles that refit models"
        )
