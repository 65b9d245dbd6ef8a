"""Makes instances of Python classes, built-in containers and iterators, and subclasses of numbers."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import defaultdict
from collections.abc import Callable
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from ...values.numbers import NUMBERS, PASSIVE, call_on, differentiable, is_exact
from ...values.reachable import is_foreign
from ..unrecorded.dying import Hook, is_mortal, let_go, watch_over
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import Recording, call_opaque, callback
from ..unrecorded.watched import call_unrecorded
from . import known
from .access import iterate, pairs, special
from .sizes import listed
from .stores import set_attribute, store_attribute
from .tape import Tape, pass_on

CONTAINERS = (list, dict, set, tuple, frozenset, str, bytes, GeneratorType, np.flatiter, BaseException)
ITERATING = {"itertools", "collections", "_collections"}


def maker(cls: type) -> Callable[..., Any]:
    """Return the function that makes an instance of ``cls``, with a shortcut for plain classes."""
    init = getattr(cls, "__init__", None)
    plain = type(cls).__call__ is type.__call__ and cls.__new__ is object.__new__ and type(init) is FunctionType
    plain = plain and not is_mortal(cls)
    if not plain or hasattr(cls, "__morula_construct__") or is_exact(cls):
        return lambda tape, /, *args, **kwargs: construct(tape, cls, args, kwargs)

    def make(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        x = object.__new__(cls)
        known.functions[init](tape, x, *args, **kwargs)
        return x

    return make


def construct(tape: Tape, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make an instance of a class, with ``__call__`` of its metaclass, ``__new__`` and ``__init__`` recorded."""
    meta_call = getattr(type(cls), "__call__", None)
    if isinstance(meta_call, FunctionType):
        return tape.call(meta_call, cls, *args, **kwargs)
    return make(tape, cls, args, kwargs)


