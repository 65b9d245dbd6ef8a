"""Step size control: the error norm and the controllers, as data.

Step sizes only choose where the solution is sampled, so they are constants for differentiation (``constant``). A
gradient is that of the discrete solution on the steps that were taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt, ulp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import constant
from .solution import Status

SHORT = 0.1
"""A step that a stop makes shorter than this part of the step that was due leaves the latter for the next step."""
RUNNING = -1
# Plain ints, which a compiled loop can carry.
SUCCESS, TERMINATED = int(Status.SUCCESS), int(Status.TERMINATED)
MAX_STEPS, STEP_TOO_SMALL = int(Status.MAX_STEPS), int(Status.STEP_TOO_SMALL)


@dataclass(frozen=True)
class StepControl:
    """How the next step size follows from the errors of this step and of steps before it.

    With e the error over the tolerance, k the power of h to which the error estimate is proportional, and r the ratio of
    neighbouring step sizes, the next step is h times

        safety e[n]^(-beta[0] / k) e[n-1]^(-beta[1] / k) e[n-2]^(-beta[2] / k) r[n]^(-alpha[0]) r[n-1]^(-alpha[1]),

    within ``smallest`` and ``largest``. Directly after a rejection the step does not grow.

    Source: G. Soderlind, Digital filters in adaptive time-stepping, ACM TOMS 29 (2003) 1.

    >>> odesolve_control = StepControl(beta=(0.7, -0.4, 0.0))
    >>> odesolve_control.safety
    0.9
    """

    beta: tuple[float, float, float]
    """The powers of the last three errors."""
    alpha: tuple[float, float] = (0.0, 0.0)
    """The powers of the last two ratios of step sizes."""
    safety: float = 0.9
    """A factor below 1, which makes a rejection less likely."""
    smallest: float = 0.2
    """The least ratio of neighbouring step sizes."""
    largest: float = 10.0
    """The greatest ratio of neighbouring step sizes."""


CONTROLS = {
    # The elementary controller (Hairer, Norsett, Wanner I, II.4.13).
    "I": StepControl((1.0, 0.0, 0.0)),
    # As in dopri5.f: K. Gustafsson, ACM TOMS 17 (1991) 533; Hairer, Wanner II, IV.2.
    "PI": StepControl((0.85, -0.2, 0.0)),
    # PI.4.2 and H312PID of Soderlind 2003, table IV.
    "PI42": StepControl((0.6, -0.2, 0.0)),
    "PID": StepControl((1 / 18, 1 / 9, 1 / 18)),
    # K. Gustafsson, ACM TOMS 20 (1994) 496, for implicit methods: the error's trend is extrapolated.
    "predictive": StepControl((2.0, -1.0, 0.0), (-1.0, 0.0), largest=8.0),
}


@dataclass
class Controller:
    """The step size controller of one solve, with its settings and counters.

    start, end: the first and the last time. stops: times (p,) at which a step must end; the last is ``end``.
    step: the next step, signed.
    """

    start: float
    stops: NDArray[Any]
    step: float
    control: StepControl
    rtol: Any
    atol: Any
    max_step: float
    max_steps: int
    min_step: float = 0.0
    code: int = RUNNING
    stop: int = 0
    error: float = 1.0
    error_before: float = 1.0
    ratio: float = 1.0
    ratio_before: float = 1.0
    accepted: int = 0
    rejected: int = 0
    after_rejection: bool = False
    last_step: float = 0.0
    is_short: bool = False
    """Whether a stop has shortened the last step so much that it does not tell of the problem."""

    @constant
    def propose(self, t: float) -> tuple[float, bool]:
        """Return the step to try at t, and whether it ends at a stop; it may grow by 1% to avoid a tiny last step.

        The step is 0, and ``code`` says why, if none can be tried.
        """
        rest = self.rest(t)
        size = min(max(abs(self.step), self.min_step), self.max_step)
        if self.accepted + self.rejected >= self.max_steps:
            self.code = MAX_STEPS
            return 0.0, False
        if 1.01 * size >= abs(rest):
            return rest, True
        if not size > 4 * ulp(t):
            self.code = STEP_TOO_SMALL
            return 0.0, False
        return (size if rest > 0 else -size), False

    def rest(self, t: float) -> float:
        """Return the way from t to the next stop that is not there already."""
        last = len(self.stops) - 1
        if last:
            while self.stop < last and (self.stops[self.stop] in (t, self.stops[last], self.start)):
                self.stop += 1
        return float(self.stops[self.stop]) - t

    @constant
    def resize(self, size: float) -> None:
        """Set the size of the next step."""
        self.step = size

    @constant
    def accepts(self, stepper: Any, h: float, is_stop: bool, stages: Any, y: NDArray[Any], y_new: NDArray[Any]) -> bool:
        """Return whether a step of h from y to y_new is accurate enough, and set the next step size."""
        scale = self.atol + self.rtol * np.maximum(np.abs(y), np.abs(y_new))
        if stepper.is_variable_order:
            return self._accepts_any_order(stepper.orders, h, is_stop, stepper.error(h, stages) / scale)
        e = error_norm(stepper.error(h, stages), scale)
        c, k = self.control, stepper.power(stages)
        if self._accepts_short(h, is_stop, e):
            return True
        if not e <= 1:
            self._reject(h)
            self.after_rejection = True
            self.step = h * (max(c.smallest, c.safety * e ** (-1 / k)) if e < inf else c.smallest)
            return False
        factor = c.safety * max(e, 1e-10) ** (-c.beta[0] / k) * self.error ** (-c.beta[1] / k)
        if c.beta[2]:
            factor *= self.error_before ** (-c.beta[2] / k)
            self.error_before = self.error
        if c.alpha[0] or c.alpha[1]:
            factor *= self.ratio ** -c.alpha[0] * self.ratio_before ** -c.alpha[1]
        factor = min(1.0 if self.after_rejection else c.largest, max(c.smallest, factor))
        if 1.0 < factor < stepper.steady:
            factor = 1.0
        if c.alpha[0] or c.alpha[1]:
            self.ratio_before, self.ratio = self.ratio, factor
        self.error = max(e, 1e-4)
        self._accept(h, h * factor, is_stop)
        return True

    def _accepts_any_order(self, orders: Any, h: float, is_stop: bool, ratio: NDArray[Any]) -> bool:
        """Like ``accepts``, for a method that chooses its order too; ``ratio`` (m, n) is the error over the tolerance."""
        errors = np.sqrt(np.sum(np.abs(ratio) ** 2, axis=1) / max(ratio.shape[1], 1))
        e = orders.total(errors)
        c = self.control
        if self._accepts_short(h, is_stop, e):
            return True
        if not e <= 1:
            self._reject(h)
            factor = orders.rejected(errors, c.safety, self.after_rejection)
            self.step = h * (max(c.smallest, factor) if e < inf else c.smallest)
            self.after_rejection = True
            return False
        factor = max(c.smallest, orders.accepted(errors, c.safety))
        self._accept(h, h * factor, is_stop)
        return True

    def _accepts_short(self, h: float, is_stop: bool, e: float) -> bool:
        """Return whether a stop has shortened a step of error e so much that the step that was due comes next."""
        self.is_short = is_stop and abs(h) < SHORT * abs(self.step) and e <= 1
        if self.is_short:
            self._accept(h, self.step, is_stop)
        return self.is_short

    def _reject(self, h: float) -> None:
        self.rejected += 1
        if abs(h) <= self.min_step:
            self.code = STEP_TOO_SMALL

    def _accept(self, h: float, step: float, is_stop: bool) -> None:
        self.step = step
        self.after_rejection = False
        if not is_stop or self.accepted == 0:  # a step that a stop has shortened does not tell of the problem
            self.last_step = h
        self.accepted += 1

    @constant
    def arrive(self) -> None:
        """Go on to the next stop; the last one ends the solve."""
        self.stop += 1
        if self.stop == len(self.stops) and self.code == RUNNING:
            self.code = SUCCESS

    @constant
    def terminate(self) -> None:
        """End the solve at a terminal event."""
        self.code = TERMINATED


@dataclass
class GivenSteps(Controller):
    """A controller that proposes given steps (k,) one after the other, and accepts each of them."""

    steps: NDArray[Any] = field(default_factory=lambda: np.zeros(0))

    @constant
    def propose(self, t: float) -> tuple[float, bool]:
        rest = self.rest(t)
        if self.accepted >= len(self.steps):
            self.code = MAX_STEPS
            return 0.0, False
        h = float(self.steps[self.accepted])
        return h, h == rest

    @constant
    def accepts(self, stepper: Any, h: float, is_stop: bool, stages: Any, y: NDArray[Any], y_new: NDArray[Any]) -> bool:
        self._accept(h, h, is_stop)
        return True


def error_norm(error: NDArray[Any], scale: NDArray[Any]) -> float:
    """Return the root mean square of the estimated error over ``scale`` (n,); the step is accepted up to 1.

    Two estimates (2, n) are those of order 5 and 3 of DOP853, combined to order 8 as in Hairer, Norsett, Wanner I,
    (II.10.17).
    """
    ratio = np.abs(error) / scale
    n = max(scale.size, 1)
    main = float(np.dot(ratio[0], ratio[0]))
    if len(ratio) == 1:
        return sqrt(main / n)
    both = main + 0.01 * float(np.dot(ratio[1], ratio[1]))
    return main / sqrt(both * n) if both != 0 else 0.0
