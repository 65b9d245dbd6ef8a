"""Functions of NumPy and Python that treat arrays of classes derived from ``ndarray`` in a way of their own.

``OWN[function](of, *args, **kwargs)`` is what a function does; ``of`` is the interpreter's ``ArraySubclasses``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..values.array_classes import array_in, is_inherited, is_subclass_array
from .traced import Traced

ELSEWHERE = object()
"""Says that a call is for another part of the interpreter."""


def _array(of: Any, x: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0, like: Any = None) -> Any:  # fmt: skip
    options: dict[str, Any] = {"ndmin": ndmin} if ndmin else {}
    if order not in (None, "K"):
        options["order"] = order
    if not subok or not is_subclass_array(x):
        if is_subclass_array(x) and not copy:
            return _as_plain(of, x, dtype, **options)
        return of.trace.call(np.array, of.plain(x), dtype, copy=copy, **options)
    array = array_in(x)
    found = of.trace.call(np.array, array, dtype, copy=copy, **options)
    return x if found is array else of.made(type(x), of.as_array(found), x)


def _as_plain(of: Any, x: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
    options.pop("like", None)
    found = of.trace.call(np.asarray, of.plain(x), dtype, *args, **options)
    same = is_subclass_array(x) and found is array_in(x)
    return of.trace.call(operator.getitem, found, ...) if same else found


def _as_any(of: Any, x: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
    if not is_subclass_array(x):
        return _as_plain(of, x, dtype, *args, **options)
    array = array_in(x)
    found = of.trace.call(np.asarray, array, dtype, *args, **options)
    return x if found is array else of.made(type(x), of.as_array(found), x)


def _getitem(of: Any, x: Any, index: Any) -> Any:
    if isinstance(x, Traced):
        return of.trace.call(operator.getitem, x, of.plain(index))
    if is_subclass_array(x) and is_inherited(type(x), "__getitem__"):
        return of.inherited(x, "__getitem__", (index,), {})
    return ELSEWHERE


def _setitem(of: Any, x: Any, index: Any, value: Any) -> Any:
    if isinstance(x, Traced):
        return of.trace.call(operator.setitem, x, of.plain(index), of.plain(value))
    if is_subclass_array(x) and is_inherited(type(x), "__setitem__"):
        return of.inherited(x, "__setitem__", (index, value), {})
    return ELSEWHERE


def _by_method(name: str) -> Callable[..., Any]:
    """Return what a function of Python does: it calls a method of the class."""

    def apply(of: Any, x: Any, *rest: Any) -> Any:
        if not is_subclass_array(x) or not is_inherited(type(x), name):
            return ELSEWHERE
        return of.inherited(x, name, rest, {})

    return apply


def _over_items(function: Any) -> Callable[..., Any]:
    """Return what a function of Python does with the items of an array."""

    def apply(of: Any, x: Any, *rest: Any, **options: Any) -> Any:
        if not is_subclass_array(x) or rest and function is not sum:
            return ELSEWHERE
        return of.trace.call(function, list(of.trace.iterate(x)), *rest, **options)

    return apply


OWN: dict[Any, Callable[..., Any]] = {
    np.array: _array,
    np.asarray: _as_plain,
    np.asanyarray: _as_any,
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    **{f: _over_items(f) for f in (sorted, max, min, sum, any, all, set, frozenset)},
    **{
        f: _by_method(f"__{f.__name__}__")
        for f in (len, float, int, complex, operator.index, operator.contains, divmod)
    },
}
