"""Parallel ``range`` loops: which loops of the user's run their iterations in chunks, and their code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import STACK
from ...passes.independence import Carried, Dependent, Independent, independent
from .buffers import Buffer
from .control import in_turn, iterations, kinds_of, turns
from .elements import register_kinds
from .function import EMITTERS, PARTS, FunctionCode
from .fusion import is_array, is_elementwise
from .interrupts import STRIDE, count, stride
from .outlining import outlined
from .parallel_loops import (
    PER_THREAD,
    Chunked,
    add_copies,
    block_work,
    clear_copies,
    enough,
    initial,
    is_worth,
    leave,
    with_copies,
)
from .reductions import combined
from .stacks import bytes_of, grown


def chosen(f: FunctionCode) -> dict[Operation, Independent]:
    """Return the outermost loops of a function whose iterations may run in parallel; note for each loop how it runs."""
    found: dict[Operation, Independent] = {}

    def visit(block: Block) -> None:
        for op in block.operations:
            if op.kind == "range":
                try:
                    found[op] = _independent(f, op)
                    continue
                except Dependent as why:
                    f.program.note(op, f"in turn: {why}")
            for inner in op.blocks:
                visit(inner)

    visit(f.function.block)
    return found


def _independent(f: FunctionCode, op: Operation) -> Independent:
    reason = next((reason for inner in _all(op.blocks[0]) if (reason := _why_in_turn(inner))), "")
    if reason:
        raise Dependent(reason)
    if op.iterations is not None and op.iterations < 2 * PER_THREAD and _has_loop(op.blocks[0]):
        raise Dependent(f"it has only {op.iterations} iterations")
    found = independent(op, f.proofs, f.order.maker)
    _check_memory(f, op, found)
    return found


def _has_loop(block: Block) -> bool:
    return any(op.kind in ("range", "while") for op in walk(block))


def _all(block: Block, seen: frozenset[Function] = frozenset()) -> Iterator[Operation]:
    """Yield the operations of a block, with those of its blocks and of the functions that it calls."""
    for op in walk(block):
        yield op
        if isinstance(op.callee, Function) and op.callee not in seen:
            yield from _all(op.callee.block, seen | {op.callee})


def _why_in_turn(op: Operation) -> str:
    """Return why an operation cannot run in several threads; "" if it can."""
    if op.kind != "call" or isinstance(op.callee, Function):
        return ""
    if op.callee in (typed.callback, typed.debug_print):
        return "it calls Python, or prints"
    name = f"{getattr(op.callee, '__module__', '')}.{getattr(op.callee, '__name__', '')}"
    emitter = EMITTERS.get(op.callee, EMITTERS.get(name))
    if emitter is EMITTERS["library"] or emitter is None and not is_elementwise(op):
        return f"it calls {getattr(op.callee, '__name__', op.callee)}, which runs in Python"
    if op.callee is typed.raise_if and any(is_array(v) for v in op.positional):
        return "it raises an exception that holds an array"
    return ""


def _check_memory(f: FunctionCode, op: Operation, found: Independent) -> None:
    """Refuse a loop in whose body an array is copied that iterations share: each would overwrite what the others write."""
    placed = f.placement.of
    inside = _defined(op)
    shared = {buffer for value, buffer in placed.items() if value not in inside}
    versions: set[Value] = set()
    for carried, (_, parameter, _, result) in zip(found.carried, op.carried):
        if not is_array(result):
            continue
        versions |= carried.versions | {parameter}
        if any(v in f.lazy or placed.get(v) is not placed[parameter] for v in carried.versions):
            raise Dependent("it copies an array that all iterations write to")
    if any(placed[v] in shared for v in inside if v in placed and v not in versions):
        raise Dependent("it writes into memory that all iterations use")


def _defined(op: Operation) -> set[Value]:
    """Return the values that the body of a loop defines."""
    found = set(op.blocks[0].parameters)
    for inner in walk(op.blocks[0]):
        found.update(inner.results)
        for block in inner.blocks:
            found.update(block.parameters)
    return found


def parallel(f: FunctionCode, op: Operation, first: list[str]) -> list[str] | None:
    """Emit a loop in chunks, or in turn if it turns out to have little work; None if that is known to be so.

    ``first`` are the registers of the carried values; those at the loop's end are returned.
    """
    code, found = f.code, f.independent[op]
    inside = _defined(op)
    number = iterations(f, op)
    work = code.multiply(number, code.add("1", block_work(f, op.blocks[0], inside)))
    worth = is_worth(work)
    if worth is False:
        f.program.note(op, "in turn: it has little work")
        return None
    how = "in parallel"
    if any(c.kind == "summed" for c in found.carried):
        how += ", with a copy for each thread of an array that iterations add to"
    f.program.note(op, how)
    if worth:
        return _in_chunks(f, op, found, first, number, work, inside)
    labels, after = [code.new("chunks"), code.new("inturn")], code.new("after")
    code.branch(enough(f, work), *labels)
    ends, names = [], []
    for k, label in enumerate(labels):
        code.start(label)
        with code.scope():
            names.append(_in_chunks(f, op, found, first, number, work, inside) if not k else in_turn(f, op, first))
        ends.append(code.label)
        code.jump(after)
    code.start(after)
    kinds = [kind for value in op.results for kind in kinds_of(value)]
    return [
        x if x == y else code.value(f"phi {kind} [ {x}, %{ends[0]} ], [ {y}, %{ends[1]} ]")
        for kind, x, y in zip(kinds, *names)
    ]


def _in_chunks(
    f: FunctionCode, op: Operation, found: Independent, first: Sequence[str], number: str, work: str, inside: set[Value]
) -> list[str]:
    values = _Values(f, op, found, first, number)
    summed = [result for carried, result in zip(found.carried, op.results) if carried.kind == "summed"]
    for result in op.results:
        if is_array(result):
            f.memory(result)  # small arrays get their memory here, not in the piece
    chunked = Chunked(f, number, work, found.gap, 1 if summed else PER_THREAD)
    slots, last_slots = chunked.slots(values.folded), chunked.slots(values.kinds_of("last"))
    copies = with_copies(f, chunked, summed)
    most, each = stride(f, op)

    def write() -> None:
        clear_copies(f, copies)
        names = turns(f, op, values.started(), most, each, ("%low", "%high"))
        leave(f, values.folded, slots, values.of("fold", names))
        leave(f, values.kinds_of("last"), last_slots, values.of("last", names))

    chunked.run(*outlined(f, write, _private(f, inside), copies), copies)
    add_copies(f, chunked, copies, summed)
    if not work.isdigit() or int(work) > STRIDE:
        count(f, work)
    return values.ended(chunked, slots, last_slots)


def _private(f: FunctionCode, inside: set[Value]) -> list[Buffer]:
    """Return the buffers that only values of the body use: each chunk has its own."""
    placed = f.placement.of
    shared = {buffer for value, buffer in placed.items() if value not in inside}
    return [b for b in dict.fromkeys(placed[v] for v in placed if v in inside) if b not in shared and b.is_own]


class _Values:
    """The carried values of a loop: their registers before the loop, at the start of a chunk, and after the loop."""

    def __init__(self, f: FunctionCode, op: Operation, found: Independent, first: Sequence[str], number: str) -> None:
        self.f, self.op, self.found, self.number = f, op, found, number
        code, names = f.code, list(first)
        self.carried: list[tuple[Carried, Value, list[str]]] = []
        for carried, result in zip(found.carried, op.results):
            kinds = kinds_of(result)
            own, names = names[: len(kinds)], names[len(kinds) :]
            self.carried.append((carried, result, own))
        self.sizes: dict[Value, str] = {}
        for carried, result, own in self.carried:
            if carried.kind != "stack" or not carried.stack:
                continue
            size = self.sizes[result] = _bytes(f, carried.stack)
            if _pushes(carried):
                needed = code.add(own[1], code.multiply(size, number))
                own[0], own[2] = grown(f, (own[0], own[1], own[2]), needed)
        self.folded = self.kinds_of("fold")

    def kinds_of(self, kind: str) -> list[str]:
        return [k for carried, result, _ in self.carried if carried.kind == kind for k in kinds_of(result)]

    def of(self, kind: str, names: Sequence[str]) -> list[str]:
        """Return those of the registers of all carried values that belong to values of this kind."""
        names, found = list(names), []
        for carried, _, own in self.carried:
            part, names = names[: len(own)], names[len(own) :]
            found += part if carried.kind == kind else []
        return found

    def started(self) -> list[str]:
        """Return, in a piece, the registers at the start of a chunk."""
        f, code, found = self.f, self.f.code, []
        for carried, result, own in self.carried:
            if carried.kind == "fold":
                found += initial(f, carried.callee, result.type.dtype, kinds_of(result), own)
            elif carried.kind == "counter":
                found.append(code.add(own[0], code.multiply("%low", str(carried.step))))
            elif result in self.sizes:
                found += [own[0], self._moved(carried, result, own, "%low"), own[2]]
            else:
                found += own
        return found

    def ended(self, chunked: Chunked, slots: str, last_slots: str) -> list[str]:
        """Return the registers after the loop."""
        code = self.f.code
        folded = chunked.combine(self.folded, slots, self._combined)
        last = chunked.last(self.kinds_of("last"), last_slots)
        found: list[str] = []
        for carried, result, own in self.carried:
            count = len(own)
            if carried.kind == "fold":
                found, folded = [*found, *folded[:count]], folded[count:]
            elif carried.kind == "last":
                found, last = [*found, *last[:count]], last[count:]
            elif carried.kind == "counter":
                found.append(code.add(own[0], code.multiply(self.number, str(carried.step))))
            elif result in self.sizes:
                found += [own[0], self._moved(carried, result, own, self.number), own[2]]
            else:
                found += own
        return found

    def _moved(self, carried: Carried, result: Value, own: Sequence[str], turns_: str) -> str:
        """Return the bytes in use on a stack after some iterations."""
        code, distance = self.f.code, self.f.code.multiply(self.sizes[result], turns_)
        return code.add(own[1], distance) if _pushes(carried) else code.subtract(own[1], distance)

    def _combined(self, a: list[str], b: list[str]) -> list[str]:
        found: list[str] = []
        for carried, result, _ in self.carried:
            if carried.kind == "fold":
                dtype = np.dtype(result.type.dtype)
                n = len(register_kinds(dtype))
                found += combined(self.f.code, carried.callee, dtype, a[:n], b[:n])
                a, b = a[n:], b[n:]
        return found


def _pushes(carried: Carried) -> bool:
    entry: Any = carried.stack[0]
    while isinstance(entry, tuple):
        entry = entry[1][0]
    return entry.callee is typed.stack_push


def _bytes(f: FunctionCode, entries: Sequence[Any]) -> str:
    """Return the bytes that an iteration pushes, or pops."""
    code, total = f.code, "0"
    for entry in entries:
        if isinstance(entry, tuple):
            loop, inner = entry
            total = code.add(total, code.multiply(iterations(f, loop), _bytes(f, inner)))
            continue
        values = entry.positional[1:] if entry.callee is typed.stack_push else entry.results[:-1]
        for v in values:
            total = code.add(total, "24" if v.type is STACK else bytes_of(f, v.type))
    return total


PARTS.update(independent=chosen, parallel=parallel)
