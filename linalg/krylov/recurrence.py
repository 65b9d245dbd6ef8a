"""What an iterative method has to define: its start, its step, and the estimate of the residual.

A method is written once for a vector (n,) and for several as the columns of (n, k). All columns take a step at the same time,
so that the matrix is multiplied with a block; an inner product is then a row (k,) of numbers, one for each column, which
broadcasts over the columns as a number does over a vector. ``choose``, ``ratio``, ``inner`` and ``length`` hide the difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Recurrence(ABC):
    """One run of a method from x = 0 for the right-hand side ``r`` of norm 1; ``step`` advances it.

    The loop in ``loop.py`` starts a run, steps until ``measure`` meets the target or the run ``ended``, adds the
    ``solution`` to x, and starts another run for the residual of x if that is still too large. Of several columns, one whose
    run is over is cleared until all are: its vectors are zeros then, so a step must not fail for a vector of zeros.
    """

    norm: Any
    """The estimate of the residual norm, a number or (k,)."""
    ended: Any = False
    """Whether a new run has to begin, because the basis is full or the recurrence is broken; a bool or (k,)."""
    broken: Any = False
    """Whether the recurrence cannot go on, since it would divide by zero; a bool or (k,)."""

    scale: Any = 0.0
    """For least squares, the estimate of the norm of A."""

    @abstractmethod
    def step(self) -> None:
        """Do one iteration."""

    @abstractmethod
    def solution(self) -> Any:
        """Return the approximate solution."""

    @abstractmethod
    def clear(self, over: Any) -> None:
        """Set the vectors of the columns in the mask ``over`` (k,) to zero."""

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
    shares_space: bool = False
    """Whether the columns share one Krylov space, so that there have to be columns."""


def norm_of(v: Any) -> Any:
    """Return the Euclidean norm, or those of the columns, without overflow or underflow of the squares.

    It is not finite if v is not.
    """
    if np.ndim(v) == 2:
        most = np.max(np.abs(v), axis=0, initial=0.0)
        return most * np.linalg.norm(v / np.where(most > 0.0, most, 1.0), axis=0)
    largest = float(np.max(np.abs(v), initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if largest > 0.0 else largest


def inner(x: Any, y: Any) -> Any:
    """Return x^H y, or those of the columns."""
    return np.vdot(x, y) if np.ndim(x) == 1 else np.sum(np.conj(x) * y, axis=0)


def length(x: Any) -> Any:
    """Return the Euclidean norm, or those of the columns."""
    return np.linalg.norm(x) if np.ndim(x) == 1 else np.linalg.norm(x, axis=0)


def unit_norm(r: Any) -> Any:
    """Return 1.0, or ones for the columns: the norm of the right-hand side."""
    return 1.0 if np.ndim(r) == 1 else np.ones(r.shape[1], np.real(r).dtype)


def is_single(value: Any) -> bool:
    """Return whether the value is a number, and not a row of one for each column; ``np.ndim`` takes much longer."""
    return not isinstance(value, np.ndarray)


def never(r: Any) -> Any:
    """Return False, or a mask without columns."""
    return False if np.ndim(r) == 1 else np.zeros(r.shape[1], bool)


def choose(mask: Any, first: Any, second: Any) -> Any:
    """Return the first or the second value, for each column where the mask is (k,)."""
    if is_single(mask):
        return first if mask else second
    return np.where(mask, first, second)


def ratio(a: Any, b: Any) -> Any:
    """Return a / b, and zero where b is zero."""
    if is_single(b):
        return a / b if b != 0.0 else 0.0 * (a * b)
    return np.where(b != 0.0, a / np.where(b != 0.0, b, 1.0), 0.0)


def entry(v: Any, j: Any) -> Any:
    """Return entry j of the vector, a number, or those of each column along the first axis."""
    return v[j] if np.ndim(v) == 1 else v[:, j]


def raised(value: Any) -> Any:
    """Return the number, or the row (k,) as a column (k, 1) that broadcasts over arrays whose first axis has length k."""
    return value if is_single(value) else value[:, None]


def product(matrix: Any, v: Any) -> Any:
    """Return the matrix times the vector, or, for those of each column along the first axis, their products."""
    return matrix @ v if np.ndim(v) == 1 else (matrix @ v[..., None])[..., 0]


def combined(weights: Any, rows: Any) -> Any:
    """Return the linear combination of the rows, or, for those of each column along the first axis, the combinations."""
    return weights @ rows if np.ndim(weights) == 1 else (weights[..., None, :] @ rows)[..., 0, :]


def columns(rows: Any) -> Any:
    """Return the vector, or the array (n, k) whose columns are these rows."""
    return np.ascontiguousarray(rows.T)


def some(mask: Any) -> Any:
    """Return whether the mask is true, for any column."""
    return mask if is_single(mask) else np.any(mask)


def without(over: Any, v: Any) -> Any:
    """Return v with zeros in the columns of the mask."""
    return np.where(over, 0.0, v)


def applied(M: Any, r: Any) -> Any:
    """Return the preconditioned vector."""
    return r if M is None else M @ r
