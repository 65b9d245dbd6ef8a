"""The inverse of a step, derived from its operations: the values before it are computed from those after it.

What is known spreads through the operations of the step until the values before it are known, or nothing more follows.
An operation whose operands are known gives its results. One with a known result and one unknown operand is solved for
that operand: ``y = x + g`` gives ``x = y - g``. A write ``y = x with x[i] = v`` gives ``v``, the parts of ``x`` that are
apart from ``i``, and ``x`` itself when ``x[i]`` is known; parts that cover ``x`` give ``x``. So the form of a leapfrog
step, or of a coupling layer, is its proof that it can be inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Function, Operation, Value
from ..ir.typed import STACK, Dim, Primitive, index_of, part
from .dead_code import remove_dead_code
from .inline import Copy, free_values, uses

Solve = Callable[..., Value]


def _inverse(function: np.ufunc) -> Solve:
    return lambda b, y: b.ufunc(function, y)


def _exchanged(function: np.ufunc) -> Solve:
    return lambda b, y, other: b.ufunc(function, y, other)


_OF_ONE: dict[Any, Solve] = {
    **{f: _inverse(f) for f in (np.negative, np.positive, np.reciprocal, np.conjugate)},
    **{f: _inverse(g) for f, g in ((np.exp, np.log), (np.log, np.exp), (np.expm1, np.log1p), (np.log1p, np.expm1))},
    **{f: _inverse(g) for f, g in ((np.sinh, np.arcsinh), (np.arcsinh, np.sinh), (np.sqrt, np.square))},
}
"""By function of x: x, from the result y."""

_OF_TWO: dict[Any, tuple[Solve, Solve]] = {
    np.add: (_exchanged(np.subtract), _exchanged(np.subtract)),
    np.subtract: (_exchanged(np.add), lambda b, y, a: b.ufunc(np.subtract, a, y)),
    np.multiply: (_exchanged(np.divide), _exchanged(np.divide)),
    np.divide: (_exchanged(np.multiply), lambda b, y, a: b.ufunc(np.divide, a, y)),
}
"""By function of two operands: the first from the result and the second, and the second from the result and the first."""

_EXACT = (np.add, np.subtract, np.negative, np.positive)
"""The functions that integers can be recovered from."""

LARGEST = 1 << 26
"""The largest array whose parts are compared element by element."""


def derived(step: Function, first: int, count: int, wanted: Sequence[int]) -> Derived:
    """Return the inverse of a step (see ``Derived``) that reads no other values after it than it gives before it.

    Only then can it be applied again and again: ``found`` may hold more than is ``wanted``.
    """
    everything, asked = range(count), wanted
    while True:
        made = Derived(step, first, count, wanted, wanted)
        if made.missing:
            made = Derived(step, first, count, wanted, everything)
        if made.missing:
            made.missing = [i for i in made.missing if i in asked] or [*asked]
            return made
        used = {*uses(made.function.block.operations), *made.function.block.results}
        read = [i for i, v in enumerate(made.after) if v in used or i in wanted]
        if read == [*wanted]:
            return made
        wanted = read


class Derived:
    """The inverse of ``step``, a function of ``count`` values before it among its parameters, which returns those after it.

    ``function`` takes the step's parameters, with the values after the step in place of those before it; it reads those
    ``given``. It returns the values before the step that are ``wanted`` and could be derived, whose numbers are
    ``found``; the others are in ``missing``.
    """

    def __init__(self, step: Function, first: int, count: int, wanted: Sequence[int], given: Sequence[int]) -> None:
        before = step.parameters[first : first + count]
        self.builder = b = Builder()
        self.after = [Value(v.name, v.type) for v in step.block.results]
        self.step, self.known = step, Copy()
        self.parts: dict[Value, dict[Any, tuple[Operation, Value]]] = {}
        others = [*step.parameters[:first], *step.parameters[first + count :]]
        with b.block() as block:
            for v in (*others, *free_values(step.block, set(step.parameters))):
                self.learn(v, v)
            for i in given:
                self.learn(step.block.results[i], self.after[i])
            self.spread()
            self.found = [i for i in wanted if self.has(before[i])]
            self.missing = [i for i in wanted if i not in self.found]
            block.results = [self.known.value(before[i]) for i in self.found]
        parameters = [*step.parameters[:first], *self.after, *step.parameters[first + count :]]
        self.function = remove_dead_code(Function("inverse", parameters, block))

    def has(self, v: Value) -> bool:
        return v.is_constant or v in self.known.known

    def get(self, v: Value) -> Value:
        return self.known.value(v)

    def learn(self, v: Value, found: Value) -> bool:
        """Note what a value of the step is in the inverse; return whether that is new."""
        if self.has(v):
            return False
        self.known.known[v] = found
        return True

    def spread(self) -> None:
        """Go through the operations, forward and backward, until nothing more becomes known."""
        operations = [op for op in self.step.block.operations if op.results]
        goes_on = True
        while goes_on:
            goes_on = False
            for op in operations:
                goes_on |= self.run(op)
            for op in reversed(operations):
                goes_on |= self.solve(op)

    def run(self, op: Operation) -> bool:
        """Compute an operation's results if all that it reads is known."""
        if all(map(self.has, op.results)) or any(v.type is STACK for v in (*op.operands, *op.results)):
            return False
        if isinstance(op.callee, Primitive) and op.callee.effect:
            return False
        read = [*op.operands, *(v for block in op.blocks for v in free_values(block, set()))]
        if not all(map(self.has, read)):
            return False
        known = {r: self.get(r) for r in op.results if self.has(r)}
        self.builder.out.append(self.known.operation(op))
        self.known.known.update(known)
        return True

    def solve(self, op: Operation) -> bool:
        """Find an operand of an operation from its result and the others."""
        if op.kind != "call" or len(op.results) != 1:
            return False
        (y,) = op.results
        if op.callee is typed.getitem:
            return self.note_part(op, y)
        if not self.has(y):
            return False
        if op.callee is typed.setitem:
            return self.solve_write(op, y)
        if op.callee is typed.concatenate:
            return self.solve_joined(op, y)
        unknown = [i for i, v in enumerate(op.positional) if not self.has(v)]
        if len(unknown) != 1:
            return False
        (i,) = unknown
        x = op.positional[i]
        found = self.solved(op, i, x, self.get(y))
        return found is not None and self.learn(x, found)

    def solved(self, op: Operation, i: int, x: Value, y: Value) -> Value | None:
        """Write the only unknown operand of an operation in terms of its result; None if that is not possible."""
        b, callee = self.builder, op.callee
        if callee is typed.cast:
            widens = x.type.dtype.kind == y.type.dtype.kind and x.type.dtype.itemsize <= y.type.dtype.itemsize
            return self.typed(y, x) if widens else None
        if callee is typed.apart or callee is typed.reshape:
            return y if callee is typed.apart else b.reshape(y, x.type.shape)
        if callee is typed.transpose:
            return b.transpose(y, [int(k) for k in np.argsort(op.named["axes"].constant)])
        if callee is typed.add_at and i == 0:
            spec, *index, v = op.named["spec"].constant, *map(self.get, op.positional[1:])
            return b.add_at(y, index, b.ufunc(np.negative, v), spec)
        if x.type.shape != y.type.shape or not (x.type.is_inexact or callee in _EXACT and x.type.dtype.kind == "i"):
            return None
        if x.type.dtype.kind != y.type.dtype.kind or x.type.dtype.itemsize > y.type.dtype.itemsize:
            return None
        if len(op.positional) == 1 and callee in _OF_ONE:
            return self.typed(_OF_ONE[callee](b, y), x)
        if len(op.positional) == 2 and callee in _OF_TWO:
            return self.typed(_OF_TWO[callee][i](b, y, self.get(op.positional[1 - i])), x)
        return None

    def typed(self, found: Value, x: Value) -> Value:
        """Convert a value to the type of another."""
        b = self.builder
        found = b.cast(found, x.type.dtype)
        return b.call(typed.cast, [found], [x.type], dtype=x.type.dtype)[0] if found.type != x.type else found

    # Parts of arrays

    def note_part(self, op: Operation, y: Value) -> bool:
        """A part that is known is noted with the array; parts that cover the array give it."""
        x = op.positional[0]
        if self.has(x) or "a" in op.named["spec"].constant or not all(map(self.has, op.positional[1:])):
            return False
        parts, key = self.parts.setdefault(x, {}), part(op)
        if not self.has(y):
            return key in parts and self.learn(y, self.get(parts[key][1]))
        if key in parts:
            return False
        parts[key] = op, y
        masks = [m for m in (_places(op, y) for op, y in parts.values()) if m is not None]
        if not masks or not np.all(np.logical_or.reduce(masks)):
            return True
        b = self.builder
        whole = b.zeros(x.type.shape, x.type.dtype)
        for op, y in parts.values():
            whole = b.setitem(whole, [*map(self.get, op.positional[1:])], self.get(y), op.named["spec"].constant)
        return self.learn(x, whole)

    def solve_write(self, op: Operation, y: Value) -> bool:
        """From an array after a write: what was written, and the array before, as far as that follows."""
        b, spec = self.builder, op.named["spec"].constant
        x, *index, v = op.positional
        if "a" in spec or not all(map(self.has, index)):
            return False
        index = [*map(self.get, index)]
        lengths = [n for n in v.type.shape]
        found = not self.has(v) and self.learn(v, b.getitem(self.get(y), index, spec, self.lengths(spec, lengths)))
        if self.has(x):
            return found
        parts = self.parts.setdefault(x, {})
        if part(op) in parts:
            before = self.get(parts[part(op)][1])
            return self.learn(x, b.setitem(self.get(y), index, before, spec))
        written = _places(op, v)
        for read in self.step.block.operations:
            if read.callee is typed.getitem and read.positional[0] is x and not self.has(read.results[0]):
                places = _places(read, read.results[0])
                if written is not None and places is not None and not np.any(written & places):
                    copy = Copy({**self.known.known, x: self.get(y)})
                    made = copy.operation(read)
                    b.out.append(made)
                    found |= self.learn(read.results[0], made.results[0])
        return found

    def lengths(self, spec: Any, shape: list[Any]) -> list[Any]:
        """The lengths of the slices of a part, for ``Builder.getitem``."""
        kept = [entry for entry in spec if entry != "i"]
        return [n for entry, n in zip(kept, shape) if entry != ":"]

    def solve_joined(self, op: Operation, y: Value) -> bool:
        """From a concatenated array: its operands."""
        b, axis, at, is_new = self.builder, op.named["axis"].constant, 0, False
        for x in op.positional:
            n = x.type.shape[axis]
            if isinstance(n, Dim):
                return is_new
            if not self.has(x):
                spec = tuple(("s", 1) if k == axis else ":" for k in range(x.type.ndim))
                is_new |= self.learn(x, self.typed(b.getitem(self.get(y), [b.constant(at, np.int64)], spec, [n]), x))
            at += n
        return is_new


def _places(op: Operation, v: Value) -> np.ndarray | None:
    """Which elements of an array a ``getitem`` or ``setitem`` of the part ``v`` accesses; None if the types do not say."""
    x, spec = op.positional[0], op.named["spec"].constant
    index = op.positional[1 : 1 + sum(e != ":" for e in spec)]
    if not (x.type.is_static and v.type.is_static) or not all(i.is_constant for i in index):
        return None
    if np.prod(x.type.shape) > LARGEST:
        return None
    found = np.zeros(x.type.shape, bool)
    found[index_of(spec, [i.constant for i in index], v.type.shape)] = True
    return found


def not_derived(names: list[str]) -> str:
    """Why a loop is refused: the inverse of an iteration does not give these variables."""
    return (
        f"what {' and '.join(names)} held before an iteration does not follow from the variables after it; write the iteration "
        "in steps like `q += f(p)` and `p = p * c`, or declare its inverse with morula.invertible"
    )
