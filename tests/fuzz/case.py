"""Loading of a random program from its text, and construction of its arguments.

The text is a module with these names:

``program``
    the function to differentiate, which returns a real number;
``LEAVES``
    name -> a number or array to differentiate with respect to;
``arguments``
    a function that returns the arguments of ``program`` for given leaves: containers and objects that hold them,
    perhaps in several places.  It only stores its parameters, and does not compute with them;

and, where they differ from the defaults, ``ORDER`` (2: check second derivatives too), ``THREADS`` (the number of
threads that differentiate the same arguments at once), ``TIES`` (equal leaves move together, so that ties stay ties),
``DUALS`` (the program takes derivatives inside, which the reference computes with dual numbers).
"""

from __future__ import annotations

import itertools
import linecache
import sys
from collections import OrderedDict
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_serial = itertools.count()


class Module:
    """A program's text, compiled once.  ``fresh`` executes it again, so that no state is kept between runs."""

    def __init__(self, text: str, stand_ins: dict[str, Any] | None = None) -> None:
        self.text, self.stand_ins = text, stand_ins or {}
        name = f"<random program {next(_serial)}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        _loaded[name] = None
        while len(_loaded) > 200:
            linecache.cache.pop(_loaded.popitem(last=False)[0], None)
        self.code: CodeType = compile(text, name, "exec")
        self.first = self.fresh()
        self.leaves: dict[str, Any] = self.first["LEAVES"]

    def fresh(self) -> dict[str, Any]:
        """Execute the module and return its names, some imports replaced by the stand-ins."""
        sys.modules.setdefault("random_program", ModuleType("random_program"))  # dataclasses look the module up
        scope: dict[str, Any] = {"__name__": "random_program"}
        exec(self.code, scope)
        scope.update(self.stand_ins)
        return scope

    def setting(self, name: str, default: Any) -> Any:
        return self.first.get(name, default)

    def call(self, leaves: dict[str, Any]) -> Any:
        """The value at these leaves."""
        scope = self.fresh()
        return scope["program"](*scope["arguments"](**leaves))


_loaded: OrderedDict[str, None] = OrderedDict()
"""The most recent texts, which ``linecache`` keeps for tracebacks."""


def moved(leaves: dict[str, Any], along: dict[str, Any], t: float) -> dict[str, Any]:
    """``leaves + t along`` in double precision, in new arrays with the memory layout of the leaves."""
    result = {}
    for name, x in leaves.items():
        d = along.get(name)
        if isinstance(x, np.ndarray):
            wide = x.astype(np.result_type(x, float), order="K", copy=True)
            result[name] = wide if d is None else np.add(wide, t * d, out=wide)
        else:
            result[name] = x if d is None else x + t * d
    return result


def copied(leaves: dict[str, Any]) -> dict[str, Any]:
    return {name: x.copy(order="K") if isinstance(x, np.ndarray) else x for name, x in leaves.items()}


def world(scope: dict[str, Any]) -> dict[str, Any]:
    """The global arrays, numbers and containers of a module, which a run may change."""
    kinds = (np.ndarray, float, list, dict)
    return {
        name: x for name, x in scope.items() if isinstance(x, kinds) and name != "LEAVES" and not name.startswith("__")
    }


def totals(args: Callable[..., tuple[Any, ...]], leaves: dict[str, Any], gradient: tuple[Any, ...]) -> dict[str, Any]:
    """The total derivative with respect to each leaf, from the gradients at all places of the leaf in the arguments.

    A mutable leaf (an array, a container) that occurs in several places of one argument is one variable there: each
    place holds its whole cotangent.  Numbers in several places, and places in several arguments, are separate
    variables, whose cotangents are summed.
    """
    tokens = {name: _Token(name) for name in leaves}
    found: dict[str, Any] = {}
    for argument, slope in zip(args(**tokens), gradient, strict=True):
        seen: dict[int, Any] = {}

        def walk(x: Any, g: Any, seen: dict[int, Any] = seen) -> None:
            if isinstance(x, _Token):
                is_array = isinstance(leaves[x.name], np.ndarray)
                if is_array and id(x) in seen:
                    same = np.array_equal(seen[id(x)], g, equal_nan=True)
                    assert same, f"two places of the shared array {x.name} hold {seen[id(x)]!r} and {g!r}"
                    return
                seen[id(x)] = g
                shape, expected = np.shape(g), np.shape(leaves[x.name])
                assert g is not None and shape == expected, f"the gradient by {x.name} is {g!r}"
                if is_array:
                    assert g.dtype == leaves[x.name].dtype, f"the gradient by {x.name} is {g.dtype}"
                found[x.name] = g if x.name not in found else found[x.name] + g
                return
            if isinstance(x, (list, tuple, dict)) or _attributes(x):
                if id(x) in seen:
                    return
                seen[id(x)] = None
            if isinstance(x, (list, tuple)):
                assert len(x) == len(g), f"the gradient of {x!r} is {g!r}"
                for one, other in zip(x, g):
                    walk(one, other)
            elif isinstance(x, dict):
                assert g.keys() >= x.keys(), f"the gradient of {x!r} is {g!r}"
                for key in x:
                    walk(x[key], g[key])
            else:
                for key, one in _attributes(x).items():
                    walk(one, _attributes(g)[key])

        walk(argument, slope)
    return found


class _Token:
    """A placeholder for a leaf in the arguments, to find its places."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _attributes(x: Any) -> dict[str, Any]:
    found = dict(getattr(x, "__dict__", {})) if not isinstance(x, type) and not callable(x) else {}
    for kind in type(x).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            full = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if hasattr(x, full) and not isinstance(x, (_Token, np.ndarray)):
                found[full] = getattr(x, full)
    return found
