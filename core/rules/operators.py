"""Rules of Python's operators and of the built-in functions on numbers; they act on arrays by broadcasting as well.

The partials use Python's arithmetic, which is fast for floats.  Where it raises, as for the slope of ``x ** 0.5`` at
``0.0``, the tape evaluates them again with NumPy numbers, which give ``inf`` or ``nan``.  The rules of ``+``, ``-``,
``*`` and ``/`` stand with those of NumPy's functions in ``ufuncs``.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from ..ir.vocabulary import larger, largest, smaller, smallest
from .table import elementwise, joint, pointwise, vjp, zero


def exponent_partial(y: Any, x: Any, n: Any) -> Any:
    """The partial derivative of ``y = x ** n`` in ``n``, with 0 for ``0 ** n``.

    For a negative ``x`` and a real ``y`` none exists: a real power is defined at integers ``n`` only.  The result is
    NaN there; it reaches only ``n``, and only if ``n`` is differentiated.

    >>> exponent_partial(8.0, 2.0, 3.0) == 8 * math.log(2)
    True
    """
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return y * math.log(x) if x > 0 else math.nan if x < 0 else 0.0
    if isinstance(x, (int, float, complex)) and isinstance(y, complex):
        return y * cmath.log(x) if x != 0 else 0.0
    # Zeros become one and negative numbers NaN (or complex) before the logarithm, so that it does not warn.
    kept = np.where(x == 0, 1, x)
    return np.where(x == 0, 0.0, y) * np.log(kept + 0j if np.iscomplexobj(y) else np.where(kept < 0, np.nan, kept))


REAL = (int, float, np.integer, np.floating)
TINY = 1e-30
"""Powers above it have all digits, also in single precision."""


def power_below(y: Any, x: Any, n: Any) -> Any:
    """``x ** (n - 1)`` for ``y = x ** n``; 1 where ``n`` and ``x`` are 0.

    It is a quotient where ``n`` is a negative number, and where it is a large one and ``y`` has neither over- nor underflown.
    """
    if isinstance(n, REAL) and not np.iscomplexobj(y):
        if n < 0 or n > 8 and isinstance(y, REAL) and TINY < abs(y) < math.inf:
            return y / (x if n == np.floor(n) else np.abs(x))  # a root of -0 has no sign
    return np.power(1.0 * x, n - 1 + (n == 0) * (x == 0))


def nonzero_divisor(a: Any, b: Any) -> bool:
    """Whether the slopes of a quotient are known to be finite: its divisor is a constant other than zero."""
    return b is not None and bool(np.all(b))


def exponent_from_one(x: Any, n: Any) -> bool:
    """Whether the slope of ``x ** n`` in ``x`` is known to be finite: ``n`` is a real constant, 0 or at least 1."""
    return n is not None and np.isrealobj(n) and bool(np.all((n == 0) | (np.real(n) >= 1)))


def power_pullback(dy: Any, y: Any, base: Any, exp: Any, mod: Any = None) -> tuple[Any, Any]:
    """The pullback of the built-in ``pow``; modular powers are arithmetic of integers and have derivative zero."""
    if mod is not None:
        return 0 * dy, 0 * dy
    return dy * np.conj(exp * base ** (exp - 1 + (exp == 0) * (base == 0))), dy * np.conj(
        exponent_partial(y, base, exp)
    )


def absolute_pullback(dy: Any, y: Any, x: Any) -> Any:
    """The pullback of the absolute value: the sign, and the phase for a complex number; 0 at 0."""
    if isinstance(x, (int, float)):
        return dy if x > 0 else -dy if x < 0 else 0 * dy
    if isinstance(x, complex):
        return dy * (x / y) if y != 0 else 0 * dy
    return dy * np.sign(x)


def divmod_pullback(dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The pullback of quotient and remainder: the quotient is constant between its jumps."""
    return (None, None) if dy[1] is None else (dy[1], -dy[1] * y[0])


def shares(dy: Any, y: Any, first: Any, *others: Any) -> tuple[Any, ...]:
    """The pullback of ``max`` and ``min`` of numbers: equal ones share the cotangent; a NaN is returned only if it is first.

    >>> shares(1.0, 3.0, 3.0, 2.0, 3)
    (0.5, 0.0, 0.5)
    """
    if len(others) == 1:
        second = (others[0] == y) * (1 - 0.5 * (first == others[0]))
        return dy * (1 - second), dy * second
    equal = [(first == y) | (y != y), *[x == y for x in others]]
    share = 1 / sum(equal)
    return tuple([dy * (share * e) for e in equal])


elementwise(operator.mod, lambda y, a, b: 1, lambda y, a, b: -(a // b))

# n - 1, but 0 where n and x are 0, so that the slope of x ** 0 is 0 at x = 0 too.
elementwise(
    operator.pow, lambda y, x, n: n * x ** (n - 1 + (n == 0) * (x == 0)), exponent_partial, finite=exponent_from_one
)
joint(pow, power_pullback)
joint(divmod, divmod_pullback)

vjp((abs, operator.abs), absolute_pullback)
pointwise(abs, operator.abs)
elementwise(float, lambda y, x: 1, finite=True)
vjp(
    complex,
    lambda dy, y, real=0, imag=0: dy,
    lambda dy, y, real=0, imag=0: dy * -1j if np.iscomplexobj(imag) else np.imag(dy),
)

zero(operator.floordiv, int, round, bool)
zero(operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt)
zero(operator.is_, operator.is_not, operator.not_, operator.truth, operator.contains, operator.index)
zero(operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift)

# Equal numbers share the cotangent.  NumPy's bools have no sum: True + True is True.
elementwise(
    (larger, smaller),
    lambda y, a, b: 1 - (b == y) * (1 - 0.5 * (a == b)),
    lambda y, a, b: (b == y) * (1 - 0.5 * (a == b)),
    finite=True,
)
joint((largest, smallest), shares)
