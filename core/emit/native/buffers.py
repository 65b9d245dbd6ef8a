"""Buffer assignment: the memory of every array.

An array that is not lazy (``fusion``) has a buffer. Several values may share one: the operand and the result of
``setitem``, a carried array of a loop with its initial value and result, the results of both branches of an ``if``. The
invariant: **at every point, all live values of a buffer have the same elements**. So an operation may write into a
buffer if none of its values is live after the operation, and if the operation itself reads from it at most the element
that it is about to write. Otherwise its result gets another buffer, and the emitter, which compares the buffers, copies
the elements.

Buffers that are not live at the same time then share *slots*, the pieces of memory that a call allocates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, ArrayType
from .fusion import accesses, is_array, is_elementwise
from .liveness import Order
from .overlaps import Overlaps

SMALL = 512  # bytes up to which a buffer is on the function's stack, where LLVM may turn it into registers


@dataclass(eq=False)
class Buffer:
    size: int  # in bytes
    is_own: bool = True  # else the memory of an argument or of a popped array, which is not written to
    values: list[Value] = field(default_factory=list)
    first: int = 0
    last: int = 0
    output: int | None = None  # the result whose memory this is
    slot: int | None = None


def size_of(kind: ArrayType) -> int:
    return math.prod(kind.bounds) * kind.dtype.itemsize


@dataclass
class Placement:
    of: dict[Value, Buffer] = field(default_factory=dict)
    slots: list[int] = field(default_factory=list)  # sizes in bytes


def place(
    function: Function, order: Order, lazy: set[Value], overlaps: Overlaps, spans: Sequence[tuple[int, int]] = ()
) -> Placement:
    """Return the buffers of all arrays that are not lazy; those of the results are marked as outputs.

    The operations from one to the other position of a span take turns on their arrays (``strips``), so a slot that one
    of them uses is in use for the whole span.
    """
    found = Placement()
    placing = _Placing(order, lazy, overlaps, found)
    for value in function.parameters:
        if is_array(value):
            placing.put(value, Buffer(size_of(value.type), is_own=False))
    placing.block(function.block)
    for k, value in enumerate(function.block.results):
        buffer = found.of.get(value)
        if buffer is not None and buffer.is_own and buffer.output is None and buffer.size == size_of(value.type):
            buffer.output = k
    _share_slots(found, order, spans)
    return found


class _Placing:
    def __init__(self, order: Order, lazy: set[Value], overlaps: Overlaps, found: Placement) -> None:
        self.order, self.lazy, self.overlaps, self.of = order, lazy, overlaps, found.of
        self.wished: dict[Value, Buffer] = {}
        self.read_by: dict[Value, dict[Value, set[Any]]] = {}
        self.loops = [(order.at[op], order.end[op]) for op in order.at if op.kind in ("while", "range")]
        self.last_push = max(map(self.effective, filter(_pushes, order.at)), default=0)

    def effective(self, op: Operation) -> int:
        """Return the position after which an operation does not run again: the end of its outermost loop."""
        return max([self.order.at[op], *(end for at, end in self.loops if at < self.order.at[op] < end)])

    # Buffers

    def put(self, value: Value, buffer: Buffer) -> None:
        self.of[value] = buffer
        buffer.values.append(value)

    def fresh(self, value: Value) -> Buffer:
        return Buffer(size_of(value.type))

    def is_free(self, buffer: Buffer | None, position: int) -> bool:
        """Return whether no value of a buffer is live after the operation at a position."""
        if buffer is None or not buffer.is_own:
            return False
        return not any(self.order.is_live_after(v, position) for v in buffer.values)

    def forget(self, buffer: Buffer | None, position: int) -> None:
        """Drop the dead values of a buffer: positions only grow, so they are not asked for again."""
        if buffer is not None and len(buffer.values) > 8:
            buffer.values = [v for v in buffer.values if self.order.last_use(v) > position] or buffer.values[-1:]

    def roots(self, operands: Iterable[Value]) -> dict[Value, set[Any]]:
        """Return the arrays in memory that operands are computed from, through lazy ones, with the ways of ``accesses``."""
        found: dict[Value, set[Any]] = {}
        for operand in operands:
            for root, ways in accesses(operand, self.order, self.lazy, self.read_by).items():
                found.setdefault(root, set()).update(ways)
        return found

    def reads(self, operands: Iterable[Value]) -> dict[Buffer, set[Any]]:
        """Return the buffers that operands are read from, with the ways of ``accesses``."""
        found: dict[Buffer, set[Any]] = {}
        for root, ways in self.roots(operands).items():
            found.setdefault(self.of[root], set()).update(ways)
        return found

    # Operations

    def block(self, block: Block) -> None:
        for op in block.operations:
            if op.kind == "if":
                self.if_(op)
            elif op.kind in ("while", "range"):
                self.loop(op)
            else:
                self.call(op)

    def call(self, op: Operation) -> None:
        arrays = [r for r in op.results if is_array(r) and r not in self.lazy]
        if op.callee is typed.reshape and arrays:  # the same elements in the same order: no new memory
            source = self.of.get(op.operands[0])
            self.put(arrays[0], source if source is not None else self.fresh(arrays[0]))
        elif op.callee in (typed.setitem, typed.add_at):
            self.update(op)
        elif op.callee is typed.stack_pop and self.order.at[op] > self.last_push:
            for result in arrays:  # no later push can overwrite them, so they are used in the stack's memory
                self.put(result, Buffer(size_of(result.type), is_own=False))
        else:
            reads = self.reads(op.positional)
            in_step = is_elementwise(op)
            taken: set[Buffer] = set()
            for result in arrays:
                buffer = self.destination(op, result, reads, in_step and len(op.results) == 1, taken)
                taken.add(buffer)
                self.put(result, buffer)

    def update(self, op: Operation) -> None:
        result, position = op.results[0], self.order.at[op]
        self.forget(self.of.get(op.operands[0]), position)
        base, *others = op.positional
        buffer, roots = self.of.get(base), self.roots(others)
        reads = {self.of[root] for root in roots}
        in_step = all(self.overlaps.in_step(r, ways, op) for r, ways in roots.items() if self.of[r] is buffer)
        if buffer is None or not self.is_free(buffer, position) or not in_step:
            wished = self.wished.get(result)
            buffer = wished if wished not in reads and self.is_free(wished, position) else None
        self.put(result, buffer or self.fresh(result))

    def destination(
        self, op: Operation, result: Value, reads: dict[Buffer, set[Any]], in_step: bool, taken: set[Buffer]
    ) -> Buffer:
        """Return the buffer for a new array: the wished one, one that is read here for the last time, or a new one."""
        position = self.order.at[op]
        candidates = [self.wished.get(result)]
        if in_step:
            candidates += [b for b, ways in reads.items() if b.size == size_of(result.type)]
        for buffer in candidates:
            if buffer is None or buffer in taken or not self.is_free(buffer, position):
                continue
            if buffer not in reads or in_step and reads[buffer] == {()} and self._same_items(buffer, result):
                return buffer
        return self.fresh(result)

    def _same_items(self, buffer: Buffer, result: Value) -> bool:
        return all(v.type.dtype.itemsize == result.type.dtype.itemsize for v in buffer.values)

    def wish(self, value: Value, buffer: Buffer) -> None:
        """Request that a value be made in a buffer, and also the arrays that it is made from by writes and loops."""
        while value not in self.wished and value not in self.of and not value.is_constant:
            if size_of(value.type) != buffer.size:
                return
            self.wished[value] = buffer
            op = self.order.maker.get(value)
            if op is None:
                return
            if op.kind in ("while", "range"):
                k = op.results.index(value)
                value = op.operands[len(op.operands) - len(op.results) + k]
            elif op.kind == "call" and op.callee in (typed.setitem, typed.add_at, typed.reshape):
                value = op.operands[0]
            else:
                return

    # Control flow

    def loop(self, op: Operation) -> None:
        """Give each carried array one buffer for its initial value, the body and the result, where possible."""
        order, start = self.order, self.order.at[op]
        initial = op.operands[len(op.operands) - len(op.results) :]
        taken: set[Buffer] = set()
        chosen: list[Buffer | None] = []
        for value, result in zip(initial, op.results):
            if not is_array(result):
                chosen.append(None)
                continue
            buffer = self.of.get(value)
            shared = buffer is not None and (buffer in taken or self._is_used_inside(buffer, op))
            if shared or not self.is_free(buffer, start):
                wished = self.wished.get(result)
                read_here = {self.of.get(v) for v in initial}
                usable = wished not in read_here and wished not in taken and self.is_free(wished, start)
                buffer = wished if usable else self.fresh(result)
            assert buffer is not None
            taken.add(buffer)
            chosen.append(buffer)
            buffer.first, buffer.last = min(buffer.first or start, start), max(buffer.last, order.end[op])
        for block in op.blocks:
            parameters = block.parameters[len(block.parameters) - len(op.results) :]
            for parameter, buffer in zip(parameters, chosen):
                if buffer is not None:
                    self.put(parameter, buffer)
        body = op.blocks[-1]
        for value, buffer in zip(body.results, chosen):
            if buffer is not None:
                self.wish(value, buffer)
        for block in op.blocks:
            self.block(block)
        for result, buffer in zip(op.results, chosen):
            if buffer is not None:
                self.put(result, buffer)

    def _is_used_inside(self, buffer: Buffer, op: Operation) -> bool:
        """Return whether a loop's blocks use values that were in a buffer before the loop."""
        start, end = self.order.at[op], self.order.end[op]
        return any(start < use.position <= end for v in buffer.values for use in self.order.uses[v])

    def if_(self, op: Operation) -> None:
        """Give each result the buffer of the array that a branch changes or returns, if that is free afterwards."""
        start, end = self.order.at[op], self.order.end[op]
        taken: set[Buffer] = set()
        chosen: list[Buffer | None] = []
        for k, result in enumerate(op.results):
            if not is_array(result):
                chosen.append(None)
                continue
            origins = [self.of.get(self.origin(block.results[k])) for block in op.blocks]
            usable = [b for b in [*origins, self.wished.get(result)] if b not in taken and self.is_free(b, end)]
            buffer = next((b for b in usable if b is not None), None) or self.fresh(result)
            taken.add(buffer)
            chosen.append(buffer)
            buffer.first, buffer.last = min(buffer.first or start, start), max(buffer.last, end)
        for block in op.blocks:
            for value, buffer in zip(block.results, chosen):
                if buffer is not None:
                    self.wish(value, buffer)
            self.block(block)
        for result, buffer in zip(op.results, chosen):
            if buffer is not None:
                self.put(result, buffer)

    def origin(self, value: Value) -> Value:
        """Return the array, already placed outside of a branch, from which a value is made by writes."""
        while value not in self.of and not value.is_constant:
            op = self.order.maker.get(value)
            if op is None:
                return value
            if op.kind in ("while", "range"):
                value = op.operands[len(op.operands) - len(op.results) + op.results.index(value)]
            elif op.kind == "if":
                value = op.blocks[0].results[op.results.index(value)]
            elif op.callee in (typed.setitem, typed.add_at, typed.reshape):
                value = op.operands[0]
            else:
                return value
        return value


