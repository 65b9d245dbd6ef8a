"""The choice of the first step (Hairer, Norsett, Wanner I, II.4)."""

from __future__ import annotations

from math import copysign, inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import constant


@constant
def trial_step(y: NDArray[Any], k: NDArray[Any], span: float, rtol: Any, atol: Any) -> float:
    """Return a step, signed like ``span``, over which y' should change little; from the sizes of y and y' = k.

    Steps a and b of the algorithm.
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

    Steps c to f.
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
