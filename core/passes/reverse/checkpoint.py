"""The adjoint of a loop of any length in memory of a fixed size: nested checkpointing.

The forward loop saves up to C of its carried states (checkpoints), one every ``stride`` iterations. The length of a
``while`` is unknown: when its buffer is full, the stride doubles and every second state is dropped. The backward sweep
visits the segments between the states from last to first. It recomputes each segment and saves C states within it at a
smaller stride, and so on for several levels until the stride is 1: a loop of C iterations needs no recomputation, C^2
one more run of the loop, C^3 two. In longer loops, each iteration is recomputed from the nearest state. (Griewank and
Walther, "Revolve", 2000, is optimal for a known length; a stride that doubles is from Stumm and Walther, "New
algorithms for optimal online checkpointing", 2010.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import INT64, ArrayType
from ..dead_code import remove_dead_code
from ..inline import Copy, inline, rename
from .cotangents import Cotangents, strong
from .residuals import running_cost, size, uses

if TYPE_CHECKING:
    from .sweep import Sweep

MOST = 1024
"""The most states that a level saves."""
MEMORY = 2**28
"""The bytes that a level may take, unless it would save fewer states than ``LEAST``."""
LEAST = 8
LENGTH = 10**6
"""Up to this number of iterations, each level recomputes the loop at most once."""


def adjoint(sweep: Sweep, op: Operation, block: Block, cotangents: Cotangents) -> None:
    """Write the adjoint of a loop in ``block``; at least one of its results has a cotangent."""
    loop = _Loop(sweep, op, block)
    step = loop.written_step(cotangents)
    loop.choose_states()
    kept = loop.keep_in_while() if op.kind == "while" else loop.keep_in_range()
    _Backward(loop, step).write(kept, cotangents)


class _Loop:
    """A loop, one of its iterations forward and backward, and the states that are saved."""

    def __init__(self, sweep: Sweep, op: Operation, block: Block) -> None:
        self.sweep, self.op, self.block = sweep, op, block
        self.body = op.blocks[-1]
        own = 1 if op.kind == "range" else 0
        self.index = self.body.parameters[0] if own else Value("k", INT64)
        self.parameters = self.body.parameters[own:]
        self.initial = op.operands[3 if own else 0 :]
        self.plain = Copy().block(Block([self.index, *self.parameters], self.body.operations, self.body.results))
        self.states: list[int] = []  # numbers of the carried variables that are saved
        self.read: dict[Value, Value] = {}  # values that the backward step reads, and its parameters for them

    def written_step(self, cotangents: Cotangents) -> Function:
        """Write the adjoint of one iteration: (index, state before it, cotangents after it) -> cotangents before it."""
        sweep, b = self.sweep, self.sweep.builder
        self.carried = [i for i, p in enumerate(self.parameters) if p in sweep.active]
        self.outside = sweep.captured([self.body])
        seeds = [*(self.op.results[i] for i in self.carried), *self.outside]
        place = Value("i", INT64)
        gs = [Value(v.name, strong(v.type)) for v in seeds]
        with b.block() as written:
            inner = Cotangents(b, sweep.active)
            for value, g in zip(self.outside, gs[len(self.carried) :]):
                inner.set(value, g)
            for i, g in zip(self.carried, gs):
                inner.add(self.body.results[i], g)
            sweep.block(self.body, inner)
            written.results = [inner.filled(self.parameters[i]) for i in self.carried]
            written.results += [inner.filled(v) for v in self.outside]
        sweep.restored[self.index] = place

        def keep(values: list[Value]) -> None:
            self.read = {v: Value(v.name, v.type) for v in values}
            sweep.restored.update(self.read)

        carried = set(self.parameters)
        sweep.finish(self.body, written, lambda v: size(v.type) if v in carried else np.inf, keep, _again)
        rename(written, sweep.restored)
        return Function("step", [place, *self.read.values(), *gs], written)

    def choose_states(self) -> None:
        """Choose the carried variables to save: those that the backward step reads, and those that determine them."""
        states = {i for i, p in enumerate(self.parameters) if p in self.read}
        self.plain.operations = [_quiet(op) for op in self.plain.operations if op.results]
        while True:
            found = sorted(states)
            body = Copy().block(Block(self.plain.parameters, self.plain.operations, self.plain.results))
            body.results = [body.results[i] for i in found]
            (index, *inputs), body.parameters = body.parameters, []
            advance = remove_dead_code(Function("advance", [index, *inputs], body))
            used = {*uses(body.operations), *body.results}
            states |= {i for i, p in enumerate(inputs) if p in used}
            if len(states) == len(found):
                break
        advance.parameters = [index, *(inputs[i] for i in found)]
        self.states, self.advance = found, advance

    @property
    def types(self) -> list[ArrayType]:
        return [self.parameters[i].type for i in self.states]

    @property
    def slots(self) -> int:
        """The number of states that a level saves: a power of two."""
        room = MEMORY / max(1, sum(map(size, self.types)))
        return 2 ** int(log(min(MOST, max(LEAST, room)), 2))

    @property
    def levels(self) -> int:
        return max(2, ceil(log(LENGTH) / log(self.slots)))

    def buffers(self, b: Builder) -> list[Value]:
        """Buffers for states; writes to the last slot are discarded."""
        return [b.zeros((self.slots + 1, *t.shape), t.dtype) for t in self.types]

    def stored(
        self, b: Builder, buffers: Sequence[Value], place: Sequence[Value], stride: Value, state: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Save a state if one is due; return the buffers and the next place.

        A place is a pair: the number of iterations since a state was saved, and the slot for the next one.
        """
        since, number = place
        zero, one, last = (b.constant(n, np.int64) for n in (0, 1, self.slots))
        slot = b.where(b.ufunc(np.equal, since, zero), number, last)
        kept = [b.setitem(x, [slot], v, _row(v)) for x, v in zip(buffers, state)]
        since = b.ufunc(np.add, since, one)
        due = b.ufunc(np.equal, since, stride)
        return kept, [b.where(due, zero, since), b.where(due, b.ufunc(np.add, number, one), number)]

    def start(self, b: Builder) -> list[Value]:
        """The place before the first iteration."""
        return [b.constant(0, np.int64), b.constant(0, np.int64)]

    def keep_in_range(self) -> Kept:
        """Make a ``range`` loop of the forward sweep save states."""
        sweep, op, forward = self.sweep, self.op, self.sweep.forward
        before: list[Operation] = []
        with forward.writing(before):
            bounds = [forward.cast(v, np.int64) for v in op.operands[:3]]
            stride = stride_for(forward, iterations_of(forward, *bounds), self.slots)
            extra = [*self.start(forward), *self.buffers(forward)]
        sweep.insert(self.block, op, before)
        op.operands += extra
        since, number, *rooms = parameters = [Value("states", x.type) for x in extra]
        self.body.parameters += parameters
        with forward.writing(self.body.operations):
            state = [self.parameters[i] for i in self.states]
            stored, place = self.stored(forward, rooms, [since, number], stride, state)
        self.body.results += [*place, *stored]
        made = [sweep.added_result(op, self.block, x) for x in parameters]
        b = sweep.builder
        n = iterations_of(b, *(b.cast(v, np.int64) for v in op.operands[:3]))
        return Kept(n, stride_for(b, n, self.slots), made[:2], made[2:])

    def keep_in_while(self) -> Kept:
        """Make a ``while`` count and save states: it becomes two nested loops; the outer thins out a full buffer."""
        sweep, op, forward = self.sweep, self.op, self.sweep.forward
        condition = op.blocks[0]
        before: list[Operation] = []
        with forward.writing(before):
            zero, one = (forward.constant(n, np.int64) for n in (0, 1))
            extra = [one, zero, *self.start(forward), *self.buffers(forward)]
        sweep.insert(self.block, op, before)
        n = len(op.operands)
        holds = Function("condition", condition.parameters, Block([], condition.operations, condition.results))
        slots, half = (forward.constant(n, np.int64) for n in (self.slots, self.slots // 2))

        with forward.block([Value(v.name, v.type) for v in [*op.operands, *extra]]) as test:
            test.results = inline(forward, holds, test.parameters[:n])
        with forward.block([Value(v.name, v.type) for v in [*op.operands, *extra]]) as outer:
            stride = outer.parameters[n]
            carried = [*outer.parameters[:n], *outer.parameters[n + 1 :]]
            with forward.block([Value(v.name, v.type) for v in carried]) as inner_test:
                more = inline(forward, holds, inner_test.parameters[:n])
                room = forward.ufunc(np.less, inner_test.parameters[n + 2], slots)
                inner_test.results = [forward.ufunc(np.logical_and, *more, room)]
            count, since, number, *rooms = added = [Value(v.name, v.type) for v in carried[n:]]
            self.body.parameters += added
            with forward.writing(self.body.operations):
                state = [self.parameters[i] for i in self.states]
                stored, place = self.stored(forward, rooms, [since, number], stride, state)
                self.body.results += [forward.ufunc(np.add, count, one), *place, *stored]
            types = [v.type for v in carried]
            found = forward.operation("while", None, carried, types, blocks=[inner_test, self.body])
            (full,) = inline(forward, holds, found[:n])
            number = forward.where(full, half, found[n + 2])
            wider = forward.where(full, forward.ufunc(np.add, stride, stride), stride)
            halved = [_halved(forward, x, full, self.slots) for x in found[n + 3 :]]
            outer.results = [*found[:n], wider, *found[n : n + 2], number, *halved]
        op.operands = [*op.operands, *extra]
        op.blocks = [test, outer]
        stride, count, *made = (sweep.added_result(op, self.block, p) for p in outer.parameters[n:])
        return Kept(count, stride, made[:2], made[2:])


@dataclass
class Kept:
    """Saved states, with the number of iterations, the stride, and the place of the next state."""

    iterations: Value
    stride: Value
    place: Sequence[Value]
    states: Sequence[Value]

    def segments(self, b: Builder) -> Value:
        """The number of segments, each of which begins at a saved state."""
        since, number = self.place
        begun = b.ufunc(np.greater, since, b.constant(0, np.int64))
        return b.ufunc(np.add, number, b.cast(begun, np.int64))


class _Backward:
    """Writes the backward sweep over saved states."""

    def __init__(self, loop: _Loop, step: Function) -> None:
        self.loop, self.step = loop, step
        self.b = loop.sweep.builder
        self.zero, self.one = (self.b.constant(n, np.int64) for n in (0, 1))

    def write(self, kept: Kept, cotangents: Cotangents) -> None:
        loop = self.loop
        gs = [cotangents.filled(loop.op.results[i]) for i in loop.carried]
        gs += [cotangents.filled(v) for v in loop.outside]
        rooms = [self.loop.buffers(self.b) for _ in range(loop.levels - 1)]
        *_, found = self.segments(self.zero, kept, rooms, gs)
        for value, g in zip(loop.outside, found[len(loop.carried) :]):
            cotangents.set(value, g)
        for i, g in zip(loop.carried, found):
            cotangents.add(loop.initial[i], g)

    def down(self, n: Value, body: Callable[..., Sequence[Value]], initial: Sequence[Value]) -> list[Value]:
        """A loop over n - 1, ..., 0."""
        b = self.b
        minus = b.constant(-1, np.int64)
        return b.range_(b.ufunc(np.subtract, n, self.one), minus, minus, body, initial)

    def segments(
        self, first: Value, kept: Kept, rooms: list[list[Value]], gs: list[Value]
    ) -> tuple[list[list[Value]], list[Value]]:
        """Reverse the iterations from ``first`` on, for which states were saved.

        ``rooms`` are the buffers of further levels; they are returned with the cotangents.
        """
        b = self.b
        flat = [x for room in rooms for x in room]
        width = len(self.loop.states)

        def given_back(values: Sequence[Value]) -> tuple[list[list[Value]], list[Value]]:
            back = [list(values[i * width : (i + 1) * width]) for i in range(len(rooms))]
            return back, list(values[len(flat) :])

        def segment(j: Value, *carried: Value) -> list[Value]:
            free, gs = given_back(carried)
            offset = b.ufunc(np.multiply, j, kept.stride)
            length = b.ufunc(np.minimum, kept.stride, b.ufunc(np.subtract, kept.iterations, offset))
            state = [b.getitem(x, [j], _row_of(x), []) for x in kept.states]
            free, gs = self.segment(b.ufunc(np.add, first, offset), length, state, free, gs)
            return [*(x for room in free for x in room), *gs]

        return given_back(self.down(kept.segments(b), segment, [*flat, *gs]))

    def segment(
        self, first: Value, n: Value, state: list[Value], rooms: list[list[Value]], gs: list[Value]
    ) -> tuple[list[list[Value]], list[Value]]:
        """Reverse n > 0 iterations from ``first`` on; ``state`` is the state before them."""
        if not rooms:
            return rooms, self.down(n, lambda i, *gs: self.iteration(first, i, state, gs), gs)
        b, loop = self.b, self.loop
        stride = stride_for(b, n, loop.slots)
        width = len(state)

        def advance(k: Value, *carried: Value) -> list[Value]:
            state, place, room = carried[:width], carried[width : width + 2], carried[width + 2 :]
            stored, place = loop.stored(b, room, place, stride, state)
            return [*self.advanced(b.ufunc(np.add, first, k), state), *place, *stored]

        last = b.ufunc(np.subtract, n, self.one)  # the state after the last iteration is not needed
        found = b.range_(self.zero, last, self.one, advance, [*state, *loop.start(b), *rooms[0]])
        room, place = loop.stored(b, found[width + 2 :], found[width : width + 2], stride, found[:width])
        rest, gs = self.segments(first, Kept(n, stride, place, room), rooms[1:], gs)
        return [room, *rest], gs

    def iteration(self, first: Value, i: Value, state: list[Value], gs: Sequence[Value]) -> list[Value]:
        """Reverse iteration ``first + i``, from the state before ``first``."""
        b, loop = self.b, self.loop
        run = lambda k, *state: self.advanced(b.ufunc(np.add, first, k), state)  # noqa: E731
        state = b.range_(self.zero, i, self.one, run, state)
        by_place = dict(zip(loop.states, state))
        given = {loop.parameters[i]: x for i, x in by_place.items()}
        read = [given[v] for v in loop.read]
        return inline(b, self.step, [self.index(b.ufunc(np.add, first, i)), *read, *gs])

    def advanced(self, k: Value, state: Sequence[Value]) -> list[Value]:
        """The state after iteration k."""
        return inline(self.b, self.loop.advance, [self.index(k), *state])

    def index(self, k: Value) -> Value:
        """The value of the loop's index in iteration k."""
        if self.loop.op.kind == "while":
            return k
        b = self.b
        start, _, step = (b.cast(v, np.int64) for v in self.loop.op.operands[:3])
        return b.ufunc(np.add, start, b.ufunc(np.multiply, k, step))


def stride_for(b: Builder, n: Value, slots: int) -> Value:
    """The least stride at which ``slots`` states (a power of two) suffice for n iterations."""
    up = b.ufunc(np.add, n, b.constant(slots - 1, np.int64))
    shifted = b.ufunc(np.right_shift, up, b.constant(slots.bit_length() - 1, np.int64))
    return b.ufunc(np.maximum, shifted, b.constant(1, np.int64))


def _row(value: Value) -> tuple[str, ...]:
    return ("i", *(":" for _ in value.type.shape))


def _row_of(buffer: Value) -> tuple[str, ...]:
    return ("i", *(":" for _ in buffer.type.shape[1:]))


def _halved(b: Builder, x: Value, full: Value, slots: int) -> Value:
    """Drop every second state if the buffer is full."""
    zero, rest = b.constant(0, np.int64), [":" for _ in x.type.shape[1:]]
    half = b.getitem(x, [zero], (("s", 2), *rest), [slots // 2])
    return b.where(full, b.setitem(x, [zero], half, (("s", 1), *rest)), x)


def _again(op: Operation) -> float:
    """The cost of recomputation in a backward step: small for everything, inner loops too; less work is preferred."""
    return np.inf if not op.results else 1e-9 * min(running_cost(op), 1e6)


def _quiet(op: Operation) -> Operation:
    """Mark a recomputed operation as free of effects, so that it can be removed where its results are unused."""
    op.may_raise = False
    for block in op.blocks:
        block.operations = [_quiet(inner) for inner in block.operations if inner.results]
    return op


def iterations_of(b: Builder, start: Value, stop: Value, step: Value) -> Value:
    """The length of a range: (stop - start) / step, rounded up, at least 0."""
    below = b.ufunc(np.floor_divide, b.ufunc(np.subtract, start, stop), step)
    return b.ufunc(np.maximum, b.ufunc(np.negative, below), b.constant(0, np.int64))
