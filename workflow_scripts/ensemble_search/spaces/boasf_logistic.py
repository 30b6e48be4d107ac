"""The space of the BOASF authors' code, which has logistic regression in the place of XGBoost."""

from typing import ClassVar

from ensemble_search.spaces.boasf import Boasf


class BoasfLogistic(Boasf):
    """The other 15 algorithms of :class:`Boasf`, and logistic regression."""

    libraries: ClassVar = ()
    modules: ClassVar = tuple(name for name in Boasf.modules if name != "xgboost")

    @property
    def last(self):
        """As in :class:`Boasf`."""
        from ensemble_search.learners import boasf

        return boasf.logistic_regression
