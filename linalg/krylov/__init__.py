"""Iterative methods for linear systems.

A method is a ``Recurrence``: its start and its step. ``loop.py`` stops, restarts and records it; ``solve.py`` checks the
arguments and differentiates the solution.
"""

from .conjugate_gradients import cg
from .solution import Solution, Status

__all__ = ["Solution", "Status", "cg"]


def __dir__() -> list[str]:
    return sorted(__all__)
