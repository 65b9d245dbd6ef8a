"""Loops. The iterations of a loop whose range is known are interpreted at once, each in lanes of its own, or one after the other.

At once, a carried value has in each lane what the iteration before left; a loop over 100,000 elements is then as much work as a few
operations on arrays of that size. Carried arrays that are too large for that are ``Shared``, as is what does not settle in a few sweeps:
what it may depend on in any iteration is one set. A loop whose arrays depend on earlier iterations, as that of a simulation over time, is interpreted
one iteration after the other, which keeps them apart. Where the number of iterations is not known, carried values get what they may depend on
in any iteration, by sweeps until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.dynamic import Block, Operation, Value, operands, walk
from ...ir.typed import STACK, add_at, setitem
from .abstract import Abstract, Lanes, Shared, check_rows, joined, merged
from .folds import is_fold
from .interpreter import STACKED, Interpreter
from .patterns import NotSparse, equal, grouped, is_full

FEW = 4
"""So many iterations are always interpreted one after the other."""
MOST_IN_TURN = 200_000
"""The most operations, of some microseconds each, that are interpreted for the iterations of a loop one after the other."""
MOST_WORK = 400_000_000
"""The most entries that carried values may have, over all iterations that are interpreted one after the other."""
MOST_TIMES = 2_000
"""The most iterations of a ``while`` whose condition is known."""
MOST_LANED = 3_000_000
"""The most elements, over all lanes, of a carried array of which each lane has its own."""
SETTLED, MOST_SWEEPS = 3, 40
"""Sweeps until carried values that still change become shared, and until a loop is given up."""


def cost(block: Block, times: float = 1.0) -> float:
    """Estimate how many operations on small arrays interpreting a block takes, with ``times`` lanes."""
    total = 0.0
    for op in block.operations:
        if op.kind in ("range", "while"):
            n = op.iterations
            total += 3 * cost(op.blocks[-1], times * (100 if n is None else n))
        elif op.kind == "if":
            total += sum(cost(b, times) for b in op.blocks)
        else:
            made = op.positional[-1:] if op.callee in (setitem, add_at) and times > 1 else op.results
            sizes = [np.prod(v.type.bounds, dtype=float) for v in made if v.type is not STACK]
            total += max(1.0, times * max(sizes, default=0.0) / 2_000)
    return total


@dataclass
class Carried:
    """A carried value of a loop: its initial value, the parameter and the result of the body.

    ``kind`` is ``"same"``, ``"counter"`` (an int that grows by ``step``), ``"outer"`` (an array that a loop around shares), ``"laned"``
    (each lane has its own), ``"fold"`` (it affects itself alone) or ``"shared"``.
    """

    kind: str
    initial: Any
    parameter: Value
    result: Value
    step: int = 0
    now: Any = None
    """The parameter: a value for each lane, or the shared array."""


class Loops(Interpreter):
    """Interprets loops, too; ``work`` is the number of entries of carried values, over all iterations one after the other."""

    def __init__(self, kinds: int) -> None:
        super().__init__(kinds)
        self.work = 0

    def loop(self, op: Operation) -> list[Any]:
        if op.kind == "while":
            return self.while_known(op)
        bounds = [self.get(v) for v in op.operands[:3]]
        if any(b.known is None for b in bounds):
            return self.any_times(op, [self.fetch(v) for v in op.initial])
        for b in bounds:
            self.consult(b)
        start, stop, step = (np.broadcast_to(b.known[:, 0], self.lanes.count) for b in bounds)  # type: ignore[index]
        trips = np.maximum(0, -((start - stop) // np.where(step == 0, 1, step)))
        return self.counted(op, start, step, trips)

    def counted(self, op: Operation, start: np.ndarray, step: np.ndarray, trips: np.ndarray) -> list[Any]:
        initial = [self.fetch(v) for v in op.initial]
        n = int(trips.max(initial=0))
        if n == 0:
            return initial
        is_uniform = n == int(trips.min())
        may_turn = is_uniform and n * cost(op.blocks[0]) <= MOST_IN_TURN
        has_stack = any(isinstance(x, tuple) for x in initial)
        if is_uniform and n <= FEW or may_turn and has_stack:
            return self.in_turn(op, start, step, n, initial)
        if has_stack:
            raise NotSparse(STACKED)
        if _repeats(op):
            return self.in_turn(op, start, step, n, initial) if may_turn else self.any_times(op, initial)
        count, states = len(self.interactions), [(s, s.state()) for s in self.shared]
        try:
            found, is_exact = self.at_once(op, start, step, trips, initial)
        except NotSparse:
            if not may_turn:
                raise
            found, is_exact = [], False
        if is_exact or not may_turn:
            return found
        del self.interactions[count:]
        for shared, state in states:
            shared.restore(state)
        del self.shared[len(states) :]
        return self.in_turn(op, start, step, n, initial)

    def in_turn(self, op: Operation, start: np.ndarray, step: np.ndarray, n: int, carried: list[Any]) -> list[Any]:
        repeats = _repeats(op)
        if (start == start[0]).all() and (step == step[0]).all():
            start, step = start[:1], step[:1]
        for k in range(n):
            index = self.of(1, (start + k * step)[:, None])
            versions = [s.version for s in self.shared]
            before, carried = carried, self.block(op.blocks[0], self.lanes, [index, *carried])
            is_settled = versions == [s.version for s in self.shared] and all(map(_is_same, before, carried))
            if repeats and is_settled:
                break
            patterns = [p for x in carried if isinstance(x, Abstract) for p in x.patterns if p is not None]
            self.work += sum(p.nnz for p in patterns)
            if self.work > MOST_WORK or any(map(is_full, patterns)):
                raise NotSparse("an array that a loop carries depends on too many elements")
        return carried

    # All iterations at once

    def at_once(
        self, op: Operation, start: np.ndarray, step: np.ndarray, trips: np.ndarray, initial: Sequence[Any]
    ) -> tuple[list[Any], bool]:
        """Return the results of a loop, and whether they are as exact as those of one iteration after the other."""
        around, body, outer = self.lanes, op.blocks[0], len(self.shared)
        check_rows(int(trips.sum()))
        lanes = Lanes(around, np.repeat(np.arange(around.count), trips))
        offset = np.arange(lanes.count) - np.repeat(np.cumsum(trips) - trips, trips)
        index = self.of(1, (start[lanes.parents] + offset * step[lanes.parents])[:, None])
        parameters, used = body.parameters[1:], set(operands(body))
        carried = [self.carried(*each, body, lanes) for each in zip(initial, parameters, body.results, strict=True)]
        for c in carried:
            self.begin(c, body, lanes, offset)
        is_exact = True
        for sweep in range(1, MOST_SWEEPS + 1):
            before = [(s, s.reads, s.version) for s in self.shared]
            count = len(self.interactions)
            results = self.block(body, lanes, [index, *(c.now for c in carried)])
            again = False
            for c, r, p in zip(carried, results, parameters):
                if c.kind in ("shared", "outer") and r is not c.now:
                    is_exact = False
                    self.replace(c.now, self.whole(r, lanes), lanes)
                elif c.kind == "laned":
                    last, c.now = c.now, _shifted(c.initial, self.whole(r, lanes), lanes, offset)
                    if p in used and not _equal(last, c.now):
                        again = True
                        if sweep >= SETTLED:
                            is_exact = is_exact and c.initial.size == 1
                            c.kind, c.now = "shared", self.share(c, body)
            for s, reads, version in before:
                if s.version != version and s.reads != reads:
                    again = True
                    is_exact = is_exact and sweep < SETTLED
            if not again:
                break
            del self.interactions[count:]
        else:
            raise NotSparse("what a loop depends on did not settle")
        found = [self.after(c, r, lanes, trips) for c, r in zip(carried, results)]
        del self.shared[outer:]
        # An index that follows from the iteration before is not known here.
        unknown = [
            p in used and p.type.dtype.kind == "i" and c.kind in ("laned", "shared")
            for c, p in zip(carried, parameters)
        ]
        return found, is_exact and not any(unknown)

    def begin(self, c: Carried, body: Block, lanes: Lanes, offset: np.ndarray) -> None:
        """Set the parameter of a carried value for the first sweep."""
        if c.kind == "laned":
            c.now = _shifted(c.initial, None, lanes, offset)
        elif c.kind == "counter":
            known = c.initial.known[lanes.parents] if len(c.initial.known) > 1 else c.initial.known
            c.now = self.of(1, known + (offset * c.step)[:, None], c.initial.sources)
        elif c.kind == "shared":
            c.now = self.share(c, body)
        elif c.kind == "same":
            c.now = c.initial.in_lanes(lanes.parents)
        else:
            c.now = c.initial if c.kind == "outer" else self.of(c.initial.size)

    def carried(self, x: Any, parameter: Value, result: Value, body: Block, lanes: Lanes) -> Carried:
        if isinstance(x, Shared):
            return Carried("outer", x, parameter, result)
        if result is parameter:
            return Carried("same", x, parameter, result)
        by = _step(parameter, result, body)
        if by is not None and x.known is not None:
            return Carried("counter", x, parameter, result, by)
        if x.size > 1 and (lanes.count * x.size > MOST_LANED or _is_swept(parameter, body)):
            return Carried("shared", x, parameter, result)
        fold = parameter.type.is_inexact and is_fold(body, parameter, result, len(self.none) > 1)
        return Carried("fold" if fold else "laned", x, parameter, result)

    def share(self, c: Carried, body: Block) -> Shared:
        made = Shared.of(c.initial, self.lanes, _writes(body, c.parameter, c.result))
        self.shared.append(made)
        return made

    def replace(self, shared: Shared, x: Abstract, lanes: Lanes) -> None:
        """Note that an iteration leaves x in place of a shared array."""
        at = lanes.within(shared.lanes)
        if x.depends:
            found = self.unions_of_lanes(x, at, shared.lanes.count)
            shared.write(found.filled(shared.lanes.count))
        if not lanes.maybe:
            shared.certain.reshape(-1, x.size)[at] = True

    def unions_of_lanes(self, x: Abstract, at: np.ndarray, count: int) -> Abstract:
        """Return, for each of so many lanes, the union of x over the lanes of which ``at`` gives this number."""
        if not x.depends or x.lanes == 1:
            return Abstract(x.size, None, x.patterns)
        groups = (at[:, None] * x.size + np.arange(x.size)).ravel()
        return Abstract(
            x.size, None, tuple(None if p is None else grouped(p, groups, count * x.size) for p in x.patterns)
        )

    def after(self, c: Carried, result: Any, lanes: Lanes, trips: np.ndarray) -> Any:
        """Return the value of a carried variable after the loop."""
        if c.kind in ("same", "outer"):
            return c.initial
        if isinstance(c.now, Shared):
            return c.now.after()
        if c.kind == "fold":
            added = self.unions_of_lanes(self.whole(result, lanes), lanes.parents, self.lanes.count)
            return self.total([c.initial, added])
        ends = np.cumsum(trips)
        if c.kind == "counter":
            return self.of(1, c.initial.known + (trips * c.step)[:, None], c.initial.sources)
        result = self.whole(result, lanes)
        if trips.all():
            return result.in_lanes(ends - 1)
        ran, skipped = np.flatnonzero(trips), np.flatnonzero(trips == 0)
        return merged([result.in_lanes(ends[ran] - 1), c.initial.in_lanes(skipped)], [ran, skipped], len(trips))

    # An unknown number of iterations

    def while_known(self, op: Operation) -> list[Any]:
        """Interpret a ``while`` one iteration after the other as long as its condition is known."""
        carried = [self.fetch(v) for v in op.operands]
        price = cost(op.blocks[1])
        for n in range(MOST_TIMES):
            (go,) = self.block(op.blocks[0], self.lanes, carried)
            known = None if go.known is None else go.known[:, 0]
            if known is None or known.any() != known.all() or n * price > MOST_IN_TURN:
                break
            self.consult(go)
            if not known.any():
                return carried
            carried = self.block(op.blocks[1], self.lanes, carried)
        return self.any_times(op, carried)

    def any_times(self, op: Operation, carried: list[Any]) -> list[Any]:
        """Return what the results of a loop may depend on after any number of iterations."""
        if any(isinstance(x, tuple) for x in carried):
            raise NotSparse(STACKED)
        here = self.lanes
        index = [self.of(1)] if op.kind == "range" else []
        for sweep in range(MOST_SWEEPS):
            lanes = Lanes(here, np.arange(here.count), maybe=True)
            before = [(s, s.version) for s in self.shared]
            if op.kind == "while":
                self.block(op.blocks[0], lanes, carried)
            found = self.block(op.blocks[-1], lanes, [*index, *carried])
            joint = [x if x is r else self.with_any(x, r, lanes) for x, r in zip(carried, found)]
            if all(map(_is_same, carried, joint)) and all(s.version == version for s, version in before):
                return carried
            if sweep >= MOST_SWEEPS // 2:
                joint = self.widened(carried, joint)
            carried = joint
        raise NotSparse("what a loop depends on did not settle")

    def with_any(self, x: Any, r: Any, lanes: Lanes) -> Any:
        if isinstance(x, Shared):
            self.replace(x, self.whole(r, lanes), lanes)
            return x
        return joined([x, self.whole(r, lanes)], self.lanes.count)

    def widened(self, before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
        """Let each element of the values that still change depend on what any of them depends on."""
        changing = [
            b
            for a, b in zip(before, after)
            if isinstance(a, Abstract) and a is not b and b.depends and not _equal(a, b)
        ]
        if not changing:
            return list(after)
        one = self.total([self.unions(x, np.zeros(x.size, np.int64), 1) for x in changing])
        return [self.elements(one, np.zeros(b.size, np.int64)) if any(b is x for x in changing) else b for b in after]


def _writes(body: Block, parameter: Value, result: Value) -> set[Operation]:
    """Return the writes that make the result of a loop's body out of its parameter, through branches and inner loops.

    What is written to other versions of the array, such as a changed copy, does not count.
    """
    makers = {r: op for op in walk(body) for r in op.results}
    found: set[Operation] = set()
    seen, waiting = {parameter}, [result]
    while waiting:
        value = waiting.pop()
        op = makers.get(value)
        if value in seen or op is None:
            continue
        seen.add(value)
        if op.callee in (setitem, add_at):
            found.add(op)
            waiting.append(op.operands[0])
        elif op.kind != "call":
            k = op.results.index(value)
            waiting += [b.results[k] for b in (op.blocks if op.kind == "if" else op.blocks[-1:])]
            if op.kind != "if":
                waiting.append(op.initial[k])
    return found


def _repeats(op: Operation) -> bool:
    """Whether each iteration of a ``range`` does the same, as a step over time does: its body does not use the index."""
    (body,) = op.blocks
    return body.parameters[0] not in set(operands(body))


def _is_swept(parameter: Value, body: Block) -> bool:
    """Whether the body writes to arrays like this one at places that depend on the loop's index."""
    varying = {body.parameters[0]}
    for op in walk(body):
        if varying.isdisjoint(op.operands):
            continue
        if op.callee in (setitem, add_at) and op.operands[0].type.shape == parameter.type.shape:
            if not varying.isdisjoint(op.positional[1:-1]):
                return True
        varying.update(r for r in op.results if r.type is not STACK and r.type.dtype.kind in "ib")
        if op.kind == "range" and not varying.isdisjoint(op.operands[:3]):
            varying.add(op.blocks[0].parameters[0])
    return False


