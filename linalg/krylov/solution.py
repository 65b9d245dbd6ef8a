"""The result of an iterative solve, and the codes that say how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Status(IntEnum):
    """How an iterative solve ended.

    >>> Status.STAGNATED.message
    'the residual stopped decreasing before it met the tolerance'
    """

    CONVERGED = 0
    MAX_ITERATIONS = 1
    STAGNATED = 2
    BREAKDOWN = 3

    @property
    def message(self) -> str:
        """What happened, in words."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.CONVERGED: "the residual meets the tolerance",
    Status.MAX_ITERATIONS: "the maximum number of iterations was reached before the residual met the tolerance",
    Status.STAGNATED: "the residual stopped decreasing before it met the tolerance",
    Status.BREAKDOWN: "the recurrence diverged or divided by zero, and beginning anew did not help",
}


class Outcome:
    """What the results of iterative methods say of how they ended, from the number of their status."""

    code: int

    @property
    def status(self) -> Status:
        """How the iteration ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the iteration ended, in words."""
        return Status(self.code).message

    @property
    def converged(self) -> bool:
        """Whether all residuals meet the tolerance."""
        return self.code == 0


@dataclass
class Solution(Outcome):
    """The result of an iterative method."""

    x: Any
    """The approximate solution, (n,) or (n, k)."""
    iterations: int
    """The number of steps; for several right-hand sides, of the one that took most."""
    residual_norm: Any
    """The Euclidean norm of b - A x; (k,) for several right-hand sides."""
    history: Any
    """The residual norm at the start and after each step, as the recurrence estimates it, (iterations + 1,) or
    (iterations + 1, k); a column that ended earlier repeats its last entry."""
    code: int
    """The number of the ``status``; for several right-hand sides, the largest."""
    method: str = ""
    """The name of the method that found it."""
