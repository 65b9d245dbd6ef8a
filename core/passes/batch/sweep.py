"""Writes a program's blocks for all samples of a batch at once.

A value that varies has the samples along its first axis; every other value stays as it is.  Where samples take different ways,
both ways are run, with a *mask* of the samples that take each: the others compute with their own stale values, which are not
used.  A loop runs until it has ended for every sample, and those for which it has ended keep their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import INT64, STACK, ArrayType, Dim
from ..inline import Copy
from ..reverse.segments import iterations_of
from . import functions, structural
from .in_turn import in_turn
from .varying import OF_LANES, Varying

CHEAP = 40
"""A branch with at most so many operations is run for all samples, even if none takes it."""


class Sweep:
    """The program for all samples, while it is written.

    ``lanes`` is the number of samples, ``axis`` the name under which the program refers to them, if it has one; ``function`` makes, of
    a function whose parameters all vary, that for all samples.
    """

    def __init__(
        self, lanes: int | Dim, varying: Varying, target: str, axis: Any, function: Callable[[Function], Function]
    ) -> None:
        self.builder = Builder()
        self.function = function
        self.lanes, self.varying, self.target, self.axis = lanes, varying, target, axis
        self.copy = Copy()
        self.mask: Value | None = None
        self.around: dict[Value, Value | None] = {}
        """For a mask, the one around it."""
        self.kept: dict[Value, tuple[Value, Value]] = {}
        """For an array with new elements for the samples of a mask, the one that it was made from, and the mask."""

    # ---- values

    def type(self, kind: ArrayType) -> ArrayType:
        """The type of a value with all samples."""
        return kind if kind is STACK else ArrayType(kind.dtype, (self.lanes, *self.copy.type(kind).shape))

    def get(self, value: Value) -> Value:
        """The new value in place of a value of the program: with the samples along its first axis if it varies."""
        return self.copy.value(value)

    def whole(self, value: Value) -> Value:
        """The value for all samples, also if it does not vary."""
        x = self.get(value)
        if value in self.varying or value.type is STACK:
            return x
        return self.whole_of(x, self.type(value.type))

    def whole_of(self, x: Value, kind: ArrayType) -> Value:
        return self.builder.broadcast_to(x, kind.shape)

    def aligned(self, value: Value, ndim: int) -> Value:
        """The value with all samples, for broadcasting to ``ndim`` axes beside that of the samples; others as they are."""
        x = self.get(value)
        return x if value not in self.varying else self.with_axes(x, ndim - value.type.ndim)

    def with_axes(self, x: Value, count: int) -> Value:
        """Insert axes of length one behind that of the samples."""
        lanes, *shape = x.type.shape
        return self.builder.reshape(x, (lanes, *[1] * count, *shape))

    def fresh(self, value: Value, varies: bool) -> Value:
        """A new value in place of a parameter of a block."""
        kind = self.type(value.type) if varies else self.copy.type(value.type)
        made = self.copy.known[value] = Value(value.name, kind)
        return made

    def of_lane(self, value: Value, lane: Value) -> Value:
        """The value for one sample."""
        x = self.get(value)
        if value not in self.varying:
            return x
        return self.builder.getitem(x, [lane], ("i", *[":"] * value.type.ndim), [])

    def valid(self, value: Value) -> Value:
        """An operand for which a function raises no error that no sample has: outside of the mask, that of a sample in it."""
        x = self.get(value)
        if self.mask is None or value not in self.varying:
            return x
        first = self.builder.call(np.argmax, [self.mask], [INT64], axis=0)[0]
        one = self.builder.broadcast_to(self.of_lane(value, first), x.type.shape)
        return self.chosen(self.mask, x, one)

    # ---- masks

    @contextmanager
    def masked(self, mask: Value | None) -> Iterator[None]:
        outer, self.mask = self.mask, mask
        if mask is not None and mask is not outer:
            self.around[mask] = outer
        try:
            yield
        finally:
            self.mask = outer

    def chosen(self, condition: Value, x: Value, y: Value) -> Value:
        """x for the samples for which a condition holds, y for the others."""
        if x is y:
            return x
        condition = self.with_axes(condition, x.type.ndim - 1)
        return self.builder.call(np.where, [condition, x, y], [x.type])[0]

    def both(self, a: Value | None, b: Value) -> Value:
        return b if a is None else self.builder.ufunc(np.logical_and, a, b)

    def anywhere(self, condition: Value) -> Value:
        """Whether a condition holds for any sample."""
        return self.builder.reduce(np.any, condition, (0,))

    def merged(self, mask: Value, new: Value, old: Value) -> Value:
        """``new`` for the samples of the mask, ``old`` for the others; ``new`` itself if the others have kept ``old`` in it."""
        if self.descends(new, old, mask):
            return new
        made = self.chosen(mask, new, old)
        self.kept[made] = old, mask
        return made

    def note(self, new: Value, old: Value) -> None:
        """Note that ``new`` differs from ``old`` only for samples of the mask."""
        if self.mask is not None:
            self.kept[new] = old, self.mask

    def descends(self, new: Value, old: Value, mask: Value | None) -> bool:
        """Whether ``new`` differs from ``old`` only for samples of a mask."""
        while new is not old:
            origin, own = self.kept.get(new, (None, None))
            while own is not None and own is not mask:
                own = self.around.get(own)
            if origin is None or own is None:
                return False
            new = origin
        return True

    # ---- operations

    def block(self, block: Block) -> None:
        for op in block.operations:
            self.builder.line = op.line
            self.operation(op)

    def operation(self, op: Operation) -> None:
        if op in self.varying.diverging and self.target == "native":
            in_turn(self, [op], [r for r in op.results if r in self.varying])
            kept = op.blocks[0].results if op.kind == "if" else op.initial  # what no sample changes
            self.copy.known.update((r, self.get(v)) for r, v in zip(op.results, kept) if r not in self.varying)
        elif op in self.varying.diverging:
            {"if": self.diverging_if, "while": self.diverging_while, "range": self.diverging_range}[op.kind](op)
        elif op.kind == "if":
            self.uniform_if(op)
        elif op.kind in ("while", "range"):
            self.uniform_loop(op)
        elif self.varies(op):
            self.call(op)
        else:
            self.builder.append(self.copy.operation(op))

    def varies(self, op: Operation) -> bool:
        """Whether a call has to be written for all samples: an effect is had by each; an error only by those of the mask."""
        has_effect = getattr(op.callee, "effect", False) and (self.mask is not None or op.callee is not typed.raise_if)
        is_own = op.callee in OF_LANES and op.named["axis"].constant == self.axis
        return has_effect or is_own or self.varying.any(op.positional) or self.varying.any(op.results)

    def call(self, op: Operation) -> None:
        written = structural.BATCHED.get(op.callee) or functions.batched(op)
        if written is None:
            in_turn(self, [op], op.results)
        else:
            self.copy.known.update(zip(op.results, written(self, op), strict=True))

    def results(self, op: Operation, values: Sequence[Value]) -> list[Value]:
        """The results of a block, with all samples where the operation's result varies."""
        return [self.whole(v) if r in self.varying else self.get(v) for r, v in zip(op.results, values)]

    def uniform_if(self, op: Operation) -> None:
        blocks = []
        for block in op.blocks:
            with self.builder.block() as made:
                self.block(block)
                made.results = self.results(op, block.results)
            blocks.append(made)
        condition = self.get(op.operands[0])
        found = self.builder.operation("if", None, [condition], [v.type for v in blocks[0].results], blocks=blocks)
        self.copy.known.update(zip(op.results, found))

    def uniform_loop(self, op: Operation) -> None:
        initial = self.results(op, op.initial)
        blocks = [self.block_of_loop(op, block) for block in op.blocks]
        bounds = [self.get(v) for v in op.operands[:3]] if op.kind == "range" else []
        found = self.builder.operation(
            op.kind, op.callee, [*bounds, *initial], [v.type for v in initial], blocks=blocks
        )
        body = blocks[-1]
        parameters = body.parameters[len(body.parameters) - len(found) :]
        for before, parameter, after, result in zip(initial, parameters, body.results, found):
            if self.descends(after, parameter, self.mask):
                self.note(result, before)
        self.copy.known.update(zip(op.results, found))

    def block_of_loop(self, op: Operation, block: Block) -> Block:
        index = block.parameters[: len(block.parameters) - len(op.results)]
        carried = block.parameters[len(index) :]
        parameters = [
            *(self.fresh(p, False) for p in index),
            *(self.fresh(p, r in self.varying) for p, r in zip(carried, op.results)),
        ]
        with self.builder.block(parameters) as made:
            if op.kind == "range":
                self.builder.integers.index(parameters[0], *map(self.get, op.operands[:3]))
            self.block(block)
            is_body = block is op.blocks[-1]
            made.results = self.results(op, block.results) if is_body else [self.get(v) for v in block.results]
        return made

    # ---- where samples take different ways

    def diverging_if(self, op: Operation) -> None:
        b = self.builder
        holds = self.get(op.operands[0])
        masks = [self.both(self.mask, c) for c in (holds, b.ufunc(np.logical_not, holds))]
        differing = [k for k, r in enumerate(op.results) if r in self.varying]
        then, other = (self.way(m, block, [block.results[k] for k in differing]) for m, block in zip(masks, op.blocks))
        for k, x, y in zip(differing, then, other):
            made = (
                x if self.descends(x, y, masks[0]) else y if self.descends(y, x, masks[1]) else self.chosen(holds, x, y)
            )
            self.copy.known[op.results[k]] = made
        for r, v in zip(op.results, op.blocks[0].results):
            if r not in self.varying:
                self.copy.known[r] = self.get(v)

    def way(self, mask: Value, block: Block, results: Sequence[Value]) -> list[Value]:
        """Write a branch for the samples of a mask; unless it is cheap, it is run only if there are any."""

        def taken() -> list[Value]:
            with self.masked(mask):
                self.block(block)
                return [self.whole(v) for v in results]

        inner = [*walk(block)]
        if len(inner) <= CHEAP and all(
            op.kind == "call" and not op.may_raise and functions.is_total(op) for op in inner
        ):
            return taken()
        b = self.builder
        before: list[Value | None] = []

        def taken_if_any() -> list[Value]:
            made = taken()
            before.extend(map(self.before, made))
            return made

        def not_taken() -> list[Value]:
            return [x or b.zeros(self.type(v.type).shape, v.type.dtype) for x, v in zip(before, results)]

        found = b.if_(self.anywhere(mask), taken_if_any, not_taken)
        self.kept.update((made, (x, mask)) for made, x in zip(found, before) if x is not None)
        return found

    def before(self, x: Value) -> Value | None:
        """The array from around the open block that a value was made from by writes to the samples of masks, if any."""
        within = {r for op in self.builder.out for r in op.results}
        while x in self.kept:
            x = self.kept[x][0]
            if x not in within:
                return x
        return None

    def diverging_while(self, op: Operation) -> None:
        condition = op.blocks[0]
        carried = Carried(self, op)

        def goes_on(values: Sequence[Value], active: Value | None) -> Value:
            self.copy.known.update(zip(condition.parameters, values))
            with self.masked(active):
                self.block(condition)
                return self.both(active, self.whole(condition.results[0]))

        def turn(*state: Value) -> list[Value]:
            *values, active = state
            new = carried.turn(values, active)
            return [*new, goes_on(new, active)]

        first = goes_on(carried.initial, self.mask)
        found = self.builder.while_(lambda *state: self.anywhere(state[-1]), turn, [*carried.initial, first])
        carried.finish(found)

    def diverging_range(self, op: Operation) -> None:
        b, index = self.builder, op.blocks[0].parameters[0]
        carried = Carried(self, op)
        start, stop, step = (b.cast(self.get(v), np.int64) for v in op.operands[:3])
        trips = iterations_of(b, start, stop, step)
        if self.mask is not None:
            trips = self.chosen(self.mask, trips, b.zeros(trips.type.shape, np.int64))

        def turn(k: Value, *values: Value) -> list[Value]:
            self.copy.known[index] = b.ufunc(np.add, start, b.ufunc(np.multiply, k, step))
            return carried.turn(values, b.ufunc(np.less, k, trips))

        zero, one = (b.constant(n, np.int64) for n in (0, 1))
        carried.finish(b.range_(zero, b.reduce(np.max, trips, (0,)), one, turn, carried.initial))


