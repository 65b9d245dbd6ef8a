"""What a search returns: where it ended, at what cost, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from ..core import BadInput, MorulaError

RUNNING = -1
"""The code of a search that goes on; plain ints, which compiled loops can carry."""


class Status(IntEnum):
    """How a search ended.

    >>> Status.STOPPED.message
    'stopped by callback'
    """

    CONVERGED = 0
    AT_ROUNDING = 1
    MAX_ITERATIONS = 2
    STOPPED = 3
    STAGNATED = 4
    UNBOUNDED = 5
    INFEASIBLE = 6

    @property
    def message(self) -> str:
        """What happened, in words."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.CONVERGED: "the tolerance is met",
    Status.AT_ROUNDING: "converged as far as the rounding errors of the function allow",
    Status.MAX_ITERATIONS: "max_iterations was reached before the tolerance was met",
    Status.STOPPED: "stopped by callback",
    Status.STAGNATED: "no better point was found: the function is not smooth here, its derivative is wrong,"
    " it has no solution, or tol is below what rounding allows",
    Status.UNBOUNDED: "the function decreases without bound: add bounds or a penalty",
    Status.INFEASIBLE: "no point that meets the constraints was found",
}

CONVERGED, AT_ROUNDING, MAX_ITERATIONS = int(Status.CONVERGED), int(Status.AT_ROUNDING), int(Status.MAX_ITERATIONS)
STOPPED, STAGNATED, UNBOUNDED = int(Status.STOPPED), int(Status.STAGNATED), int(Status.UNBOUNDED)
INFEASIBLE = int(Status.INFEASIBLE)


@dataclass
class Result:
    """The result of any search of this package."""

    x: Any
    """The best point found, in the structure of ``x0``."""
    iterations: int
    """The number of steps taken."""
    evaluations: int
    """The number of evaluations of the function, with its derivative where the method needs it."""
    code: int
    """The number of the ``status``, an int that compiled programs can return."""
    history: Any
    """What was asked for with ``history=True``, (iterations + 1, 2): the value and the measure that is compared with
    ``tol``, at the start and after each iteration; else None."""
    state: Any
    """What ``resume=`` takes to continue the search, if ``resumable=True``; else None."""

    @property
    def status(self) -> Status:
        """How the search ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the search ended, in words."""
        return "running" if self.code == RUNNING else Status(self.code).message

    @property
    def converged(self) -> bool:
        """Whether ``x`` was found to be a solution."""
        return self.code == CONVERGED or self.code == AT_ROUNDING

    def plot(self, axes: Any = None) -> Any:
        """Return a pair of matplotlib's axes with the value and the measure of convergence after each iteration.

        Args:
            axes: a pair to draw into; new ones by default.

        Raises:
            BadInput: the search recorded no history.
            MorulaError: matplotlib is not installed.

        >>> from morula.optim import minimize
        >>> upper, lower = minimize(lambda x: (x - 1.0) ** 2, 0.0, history=True).plot()
        >>> lower.get_xlabel()
        'iteration'
        """
        if self.history is None:
            raise BadInput("plot: the search recorded no history; pass history=True")
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MorulaError("plot needs matplotlib (pip install 'morula[examples]')") from None
        upper, lower = plt.subplots(2, 1, sharex=True, layout="constrained")[1] if axes is None else axes
        value, measure = np.transpose(self.history)
        upper.plot(value)
        upper.set(ylabel="value", yscale="log" if np.all(value > 0.0) else "linear")
        lower.semilogy(np.where(measure > 0.0, measure, np.nan))
        lower.set(xlabel="iteration", ylabel="compared with tol")
        return upper, lower