def make(tape: Tape, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do ``type.__call__`` with ``__new__`` and ``__init__`` recorded."""
    recorded = getattr(cls, "__morula_construct__", None)
    if recorded is not None:
        return recorded(tape, *args, **kwargs)
    if is_exact(cls):
        return call_opaque(tape, cls, args, kwargs)
    new: Any = cls.__new__
    init: Any = cls.__init__
    if not isinstance(new, FunctionType) and not isinstance(init, FunctionType):
        if issubclass(cls, (float, complex, int)):
            return number_subclass(tape, cls, cls, args, kwargs)
        if is_foreign(cls) or issubclass(cls, (np.ndarray, np.generic)):
            return call_opaque(tape, cls, args, kwargs)
        return watch_over(tape, over_iterables(tape, cls, args, kwargs))
    if isinstance(new, FunctionType) and issubclass(cls, tuple) and new.__code__.co_filename.startswith("<"):
        x = new(cls, *args, **kwargs)  # a named tuple's constructor, without source, stores its arguments
    elif isinstance(new, FunctionType):
        x = tape.call(new, cls, *args, **kwargs)
    elif new is object.__new__:
        x = new(cls)
    else:
        x = number_subclass(tape, cls, functools.partial(new, cls), args, kwargs)
    if isinstance(x, cls):
        watch_over(tape, x)
        if isinstance(init, FunctionType):
            tape.call(type(x).__init__, x, *args, **kwargs)
        elif init is not object.__init__:
            type(x).__init__(x, *(_reading(cls)(tape, a) for a in args), **kwargs)
    return x


def number_subclass(tape: Tape, cls: type, make: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make an instance of a class derived from ``float`` or ``complex``; it gets the derivative of its value."""
    base = next((b for b in cls.__mro__ if b in NUMBERS and issubclass(b, (float, complex, np.inexact))), None)
    if base is None or not any(type(a) not in PASSIVE for a in (*args, *kwargs.values())):
        return call_on(tape.parent, make, *args, **kwargs)
    same = tape.call(base, *args, **kwargs)
    x = make(same) if tape.parent is None else number_subclass(tape.parent, cls, make, (same,), {})
    tape.records.append((pass_on, x, same))
    return x


def _reading(cls: type) -> Any:
    """Return the function by which a built-in container iterates over its source."""
    return listed if issubclass(cls, (list, tuple)) else iterate


ONE_ITERABLE = {itertools.islice, itertools.permutations, itertools.combinations, getattr(itertools, "batched", None)}
ONE_ITERABLE.add(itertools.combinations_with_replacement)


def _iterables(cls: type, function: Any) -> tuple[int, int]:
    """Return the range of positions of the arguments that a container's or iterator's class iterates."""
    if function is cls:
        first = 1 if issubclass(cls, defaultdict) else 0
    elif function.__name__ == "__new__":
        first = 1
    else:
        return 0, 1  # ``fromkeys`` and ``from_iterable``; the second argument, a value, is not iterated
    return first, first + (0 if cls is itertools.repeat else 1 if cls in ONE_ITERABLE or first else 64)


def over_iterables(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a built-in container or iterator from recorded iterables and functions that record."""
    cls = function if isinstance(function, type) else getattr(function, "__self__", None)
    if isinstance(cls, type) and (
        cls.__module__ in ITERATING or issubclass(cls, CONTAINERS) and not issubclass(cls, BaseException)
    ):
        read = pairs if issubclass(cls, dict) and function.__name__ != "fromkeys" else _reading(cls)
        first, end = _iterables(cls, function)
        args = tuple(read(tape, a) if first <= i < end else a for i, a in enumerate(args))
    if not isinstance(cls, type):
        return call_unrecorded(tape, function, *args, **kwargs)
    if issubclass(cls, weakref.ref):
        given = 1 if function is cls else 2  # do not wrap the referent, even if it is a function
        called = (
            Recording(tape, a) if special(type(a), "__call__") is not None else callback(tape, a) for a in args[given:]
        )
        return function(*args[:given], *called, **kwargs)
    if issubclass(cls, defaultdict) and args:
        made = function(callback(tape, args[0]), *args[1:], **kwargs)
        tape.lent.append(made)
        return made
    if cls.__module__ == "itertools" and cls is not itertools.repeat:
        args = tuple([callback(tape, a) for a in args])
        kwargs = {name: callback(tape, a) for name, a in kwargs.items()}
    return call_unrecorded(tape, function, *args, **kwargs)  # the other classes only store their arguments


def give_back(tape: Tape) -> None:
    """End the recording of callbacks at the end of a run, and restore the hooks and functions that were replaced."""
    for x in tape.lent:
        if isinstance(x, Recording):
            x.tape = tape.parent
        elif isinstance(x, Hook):
            let_go(tape, x)
        elif isinstance(x.default_factory, Recording):
            x.default_factory = x.default_factory.function
    tape.lent.clear()


def class_made(tape: Tape, cls: Any, *written: str) -> Any:
    """Return a new class; note numbers that hooks called from C have put into it, as results of an opaque call.

    ``written`` are the names that the body of the class assigns; these assignments are recorded.
    """
    if isinstance(cls, type) and _has_hooks(cls):
        found = [x for name, x in vars(cls).items() if name not in written and differentiable(x)]
        if found:
            note(tape, found, cls, tuple(tape.inputs or ()))
    return cls


def _has_hooks(cls: type) -> bool:
    """Whether a metaclass, a base or an attribute of a class runs a Python method when the class is made."""
    kind: Any = type(cls)
    metaclasses = [m for m in kind.__mro__ if m.__module__ not in ("builtins", "abc", "enum", "typing")]
    if any(name in vars(m) for m in metaclasses for name in ("__new__", "__init__", "__prepare__", "__call__")):
        return True
    if any(
        "__init_subclass__" in vars(base) for base in cls.__mro__[1:] if base.__module__ not in ("builtins", "typing")
    ):
        return True
    kinds = {type(x) for x in vars(cls).values()}
    return any(special(kind, "__set_name__") is not None for kind in kinds if kind.__module__ != "functools")


def initialise_dataclass(tape: Tape, init: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Run the ``__init__`` that ``@dataclass`` made: store the arguments, then call ``__post_init__``.

    The stores are recorded, because a descriptor or a ``__setattr__`` of the class may compute.
    """
    x: Any = args[0]
    passed: list[Any] = []
    # The generated code has no source: run it on a stand-in that collects what it would store.
    stand_in = type("stand_in", (), {"__post_init__": lambda self, *init_only: passed.extend(init_only)})
    blank: Any = stand_in()
    init.__get__(blank)(*args[1:], **kwargs)
    store = store_attribute if x.__dataclass_params__.frozen else set_attribute
    for name, value in blank.__dict__.items():
        store(tape, x, name, value)
    after = getattr(type(x), "__post_init__", None)
    if after is not None:
        tape.call(after, x, *passed)
