"""What runs have found out about the functions and classes that they meet.

How a call or an attribute is recorded depends on rules, handlers and class dictionaries.  Nothing of these
changes for most of a program, and asking anew each time would cost more than the operations themselves.

A run takes over what earlier ones have found about classes of modules if all of these are as they were (``versions``), and
about a function if that is as it was.  What belongs to a class or a function that may go is forgotten at the end of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from ...rules.connected import connected
from ...values.attributes import MISSING
from ...values.passing import is_class_of_module, is_of_module
from ...values.versions import HEAP_TYPE, Versions

HASHABLE = {FunctionType, BuiltinFunctionType, type, np.ufunc, type(np.sum)}
"""Classes of callable objects that are equal only to themselves."""

SEQUENCES = {list, tuple, dict}
"""Classes whose items are loaded without running code written in Python."""

CHANGED = {list, dict}
"""Classes in which an item is stored so."""

CONTAINERS = {list, tuple, dict, set, str, deque}
"""Classes whose methods only move references."""

MOST_LASTING = 4096


class Functions(dict[Any, Callable[..., Any]]):
    """function -> what is called in its place, with the tape before its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.lasting: dict[FunctionType, Any] = {}  # what earlier runs have found, to be looked over in each
        self.passing: list[Any] = []  # what is to be forgotten at the end of the run

    def __missing__(self, function: Any) -> Callable[..., Any]:
        entry = self.lasting.get(function) if type(function) is FunctionType else None
        if entry is not None:
            code, defaults, named, is_current, found = entry
            same = function.__code__ is code and function.__defaults__ is defaults and function.__kwdefaults__ is named
            if same and is_current():
                self.enter(function, found)
                return found
        found = connected.how(function)
        kind = type(function)
        if kind is FunctionType:
            self.enter(function, found)
        elif isinstance(function, type):
            _enter(self, function, found, kind is type and _lasts(function))
        elif type(getattr(function, "__self__", None)) in (ModuleType, NoneType):  # no method of an object that may go
            self[function] = found
        return found

    def enter(self, function: Any, found: Callable[..., Any]) -> None:
        """Call ``found`` in place of ``function`` until the end of the run."""
        self.passing.append(function)  # before, since an interrupt may come at any point
        self[function] = found
        self.passing.append(function)  # after, since the run of another thread may have ended in between

    def settle(self, function: FunctionType, found: Callable[..., Any], is_current: Callable[[], bool]) -> None:
        """From now on ``found`` is called in place of ``function``, in later runs too as long as it ``is_current``."""
        self.enter(function, found)
        if function.__closure__ is None and "<locals>" not in function.__qualname__ and is_of_module(function):
            if len(self.lasting) > MOST_LASTING:
                self.lasting.clear()
            code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__
            self.lasting[function] = code, defaults, named, is_current, found

    def forget(self) -> None:
        """Forget what is not known for good."""
        passing, self.passing = self.passing, []
        for function in passing:
            self.pop(function, None)


functions = Functions()
_by_name: dict[tuple[str, str], Any] = {}
_filled: dict[int, Any] = {}  # what is to be cleared when a class has been changed, by identity
_passing: list[
    tuple[Any, type]
] = []  # what is to be forgotten at the end of a run: of which class, and where it stands
_versions = Versions()  # of the classes of which something lasts
MOST_CLASSES = 256
"""Of which something lasts: looking them over at the start of a run takes some microseconds."""

slotted: set[type] = set()
"""Classes whose instances have no dict, which could hide a method."""


def classes(kind: str, name: str) -> set[Any]:
    """A set that rewritten code asks before it does a thing as Python does.

    ``load``: classes of which an attribute is loaded without running code written in Python; ``store``: in which one is
    stored so; ``own``: classes whose own attribute is loaded so.
    """
    found = _by_name.get((kind, name))
    return _by_name.setdefault((kind, name), set()) if found is None else found


class Methods(dict[type, Any]):
    """class -> its method of one name, a function written in Python, which an attribute of the instance may hide."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, cls: type) -> Any:
        return getattr(cls, self.name)  # the run of another thread has ended since it was found here


def methods(name: str) -> Methods:
    """The methods of that name."""
    found = _by_name.get(("method", name))
    return _by_name.setdefault(("method", name), Methods(name)) if found is None else found


def is_plain(kind: str, cls: type, name: str, raw: Any = MISSING) -> None:
    """Enter a class into one of the sets; ``raw`` is what it has under the name."""
    found = classes(kind, name)
    if cls not in found:
        _enter(found, cls, True, _lasts(cls) and not type(raw).__flags__ & HEAP_TYPE)


def enter(name: str, cls: type, method: Any) -> None:
    """Enter a method of a class into one of the dicts."""
    lasts = _lasts(cls)
    _enter(methods(name), cls, method, lasts)
    if not cls.__dictoffset__:
        _enter(slotted, cls, True, lasts)


def enter_answers(cls: type, found: bool) -> None:
    """Enter a class into ``answering``."""
    _enter(answering, cls, found, _lasts(cls))


def _lasts(cls: type) -> bool:
    """Whether what is found about a class may serve later runs."""
    return not cls.__flags__ & HEAP_TYPE or cls in _versions.classes or is_class_of_module(cls)


def _enter(into: Any, cls: type, found: Any, lasts: bool) -> None:
    """Enter a class into a set or a dict, for good or for this run."""
    _note(into, cls, lasts)  # before, since an interrupt may come at any point
    if isinstance(into, dict):
        into[cls] = found
    else:
        into.add(cls)
    _note(into, cls, lasts)  # after, since another thread may have forgotten in between


def _note(into: Any, cls: type, lasts: bool) -> None:
    _filled[id(into)] = into
    if not lasts or cls.__flags__ & HEAP_TYPE and not _versions.enter(cls):
        _passing.append((into, cls))


answering: dict[type, bool] = {}
"""Classes, and whether C code that compares, hashes, shows or iterates an instance may run code written in Python."""

hashing: dict[type, Callable[[Any], Any]] = {}
"""Classes, and how the hash of an instance is found without running code of the class; see ``keys``."""


def forget_classes() -> None:
    """When a class has been changed: it may have a property or a method now."""
    _versions.clear()
    hashing.clear()
    for key, found in _filled.copy().items():
        found.clear()  # before, since an interrupt may come at any point
        _filled.pop(key, None)
        found.clear()  # after, since another thread may have entered a class in between


def forget() -> None:
    """At the end of a run: what was made in it can go."""
    functions.forget()
    hashing.clear()
    while _passing:
        found, cls = _passing.pop()
        found.pop(cls, None) if isinstance(found, dict) else found.discard(cls)


runs: set[Any] = set()
"""The runs of all threads that have begun and not ended.  Outside of a run nothing may be entered about a function: nobody forgets it."""


def begin() -> None:
    """At the start of a run, or of a backward sweep: what may have been changed since the last one is found out anew."""
    forget()
    if len(_versions) > MOST_CLASSES or not _versions.hold():
        forget_classes()


def forget_all() -> None:
    """When a function is given a derivative of its own."""
    functions.lasting.clear()
    functions.clear()
    forget()
    forget_classes()
