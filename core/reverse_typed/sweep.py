"""The backward sweep of a program's blocks, and what it adds to the forward sweep.

The adjoint of a block is written first as if all of the primal's values were at hand.  Then its own values that the adjoint
reads are looked up, ``residuals`` chooses which of them the forward sweep saves, and operations that run the others again
are put before the adjoint.  What comes from outside the block is left to the block around it.  So each block decides by
itself, from the inside out; in the end every value of the primal that the backward sweep mentions has a value that
stands for it (``restored``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..builder import Builder
from ..errors import BadInput
from ..inline import Copy
from ..ir import Block, Operation, Value, definitions
from ..typed import INT64
from . import elementwise, structural
from .cotangents import Cotangents, strong, zeros
from .residuals import choose, discardable, lengths, size, uses
from .stacks import CURRENT

Keep = Callable[[list[Value]], None]
"""Makes the forward sweep save values of a block, and the backward sweep (at the builder's place) give them back."""


class Sweep:
    """Writes the backward sweep of a function that it may change: the function becomes the forward sweep."""

    def __init__(self, block: Block, parameters: Sequence[Value], active: set[Value]) -> None:
        self.builder = Builder()  # of the backward sweep
        self.forward = Builder()
        self.active = active
        self.home: dict[Value, Block] = dict.fromkeys(parameters, block)
        self.producer: dict[Value, Operation] = {}
        self.restored: dict[Value, Value] = {}
        self._register(block)

    def _register(self, block: Block) -> None:
        self.home.update(dict.fromkeys(definitions(block), block))
        for op in block.operations:
            self.producer.update(dict.fromkeys(op.results, op))
            for inner in op.blocks:
                self._register(inner)

    # Blocks

    def block(self, block: Block, cotangents: Cotangents) -> None:
        """Write the adjoints of a block's operations, last to first; the cotangents of its results are there."""
        for op in reversed(list(block.operations)):
            if not any(r in self.active for r in op.results) and not any(map(self._holds_active, op.blocks)):
                continue
            self.builder.line = op.line
            if op.kind == "call":
                self.call(op, cotangents)
            else:
                getattr(self, f"{op.kind}_")(op, block, cotangents)

    def _holds_active(self, block: Block) -> bool:
        return any(v in self.active for v in block.results)

    def finish(self, block: Block, adjoint: Block, weight: Callable[[Value], float], keep: Keep) -> None:
        """Put before the adjoint of a block what gives it the block's own values that it reads."""
        written = adjoint.operations
        read = dict.fromkeys(_last(self.restored, v) for v in [*uses(written), *adjoint.results])
        needed = [v for v in read if self.home.get(v) is block]
        if not needed:
            return
        free = lambda v: 0.0 if v in self.restored else weight(v)  # noqa: E731
        saved, again = choose(block, needed, self.home, self.producer, free)
        outer, self.builder.out = self.builder.out, []
        keep([v for v in saved if v not in self.restored])
        for op in again:
            copied = without_checks(Copy().operation(op))
            self.builder.out.append(copied)
            self.restored.update(zip(op.results, copied.results))
        written[:0] = self.builder.out
        self.builder.out = outer

    # Operations

    def call(self, op: Operation, cotangents: Cotangents) -> None:
        dys = [cotangents.take(r) for r in op.results]
        if all(dy is None for dy in dys):
            return
        if op.callee in structural.ADJOINTS:
            structural.ADJOINTS[op.callee](self.builder, op, cotangents, dys)
        else:
            elementwise.adjoint(self.builder, op, cotangents, dys)

    def captured(self, blocks: Sequence[Block]) -> list[Value]:
        """The active values from outside that blocks read."""
        inside = {id(b) for b in nested(blocks)}
        read = [v for b in blocks for v in [*uses(b.operations), *b.results]]
        return [v for v in dict.fromkeys(read) if v in self.active and id(self.home[v]) not in inside]

    def if_(self, op: Operation, block: Block, cotangents: Cotangents) -> None:
        seeds = [cotangents.take(r) for r in op.results]
        if all(g is None for g in seeds):
            return
        outside = [v for v in self.captured(op.blocks)]
        before = {v: cotangents.get(v) for v in outside}
        written, after = [], []
        for branch in op.blocks:
            inner = Cotangents(self.builder, self.active, cotangents)
            with self.builder.block() as adjoint:
                for value, g in zip(branch.results, seeds):
                    inner.add(value, g)
                self.block(branch, inner)
                after.append([inner.get(v) for v in outside])
            written.append(adjoint)
        changed = [i for i, v in enumerate(outside) if any(gs[i] is not before[v] for gs in after)]
        kept: list[list[Value]] = [[], []]
        for i, (branch, adjoint) in enumerate(zip(op.blocks, written)):
            with reopened(self.builder, adjoint):
                adjoint.results = [after[i][k] or zeros(self.builder, outside[k]) for k in changed]
            self.finish(branch, adjoint, lambda v: size(v.type), kept[i].extend)
        self._leave(op, block, kept)
        if changed:
            types = [strong(outside[k].type) for k in changed]
            made = self.builder.operation("if", None, [op.operands[0]], types, blocks=written)
            for k, g in zip(changed, made):
                cotangents.set(outside[k], g)

    def _leave(self, op: Operation, block: Block, kept: list[list[Value]]) -> None:
        """Let what is kept of either branch be results of the ``if``; values of one type share a result."""
        slots: list[dict[int, Value]] = []
        for i, branch in enumerate(op.blocks):
            for value in kept[i]:
                if any(self.home.get(n) is branch for n in lengths(value.type)):
                    raise BadInput("a gradient needs an array whose length is known only within a branch of an `if`")
                fitting = (s for s in slots if i not in s and next(iter(s.values())).type == value.type)
                slot = next(fitting, None)
                if slot is None:
                    slot = {}
                    slots.append(slot)
                slot[i] = value
        for slot in slots:
            like = next(iter(slot.values()))
            made = self.added_result(op, block, like)
            for i, branch in enumerate(op.blocks):
                if i in slot:
                    self.restored[slot[i]] = made
                    branch.results.append(slot[i])
                else:
                    with reopened(self.forward, branch):
                        branch.results.append(self.forward.zeros(like.type.shape, like.type.dtype))

    def added_result(self, op: Operation, block: Block, like: Value) -> Value:
        """A further result of an operation of the forward sweep."""
        made = Value(like.name, like.type)
        op.results.append(made)
        self.home[made] = block
        self.producer[made] = op
        return made

    def range_(self, op: Operation, block: Block, cotangents: Cotangents) -> None:
        start, stop, step = op.operands[:3]
        b = self.builder
        if not self._reached(op, cotangents):
            return
        if step.is_constant and step.constant == 1:
            one, down = b.constant(1, np.int64), b.constant(-1, np.int64)
            last, end = (
                b.ufunc(np.subtract, b.cast(stop, np.int64), one),
                b.ufunc(np.subtract, b.cast(start, np.int64), one),
            )
        else:
            start, stop, step = (b.cast(v, np.int64) for v in (start, stop, step))
            down = b.ufunc(np.negative, step)
            count = b.ufunc(np.negative, b.ufunc(np.floor_divide, b.ufunc(np.subtract, start, stop), step))
            count = b.ufunc(np.maximum, count, b.constant(0, np.int64))
            end = b.ufunc(np.subtract, start, step)
            last = b.ufunc(np.add, end, b.ufunc(np.multiply, count, step))
        self._loop(op, cotangents, (last, end, down), op.blocks[0].parameters[0])

    def while_(self, op: Operation, block: Block, cotangents: Cotangents) -> None:
        if not self._reached(op, cotangents):
            return
        count = self._count(op, block)
        b = self.builder
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)
        self._loop(op, cotangents, (zero, count, one), None)

    def _reached(self, op: Operation, cotangents: Cotangents) -> bool:
        return any(cotangents.get(r) is not None for r in op.results)

    def _count(self, op: Operation, block: Block) -> Value:
        """Let a ``while`` count its iterations."""
        zero = self.forward.constant(0, np.int64)
        count = self.added_result(op, block, Value("count", INT64))
        op.operands.append(zero)
        for inner in op.blocks:
            inner.parameters.append(Value("count", INT64))
        body = op.blocks[1]
        with reopened(self.forward, body):
            one = self.forward.constant(1, np.int64)
            body.results.append(self.forward.ufunc(np.add, body.parameters[-1], one))
        return count

    def _loop(
        self, op: Operation, cotangents: Cotangents, bounds: tuple[Value, Value, Value], index: Value | None
    ) -> None:
        """The loop that runs the iterations in reverse: it carries the cotangents of what the loop carries and captures."""
        body = op.blocks[-1]
        parameters = body.parameters[1 if op.kind == "range" else 0 :]
        initial = op.operands[3 if op.kind == "range" else 0 :]
        carried = [i for i, p in enumerate(parameters) if p in self.active]
        outside = self.captured([body])
        seeds = [cotangents.filled(op.results[i]) for i in carried]
        seeds += [cotangents.filled(v) for v in outside]

        b = self.builder
        with b.block([Value("i", INT64), *(Value(g.name, strong(g.type)) for g in seeds)]) as adjoint:
            place, *gs = adjoint.parameters
            inner = Cotangents(b, self.active)
            for value, g in zip(outside, gs[len(carried) :]):
                inner.set(value, g)
            for i, g in zip(carried, gs):
                inner.add(body.results[i], g)
            self.block(body, inner)
            adjoint.results = [inner.filled(parameters[i]) for i in carried]
            adjoint.results += [inner.filled(v) for v in outside]
        if index is not None:
            self.restored[index] = place
        self.finish(body, adjoint, lambda v: size(v.type), lambda values: self._push(body, values))
        results = b.operation("range", None, [*bounds, *seeds], [strong(g.type) for g in seeds], blocks=[adjoint])
        for value, g in zip(outside, results[len(carried) :]):
            cotangents.set(value, g)
        for i, g in zip(carried, results):
            cotangents.add(initial[i], g)

    def _push(self, body: Block, values: list[Value]) -> None:
        """Save values of an iteration on the stack; lengths are popped first, since types mention them."""
        mentioned = {n for v in values for n in lengths(v.type)}
        groups = [[v for v in values if v not in mentioned], [v for v in values if v in mentioned]]
        for group in groups:
            if group:
                with reopened(self.forward, body):
                    self.forward.push(CURRENT, group)
        for group in reversed(groups):
            if group:
                popped = self.builder.pop(CURRENT, [v.type for v in group])
                self.restored.update(zip(group, popped))


