"""The numbers, arrays and objects that a value holds, at any depth."""

from __future__ import annotations

import builtins
import functools
import types
from collections import deque
from collections.abc import Iterator, MappingView
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import ENGINE
from .attributes import attributes
from .memory import exporter, owner
from .numbers import NUMBER_TYPES, PASSIVE, PROXIES, is_exact, referent
from .passing import per_class

# The modules of built-in classes that hold references to Python objects and compute nothing.
REFERENCING = {"types", "itertools", "collections", "_collections", "functools", "_functools", "operator"}
REFERENCING |= {"_operator", "_heapq", "_bisect", "_abc", "_thread", "threading", "weakref", "_io", "io", "typing"}
REFERENCING |= {"enum", "_weakrefset", "_frozen_importlib", "_frozen_importlib_external", "_typing"}


def reached(x: Any, found: set[int], seen: set[int] | None = None, values: list[Any] | None = None) -> None:
    """Add to ``found`` the identities of the numbers, arrays and objects that ``x`` holds, at any depth.

    ``values`` receives the numbers and arrays themselves, and the objects that hold their data in C.
    """
    seen = set() if seen is None else seen
    waiting = [x]
    while waiting:
        x = waiting.pop()
        kind = type(x)
        if kind in NUMBER_TYPES or issubclass(kind, np.ndarray) and x.dtype.kind != "O":
            found.add(id(x) if kind in NUMBER_TYPES else id(owner(x)))
            if values is not None:
                values.append(x)
            continue
        if kind in PASSIVE and kind is not FunctionType and kind is not bytes or id(x) in seen:
            continue
        seen.add(id(x))
        if kind in PROXIES:
            with suppress(ReferenceError):  # the referent no longer exists
                waiting.append(referent(x))
            continue
        if isinstance(x, (tuple, list, set, frozenset, deque)):
            waiting += reversed(list(x) if kind in CONTAINERS else [*_entries(x), *_held(x)])
        elif isinstance(x, dict):
            waiting += reversed([*dict.keys(x), *dict.values(x)])
            if kind is not dict:
                waiting += _held(x)
        elif isinstance(x, np.ndarray):
            waiting += reversed(x.ravel().tolist())
        elif (kind.__module__ or "").startswith(ENGINE) and not is_foreign(kind):
            if hasattr(kind, "__morula_call__"):
                waiting.append(getattr(x, "function", None))
        elif not isinstance(x, (type, ModuleType)):
            found.add(id(x))
            if values is not None and is_foreign(kind):
                values.append(x)
            waiting += reversed(_held(x))


CONTAINERS = {tuple, list, set, frozenset, deque}


def _entries(x: Any) -> Any:
    """Return the entries of an object of a container's subclass, bypassing the subclass's methods."""
    return next(base for base in CONTAINERS if isinstance(x, base)).__iter__(x)


def contents(x: Any) -> list[Any]:
    """Return the entries of a container; an empty list for other objects."""
    if isinstance(x, dict):
        return [*dict.keys(x), *dict.values(x)]
    return [*_entries(x)] if isinstance(x, tuple(CONTAINERS)) else []


def _held(x: Any) -> list[Any]:
    """Return the objects that ``x`` refers to, apart from its entries as a container."""
    if isinstance(x, FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or () if _is_filled(c)]
        return [*cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, BuiltinFunctionType):
        return [x.__self__]
    if isinstance(x, np.flatiter):
        return [x.base]
    if isinstance(x, memoryview):
        return [exporter(x)]
    if isinstance(x, types.GeneratorType):
        return [] if x.gi_frame is None else list(x.gi_frame.f_locals.values())
    return [value for _, value in attributes(x)]


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@per_class
def is_foreign(kind: type) -> bool:
    """Return whether instances hold values in C that are not those of built-in containers and numbers."""
    if issubclass(kind, (np.ndarray, np.number, np.bool_, np.dtype, np.ufunc, np.flatiter)):
        return False
    if is_exact(kind):
        return True
    for cls in kind.__mro__:
        if any(_is_compiled_method(cls, v) for v in vars(cls).values()):
            return not _is_builtin(cls) and cls.__module__ not in REFERENCING
    return False


def _is_compiled_method(cls: type, v: Any) -> bool:
    if isinstance(v, (types.WrapperDescriptorType, types.MethodDescriptorType)):
        return v.__objclass__ is cls
    return type(v).__name__ == "cython_function_or_method" and v.__qualname__.startswith(f"{cls.__qualname__}.")


def _is_builtin(cls: type) -> bool:
    """Return whether a class is Python's own; extension classes without a module also report "builtins"."""
    if cls.__module__ != "builtins":
        return False
    own = vars(builtins).get(cls.__name__) is cls or cls in vars(types).values()
    return own or issubclass(cls, (Iterator, MappingView))
