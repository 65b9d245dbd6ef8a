"""Fusion: which arrays are never written to memory, because their elements are computed in the loop that uses them.

Elementwise results and parts of arrays are *lazy* in this sense if it costs nothing: they need no arithmetic, or one
loop uses each of their elements once; and the arrays that they read are not overwritten before they are used. The
choice affects only speed: ``buffers`` copies an array that must not be overwritten in any case.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Function, Operation, Value
from ...ir.typed import STACK, part
from ...rules import kept_factors
from .liveness import Order, Use
from .overlaps import Overlaps
from .real_functions import emitter_of

FOLDS = (np.sum, np.prod, np.max, np.min, np.any, np.all)
REDUCTIONS = (*FOLDS, np.argmax, np.argmin)
ACCUMULATIONS = (np.cumsum, np.cumprod, np.maximum.accumulate, np.minimum.accumulate)
FACTORISATIONS = {
    np.linalg.solve,
    np.linalg.inv,
    np.linalg.cholesky,
    np.linalg.det,
    np.linalg.slogdet,
    kept_factors.factored,
}
_DEAR = 12  # the cost of a call such as exp, in additions
_CHEAP = 2
_DEEPEST = 40  # longer chains of operations are cut by storing an array
_EXPENSIVE = {np.divide: 3, np.sqrt: 4, np.remainder: 8, np.floor_divide: 8}
_PLAIN = {np.add, np.subtract, np.multiply, np.negative, np.absolute, np.maximum, np.minimum, np.conjugate, np.square}
_PARTS = {np.real: "real", np.imag: "imag"}


def is_array(value: Value) -> bool:
    return value.type is not STACK and bool(value.type.shape)


def is_elementwise(op: Operation) -> bool:
    """Return whether an element of the result depends on one element of each operand."""
    if op.kind != "call":
        return False
    if op.callee in (np.where, typed.cast, typed.complex_of, typed.apart) or op.callee in _PARTS or is_outer(op):
        return True
    return emitter_of(op) is not None


def is_outer(op: Operation) -> bool:
    """Return whether a matrix product has sums of one term: a column times a row."""
    return op.callee is np.matmul and op.operands[0].type.shape[-1] == 1 and op.operands[0].type.ndim > 1


def _reads_once(op: Operation, value: Value) -> bool:
    """Return whether an operation reads each element of an operand once.

    A product reads both vectors once, or the matrix beside a vector; a factorisation copies its operands first.
    """
    if op.callee in FACTORISATIONS:
        return all(v.type.ndim <= 2 for v in op.positional)
    if op.callee is not np.matmul:
        return False
    a, b = op.operands
    if a.type.ndim == 1:
        return True
    if b.type.shape[-1] == 1:
        return value is not b
    return a.type.shape[-2] == 1 and value is not a


def is_view(op: Operation) -> bool:
    """Return whether the elements of the result are elements of an operand at other indices."""
    return op.kind == "call" and op.callee in (
        typed.getitem,
        typed.transpose,
        typed.broadcast_to,
        typed.full,
        typed.iota,
    )


def is_strided(op: Operation | None) -> bool:
    """Return whether the result is a strided view of its operand's memory."""
    if op is None or op.kind != "call":
        return False
    return op.callee is typed.transpose or op.callee is typed.getitem and "a" not in op.named["spec"].constant


def fused(function: Function, order: Order, overlaps: Overlaps) -> set[Value]:
    """Return the lazy values; their uses are added to ``order.uses`` of the values that they read."""
    lazy = _by_use(order)
    _keep_what_is_overwritten(order, lazy, overlaps)
    for value in reversed([v for v in order.maker if v in lazy]):
        for operand in order.maker[value].operands:
            if not operand.is_constant:
                order.uses[operand] |= order.uses[value]
    return lazy


