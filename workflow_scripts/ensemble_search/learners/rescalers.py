"""The rescalers of the DivBO paper (Table 7) with their hyperparameters."""

from ConfigSpace import Categorical, Float, Integer

from ensemble_search.learners.operators import SEED, operator


@operator()
def none(values, data):
    """Leave the features as they are."""
    return None


@operator()
def minmax(values, data):
    """Scale to [0, 1]."""
    from sklearn.preprocessing import MinMaxScaler

    return MinMaxScaler()


@operator()
def normalizer(values, data):
    """Scale every row to length 1."""
    from sklearn.preprocessing import Normalizer

    return Normalizer()


@operator()
def standard(values, data):
    """Scale to mean 0 and standard deviation 1."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


@operator(
    Integer("n_quantiles", (10, 2000), default=1000),
    Categorical("output_distribution", ["uniform", "normal"], default="uniform"),
)
def quantile(values, data):
    """Map to a uniform or normal distribution."""
    from sklearn.preprocessing import QuantileTransformer

    return QuantileTransformer(
        n_quantiles=min(values["n_quantiles"], data.n_samples),
        output_distribution=values["output_distribution"],
        random_state=SEED,
    )


@operator(
    Float("q_min", (0.001, 0.3), default=0.25),
    Float("q_max", (0.7, 0.999), default=0.75),
)
def robust(values, data):
    """Scale by the range between two quantiles, which scikit-learn expects in percent."""
    from sklearn.preprocessing import RobustScaler

    return RobustScaler(quantile_range=(100 * values["q_min"], 100 * values["q_max"]))


RESCALERS = (none, minmax, normalizer, standard, quantile, robust)
