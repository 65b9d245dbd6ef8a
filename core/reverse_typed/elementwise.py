"""Adjoints of ufuncs: the partial derivatives of the table of rules, multiplied by the cotangent.

Where a partial can be infinite, what no cotangent arrives at gives none: a factor of zero is not multiplied by infinity,
so that nothing comes from the elements that a ``where`` did not choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy._core import umath

from ..builder import Builder
from ..errors import NoDerivative
from ..ir import Operation, Value
from ..rules import find_rule
from . import library
from .cotangents import Cotangents
from .formulas import is_formula, lowered, write

_BOUNDED = {np.add, np.subtract, np.multiply, np.negative, np.sin, np.cos, np.exp, np.sinh, np.cosh, np.tanh}
DIRECT: dict[Any, Callable[..., Sequence[Value | None]]] = {}
"""Adjoints written by hand: ``(builder, wanted, dy, y, *operands)`` gives a cotangent, or None, for each operand."""


def adjoint(builder: Builder, op: Operation, cotangents: Cotangents, dys: Sequence[Value | None]) -> None:
    """Add what the call of a ufunc with these cotangents of its results gives to its operands."""
    wanted = [v in cotangents.active for v in op.operands]
    if op.callee in DIRECT:
        direct = DIRECT[op.callee]
        if len(op.results) > 1:
            gs = direct(builder, wanted, dys, op.results, *op.operands)
        else:
            gs = direct(builder, wanted, dys[0], op.results[0], *op.operands)
        for value, g in zip(op.operands, gs):
            cotangents.add(value, g)
        return
    rule = find_rule(op.callee)
    if rule is None or not rule.partials:
        library.adjoint(builder, op, cotangents, dys)
        return
    (dy,) = dys
    assert dy is not None
    for value, partial, on in zip(op.operands, rule.partials, wanted):
        if not on or partial == 0:
            continue
        if partial is None or isinstance(partial, int):
            raise NoDerivative(f"{op.callee.__name__} has no derivative in one of its operands (line {op.line})")
        known = [op.results[0], *op.operands]
        if is_formula(partial):
            slope = write(builder, partial, known)
        else:
            slope = library.interpreted(builder, op, partial, known, {})
        cotangents.add(value, scaled(builder, dy, slope, may_be_infinite(partial)))


def scaled(builder: Builder, dy: Value, slope: Any, masked: bool) -> Value:
    """dy times the conjugate of a slope."""
    if not isinstance(slope, Value):
        if slope == 1:
            return dy
        if slope == -1:
            return builder.ufunc(np.negative, dy)
        slope = builder.constant(slope)
    if slope.type.dtype.kind == "b":
        slope = builder.cast(slope, dy.type.dtype.type(0).real.dtype)
    g = builder.ufunc(np.multiply, dy, conjugate(builder, slope))
    return only_where(builder, dy, g) if masked else g


def only_where(builder: Builder, dy: Value, g: Value) -> Value:
    """g where dy is not zero, and else zero."""
    zero = builder.constant(0, g.type.dtype)
    if builder.is_differentiated:
        # Where dy is zero by chance, its own derivative is multiplied by the slope all the same.
        zero = builder.where(builder.ufunc(np.isnan, g), zero, g)
    return builder.where(builder.ufunc(np.equal, dy, builder.constant(0, dy.type.dtype)), zero, g)


def conjugate(builder: Builder, x: Value) -> Value:
    return builder.ufunc(np.conjugate, x) if x.type.dtype.kind == "c" else x


@lru_cache(maxsize=1024)
def may_be_infinite(partial: Any) -> bool:
    """Whether a formula calls anything that is infinite at a finite point."""
    found = lowered(partial)
    names = {u.__name__ for u in _BOUNDED} | {"sub", "mul", "neg", "add", "eq", "larger_share", "rint", "floor_divide"}
    return found is None or any(op.callee is None or op.callee.__name__ not in names for op in found.block.operations)


def direct(*functions: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        DIRECT.update(dict.fromkeys(functions, body))
        return body

    return register


@direct(np.add)
def _add(b, wanted, dy, y, p, q):
    return dy, dy


@direct(np.subtract)
def _subtract(b, wanted, dy, y, p, q):
    return dy, b.ufunc(np.negative, dy) if wanted[1] else None


@direct(np.positive)
def _positive(b, wanted, dy, y, x):
    return (dy,)


@direct(np.negative)
def _negative(b, wanted, dy, y, x):
    return (b.ufunc(np.negative, dy),)


@direct(np.multiply)
def _multiply(b, wanted, dy, y, p, q):
    return tuple(
        b.ufunc(np.multiply, dy, conjugate(b, other)) if on else None for on, other in ((wanted[0], q), (wanted[1], p))
    )


@direct(np.divide)
def _divide(b, wanted, dy, y, p, q):
    over = reciprocal(b, q)
    g = b.ufunc(np.divide, dy, conjugate(b, q)) if over is None else b.ufunc(np.multiply, dy, over)
    if not (q.is_constant and np.all(q.constant)):
        g = only_where(b, dy, g)
    if not wanted[1]:
        return g, None
    h = b.ufunc(np.negative, b.ufunc(np.multiply, g, conjugate(b, y)))
    return g if wanted[0] else None, only_where(b, g, h)


def reciprocal(b: Builder, q: Value) -> Value | None:
    """1 / q for a known real q, where it is a normal number: in a recurrence, a product takes a third of a quotient's time."""
    if not q.is_constant or q.type.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        found = np.divide(1, q.constant, dtype=q.type.dtype)
    size = np.abs(found)
    is_normal = np.isfinite(found) & (size >= np.finfo(q.type.dtype).smallest_normal)
    return b.constant(found, q.type.dtype) if np.all(is_normal) else None


