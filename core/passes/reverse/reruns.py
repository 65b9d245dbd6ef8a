"""Checkpointed calls: operations that the backward sweep runs again instead of reading what they left.

Two markers stand around the operations of such a call. Before a function is differentiated, ``gather`` puts what is
between them into a block of its own; the adjoint of that runs the block's forward sweep again, and then its backward
sweep. A call within is marked in the block, and is gathered when the block is differentiated. In the end ``scatter``
puts the blocks' operations back where they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.memory_policies import Policy
from ...ir.typed import INT64, STACK, apart, callback, lengths, rerun, rerun_begins, rerun_ends
from ..custom_derivatives import MARKS
from ..inline import Copy, copy_function, free_values, inline, rename, uses
from .cotangents import Cotangents

if TYPE_CHECKING:
    from .sweep import Sweep


def is_mark(op: Operation) -> bool:
    return op.callee in MARKS


def gather(block: Block, is_repeated: bool = False) -> None:
    """Put the operations of each checkpointed call in a block into an operation of their own.

    Outside of loops, a call whose loops hold few states already is left as it is: all that it would save is held once.
    """
    place = 0
    while place < len(block.operations):
        op = block.operations[place]
        if op.callee is rerun_begins:
            _gather_at(block, place, is_repeated)
        for inner in op.blocks:
            gather(inner, is_repeated or op.kind in ("range", "while"))
        place += 1
    block.operations = [op for op in block.operations if op.callee not in (rerun_begins, rerun_ends)]


def _gather_at(block: Block, place: int, is_repeated: bool) -> None:
    """Gather the call whose first mark stands at a place, if it ends in this block."""
    call = block.operations[place].named["call"].constant
    ends = (i for i, op in enumerate(block.operations) if op.callee is rerun_ends and op.named["call"].constant is call)
    end = next(ends, None)
    if end is None:
        return
    inside, after = block.operations[place + 1 : end], block.operations[end + 1 :]
    made = {r for op in inside for r in op.results}
    read = [*uses(after), *block.results, *(n for v in block.results for n in lengths(v.type))]
    results = [v for v in dict.fromkeys(read) if v in made]
    is_local = any(n in made for v in results for n in lengths(v.type))
    has_policy = any(isinstance(op.callee, Policy) for part in inside for op in _all(part))
    if not results or is_local or any(v.type is STACK for v in results) or has_policy and not is_repeated:
        return
    if any(op.callee is callback and op.results for part in inside for op in _all(part)):
        return  # Python might answer otherwise
    body = Copy().block(Block([], inside, results))
    body.parameters = [Value("k", INT64), *(Value(v.name, v.type) for v in results)]
    zero, one = (Value(type=INT64, constant=np.int64(n)) for n in (0, 1))
    initial = [Value(type=v.type, constant=np.zeros(v.type.bounds, v.type.dtype)[()]) for v in results]
    call = Operation("range", rerun, [zero, one, one, *initial], blocks=[body], results=results, line=inside[0].line)
    block.operations[place : end + 1] = [call]


def scatter(block: Block) -> None:
    """Put the operations of gathered calls back into the blocks around them."""
    known: dict[Value, Value] = {}
    _scatter(block, known)
    rename(block, known)


def _scatter(block: Block, known: dict[Value, Value]) -> None:
    operations: list[Operation] = []
    for op in block.operations:
        if isinstance(op.callee, Policy) and op.callee.is_inverse:
            op.callee = None  # its marks go
        for inner in op.blocks:
            _scatter(inner, known)
        if op.callee is rerun:
            operations += op.blocks[0].operations
            known.update(zip(op.results, op.blocks[0].results))
        elif not is_mark(op):
            operations.append(op)
    block.operations = operations


def adjoint(sweep: Sweep, op: Operation, cotangents: Cotangents) -> None:
    """Write the adjoint of a gathered call: its forward sweep once more, and its backward sweep."""
    b, body = sweep.builder, op.blocks[0]
    read = free_values(body, set())
    captured = list(dict.fromkeys([*(n for v in read for n in lengths(v.type)), *read]))
    active = [v for v in captured if v in sweep.active]
    results = [(r, v) for r, v in zip(op.results, body.results) if r in sweep.active]
    gs = [cotangents.filled(r) for r, _ in results]
    inside = Block([], body.operations, [v for _, v in results])
    call = copy_function(Function("call", captured, inside))
    quieten(call.block)
    sweeps = sweep.nested(call, [v in sweep.active for v in captured])
    given = [b.call(apart, [v], [v.type])[0] if v in active else v for v in captured]
    saved = inline(b, sweeps.forward, given)[len(results) :]
    for value, g in zip(active, inline(b, sweeps.backward, [*saved, *gs])):
        cotangents.add(value, b.cast(g, g.type.dtype))


def quieten(block: Block) -> None:
    """Remove checks, which the forward sweep has made, from code that runs again."""
    block.operations = [op for op in block.operations if op.results or is_mark(op)]
    for op in block.operations:
        op.may_raise = is_mark(op)
        for inner in op.blocks:
            quieten(inner)


def _all(op: Operation) -> Sequence[Operation]:
    return [op, *(inner for block in op.blocks for inner in walk(block))]
