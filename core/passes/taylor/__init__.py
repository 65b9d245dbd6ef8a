"""Taylor mode on typed IR: makes, of a program, the program that also computes truncated Taylor series.

    sweep       the series of blocks: calls, branches, loops, functions that call themselves
    online      series of small programs, coefficient by coefficient
    formulas    recurrences: products, quotients, solutions of equations, powers

A value has a coefficient for each power of t from 1 to the order; it is itself the coefficient of t^0. Each operation is followed
by those that compute the coefficients of its results, so nothing is saved. The series of an operation follows from what the table
of rules says of it: a linear function maps coefficients one by one; of a function that is linear in several arguments, the series
is a sum of products; and for every other one the tangent y' = T(u, y) u' is a program, of which coefficient k - 1 gives
coefficient k of y (``online``).

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, SIAM 2008, chapter 13.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.dynamic import Function
from ..dead_code import remove_dead_code
from ..reverse.activity import check_active
from .sweep import with_series

__all__ = ["taylor"]


def taylor(
    function: Function,
    active: Sequence[bool],
    order: int,
    target: str = "native",
    is_strong: bool = False,
    is_differentiated: bool = True,
) -> Function:
    """Return the function that also computes Taylor coefficients.

    It takes the function's parameters, then the coefficients of t, ..., t^order of each active one; it returns the function's
    results, then the coefficients of t, ..., t^order of each inexact one.

    Args:
        function: typed IR; it is not changed.
        active: for each parameter, whether it varies.
        order: the highest power of t, at least 1.
        target: ``"native"`` or ``"xla"``, for the loops of pullbacks that are transposed.
        is_strong: whether an entry that does not vary contributes zero also in products with Inf and NaN.
        is_differentiated: whether the result may itself be differentiated.

    Raises:
        NoDerivative: a series reaches a call from whose rule none can be derived.
        BadInput: an active parameter is neither a float nor complex, or an array of these.
    """
    check_active(function, active)
    return remove_dead_code(with_series(function, active, order, target, is_strong, is_differentiated))
