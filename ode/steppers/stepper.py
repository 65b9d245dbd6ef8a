"""What the loops know of a family of methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Stepper:
    """One step of a method; a family of methods overrides what differs.

    memory = stepper.start(problem, t, y, slope, h)         what a step needs from the step before; slope is y',
                                                            h a guess of its size
    h = stepper.size(problem, y, memory)                    with ``proposes_sizes``: the size of the next step, unsigned
    y_new, stages = stepper.step(problem, t, t_new, y, memory)
    error = stepper.error(h, stages)                        (m, n): estimates of the local error; with
                                                            ``is_variable_order``, those that its ``orders`` take
    found = stepper.is_found(stages)                        whether the equations of an implicit step were solved
    count = stepper.spent(stages)                           the number of evaluations of f in the step
    memory = stepper.advance(stages)                        after the step was accepted
    c = stepper.polynomial(problem, t, t_new, y, stages)        (degree, n): y(t + theta h) = y + sum_j c[j] theta^(j + 1)

    with h = t_new - t. ``start`` and ``step`` return arrays of fixed shapes, so that the loops compile.
    """

    is_adaptive = True
    """Whether there is an error estimate."""
    is_variable_order = False
    """Whether ``orders`` chooses the order and the size of the next step."""
    is_switching = False
    """Whether ``choice`` counts the steps that solve equations."""
    proposes_sizes = False
    """Whether the size of a step is known before it is made."""
    wants_polynomials = False
    """Whether the solve takes values between the steps, whose error a variable order may then control."""
    degree = 1
    """The degree of the polynomial."""
    dense_evaluations = 0
    """The number of evaluations of f that a polynomial takes."""
    jacobians = 0
    """The number of Jacobians in a step."""
    factorisations = 0
    """The number of factorisations in a step."""

    sought = "stages"
    """What Newton's method finds in a step."""

    def is_found(self, stages: Any) -> bool:
        return True


def cubic_hermite(h: float, change: NDArray[Any], f0: NDArray[Any], f1: NDArray[Any]) -> NDArray[Any]:
    """Return the polynomial (3, n) that changes by ``change`` in a step h, with the slopes f0 and f1 at its ends."""
    return np.stack([h * f0, 3 * change - h * (2 * f0 + f1), h * (f0 + f1) - 2 * change])
