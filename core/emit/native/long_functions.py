"""Long functions in pieces: LLVM's passes take time quadratic in the loops and the straight-line code of one function.

Operations that follow each other at the top level of a function become a typed function of their own, which is called once,
with the values that it reads as arguments and those that are read later as results.  Only small arrays may cross a border:
a piece cannot write into its arguments, and operations of two pieces are not fused.

Without this pass the gradient of 1,000 statements on vectors of 100 elements takes minutes to compile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import ArrayType
from ...passes.inline import free_values

LONG, PIECE = 800, 200
"""How many operations a function has at least that is divided, and a piece at most, if no single loop or branch has more."""

_BYTES = 1 << 13
"""The size of an array that may be an argument or a result of a piece."""


def in_pieces(function: Function) -> tuple[Function, list[Function]]:
    """Return an equivalent function, and the functions of its pieces; ``function`` itself and none if it is short."""
    if sum(1 for _ in walk(function.block)) < LONG:
        return function, []
    groups = list(_groups(function.block.operations))
    read_later = [set(free_values(Block([], [], function.block.results), set()))]
    for group in reversed(groups[1:]):
        read_later.append(read_later[-1] | set(free_values(Block([], group, []), set())))
    found: list[Operation] = []
    pieces: list[Function] = []
    for k, (group, later) in enumerate(zip(groups, reversed(read_later))):
        given = free_values(Block([], group, []), set())
        results = [r for op in group for r in op.results if r in later]
        if len(group) == 1 or not all(map(_may_cross, (*given, *results))):
            found += group
            continue
        piece = Function(f"{function.name}, piece {k}", given, Block([], group, results), function.filename)
        pieces.append(piece)
        found.append(Operation("call", piece, given, [], [], results, line=group[0].line, may_raise=True))
    block = Block(function.block.parameters, found, function.block.results)
    return (replace(function, block=block), pieces) if pieces else (function, [])


def _groups(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Yield operations in groups, each of which has at most ``PIECE`` operations with those of its blocks, or is one."""
    group: list[Operation] = []
    size = 0
    for op in operations:
        own = 1 + sum(1 for b in op.blocks for _ in walk(b))
        if group and size + own > PIECE:
            yield group
            group, size = [], 0
        group.append(op)
        size += own
    yield group


def _may_cross(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, ArrayType) and kind.is_static and math.prod(kind.bounds) * kind.dtype.itemsize <= _BYTES