@contextmanager
def reopened(builder: Builder, block: Block) -> Iterator[None]:
    """Write at the end of a block that was closed."""
    outer, builder.out = builder.out, block.operations
    try:
        yield
    finally:
        builder.out = outer


def nested(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks, and those in them."""
    for block in blocks:
        yield block
        for op in block.operations:
            yield from nested(op.blocks)


def without_checks(op: Operation) -> Operation:
    """An operation that is run again: what it checks has been checked."""
    for block in op.blocks:
        block.operations = [without_checks(inner) for inner in block.operations if not discardable(inner)]
    return op


def rename(block: Block, known: dict[Value, Value]) -> None:
    """Put the values that stand for others in their place, in types too; chains of them are followed."""
    _rename(block, Copy({v: _last(known, v) for v in known}))


def _rename(block: Block, copy: Copy) -> None:
    for parameter in block.parameters:
        parameter.type = copy.type(parameter.type)
    for op in block.operations:
        op.operands = [copy.value(v) for v in op.operands]
        for inner in op.blocks:
            _rename(inner, copy)
        for result in op.results:
            result.type = copy.type(result.type)
    block.results = [copy.value(v) for v in block.results]


def _last(known: dict[Value, Value], value: Value) -> Value:
    while value in known:
        value = known[value]
    return value