def _pushes(op: Operation) -> bool:
    """Return whether an operation may push on a stack."""
    is_used = any(v.type is STACK for v in op.operands)
    return op.callee is typed.stack_push or isinstance(op.callee, Function) and is_used


def _share_slots(found: Placement, order: Order, spans: Sequence[tuple[int, int]]) -> None:
    """Assign a slot to every own buffer: the smallest that is large enough and free while the buffer is live."""
    buffers: dict[Buffer, tuple[float, float]] = {}
    for value, buffer in found.of.items():
        if not buffer.is_own or buffer.output is not None or buffer.size <= SMALL:
            continue
        first, last = buffers.get(buffer, (buffer.first or order.last, buffer.last))
        buffers[buffer] = min(first, order.defined[value]), max(last, order.last_use(value))
    for start, end in spans:
        for buffer, (first, last) in buffers.items():
            begins, ends = start <= first <= end, start <= last < end + 1
            buffers[buffer] = start if begins else first, end if ends else last
    free: list[tuple[float, int]] = []  # (position of the last use, slot)
    for buffer, (first, last) in sorted(buffers.items(), key=lambda item: item[1]):
        fitting = [
            (found.slots[slot], at)
            for at, (until, slot) in enumerate(free)
            if until < first and buffer.size <= found.slots[slot] <= 4 * buffer.size
        ]
        if fitting:
            _, slot = free.pop(min(fitting)[1])
        else:
            slot = len(found.slots)
            found.slots.append(buffer.size)
        buffer.slot = slot
        free.append((last, slot))


__all__ = ["SMALL", "STACK", "Buffer", "Placement", "place", "size_of"]
