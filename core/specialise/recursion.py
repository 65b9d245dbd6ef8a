"""Functions that call themselves on traced values: each becomes one typed function that calls itself.

A call that meets itself within a branch is interpreted apart, as a function of its numbers and arrays.  Its result
types come first from the paths without a further call; the function is then written with these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from ..ir.derived import Derived
from ..ir.dynamic import Block, Function, Operation, Value, definitions, operands, walk
from ..ir.traced_text import Text
from ..passes.inline import Copy
from ..values.items import entries_of, items_of
from .branches import NotKnownYet
from .forms import NUMBERS, numbers_in, rebuilt
from .identity import forget
from .instances import held_by_instance, is_instance
from .iterators import Iterator
from .joined_types import convert, join
from .rows import Rows
from .scopes import Closure, Conflict
from .state import content
from .surface.memory_order import in_unknown_order
from .traced import Array, Scalar

Key = tuple[Any, ...]
LIMIT = 400


class Recursive(BaseException):
    """A call has met itself: the outer one, with this key, must become a typed function."""

    def __init__(self, key: Key) -> None:
        super().__init__("a recursion")
        self.key = key


@dataclass
class Recursion:
    """A recursive function while it is written."""

    function: Function
    form: Any = None  # an object with the structure of its result
    types: list[Any] | None = None
    calls: list[Operation] = field(default_factory=list)
    passed_on: bool = False  # whether its result may contain an array that it was given


def signature(x: Any, around: tuple[int, ...] = ()) -> Key:
    """Return a call's signature: types for traced values, else values."""
    if isinstance(x, (Scalar, Array)):
        return ("traced", x.type)
    if isinstance(x, (str, type(None), *NUMBERS)):
        return (type(x), repr(x))
    if id(x) in around or isinstance(x, (Closure, Iterator)):
        return ("object", id(x))
    around = (*around, id(x))
    if type(x) is Text:
        return Text, repr(x.template), *(signature(e) for e in x.values)
    if type(x) is Derived:
        return Derived, x.cls, signature(x.plain), signature(x.held, around)
    if type(x) is Rows:
        return Rows, x.capacity, x.is_full, x.kinds, signature(x.item, around)
    if isinstance(x, (list, tuple)):
        return (type(x), *(signature(e, around) for e in items_of(x)))
    if isinstance(x, dict):
        return (dict, *((k, signature(e, around)) for k, e in entries_of(x)))
    return (type(x), signature(held_by_instance(x), around)) if is_instance(x) else ("object", id(x))


