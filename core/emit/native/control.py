"""``if``, ``while`` and ``range``: numbers are carried in registers, arrays in the buffers assigned to them.

A block's result that is in another buffer than the operation's result is copied there at the end of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import STACK
from .arrays import Array, Memory
from .elements import element, number, register_kinds, registers
from .fission import parts
from .fission_loops import in_strips
from .function import PARTS, FunctionCode, emits
from .fusion import is_array
from .interrupts import count, stride, strided
from .stacks import is_fixed_push, reserve


def kinds_of(value: Value) -> list[str]:
    """Return the LLVM types of the registers that hold a value: none for an array."""
    if value.type is STACK:
        return ["ptr", "i64", "i64"]
    return [] if value.type.shape else register_kinds(value.type.dtype)


def held(f: FunctionCode, value: Value) -> list[str]:
    """Return the registers of a value."""
    if value.type is STACK:
        return list(f.values[value])
    return [] if value.type.shape else registers(f.element(value))


def bind(f: FunctionCode, values: Sequence[Value], names: Sequence[str]) -> None:
    """Define numbers and stacks by registers, and arrays by their buffers."""
    names = list(names)
    for value in values:
        count = len(kinds_of(value))
        own, names = names[:count], names[count:]
        if value.type is STACK:
            f.values[value] = tuple(own)
        else:
            f.values[value] = f.memory(value) if value.type.shape else element(own, value.type.dtype)


def move(f: FunctionCode, sources: Sequence[Value], targets: Sequence[Value]) -> None:
    """Copy arrays to the buffers of others as a parallel assignment: a buffer is read before it is overwritten."""
    pending: list[tuple[Any, Array, Memory, Any]] = []
    for source, target in zip(sources, targets):
        if is_array(target):
            there = f.placement.of[target]
            here = None if source.is_constant else f.placement.of[source]
            if here is not there:
                pending.append((here, f.array(source), f.memory(target), there))
    while pending:
        read = [here for here, *_ in pending]
        ready = next((p for p in pending if p[3] not in [h for h, q in zip(read, pending) if q is not p]), None)
        if ready is None:  # a cycle: copy one array to temporary memory
            here, array, memory, there = pending[0]
            kept = Memory(f.code, f.temporary(_kind(sources, array, f)), array.dtype, array.lengths)
            kept.fill(f.code, array)
            pending[0] = (None, kept, memory, there)
            continue
        pending.remove(ready)
        ready[2].fill(f.code, ready[1])


def _kind(sources: Sequence[Value], array: Array, f: FunctionCode) -> Any:
    return next(s.type for s in sources if is_array(s) and f.array(s) is array)


def registers_of(f: FunctionCode, values: Sequence[Value], position: int) -> list[str]:
    """Return the registers of values passed on at a position; a stack that is used again gets capacity 0."""
    for value in values:
        if value.type is STACK and (values.count(value) > 1 or f.order.is_live_after(value, position)):
            f.values[value] = (*f.values[value][:2], "0")
    return [name for value in values for name in held(f, value)]


@emits("if")
def if_(f: FunctionCode, op: Operation) -> None:
    code, (then, other) = f.code, op.blocks
    condition = f.element(op.operands[0])
    labels = [code.new("then"), code.new("else")]
    after = code.new("after")
    code.branch(condition, *labels)
    ends, names = [], []
    for label, block in zip(labels, (then, other)):
        code.start(label)
        with code.scope():
            f.block(block)
            move(f, block.results, op.results)
            names.append(registers_of(f, block.results, f.order.yields[id(block)]))
        ends.append(code.label)
        code.jump(after)
    code.start(after)
    kinds = [kind for value in op.results for kind in kinds_of(value)]
    merged = [
        x if x == y else code.value(f"phi {kind} [ {x}, %{ends[0]} ], [ {y}, %{ends[1]} ]")
        for kind, x, y in zip(kinds, *names)
    ]
    bind(f, op.results, merged)


@emits("while")
def while_(f: FunctionCode, op: Operation) -> None:
    code, (condition, body) = f.code, op.blocks
    move(f, op.operands, op.results)
    kinds = [kind for value in op.results for kind in kinds_of(value)]
    head, inside, after = code.new("while"), code.new("body"), code.new("done")
    before, initial = code.label, registers_of(f, op.operands, f.order.at[op])
    code.jump(head)
    code.start(head)
    phis = [code.phi(kind, x, before) for kind, x in zip(kinds, initial)]
    names = [name for name, _ in phis]
    turn, close_turn = code.phi("i64", "1", before)
    most, each = stride(f, op)
    with code.scope():
        bind(f, condition.parameters, names)
        f.block(condition)
        code.branch(f.element(condition.results[0]), inside, after)
        code.start(inside)
        bind(f, body.parameters, names)
        following = _body(f, body, op.results, id(body))
        pause, again = code.new("pause"), code.new("again")
        rest = code.value(f"and i64 {turn}, {most - 1}")
        code.branch(code.value(f"icmp eq i64 {rest}, 0"), pause, again, f.unlikely())
        code.start(pause)
        count(f, str(most * each))
        code.jump(again)
        code.start(again)
        close_turn(code.value(f"add i64 {turn}, 1"), code.label)
    for (_, close), x in zip(phis, following):
        close(x, code.label)
    code.jump(head)
    code.start(after)
    done = code.value(f"sub i64 {turn}, 1")
    count(f, code.value(f"mul i64 {code.value(f'and i64 {done}, {most - 1}')}, {each}"))
    bind(f, op.results, names)


def _body(f: FunctionCode, body: Block, results: Sequence[Value], number: int) -> list[str]:
    """Emit a loop's body; return the next carried registers. ``number`` is that of the block in ``f.order``."""
    f.block(body)
    move(f, body.results, results)
    return registers_of(f, body.results, f.order.yields[number])


