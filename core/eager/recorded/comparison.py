"""Comparisons by methods written in Python, where C code would call them unrecorded.

Sorting, ``min`` and ``max`` get stand-ins that compare on the tape.  Tuples, lists and deques are compared and searched
entry by entry.  Heaps and bisections run from the standard library's own Python source.
"""

from __future__ import annotations

import ast
import bisect
import functools
import heapq
import inspect
import operator
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ...source.definitions import parse
from ...values.special_methods import answer, special
from ..arrays.subclasses import OPERATOR_UFUNCS, overrides
from ..unrecorded.opaque_calls import Recording
from ..unrecorded.unasking import PLAIN, REFLECTED, compares_alone
from ..unrecorded.watched import HOLDING, call_unrecorded, calls_back, hashed, watched
from .tape import Tape

OPERATORS = {method: getattr(operator, method.strip("_")) for method in REFLECTED}


def compare(tape: Tape, method: str, a: Any, b: Any) -> Any:
    """Compare ``a`` and ``b`` by the special method ``method``; a method written in Python is recorded."""
    ka, kb = type(a), type(b)
    if ka in PLAIN and kb in PLAIN:
        return OPERATORS[method](a, b)
    own, other = special(ka, method), special(kb, REFLECTED[method])
    if own is None and other is None and not (method == "__ne__" and (_negated(ka) or _negated(kb))):
        for kind in (list, tuple):
            if isinstance(a, kind) and isinstance(b, kind):
                return _in_turn(tape, method, a, b) if calls_back(a) or calls_back(b) else OPERATORS[method](a, b)
        if (isinstance(a, np.ndarray) or isinstance(b, np.ndarray)) and (overrides(a) or overrides(b)):
            return tape.call(OPERATOR_UFUNCS[method], a, b)
        if (ka is np.ndarray or kb is np.ndarray) and (calls_back(a) or calls_back(b)):
            return tape.call(OPERATOR_UFUNCS[method], a, b)
        if compares_alone(method, a, b):
            return OPERATORS[method](a, b)
        known_kinds = all(k in PLAIN or k in HOLDING or k is np.ndarray for k in (ka, kb))
        return (call_unrecorded if known_kinds else watched)(tape, OPERATORS[method], a, b)
    if method == "__ne__" and (own is None or other is None):
        own, other = own or _negated(ka), other or _negated(kb)
    attempts = [(own, method, a, b), (other, REFLECTED[method], b, a)]
    if kb is not ka and issubclass(kb, ka):
        attempts.reverse()
    for function, name, x, y in attempts:
        if isinstance(x, np.ndarray) and not overrides(x):
            if _leaves_to(y) and (other if x is a else own) is not None:
                continue
            return tape.call(OPERATOR_UFUNCS[name], x, y)
        z = tape.call(function, x, y) if function is not None else getattr(type(x), name, _not_implemented)(x, y)
        if z is not NotImplemented:
            return z
    if method in ("__eq__", "__ne__"):
        return (a is b) is (method == "__eq__")
    symbol = {"__lt__": "<", "__gt__": ">", "__le__": "<=", "__ge__": ">="}[method]
    raise TypeError(f"'{symbol}' not supported between instances of '{ka.__name__}' and '{kb.__name__}'")


def _leaves_to(y: Any) -> bool:
    """Whether NumPy leaves the comparison of an array to the class of ``y``."""
    if hasattr(type(y), "__array_ufunc__"):
        return type(y).__array_ufunc__ is None
    return getattr(y, "__array_priority__", 0) > 0


