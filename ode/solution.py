"""The result of ``odesolve``: the solution, its cost, and how the solve ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

from ..core import MorulaError
from .dense_output import DenseOutput


class Status(IntEnum):
    """How a solve ended.

    >>> Status.MAX_STEPS.message
    'max_steps steps were taken before the last time was reached'
    """

    SUCCESS = 0
    TERMINATED = 1
    MAX_STEPS = 2
    STEP_TOO_SMALL = 3

    @property
    def message(self) -> str:
        """What happened, in words."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.SUCCESS: "the last time was reached",
    Status.TERMINATED: "a terminal event ended the solve",
    Status.MAX_STEPS: "max_steps steps were taken before the last time was reached",
    Status.STEP_TOO_SMALL: "the step became too small to advance the time",
}


@dataclass
class Stats:
    """The cost of an ``odesolve``."""

    accepted: int
    """The number of accepted steps."""
    rejected: int
    """The number of rejected steps."""
    evaluations: int
    """The number of evaluations of f, without those for Jacobians."""
    last_step: float
    """The size of the last step that was not shortened to end at a given time."""
    jacobians: int = 0
    """The number of evaluations of the Jacobian of f."""
    factorisations: int = 0
    """The number of LU factorisations."""
    implicit_steps: int = 0
    """The number of accepted and rejected steps that solved equations; with ``method="auto"``, those of the method for stiff
    problems."""


@dataclass
class Happened:
    """The times and states at which one event happened."""

    t: NDArray[Any]
    """The times (k,)."""
    y: Any
    """The states there, in y0's structure, before the event changed them; every leaf has a leading axis of length k."""


@dataclass
class Solution:
    """The result of ``odesolve``."""

    t: NDArray[Any]
    """The times (m,)."""
    y: Any
    """The state at these times, in y0's structure; every leaf has a leading axis of length m. Times that a failed solve did
    not reach hold NaN."""
    stats: Stats
    """The numbers of steps and evaluations."""
    code: int = 0
    """The number of the ``status``."""
    method: str = ""
    """The name of the method."""
    t_reached: Any = 0.0
    """The end of the last accepted step, or the time of the terminal event."""
    y_reached: Any = None
    """The state there, in y0's structure."""
    events: Sequence[Happened] = ()
    """Where each event happened."""
    sol: DenseOutput | None = None
    """With ``is_dense``: the solution as a function of time; ``sol(t)``, ``sol.derivative(t)``."""

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the solve ended, in words."""
        return Status(self.code).message

    @property
    def success(self) -> bool:
        """Whether the last time or a terminal event was reached."""
        return self.code <= 1


class IntegrationFailed(MorulaError):
    """Raised by ``odesolve`` when it cannot reach the last time; ``solution`` holds what was computed up to there.

    >>> from morula.ode import odesolve
    >>> try:
    ...     odesolve(lambda t, y: y * y, 1.0, [0.0, 0.5, 2.0])
    ... except IntegrationFailed as failure:
    ...     print(failure.solution.y.round(3), failure.solution.status.name, round(failure.solution.t_reached, 3))
    [ 1.  2. nan] STEP_TOO_SMALL 1.0
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution: Solution = solution
