"""The space of `make ensemble`: that of the DivBO paper, with other learners and defaults."""

from functools import cached_property

from ensemble_search.spaces.divbo import Divbo


class Tabular(Divbo):
    """As :class:`Divbo`, with networks, and with defaults that suit most tables.

    ``mlp`` is a further algorithm. By default, features are scaled by their quartiles, as networks,
    neighbours and support vectors need similar scales, and LightGBM has fewer leaves.
    """

    @cached_property
    def stages(self):
        """As in :class:`Divbo`; the first operator of a stage is the default."""
        from ensemble_search.learners import tabular

        own = {"classification": tabular.CLASSIFIERS, "regression": tabular.REGRESSORS}
        stages = super().stages
        rescalers = sorted(stages["rescaler"], key=lambda operator: operator.name != "robust")
        return {**stages, "rescaler": rescalers, "algorithm": own[self.task]}
