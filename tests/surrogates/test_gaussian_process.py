"""The Gaussian process against its formulas, and where it is rejected."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from ensemble_search.runtime.errors import UserError
from ensemble_search.study import model
from ensemble_search.surrogates import gaussian_process
from ensemble_search.surrogates.gaussian_process import GaussianProcess

pytestmark = pytest.mark.slow

NUMBERS = np.zeros(2, dtype=int)
BOUNDS = {"variance": (1e-3, 1e3), "scale": (1e-2, 2), "noise": (1e-6, 1)}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def made(n: int, noise: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the unit square, and a smooth function of the first coordinate."""
    draw = rng(seed)
    vectors = draw.random((n, 2))
    return vectors, 0.3 + 0.1 * np.sin(4 * vectors[:, 0]) + noise * draw.normal(size=n)


def matern(a: np.ndarray, b: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Matérn 5/2, as in Rasmussen and Williams (2006), Eq. 4.17."""
    r = np.sqrt((((a[:, None] - b[None]) / scales) ** 2).sum(axis=2))
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def fitted(vectors, errors):
    return GaussianProcess().fit(vectors, errors, NUMBERS, rng())


def parameters(process) -> tuple[float, np.ndarray, float]:
    """Variance, length scales and variance of the noise of a fitted process."""
    covariance = process.factor @ process.factor.T
    return process.variance, process.weights**-0.5, covariance[0, 0] - process.variance


def test_it_predicts_by_the_formulas():
    """Rasmussen and Williams (2006), Eqs. 2.25 and 2.26, at the parameters found."""
    vectors, errors = made(25, noise=0.01)
    model, new = fitted(vectors, errors), made(40, seed=1)[0]
    variance, scales, noise = parameters(model)
    y = (errors - errors.mean()) / errors.std()
    factor = cho_factor(variance * matern(vectors, vectors, scales) + noise * np.eye(25))
    cross = variance * matern(new, vectors, scales)
    mean = cross @ cho_solve(factor, y)
    var = variance - np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
    ours = model(new)
    np.testing.assert_allclose(ours[0], mean * errors.std() + errors.mean(), rtol=1e-6)
    np.testing.assert_allclose(ours[1], np.sqrt(var) * errors.std(), rtol=1e-3)


def test_its_parameters_have_the_highest_likelihood():
    """No point of a grid over the bounds explains the errors better."""
    vectors, errors = made(25, noise=0.01)
    y = (errors - errors.mean()) / errors.std()

    def likelihood(variance: float, scales, noise: float) -> float:
        covariance = variance * matern(vectors, vectors, np.array(scales)) + noise * np.eye(25)
        determinant = np.linalg.slogdet(covariance)[1]
        return -0.5 * (y @ np.linalg.solve(covariance, y) + determinant)

    found = parameters(fitted(vectors, errors))
    for name, value in zip(("variance", "scale", "noise"), found, strict=True):
        low, high = BOUNDS[name]
        assert np.all((value >= 0.999 * low) & (value <= 1.001 * high))
    scales = np.geomspace(*BOUNDS["scale"], 8)
    grid = [
        likelihood(variance, (a, b), noise)
        for variance in np.geomspace(*BOUNDS["variance"], 10)
        for a in scales
        for b in scales
        for noise in np.geomspace(*BOUNDS["noise"], 10)
    ]
    assert likelihood(*found) > max(grid) - 0.01
    assert likelihood(*found) > np.median(grid) + 10


def test_it_learns_which_column_matters():
    vectors, errors = made(40)
    scales = parameters(fitted(vectors, errors))[1]
    assert scales[0] < scales[1] / 1.5
    new, true = made(200, seed=2)
    mean, std = GaussianProcess().fit(vectors, errors, NUMBERS, rng())(new)
    assert np.abs(mean - true).mean() < 0.005
    near = np.abs(new[:, None] - vectors[None]).max(axis=2).min(axis=1)
    assert std[near > 0.12].mean() > 2 * std[near < 0.03].mean()


def test_the_deviation_is_without_the_noise():
    """Many errors at one point: their mean is known, though each of them is noisy."""
    vectors = np.repeat([[0.2, 0.2], [0.8, 0.8]], 40, axis=0)
    errors = np.repeat([0.2, 0.4], 40) + 0.03 * rng().normal(size=80)
    mean, std = GaussianProcess().fit(vectors, errors, NUMBERS, rng())(vectors[[0, 40]])
    np.testing.assert_allclose(mean, [0.2, 0.4], atol=0.02)
    assert std.max() < 0.01


def test_categories_are_columns_of_their_own():
    """Categories 0 and 2 are alike, 1 is not: codes as numbers would put it between them."""
    draw = rng()
    vectors = np.column_stack([draw.random(60), draw.integers(3, size=60)])
    errors = 0.1 * vectors[:, 0] + np.array([0.2, 0.5, 0.2])[vectors[:, 1].astype(int)]
    model = GaussianProcess().fit(vectors, errors, np.array([0, 3]), rng())
    mean, _ = model(np.array([[0.5, 0], [0.5, 1], [0.5, 2]]))
    np.testing.assert_allclose(mean, [0.25, 0.55, 0.25], atol=0.02)


def test_its_gradients_are_those_of_its_predictions():
    """Against differences, with a category between two numbers."""
    draw = rng()
    vectors = np.column_stack([draw.random(30), draw.integers(3, size=30), draw.random(30)])
    errors = np.sin(4 * vectors[:, 0]) + 0.2 * vectors[:, 1] + vectors[:, 2] ** 2
    model = GaussianProcess().fit(vectors, errors, np.array([0, 3, 0]), rng())
    for vector in ([0.31, 1, 0.52], [0.93, 2, 0.08], [0.5, 0, 0.5]):
        mean, std, mean_slope, std_slope = model.gradients(np.array(vector))
        np.testing.assert_allclose([mean, std], np.ravel(model(np.array([vector]))), rtol=1e-6)
        for i in (0, 2):
            step = np.zeros(3)
            step[i] = 1e-2
            ends = model(np.stack([vector - step, vector + step]))
            # One hot columns are float32: steps are large, and differences rough.
            slopes = (ends[0][1] - ends[0][0]) / 2e-2, (ends[1][1] - ends[1][0]) / 2e-2
            assert (mean_slope[i], std_slope[i]) == pytest.approx(slopes, rel=0.02, abs=0.01)
        assert mean_slope[1] == std_slope[1] == 0


def test_parameters_of_many_observations_are_fitted_to_a_part(monkeypatch):
    monkeypatch.setattr(gaussian_process, "MOST", 100)
    vectors, errors = made(300, noise=0.01)
    some = GaussianProcess().fit(vectors, errors, NUMBERS, rng())
    assert len(some.columns) == 300
    new, true = made(200, seed=2)
    assert np.abs(some(new)[0] - true).mean() < 0.005


@pytest.mark.parametrize("errors", [[0.3], [0.3, 0.3, 0.3], [0.3, 0.1]])
def test_few_or_equal_errors_are_no_problem(errors):
    vectors = made(len(errors))[0]
    mean, std = GaussianProcess().fit(vectors, np.array(errors), NUMBERS, rng())(made(9, seed=1)[0])
    assert (mean >= min(errors) - 0.1).all()
    assert (mean <= max(errors) + 0.1).all()
    assert np.isfinite(std).all()


def test_what_ties_predict_does_not_depend_on_the_rounding_of_their_mean():
    """The standard deviation of ten times 0.3 is 6e-17, that of ten times 0.25 is 0."""
    vectors, new = made(10)[0], made(9, seed=1)[0]
    low, high = (
        GaussianProcess().fit(vectors, np.full(10, e), NUMBERS, rng()) for e in (0.25, 0.3)
    )
    assert (low(new)[0] == 0.25).all() and (high(new)[0] == 0.3).all()
    assert (low(new)[1] == high(new)[1]).all()


@pytest.mark.parametrize("optimizer", ["smbo", "divbo"])
def test_it_is_rejected_in_a_space_with_conditions(optimizer):
    content = {
        "study": "s",
        "space": "divbo-small",
        "datasets": {"iris": {"sklearn": "iris"}},
        "searches": {"a": {"optimizer": optimizer, "surrogate": "gaussian-process"}},
        "ensembles": {"best": {"type": "best"}},
        "methods": {"A": {"search": "a", "ensemble": "best"}},
    }
    with pytest.raises(UserError) as caught:
        model.check(content)
    assert str(caught.value) == (
        "study: searches.a.surrogate: 'gaussian-process' needs a space without conditions, and "
        "'divbo-small' has some; take random-forest"
    )
