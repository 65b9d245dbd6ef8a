"""Writes: ``setitem``, ``add_at`` and ``concatenate``; in place unless ``buffers`` gave the result another buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import typed
from ...ir.dynamic import Operation
from .arrays import Array, Memory, place_of
from .assembly import Code
from .elements import Element
from .elementwise import index_part
from .function import FunctionCode, emits
from .reductions import add_in_any_order

_SIGNLESS_ZERO = "nsz contract"
"""Fast-math flags for sums of cotangents, which start from zero: 0 + b may give b even for b = -0."""
_UNORDERED = f"reassoc {_SIGNLESS_ZERO}"
"""Those for all cotangents that a loop adds to one element."""


@emits(typed.setitem)
def _setitem(f: FunctionCode, op: Operation) -> None:
    code, target, part = f.code, base_of_update(f, op), index_part(f, op)
    v = op.positional[-1]
    if not v.type.shape:
        target.store(code, part.indices(code, []), f.element(v))
        return
    source, lengths = f.array(v), f.lengths(v.type)
    if not part.is_gather:
        part.of_memory(code, target, lengths).fill(code, source)
        return
    code.nest(lengths, lambda at: target.store(code, part.indices(code, at), source.load(code, at)))


@emits(typed.add_at)
def _add_at(f: FunctionCode, op: Operation) -> None:
    code, target, part = f.code, base_of_update(f, op), index_part(f, op)
    v = op.positional[-1]

    flags = _UNORDERED if f.is_entry and op.results[0] in f.unordered else _SIGNLESS_ZERO

    def add(at: Sequence[str], x: Any) -> None:
        place = part.indices(code, at)
        target.store(code, place, added(code, target, place, x, flags))

    if not v.type.shape:
        add([], f.element(v))
        return
    source, lengths = f.array(v), f.lengths(v.type)
    if not part.is_gather and source.flat:
        into = part.of_memory(code, target, lengths).merged(code)
        code.nest(
            into.lengths,
            lambda at: into.store(
                code, at, added(code, into, at, source.load_flat(code, place_of(code, into.lengths, at)))
            ),
            independent=range(len(into.lengths)),
        )
        return
    every = () if part.is_gather else range(len(lengths))
    code.nest(lengths, lambda at: add(at, source.load(code, at)), independent=every)


def added(code: Code, target: Memory, place: Sequence[str], x: Element, flags: str = _SIGNLESS_ZERO) -> Element:
    """Return the sum of an element in memory and ``x``."""
    return add_in_any_order(code, target.dtype, target.compute(code, place), x, flags)


def base_of_update(f: FunctionCode, op: Operation) -> Memory:
    """Return the result's memory, filled with the elements of the array that is written to."""
    base, result = op.operands[0], op.results[0]
    if not result.type.shape:
        raise f.refuse("a number is written to")
    memory = f.values[result] = f.memory(result)
    if base.is_constant or f.placement.of.get(base) is not f.placement.of[result]:
        memory.fill(f.code, f.array(base))
    return memory


@emits(typed.concatenate)
def _concatenate(f: FunctionCode, op: Operation) -> None:
    code, result, axis = f.code, op.results[0], op.named["axis"].constant
    memory = f.values[result] = f.memory(result)
    at = "0"
    for operand in op.positional:
        source = f.array(operand)
        place(code, memory, source, axis, at)
        at = code.add(at, source.lengths[axis])


def place(code: Any, memory: Memory, source: Array, axis: int, at: str) -> None:
    """Copy an array into another one, starting at index ``at`` along an axis."""

    def one(indices: Sequence[str]) -> None:
        moved = [code.add(i, at) if d == axis else i for d, i in enumerate(indices)]
        memory.store(code, moved, source.load(code, indices))

    code.nest(source.lengths, one, independent=range(len(source.lengths)))
