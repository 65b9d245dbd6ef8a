"""Total variation of a sequence, with its proximal operator in one pass.

L. Condat, "A direct algorithm for 1-D total variation denoising", IEEE Signal Process. Lett. 20 (2013) 1054-1057.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from .terms import Term


@dataclass
class TotalVariation(Term):
    """``weight`` times the sum of the absolute differences of neighbours of a vector (n,): piecewise constant solutions.

    >>> TotalVariation(1.0).prox(np.array([0.0, 0.0, 6.0, 6.0]), 1.0).tolist()
    [0.5, 0.5, 5.5, 5.5]
    """

    weight: Any

    def value(self, x: Any) -> Any:
        return self.weight * np.sum(abs(x[1:] - x[:-1]))

    def prox(self, x: Any, step: Any) -> Any:
        if np.ndim(x) != 1 or np.iscomplexobj(x):
            raise BadInput(f"TotalVariation: x has shape {np.shape(x)}, expected a vector (n,) of real numbers")
        return taut(x, step * self.weight)


def taut(y: Any, limit: Any) -> Any:
    """Return the minimiser over x of ``|x - y|²/2 + limit Σ |x[i+1] - x[i]|``.

    The dual variable, the running sum of y - x, stays within a tube of half-width ``limit``. ``low`` and ``high`` are the values
    that the segment begun at ``first`` may have at least and at most; a segment ends where the tube forces the value to
    leave this interval.
    """
    n = len(y)
    x = np.zeros(n)
    if n == 0:
        return x
    k = first = after_low = after_high = 0
    low, high, below, above = y[0] - limit, y[0] + limit, limit, -limit
    while first < n:
        is_end = k == n - 1  # there the dual variable is zero
        following = 0.0 if is_end else y[k + 1]
        falls = below < 0.0 if is_end else following + below < low - limit
        rises = not falls and (above > 0.0 if is_end else following + above > high + limit)
        if falls or rises or is_end:
            last = after_low if falls else after_high if rises else n - 1
            x[first : last + 1] = low if falls else high if rises else low + below / (k - first + 1)
            k = first = after_low = after_high = last + 1
            start = y[min(k, n - 1)]
            low, high = (start, start + 2.0 * limit) if falls else (start - 2.0 * limit, start)
            below, above = limit, -limit
        else:
            k += 1
            below, above = below + y[k] - low, above + y[k] - high
            if below >= limit:
                low, below, after_low = low + (below - limit) / (k - first + 1), limit, k
            if above <= -limit:
                high, above, after_high = high + (above + limit) / (k - first + 1), -limit, k
    return x
