"""Python's built-in functions on numbers: they return Python numbers, and raise Python's errors at run time."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.vocabulary import largest, smallest
from ..rows import rows_of
from ..traced import Array, Trace, Traced, by_rule, traces
from .arguments import integer, is_array_like, refuse, refuse_given, scalar_of, value, weak
from .elementwise import imaginary_part, real_part
from .operators import combine

_F = np.dtype(np.float64)
_C = np.dtype(np.complex128)


_TOO_LARGE = (
    "a number is converted to an int that needs more than the 64 bits of an int in compiled code; keep it a float"
)


def real_number(trace: Trace, x: Any) -> Value:
    """Return x as a Python float, by its ``__float__`` if it is an object."""
    if not is_array_like(x):
        x = trace.call(float, x)
    v = scalar_of(trace.builder, trace.value(x))
    if v.type.dtype.kind == "c":
        if v.type.weak:
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        v = trace.value(trace.call(np.real, trace.wrap(v)))  # NumPy's numbers drop the imaginary part, with a warning
    return weak(trace.builder, v, _F)


@traces(float)
def _float(trace: Trace, x: Any = 0.0) -> Any:
    return trace.wrap(real_number(trace, x))


@traces(complex)
def _complex(trace: Trace, real: Any = 0.0, imag: Any = None) -> Any:
    builder = trace.builder
    re = scalar_of(builder, trace.value(real))
    if imag is None:
        return trace.wrap(weak(builder, re, _C))
    im = scalar_of(builder, trace.value(imag))
    a, b = real_part(trace, re), real_part(trace, im)
    if im.type.dtype.kind == "c":
        a = builder.ufunc(np.subtract, a, imaginary_part(trace, im))
    if re.type.dtype.kind == "c":
        b = builder.ufunc(np.add, b, imaginary_part(trace, re))
    return trace.wrap(builder.complex_of(weak(builder, a, _F), weak(builder, b, _F), weak=True))


@traces(int)
def _int(trace: Trace, x: Any = 0) -> Any:
    return trace.wrap(truncated(trace.builder, scalar_of(trace.builder, trace.value(x))))


def truncated(builder: Builder, x: Value) -> Value:
    """Truncate a number to a Python int."""
    if x.type.dtype.kind == "c":
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'complex'")
    if x.type.dtype.kind == "f":
        builder.raise_if(builder.ufunc(np.isnan, x), ValueError, "cannot convert float NaN to integer")
        infinite = builder.ufunc(np.isinf, x)
        builder.raise_if(infinite, OverflowError, "cannot convert float infinity to integer")
        large = builder.ufunc(np.greater_equal, x, builder.constant(2.0**63))
        small = builder.ufunc(np.less, x, builder.constant(-(2.0**63)))
        builder.end_if(builder.ufunc(np.logical_or, large, small), OverflowError, _TOO_LARGE)
    if x.type.dtype == np.uint64:
        too_large = builder.ufunc(np.greater, x, builder.constant(2**63 - 1, np.uint64))
        builder.end_if(too_large, OverflowError, _TOO_LARGE)
    return weak(builder, x, np.int64)


@traces(round)
def _round(trace: Trace, x: Any, ndigits: Any = None) -> Any:
    if isinstance(x, Array) and x.type.shape:
        return trace.call(np.round, x, ndigits or 0)
    builder, v = trace.builder, scalar_of(trace.builder, trace.value(x))
    if v.type.dtype.kind in "iub":
        if ndigits is not None and integer(trace, ndigits, "the number of digits of round") < 0:
            raise refuse("round of an int to negative digits", "use n // 10**k * 10**k")
        return trace.wrap(v if ndigits is not None else weak(builder, v, np.int64))
    if ndigits is None:
        return trace.wrap(truncated(builder, builder.ufunc(np.rint, v)))
    digits = integer(trace, ndigits, "the number of digits of round")
    if v.type.weak and digits < 0:
        raise refuse("round(float, digits) to negative digits, which rounds decimal digits exactly,", "use np.round")
    if v.type.weak and digits:  # Python rounds decimal digits exactly, as in the text of a number
        return trace.call(float, trace.call(format, trace.wrap(v), f".{digits}f"))
    return trace.call(np.round, x, ndigits) if not v.type.weak else trace.wrap(builder.ufunc(np.rint, v))


@traces(divmod)
def _divmod(trace: Trace, a: Any, b: Any) -> Any:
    return trace.call(operator.floordiv, a, b), trace.call(operator.mod, a, b)


@traces(pow)
def _pow(trace: Trace, base: Any, exp: Any, mod: Any = None) -> Any:
    refuse_given("pow", mod=mod)
    return trace.call(operator.pow, base, exp)


def items_of(trace: Trace, x: Any) -> list[Any]:
    """Return the items of an iterable that is unrolled while compiling."""
    return list(trace.iterate(x)) if isinstance(x, Traced) or rows_of(x) is not None else list(x)


def _least_or_greatest(of_numbers: Callable[..., Any], reduction: Callable[..., Any]) -> Callable[..., Any]:
    def apply(trace: Trace, *args: Any, key: Any = None, **default: Any) -> Any:
        only: Any = args[0] if len(args) == 1 else None
        if isinstance(only, Array) and key is None and only.type.ndim == 1:
            return trace.call(reduction, only)
        items = list(trace.iterate(only)) if len(args) == 1 else list(args)
        if not items:
            if "default" in default:
                return default["default"]
            raise ValueError("min() or max() of an empty sequence")
        for x in items[1:]:
            if isinstance(x, (Array, np.ndarray)) and x.ndim and x.size != 1:
                raise BadInput("min and max of arrays are ambiguous; use np.minimum or np.maximum")
        if len(items) == 1:
            return items[0]
        return trace.call(of_numbers, *items) if key is None else _chosen(trace, of_numbers, items, key)

    return apply


def _chosen(trace: Trace, of_numbers: Callable[..., Any], items: list[Any], key: Any = None) -> Any:
    """Return the smallest or largest item, the first of equals; if there is a ``key``, compare the keys."""
    builder, compare, chosen = trace.builder, _COMPARE[of_numbers], items[0]
    for x in items[1:]:
        keys = (x, chosen) if key is None else tuple(trace.call(key, y) for y in (x, chosen))
        known = None if any(map(_is_sequence, keys)) else combine(trace, compare, *map(trace.value, keys))
        if known is not None and known.is_constant:
            chosen = x if known.constant else chosen
        elif known is None or _is_sequence(x) or _is_sequence(chosen):
            raise BadInput(f"{UNORDERED}, cannot be compiled; {INSTEAD}")
        else:
            chosen = trace.wrap(choose(builder, known, trace.value(x), trace.value(chosen)))
    return chosen


UNORDERED = "min and max of lists or tuples, whose order is not known while compiling"
INSTEAD = "use np.argmin or np.argmax of an array of the numbers that are compared"


def _is_sequence(x: Any) -> bool:
    return isinstance(x, (list, tuple))


_COMPARE = {largest: np.greater, smallest: np.less}
for _function in _COMPARE:
    traces(_function)(lambda trace, *numbers, _function=_function: _chosen(trace, _function, [*numbers]))
by_rule(*_COMPARE)


def choose(builder: Builder, condition: Value, x: Value, y: Value) -> Value:
    """Return x where the condition holds, else y; as a minimum or maximum if the condition compares these two ints."""
    chosen = _extreme(builder, condition, x, y)
    return chosen if chosen is not None else builder.where(condition, x, y)


def _extreme(builder: Builder, condition: Value, x: Value, y: Value) -> Value | None:
    op = builder.integers.conditions.get(condition)
    if op is None or x.type != y.type or op.operands != [x, y]:
        return None
    if op.callee is np.less:
        return builder.ufunc(np.minimum, x, y)
    return builder.ufunc(np.maximum, x, y) if op.callee is np.greater else None


traces(min)(_least_or_greatest(smallest, np.min))
traces(max)(_least_or_greatest(largest, np.max))


@traces(sum)
def _sum(trace: Trace, iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(iterable, Array):
        total = trace.call(np.sum, iterable, axis=0)
        return total if isinstance(start, (int, float)) and not start else trace.call(operator.add, start, total)
    return functools.reduce(lambda a, b: trace.call(operator.add, a, b), items_of(trace, iterable), start)


def _truths(ufunc: np.ufunc, reduction: Callable[..., Any], neutral: bool) -> Callable[..., Any]:
    def apply(trace: Trace, iterable: Any) -> Any:
        if isinstance(iterable, Array) and iterable.type.ndim == 1:
            return trace.call(bool, trace.call(reduction, iterable))
        found = trace.builder.constant(neutral)
        for x in items_of(trace, iterable):
            holds = trace.value(trace.call(bool, x) if isinstance(x, Traced) else bool(x))
            found = trace.builder.ufunc(ufunc, found, holds)
        return trace.wrap(found)

    return apply


traces(all)(_truths(np.logical_and, np.all, True))
traces(any)(_truths(np.logical_or, np.any, False))


@traces(sorted)
def _sorted(trace: Trace, iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    items = items_of(trace, iterable)
    keys = items if key is None else [trace.call(key, x) for x in items]
    if not any(isinstance(x, Traced) for x in keys):
        return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))]
    refuse_given("sorted", key=key)
    values = [trace.value(x) for x in items]
    if any(v.type.shape or v.type != values[0].type for v in values):
        raise BadInput("sorted of values that are not numbers of one type cannot be compiled; use np.sort of an array")
    # Python's sort is stable in both directions.
    array = trace.call(np.sort, trace.wrap(value(trace, items[::-1] if reverse else items)))
    found = items_of(trace, array)
    if values and values[0].type.weak:
        found = [trace.wrap(weak(trace.builder, trace.value(x), values[0].type.dtype)) for x in found]
    return found[::-1] if reverse else found
