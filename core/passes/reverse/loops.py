"""Adjoints of loops: a loop over the same iterations in reverse, which carries cotangents.

It carries the cotangents of the loop's carried variables and of the values that its body reads from outside. The
residuals of an iteration go to a stack. Where memory must not grow (``target="xla"``), they go to arrays with an
element per iteration if the number of iterations is static, and otherwise to checkpoints (``checkpoint``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Block, Operation, Value
from ...ir.memory_policies import Policy
from ...ir.typed import INT64, REVERSED, ArrayType, AtMost, Storeless, lengths, rerun
from . import checkpoint, inverses, reruns
from .cotangents import Cotangents, strong
from .residuals import has_unknown_length, size
from .segments import iterations_of
from .stacks import CURRENT
from .storage import Part

if TYPE_CHECKING:
    from .sweep import Sweep


DEFAULT = Policy()
"""That of loops of unknown length where memory must not grow."""

UNKNOWN = 16
"""The number of iterations that a loop of unknown length is taken to have."""


def adjoint(sweep: Sweep, op: Operation, block: Block, cotangents: Cotangents) -> None:
    """Write the adjoint of a loop in ``block``; at least one of its results has a cotangent."""
    if op.callee is rerun:
        reruns.adjoint(sweep, op, cotangents)
        return
    iterations = op.callee.iterations if isinstance(op.callee, AtMost) else op.iterations
    is_bounded = sweep.target != "native" and (iterations is None or has_unknown_length(op.blocks[-1]))
    policy = op.callee if isinstance(op.callee, Policy) and not op.callee.is_stored else DEFAULT if is_bounded else None
    if policy is not None and policy.is_inverse:
        inverses.adjoint(sweep, op, block, cotangents, counted, policy)
        return
    if policy is not None and (is_bounded or checkpoint.applies(op)):
        if checkpoint.adjoint(sweep, op, block, cotangents, policy):
            return
    if op.kind == "range":
        bounds, index = reversed_range(sweep.builder, *op.operands[:3]), op.blocks[0].parameters[0]
    else:
        count = counted(sweep, op, block)
        b = sweep.builder
        one, down = (b.constant(n, np.int64) for n in (1, -1))
        bounds, index = (b.ufunc(np.subtract, count, one), down, down), None
    body = op.blocks[-1]
    if isinstance(op.callee, Storeless):
        had_to = op.callee.values

        def keep(values: list[Value]) -> None:
            had_to.extend(values)
    elif iterations is None or sweep.target == "native" and not isinstance(op.callee, AtMost):

        def keep(values: list[Value]) -> None:
            push(sweep, body, values)
    else:

        def keep(values: list[Value]) -> None:
            save_in_arrays(sweep, op, block, values, iterations)

    reverse_loop(sweep, op, cotangents, bounds, index, keep)


def reversed_range(b: Builder, start: Value, stop: Value, step: Value) -> tuple[Value, Value, Value]:
    """Start, stop and step of the range reversed."""
    start, stop, step = (b.cast(v, np.int64) for v in (start, stop, step))
    if step.is_constant and step.constant == 1:
        stop = _with_one_below(b, stop)
    down = b.ufunc(np.negative, step)
    end = b.ufunc(np.subtract, start, step)
    if step.is_constant and step.constant == 1:
        return b.ufunc(np.subtract, stop, step), end, down
    count = iterations_of(b, start, stop, step)
    return b.ufunc(np.add, end, b.ufunc(np.multiply, count, step)), end, down


def _with_one_below(b: Builder, end: Value) -> Value:
    """The end of a range as an int that is not the least one, so that the int before it can be computed."""
    least = np.iinfo(np.int64).min
    if b.integers.lower(b.integers.form(end)) > least:
        return end
    return b.ufunc(np.maximum, end, b.constant(least + 1, np.int64))


def counted(sweep: Sweep, op: Operation, block: Block) -> Value:
    """Make a ``while`` of the forward sweep count its iterations; return the count."""
    forward = sweep.forward
    count = sweep.added_result(op, block, Value("count", INT64))
    op.operands.append(forward.constant(0, np.int64))
    for inner in op.blocks:
        inner.parameters.append(Value("count", INT64))
    body = op.blocks[1]
    with forward.writing(body.operations):
        one = forward.constant(1, np.int64)
        body.results.append(forward.ufunc(np.add, body.parameters[-1], one))
    return count


def reverse_loop(
    sweep: Sweep,
    op: Operation,
    cotangents: Cotangents,
    bounds: Sequence[Value],
    index: Value | None,
    keep: Callable[[list[Value]], None],
) -> None:
    """Write the loop over ``bounds`` that reverses ``op``; ``index`` is the primal loop's index, if it has one."""
    body = op.blocks[-1]
    parameters = body.parameters[1 if op.kind == "range" else 0 :]
    initial = op.initial
    carried = [i for i, p in enumerate(parameters) if p in sweep.active]
    outside = sweep.captured([body])
    seeds = [cotangents.filled(op.results[i]) for i in carried]
    seeds += [cotangents.filled(v) for v in outside]

    b = sweep.builder
    with b.block([Value("i", INT64), *(Value(g.name, strong(g.type)) for g in seeds)]) as written:
        place, *gs = written.parameters
        inner = Cotangents(b, sweep.active)
        for value, g in zip(outside, gs[len(carried) :]):
            inner.set(value, g)
        for i, g in zip(carried, gs):
            inner.add(body.results[i], g)
        sweep.block(body, inner)
        written.results = [inner.filled(parameters[i]) for i in carried]
        written.results += [inner.filled(v) for v in outside]
    if index is not None:
        sweep.restored[index] = place
    follows = {
        r: i for i, (p, r) in enumerate(zip(parameters, body.results)) if r is not p and sweep.home.get(r) is body
    }
    chained: list[Value] = []
    counts = found_counts(sweep, op, parameters, initial)

    def keep_once(values: list[Value]) -> None:
        """Save residuals without duplicates.

        The value of a carried variable after an iteration is its value before the next: one is saved, the other carried
        by the backward loop. A count is computed from the index instead.
        """
        for p in [v for v in values if v in counts]:
            sweep.restored[p] = counts[p].after(b, place)
        values = [v for v in values if v not in counts]
        chained.extend(r for r in values if r in follows and parameters[follows[r]] in values)
        keep([v for v in values if v not in chained])
        for r in chained:
            sweep.restored[r] = Value(r.name, strong(r.type))
            written.parameters.append(sweep.restored[r])
            written.results.append(parameters[follows[r]])

    bound = op.callee.iterations if isinstance(op.callee, AtMost) else op.iterations
    times = max(1, UNKNOWN if bound is None else bound)
    sweep.finish(body, written, lambda v: 0.5 if v in counts else size(v.type), keep_once, times=times)
    seeds += [op.results[follows[r]] for r in chained]
    kind = REVERSED if sweep.target == "native" else None
    results = b.operation("range", kind, [*bounds, *seeds], [strong(g.type) for g in seeds], blocks=[written])
    for value, g in zip(outside, results[len(carried) :]):
        cotangents.set(value, g)
    for i, g in zip(carried, results):
        cotangents.add(initial[i], g)


