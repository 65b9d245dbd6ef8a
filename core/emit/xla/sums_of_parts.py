"""Additions in a row to overlapping parts of one array, done as one: the adjoint of a stencil adds to shifted slices.

    add_at(add_at(x, 0:n-1, a), 1:n, b)    ->    x + pad(a, 0, 1) + pad(b, 1, 0)

XLA makes a pass over the array for each write, and fuses all of them if they are one sum. Only sums that a loop
carries are made: others would be computed again for each of the shifted slices in which they are read next.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from jax import lax

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import add_at

MOST = 32
"""The largest number of additions that are done together."""
_FILL = 2
"""How much larger the slice that holds all parts may be than the parts together."""


def summed(block: Block) -> dict[Operation, list[Operation]]:
    """Return, for the last of several additions in a row that are done as one, all of them."""
    if not block.parameters:
        return {}
    users: dict[Value, list[Operation]] = {}
    for op in block.operations:
        for v in dict.fromkeys([*op.operands, *_inner(op.blocks)]):
            users.setdefault(v, []).append(op)
    results = set(block.results)
    chains: dict[Value, list[Operation]] = {}
    for op in block.operations:
        if not _is_addition(op):
            continue
        before = op.operands[0]
        chain = chains.get(before, [])
        alone = users.get(before) == [op] and before not in results and before not in op.operands[1:]
        if chain and alone and len(chain) < MOST and _hull([*chain, op]) is not None:
            del chains[before]
            chains[op.results[0]] = [*chain, op]
        else:
            chains[op.results[0]] = [op]
    return {chain[-1]: chain for v, chain in chains.items() if len(chain) > 1 and v in results and v not in users}


def _inner(blocks: Sequence[Block]) -> list[Value]:
    found: list[Value] = []
    for block in blocks:
        for op in block.operations:
            found += [*op.operands, *_inner(op.blocks)]
        found += block.results
    return found


def _is_addition(op: Operation) -> bool:
    """Whether an operation adds to a part of known length, along at least one dimension, in steps of one."""
    if op.callee is not add_at or op.results[0].type.dtype.kind not in "fciu":
        return False
    spec = op.named["spec"].constant
    slices = [entry for entry in spec if isinstance(entry, tuple)]
    return (
        bool(slices)
        and all(step == 1 for _, step in slices)
        and "a" not in spec
        and op.positional[-1].type.is_static
        and op.results[0].type.is_static
    )


Extent = tuple[Any, int, int]
"""A part in one dimension: the value that its start is an offset from (None for none), the offset, and its length."""


def _extents(op: Operation) -> list[Extent]:
    """Return the extent of an addition in each dimension of the array."""
    index, lengths = list(op.positional[1:-1]), list(op.positional[-1].type.shape)
    found: list[Extent] = []
    for entry, n in zip(op.named["spec"].constant, op.results[0].type.shape):
        if entry == ":":
            found.append((None, 0, n))
            lengths.pop(0)
            continue
        at = index.pop(0)
        value, offset = (None, int(at.constant)) if at.is_constant else (at, 0)
        found.append((value, offset, 1 if entry == "i" else lengths.pop(0)))
    return found


def _hull(chain: Sequence[Operation]) -> list[Extent] | None:
    """Return the smallest slice that holds all parts, if they nearly fill it and differ in known offsets only."""
    extents = [_extents(op) for op in chain]
    hull: list[Extent] = []
    for parts in zip(*extents):
        if any(value is not parts[0][0] for value, _, _ in parts):
            return None
        low = min(offset for _, offset, _ in parts)
        hull.append((parts[0][0], low, max(offset + n for _, offset, n in parts) - low))
    filled = sum(prod(n for _, _, n in e) for e in extents)
    return hull if prod(n for _, _, n in hull) <= _FILL * filled else None


def add_parts(walk: Any, chain: Sequence[Operation]) -> Any:
    """Return the array with all parts of a row of additions added."""
    hull = _hull(chain)
    assert hull is not None
    x = walk.array(chain[0].operands[0])
    total: Any = None
    for op in chain:
        extents = _extents(op)
        v = lax.reshape(walk.array(op.positional[-1]), [n for _, _, n in extents])
        margins = [(at - low, low + n - at - m, 0) for (_, low, n), (_, at, m) in zip(hull, extents)]
        v = lax.pad(v, np.zeros((), v.dtype), margins)
        total = v if total is None else total + v
    if total.shape == x.shape:
        return x + total
    starts = [np.int64(low) if value is None else walk[value].astype(np.int64) for value, low, _ in hull]
    return lax.dynamic_update_slice(x, lax.dynamic_slice(x, starts, total.shape) + total, starts)
