"""Arguments of a derivative: given a fresh identity on the way in, and their gradient collected on the way out.

A value is known by its identity, so an argument must not be the same object as a constant of the program: ``w`` may be
the argument and a global at once, and the two entries of ``[1.0, 1.0]`` are one object.  Numbers and arrays are
therefore replaced by equal ones for the time of the run, in place inside lists, dicts and objects, which stay the
caller's own; afterwards the caller's objects are put back, with whatever the run wrote into the arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .errors import BadInput
from .stores import setitem
from .tape import Cotangents, Int, Tape, attributes, owner
from .values import NUMBERS, PASSIVE, evaluate

Collect = Callable[[Cotangents, dict[int, Any]], Any]
OPAQUE = (type, FunctionType, BuiltinFunctionType, ModuleType, np.random.Generator, np.dtype, np.ufunc, type(np.sum))


class Arguments:
    """The differentiated arguments of one run."""

    references = 4  # to each array with a fresh identity: in inputs, in arrays, in originals, in its collector

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.inputs = tape.inputs = []
        self.collectors: list[Collect] = []
        self.entered: list[Any] = []  # containers and objects with entries that were replaced
        self.originals: dict[
            int, tuple[Any, Any]
        ] = {}  # the caller's object and the fresh one, by identity of the latter
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.known: dict[int, tuple[Any, Collect]] = {}

    def enter(self, x: Any) -> Any:
        """``x`` with a fresh identity, for the function to be called with."""
        self.known = {}
        fresh, collect = self.freshen(x)
        self.collectors.append(collect)
        return fresh

    def leave(self) -> None:
        """Put the caller's objects back; arrays that the run wrote to take over what was written."""
        seen: set[int] = set()
        for x in self.entered:
            self.restore(x, seen)
        owners = [id(owner(original)) for original, _ in self.arrays]
        for (original, fresh), key in zip(self.arrays, owners):
            if id(fresh) in self.tape.written:
                if owners.count(key) > 1:
                    raise BadInput(
                        "the function writes into an array that is given to it twice, or that shares memory with "
                        "another differentiated argument; give it separate copies"
                    )
                if self.tape.parent is None:
                    original[...] = fresh
                else:
                    setitem(self.tape.parent, original, ..., fresh)

    def restore(self, x: Any, seen: set[int]) -> Any:
        """The caller's own in place of ``x``, and in the containers and objects that it holds, wherever it is now."""
        found = self.originals.get(id(x))
        if found is not None:
            return found[0]
        kind = type(x)
        if kind is Int:
            return int(x) if self.tape.parent is None else x
        if kind in NUMBERS or kind in PASSIVE or isinstance(x, (*OPAQUE, np.ndarray)) or id(x) in seen:
            return x
        seen.add(id(x))
        if isinstance(x, tuple):
            entries = [self.restore(e, seen) for e in x]
            same = all(a is b for a, b in zip(entries, x))
            return x if same or not isinstance(x, tuple) else getattr(x, "_make", kind)(entries)
        for key, value in _entries(x):
            new = self.restore(value, seen)
            if new is not value:
                _put(x, key, new)
        return x

    def gradients(self, table: Cotangents) -> tuple[Any, ...]:
        return tuple(collect(table, {}) for collect in self.collectors)

    def freshen(self, x: Any) -> tuple[Any, Collect]:
        fresh, collect = self.freshened(x)
        if fresh is not x:
            self.originals[id(fresh)] = x, fresh
        return fresh, collect

    def freshened(self, x: Any) -> tuple[Any, Collect]:
        kind: Any = type(x)
        if kind is np.ndarray and x.dtype.kind in "fc":
            fresh: Any = x.copy(order="K") if self.tape.parent is None else self.tape.parent.call(np.copy, x)
            self.arrays.append((x, fresh))
            self.inputs.append(fresh)
            return fresh, lambda table, done: _array(table, fresh)
        if isinstance(x, (bool, np.bool_)) or x is None or isinstance(x, OPAQUE):
            return x, _nothing
        if isinstance(x, int) and kind in (int, Int):
            fresh = evaluate(self.tape.parent, Int, x)
            self.inputs.append(fresh)
            return fresh, lambda table, done: _number(table, fresh, x)
        if kind in PASSIVE:
            return x, _nothing
        if kind in (float, complex) or isinstance(x, np.inexact):
            fresh = evaluate(self.tape.parent, same_number, x)
            self.inputs.append(fresh)
            return fresh, lambda table, done: _number(table, fresh, x)
        if isinstance(x, np.ndarray):
            if x.dtype.kind not in "fc":
                return x, _nothing
            fresh = evaluate(self.tape.parent, copy.copy, x)  # of its own class
            self.arrays.append((x, fresh))
            self.inputs.append(fresh)
            return fresh, lambda table, done: _array(table, fresh)
        if id(x) in self.known:
            return self.known[id(x)]
        if isinstance(x, tuple):
            parts = [self.freshen(e) for e in x]
            elements = [p[0] for p in parts]
            fresh = getattr(x, "_make", tuple)(elements)
            return fresh, lambda table, done: _same_tuple(kind, [collect(table, done) for _, collect in parts])
        return self.freshen_mutable(x)

    def freshen_mutable(self, x: Any) -> tuple[Any, Collect]:
        """Lists, dicts and objects keep their identity; their entries are replaced one by one."""
        collectors: dict[Any, Collect] = {}
        kind = "list" if isinstance(x, list) else "dict" if isinstance(x, dict) else "object"
        entries = _entries(x)
        if kind == "object" and not entries and not hasattr(x, "__dict__"):
            return x, _nothing

        def collect(table: Cotangents, done: dict[int, Any]) -> Any:
            if id(x) in done:
                return done[id(x)]
            if kind == "list":
                done[id(x)] = found = []
                found.extend(c(table, done) for c in collectors.values())
            elif kind == "dict":
                done[id(x)] = found = {}
                found.update((k, c(table, done)) for k, c in collectors.items())
            else:
                done[id(x)] = found = blank(type(x))
                for name, c in collectors.items():
                    object.__setattr__(found, name, c(table, done))
            return found

        self.known[id(x)] = x, collect
        for key, value in entries:
            fresh, collectors[key] = self.freshen(value)
            if fresh is not value:
                _put(x, key, fresh)
        self.entered.append(x)
        return x, collect


