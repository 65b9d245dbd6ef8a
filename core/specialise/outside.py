"""Reads from outside of the program: globals, closures, and the objects and containers in them.

An array found there becomes a hidden input, which every call reads again from its place.  Everything else is a
compile-time constant, with a guard that checks at each call that it is still there.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import ENGINE, BadInput
from ..faults import kind_of
from ..source.definitions import is_of_library
from ..values.array_classes import ARRAY, array_in, is_subclass_array, is_traced_array
from ..values.attributes import has_dict
from ..values.holders import blank
from ..values.items import item_of
from .arguments import type_of_argument
from .contents import CONTAINERS, NUMBERS, Absent, Contents, is_equal_in_form, is_unchanged
from .instances import Slots, held_by_instance, hold, is_instance
from .keys import fixed
from .locks import Locks
from .outside_variables import Variables
from .state import content, put
from .traced import Traced

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


VARYING = (int, float, complex)
"""The numbers that are inputs of a program that changes them."""


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
        return self.holder.cell_contents if isinstance(self.holder, CellType) else item_of(self.holder, self.key)

    def holds(self) -> bool:
        """Whether the place still holds the same object, or an equal number."""
        try:
            return is_unchanged(self.read(), self.found)
        except (LookupError, ValueError):
            return False


class ArrayOfClass(Source):
    """A place that holds an array of a class derived from ``ndarray``; its plain array is the input."""

    def __init__(self, holder: Any, key: Any, found: Any) -> None:
        super().__init__(holder, key, array_in(found))

    def read(self) -> Any:
        found = super().read()
        if not is_subclass_array(found):
            raise LookupError(self.key)
        return array_in(found)


class Varying(BaseException):
    """The program must be traced again, with numbers that it changes outside as inputs: their places."""

    def __init__(self, places: frozenset[Any]) -> None:
        super().__init__()
        self.places = places


class Alike(Source):
    """The guard of a second place of an array: it holds the same array as the first, whichever that is."""

    def __init__(self, holder: Any, key: Any, first: Source) -> None:
        super().__init__(holder, key, first)
        self.first = first

    def holds(self) -> bool:
        try:
            return self.read() is self.first.read()
        except (LookupError, ValueError):
            return False


class EqualInForm(Source):
    """The guard of an object that each run of the program replaces: another one may be there that holds the same."""

    def holds(self) -> bool:
        try:
            return is_equal_in_form(self.read(), self.found, set())
        except (LookupError, ValueError):
            return False


class Present(Source):
    """The guard of a key or attribute that the program only overwrites: it is there, with any value."""

    def holds(self) -> bool:
        try:
            self.read()
        except (LookupError, ValueError):
            return False
        return True


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
        self.inputs: dict[Any, tuple[Source, Traced]] = {}  # by an array's id, or a number's place
        self.objects: dict[int, Any] = {}
        self.attributes: dict[type, Any] = {}
        self.static: dict[int, Any] = {}
        self.has_containers = False
        self.compared: set[int] = set()  # the ids of objects that are compared by ``is`` with those of the program
        self.entered: dict[int, Any] = {}  # outside holders being differentiated through copies
        self.variables = Variables()
        self.arrays_of_classes: dict[int, tuple[Any, Any]] = {}  # with the program's objects for them
        self.own: dict[int, Any] = {}  # the arrays of classes, by the program's objects
        self.locks = Locks()
        self.varying: set[Any] = set()  # the places of numbers that the program changes
        self.replaced: list[tuple[Any, ...]] = []  # the changed places of outside holders
        self.kept: set[tuple[int, Any]] = set()  # the changed places whose old values are part of the new ones
        self.changed: dict[int, tuple[Any, Any, Any]] = {}
        """Outside holders that the program changes, with their contents before, as found and as the program's values."""

    def read(self, trace: Any, holder: Any, key: Any, x: Any) -> Any:
        """Guard ``x``, found outside at ``holder[key]`` or as a class's attribute; return the program's value."""
        if trace.varying and type(x) in VARYING and (of := _identity(holder, key)) in trace.varying:
            if not self.is_found(holder, key, x):
                return x
            if of not in self.inputs:
                place = vars(holder) if isinstance(holder, type) else holder
                self.inputs[of] = Source(place, key, x), trace.hidden_number(x)
            return self.inputs[of][1]
        if isinstance(holder, type):
            holder = self.attributes.setdefault(holder, holder.__dict__)
        if isinstance(x, Traced) or not self.is_found(holder, key, x):
            return x
        if type(x) is np.ndarray and x.dtype.kind in "biufc":
            if isinstance(holder, dict) and str(dict.get(holder, "__name__", "")).startswith(_RULES):
                return trace.constant_array(x)
            if id(x) not in self.inputs:
                self.inputs[id(x)] = Source(holder, key, x), trace.hidden(x)
            source, array = self.inputs[id(x)]
            if source.holder is not holder or source.key != key:
                self.guards.setdefault(_place(holder, key), Alike(holder, key, source))
            return array
        key = fixed(trace, key)
        place = _place(holder, key)
        if place not in self.guards:
            self.guards[place] = Source(holder, key, x)
        if is_subclass_array(x) and not is_traced_array(x):
            return self.array_of_class(trace, holder, key, x)
        self.note_bound(x)
        if not isinstance(x, (*_SETTLED, *NUMBERS)):
            if id(x) in self.entered:
                raise BadInput(
                    f"a {kind_of(x)} is an argument of a differentiated function, which also reads it from outside (a global or closure "
                    "variable); read it from the argument only"
                )
            self.note(x)
        return x

    def array_of_class(self, trace: Any, holder: Any, key: Any, x: Any) -> Any:
        """Return the program's object for an array of a class derived from ``ndarray``."""
        if id(x) not in self.arrays_of_classes:
            source = ArrayOfClass(holder, key, x)
            if type_of_argument(source.found) is None:
                return x
            made = blank(type(x))
            self.arrays_of_classes[id(x)] = x, made
            self.own[id(made)] = x
            self.inputs[id(x)] = source, trace.hidden(source.found)
            held = vars(x) if has_dict(x) else {}
            self.note(held)
            self.read_whole(held)
            hold(made, {ARRAY: self.inputs[id(x)][1], **{k: self.read(trace, held, k, e) for k, e in held.items()}})
            trace.note_made(made, None)
            trace.tied[id(made)] = (
                made,
                f"compiled code changes an attribute of a {kind_of(x)} from outside; pass it as an argument",
            )
        return self.arrays_of_classes[id(x)][1]

    def note(self, x: Any) -> None:
        """Note a container or an object of outside."""
        self.objects[id(x)] = x
        self.has_containers |= isinstance(x, CONTAINERS)

    def read_whole(self, x: Any, is_deep: bool = False) -> None:
        """Guard a container that is read other than at a known key; ``is_deep``: also the containers in it."""
        if id(x) in self.objects and isinstance(x, CONTAINERS):
            place = "contents", id(x)
            known = self.guards.get(place)
            if known is None or is_deep and not known.is_deep:  # type: ignore[union-attr]
                self.guards[place] = Contents(x, is_deep, found=self.before(x))

    def run(self, function: FunctionType) -> None:
        """Guard the code and defaults of a function that is traced."""
        if ("code", id(function)) not in self.guards:
            self.guards["code", id(function)] = Code(function, "__code__")
            if function.__defaults__:
                self.guards["defaults", id(function)] = Code(function, "__defaults__")

    def find(self, trace: Any, holder: Any, key: Any) -> None:
        """Guard that a dict, or an object, has a key, whatever it holds there."""
        before = self.before(holder)
        if before is None or key in before:
            key = fixed(trace, key)
            self.guards.setdefault(("present", id(holder), key), Present(holder, key, None))

    def miss(self, trace: Any, holder: Any, key: Any) -> None:
        """Guard that a dict, or an object's slots, does not have a key."""
        before = self.before(holder)
        if before is None or key not in before:
            key = fixed(trace, key)
            self.guards.setdefault(("absent", id(holder), key), Absent(holder, key))

    def before(self, holder: Any) -> Any:
        """Return the content, before the program, of an outside holder that it changes; else None."""
        return self.changed.get(id(holder.x if isinstance(holder, Slots) else holder), (None, None, None))[1]

    def is_found(self, holder: Any, key: Any, x: Any) -> bool:
        """Whether ``holder[key]`` is what the program has found there, not what it has put there."""
        before = self.before(holder)
        if before is None:
            return True
        if isinstance(before, list):
            return type(key) is int and -len(before) <= key < len(before) and before[key] is x
        return isinstance(before, dict) and key in before and before[key] is x

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
                self.static[id(x)] = x
                self.note(x)

    def holders(self) -> dict[int, type]:
        """Return the types of the lists, dicts and objects that were read, by id; the guards keep them alive."""
        return {
            key: type(x)
            for key, x in self.objects.items()
            if key not in self.static and (isinstance(x, (list, dict)) or is_instance(x))
        }

    def is_outside(self, holder: Any) -> bool:
        return id(holder) in self.objects

    def change(self, trace: Any, holder: Any) -> None:
        """Prepare the change of an outside holder.

        Its content changes while the program is traced, is restored at the end of that (``restore``), and changes again
        when the program has run.  What a position in a list means depends on the whole list, which is guarded; a dict
        and an object are guarded at the places that change (``changes``).
        """
        if id(holder) not in self.objects:
            return
        if trace.recursions:
            self.refuse_change(holder)
        if id(holder) in self.changed:
            return
        _refuse_before_other_threads(holder)
        held = held_by_instance(holder) if is_instance(holder) and not isinstance(holder, (list, dict)) else holder
        if id(holder) in self.static or type(holder) is not list and not isinstance(held, dict):
            self.refuse_change(holder)
        if type(holder) is list:
            self.read_whole(holder)
        before = content(holder)
        place = holder if held is holder or held is getattr(holder, "__dict__", None) else Slots(holder)
        place = held if isinstance(held, dict) and not isinstance(place, Slots) else place
        now = dict(enumerate(before)) if isinstance(before, list) else dict(before)
        for key, x in now.items():
            if type(x) is np.ndarray:
                now[key] = self.read(trace, place, key, x)
            elif isinstance(x, CONTAINERS) or is_instance(x):
                self.objects[id(x)] = x
        for key, x in now.items() if isinstance(before, dict) and trace.varying else ():
            now[key] = self.read(trace, place, key, x) if _identity(place, key) in trace.varying else x
        inside = [*now.values()] if isinstance(before, list) else now
        self.changed[id(holder)] = self.changed[id(held)] = holder, before, inside
        trace.given_objects[id(holder)] = holder
        put(holder, inside)

    def keep(self, holder: Any, key: Any) -> None:
        """Note that a value which replaces the one at ``holder[key]`` is made of it, or may be it."""
        self.kept.add((id(holder), key))

    def changes(self, trace: Any) -> list[tuple[Any, Any, Any]]:
        """Return the changed holders with their contents before and after; guard what the changes replace."""
        found = []
        for holder, before, inside in {id(x): (x, *held) for x, *held in self.changed.values()}.values():
            after = content(holder)
            if isinstance(before, dict):
                slots = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
                for key, x in before.items():
                    place = slots if isinstance(holder, dict) or key in slots else Slots(holder)
                    if key not in after or after[key] is not inside[key]:
                        self.replaced.append(_place(place, fixed(trace, key)))
                        if key in after and (id(holder), key) not in self.kept and type(x) not in VARYING:
                            self.find(trace, place, key)
                        else:
                            self.read(trace, place, key, x)
                        if key in after and type(x) in VARYING:
                            self.varying.add(_identity(place, key))
            found.append((holder, inside, after))
        for variable, _ in self.variables.changed():
            if type(variable.found) in VARYING:
                self.varying.add((id(variable.holder), None if isinstance(variable.holder, CellType) else variable.key))
        if trace.varying is not None and not self.varying <= trace.varying:
            raise Varying(frozenset(self.varying | trace.varying))
        return found

    def loosen(self, kept: set[int]) -> None:
        """Let objects that each run replaces be compared by what they hold; ``kept`` are those in the program's results.

        The program may depend on such an object's identity only if it compares, changes or returns it.
        """
        for place in self.replaced:
            guard = self.guards.get(place)
            if type(guard) is Source and is_instance(guard.found):
                if id(guard.found) not in (kept | self.compared | self.changed.keys()):
                    self.guards[place] = EqualInForm(guard.holder, guard.key, guard.found)

    def restore(self) -> None:
        """Give the outside holders that were changed while tracing their contents back."""
        for holder, before, _ in self.changed.values():
            put(holder, before)
        self.changed = {}

    def refuse_change(self, holder: Any) -> None:
        """Refuse to change an outside object."""
        if id(holder) in self.static:
            raise BadInput(
                f"compiled code changes a {type(holder).__name__} argument that is a compile-time constant; of the arguments, only arrays, "
                "lists, dicts and objects with attributes can be changed: pass one of these"
            )
        if id(holder) in self.objects:
            raise BadInput(
                f"compiled code changes a {kind_of(holder)} that is not one of the function's arguments; pass it as an "
                "argument (changes of arguments are visible after the call), or return the new value"
            )


def _refuse_before_other_threads(holder: Any) -> None:
    """Refuse a change of an outside holder, made while tracing, that a thread of the user's program could see."""
    frames = sys._current_frames()
    del frames[threading.get_ident()]
    for frame in frames.values():
        while frame is not None and is_of_library(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            raise BadInput(
                f"compiled code changes a {kind_of(holder)} from outside, which another thread (in {frame.f_code.co_qualname}) could "
                "read while the program is compiled; call the function once before the thread starts, or pass the "
                f"{kind_of(holder)} as an argument"
            )


def _identity(holder: Any, key: Any) -> tuple[int, Any]:
    return id(holder.x if isinstance(holder, Slots) else holder), key


def _place(holder: Any, key: Any) -> tuple[Any, ...]:
    return id(holder), key if not isinstance(holder, CellType) else None
