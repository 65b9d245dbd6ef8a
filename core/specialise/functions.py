"""A region of the program captured as a typed function, for use in another form, e.g. a derivative.

``Captured`` interprets a region and makes a function of it: its parameters come first, then the values that it reads
from the surrounding program.  What the region leaves behind (its outcome, arrays that it wrote to, objects that it
changed) are results of the function; ``settle`` puts the program's values for these into all objects that refer to
them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import Derived
from ..ir.dynamic import Block, Function, Value
from ..ir.traced_text import Text
from ..ir.typed import STACK, custom
from ..passes.inline import free_values
from ..values.array_classes import is_traced_array
from ..values.attributes import has_dict
from ..values.items import entries_of
from ..values.numbers import PROXIES
from .identity import Candidates, Not, Option
from .instances import held_by_instance, is_instance
from .raising import Ended
from .rows import Rows
from .scopes import Choice, Scope
from .state import put
from .traced import Array, Scalar, Storage, Trace

_LEAVES = (
    type,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
    ast.AST,
    Trace,
    np.ndarray,
    np.generic,
    str,
    bytes,
    int,
    float,
)


class Captured:
    """A region as a function.

    ``function`` takes ``parameters``, then the surrounding values in ``free``.  It returns ``results``: first those
    that were ``asked`` for (each once), then those that the region leaves behind.
    """

    def __init__(
        self, trace: Any, name: str, parameters: Sequence[Value], run: Callable[[], tuple[Sequence[Value], Any]]
    ) -> None:
        """Interpret ``run``, which returns the values asked for and an object that the region leaves behind."""
        self.trace = trace
        ways, trace.ways = trace.ways, None  # the function's own body may fork
        try:
            self.region = region = trace.run_region(lambda _: run())
        finally:
            trace.ways = ways
        self.asked, self.outcome = region.result or ([], None)
        raised = region.raised
        if raised is not None and raised.condition is not True:
            raise BadInput(
                "compiled code cannot catch an exception raised in a differentiated function with a try around the "
                "derivative; put the try inside the differentiated function, or test for the error before"
            )
        block: Block = region.block
        inner = {r for op in block.operations for r in op.results} | set(parameters)
        self.left = _Left(trace, region, inner)
        self.left.walk(self.outcome)
        if raised is not None:
            self.left.walk([raised.which, *(x for e in raised.errors for x in trace.parts(e))])
        results = list(dict.fromkeys(self.asked))
        left = [v for v in self.left.values() if v not in results]
        trace.aliases.leave(inner, {id(x.storage) for x in self.left.arrays})
        with trace.builder.writing(block.operations):
            kept = [constant_for_derivatives(trace.builder, v, LEFT_BEHIND) for v in left]
        self.results = [*results, *left]
        block.results = [*results, *kept]
        self.free = free_values(block, set(parameters))
        self.function = Function(name, [*parameters, *self.free], block)

    @property
    def raises(self) -> bool:
        """Whether the region does not complete."""
        return self.region.ended or self.region.raised is not None

    def settle(self, values: Sequence[Value]) -> dict[Value, Value]:
        """Replace the results by ``values`` in all objects, redo the region's changes, and raise what it raised."""
        new = dict(zip(self.results, values))
        self.left.rename(new)
        for holder, held in self.region.after.values():
            self.trace.save(holder)
            put(holder, new.get(held, held) if isinstance(holder, Storage) else held)
        self.region.changes.part_of = self.trace.region
        if self.region.ended:
            raise Ended
        if self.region.raised is not None:
            self.trace.throw(self.region.raised)
        return new


LEFT_BEHIND = "left behind"
"""The name of the pullback of values that are constant for one derivative but not for those around it."""


def constant_for_derivatives(builder: Any, x: Value, name: str = "nothing") -> Value:
    """Return x with a zero derivative: no cotangent passes through."""
    if x.type is STACK or not x.type.is_inexact:
        return x
    nothing = Function(name, [Value("dy", x.type)], Block())
    return builder.call(custom, [x], [x.type], n=1, m=0, backward=nothing)[0]