class _Negated:
    """The inherited ``object.__ne__`` of a class with an ``__eq__`` in Python."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __call__(self, x: Any, other: Any) -> Any:
        return x != other

    def __morula_call__(self, tape: Tape, x: Any, other: Any) -> Any:
        found = tape.call(self.own, x, other)
        return found if found is NotImplemented else not holds(tape, found)


def _negated(kind: type) -> Any:
    own = special(kind, "__eq__") if kind.__ne__ is object.__ne__ else None
    return None if own is None else _Negated(own)


def _not_implemented(x: Any, other: Any) -> Any:
    return NotImplemented


def _in_turn(tape: Tape, method: str, a: Any, b: Any) -> Any:
    """Compare two lists or two tuples by their first entries that differ, else by their lengths."""
    if len(a) != len(b) and method in ("__eq__", "__ne__") and isinstance(a, list):
        return method == "__ne__"
    for x, y in zip(a, b):
        if not equal(tape, x, y):
            return method == "__ne__" if method in ("__eq__", "__ne__") else compare(tape, method, x, y)
    return OPERATORS[method](len(a), len(b))


def equal(tape: Tape, x: Any, y: Any) -> bool:
    """Whether containers treat two entries as equal: by identity, else by ``==``."""
    return x is y or holds(tape, compare(tape, "__eq__", x, y))


def holds(tape: Tape, x: Any) -> bool:
    """Return ``bool(x)``, recorded."""
    kind = type(x)
    if kind in PLAIN:
        return bool(x)
    own = special(kind, method := "__bool__" if hasattr(kind, "__bool__") else "__len__")
    return bool(x) if own is None else bool(answer(tape, own, method, x))


HASHED = {dict, set, frozenset, str}
"""Containers whose ``in`` does not compare entry by entry."""


class Ordered:
    """A stand-in for an object that is sorted, compared on the tape."""

    __slots__ = ("tape", "x")

    def __init__(self, tape: Tape, x: Any) -> None:
        self.tape, self.x = tape, x

    def __lt__(self, other: Any) -> bool:
        return holds(self.tape, compare(self.tape, "__lt__", self.x, other.x if type(other) is Ordered else other))

    def __gt__(self, other: Any) -> bool:
        return holds(self.tape, compare(self.tape, "__gt__", self.x, other.x if type(other) is Ordered else other))


def sorting(tape: Tape, values: Iterable[Any], key: Any) -> Callable[[Any], Any] | None:
    """Return the key function for sorting in C: a recorded key, whose results are compared on the tape."""
    if key is None:
        return functools.partial(Ordered, tape) if calls_back(values) else None
    recorded = Recording(tape, key)

    def compared(x: Any) -> Any:
        k = recorded(x)
        return Ordered(tape, k) if type(k) not in PLAIN and calls_back(k) else k

    return compared


def contains(tape: Tape, x: Any, container: Any) -> bool:
    """Return ``x in container``, recorded."""
    kind = type(container)
    if kind in HASHED and type(x) in PLAIN:
        return x in container
    own = special(kind, "__contains__")
    if own is not None:
        return holds(tape, tape.call(own, container, x))
    if isinstance(container, (list, tuple, deque)):
        if calls_back(x) or calls_back(container):
            return any(equal(tape, e, x) for e in container)
        return x in container
    if isinstance(container, (set, frozenset, dict, str)):
        return hashed(tape, operator.contains, x, container, x)
    if not hasattr(kind, "__contains__") and kind not in PLAIN:
        from .access import iterate

        return any(equal(tape, e, x) for e in iterate(tape, container))
    return x in container if kind in PLAIN and type(x) in PLAIN else watched(tape, operator.contains, container, x)


def search(tape: Tape, name: str, container: Any, x: Any, *bounds: Any) -> Any:
    """Do ``index``, ``count`` or ``remove`` of a list, tuple or deque with recorded comparisons."""
    if name == "count":
        return sum(equal(tape, e, x) for e in container)
    places = range(*slice(*(*bounds, None)[:2] if bounds else (None,)).indices(len(container)))
    for i in places:
        if i < len(container) and equal(tape, container[i], x):
            if name == "index":
                return i
            del container[i]
            return None
    return getattr(type(container)(), name)(x)  # raises what Python raises


@functools.cache
def in_python(module: ModuleType) -> dict[str, FunctionType]:
    """Return a standard library module's functions in Python, including those that have a C version."""
    tree = parse(inspect.getsource(module))
    tree.body = [s for s in tree.body if isinstance(s, (ast.FunctionDef, ast.Assign))]
    namespace: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(tree, str(module.__file__), "exec"), namespace)  # noqa: S102
    return {name: f for name, f in namespace.items() if isinstance(f, FunctionType)}


HEAPS = (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop)
BISECTIONS = (bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right)


def heap_operation(function: Any) -> Callable[..., Any]:
    """Return the handler of a function of ``heapq`` or ``bisect``."""
    module = heapq if function in HEAPS else bisect

    def handler(tape: Tape, entries: Any, *args: Any, **kwargs: Any) -> Any:
        if type(entries) is not list:
            return tape.call(in_python(module)[function.__name__], entries, *args, **kwargs)
        first = entries[:2]
        if kwargs.get("key") is None and not (calls_back(first) or any(map(calls_back, args[:1]))):
            return function(entries, *args, **kwargs)
        direct = any(special(type(x), m) is not None for x in (*args[:1], *first) for m in ("__lt__", "__gt__"))
        if direct or kwargs.get("key") is not None:
            return tape.call(in_python(module)[function.__name__], entries, *args, **kwargs)
        return watched(tape, function, entries, *args, **kwargs)  # tuples, which rarely compare their last entries

    return handler