def _step(parameter: Value, result: Value, body: Block) -> int | None:
    """Return the constant that the body adds to an int in each iteration, if that is all it does to it."""
    if parameter.type.shape or parameter.type.dtype.kind != "i":
        return None
    for op in body.operations:
        if result in op.results and op.callee in (np.add, np.subtract):
            a, b = op.operands
            if a is parameter and b.is_constant:
                return int(b.constant) if op.callee is np.add else -int(b.constant)
            if b is parameter and a.is_constant and op.callee is np.add:
                return int(a.constant)
    return None


def _shifted(initial: Abstract, result: Abstract | None, lanes: Lanes, offset: np.ndarray) -> Abstract:
    """Return what an iteration begins with: the initial value in the first one, and else what the one before left.

    Without a result, which is not known yet, it is empty there.
    """
    first, later = np.flatnonzero(offset == 0), np.flatnonzero(offset)
    before = initial.in_lanes(lanes.parents[first])
    if result is None:
        after = Abstract(initial.size, None, (None,) * len(initial.patterns))
    else:
        after = result.in_lanes(later - 1)
    return merged([before, after], [first, later], lanes.count)


def _is_same(a: Any, b: Any) -> bool:
    return a is b or isinstance(a, Abstract) and isinstance(b, Abstract) and _equal(a, b)


def _equal(a: Abstract, b: Abstract) -> bool:
    if (a.known is None) != (b.known is None):
        return False
    if a.known is not None and not np.array_equal(
        np.broadcast_arrays(a.known, b.known)[0], np.broadcast_arrays(a.known, b.known)[1]
    ):
        return False
    lanes = max(a.lanes, b.lanes)
    return all(equal(p, q) for p, q in zip(a.filled(lanes), b.filled(lanes)))