class _Left:
    """The numbers and arrays of a region that objects refer to after it."""

    def __init__(self, trace: Any, region: Any, inner: set[Value]) -> None:
        self.trace = trace
        self.region = region
        self.inner = inner
        self.candidates: dict[int, Candidates] = trace.candidates
        self.negated: dict[int, Not] = {}
        self.options: list[tuple[dict[int, Option], int]] = []  # candidates of merged objects
        self.scalars: list[Scalar] = []
        self.arrays: list[Array] = []
        self.written: list[Value] = []
        self.seen: dict[int, Any] = {}
        for holder, held in region.after.values():
            if isinstance(holder, Storage):
                self.written.append(held)
            else:
                self.walk(held)

    def is_older(self, x: Any) -> bool:
        """Whether an object was there before the region: what it holds now, it held then.

        What the region has put into it is walked as the content that the region left.  Such an object may lead to all that the process
        holds, e.g. from a function to its module and from there to other modules.
        """
        made = self.trace.made_in(x)
        return made is not None and made is not self.region.changes or self.trace.outside.is_outside(x)

    def walk(self, x: Any) -> None:
        waiting = [x]
        while waiting:
            x = waiting.pop()
            if (
                x is None
                or type(x) in PROXIES
                or id(x) in self.seen
                or isinstance(x, _LEAVES)
                and not is_traced_array(x)
            ):
                continue
            self.seen[id(x)] = x
            found = self.candidates.get(id(x))
            if found is not None and found.objects is not None:
                waiting += self.choices(found.objects)
            if isinstance(x, Scalar):
                if x.ir in self.inner:
                    self.scalars.append(x)
            elif isinstance(x, Array):
                self.note(x)
            elif type(x) is Choice:
                waiting += [x.which, *x.options]
            elif type(x) is Rows:
                waiting += [x.length, *x.columns]
            elif type(x) is Text:
                waiting += x.values
            elif type(x) is Derived:
                waiting += x.plain, x.held
            elif type(x) is Scope:
                waiting += [x.vars, x.callee, x.consumer, x.parent]
            elif self.is_older(x):
                continue
            elif isinstance(x, (list, tuple, set, frozenset)):
                waiting += x
            elif isinstance(x, dict):
                waiting += [e for _, e in entries_of(x)]
            elif isinstance(x, MethodType):
                waiting.append(x.__self__)
            elif has_dict(x) or is_instance(x):
                waiting += held_by_instance(x).values()

    def choices(self, objects: dict[int, Option]) -> list[Any]:
        """Return an object's candidates, with their conditions and the indices of views."""
        for key, (_, on, numbers) in objects.items():
            if isinstance(on, Not) and on.condition in self.inner:
                self.negated[id(on)] = on
            if any(n in self.inner for n in numbers):
                self.options.append((objects, key))
        return [x for option, on, _ in objects.values() for x in (option, on) if not isinstance(x, (Not, bool))]

    def note(self, x: Array) -> None:
        if x.storage.value not in self.inner:
            return
        if x.view is not None:
            raise BadInput(
                "a view of an array that was made inside a differentiated function is stored outside of it; store a copy instead"
            )
        self.arrays.append(x)

    def values(self) -> list[Value]:
        found = [*(x.ir for x in self.scalars), *(x.storage.value for x in self.arrays)]
        found += [x.condition for x in self.negated.values()]
        found += [n for objects, key in self.options for n in objects[key][2] if n in self.inner]
        return list(dict.fromkeys([*found, *(v for v in self.written if v in self.inner)]))

    def rename(self, new: dict[Value, Value]) -> None:
        for scalar in self.scalars:
            scalar.ir = new[scalar.ir]
        for x in self.negated.values():
            x.condition = new[x.condition]
        for objects, key in self.options:
            option, on, numbers = objects[key]
            objects[key] = option, on, [new.get(n, n) for n in numbers]
        for storage in {id(x.storage): x.storage for x in self.arrays}.values():
            storage.value = new[storage.value]
        for array in self.arrays:
            array.type = array.storage.value.type
