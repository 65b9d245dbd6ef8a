"""A function and its arguments -> a ``Program``: the typed function, and how to get to and from Python's objects."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..builder import Builder
from ..errors import BadInput
from ..ir import Block, Function, Value, verify
from ..traced import FUNCTIONS, Array, NeedsConcrete, Scalar, Storage, Trace, Traced
from .arguments import leaves_of, mapped, traced_leaf, type_of
from .calls import Calls
from .merging import NUMBERS, is_instance
from .outside import Outside, Source
from .scopes import UNBOUND, Conflict, Late
from .state import Changes


class Interpreter(Calls):
    """Interprets a Python function with traced arguments, and writes what it computes as typed IR."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.changes: list[Changes] = []
        self.made: dict[int, tuple[Any, Any]] = {}
        self.outside = Outside()
        self.scopes = []
        self.tries: list[int] = []
        self.yields: list[list[Any]] = []
        self.hidden_parameters: list[Value] = []
        self.warned: set[str] = set()
        self.called: list[Any] = []

    # What ``Trace`` promises

    def value(self, x: Any) -> Value:
        if isinstance(x, Scalar):
            return x.ir
        if isinstance(x, Array):
            present = x.storage.value
            return present if x.view is None else x.view.read(present)
        if isinstance(x, Value):
            return x
        if type_of(x) is not None:
            return self.builder.constant(x)
        if isinstance(x, (list, tuple)):
            return self.value(FUNCTIONS[np.array](self, x))
        if isinstance(x, (Conflict, Late)) or x is UNBOUND:
            raise BadInput(getattr(x, "text", "a value that is not assigned on every path"))
        raise BadInput(f"a {type(x).__name__} where a number or an array is needed")

    def wrap(self, value: Value) -> Any:
        if value.type.shape:
            return Array(Storage(value))
        if not value.is_constant:
            return Scalar(value)
        return value.constant.item() if value.type.weak or value.type.dtype.kind == "b" else value.constant

    def write(self, array: Array, value: Value) -> None:
        storage = array.storage
        if storage.tied:
            raise BadInput(storage.tied)
        if self.changes:
            self.changes[-1].touch(storage)
        storage.value = value if array.view is None else array.view.write(storage.value, value)

    def concrete(self, x: Any, what: str) -> Any:
        if not isinstance(x, Traced):
            return x
        value = self.value(x)
        if value.is_constant and not value.type.shape:
            return value.constant.item()
        raise NeedsConcrete(value, what)

    # Inputs from outside

    def hidden(self, x: np.ndarray) -> Array:
        parameter = Value("hidden", type_of(x))
        self.hidden_parameters.append(parameter)
        made = Array(Storage(parameter))
        made.storage.region = None
        return made

    def constant_array(self, x: np.ndarray) -> Any:
        return Array(Storage(self.builder.constant(x)))

    def warn(self, text: str) -> None:
        if text not in self.warned:
            self.warned.add(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)


@dataclass
class Program:
    """A specialised program.

    ``function`` takes the leaves of the arguments in order (``leaves_of((args, kwargs))`` without those that are static),
    then what ``hidden`` reads; it gives the numbers and arrays of the result, then the new elements of the arrays that
    ``written`` names by their position among the parameters.
    """

    function: Function
    hidden: list[Source]
    written: list[int]
    rebuild: Callable[[Sequence[Any], Sequence[Any]], Any]
    guards: list[Source]

    def result(self, results: Sequence[Any], parameters: Sequence[Any]) -> Any:
        """The Python result, from the function's results and the arrays that were given; these are written to."""
        count = len(results) - len(self.written)
        for place, new in zip(self.written, results[count:]):
            parameters[place][...] = new
        return self.rebuild(results[:count], parameters)

    def is_current(self) -> bool:
        """Whether what was found outside while compiling is still there."""
        return all(guard.holds() for guard in self.guards)


