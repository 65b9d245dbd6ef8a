"""Gradient descent with a step that grows and shrinks, of the objectives "particle" and "saddle".

Source: GradBench, from B. A. Pearlmutter and J. M. Siskind, Using programming language theory to make automatic
differentiation sound and efficient, Advances in Automatic Differentiation, Springer 2008.
"""

from __future__ import annotations

import numpy as np

import morula as mo

MODES = {"f": mo.jacfwd, "r": mo.grad}
"""The gradient of a function of an array by forward and by reverse mode."""


def length(v):
    return np.sqrt(np.sum(v * v))


def argmin(gradient, f, x, rate):
    """A local minimum of f by ``gradient``, one of ``MODES``."""
    fx, slope = f(x), gradient(f)(x)
    successes = 0
    while length(slope) > 1e-5:
        if successes == 10:
            rate, successes = 2.0 * rate, 0
            continue
        new = x - rate * slope
        if length(x - new) <= 1e-5:
            break
        at_new = f(new)
        if at_new < fx:
            x, fx, slope = new, at_new, gradient(f)(new)
            successes += 1
        else:
            rate, successes = 0.5 * rate, 0
    return x


def argmax(gradient, f, x, rate):
    return argmin(gradient, lambda x: -f(x), x, rate)
