"""Reads that must happen before an array is written to, so that XLA can write in place.

XLA fuses the computation of a value with its use. If an element is read, the array is then written to, and the element
is used after that, the fused read needs the old array, and XLA copies the whole array: at each step of a loop. To
prevent this, such values are forced to be computed before the write by passing them through a branch that is never
taken. XLA does not fuse across it, and LLVM removes it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Block, Operation, Value, operands, walk
from ...ir.typed import STACK, Primitive, add_at, setitem

LARGE = 1024
"""The size in bytes from which copies of an array matter."""


def read_before(block: Block, deferred: Set[Operation] = frozenset()) -> dict[Operation, list[Value]]:
    """Return, for each operation that overwrites an array, the values read from the old array that are used later.

    A deferred write overwrites nothing by itself; the last write of its row does.
    """
    uses = _last_uses(block)
    origins: dict[Value, Value] = {}
    readers: dict[Value, list[Value]] = {}  # by the array that they read, since it was last written to
    reads: dict[Value, set[Value]] = {}
    found: dict[Operation, list[Value]] = {}
    for place, op in enumerate(block.operations):
        for array in _overwritten(op, origins):
            if op in deferred:
                continue
            held = [v for v in readers.pop(array, []) if uses.get(v, -1) > place]
            if held:
                found[op] = list(dict.fromkeys([*found.get(op, []), *held]))
        if op.kind != "call" or isinstance(op.callee, Primitive) and op.callee.effect:
            continue
        if op.callee in (setitem, add_at):
            continue
        taken = {a for v in op.operands for a in reads.get(v, ())}
        taken |= {origins.get(v, v) for v in op.operands if is_large(v)}
        for result in op.results:
            if not is_large(result):
                reads[result] = taken
            for array in taken:
                readers.setdefault(array, []).append(result)
    return found


def _overwritten(op: Operation, origins: dict[Value, Value]) -> list[Value]:
    """Return the original arrays that an operation writes to, and record them as the origins of the new values."""
    pairs: list[tuple[Value, Value]] = []
    if op.kind == "call" and op.callee in (setitem, add_at):
        pairs = [(op.operands[0], op.results[0])]
    elif op.kind in ("while", "range"):
        pairs = [(initial, result) for initial, before, after, result in op.carried if before is not after]
    elif op.kind == "if":
        written = {inner.results[0]: inner.operands[0] for b in op.blocks for inner in walk(b) if _writes(inner)}
        for *branches, result in zip(*(b.results for b in op.blocks), op.results):
            for value in branches:
                before = value
                while before in written:
                    before = written[before]
                if before is not value:
                    pairs.append((before, result))
    found = []
    for before, after in pairs:
        if is_large(before):
            origin = origins.get(before, before)
            origins[after] = origin
            found.append(origin)
    return found


def _writes(op: Operation) -> bool:
    return op.kind == "call" and op.callee in (setitem, add_at)


def is_large(value: Value) -> bool:
    if value.type in (None, STACK) or value.is_constant:
        return False
    return int(np.prod(value.type.bounds, dtype=int)) * value.type.dtype.itemsize >= LARGE


def _last_uses(block: Block) -> dict[Value, int]:
    """Return the position in a block at which each value is last used, including nested blocks."""
    uses: dict[Value, int] = {}
    for place, op in enumerate(block.operations):
        for used in operands(Block([], [op], [])):
            uses[used] = place
    uses.update(dict.fromkeys(block.results, len(block.operations)))
    return uses


def rewritten(block: Block) -> set[Value]:
    """Return the results of writes that the block uses again: reads of them must not be fused with the write."""
    made = {op.results[0] for op in block.operations if _writes(op) and is_large(op.results[0])}
    return made & {v for op in block.operations for v in op.operands}


def settled(x: Any) -> Any:
    """Return a written array through a branch that is never taken and would change it in place, to prevent fusion."""
    first = x[(slice(0, 1),) * x.ndim]
    number = (
        first.reshape(()).real
        if x.dtype.kind == "c"
        else first.reshape(()).astype(np.int8 if x.dtype == bool else x.dtype)
    )
    change = lambda x: lax.dynamic_update_slice(x, _other(x[(slice(0, 1),) * x.ndim]), [0] * x.ndim)  # noqa: E731
    return lax.cond((number < 0) & (number > 0), change, lambda x: x, x)


def computed_now(values: Sequence[Any], number: Any) -> list[Any]:
    """Return the values through a branch that is never taken; its condition uses ``number``, unknown to XLA."""
    number = jnp.ravel(number)[0]
    number = number.real if number.dtype.kind == "c" else number.astype(np.int8) if number.dtype == bool else number
    return lax.cond((number < 0) & (number > 0), lambda xs: [_other(x) for x in xs], list, list(values))


def _other(x: Any) -> Any:
    return ~x if x.dtype == bool else x + jnp.ones((), x.dtype)
