"""A small neural-network module: a layer is a callable object whose attributes are its parameters.

The gradient of a model is an object of the same class whose attributes hold the cotangents. An optimiser makes a new
model from both, and ``train`` repeats that. There is no parameter list, no registration and no global state.

>>> import numpy as np
>>> x = np.linspace(-1, 1, 32)[:, None]
>>> model = Chain(Dense(1, 8, np.tanh, rng=np.random.default_rng(0)), Dense(8, 1, rng=np.random.default_rng(1)))
>>> def loss(model):
...     return mean_squared_error(model(x), x**2)
>>> model, losses = train(loss, model, 200, adam(0.05), progress=False)
>>> bool(losses[-1] < 0.01 * losses[0])
True
"""

from ..core import tree
from ..optim.stochastic import Optimiser, State, adam, sgd
from .layers import Chain, Dense, glorot_uniform
from .losses import cross_entropy, mean_squared_error
from .training import Diverged, minibatches, train

leaves, map_leaves, with_leaves = tree.leaves, tree.map_leaves, tree.with_leaves

__all__ = [
    "Chain",
    "Dense",
    "Diverged",
    "Optimiser",
    "State",
    "adam",
    "cross_entropy",
    "glorot_uniform",
    "leaves",
    "map_leaves",
    "mean_squared_error",
    "minibatches",
    "sgd",
    "train",
    "with_leaves",
]


def __dir__() -> list[str]:
    return sorted(__all__)
