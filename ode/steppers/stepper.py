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
    k = stepper.power(stages)                               the estimate is proportional to h^k
    found = stepper.is_found(stages)                        whether the equations of an implicit step were solved
    count = stepper.spent(stages)                           the number of evaluations of f in the step
    jacobians, factorisations = stepper.matrices(stages)    the numbers of those in the step
    memory = stepper.advance(stages)                        after the step was accepted
    memory = stepper.again(memory, stages)                  after it was rejected
    memory = stepper.replaced(memory, stages)               with ``is_multistep``: after a step that a stop has made short
    c = stepper.polynomial(problem, t, t_new, y, stages)        (degree, n): y(t + theta h) = y + sum_j c[j] theta^(j + 1)

    with h = t_new - t. ``start`` and ``step`` return arrays of fixed shapes, so that the loops compile.
    """

    error_order = 1
    """The power of h to which the error estimate is proportional."""
    is_adaptive = True
    """Whether there is an error estimate."""
    is_variable_order = False
    """Whether ``orders`` chooses the order and the size of the next step."""
    is_multistep = False
    """Whether steps depend on several earlier ones."""
    is_switching = False
    """Whether ``choice`` counts the steps that solve equations."""
    is_implicit = False
    """Whether steps solve equations."""
    proposes_sizes = False
    """Whether the size of a step is known before it is made."""
    steady = 1.0
    """A step does not grow by a factor below this one, so that factors of matrices serve the next step, too."""
    wants_polynomials = False
    """Whether the solve takes values between the steps, whose error a variable order may then control."""
    degree = 1
    """The degree of the polynomial."""
    dense_evaluations = 0
    """The number of evaluations of f that a polynomial takes."""

    sought = "stages"
    """What Newton's method finds in a step."""

    def power(self, stages: Any) -> Any:
        return self.error_order

    def is_found(self, stages: Any) -> bool:
        return True

    def matrices(self, stages: Any) -> tuple[int, int]:
        return (1, 1) if self.is_implicit else (0, 0)

    def again(self, memory: Any, stages: Any) -> Any:
        return memory


class ImplicitStepper(Stepper):
    """A step whose stages Newton's method finds.

    Its stages begin with the estimate of the error (1, n), which is infinite if they were not found, so that the step is
    tried again, shorter; and the numbers of evaluations, Jacobians and factorisations.
    """

    is_implicit = True

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[0]

    def is_found(self, stages: Any) -> bool:
        return bool(np.isfinite(stages[0]).all())

    def spent(self, stages: Any) -> int:
        return stages[1]

    def matrices(self, stages: Any) -> tuple[int, int]:
        return stages[2], stages[3]


def cubic_hermite(h: float, change: NDArray[Any], f0: NDArray[Any], f1: NDArray[Any]) -> NDArray[Any]:
    """Return the polynomial (3, n) that changes by ``change`` in a step h, with the slopes f0 and f1 at its ends."""
    return np.stack([h * f0, 3 * change - h * (2 * f0 + f1), h * (f0 + f1) - 2 * change])
