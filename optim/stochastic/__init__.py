"""First-order optimisers for training: chains of steps on gradients, with schedules, masks, groups, averages, accumulation.

An ``Optimiser`` holds settings; its memory is a ``State`` that the caller passes from update to update. ``chain`` makes an
optimiser of ``Step`` objects (``optimiser.py``), of which ``moments.py``, ``matrices.py`` and ``modifiers.py`` hold the known ones;
``named.py`` has the published methods, ``schedules.py`` the learning rates, ``wrappers.py`` what changes a whole optimiser.

>>> import numpy as np
>>> optimiser = chain(clip_by_global_norm(1.0), adamw(cosine(0.1, 100), decay=0.01))
>>> x, state = np.array([3.0, -4.0]), None
>>> for _ in range(100):
...     state = optimiser.init(x) if state is None else state
...     x, state = optimiser.update(x, 2 * x, state)
>>> bool(np.all(abs(x) < 0.5))
True
"""

from .modifiers import clip, clip_by_global_norm, decay_weights, trust_ratio
from .named import (
    adabelief,
    adagrad,
    adam,
    adamw,
    lamb,
    lion,
    muon,
    nadam,
    rmsprop,
    schedule_free,
    sgd,
    shampoo,
    soap,
    sophia,
)
from .optimiser import Chain, Optimiser, State, Step, chain
from .schedules import cosine, exponential, one_cycle, piecewise, plateau, warm_up
from .sophia import curvature_estimate
from .wrappers import accumulate, average, groups

__all__ = [
    "Chain",
    "Optimiser",
    "State",
    "Step",
    "accumulate",
    "adabelief",
    "adagrad",
    "adam",
    "adamw",
    "average",
    "chain",
    "clip",
    "clip_by_global_norm",
    "cosine",
    "curvature_estimate",
    "decay_weights",
    "exponential",
    "groups",
    "lamb",
    "lion",
    "muon",
    "nadam",
    "one_cycle",
    "piecewise",
    "plateau",
    "rmsprop",
    "schedule_free",
    "sgd",
    "shampoo",
    "soap",
    "sophia",
    "trust_ratio",
    "warm_up",
]


def __dir__() -> list[str]:
    return sorted(__all__)
