"""How long a step is: the size of the error, the PI controller, and the first step.

These choose where the solution is sampled; they are no part of it.  `solve` calls them on values cut off from
differentiation, so a gradient is that of the discrete solution on the steps that were taken.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAFETY = 0.9
SLOWEST, FASTEST = 0.2, 10.0


def error_norm(weights: NDArray[Any], k: NDArray[Any], h: float, scale: NDArray[Any]) -> float:
    """The estimated error of a step over the tolerance `scale` (n,), root mean square; up to 1 is acceptable.

    Two rows of weights are the estimates of order 5 and 3 of DOP853, combined to order 8 as in Hairer, Norsett, Wanner
    I, (II.10.17).
    """
    error = np.abs(np.dot(weights, k)) / scale
    n = max(scale.size, 1)
    main = float(np.dot(error[0], error[0]))
    if len(error) == 1:
        return abs(h) * sqrt(main / n)
    both = main + 0.01 * float(np.dot(error[1], error[1]))
    return abs(h) * main / sqrt(both * n) if both > 0 else both


def step_factor(error: float, previous: float, order: int, rejected: bool) -> float:
    """By what to multiply the step after an error of `error`: the PI controller of dopri5.f.

    An accepted step uses the error of the one before too (K. Gustafsson, ACM TOMS 17 (1991) 533; Hairer, Wanner II,
    IV.2): a step size that oscillates at the limit of stability settles.  After a rejection it does not grow at once.
    """
    if not error <= 1:
        return max(SLOWEST, SAFETY * error ** (-1 / order)) if error < np.inf else SLOWEST
    beta = 0.2 / order
    alpha = 1 / order - 0.75 * beta
    factor = SAFETY * max(error, 1e-10) ** -alpha * max(previous, 1e-4) ** beta
    return min(1.0 if rejected else FASTEST, max(SLOWEST, factor))


def first_step(
    rhs: Callable[[float, NDArray[Any]], NDArray[Any]],
    t: float,
    y: NDArray[Any],
    k: NDArray[Any],
    span: float,
    order: int,
    rtol: Any,
    atol: Any,
) -> float:
    """A first step from the sizes of y, y' and y'' (Hairer, Norsett, Wanner I, II.4); `span` is signed."""
    scale = atol + rtol * np.abs(y)
    size, slope = _rms(y, scale), _rms(k, scale)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    h = min(h, abs(span))
    sign = 1.0 if span > 0 else -1.0
    bend = _rms(rhs(t + sign * h, y + sign * h * k) - k, scale) / h
    steepest = max(slope, bend)
    if not steepest < np.inf:
        return sign * h
    second = max(1e-6, h * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** (1 / order)
    return sign * min(100 * h, second, abs(span))


def _rms(x: NDArray[Any], scale: NDArray[Any]) -> float:
    ratio = np.abs(x) / scale
    return sqrt(float(np.dot(ratio, ratio)) / max(ratio.size, 1))
