"""Strips: operations on arrays of one shape run piece by piece, so that what one leaves for the next stays in the cache.

Loops over whole arrays, one after the other, read and write memory in each. Where several of them follow each other and
element i of each needs nothing but element i of those before it (or their sum along the last axis), they run together:
all of them on the first strip of some hundred elements, then on the next. An array that only these operations use has no
memory but that of one strip.

``gathered`` brings such operations together, ``strips`` decides which of them run by strips, and ``strip_loops`` emits
the loops. As with ``fusion``, the values do not change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value, operands
from ...ir.typed import STACK, ArrayType, Dim, part
from ...passes.index_proofs import Proofs
from .buffers import Placement
from .fusion import FOLDS, accesses, is_array, is_elementwise, is_view
from .liveness import Order, Use
from .overlaps import Overlaps
from .schedule import WRITES

LEAST = 2048  # elements of an array; loops over fewer are not worth it
LEAST_ROW = 16  # elements of a row that is a strip
SIZES = 128, 1024  # elements of a strip, at least and at most
_CACHED = 24 * 2**10  # bytes of all arrays of one strip
_MOST_ROWS = 128 * 2**10  # the same where strips are whole rows
_MOST_DEFERRED = 64  # operations put off until after a run: each is looked at again


@dataclass
class Run:
    """Operations of a block that may run by strips; ``shape`` is that of the arrays they loop over."""

    shape: tuple[Any, ...]
    users: Counter[Value]  # how often operations use a value
    members: list[Operation] = field(default_factory=list)
    updates: list[Operation] = field(default_factory=list)  # members that come last: others read what they overwrite
    rows: set[Value] = field(default_factory=set)  # arrays with one element for each row, made by members
    whole: set[Value] = field(default_factory=set)  # arrays of the shape, made by members
    totals: set[Value] = field(default_factory=set)  # numbers, folded from all elements by members
    updated: set[Value] = field(default_factory=set)  # arrays of other shapes, to a part of which members write

    def admits(self, op: Operation) -> bool:
        """Return whether an operation can be a member; if so, what it makes is noted."""
        if op.kind != "call" or op.may_raise or any(not isinstance(r.type, ArrayType) for r in op.results):
            return False
        if op.callee in WRITES:
            return self._admits_update(op)
        if any(v in self.updated for v in op.positional):
            return False
        shapes = {r.type.shape for r in op.results}
        if len(shapes) != 1:
            return False
        (shape,) = shapes
        if shape == self.shape and self._is_aligned(op):
            self.whole.update(op.results)
        elif self._makes_rows(op, shape):
            self.rows.update(op.results)
        elif op.callee in FOLDS and not shape and op.positional[0].type.shape == self.shape:
            self.totals.update(op.results)
        else:
            return False
        self.members.append(op)
        return True

    def _admits_update(self, op: Operation) -> bool:
        base, *index, value = op.positional
        if "a" in op.named["spec"].constant or value.type.shape != self.shape or value in self.updated:
            return False
        if base in self.whole or base in self.rows:
            return False
        if base in self.updated and (self.users[base] > 1 or not self._may_follow(op, base)):
            return False
        self.updated.update(op.results)
        self.updates.append(op)
        return True

    def _may_follow(self, op: Operation, base: Value) -> bool:
        """Return whether a write may take turns with those that have made its base: they add, or write to one part."""
        made = {r: update for update in self.updates for r in update.results}
        while base in made:
            before = made[base]
            if (op.callee, before.callee) != (typed.add_at, typed.add_at) and part(op) != part(before):
                return False
            base = before.positional[0]
        return True

    def _is_aligned(self, op: Operation) -> bool:
        """Return whether an operation makes an array of the shape, element by element or from an element for each row."""
        if op.callee is typed.broadcast_to:
            return op.positional[0] in self.rows and self._ends_with_one(op.positional[0])
        return is_elementwise(op) and all(v not in self.rows or self._ends_with_one(v) for v in op.positional)

    def _ends_with_one(self, value: Value) -> bool:
        return value.type.shape == (*self.shape[:-1], 1)

    def _makes_rows(self, op: Operation, shape: tuple[Any, ...]) -> bool:
        if len(self.shape) < 2 or not _is_row_length(self.shape[-1]):
            return False
        if shape not in (self.shape[:-1], (*self.shape[:-1], 1)):
            return False
        if op.callee in FOLDS:
            axes = op.named["axis"].constant
            axes = (axes,) if isinstance(axes, int) else tuple(axes)
            return op.positional[0].type.shape == self.shape and axes == (len(self.shape) - 1,)
        if op.callee is typed.reshape:
            return op.positional[0] in self.rows
        of_rows = [v for v in op.positional if v in self.rows]
        if not is_elementwise(op) or not of_rows or any(v.type.shape != shape for v in of_rows):
            return False
        # Arrays from outside are broadcast to the whole shape; without the last axis, they would stand for other elements.
        return len(shape) == len(self.shape) or len(of_rows) == sum(map(is_array, op.positional))


def _is_row_length(n: Any) -> bool:
    return isinstance(n, int) and n >= LEAST_ROW


def _first(op: Operation, users: Counter[Value]) -> Run | None:
    """Return a run that an operation can begin."""
    if op.kind != "call" or op.may_raise or isinstance(op.callee, Function):
        return None
    of = op.positional[:1] if op.callee in FOLDS else op.positional[-1:] if op.callee in WRITES else op.results[:1]
    kind = of[0].type if of else None
    if not isinstance(kind, ArrayType) or not kind.shape or math.prod(kind.bounds) < LEAST:
        return None
    run = Run(kind.shape, users)
    return run if run.admits(op) else None


def gathered(function: Function, proofs: Proofs | None) -> list[Run]:
    """Bring the operations of each run side by side, in the blocks of ``function``; return the runs.

    Operations that may end the program stay where they are: parts of arrays too, but for those that ``proofs`` shows to
    be within their array, or all without ``proofs``.
    """
    runs: list[Run] = []
    users = Counter(v for v in operands(function.block) if not v.is_constant)

    def inside(block: Block) -> None:
        for op in block.operations:
            for inner in op.blocks:
                inside(inner)
        block.operations = _gathered(block.operations, runs, users, proofs)

    inside(function.block)
    return runs


def _gathered(
    operations: Sequence[Operation], runs: list[Run], users: Counter[Value], proofs: Proofs | None
) -> list[Operation]:
    found: list[Operation] = []
    waiting = list(reversed(operations))
    while waiting:
        op = waiting.pop()
        run = _first(op, users) if op.callee not in WRITES or _is_movable(op, proofs) else None
        if run is None:
            found.append(op)
            continue
        before: list[Operation] = []  # those that need nothing of the run
        after: list[Operation] = []  # those that need something of it, but cannot be members
        put_off: set[Value] = set()
        while waiting and len(after) < _MOST_DEFERRED and _is_movable(waiting[-1], proofs):
            op = waiting.pop()
            needed = _needed(op)
            if not put_off.isdisjoint(needed):
                pass
            elif run.totals.isdisjoint(needed) and run.admits(op):
                continue
            elif all(made.isdisjoint(needed) for made in (run.whole, run.rows, run.totals, run.updated)):
                before.append(op)
                continue
            after.append(op)
            put_off.update(op.results)
        run.members += run.updates
        runs.append(run)
        found += [*_gathered(before, runs, users, proofs), *run.members]
        waiting += reversed(after)
    return found


def _needed(op: Operation) -> set[Value]:
    """Return the values that an operation needs: operands, and the lengths of its results."""
    lengths = [n.value for r in op.results if r.type is not STACK for n in r.type.shape if isinstance(n, Dim)]
    return {v for v in (*op.positional, *lengths) if not v.is_constant}


def _is_movable(op: Operation, proofs: Proofs | None) -> bool:
    """Return whether the place of an operation does not matter: it costs little memory and does not end the program."""
    if op.kind != "call" or op.may_raise or isinstance(op.callee, Function):
        return False
    if op.callee is typed.getitem or op.callee in WRITES:
        return proofs is None or op in proofs.in_range
    if op.callee in (typed.stack_push, typed.stack_pop):
        return True
    if any(v.type is STACK for v in (*op.operands, *op.results)):
        return False
    return is_elementwise(op) or is_view(op) or op.callee in FOLDS or op.callee is typed.reshape


@dataclass
class Strip:
    """Operations that run by strips."""

    shape: tuple[Any, ...]
    members: list[Operation]
    of_rows: set[Value]  # arrays with one element for each row
    updated: set[Value]  # arrays that result from writes to a part
    inside: set[Value] = field(default_factory=set)  # arrays that have no memory but a strip's
    is_flat: bool = True  # whether a strip is a piece of the array in C order; else it is a piece of a row
    size: int = 0  # elements of a strip, at most
    start: int = 0
    end: int = 0  # the positions of the first and the last operation


def strips(runs: Iterable[Run], order: Order, lazy: set[Value], overlaps: Overlaps) -> list[Strip]:
    """Return the runs of which it is worth it.

    ``order.uses`` of arrays that a strip reads at other places than it writes are extended to the strip's end, so that
    no operation of the strip writes there.
    """
    found = []
    for run in runs:
        strip = _strip(run, order, lazy)
        if strip is not None:
            found.append(strip)
            _keep_until_the_end(strip, order, lazy, overlaps)
    return found


def _strip(run: Run, order: Order, lazy: set[Value]) -> Strip | None:
    made = run.whole | run.rows
    loops = [
        op for op in run.members if any(r not in lazy and r not in run.rows for r in op.results) or op.callee in FOLDS
    ]
    if len(loops) < 2:
        return None
    strip = Strip(run.shape, run.members, run.rows, run.updated)
    members = set(run.members)
    escaping: dict[Value, bool] = {}

    def escapes(value: Value) -> bool:
        """Return whether an operation outside uses a value, or what is computed where that value is used."""
        if value not in escaping:
            escaping[value] = any(
                user is None
                or user not in members
                or any((r in lazy or user.callee is typed.reshape) and escapes(r) for r in user.results)
                for user in order.users[value]
            )
        return escaping[value]

    strip.inside = {r for op in run.members for r in op.results if r in made and r not in lazy and not escapes(r)}
    around = {v for op in run.members for v in read(op) if v not in made}
    strip.is_flat = not run.rows and not run.updated and all(_is_flat(v, run.shape, order, lazy) for v in around)
    if not strip.is_flat and isinstance(run.shape[-1], int) and run.shape[-1] < LEAST_ROW:
        return None
    if any(_steps_over(v, order, lazy) for v in around) or any(_is_apart(op) for op in run.updates):
        return None
    width = sum(r.type.dtype.itemsize for r in strip.inside - run.rows)
    if run.rows:
        strip.size = int(run.shape[-1])
        if strip.size * width > _MOST_ROWS:
            return None
    else:
        least, most = SIZES
        strip.size = max(min(_CACHED // max(width, 1), most) // least * least, least)
    strip.start, strip.end = order.at[run.members[0]], order.at[run.members[-1]]
    return strip


def read(op: Operation) -> list[Value]:
    """Return the arrays that a member reads element by element."""
    return [v for v in (op.positional[-1:] if op.callee in WRITES else op.positional) if is_array(v)]


def _is_flat(value: Value, shape: tuple[Any, ...], order: Order, lazy: set[Value]) -> bool:
    """Return whether an array's elements are found by their position in C order."""
    if value.type.shape != shape:
        return False
    if value.is_constant or value not in lazy:
        return True
    op = order.maker[value]
    if op.callee in (typed.full, typed.broadcast_to):
        return math.prod(op.positional[0].type.bounds) == 1 if op.positional[0].type.shape else True
    return is_elementwise(op) and all(not v.type.shape or _is_flat(v, shape, order, lazy) for v in op.positional)