_POWER: Any = find_rule(np.power).partials  # type: ignore[union-attr]


@direct(np.power, np.float_power)
def _power(b, wanted, dy, y, x, n):
    if not (n.is_constant and not n.type.shape):
        slopes = [write(b, p, [y, x, n]) if on else None for p, on in zip(_POWER, wanted)]
        return [s if s is None else scaled(b, dy, s, True) for s in slopes]
    exponent = n.constant
    if exponent == 0:
        return None, None
    if exponent == 1:
        return dy, None
    factor = b.constant(exponent, n.type.dtype)
    if exponent == 2:
        slope = b.ufunc(np.multiply, factor, x)
    elif y.type.dtype.kind == "f" and exponent < 0 and x.type.dtype == y.type.dtype:
        # A quotient instead of another power, infinite where the power is; a root of -0 has no sign.
        base = x if exponent == np.floor(exponent) else b.ufunc(np.absolute, x)
        slope = b.ufunc(np.multiply, factor, b.ufunc(np.divide, y, base))
    else:
        slope = b.ufunc(np.multiply, factor, b.ufunc(np.power, x, b.constant(exponent - 1, n.type.dtype)))
    return scaled(b, dy, slope, not exponent.real >= 1), None


@direct(np.absolute, np.fabs)
def _absolute(b, wanted, dy, y, x):
    return (b.ufunc(np.multiply, dy, b.ufunc(np.sign, x)),)


@direct(np.sign)
def _sign(b, wanted, dy, y, x):
    if x.type.dtype.kind != "c":
        return (None,)
    across = b.ufunc(np.multiply, conjugate(b, y), dy)
    along = b.ufunc(np.multiply, y, b.cast(across, y.type.dtype.type(0).real.dtype))
    nonzero = b.ufunc(np.not_equal, x, b.constant(0, x.type.dtype))
    size = b.where(nonzero, b.ufunc(np.absolute, x), b.constant(1, y.type.dtype.type(0).real.dtype))
    return (b.where(nonzero, b.ufunc(np.divide, b.ufunc(np.subtract, dy, along), size), b.constant(0, dy.type.dtype)),)


@direct(np.conjugate)
def _conjugate(b, wanted, dy, y, x):
    return (conjugate(b, dy),)


@direct(umath.clip)  # type: ignore[attr-defined]
def _clip(b, wanted, dy, y, x, low, high):
    kept = b.ufunc(np.equal, y, x)
    raised = b.ufunc(np.logical_and, b.ufunc(np.less, x, low), b.ufunc(np.equal, y, low))
    raised = b.ufunc(np.logical_and, b.ufunc(np.logical_not, kept), raised)
    lowered_ = b.ufunc(np.logical_not, b.ufunc(np.logical_or, kept, raised))
    zero = b.constant(0, dy.type.dtype)
    return [b.where(mask, dy, zero) if on else None for on, mask in zip(wanted, (kept, raised, lowered_))]


@direct(np.modf)
def _modf(b, wanted, dys, ys, x):
    return (dys[0],)


@direct(np.divmod)
def _divmod(b, wanted, dys, ys, p, q):
    dy = dys[1]
    return (None, None) if dy is None else (dy, b.ufunc(np.negative, b.ufunc(np.multiply, dy, ys[0])))


@direct(np.frexp)
def _frexp(b, wanted, dys, ys, x):
    return (None if dys[0] is None else b.ufunc(np.ldexp, dys[0], b.ufunc(np.negative, ys[1])),)
