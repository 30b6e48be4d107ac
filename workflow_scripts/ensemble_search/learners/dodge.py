"""Neural networks with the hyperparameters of Dodge et al.

J. Dodge, K. Jamieson and N. A. Smith: *Open Loop Hyperparameter Optimization and Determinantal
Point Processes*, 2017. The paper's are convolutional networks on sentences and word vectors; here,
a network on columns of numbers has the same hyperparameters and ranges.
"""

import math

from ConfigSpace import Categorical, Float, Integer

from ensemble_search.learners.operators import SEED, operator


def tree(lowest: int, highest: int):
    """Hyperparameters of the three tree-structured spaces: a learning rate from e^lowest on.

    L2 regularisation is on or off, with a strength if it is on.
    """
    return (
        Float("learning_rate", (math.exp(lowest), math.exp(highest)), log=True),
        Categorical("l2", ["off", "on"], default="off"),
        Float("l2_strength", (math.exp(-5), math.exp(-1)), log=True),
        Float("dropout", (0.0, 0.7), default=0.35),
    )


def _network(values):
    from ensemble_search.learners.dropout_network import DropoutNetwork

    own = {k: v for k, v in values.items() if k not in ("l2", "l2_strength")}
    return DropoutNetwork(**own, l2=values.get("l2_strength", 0.0), random_state=SEED)


SWITCH = {"l2_strength": ("l2", ["on"])}


@operator(*tree(-5, 5), conditions=SWITCH)
def hard(values, data):
    """Most learning rates are too large."""
    return _network(values)


@operator(*tree(-5, -1), conditions=SWITCH)
def medium(values, data):
    """Some learning rates are too large."""
    return _network(values)


@operator(*tree(-10, -3), conditions=SWITCH)
def easy(values, data):
    """No learning rate is too large."""
    return _network(values)


@operator(
    Float("learning_rate", (math.exp(-5), math.exp(-1)), log=True),
    Float("l2_strength", (1e-6, 1e-2), log=True),
    Float("dropout", (0.0, 0.5)),
    Integer("units", (16, 256), log=True),
    Float("momentum", (0.0, 0.95)),
    Integer("batch", (8, 128), log=True),
)
def stable(values, data):
    """Six numbers without a switch, in ranges in which most networks learn."""
    return _network(values)