@dataclass
class Count:
    """A carried integer that changes by the same amount in each iteration."""

    initial: Value
    change: Value
    first: Value | None  # value of a ``range`` loop's index; None for a ``while``

    def after(self, b: Builder, place: Value) -> Value:
        """The integer at the start of the iteration whose index (of a ``while``: number) is ``place``."""
        passed = place if self.first is None else b.ufunc(np.subtract, place, b.cast(self.first, np.int64))
        return b.ufunc(np.add, self.initial, b.ufunc(np.multiply, passed, self.change))


def found_counts(
    sweep: Sweep, op: Operation, parameters: Sequence[Value], initial: Sequence[Value]
) -> dict[Value, Count]:
    """Find the counts among a loop's carried variables."""
    if op.kind == "range" and not (op.operands[2].is_constant and op.operands[2].constant == 1):
        return {}
    found = {}
    for p, before, after in zip(parameters, initial, op.blocks[-1].results):
        made = sweep.producer.get(after)
        if made is None or made.callee is not np.add or p.type.dtype != np.int64 or p.type.shape:
            continue
        changes = [v for v in made.operands if v is not p]
        if len(changes) == 1 and changes[0].is_constant:
            found[p] = Count(before, changes[0], op.operands[0] if op.kind == "range" else None)
    return found


def push(sweep: Sweep, body: Block, values: list[Value]) -> None:
    """Save values of an iteration on the stack; those of variable length are popped last, after their lengths."""
    groups = [[v for v in values if [*lengths(v.type)]], [v for v in values if not [*lengths(v.type)]]]
    for group in groups:
        if group:
            with sweep.forward.writing(body.operations):
                sweep.forward.push(CURRENT, group)
    for group in reversed(groups):
        if group:
            popped = sweep.builder.pop(CURRENT, [v.type for v in group])
            sweep.restored.update(zip(group, popped))


def save_in_arrays(sweep: Sweep, op: Operation, block: Block, values: list[Value], n: int) -> None:
    """Save values of each iteration in arrays that the forward loop carries."""
    forward, b = sweep.forward, sweep.builder
    body = op.blocks[0]
    start, step = op.operands[0], int(op.operands[2].constant)

    def place(builder: Builder, index: Value) -> Value:
        is_zero = start.is_constant and not int(start.constant)
        from_start = (
            index if is_zero else builder.ufunc(np.subtract, *(builder.cast(v, np.int64) for v in (index, start)))
        )
        return from_start if step == 1 else builder.ufunc(np.floor_divide, from_start, builder.constant(step, np.int64))

    index = body.parameters[0]
    for value in values:
        part = Part(value, lambda v: sweep.home.get(v) is body)
        kind = part.whole
        before: list[Operation] = []
        with forward.writing(before):
            op.operands.append(forward.zeros((n, *kind.shape), kind.dtype))
        sweep.insert(block, op, before)
        body.parameters.append(Value(value.name, ArrayType(kind.dtype, (n, *kind.shape))))
        with forward.writing(body.operations):
            body.results.append(part.written(forward, body.parameters[-1], [place(forward, index)]))
        made = sweep.added_result(op, block, body.parameters[-1])
        sweep.restored[value] = part.read(b, made, [place(b, sweep.restored[index])])
