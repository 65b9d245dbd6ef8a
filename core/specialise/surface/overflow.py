"""Run-time overflow checks: Python ints are exact, those of compiled code have 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import BOOL
from ..traced import Trace

LEAST = -(1 << 63)


def fits(x: int) -> bool:
    return LEAST <= x < -LEAST


def _of_two(function: np.ufunc) -> Callable[..., Value]:
    return lambda builder, a, b: builder.call(typed.overflows, [a, b], [BOOL], function=function)[0]


def _power(builder: Builder, a: Value, b: Value) -> Value:
    is_square = b.is_constant and b.constant == 2
    return _of_two(np.multiply)(builder, a, a) if is_square else _of_two(np.power)(builder, a, b)


def _is_least(builder: Builder, a: Value) -> Value:
    return builder.ufunc(np.equal, a, builder.constant(LEAST))


def _quotient(builder: Builder, a: Value, b: Value) -> Value:
    by_minus_one = builder.ufunc(np.equal, b, builder.constant(-1))
    return builder.ufunc(np.logical_and, _is_least(builder, a), by_minus_one)


def _shifted(builder: Builder, a: Value, b: Value) -> Value:
    """Whether a left shift loses bits: shifting back does not restore the operand."""
    back = builder.ufunc(np.right_shift, builder.ufunc(np.left_shift, a, b), b)
    return builder.ufunc(np.not_equal, back, a)


_CONDITIONS: dict[np.ufunc, Callable[..., Value]] = {
    np.add: _of_two(np.add),
    np.subtract: _of_two(np.subtract),
    np.multiply: _of_two(np.multiply),
    np.power: _power,
    np.floor_divide: _quotient,
    np.left_shift: _shifted,
    np.negative: _is_least,
    np.absolute: _is_least,
}


def refuse_overflow(trace: Trace, ufunc: np.ufunc, operands: Sequence[Value]) -> None:
    """Raise at run time if the result of Python ints is beyond int64."""
    overflows = _CONDITIONS.get(ufunc) if trace.overflow_check else None
    if overflows is None or any(v.type.dtype.kind != "i" for v in operands):
        return
    condition = overflows(trace.builder, *operands)
    trace.builder.end_if(condition, OverflowError, too_large(trace))


def too_large(trace: Trace) -> str:
    """Return the message for an int that is beyond int64."""
    return (
        "an int of compiled code has 64 bits, and this one needs more: compute with floats, with np.int64 (which wraps "
        f"around), or let ints wrap around by jit(f, overflow_check=False)\n  {trace.where()}"
    )
