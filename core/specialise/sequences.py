"""Sequences that a loop can index instead of being unrolled: ranges, also with traced bounds, and arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..values.array_classes import array_in, is_traced_array
from .range_in_python import Range
from .traced import Array, Scalar, Trace, length


class Sequence:
    """``length`` items, maybe a traced number; ``item(i)`` returns the i-th for a traced or known i."""

    def __init__(self, length: Any, item: Callable[[Any], Any], bounds: tuple[Any, Any, Any] | None = None) -> None:
        self.length = length
        self.item = item
        self.bounds = bounds  # start, stop and step if the items are a range of integers


def traced_range(trace: Any, *arguments: Any) -> Any:
    """``range`` with a traced bound."""
    if not all(_is_integer(x) for x in arguments):
        raise TypeError("'float' object cannot be interpreted as an integer")
    start, stop, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    step = trace.concrete(step, "the step of a range") if isinstance(step, Scalar) else step
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return trace.new(Range(start, stop, step))


def _of_range(trace: Trace, x: Range | range) -> Sequence:
    """Return the integers of a range; their computation cannot overflow."""
    call = trace.unchecked
    start, stop = x.start, x.stop
    step = trace.concrete(x.step, "the step of a range") if isinstance(x.step, Scalar) else x.step

    def item(i: Any) -> Any:
        return call(operator.add, start, call(operator.mul, i, step))

    if isinstance(x, range):
        return Sequence(len(x), item, (start, stop, step))
    if step == 1:
        n = stop if isinstance(start, int) and start == 0 else call(operator.sub, stop, start)
    else:
        span = call(operator.sub, stop, start) if step > 0 else call(operator.sub, start, stop)
        n = call(operator.floordiv, call(operator.add, span, abs(step) - 1), abs(step))
    return Sequence(call(max, n, 0), item, (start, stop, step))


def _is_integer(x: Any) -> bool:
    return x.type.dtype.kind in "iu" and not x.type.shape if isinstance(x, (Scalar, Array)) else hasattr(x, "__index__")


def sequence_of(trace: Trace, x: Any) -> Sequence | None:
    """Return x as a sequence that can be indexed, if all its items have one form; else None."""
    if isinstance(x, (range, Range)):
        return _of_range(trace, x)
    array = array_in(x) if is_traced_array(x) else x
    if isinstance(array, Array) and array.type.ndim:
        return Sequence(length(array.type.shape[0]), lambda i: trace.call(operator.getitem, x, i))
    return None
