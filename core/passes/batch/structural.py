"""Typed IR's own operations for all samples of a batch, and NumPy's of which each back end has a form.

``BATCHED[callee](sweep, op)`` writes a call of which an operand varies, and returns its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir import typed
from ...ir.dynamic import Operation, Value
from ...ir.typed import INT64, STACK, ArrayType, Dim
from .indexing import placed

Written = Callable[[Any, Operation], "list[Value]"]
BATCHED: dict[Any, Written] = {}


def batched(*callees: Any) -> Callable[[Written], Written]:
    def register(body: Written) -> Written:
        BATCHED.update(dict.fromkeys(callees, body))
        return body

    return register


def again(sweep: Any, op: Operation, operands: list[Value], **changed: Any) -> list[Value]:
    """Write a call again, of these operands, with results for all samples."""
    constants = {name: v.constant for name, v in op.named.items()} | changed
    return sweep.builder.call(op.callee, operands, [sweep.type(r.type) for r in op.results], **constants)


def by_element(sweep: Any, op: Operation) -> list[Value]:
    """A function that acts element by element, with broadcasting."""
    ndim = op.results[0].type.ndim
    return again(sweep, op, [sweep.aligned(v, ndim) for v in op.positional])


batched(np.where, np.imag, typed.complex_of, typed.apart)(by_element)


@batched(typed.cast)
def _cast(sweep, op):
    (x,) = map(sweep.get, op.operands[:1])
    return [sweep.builder.cast(x, op.results[0].type.dtype)]


@batched(typed.full, typed.broadcast_to)
def _broadcast(sweep, op):
    kind = op.results[0].type
    return [sweep.builder.broadcast_to(sweep.aligned(op.operands[0], kind.ndim), sweep.type(kind).shape)]


@batched(typed.reshape)
def _reshape(sweep, op):
    return [sweep.builder.reshape(sweep.get(op.operands[0]), sweep.type(op.results[0].type).shape)]


@batched(typed.transpose)
def _transpose(sweep, op):
    return again(sweep, op, [sweep.get(op.operands[0])], axes=(0, *(a + 1 for a in op.named["axes"].constant)))


@batched(typed.concatenate)
def _concatenate(sweep, op):
    return again(sweep, op, [sweep.whole(v) for v in op.positional], axis=op.named["axis"].constant + 1)


# ---- reductions


@batched(np.sum, np.prod, np.max, np.min, np.any, np.all)
def _reduce(sweep, op):
    return again(sweep, op, [sweep.get(op.operands[0])], axis=tuple(a + 1 for a in op.named["axis"].constant))


@batched(np.argmax, np.argmin, np.sort, np.argsort, np.cumsum, np.cumprod)
def along_axis(sweep, op):
    return again(sweep, op, [sweep.get(op.operands[0])], axis=op.named["axis"].constant + 1)


@batched(np.matmul)
def _matmul(sweep, op):
    """A product with one matrix for all samples is one product of matrices."""
    b, (x, y), kind = sweep.builder, op.positional, sweep.type(op.results[0].type)
    if x.type.ndim == 1:
        x, y = (y, x) if x not in sweep.varying else (x, y)  # of vectors, the order does not matter
    a, c, n = sweep.get(x), sweep.get(y), sweep.lanes
    if x.type.ndim == 1:
        if y in sweep.varying:
            a = b.reshape(a, (n, 1, *a.type.shape[1:]))
        return [b.reshape(b.matmul(a, b.reshape(c, (*c.type.shape, 1))), kind.shape)]
    if x.type.ndim == 2 and y not in sweep.varying:
        rows = times(n, a.type.shape[1])
        if rows is not None:
            return [b.reshape(b.matmul(b.reshape(a, (rows, a.type.shape[2])), c), kind.shape)]
    if x.type.ndim == 2 and x not in sweep.varying:
        columns = times(n, c.type.shape[2])
        if columns is not None:
            c = b.transpose(c, (0, 2, 1))
            turned = b.matmul(b.reshape(c, (columns, c.type.shape[2])), b.transpose(a, (1, 0)))
            return [b.transpose(b.reshape(turned, (*c.type.shape[:2], a.type.shape[0])), (0, 2, 1))]
    return [b.matmul(sweep.whole(x), sweep.whole(y))]


def times(n: int | Dim, m: int | Dim) -> int | None:
    """The product of two lengths, if it is known."""
    return None if isinstance(n, Dim) or isinstance(m, Dim) else n * m


# ---- parts of arrays


@batched(typed.getitem)
def _getitem(sweep, op):
    x, *index = op.positional
    place = placed(sweep, x in sweep.varying, index, op.named["spec"].constant, op.results[0].type, x.type)
    return [place.read(sweep.get(x))]


def _written(sweep: Any, op: Operation, add: bool) -> list[Value]:
    b, (x, *index, v) = sweep.builder, op.positional
    old = sweep.whole(x)
    place = placed(sweep, True, index, op.named["spec"].constant, v.type, x.type)
    new = sweep.whole(v)
    if sweep.mask is not None:
        new = sweep.chosen(sweep.mask, new, b.zeros(new.type.shape, new.type.dtype) if add else place.read(old))
    made = place.write(old, new, op.callee)
    sweep.note(made, old)
    return [made]


@batched(typed.setitem)
def _setitem(sweep, op):
    return _written(sweep, op, False)


@batched(typed.add_at)
def _add_at(sweep, op):
    return _written(sweep, op, True)


# ---- stacks: what lies on one is there for all samples


@batched(typed.stack_new)
def _stack_new(sweep, op):
    return sweep.builder.call(typed.stack_new, [], [STACK])


@batched(typed.stack_push)
def _stack_push(sweep, op):
    stack, *values = op.positional
    return [sweep.builder.push(sweep.get(stack), [sweep.whole(v) for v in values])]


@batched(typed.stack_pop)
def _stack_pop(sweep, op):
    *values, _ = op.results
    return sweep.builder.pop(sweep.get(op.operands[0]), [sweep.type(v.type) for v in values])


# ---- effects and derivatives by hand


@batched(typed.raise_if)
def _raise_if(sweep, op):
    """The error is that of the first sample that has one."""
    b, (condition, *values) = sweep.builder, op.positional
    holds = sweep.whole(condition)
    if sweep.mask is not None:
        holds = b.ufunc(np.logical_and, sweep.mask, holds)
    first = b.call(np.argmax, [holds], [INT64], axis=0)[0]
    shown = [sweep.of_lane(v, first) for v in values]
    constants = {name: v.constant for name, v in op.named.items()}
    return b.call(typed.raise_if, [sweep.anywhere(holds), *shown], [], **constants)


@batched(typed.refused)
def _refused(sweep, op):
    return again(sweep, op, [sweep.whole(v) for v in op.positional])


@batched(typed.custom)
def _custom(sweep, op):
    constants = {name: v.constant for name, v in op.named.items()}
    for name in constants.keys() & {"backward", "forward"}:
        constants[name] = sweep.function(constants[name])
    operands = [sweep.whole(v) for v in op.positional]
    return sweep.builder.call(typed.custom, operands, [sweep.type(r.type) for r in op.results], **constants)


# ---- the samples themselves


@batched(typed.lane_sum)
def _lane_sum(sweep, op):
    if not is_own(sweep, op):
        return again(sweep, op, [sweep.get(op.operands[0])])
    return [sweep.builder.reduce(np.sum, _of_all(sweep, op), (0,), op.results[0].type.dtype)]


@batched(typed.lanes_joined)
def _lanes_joined(sweep, op):
    if is_own(sweep, op):
        return [_of_all(sweep, op)]
    # The samples of the other batch come first.
    kind = sweep.type(op.results[0].type)
    n, m, *shape = kind.shape
    axis = op.named["axis"].constant
    (found,) = sweep.builder.call(
        op.callee, [sweep.get(op.operands[0])], [ArrayType(kind.dtype, (m, n, *shape))], axis=axis
    )
    return [sweep.builder.transpose(found, (1, 0, *range(2, kind.ndim)))]


def is_own(sweep: Any, op: Operation) -> bool:
    """Whether an operation refers to the samples of this batch, not of one around it."""
    return op.named["axis"].constant == sweep.axis


def _of_all(sweep: Any, op: Operation) -> Value:
    if sweep.mask is not None:
        raise refused(sweep, op)
    return sweep.whole(op.operands[0])


def refused(sweep: Any, op: Operation) -> BadInput:
    """The error of an operation on all samples that not all of them reach."""
    name = "psum" if op.callee is typed.lane_sum else "all_gather"
    return BadInput(
        f"{name} over the axis {sweep.axis!r} stands in a branch or loop that samples take differently, so that not all of them reach "
        "it; take it out of the branch or loop"
    )