class Carried:
    """The variables that a loop carries which ends in another iteration for each sample.

    One that is the same for all samples that go on is carried twice: once for these, and once with the samples that have ended.
    """

    def __init__(self, sweep: Sweep, op: Operation) -> None:
        self.sweep, self.op = sweep, op
        self.parameters = [p for _, p, _, _ in op.carried]
        self.results = op.results
        varying = sweep.varying
        self.twice = [
            k for k, (p, r) in enumerate(zip(self.parameters, op.results)) if p not in varying and r in varying
        ]
        self.initial = self.of_those_that_go_on(op.initial) + [sweep.whole(op.initial[k]) for k in self.twice]

    def of_those_that_go_on(self, values: Sequence[Value]) -> list[Value]:
        sweep = self.sweep
        return [sweep.whole(v) if p in sweep.varying else sweep.get(v) for p, v in zip(self.parameters, values)]

    def turn(self, state: Sequence[Value], mask: Value) -> list[Value]:
        """Write the body for the samples of a mask; return what is carried after it."""
        sweep, body = self.sweep, self.op.blocks[-1]
        values, ended = state[: len(self.parameters)], state[len(self.parameters) :]
        sweep.copy.known.update(zip(self.parameters, values))
        with sweep.masked(mask):
            sweep.block(body)
            new = self.of_those_that_go_on(body.results)
        new = [sweep.merged(mask, x, v) if p in sweep.varying else x for x, v, p in zip(new, values, self.parameters)]
        whole = [sweep.whole_of(new[k], x.type) for k, x in zip(self.twice, ended)]
        return [*new, *(sweep.chosen(mask, x, before) for x, before in zip(whole, ended))]

    def finish(self, found: Sequence[Value]) -> None:
        """Note what the loop leaves for each sample."""
        at_end = dict(zip(self.twice, found[len(self.parameters) :]))
        for k, r in enumerate(self.results):
            self.sweep.copy.known[r] = at_end.get(k, found[k])
            if k not in at_end:
                self.sweep.note(found[k], self.initial[k])
