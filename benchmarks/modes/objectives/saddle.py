"""A saddle point by gradient descent in one variable whose objective is a maximum, by descent, in the other.

Source: GradBench, eval "saddle"; see ``descent.py``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..program import Derivative
from .descent import MODES, argmax, argmin


def payoff(x, y):
    return x @ x - y @ y


def saddle(modes, start, rate):
    """The two points; ``modes`` has a letter for the outer and one for the inner descent, which start with a rate."""
    outer, inner = MODES[modes[0]], MODES[modes[1]]

    def worst(x):
        return payoff(x, argmax(inner, lambda y: payoff(x, y), start, rate))

    x = argmin(outer, worst, start, rate)
    return np.concatenate([x, argmax(outer, lambda y: payoff(x, y), start, rate)])


def _inputs(rate):
    return np.ones(2), rate


PROGRAMS = tuple(
    Derivative(f"saddle, {modes}", partial(saddle, modes), _inputs, 1e-5, 0.3) for modes in ("ff", "fr", "rf", "rr")
)