class Recursions:
    """The part of the interpreter that finds and writes recursive functions."""

    active: list[
        tuple[Any, Key | None, int]
    ]  # the calls that are being interpreted, with the number of regions around them
    recursions: dict[Key, Recursion]

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def recursive(self, function: Any, args: Any, kwargs: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Run a call; it becomes a typed function if it meets itself within a branch."""
        # The signature is needed only from a function's second nested call on.
        is_inner = any(f is function for f, _, _ in self.trace.active)
        key = (id(function), signature(args), signature(kwargs)) if is_inner else None
        if key is not None:
            if key in self.trace.recursions:
                return self.call_again(self.trace.recursions[key], args, kwargs)
            if any(k == key and depth < len(self.trace.changes) for _, k, depth in self.trace.active):
                raise Recursive(key)
            if len(self.trace.active) > LIMIT:
                raise BadInput(
                    f"a recursion reached {LIMIT} calls while compiling; let it end on a condition that depends on its arguments"
                )
        self.trace.active.append((function, key, len(self.trace.changes)))
        guards = len(self.trace.guards)
        length, out, scopes, line = (
            len(self.trace.active),
            self.trace.builder.out,
            len(self.trace.scopes),
            self.trace.builder.line,
        )  # type: ignore[attr-defined]
        written = len(out)
        try:
            return run(args, kwargs)
        except Recursive as met:
            if key is None or met.key != key:
                raise
            self.trace.drop_guards(guards)
            del out[written:]
            self.trace.builder.out, self.trace.builder.line = out, line
            del self.trace.scopes[scopes:]  # type: ignore[attr-defined]
            return self.written(key, function, args, kwargs, run)
        finally:
            del self.trace.active[length - 1 :]

    def written(self, key: Key, function: Any, args: Any, kwargs: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Write the typed function of a recursive call, and call it."""
        given = numbers_in((args, kwargs))
        parameters = [Value(f"x{i}", self.trace.value(x).type) for i, x in enumerate(given)]
        made = Recursion(Function(getattr(function, "__name__", "function"), parameters, Block()))
        self.trace.recursions[key] = made
        try:
            for _ in range(8):
                if self.write_once(made, args, kwargs, run):
                    break
            else:
                raise BadInput(
                    f"the recursive function {made.function.name} returns another type at each depth; return one type and shape"
                )
            free = self.close(made)
        finally:
            del self.trace.recursions[key]
        results = self.trace.builder.operation(
            "call", made.function, [*map(self.trace.value, given), *free], made.types or []
        )  # fmt: skip
        return self.result(made, results, given)

    def write_once(self, made: Recursion, args: Any, kwargs: Any, run: Callable[[Any, Any], Any]) -> bool:
        """Interpret the body; return whether its result types are those that its own calls assumed."""
        made.calls = []
        parameters = iter(made.function.parameters)

        def body(region: Any) -> Any:
            given = numbers_in((args, kwargs))
            new = [
                in_unknown_order(next(parameters)) if isinstance(x, Array) else Scalar(next(parameters)) for x in given
            ]
            holders: list[Any] = []
            inside, by_name = rebuilt((args, kwargs), iter(new), lambda x: holders.append(x) or self.trace.new(x))
            before = [_entries(x) for x in holders]
            y = run(inside, by_name)
            for x, held in zip(holders, before):
                if _entries(x) != held:
                    raise BadInput(
                        f"{made.function.name} calls itself and changes its {type(x).__name__} argument; return a new one"
                    )
            if any(isinstance(x, Array) and x.storage.value is not p for x, p in zip(new, made.function.parameters)):
                raise BadInput(f"{made.function.name} calls itself and writes to an array argument; return a new one")
            return y, [self.trace.value(x) for x in numbers_in(y)]

        try:
            region = self.trace.run_region(body)
        except NotKnownYet:  # no path reaches a return
            region = None
        if region is None or region.ended or region.raised is not None:
            raise BadInput(
                f"{made.function.name} calls itself, and raises on every path or raises an exception that a try around the call "
                "catches; return a value that signals the failure"
            )
        if any(self.trace.made_in(holder) is not region.changes for holder, _ in region.after.values()):
            raise BadInput(
                f"{made.function.name} calls itself and changes a variable or object outside of it; return the new value"
            )
        form, values = region.result
        origins = [
            o.storage for x in numbers_in(form) if isinstance(x, Array) for o in self.trace.numbers.all_origins(x)
        ]
        given = made.function.parameters
        made.passed_on |= any(o.value in given or self.trace.made_in(o) is not region.changes for o in origins)
        if isinstance(form, Conflict):
            raise BadInput(form.text)
        types = [v.type for v in values]
        made.function.block = region.block
        before, made.types, made.form = made.types, types, form
        if before is not None and len(before) == len(types):
            joined = [join(a, b) for a, b in zip(before, types)]
            if None in joined:
                raise BadInput(
                    f"{made.function.name} calls itself and returns arrays of different shapes; return one shape"
                )
            made.types = joined
        with self.trace.builder.writing(region.block.operations):
            region.block.results = [convert(self.trace.builder, v, t) for v, t in zip(values, made.types)]
        return before == made.types

    def call_again(self, made: Recursion, args: Any, kwargs: Any) -> Any:
        """Record a call of the function that is being written."""
        if made.types is None:
            raise NotKnownYet
        given = numbers_in((args, kwargs))
        results = self.trace.builder.operation("call", made.function, [self.trace.value(x) for x in given], made.types)
        return self.result(made, results, given)

    def result(self, made: Recursion, results: list[Value], given: list[Any]) -> Any:
        found = numbers_in(made.form)
        new = [in_unknown_order(r) if isinstance(x, Array) else Scalar(r) for x, r in zip(found, results)]
        for x in new if made.passed_on else ():
            if isinstance(x, Array):
                forget(self.trace, x)
                self.trace.numbers.may_be(x, [a for a in given if isinstance(a, Array)], is_unclear=True)
        return rebuilt(made.form, iter(new), self.trace.new)

    def close(self, made: Recursion) -> list[Value]:
        """Make parameters of the values from around the function, as in a closure; return them."""
        function = made.function
        inside = set(function.parameters)
        for block in _blocks(function.block):
            inside.update(definitions(block))
        free = list(dict.fromkeys(v for v in operands(function.block) if not v.is_constant and v not in inside))
        mapping = {v: Value(v.name, v.type) for v in free}
        for op in walk(function.block):
            if op.callee is function:
                op.operands = [*op.operands, *free]
        function.block = Copy(dict(mapping)).block(function.block)
        function.parameters += mapping.values()
        return free


def _blocks(block: Block) -> list[Block]:
    return [block, *(b for op in walk(block) for b in op.blocks)]


def _entries(holder: Any) -> list[Any]:
    """Return the ids of a list's, dict's or object's contents."""
    held = () if isinstance(holder, tuple) else content(holder)
    return [*map(id, (*held, *held.values()) if isinstance(held, dict) else held)]