def pushes(f: FunctionCode, body: Block, k: int) -> list[Operation]:
    """Return the pushes of a loop's body on its k-th carried value, if their number of bytes is constant; else []."""
    value, last = body.parameters[1 + k], body.results[k]
    chain: list[Operation] = []
    own = set(body.operations)
    while value is not last:
        users = f.order.users[value]
        if len(users) != 1 or users[0] not in own or not is_fixed_push(users[0]):
            return []
        chain.append(users[0])
        value = users[0].results[0]
    return chain if f.order.users[last] == [None] else []


@emits("range")
def range_(f: FunctionCode, op: Operation) -> None:
    move(f, op.initial, op.results)
    first = registers_of(f, op.initial, f.order.at[op])
    names = PARTS["parallel"](f, op, first) if op in f.independent and f.code.spread is not None else None
    bind(f, op.results, names if names is not None else in_turn(f, op, first))


def in_turn(f: FunctionCode, op: Operation, first: list[str]) -> list[str]:
    """Emit a ``range`` from the registers ``first`` of its carried values on; return those at its end."""
    body, initial = op.blocks[0], op.initial
    rooms = {k: chain for k, value in enumerate(initial) if value.type is STACK and (chain := pushes(f, body, k))}
    if rooms:
        count, first = iterations(f, op), list(first)
        for k, chain in rooms.items():
            at = sum(len(kinds_of(v)) for v in initial[:k])
            first[at : at + 3] = reserve(f, first[at : at + 3], chain, count)
    return turns(f, op, first, *stride(f, op))


def turns(
    f: FunctionCode, op: Operation, first: Sequence[str], most: int, each: int, part: tuple[str, str] | None = None
) -> list[str]:
    """Emit the iterations of a ``range``, or those whose numbers are in ``part``, in strides as of ``stride``."""
    code, body = f.code, op.blocks[0]
    start, stop, step = (f.element(v) for v in op.operands[:3])
    kinds = [kind for value in op.results for kind in kinds_of(value)]
    split = parts(f, op)

    def counted(low: str, high: str, by: int, index: Callable[[str], str]) -> list[str]:
        def iteration(operations: list[Operation], at: str, *carried: str) -> list[str]:
            bind(f, body.parameters, [index(at), *carried])
            return _body(f, Block(body.parameters, operations, body.results), op.results, id(body))

        def run(low: str, high: str, by: int, turn: Any, kinds: Sequence[str], initial: Sequence[str]) -> list[str]:
            if split is None:
                return code.counted(low, high, by, turn, kinds, initial)
            return in_strips(f, op, split, (low, high, by), index, iteration, kinds, initial)

        turn = partial(iteration, body.operations)

        if not most:
            return run(low, high, by, turn, kinds, first)
        return strided(f, low, high, by, turn, kinds, list(first), each, most, run)

    known = number(step, op.operands[2].type.dtype)
    if known in (1, -1):
        if part is not None:
            move_on = code.add if known == 1 else code.subtract
            start, stop = move_on(start, part[0]), move_on(start, part[1])
        return counted(start, stop, int(known), lambda at: at)
    # Loop over the number of iterations, since the index after the last one may overflow.
    stepped = lambda k: code.value(f"add i64 {start}, {code.value(f'mul i64 {k}, {step}')}")  # noqa: E731
    return counted(*(part or ("0", iterations(f, op))), 1, stepped)


def iterations(f: FunctionCode, op: Operation) -> str:
    """Return ceil((stop - start) / step), at least 0; 0 for a step of 0, which the front end refuses."""
    code = f.code
    if op.iterations is not None:
        return str(op.iterations)
    start, stop, step = (f.element(v) for v in op.operands[:3])
    if step in ("1", "-1"):
        distance = code.value(f"sub i64 {stop}, {start}" if step == "1" else f"sub i64 {start}, {stop}")
        return code.call("llvm.smax.i64", "i64", [("i64", distance), ("i64", "0")])
    up = code.value(f"icmp sgt i64 {step}, 0")
    ahead = code.value(f"icmp slt i64 {start}, {stop}")
    behind = code.value(f"icmp sgt i64 {start}, {stop}")
    down = code.value(f"icmp slt i64 {step}, 0")
    some = code.value(f"or i1 {code.value(f'and i1 {up}, {ahead}')}, {code.value(f'and i1 {down}, {behind}')}")
    there, back = code.value(f"sub i64 {stop}, {start}"), code.value(f"sub i64 {start}, {stop}")
    distance = code.value(f"select i1 {up}, i64 {there}, i64 {back}")
    size = code.value(f"select i1 {up}, i64 {step}, i64 {code.value(f'sub i64 0, {step}')}")
    size = code.value(f"select i1 {some}, i64 {size}, i64 1")
    before_last = code.value(f"sub i64 {distance}, 1")
    count = code.value(f"add i64 {code.value(f'udiv i64 {before_last}, {size}')}, 1")
    return code.value(f"select i1 {some}, i64 {count}, i64 0")


PARTS.update(iterations=iterations)
