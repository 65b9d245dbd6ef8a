"""Ranges in which ints among the arguments are assumed to lie, so that loops have a bound while compiling.

XLA's arrays have fixed shapes. If ``for _ in range(n)`` is differentiated and n is an argument, a program that assumes n <= 100 stores
what the backward sweep needs in arrays of 100 rows; without a bound the loop would be run again from states that are held.
A program says what it assumes (``Program.ranges``); a call with an int outside of it needs another program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ir.affine import Interval, is_int
from ..ir.dynamic import Function, Operation, Value, walk
from ..passes.reverse.bounded import bounded, without_bound


def ranges_of(leaves: Sequence[Any], before: Mapping[int, Interval]) -> dict[int, Interval]:
    """Return the range that a program may assume for each int of the arguments' leaves.

    ``before`` holds what earlier programs have assumed. A range that turned out to be too small grows to the next power of
    two, so that few programs are compiled for many values.

    >>> ranges_of([10, 2.0], {}), ranges_of([11, 2.0], {0: (0, 10)})
    ({0: (0, 10)}, {0: (0, 16)})
    """
    found = {}
    for i, n in enumerate(leaves):
        if type(n) is int and abs(n) < 2**62:
            low, high = before.get(i, (min(n, 0), max(n, 0)))
            low, high = (low if n >= low else -_at_least(-n)), (high if n <= high else _at_least(n))
            found[i] = low, high
    return found


def _at_least(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()


def with_lengths(trace: Any, function: Function, values: Sequence[Value]) -> Function:
    """Return a function whose loops carry bounds of their numbers of iterations, where there are some.

    ``values`` are the values of the program for the function's parameters. The leaves whose ranges are assumed are noted.
    """
    if trace.target == "native":
        return function
    made = bounded(function)
    open_ = without_bound(made)
    if not open_ or not trace.ranges:
        return made
    outer = dict(zip(made.parameters, values, strict=True))
    leaves: set[int] = set()
    for parameter in _behind(made, open_):
        leaves |= trace.leaves_behind(outer[parameter]) or set()
    leaves &= trace.ranges.keys()
    if not leaves:
        return made
    integers, places = trace.builder.integers, {i: p for p, i in trace.positions.items()}
    before = dict(integers.intervals)
    integers.intervals.update({places[i]: trace.ranges[i] for i in leaves})
    given = {p: integers.interval(v) for p, v in outer.items() if is_int(p.type) and not p.type.shape}
    integers.intervals.clear()
    integers.intervals.update(before)
    closed = bounded(made, given)
    if closed is not made:
        trace.assumed |= leaves
    return closed


def _behind(function: Function, loops: Sequence[Operation]) -> Iterator[Value]:
    """Yield the parameters of a function from which the bounds of loops are computed."""
    maker = {r: op for op in walk(function.block) for r in op.results}
    owner = {p: op for op in walk(function.block) for b in op.blocks for p in b.parameters}
    parameters, seen = {*function.parameters}, set()
    waiting = [v for op in loops for v in op.operands[:3]]
    while waiting:
        v = waiting.pop()
        if v.is_constant or v in seen:
            continue
        seen.add(v)
        if v in parameters:
            yield v
        elif v in maker:
            op = maker[v]
            waiting += op.operands if op.kind == "call" else [*op.operands, *(r for b in op.blocks for r in b.results)]
        elif v in owner and owner[v].kind == "range":
            waiting += owner[v].operands[:3]