def _by_use(order: Order) -> set[Value]:
    costs: dict[Value, int] = {}
    depths: dict[Value, int] = {}
    for value, op in order.maker.items():
        if is_array(value) and (is_elementwise(op) or is_view(op)):
            depths[value] = 1 + max((depths.get(x, 0) for x in op.operands), default=0)
            if depths[value] == _DEEPEST:
                depths[value] = 0
                continue
            own = 0 if is_view(op) and "a" not in _spec(op) else cost_of(op)
            costs[value] = min(own + sum(costs.get(x, 0) for x in set(op.operands)), 1 << 20)
    lazy: set[Value] = set()
    sinks: dict[Value, set[Any]] = {}
    repeated: set[Value] = set()
    kept: set[Value] = set()  # in memory
    for value in reversed(order.maker):
        if value not in costs or value in kept:
            continue
        ways: set[Any] = set()
        again = any(len(use.loops) > len(order.loops[value]) for use in order.uses[value])
        must = False
        for user in order.users[value]:
            if user is None:
                must = True
            elif (result := next((r for r in user.results if r in lazy), None)) is not None:
                if is_view(user) and value in user.positional[1:]:
                    again = again or len(user.results[0].type.shape) > len(value.type.shape)
                moved = (user,) if is_view(user) or result.type.shape != value.type.shape else ()
                again = again or result in repeated or not is_view(user) and bool(moved) or _repeats(user)
                ways |= {(sink, path + moved) for sink, path in sinks[result]}
            elif _reads_elements(user, value):
                ways.add((user, ()))
            elif user.callee is np.matmul and is_strided(maker := order.maker[value]):
                ways.add((user, ()))
                if costs[value]:
                    kept.add(maker.operands[0])  # the product's loops are ordered by the strides, so it needs memory
            elif _reads_once(user, value):
                ways.add((user, ()))
            else:
                must = True
        if must:
            continue
        cost = costs[value]
        if cost and all(not is_array(r) and sink.callee is typed.getitem for sink, _ in ways for r in sink.results):
            one_time = len(ways) <= _count(value)  # only single elements are used
        else:
            one_time = len(ways) == 1 or cost <= _CHEAP and len(ways) <= 3
        if cost == 0 or one_time and not again:
            lazy.add(value)
            sinks[value] = ways
            if again:
                repeated.add(value)
    return lazy


def _spec(op: Operation) -> Any:
    return op.named["spec"].constant if op.callee is typed.getitem else ()


def _count(value: Value) -> int:
    return math.prod(value.type.bounds)


def _repeats(op: Operation) -> bool:
    return op.callee in (typed.broadcast_to, typed.full)


def cost_of(op: Operation) -> int:
    """Return the cost of an element of the result, in additions."""
    return 1 if not isinstance(op.callee, np.ufunc) or op.callee in _PLAIN else _EXPENSIVE.get(op.callee, _DEAR)


def _reads_elements(op: Operation, value: Value) -> bool:
    """Return whether an operation that writes memory or returns a number reads an operand in its own loop."""
    if op.kind != "call":
        return False
    if op.callee in (typed.setitem, typed.add_at):
        return value is not op.operands[0]
    if op.callee in (typed.getitem, typed.stack_push, typed.concatenate):
        return True
    return op.callee in REDUCTIONS or op.callee in ACCUMULATIONS or is_elementwise(op) or is_view(op)


def accesses(
    value: Value, order: Order, lazy: set[Value], found: dict[Value, dict[Value, set[Any]]]
) -> dict[Value, set[Any]]:
    """Return the arrays in memory that a value's elements are computed from, with the ways in which each is read.

    A way is ``()`` for the same index, a ``part`` for the index of that part, None for any other index.
    """
    if value.is_constant or value.type is STACK:
        return {}
    if value not in lazy:
        return {value: {()}} if is_array(value) else {}
    if value in found:
        return found[value]
    op, ways = order.maker[value], {}
    for i, operand in enumerate(op.positional):
        for root, paths in accesses(operand, order, lazy, found).items():
            if is_elementwise(op):
                here = paths if operand.type.shape == value.type.shape else {None}
            elif op.callee is typed.getitem and i == 0 and root is operand:
                here = {part(op)}
            else:
                here = {None}
            ways.setdefault(root, set()).update(here)
    found[value] = ways
    return ways


def _keep_what_is_overwritten(order: Order, lazy: set[Value], overlaps: Overlaps) -> None:
    """Remove values from ``lazy`` that would be read after, or while, an array that they read is overwritten."""
    overwritten: dict[Value, list[tuple[int, Operation]]] = {}
    for op, position in order.at.items():
        if _is_write(op):
            changed = op.operands[:1]
        elif op.kind in ("while", "range"):
            changed = op.operands
        else:
            continue
        for value in changed:
            overwritten.setdefault(value, []).append((position, op))
    reach: dict[Value, set[Use]] = {}
    found: dict[Value, dict[Value, set[Any]]] = {}
    # From the last to the first: once a value is stored, the lazy values that it reads are used there and not later.
    for value in [v for v in reversed(order.maker) if v in lazy]:
        users = [r for user in order.users[value] if user is not None for r in user.results if r in lazy]
        reach[value] = set(order.uses[value]).union(*(reach[r] for r in users))
        start = order.defined[value]
        last = max((order.effective(use, value) for use in reach[value]), default=start)
        for root, ways in accesses(value, order, lazy, found).items():
            if any(
                start < position <= last
                and not (position == last and _is_write(op) and overlaps.in_step(root, ways, op))
                for position, op in overwritten.get(root, ())
            ):
                lazy.discard(value)
                break


def _is_write(op: Operation) -> bool:
    return op.kind == "call" and op.callee in (typed.setitem, typed.add_at)
