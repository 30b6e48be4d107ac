"""The baseline of the ESMBO paper: Bayesian optimization with a Gaussian process."""

from pydantic import Field

from ensemble_search.optimizers.bo import BayesianOptimization


class SequentialModelBasedOptimization(BayesianOptimization):
    """BO with the settings of the ESMBO paper (Lacoste et al., UAI 2014).

    A Gaussian process predicts errors. The expected improvement is maximised by its gradient, from
    the best points of a Sobol sequence. ``local`` above 0 adds the ends of climbs from evaluated
    configurations.

    The space must have no conditions.
    """

    initial: int = Field(
        2, ge=1, description="Number of evaluations before the first model is fitted."
    )
    surrogate: str = Field(
        "gaussian-process", description="Performance model, defined in surrogates/."
    )
    candidates: int = Field(2000, ge=1, description="Number of candidates per suggestion.")
    ascents: int = Field(
        5, ge=0, description="Number of the best candidates from which gradient ascent starts."
    )
    local: int = Field(
        0,
        ge=0,
        description="Maximum number of hill climbs, which start from evaluated configurations.",
    )
    interleave: float = Field(
        0.0, ge=0, le=1, description="Probability that a random configuration is suggested."
    )