def _steps_over(value: Value, order: Order, lazy: set[Value]) -> bool:
    """Return whether the elements of a row lie apart in memory: each loop over a strip would read as much as one over the array."""
    if value.is_constant or value not in lazy:
        return False
    op = order.maker[value]
    if op.callee is typed.getitem and _is_apart(op):
        return True
    if op.callee is typed.transpose and op.named["axes"].constant[-1] != len(value.type.shape) - 1:
        return True
    return any(is_array(v) and _steps_over(v, order, lazy) for v in op.positional)


def _is_apart(op: Operation) -> bool:
    """Return whether an operation accesses every second element along the last axis of an array, or one of each row."""
    spec, shape = op.named["spec"].constant, op.positional[0].type.shape
    return len(spec) == len(shape) and spec[-1] not in (":", ("s", 1), ("s", -1)) and shape[-1] != 1


def _keep_until_the_end(strip: Strip, order: Order, lazy: set[Value], overlaps: Overlaps) -> None:
    made = {r for op in strip.members for r in op.results}
    written = _written(strip, order)
    found: dict[Value, dict[Value, set[Any]]] = {}
    for op in strip.members:
        for operand in read(op):
            if operand in made:
                continue
            same = operand.type.shape == op.results[0].type.shape or op.callee in WRITES
            for root, ways in accesses(operand, order, lazy, found).items():
                base, writes = written.get(_source(root, order), (root, []))
                if writes:
                    in_step = all(_keeps_step(root, way, write, same, overlaps) for way in ways for write in writes)
                else:
                    in_step = same and ways == {()}
                if root is not base or not in_step:
                    order.uses[root].add(Use(strip.end + 0.5, order.loops[op.results[0]]))