def _entries(x: Any) -> list[tuple[Any, Any]]:
    """What a list, a dict or an object holds, with the keys; methods of a class of its own are not asked."""
    if isinstance(x, list):
        return list(enumerate(list.__iter__(x)))
    return list(dict.items(x)) if isinstance(x, dict) else attributes(x)


def _put(x: Any, key: Any, value: Any) -> None:
    if isinstance(x, list):
        list.__setitem__(x, key, value)
    elif isinstance(x, dict):
        dict.__setitem__(x, key, value)
    else:
        object.__setattr__(x, key, value)


def as_it_is(x: Any, done: dict[int, Any] | None = None) -> Any:
    """The structure of ``x`` as it is now: what holds the numbers and arrays may have changed on the way back."""
    kind = type(x)
    if kind in NUMBERS or kind in PASSIVE or isinstance(x, (np.ndarray, np.generic, float, complex, *OPAQUE)):
        return x
    done = {} if done is None else done
    if id(x) in done:
        return done[id(x)]
    if isinstance(x, tuple):
        return tuple([as_it_is(e, done) for e in x])
    held: Any = [] if isinstance(x, list) else {} if isinstance(x, dict) else SimpleNamespace()
    done[id(x)] = held
    if isinstance(x, list):
        held.extend(as_it_is(e, done) for e in x)
    elif isinstance(x, dict):
        held.update((k, as_it_is(e, done)) for k, e in x.items())
    else:
        vars(held).update((name, as_it_is(e, done)) for name, e in attributes(x))
    return held


def blank(cls: Any) -> Any:
    """An instance without attributes, its ``__init__`` not run."""
    made_in_python = cls.__flags__ & (1 << 9)
    return object.__new__(cls) if made_in_python and cls.__new__ is object.__new__ else cls.__new__(cls)


def same_number(x: Any) -> Any:
    """An equal number that is another object."""
    return x * type(x)(1)


def is_structure_of_numbers(x: Any) -> bool:
    """Whether ``x`` holds anything that a gradient can be taken of."""
    if type(x) is float:
        return True
    if isinstance(x, (bool, np.bool_, *OPAQUE)) or x is None:
        return False
    if isinstance(x, (int, float, complex, np.inexact)) and not isinstance(x, np.integer):
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    if isinstance(x, (list, tuple)):
        return any(map(is_structure_of_numbers, x)) or not x
    if isinstance(x, dict):
        return any(map(is_structure_of_numbers, x.values())) or not x
    return hasattr(x, "__dict__") or bool(attributes(x))


def plain(x: Any) -> Any:
    """``x`` without ``Int``, which a result may contain."""
    return int(x) if type(x) is Int else map_container(plain, x)


def map_container(function: Callable[[Any], Any], x: Any) -> Any:
    """``x`` with ``function`` applied to its entries if it is a tuple, list or dict; the same object if none changes."""
    if type(x) is dict:
        new = {k: function(e) for k, e in x.items()}
        return new if any(new[k] is not x[k] for k in x) else x
    if type(x) in (tuple, list):
        entries = [function(e) for e in x]
        return type(x)(entries) if any(a is not b for a, b in zip(entries, x)) else x
    return x


def _nothing(table: Cotangents, done: dict[int, Any]) -> None:
    return None


def _number(table: Cotangents, fresh: Any, x: Any) -> Any:
    g = table.take(fresh)
    if g is None:
        return type(x)(0)
    table.check(g)
    if table.evaluate is not None:
        return table.run(as_gradient, g, x) if type(x) in (float, complex) and type(g) is not type(x) else g
    return as_gradient(g, x)


def as_gradient(g: Any, x: Any) -> Any:
    """A cotangent as a number of the type of ``x``; that of an integer may be a float."""
    if isinstance(x, int):
        return int(g) if isinstance(g, (int, np.integer)) else float(g)
    return type(x)(g)


def _array(table: Cotangents, fresh: np.ndarray) -> np.ndarray:
    shared = id(fresh) not in table.exclusive
    g = table.take(fresh)
    if g is None:
        return np.zeros_like(fresh)
    table.check(g)
    if table.evaluate is None:
        # What is handed out is the caller's alone.
        return np.array(g, dtype=fresh.dtype).reshape(fresh.shape) if shared else g
    return g


def _same_tuple(kind: type, parts: list[Any]) -> Any:
    return kind._make(parts) if hasattr(kind, "_make") else tuple(parts)