def specialise(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Collection[int] = ()
) -> Program:
    """The typed program of ``f(*args, **kwargs)`` for arguments of these types.

    ``static`` names leaves, by their position, whose values are known while compiling.

    Raises:
        NeedsConcrete: a leaf or another number has to be known; ``error.value`` is it.
        BadInput: the function cannot be compiled: what, where, and what to do.
    """
    trace = Interpreter()
    given = (tuple(args), dict(kwargs))
    originals = leaves_of(given)
    parameters = [Value(f"x{i}", type_of(x)) for i, x in enumerate(originals)]
    position = iter(range(len(originals)))

    def leaf(x: Any) -> Any:
        i = next(position)
        return x if i in static else traced_leaf(parameters[i], x)

    block = Block()
    trace.builder.out = block.operations
    Trace.stack.append(trace)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 50_000))
    try:
        inside, by_name = mapped(given, leaf, {})
        storages = _storages(trace, inside, by_name)
        result = trace.call(f, *inside, **by_name)
        values, build = _output(trace, result, {id(s): parameters.index(p) for p, s in storages.items()})
        written = [p for p, s in storages.items() if s.value is not p]
        block.results = [*values, *(storages[p].value for p in written)]
    finally:
        sys.setrecursionlimit(limit)
        Trace.stack.pop()
    kept = [p for i, p in enumerate(parameters) if i not in static]
    hidden = [(source, array) for source, array in trace.outside.inputs.values()]
    for (_, array), p in zip(hidden, trace.hidden_parameters):
        if array.storage.value is not p:
            block.results.append(array.storage.value)
            written.append(p)
    everything = [*kept, *trace.hidden_parameters]
    name = getattr(f, "__name__", type(f).__name__)
    function = verify(Function(name, everything, block, getattr(getattr(f, "__code__", None), "co_filename", "")))
    place = {p: i for i, p in enumerate(everything)}
    sources = [source for source, _ in hidden]
    return Program(function, sources, [place[p] for p in written], build, list(trace.outside.guards.values()))


def _storages(trace: Interpreter, args: Any, kwargs: Any) -> dict[Value, Storage]:
    """The storages of the arrays among the arguments, by the parameter that they began with; containers become known."""
    found: dict[Value, Storage] = {}

    def walk(x: Any, seen: set[int]) -> None:
        if isinstance(x, Array):
            found[x.storage.value] = x.storage
        elif id(x) not in seen:
            seen.add(id(x))
            if isinstance(x, (list, dict)) or is_instance(x):
                trace.new(x)
            if isinstance(x, (list, tuple)):
                for e in x:
                    walk(e, seen)
            elif isinstance(x, dict):
                for e in x.values():
                    walk(e, seen)
            elif is_instance(x):
                walk(x.__dict__, seen)

    walk((args, kwargs), set())
    return found


def _output(trace: Interpreter, result: Any, arguments: dict[int, int]) -> tuple[list[Value], Callable[..., Any]]:
    """The values of a result, and the function that builds it from their arrays (and the arrays that were given)."""
    values: list[Value] = []

    def plan(x: Any) -> Callable[[Sequence[Any], Sequence[Any]], Any]:
        if isinstance(x, Array) and x.view is None and id(x.storage) in arguments:
            place = arguments[id(x.storage)]
            return lambda results, parameters: parameters[place]
        if isinstance(x, Traced):
            i = len(values)
            values.append(trace.value(x))
            if isinstance(x, Array) or not x.type.weak and x.type.dtype.kind != "b":
                return lambda results, parameters: results[i]
            return lambda results, parameters: results[i].item()
        if isinstance(x, (Conflict, Late)) or x is UNBOUND:
            trace.value(x)
        if isinstance(x, (list, tuple)):
            parts = [plan(e) for e in x]
            kind = type(x)
            if hasattr(x, "_fields"):
                return lambda results, parameters: kind(*(p(results, parameters) for p in parts))
            return lambda results, parameters: kind(p(results, parameters) for p in parts)
        if type(x) is dict:
            entries = {k: plan(e) for k, e in x.items()}
            return lambda results, parameters: {k: p(results, parameters) for k, p in entries.items()}
        if (
            is_instance(x)
            and not isinstance(x, NUMBERS)
            and trace.made_in(x) is not None
            or is_instance(x)
            and _has_traced(x)
        ):
            attributes = {k: plan(e) for k, e in x.__dict__.items()}

            def build(results: Sequence[Any], parameters: Sequence[Any]) -> Any:
                made = object.__new__(type(x))
                made.__dict__.update({k: p(results, parameters) for k, p in attributes.items()})
                return made

            return build
        return lambda results, parameters: x

    return values, plan(result)


def _has_traced(x: Any) -> bool:
    return any(isinstance(e, Traced) or is_instance(e) and _has_traced(e) for e in x.__dict__.values())
