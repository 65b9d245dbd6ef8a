"""Caches what runs learn about functions and classes.

How a call or an attribute is recorded depends on rules, handlers and class dictionaries.  These rarely change, and
looking them up each time would cost more than the operations themselves.

Later runs reuse the entries about classes of modules if all these classes are unchanged (``versions``), and the entry
about a function if the function is unchanged.  Entries about classes and functions that may be garbage-collected are
dropped at the end of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from ...rules.connected import connected
from ...values.attributes import MISSING
from ...values.numbers import NUMBERS, PASSIVE
from ...values.passing import is_class_of_module, is_of_module
from ...values.versions import HEAP_TYPE, Versions

HASHABLE = {FunctionType, BuiltinFunctionType, type, np.ufunc, type(np.sum)}
"""Classes of callables that compare by identity, and so are safe as keys of ``functions``."""

SEQUENCES = {list, tuple, dict}
"""Classes whose items are loaded without running Python code."""

CHANGED = {list, dict}
"""Classes whose items are stored without running Python code."""

ITERABLES = {list, tuple, range, dict, str}
"""Classes over whose instances a loop runs without Python code and without a record."""

CONTAINERS = {list, tuple, dict, set, str, deque}
"""Classes whose methods only move references."""

COMPARED = PASSIVE | NUMBERS - {np.ndarray}
"""Classes whose instances are compared, and tested for truth, without Python code.  ``observed`` empties it for a while."""

MOST_LASTING = 4096


class Functions(dict[Any, Callable[..., Any]]):
    """Maps a function to its recorded form, which takes the tape before the arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.lasting: dict[FunctionType, Any] = {}  # entries of earlier runs, checked again in each run
        self.passing: list[Any] = []  # functions to be dropped at the end of the run

    def __missing__(self, function: Any) -> Callable[..., Any]:
        entry = self.lasting.get(function) if type(function) is FunctionType else None
        if entry is not None:
            code, defaults, named, is_current, found = entry
            same = function.__code__ is code and function.__defaults__ is defaults and function.__kwdefaults__ is named
            if same and is_current():
                self.passing.append(function)  # what ``enter`` does, without another frame
                self[function] = found
                self.passing.append(function)
                return found
        found = connected.how(function)
        kind = type(function)
        if kind is FunctionType:
            self.enter(function, found)
        elif isinstance(function, type):
            _enter(self, function, found, kind is type and _lasts(function))
        elif type(getattr(function, "__self__", None)) in (ModuleType, NoneType):  # not bound to a mere object
            self[function] = found
        return found

    def enter(self, function: Any, found: Callable[..., Any]) -> None:
        """Use ``found`` as the recorded form of ``function`` until the end of the run."""
        self.passing.append(function)  # before, because an interrupt may come at any point
        self[function] = found
        self.passing.append(function)  # again after, because another thread's run may have ended in between

    def settle(self, function: FunctionType, found: Callable[..., Any], is_current: Callable[[], bool]) -> None:
        """Use ``found`` as the recorded form of ``function``, also in later runs while ``is_current()`` holds."""
        self.enter(function, found)
        if function.__closure__ is None and "<locals>" not in function.__qualname__ and is_of_module(function):
            if len(self.lasting) > MOST_LASTING:
                self.lasting.clear()
            code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__
            self.lasting[function] = code, defaults, named, is_current, found

    def forget(self) -> None:
        """Drop the entries that do not outlast a run."""
        passing, self.passing = self.passing, []
        for function in passing:
            self.pop(function, None)


functions = Functions()
_by_name: dict[tuple[str, str], Any] = {}
_filled: dict[int, Any] = {}  # by identity: the sets and dicts to be cleared when a class has been changed
_passing: list[tuple[Any, type]] = []  # entries to be dropped at the end of a run: (the set or dict, the class)
_versions = Versions()  # versions of the classes whose entries outlast a run
MOST_CLASSES = 256
"""The most classes whose entries outlast a run: checking their versions at the start takes some microseconds."""

slotted: set[type] = set()
"""Classes whose instances have no ``__dict__``, so no instance attribute can hide a method."""


