"""What an iterative method has to define: its start, its step, and the estimate of the residual."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Recurrence(ABC):
    """One run of a method from x = 0 for the right-hand side ``r`` of norm 1; ``step`` advances it.

    The loop in ``loop.py`` starts a run, steps until ``measure`` meets the target or the run ``ended``, adds the
    ``solution`` to x, and starts another run for the residual of x if that is still too large.
    """

    norm: Any
    """The estimate of the residual norm."""
    ended: Any = False
    """Whether a new run has to begin, because the basis is full or the recurrence is broken."""
    broken: Any = False
    """Whether the recurrence cannot go on: it would divide by zero."""

    scale: Any = 0.0
    """For least squares, the estimate of the norm of A."""

    @abstractmethod
    def step(self) -> None:
        """Do one iteration."""

    @abstractmethod
    def solution(self) -> Any:
        """Return the approximate solution."""

    def measure(self, target: Any, rtol: Any) -> Any:
        """Return the number to compare with ``target``, the residual norm that the loop asks for."""
        return self.norm


@dataclass
class Method:
    """A method for the loop and the adjoint."""

    name: str
    """What error messages call it: the public function."""
    start: Callable[[Any, Any, Any], Recurrence]
    """``start(A, M, r)`` begins a run with the preconditioner M, which may be None."""
    hermitian: bool = False
    """Whether A is Hermitian, so that the adjoint system is A's own."""
    least_squares: bool = False
    """Whether the solution minimises the residual, which need not vanish."""


def norm_of(v: Any) -> Any:
    """Return the Euclidean norm without overflow or underflow of the squares; it is not finite if v is not."""
    largest = float(np.max(np.abs(v), initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else largest


def applied(M: Any, r: Any) -> Any:
    """Return the preconditioned vector."""
    return r if M is None else M @ r
