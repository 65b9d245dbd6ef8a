"""What a program reads from outside: globals, closures, and the objects and containers that they hold.

An array that is found there becomes a hidden input, read again at every call from where it was found.  Everything else is a
constant, and a guard says what must still be found there for the compiled program to be the right one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import ENGINE, BadInput
from ..faults import kind_of
from .contents import CONTAINERS, NUMBERS, Absent, Contents, is_unchanged
from .instances import is_instance
from .traced import Array, Traced

_SETTLED = (
    type,
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    ModuleType,
    np.ufunc,
    np.dtype,
    str,
    bytes,
    type(None),
    type(...),
)


class Source:
    """A place outside: ``holder[key]``, the attribute of a class, or a cell's content."""

    def __init__(self, holder: Any, key: Any, found: Any) -> None:
        self.holder = holder
        self.key = key
        self.found = found

    def read(self) -> Any:
        """What is there now.

        Raises:
            LookupError, ValueError: nothing.
        """
        return self.holder.cell_contents if isinstance(self.holder, CellType) else self.holder[self.key]

    def holds(self) -> bool:
        """Whether what was found is still there: the same object, or an equal number."""
        try:
            return is_unchanged(self.read(), self.found)
        except (LookupError, ValueError):
            return False


class Code(Source):
    """What a function runs: its code, or its defaults, which may be replaced (a module that is loaded again in place does so)."""

    def __init__(self, function: FunctionType, name: str) -> None:
        super().__init__(function, None, getattr(function, name))
        self.name = name

    def read(self) -> Any:
        return getattr(self.holder, self.name)

    def holds(self) -> bool:
        return self.read() is self.found


_RULES = f"{ENGINE}rules."
"""Modules whose arrays never change: nodes and coefficients of the derivative rules, which are a part of the program."""


class Outside:
    """The guards and the hidden inputs of one program."""

    def __init__(self) -> None:
        self.guards: dict[tuple[Any, ...], Source | Contents | Absent] = {}
        self.inputs: dict[int, tuple[Source, Array]] = {}
        self.objects: dict[int, Any] = {}
        self.attributes: dict[type, Any] = {}
        self.static: dict[int, Any] = {}
        self.has_containers = False
        self.is_compared = False  # by ``is``, with an object of the program
        self.entered: dict[int, Any] = {}  # lists, dicts and objects that are being differentiated, by copies of them

    def read(self, trace: Any, holder: Any, key: Any, x: Any) -> Any:
        """What stands for ``x``, which was found at ``holder[key]`` outside; for a class, among its attributes."""
        if isinstance(holder, type):
            holder = self.attributes.setdefault(holder, holder.__dict__)
        if isinstance(x, Traced):
            return x
        if type(x) is np.ndarray and x.dtype.kind in "biufc":
            if isinstance(holder, dict) and str(holder.get("__name__", "")).startswith(_RULES):
                return trace.constant_array(x)
            if id(x) not in self.inputs:
                self.inputs[id(x)] = Source(holder, key, x), trace.hidden(x)
            return self.inputs[id(x)][1]
        place = id(holder), key if not isinstance(holder, CellType) else None
        if place not in self.guards:
            self.guards[place] = Source(holder, key, x)
        self.note_bound(x)
        if not isinstance(x, (*_SETTLED, *NUMBERS)):
            if id(x) in self.entered:
                raise BadInput(
                    f"a {kind_of(x)} is read from outside (a global, a closure) by a function that is differentiated with respect to it; "
                    "read it from the function's argument alone"
                )
            self.objects[id(x)] = x
            self.has_containers |= isinstance(x, CONTAINERS)
        return x

    def read_whole(self, x: Any, is_deep: bool = False) -> None:
        """A container is read other than at a known key; ``is_deep``: the containers in it are read, too."""
        if id(x) in self.objects and isinstance(x, CONTAINERS):
            place = "contents", id(x)
            known = self.guards.get(place)
            if known is None or is_deep and not known.is_deep:  # type: ignore[union-attr]
                self.guards[place] = Contents(x, is_deep)

    def run(self, function: FunctionType) -> None:
        """A function is traced: the program holds for its code and its defaults."""
        if ("code", id(function)) not in self.guards:
            self.guards["code", id(function)] = Code(function, "__code__")
            if function.__defaults__:
                self.guards["defaults", id(function)] = Code(function, "__defaults__")

    def miss(self, holder: Any, key: Any) -> None:
        """A dict, or the slots of an object, was found not to have a key."""
        self.guards.setdefault(("absent", id(holder), key), Absent(holder, key))

    def note_bound(self, method: Any) -> None:
        """Note the list, dict, set or deque of a method that was bound before the program began."""
        if isinstance(method, BuiltinFunctionType) and isinstance(method.__self__, (list, dict, set, deque)):
            self.objects[id(method.__self__)] = method.__self__
            self.has_containers = True

    def take_static(self, given: Iterable[Any]) -> None:
        """Note the static arguments: what they hold is read from outside, and cannot be changed."""
        for x in given:
            self.note_bound(x)
            if not isinstance(x, (*_SETTLED, *NUMBERS, tuple, frozenset, slice, range)):
                self.objects[id(x)] = self.static[id(x)] = x
                self.has_containers |= isinstance(x, CONTAINERS)

    def holders(self) -> dict[int, type]:
        """The lists, dicts and objects that were read, by identity; the guards keep them alive."""
        return {
            key: type(x)
            for key, x in self.objects.items()
            if key not in self.static and (isinstance(x, (list, dict)) or is_instance(x))
        }

    def is_outside(self, holder: Any) -> bool:
        return id(holder) in self.objects

    def refuse_change(self, holder: Any) -> None:
        """A change of an object from outside would be made while compiling, and not at every call."""
        if id(holder) in self.static:
            raise BadInput(
                f"compiled code changes a {type(holder).__name__} that is a static argument; the changes that it can make in arguments are "
                "those of arrays, lists, dicts and objects with attributes: pass one of these"
            )
        if id(holder) in self.objects:
            raise BadInput(
                f"compiled code changes a {kind_of(holder)} that is not one of the function's arguments; pass it as an "
                "argument (changes of arguments are visible after the call), or return what is new"
            )