def _keeps_step(root: Value, way: Any, write: Operation, same: bool, overlaps: Overlaps) -> bool:
    """Return whether a member that reads an array in this way, strip by strip, sees none of what a write changes."""
    is_whole = all(e == ":" for e in write.named["spec"].constant)
    return same and way == (() if is_whole else part(write)) or overlaps.misses(root, way, write)


def _written(strip: Strip, order: Order) -> dict[Value, tuple[Value, list[Operation]]]:
    """Return the arrays from before the strip that members write to, by their sources, with the writes."""
    found: dict[Value, tuple[Value, list[Operation]]] = {}
    first: dict[Value, Value] = {}
    for op in strip.members:
        if op.callee in WRITES:
            base = first[op.results[0]] = first.get(op.positional[0], op.positional[0])
            found.setdefault(_source(base, order), (base, []))[1].append(op)
    return found


def _source(value: Value, order: Order) -> Value:
    """Return the array of which a value is another shape: they have one memory."""
    while value in order.maker and order.maker[value].callee is typed.reshape:
        value = order.maker[value].positional[0]
    return value


def fits(strip: Strip, placement: Placement) -> bool:
    """Return whether each write of a strip to what another one has written is in place: nothing is copied in between."""
    return all(
        placement.of[op.positional[0]] is placement.of[op.results[0]]
        for op in strip.members
        if op.callee in WRITES and op.positional[0] in strip.updated
    )
