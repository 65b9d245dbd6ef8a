"""``sorted``, ``min`` and ``max`` of objects, and of numbers that are not known while compiling."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import Derived, is_known
from .arguments import has_traced
from .called_back import storing
from .instances import is_instance
from .items import are_alike
from .iterators import has_traced_length
from .itertools_in_python import ByComparison
from .lists_in_python import by_numbers, in_order, in_order_by, largest, smallest
from .rows import rows_of
from .traced import Array, Scalar, Traced


class _Compared:
    """A sort key of objects: their ``__lt__`` is interpreted, as often and in the order in which Python calls it."""

    def __init__(self, trace: Any, key: Any) -> None:
        self.trace = trace
        self.key = key

    def __lt__(self, other: _Compared) -> bool:
        test = self.trace.expressions.truth(self.trace.call(operator.lt, self.key, other.key))
        if isinstance(test, bool):
            return test
        raise BadInput(
            "the order of objects depends on numbers that are not known while compiling; sort an array of the numbers instead "
            "(np.sort, np.argsort)"
        )


def _cmp_to_key(trace: Any, mycmp: Any) -> Any:
    return functools.partial(ByComparison, mycmp)


_SORTED_BY_INSERTION = 16  # insertion sort compares every pair of items


def _sorted(trace: Any, iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    if isinstance(iterable, Array):
        return NotImplemented
    if has_traced_length(trace, iterable) and trace.allows("may_grow"):
        return trace.calls.interpret(in_order_by, (trace.call(list, iterable), key, reverse), {})
    if isinstance(iterable, dict):
        trace.refuse_unknown_entries(iterable, order=False)
    items = list(iterable if isinstance(iterable, dict) else trace.iterate(iterable))
    keys = items if key is None else [trace.call(key, x) for x in items]
    traced = next((k for k in keys if has_traced((k,))), None)
    if traced is None:
        has_objects = any(map(is_instance, keys))
        asked = [_Compared(trace, k) for k in keys] if has_objects else keys
        try:
            region = trace.run_region(lambda _: sorted(range(len(items)), key=asked.__getitem__, reverse=reverse))
        except BadInput:
            counts = any("__lt__" in storing(type(k)) for k in keys)  # insertion sort calls it more often
            if not has_objects or counts or len(items) > _SORTED_BY_INSERTION:
                raise
        else:
            trace.commit(region)
            return trace.new([items[i] for i in region.result])
    if key is None and all(isinstance(x, (Scalar, int, float)) and not is_known(x) for x in items):
        return NotImplemented
    if len(items) <= _SORTED_BY_INSERTION:
        return trace.calls.interpret(in_order, (trace.new(items), trace.new(list(keys)), reverse), {})
    if all(isinstance(k, (Scalar, int, float)) for k in keys) and are_alike(items):
        return trace.calls.interpret(by_numbers, (trace.new(items), trace.new(list(keys)), bool(reverse)), {})
    raise BadInput(
        "the order of objects depends on numbers that are not known while compiling; sort an array of the numbers instead "
        "(np.sort, np.argsort)"
    )


def _extreme(function: Any) -> Any:
    """``max`` or ``min`` of arguments other than arrays, lists and tuples, e.g. a generator."""

    def extreme(trace: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], (Traced, np.ndarray, list, tuple)):
            return trace.call(function, trace.call(list, args[0]), **kwargs)
        key, items = kwargs.get("key"), args if len(args) != 1 else args[0]
        if rows_of(items) is not None:
            return _of_growing(trace, function, items, key, kwargs)
        if not isinstance(items, (list, tuple)) or not items:
            return NotImplemented
        has_objects = any(type(x) is Derived or is_instance(x) for x in items if not isinstance(x, Traced))
        has_order = has_objects or any(isinstance(x, (list, tuple, str)) or x is None for x in items)
        if key is None and not has_order or not kwargs.keys() <= {"key", "default"}:
            return NotImplemented
        if key is None and not has_traced(items) and not has_objects:
            return NotImplemented
        return trace.calls.interpret(
            largest if function is max else smallest, (items, (lambda x: x) if key is None else key), {}
        )

    return extreme


def _of_growing(trace: Any, function: Any, items: Any, key: Any, options: dict[str, Any]) -> Any:
    """``max`` or ``min`` of a list of traced length."""
    definition = largest if function is max else smallest

    def found() -> Any:
        return trace.calls.interpret(definition, (items, (lambda x: x) if key is None else key), {})

    is_empty = trace.value(trace.call(operator.eq, trace.call(len, items), 0))
    if "default" in options:
        return trace.branch(is_empty, lambda: options["default"], found)
    trace.builder.raise_if(is_empty, ValueError, f"{function.__name__}() arg is an empty sequence")
    return found()


SORTING: dict[Any, Callable[..., Any]] = {
    sorted: _sorted,
    max: _extreme(max),
    min: _extreme(min),
    functools.cmp_to_key: _cmp_to_key,
}
"""As ``builtin_functions.SPECIAL``."""
