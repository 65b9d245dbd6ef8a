"""Steps of an explicit method and of one for stiff problems, with the choice between them.

Stiffness shows in h |lambda|, with lambda the dominant eigenvalue of the Jacobian: an explicit method is limited by its
stability if that stays near the boundary of its region. The power method finds lambda, and goes on from step to step: it
makes an iteration in every step for stiff problems, and in some of the explicit ones. Each explicit step also has an
estimate by its last two stages, which reacts at once, but is too small where the difference of these is smooth.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.2; L. F. Shampine, Stiffness and
nonstiff differential equation solvers II, ACM TOMS 3 (1977) 44.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, jvp
from ..methods.switching import Switching
from ..problem import Problem
from .explicit import ExplicitStepper
from .rosenbrock import RosenbrockStepper
from .stepper import ImplicitStepper

PATIENCE = 10
"""The number of steps that look stiff, without as many that do not, after which the solve tries the method for stiff problems.
It doubles with each trial that does not pay."""
RETURN = 3
"""The number of steps that the explicit method could make, too, after which the solve goes back to it."""
EVERY = 4
"""The number of explicit steps for each iteration of the power method."""
SUSPECT = 0.5
"""The part of the stability region above which an explicit step looks stiff. Components that follow others fast have larger
errors there than a smooth solution has, so at tight tolerances these hold the step below the boundary."""
NEAR = 0.9
"""The part of the stability region that an explicit step is to use at most."""


@dataclass
class Choice:
    """Which method makes the next step.

    boundary: of the explicit method's region of stability.
    """

    boundary: float
    is_stiff: bool = False
    suspicious: int = 0
    """Steps that speak for the other method, less a few of those that do not."""
    tried: int = 0
    """The number of steps of the method for stiff problems, with those that were rejected."""
    patience: int = PATIENCE
    is_paying: bool = False
    """Whether the steps for stiff problems have been larger than explicit ones could be."""
    explicit: int = 0
    """The number of explicit steps."""

    @constant
    def next(self) -> bool:
        """Return whether the next step is one of the method for stiff problems."""
        self.tried += self.is_stiff
        return self.is_stiff

    @constant
    def is_measured(self) -> bool:
        """Return whether the power method makes an iteration in this explicit step."""
        self.explicit += 1
        return self.explicit % EVERY == 0

    @constant
    def note(self, extent: float) -> None:
        """Choose the next method after an accepted step with h |lambda| = ``extent``."""
        if self.is_stiff:
            speaks = extent < NEAR * self.boundary
            self.is_paying = self.is_paying or not speaks
        else:
            speaks = extent > SUSPECT * self.boundary
        self.suspicious = self.suspicious + 1 if speaks else max(self.suspicious - 2, 0)
        if self.suspicious < (RETURN if self.is_stiff else self.patience):
            return
        if self.is_stiff:
            self.patience = PATIENCE if self.is_paying else 2 * self.patience
        self.is_stiff, self.is_paying = not self.is_stiff, False
        self.suspicious = 0


class SwitchingStepper(ImplicitStepper):
    """The step of a ``Switching``. The memory is f at the start of the step, and the vector and the estimate of |lambda| of the
    power method.

    method: the methods. dtype: of the state.
    """

    is_switching = True

    def __init__(self, method: Switching, dtype: np.dtype[Any]) -> None:
        self.name, self.order = method.name, method.order
        self.error_order = min(method.explicit.error_order, method.stiff.error_order)
        self.explicit, self.stiff = ExplicitStepper(method.explicit, dtype), RosenbrockStepper(method.stiff, dtype)
        self.choice = Choice(method.boundary)
        self.degree = self.explicit.degree
        self.last_weights = self.explicit.weights[-2:]

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Any:
        return slope, _first_vector(y), 0.0

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Any) -> Any:
        slope, vector, size = memory
        h = t_new - t
        if self.choice.next():
            y_new, stages = self.stiff.step(problem, t, t_new, y, slope)
            error = self.stiff.error(h, stages)
            c = self.stiff.polynomial(problem, t, t_new, y, stages)
            after = self.stiff.advance(stages)
            vector, size = _power(problem, t, y, vector)
            return y_new, (error, self.stiff.evaluations, 1, 1, after, vector, size, c, abs(h) * size)
        y_new, k = self.explicit.step(problem, t, t_new, y, slope[None])
        error = self.explicit.error(h, k)
        c = self.explicit.polynomial(problem, t, t_new, y, k)
        if self.choice.is_measured():
            vector, size = _power(problem, t, y, vector)
        extent = max(_extent(h, k, self.last_weights), abs(h) * size)
        return y_new, (error, self.explicit.evaluations, 0, 0, k[-1], vector, size, c, extent)

    def advance(self, stages: Any) -> Any:
        self.choice.note(stages[8])
        return stages[4], stages[5], stages[6]

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return stages[7]


@constant
def _extent(h: float, k: NDArray[Any], weights: list[NDArray[Any]]) -> float:
    """Return h |lambda| from the two last stages, both at the end of the step: their slopes over their states."""
    states = h * (np.dot(weights[1], k[:-1]) - np.dot(weights[0], k[:-2]))
    slopes = k[-1] - k[-2]
    size = float(np.dot(states, states))
    return abs(h) * sqrt(float(np.dot(slopes, slopes)) / size) if size > 0.0 else 0.0


def _first_vector(y: NDArray[Any]) -> NDArray[Any]:
    """Return a vector that is hardly an eigenvector, or free of one; unlike that of ones, on which diffusion is zero."""
    return np.cos(np.arange(1.0, len(y) + 1) ** 2).astype(y.dtype)


@constant
def _power(problem: Problem, t: float, y: NDArray[Any], vector: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Return the next vector of the power method, of length 1, and the estimate of |lambda|."""
    length = sqrt(float(np.dot(vector, vector)))
    turned = jvp(lambda y: problem.rhs(t, y), (y,), (vector / length,))[1]
    size = sqrt(float(np.dot(turned, turned)))
    return (turned / size if 0.0 < size < 1e300 else _first_vector(y)), size