def classes(kind: str, name: str) -> set[Any]:
    """Return the set of classes for which rewritten code may access the attribute ``name`` directly.

    No Python code runs when the attribute is loaded from an instance (kind ``load``), stored in an instance
    (``store``), or loaded from the class itself (``own``).
    """
    found = _by_name.get((kind, name))
    return _by_name.setdefault((kind, name), set()) if found is None else found


class Methods(dict[type, Any]):
    """Maps a class to its Python method of one name; an attribute of an instance may still hide it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, cls: type) -> Any:
        return getattr(cls, self.name)  # another thread's run has ended, and dropped the entry after the test for it


def methods(name: str) -> Methods:
    """Return the cached methods of that name, by class."""
    found = _by_name.get(("method", name))
    return _by_name.setdefault(("method", name), Methods(name)) if found is None else found


def getters(name: str) -> dict[type, Any]:
    """Return the functions of plain properties of one name, by class."""
    found = _by_name.get(("getter", name))
    return _by_name.setdefault(("getter", name), {}) if found is None else found


def enter_getter(name: str, cls: type, function: Any) -> None:
    """Cache the function of a property of a class."""
    _enter(getters(name), cls, function, _lasts(cls))


def is_plain(kind: str, cls: type, name: str, raw: Any = MISSING) -> None:
    """Add a class to one of the sets of ``classes``; ``raw`` is its attribute of that name, not bound."""
    found = classes(kind, name)
    if cls not in found:
        _enter(found, cls, True, _lasts(cls) and not type(raw).__flags__ & HEAP_TYPE)


def enter(name: str, cls: type, method: Any) -> None:
    """Cache a method of a class."""
    lasts = _lasts(cls)
    _enter(methods(name), cls, method, lasts)
    if not cls.__dictoffset__:
        _enter(slotted, cls, True, lasts)


def enter_answers(cls: type, found: bool) -> None:
    """Cache the result of ``watched.answers`` for a class."""
    _enter(answering, cls, found, _lasts(cls))


def _lasts(cls: type) -> bool:
    """Whether entries about a class may serve later runs."""
    return not cls.__flags__ & HEAP_TYPE or cls in _versions.classes or is_class_of_module(cls)


def _enter(into: Any, cls: type, found: Any, lasts: bool) -> None:
    """Enter a class into a set or a dict, permanently or for this run."""
    _note(into, cls, lasts)  # before, because an interrupt may come at any point
    if isinstance(into, dict):
        into[cls] = found
    else:
        into.add(cls)
    _note(into, cls, lasts)  # again after, because another thread may have dropped it in between


def _note(into: Any, cls: type, lasts: bool) -> None:
    _filled[id(into)] = into
    if not lasts or cls.__flags__ & HEAP_TYPE and not _versions.enter(cls):
        _passing.append((into, cls))


answering: dict[type, bool] = {}
"""Whether C code that compares, hashes, prints or iterates an instance may run Python code, by class."""

hashing: dict[type, Callable[[Any], Any]] = {}
"""The function that finds the hash of an instance without running code of its class, by class; see ``keys``."""


def forget_classes() -> None:
    """Drop all entries about classes, because a class has been changed: it may have a new property or method."""
    _versions.clear()
    hashing.clear()
    for key, found in _filled.copy().items():
        found.clear()  # before, because an interrupt may come at any point
        _filled.pop(key, None)
        found.clear()  # again after, because another thread may have entered a class in between


def forget() -> None:
    """Drop the entries of a run at its end, so that the objects made in it can be freed."""
    functions.forget()
    hashing.clear()
    while _passing:
        try:
            found, cls = _passing.pop()
        except IndexError:  # another thread was faster
            break
        found.pop(cls, None) if isinstance(found, dict) else found.discard(cls)


runs: set[Any] = set()
"""The running runs of all threads.  Entries about functions are made only during a run, whose end drops them."""


def begin() -> None:
    """Start a run or a backward sweep: drop the entries that may have become outdated since the last one."""
    forget()
    if len(_versions) > MOST_CLASSES or not _versions.hold():
        forget_classes()


def forget_all() -> None:
    """Drop everything, because a function was given a custom derivative."""
    functions.lasting.clear()
    functions.clear()
    forget()
    forget_classes()
