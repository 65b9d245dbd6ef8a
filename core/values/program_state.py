"""The state reachable by code: containers, objects, variables and iterators that values and functions refer to."""

from __future__ import annotations

import functools
import gc
import sys
from collections import deque
from collections.abc import Iterator
from types import CellType, CodeType, CoroutineType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import ENGINE
from .attributes import attributes
from .numbers import NUMBER_TYPES, PASSIVE

MOST_REACHED = 10_000
"""The most objects visited; a larger graph is traversed only in part."""

EMPTY = object()
"""Stands for the contents of an unassigned variable."""

LIBRARIES = {"numpy", "scipy", *sys.stdlib_module_names} - {"__main__"}
"""Packages whose globals are not part of the program's state."""

CONTAINERS = {list, dict, set, frozenset, deque, CellType}


LEAVES = (PASSIVE | NUMBER_TYPES | {np.ndarray, CodeType}) - {FunctionType, type}


class Reach:
    """A snapshot of everything reachable from some values."""

    def __init__(self, *roots: Any) -> None:
        self.held: list[tuple[Any, Any]] = []  # containers, objects, variables, each with its entries
        self.values: list[Any] = []  # numbers and arrays
        self.iterators: list[Any] = []
        self.is_whole = True  # whether the traversal was complete
        self.seen: set[int] = set()  # ids of visited objects, without numbers and arrays
        seen = self.seen
        waiting: list[Any] = [*roots]
        while waiting:
            x = waiting.pop()
            kind = type(x)
            if kind in NUMBER_TYPES or isinstance(x, np.ndarray):
                self.values.append(x)
                if isinstance(x, np.ndarray) and x.dtype.kind == "O":
                    waiting += x.ravel().tolist()
                continue
            if kind in LEAVES or id(x) in seen:
                continue
            seen.add(id(x))
            if len(seen) > MOST_REACHED:
                self.is_whole = False
                return
            if kind is tuple:
                waiting += x
            elif isinstance(x, FunctionType):
                waiting += [*(x.__closure__ or ()), x.__defaults__, x.__kwdefaults__]
                self.visit_globals(x.__code__, x.__globals__, waiting)
            elif isinstance(x, MethodType):
                waiting += [x.__self__, x.__func__]
            elif isinstance(x, functools.partial):
                waiting += [x.func, x.args, x.keywords]
            elif isinstance(x, type):
                if not self.is_elsewhere(x.__module__):
                    waiting += [*x.__bases__, *vars(x).values()]
            elif isinstance(x, (staticmethod, classmethod)):
                waiting.append(x.__func__)
            elif isinstance(x, property):
                waiting += [x.fget, x.fset]
            elif isinstance(x, (np.generic, ModuleType)) or is_of_engine(kind.__module__):
                continue
            elif isinstance(x, GeneratorType):
                self.iterators.append(x)
                if x.gi_frame is not None:
                    waiting += [*x.gi_frame.f_locals.values(), x.gi_yieldfrom]
                    self.visit_globals(x.gi_code, x.gi_frame.f_globals, waiting)
            elif isinstance(x, CoroutineType):
                if x.cr_frame is not None:
                    waiting += [*x.cr_frame.f_locals.values(), x.cr_await]
                    self.visit_globals(x.cr_code, x.cr_frame.f_globals, waiting)
            elif isinstance(x, Iterator) or kind.__module__ == "itertools":
                self.iterators.append(x)
                waiting += referents(x)
            else:
                entries = entries_of(x)
                self.held.append((x, entries))
                waiting += entries.values() if isinstance(entries, dict) else entries
                if kind not in CONTAINERS:
                    waiting.append(kind)

    @staticmethod
    def is_elsewhere(module: str | None) -> bool:
        """Return whether a module belongs to a library or the engine, not to the program."""
        return is_of_engine(module) or (module or "").partition(".")[0] in LIBRARIES

    def visit_globals(self, code: CodeType, scope: dict[str, Any], waiting: list[Any]) -> None:
        """Visit the globals that code names, in its own module and in the modules that it names."""
        if self.is_elsewhere(scope.get("__name__")):
            return
        names = _names(code)
        named = [scope[name] for name in names if name in scope]
        scopes = [vars(x) for x in named if isinstance(x, ModuleType) and not self.is_elsewhere(x.__name__)]
        for found in (scope, *scopes):
            variables = Variables(found, [name for name in names if name in found])
            self.held.append((variables, entries_of(variables)))
            waiting += (found[name] for name in variables.names)


class Variables:
    """Some of the global variables of a module."""

    def __init__(self, scope: dict[str, Any], names: list[str]) -> None:
        self.scope, self.names = scope, names


def referents(iterator: Any) -> list[Any]:
    """Return the objects that a C iterator refers to, except its class; a tuple is replaced by its referents.

    The tuple of ``zip_longest`` holds NULL for an exhausted iterator: reading its entries would crash, asking for its
    referents does not.
    """
    found: list[Any] = []
    for part in gc.get_referents(iterator):
        if type(part) is tuple:
            found += gc.get_referents(part)
        elif part is not type(iterator):  # itertools' iterators refer to their class since Python 3.12
            found.append(part)
    return found


def is_of_engine(module: str | None) -> bool:
    return module is not None and module.startswith(ENGINE)


def _names(code: CodeType) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names}.union(*inner)


def entries_of(x: Any) -> Any:
    """Return the entries of a container, the attributes of an object, or the contents of a variable."""
    if isinstance(x, (list, deque)):
        return list(x)
    if isinstance(x, dict):
        return dict(dict.items(x))
    if isinstance(x, (set, frozenset)):
        return list(x)
    if isinstance(x, CellType):
        try:
            return [x.cell_contents]
        except ValueError:
            return [EMPTY]
    if type(x) is Variables:
        return {name: x.scope[name] for name in x.names if name in x.scope}
    return dict(attributes(x))
