"""What a run has found out about the functions and classes that it meets; forgotten when the next one starts.

How a call or an attribute is recorded depends on rules, handlers and class dictionaries.  Nothing of these
changes for most of a program, and asking anew each time would cost more than the operations themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from .passing import is_of_module

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
        self.lasting: dict[Any, Any] = {}  # what earlier runs have found, to be looked over in each

    def __missing__(self, function: Any) -> Callable[..., Any]:
        entry = self.lasting.get(function)
        if entry is not None:
            if type(function) is not FunctionType:
                self[function] = entry
                return entry
            code, defaults, named, is_current, found = entry
            same = function.__code__ is code and function.__defaults__ is defaults and function.__kwdefaults__ is named
            if same and is_current():
                self[function] = found
                return found
        found = self.how(function)
        if type(getattr(function, "__self__", None)) in (ModuleType, NoneType):  # no method of an object that may go
            self[function] = found
            if type(function) in (BuiltinFunctionType, np.ufunc):
                self.lasting[function] = found
        return found

    def settle(self, function: FunctionType, found: Callable[..., Any], is_current: Callable[[], bool]) -> None:
        """From now on ``found`` is called in place of ``function``, in later runs too as long as it ``is_current``."""
        self[function] = found
        if function.__closure__ is None and "<locals>" not in function.__qualname__ and is_of_module(function):
            if len(self.lasting) > MOST_LASTING:
                self.lasting.clear()
            code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__
            self.lasting[function] = code, defaults, named, is_current, found

    @staticmethod
    def how(function: Any) -> Callable[..., Any]:
        """The general way; the module ``call`` says which."""
        raise NotImplementedError


functions = Functions()
_by_name: dict[tuple[str, str], Any] = {}
_filled: dict[int, Any] = {}  # what is to be cleared, by identity

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


def is_plain(kind: str, cls: type, name: str) -> None:
    """Enter a class into one of the sets."""
    found = classes(kind, name)
    _filled[id(found)] = found  # before, since an interrupt may come at any point
    found.add(cls)
    _filled[id(found)] = found  # after, since another thread may have forgotten in between


def enter(name: str, cls: type, method: Any) -> None:
    """Enter a method of a class into one of the dicts."""
    found = methods(name)
    _filled[id(found)] = found
    found[cls] = method
    _filled[id(found)] = found
    if not cls.__dictoffset__:
        _filled[id(slotted)] = slotted
        slotted.add(cls)
        _filled[id(slotted)] = slotted


answering: dict[type, bool] = {}
"""Classes, and whether C code that compares, hashes, shows or iterates an instance may run code written in Python."""

hashing: dict[type, Callable[[Any], Any]] = {}
"""Classes, and how the hash of an instance is found without running code of the class; see ``keys``."""

MISSING = object()


def class_attribute(mro: tuple[type, ...], name: str) -> Any:
    """The attribute of the first class that has it, no descriptor asked."""
    for cls in mro:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return MISSING


def forget_classes() -> None:
    """When a class has been changed: it may have a property or a method now."""
    answering.clear()
    hashing.clear()
    for key, found in [*_filled.items()]:
        found.clear()  # before, since an interrupt may come at any point
        _filled.pop(key, None)
        found.clear()  # after, since another thread may have entered a class in between


def forget() -> None:
    """At the start and the end of a run: what was made in it can go, the rest may be changed before the next."""
    functions.clear()
    forget_classes()


def forget_all() -> None:
    """When a function is given a derivative of its own."""
    functions.lasting.clear()
    forget()
