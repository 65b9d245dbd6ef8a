"""What a program reads from outside: globals, closures, and the objects and containers in them.

An array found there becomes a hidden input, which every call reads again from its place.  Everything else is a
compile-time constant, with a guard that checks at each call that it is still there.
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
    """A place outside: ``holder[key]``, a class's attribute, or a cell's content."""

    def __init__(self, holder: Any, key: Any, found: Any) -> None:
        self.holder = holder
        self.key = key
        self.found = found

    def read(self) -> Any:
        """Return the present content.

        Raises:
            LookupError, ValueError: there is none.
        """
        return self.holder.cell_contents if isinstance(self.holder, CellType) else self.holder[self.key]

    def holds(self) -> bool:
        """Whether the place still holds the same object, or an equal number."""
        try:
            return is_unchanged(self.read(), self.found)
        except (LookupError, ValueError):
            return False


class Code(Source):
    """The guard of a function's code or defaults, which may be replaced (e.g. by reloading a module in place)."""

    def __init__(self, function: FunctionType, name: str) -> None:
        super().__init__(function, None, getattr(function, name))
        self.name = name

    def read(self) -> Any:
        return getattr(self.holder, self.name)

    def holds(self) -> bool:
        return self.read() is self.found


_RULES = f"{ENGINE}rules."
"""Modules whose arrays are constants: nodes and coefficients of the derivative rules."""


class Outside:
    """The guards and hidden inputs of one program."""

    def __init__(self) -> None:
        self.guards: dict[tuple[Any, ...], Source | Contents | Absent] = {}
        self.inputs: dict[int, tuple[Source, Array]] = {}
        self.objects: dict[int, Any] = {}
        self.attributes: dict[type, Any] = {}
        self.static: dict[int, Any] = {}
        self.has_containers = False
        self.is_compared = False  # by ``is``, with an object of the program
        self.entered: dict[int, Any] = {}  # outside holders being differentiated through copies

    def read(self, trace: Any, holder: Any, key: Any, x: Any) -> Any:
        """Guard ``x``, found outside at ``holder[key]`` or as a class's attribute; return the program's value."""
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
        """Guard a container that is read other than at a known key; ``is_deep``: also the containers in it."""
        if id(x) in self.objects and isinstance(x, CONTAINERS):
            place = "contents", id(x)
            known = self.guards.get(place)
            if known is None or is_deep and not known.is_deep:  # type: ignore[union-attr]
                self.guards[place] = Contents(x, is_deep)

    def run(self, function: FunctionType) -> None:
        """Guard the code and defaults of a function that is traced."""
        if ("code", id(function)) not in self.guards:
            self.guards["code", id(function)] = Code(function, "__code__")
            if function.__defaults__:
                self.guards["defaults", id(function)] = Code(function, "__defaults__")

    def miss(self, holder: Any, key: Any) -> None:
        """Guard that a dict, or an object's slots, does not have a key."""
        self.guards.setdefault(("absent", id(holder), key), Absent(holder, key))

    def note_bound(self, method: Any) -> None:
        """Note the container of a method that was bound before the program began."""
        if isinstance(method, BuiltinFunctionType) and isinstance(method.__self__, (list, dict, set, deque)):
            self.objects[id(method.__self__)] = method.__self__
            self.has_containers = True

    def take_static(self, given: Iterable[Any]) -> None:
        """Note the static arguments: their contents are read from outside and cannot be changed."""
        for x in given:
            self.note_bound(x)
            if not isinstance(x, (*_SETTLED, *NUMBERS, tuple, frozenset, slice, range)):
                self.objects[id(x)] = self.static[id(x)] = x
                self.has_containers |= isinstance(x, CONTAINERS)

    def holders(self) -> dict[int, type]:
        """Return the types of the lists, dicts and objects that were read, by id; the guards keep them alive."""
        return {
            key: type(x)
            for key, x in self.objects.items()
            if key not in self.static and (isinstance(x, (list, dict)) or is_instance(x))
        }

    def is_outside(self, holder: Any) -> bool:
        return id(holder) in self.objects

    def refuse_change(self, holder: Any) -> None:
        """Refuse to change an outside object: the change would happen once, while compiling, not at every call."""
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
