"""The adjoint of a loop in limited memory: it is reversed segment by segment, from states that were held.

The forward sweep runs the loop in *legs*, and holds the state before each of them (a snapshot). Where the number of
iterations is known before the loop runs, a binomial schedule gives the lengths of the legs (``ir.schedules``); a
``while`` has legs of equal length, and drops every second snapshot when all places are taken. The backward sweep visits
the segments from last to first. It advances from the last snapshot to the beginning of the segment, holds states on the
way in the places that have become free, by the same schedule, and then runs the segment's own forward and backward
sweeps: those of a small function, which are written like any other. ``ir.memory_policies`` chooses the number of
snapshots and the length of a segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.memory_policies import MOST_ITERATIONS, Plan, Policy
from ...ir.schedules import split
from ...ir.typed import FLOAT64, INT64, STACK, callback
from ...rules.connected import connected
from ...values.spilled import Offloaded
from ..inline import free_values, inline
from .cotangents import Cotangents, as_type, strong
from .segments import Loop, iterations_of

if TYPE_CHECKING:
    from .sweep import Sweep


def applies(op: Operation) -> bool:
    """Whether a loop can be reversed in this way: its state can be held in arrays, and it does not ask Python."""
    body = op.blocks[-1]
    asks = any(inner.callee is callback and inner.results for inner in walk(body))
    return not asks and all(v.type is not STACK for v in [*body.parameters, *free_values(body, set())])


def adjoint(sweep: Sweep, op: Operation, block: Block, cotangents: Cotangents, policy: Policy) -> bool:
    """Write the adjoint of a loop in ``block``; at least one of its results has a cotangent.

    Return False, and write nothing, if the policy is to store everything.
    """
    loop = Loop(sweep, op)
    plan = loop.planned(policy)
    if plan is None:
        return False
    states = Offloaded(policy.directory) if plan.is_offloaded else None
    _Backward(loop, plan, _Forward(loop, block, plan, states).write(), states).write(cotangents)
    return True


class _InMemory:
    """The places for snapshots while a sweep is written, and the lengths of the legs between them.

    What is carried is: the number of snapshots, the iterations at which they were taken, and the states themselves.
    One place more than the plan allows is for the beginning of the segment that is reversed next.
    """

    def __init__(self, loop: Loop, plan: Plan, b: Builder) -> None:
        self.loop, self.plan, self.b = loop, plan, b
        self.zero, self.one, self.length = (b.constant(n, np.int64) for n in (0, 1, plan.segment))

    def empty(self) -> list[Value]:
        b, rows = self.b, self.plan.snapshots + 1
        return [self.zero, b.zeros((rows,), np.int64), *(b.zeros((rows, *t.shape), t.dtype) for t in self.loop.types)]

    def held(self, kept: Sequence[Value], at: Value, state: Sequence[Value]) -> list[Value]:
        """Hold the state before iteration ``at``."""
        b = self.b
        number, places, *rooms = kept
        rooms = [b.setitem(x, [number], b.cast(v, v.type.dtype), _row(v)) for x, v in zip(rooms, state)]
        return [b.ufunc(np.add, number, self.one), b.setitem(places, [number], at, ("i",)), *rooms]

    def first(self, kept: Sequence[Value], segment: Value) -> tuple[list[Value], list[Value]]:
        """What is still held when a segment is reversed, and the state before it, where that of each segment is held."""
        return [], self.state(kept[2:], segment)

    def last(self, kept: Sequence[Value]) -> tuple[Value, Value, list[Value]]:
        """The number of the last snapshot, its iteration, and its state."""
        b = self.b
        number, places, *rooms = kept
        top = b.ufunc(np.subtract, number, self.one)
        return top, b.getitem(places, [top], ("i",), []), self.state(rooms, top)

    def state(self, rooms: Sequence[Value], number: Value) -> list[Value]:
        return [as_type(self.b, self.b.getitem(x, [number], _row_of(x), []), t) for x, t in zip(rooms, self.loop.types)]

    def leg(self, number: Value, at: Value, target: Value) -> Value:
        """How far to run from the last of ``number`` snapshots, before iteration ``at``, towards a segment."""
        b = self.b
        segments = b.ufunc(np.floor_divide, b.ufunc(np.subtract, target, at), self.length)
        left = b.ufunc(np.subtract, b.constant(self.plan.snapshots + 1, np.int64), number)
        two = b.constant(2, np.int64)
        given = [b.ufunc(np.maximum, b.ufunc(np.add, segments, self.one), two), b.ufunc(np.maximum, left, self.one)]
        return b.ufunc(np.multiply, b.cast(connected.trace_into(b, split, given, {}), np.int64), self.length)


class _InFiles:
    """The states of all segments, in a file. What is carried is the number of the last one, which leads to those before.

    A state that has been read is dropped, so that a backward sweep runs once. The numbers are floats, so that a second
    derivative sees that they stand for values that depend on its variables, and is refused.
    """

    def __init__(self, loop: Loop, plan: Plan, b: Builder, states: Offloaded) -> None:
        self.loop, self.b, self.states = loop, b, states
        self.zero, self.one, self.length = (b.constant(n, np.int64) for n in (0, 1, plan.segment))

    def empty(self) -> list[Value]:
        return [self.b.constant(-1.0, np.float64)]

    def held(self, kept: Sequence[Value], at: Value, state: Sequence[Value]) -> list[Value]:
        return self.b.call(callback, [*kept, *state], [FLOAT64], function=self.states.put)

    def first(self, kept: Sequence[Value], segment: Value) -> tuple[list[Value], list[Value]]:
        if not kept:
            return [], []
        b, types = self.b, [strong(t) for t in self.loop.types]
        before, *state = b.call(callback, list(kept), [FLOAT64, *types], function=self.states.take)
        return [before], [as_type(b, v, t) for v, t in zip(state, self.loop.types)]


def _schedule(loop: Loop, plan: Plan, b: Builder, states: Offloaded | None) -> Any:
    return _InMemory(loop, plan, b) if states is None else _InFiles(loop, plan, b, states)


@dataclass
class _Held:
    """What the forward sweep leaves: the number of iterations, and the snapshots (``kept``).

    ``is_whole``: the beginning of every segment is held, in order.
    """

    iterations: Value
    kept: list[Value]
    is_whole: bool


class _Forward:
    """Makes the loop of the forward sweep hold states."""

    def __init__(self, loop: Loop, block: Block, plan: Plan, states: Offloaded | None) -> None:
        self.loop, self.block, self.plan = loop, block, plan
        self.sweep, self.op = loop.sweep, loop.op
        self.b = self.sweep.forward
        self.schedule = _schedule(loop, plan, self.b, states)

    def write(self) -> _Held:
        length = self.op.iterations
        is_whole = (
            self.plan.is_offloaded or length is not None and -(-length // self.plan.segment) <= self.plan.snapshots
        )
        if self.loop.bounds:
            if not self.loop.types:
                return _Held(iterations_of(self.sweep.builder, *self.loop.bounds), [], True)
            return self.counted(is_whole)
        return self.uncounted()

    def counted(self, is_whole: bool) -> _Held:
        b, schedule = self.b, self.schedule
        before: list[Operation] = []
        with b.writing(before):
            n = iterations_of(b, *self.loop.bounds)
            rest = b.ufunc(np.maximum, b.ufunc(np.subtract, n, schedule.one), schedule.zero)
            target = b.ufunc(np.multiply, b.ufunc(np.floor_divide, rest, schedule.length), schedule.length)
            extra = [schedule.zero, *schedule.empty()]
        self.sweep.insert(self.block, self.op, before)

        def leg(p: Value, kept: list[Value]) -> Value:
            left = b.ufunc(np.subtract, n, p)
            if is_whole:
                return b.ufunc(np.minimum, schedule.length, left)
            return b.where(b.ufunc(np.less, p, target), schedule.leg(kept[0], p, target), left)

        def body(state: list[Value], p: Value, kept: list[Value]) -> list[Value]:
            kept = schedule.held(kept, p, [state[i] for i in self.loop.states])
            stop = b.ufunc(np.add, p, leg(p, kept))
            step = b.cast(self.loop.bounds[2], np.int64)
            bounds = [self.loop.index_at(b, p), self.loop.index_at(b, stop), step]
            types = [v.type for v in state]
            found = b.operation("range", None, [*bounds, *state], types, blocks=[self.loop.body])
            return [*found, stop, *kept]

        made = self.replaced(extra, lambda state, p, kept: b.ufunc(np.less, p, n), body)
        n = iterations_of(self.sweep.builder, *self.loop.bounds)
        return _Held(n, made[1:], is_whole)

    def uncounted(self) -> _Held:
        """Count the iterations of a ``while``, and hold states at equal distances."""
        b, schedule = self.b, self.schedule
        most = self.plan.snapshots - self.plan.snapshots % 2  # an even number, of which half stays
        thins = not self.plan.is_offloaded
        holds = Function("holds", self.op.blocks[0].parameters, Block([], *_parts(self.op.blocks[0])))
        before: list[Operation] = []
        with b.writing(before):
            distance = schedule.length if most else b.constant(MOST_ITERATIONS, np.int64)
            extra = [schedule.zero, distance, *schedule.empty()]
        self.sweep.insert(self.block, self.op, before)

        def test(state: list[Value], p: Value, kept: list[Value]) -> Value:
            return inline(b, holds, state)[0]

        def body(state: list[Value], p: Value, kept: list[Value]) -> list[Value]:
            distance, *kept = self.thinned(kept, most) if thins else kept
            kept = schedule.held(kept, p, [state[i] for i in self.loop.states])
            stop = b.ufunc(np.add, p, distance)
            carried = [*state, p]
            with b.block([Value(v.name, v.type) for v in carried]) as inner_test:
                *now, q = inner_test.parameters
                more = inline(b, holds, now)[0]
                inner_test.results = [b.ufunc(np.logical_and, more, b.ufunc(np.less, q, stop))]
            q = Value("count", INT64)
            inner = self.loop.body
            inner.parameters.append(q)
            with b.writing(inner.operations):
                inner.results.append(b.ufunc(np.add, q, schedule.one))
            found = b.operation("while", None, carried, [v.type for v in carried], blocks=[inner_test, inner])
            return [*found, distance, *kept]

        made = self.replaced(extra, test, body)
        return _Held(made[0], made[2:], self.plan.is_offloaded)

    def thinned(self, kept: list[Value], most: int) -> list[Value]:
        """Drop every second snapshot, and double the distance between them, if all places are taken."""
        b, schedule = self.b, self.schedule
        two, half, all_ = (b.constant(n, np.int64) for n in (2, most // 2, most))
        distance, number, *rows = kept
        is_full = b.ufunc(np.equal, number, all_) if most else b.constant(False, bool)

        def moved(i: Value, *rows: Value) -> list[Value]:
            twice = b.ufunc(np.multiply, i, two)
            return [b.setitem(x, [i], b.getitem(x, [twice], _row_of(x), []), _row_of(x)) for x in rows]

        rows = b.range_(schedule.zero, b.where(is_full, half, schedule.zero), schedule.one, moved, rows)
        distance = b.where(is_full, b.ufunc(np.add, distance, distance), distance)
        return [distance, b.where(is_full, half, number), *rows]

    def replaced(self, extra: list[Value], test: Callable[..., Value], body: Callable[..., list[Value]]) -> list[Value]:
        """Make the loop a ``while`` over legs that carries more variables, and return their results."""
        b, op, width = self.b, self.op, len(self.loop.initial)
        carried = [*self.loop.initial, *extra]
        types = [*(p.type for p in self.loop.parameters), *(v.type for v in extra)]
        blocks = []
        for write in (test, body):
            with b.block([Value(v.name, t) for v, t in zip(carried, types)]) as made:
                state, p, kept = made.parameters[:width], made.parameters[width], made.parameters[width + 1 :]
                found = write(state, p, kept)
                made.results = [found] if isinstance(found, Value) else found
            blocks.append(made)
        op.kind, op.callee, op.operands, op.blocks = "while", None, carried, blocks
        return [self.sweep.added_result(op, self.block, v) for v in blocks[1].parameters[width:]]


class _Backward:
    """Writes the backward sweep over the segments."""

    def __init__(self, loop: Loop, plan: Plan, held: _Held, states: Offloaded | None) -> None:
        self.loop, self.plan, self.held = loop, plan, held
        self.b = loop.sweep.builder
        self.schedule = _schedule(loop, plan, self.b, states)

    def write(self, cotangents: Cotangents) -> None:
        loop, b, schedule, held = self.loop, self.b, self.schedule, self.held
        result = dict(zip(loop.parameters, loop.op.results))
        gs = [cotangents.filled(result.get(v, v)) for v in loop.active]
        up = b.ufunc(np.add, held.iterations, b.constant(self.plan.segment - 1, np.int64))
        segments = b.ufunc(np.floor_divide, up, schedule.length)
        down = b.constant(-1, np.int64)
        first = b.ufunc(np.subtract, segments, schedule.one)
        carried = held.kept if self.plan.is_offloaded or not held.is_whole else []

        def body(t: Value, *now: Value) -> list[Value]:
            kept, gs = list(now[: len(carried)]), list(now[len(carried) :])
            target = b.ufunc(np.multiply, t, schedule.length)
            if held.is_whole:
                kept, state = schedule.first(kept or held.kept, t)
            else:
                kept = self.advanced(target, kept)
                kept[0], _, state = schedule.last(kept)
            left = b.ufunc(np.subtract, held.iterations, target)
            count = b.ufunc(np.minimum, left, schedule.length)
            return [*kept, *loop.reversed_segment(b, target, count, dict(zip(loop.states, state)), gs)]

        found = b.range_(first, down, down, body, [*carried, *gs])
        initial = dict(zip(loop.parameters, loop.initial))
        for value, g in zip(loop.active, found[len(carried) :]):
            if value in initial:
                cotangents.add(initial[value], g)
            else:
                cotangents.set(value, g)

    def advanced(self, target: Value, kept: list[Value]) -> list[Value]:
        """Advance from the last snapshot to the beginning of a segment, and hold states on the way."""
        b, loop, schedule = self.b, self.loop, self.schedule

        def is_before(*kept: Value) -> Value:
            return b.ufunc(np.less, schedule.last(kept)[1], target)

        def leg(*kept: Value) -> list[Value]:
            _, at, state = schedule.last(kept)
            stop = b.ufunc(np.add, at, schedule.leg(kept[0], at, target))
            state = loop.run(b, at, stop, lambda i, *state: inline(b, loop.advance, [i, *state]), state)
            return schedule.held(kept, stop, state)

        return [*b.while_(is_before, leg, kept)]


def _parts(block: Block) -> tuple[list[Operation], list[Value]]:
    return block.operations, block.results


def _row(state: Value) -> tuple[str, ...]:
    """The index of a row in an array of such states."""
    return ("i", *(":" for _ in state.type.shape))


def _row_of(rooms: Value) -> tuple[str, ...]:
    """The index of a row in an array."""
    return ("i", *(":" for _ in rooms.type.shape[1:]))
