"""Step size control: the error norm, the PI controller, and the choice of the first step.

Step sizes only choose where the solution is sampled, so they are constants for differentiation (``constant``). A
gradient is that of the discrete solution on the steps that were taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf, sqrt, ulp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import MorulaError, constant

SAFETY = 0.9
SLOWEST, FASTEST = 0.2, 10.0


class IntegrationFailed(MorulaError):
    """Raised by ``odesolve`` when the step limit is reached or the step size becomes too small to advance the time."""


@dataclass
class Controller:
    """The step size controller of one solve, with its settings and counters.

    end: the last time. step: the next step, signed. order: the error estimate is proportional to step^order.
    error_weights (m, s + 1): the weights of the stages in the error estimates.
    """

    end: float
    step: float
    order: int
    error_weights: NDArray[Any]
    rtol: Any
    atol: Any
    max_step: float
    max_steps: int
    error: float = 1.0
    accepted: int = 0
    rejected: int = 0
    after_rejection: bool = False
    last_step: float = 0.0

    @constant
    def propose(self, t: float) -> tuple[float, bool]:
        """Return the step to try at t, and whether it ends at ``end``; it may grow by 1% to avoid a tiny last step."""
        rest = self.end - t
        size = min(abs(self.step), self.max_step)
        if self.accepted + self.rejected >= self.max_steps:
            raise IntegrationFailed(
                f"max_steps = {self.max_steps} steps were taken and t = {t:.6g} of {self.end:.6g} was reached, with "
                f"steps of {size:.3g}; raise max_steps, loosen rtol or atol, or check whether the problem is stiff"
            )
        if 1.01 * size >= abs(rest):
            return rest, True
        if size <= 4 * ulp(t):
            raise IntegrationFailed(
                f"the step fell to {size:.3g} at t = {t:.6g}, too small to advance it; the solution may be singular "
                "there, or f may return values that are not finite"
            )
        return (size if rest > 0 else -size), False

    @constant
    def accepts(self, h: float, final: bool, k: NDArray[Any], y: NDArray[Any], y_new: NDArray[Any]) -> bool:
        """Return whether a step of h from y to y_new is accurate enough, and set the next step size.

        The PI controller of dopri5.f: after an accepted step, the next size also depends on the error of the step
        before (K. Gustafsson, ACM TOMS 17 (1991) 533; Hairer, Wanner II, IV.2), so that a step size limited by
        stability does not oscillate. Directly after a rejection the step size does not grow.
        """
        error = error_norm(self.error_weights, k, h, self.atol + self.rtol * np.maximum(np.abs(y), np.abs(y_new)))
        if not error <= 1:
            self.rejected += 1
            self.after_rejection = True
            self.step = h * (max(SLOWEST, SAFETY * error ** (-1 / self.order)) if error < inf else SLOWEST)
            return False
        beta = 0.2 / self.order
        factor = SAFETY * max(error, 1e-10) ** (0.75 * beta - 1 / self.order) * max(self.error, 1e-4) ** beta
        self.step = h * min(1.0 if self.after_rejection else FASTEST, max(SLOWEST, factor))
        self.error = error
        self.accepted += 1
        self.after_rejection = False
        if not final or self.accepted == 1:
            self.last_step = h
        return True


def error_norm(weights: NDArray[Any], k: NDArray[Any], h: float, scale: NDArray[Any]) -> float:
    """Return the root mean square of a step's estimated error divided by ``scale`` (n,); the step is accepted up to 1.

    Two rows of weights are the estimates of order 5 and 3 of DOP853, combined to order 8 as in Hairer, Norsett, Wanner
    I, (II.10.17).
    """
    error = np.abs(np.dot(weights, k)) / scale
    n = max(scale.size, 1)
    main = float(np.dot(error[0], error[0]))
    if len(error) == 1:
        return abs(h) * sqrt(main / n)
    both = main + 0.01 * float(np.dot(error[1], error[1]))
    return abs(h) * main / sqrt(both * n) if both != 0 else 0.0


@constant
def trial_step(y: NDArray[Any], k: NDArray[Any], span: float, rtol: Any, atol: Any) -> float:
    """Return a step, signed like ``span``, over which y' should change little; from the sizes of y and y' = k.

    Hairer, Norsett, Wanner I, II.4, steps a and b.
    """
    scale = atol + rtol * np.abs(y)
    size, slope = _rms(y, scale), _rms(k, scale)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    return copysign(min(h, abs(span)), span)


@constant
def initial_step(
    h: float, y: NDArray[Any], k: NDArray[Any], k_trial: NDArray[Any], span: float, order: int, rtol: Any, atol: Any
) -> float:
    """Return the first step, which also uses an estimate of y'' from k_trial = f(t + h, y + h k).

    Hairer, Norsett, Wanner I, II.4.
    """
    scale = atol + rtol * np.abs(y)
    steepest = max(_rms(k, scale), _rms(k_trial - k, scale) / abs(h))
    if not steepest < inf:
        return h
    best = max(1e-6, abs(h) * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** (1 / order)
    return copysign(min(100 * abs(h), best, abs(span)), span)


def _rms(x: NDArray[Any], scale: NDArray[Any]) -> float:
    ratio = np.abs(x) / scale
    return sqrt(float(np.dot(ratio, ratio)) / max(ratio.size, 1))
