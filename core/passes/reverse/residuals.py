"""Chooses which of a block's values the forward sweep saves and which the backward sweep recomputes.

The choice is a minimum cut. Saving a value costs its size in bytes. Recomputing an operation costs its running time, in
units of the time to save and restore one byte. In the graph

    source --cost of running it again--> operation --bytes--> each result --infinite--> operations that read it
    source --bytes--> parameter                               needed result --infinite--> sink

the cut edges are the operations to recompute and the values to save. (Recomputing instead of saving is from Chen et
al., "Training deep nets with sublinear memory cost", 2016; the cut makes the choice optimal, as in PyTorch's min-cut
partitioner.)  Inner loops, matrix products and library calls are never recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from math import inf, prod
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import STACK, AtMost, lengths
from ..inline import uses
from .minimum_cut import Network

_CHEAP = 0.5
_COSTS: dict[Any, float] = {
    **dict.fromkeys((np.divide, np.sqrt, np.floor_divide, np.remainder, np.hypot), 3.0),
    **dict.fromkeys((np.exp, np.log, np.tanh, np.expm1, np.log1p, np.exp2, np.log2, np.log10), 10.0),
    **dict.fromkeys((np.sin, np.cos, np.tan, np.sinh, np.cosh, np.arctan, np.arcsin, np.arccos, np.cbrt), 14.0),
    **dict.fromkeys((np.power, np.float_power, np.arctan2, np.logaddexp, np.fmod), 20.0),
    **dict.fromkeys((np.add, np.subtract, np.multiply, np.negative, np.positive, np.square, np.absolute), _CHEAP),
    **dict.fromkeys((np.minimum, np.maximum, np.sign, np.where, np.conjugate, np.rint, np.floor, np.ceil), _CHEAP),
    **dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), _CHEAP),
    **dict.fromkeys((np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.reciprocal), _CHEAP),
    **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift), _CHEAP),
    typed.refused: 0.0,  # nothing is left of it
    **dict.fromkeys((typed.cast, typed.complex_of, typed.full, typed.broadcast_to, typed.reshape, typed.iota), 0.25),
    **dict.fromkeys((typed.transpose, typed.getitem, typed.concatenate), 1.0),
    **dict.fromkeys((typed.setitem, typed.add_at), 2.0),
}


def size(kind: Any) -> float:
    """The size of a value in bytes; lengths that are not static count with their bounds."""
    return inf if kind is STACK else float(kind.dtype.itemsize * prod(kind.bounds))


def stored_bytes(forward: Function, results: int, carried: Collection[Value] = ()) -> float:
    """The bytes that a forward sweep saves: what it returns after its results, and what it pushes.

    Its parameters are there anyway, except those that are ``carried`` from one iteration of a loop to the next.
    """
    given = set(forward.parameters) - {*carried}
    kept = [v for v in dict.fromkeys(forward.block.results[results:]) if v not in given and v.type is not STACK]
    return sum(size(v.type) for v in kept) + _pushed(forward.block)


def _pushed(block: Block) -> float:
    """The bytes that a block pushes; of a loop of bounded length all that it may, of one of unknown length one iteration."""
    total = 0.0
    for op in block.operations:
        if op.callee is typed.stack_push:
            total += sum(size(v.type) for v in op.operands[1:])
        most = op.callee.iterations if isinstance(op.callee, AtMost) else op.iterations
        total += (most or 1) * sum(map(_pushed, op.blocks))
    return total


def has_unknown_length(block: Block) -> bool:
    """Whether a block contains a loop whose number of iterations has no bound at compile time."""
    loops = [op for op in walk(block) if op.kind in ("range", "while")]
    return any(op.iterations is None and not isinstance(op.callee, AtMost) for op in loops)


def running_cost(op: Operation) -> float:
    """The cost of recomputing an operation; infinite for those that are never recomputed."""
    if op.kind == "if":
        cost = _CHEAP
        for block in op.blocks:
            for inner in block.operations:
                if not discardable(inner):
                    cost += running_cost(inner)
                    if cost == inf:  # blocks are nested: going on would visit the innermost ones again and again
                        return inf
        return cost
    if op.kind != "call" or not op.results or any(r.type is STACK for r in op.results):
        return inf
    if op.callee in (np.sum, np.max, np.min, np.any, np.all, np.prod):
        return _CHEAP * prod(op.operands[0].type.bounds)
    if op.may_raise:
        return inf
    return _COSTS.get(op.callee, inf) * prod(op.results[0].type.bounds)


def discardable(op: Operation) -> bool:
    """Whether an operation is only a check, which the forward sweep has already made."""
    return op.callee is typed.raise_if


def choose(
    block: Block,
    needed: Sequence[Value],
    home: dict[Value, Block],
    producer: Callable[[Value], Operation | None],
    stands_for: Callable[[Value], Value],
    weight: Callable[[Value], float],
    again: Callable[[Operation], float] = running_cost,
    reads: Callable[[Operation], Iterable[Value]] = lambda op: uses([op]),
    outside: Callable[[Value], float] = lambda v: 0.0,
) -> tuple[list[Value], list[Operation]]:
    """Return the values of a block to save and the operations to recompute, both in the block's order.

    ``needed`` are the values defined in the block that its backward sweep reads. ``stands_for`` maps a value to its
    replacement; ``reads`` yields the values that an operation reads when recomputed; ``outside`` gives what it costs the
    enclosing blocks to restore a value that is defined there.
    """
    again = cache(again)  # each result of an ``if`` asks for the cost of everything in it
    network = Network()
    source, sink = network.node(), network.node()
    nodes: dict[Any, int] = {}
    waiting: list[Any] = []
    free: dict[Value, list[Any]] = {}  # values that cost nothing to save, and their readers
    from_outside: dict[Value, int] = {}

    def node(x: Any) -> int:
        if x not in nodes:
            nodes[x] = network.node()
            waiting.append(x)
        return nodes[x]

    for value in needed:
        if weight(value) == 0:
            free[value] = [None]
        else:
            network.edge(node(value), sink, inf)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Operation):
            network.edge(source, nodes[x], again(x))
            read = [*reads(x)]
        else:
            op = producer(x)
            if op is None or again(op) == inf:
                network.edge(source, nodes[x], weight(x))
            else:
                network.edge(node(op), nodes[x], weight(x))
            read = [*lengths(x.type)]
        for value in dict.fromkeys(map(stands_for, read)):
            if value is x:
                continue
            if home.get(value) is not block:
                cost = 0.0 if value.is_constant else outside(value)
                if cost:
                    if value not in from_outside:
                        from_outside[value] = network.node()
                        network.edge(source, from_outside[value], cost)
                    network.edge(from_outside[value], nodes[x], inf)
            elif weight(value) == 0:
                free.setdefault(value, []).append(x)
            else:
                network.edge(node(value), nodes[x], inf)
    kept = network.source_side(source, sink)
    rerun = [x for x in nodes if isinstance(x, Operation) and nodes[x] not in kept]
    saved = [v for v, readers in free.items() if any(r is None or nodes[r] not in kept for r in readers)]
    for x in nodes:
        if isinstance(x, Value) and nodes[x] not in kept:
            op = producer(x)
            if op is None or op not in nodes or nodes[op] in kept:
                saved.append(x)
    mentioned = dict.fromkeys(n for v in saved for n in map(stands_for, lengths(v.type)) if home.get(n) is block)
    restored, again_at_once = {*saved}, {*rerun}

    def is_restored(n: Value) -> bool:
        """Whether recomputing a length takes values that are saved beside those that have this length."""
        op = producer(n)
        return n in restored or op in again_at_once and any(map(is_restored, map(stands_for, reads(op))))

    saved += [n for n in mentioned if n not in restored and (weight(n) == 0 or is_restored(n))]
    rerun = [op for op in rerun if not all(r in saved for r in op.results)]
    order = {v: i for i, v in enumerate([*block.parameters, *(r for op in block.operations for r in op.results)])}
    place = {op: i for i, op in enumerate(block.operations)}
    return sorted(saved, key=lambda v: order.get(v, -1)), sorted(rerun, key=lambda op: place.get(op, -1))
