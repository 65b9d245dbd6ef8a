"""The filter: pairs of constraint violation and barrier value that no later point may be worse than in both.

A. Wächter and L.T. Biegler, Math. Program. 106 (2006) 25-57, section 2.3; R. Fletcher and S. Leyffer, Math. Program. 91 (2002)
239-269.
"""

from __future__ import annotations

import numpy as np

CAPACITY = 100
MARGIN_VIOLATION, MARGIN_VALUE = 1e-5, 1e-8


class Filter:
    """At most ``CAPACITY`` pairs, in arrays of constant size; the oldest pair is replaced when there are more."""

    def __init__(self) -> None:
        self.violations, self.values = np.full(CAPACITY, np.inf), np.full(CAPACITY, np.inf)
        self.count, self.largest = 0, np.inf

    def accepts(self, violation: float, value: float) -> bool:
        """Whether a point is better than every pair in one of the two, and not too far from the constraints."""
        worse = (violation >= self.violations) & (value >= self.values)
        return violation <= self.largest and not bool(np.any(worse))

    def add(self, violation: float, value: float) -> None:
        """Forbid points that are not better by a margin."""
        row = self.count % CAPACITY
        self.violations[row] = (1.0 - MARGIN_VIOLATION) * violation
        self.values[row] = value - MARGIN_VALUE * violation
        self.count += 1

    def clear(self) -> None:
        """Forget all pairs, as the barrier changes."""
        self.violations, self.values = np.full(CAPACITY, np.inf), np.full(CAPACITY, np.inf)
        self.count = 0
