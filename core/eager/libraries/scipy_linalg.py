"""Handlers for ``scipy.linalg``: decompositions with equal values, the cosine-sine decomposition, and solutions with factors.

A solution with the results of ``lu_factor`` or ``cho_factor`` has the derivative of the solution with the matrix, which
costs one more solution; through the factors it would cost products and solutions of whole matrices.  The tape keeps
copies of the matrix and of its factors, because the program may write into both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from ...rules import find_rule
from ...rules.known_matrices import solved_by_cholesky, solved_by_lu
from ...rules.registry import handles
from ...rules.scipy_cosine_sine import cossin
from ..arrays.arrays import call_rule
from ..arrays.repeated_values import handles_equal_values
from ..recorded.call import call
from ..recorded.tape import Tape

handles_equal_values(scipy.linalg.eigh, scipy.linalg.svd)


@handles(scipy.linalg.cossin)
def decompose(tape: Tape, *args: Any, **options: Any) -> Any:
    """Record the decomposition's program, whose pullback uses the vectors that the program computed."""
    return call(tape, cossin, *args, **options)


MOST_KEPT = 4
"""The factorisations of which a tape keeps the matrix; a program solves with the last ones."""


def _factorise(function: Callable[..., Any]) -> None:
    """Register a function that returns factors, of which it keeps the matrix."""

    @handles(function)
    def factorise(tape: Tape, a: Any, *args: Any, **options: Any) -> Any:
        is_matrix = type(a) is np.ndarray and a.ndim == 2 and a.dtype.char in "dD" and a.shape[0] == a.shape[1]
        if not is_matrix or tape.tangents is not None or any(name.startswith("overwrite") for name in options):
            return call_rule(tape, find_rule(function), (a, *args), options)
        matrix = call(tape, np.copy, a)
        found = call_rule(tape, find_rule(function), (matrix, *args), options)
        kept = tape.memory.setdefault(function, [])
        kept.append((found[0], matrix, np.copy(found[0]), np.copy(found[1])))
        del kept[:-MOST_KEPT]
        return found


def _solve(function: Callable[..., Any], factorised_by: Callable[..., Any], kernel: Callable[..., Any]) -> None:
    """Register a function of factors and right-hand sides, for which ``kernel`` takes the matrix, too."""

    @handles(function)
    def solve(tape: Tape, factors: Any, b: Any, *args: Any, **options: Any) -> Any:
        known = _known(tape, factorised_by, factors)
        fits = type(b) is np.ndarray and b.ndim in (1, 2)
        if known is None or not fits or b.dtype != known[0].dtype or not options.keys() <= {"trans", "check_finite"}:
            return call_rule(tape, find_rule(function), (factors, b, *args), options)
        matrix, first, second = known
        if function is scipy.linalg.cho_solve:
            return call(tape, kernel, matrix, b, first, bool(second), **options)
        return call(tape, kernel, matrix, b, first, second, *args, **options)


def _known(tape: Tape, factorised_by: Callable[..., Any], factors: Any) -> tuple[Any, Any, Any] | None:
    """Return the matrix and its factors if they are those of a call on the tape, which the program has not changed."""
    if type(factors) is not tuple or len(factors) != 2:
        return None
    for given, matrix, first, second in tape.memory.get(factorised_by, ()):
        if given is factors[0] and np.array_equal(given, first) and np.array_equal(factors[1], second):
            return matrix, first, second
    return None


_factorise(scipy.linalg.lu_factor)
_factorise(scipy.linalg.cho_factor)
_solve(scipy.linalg.lu_solve, scipy.linalg.lu_factor, solved_by_lu)
_solve(scipy.linalg.cho_solve, scipy.linalg.cho_factor, solved_by_cholesky)
