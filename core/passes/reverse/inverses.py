"""The adjoint of a loop of invertible steps: the backward sweep computes the state before an iteration from that after it.

The inverse is the declared one (``invertible``), or follows from the operations of an iteration (``inversion``). The
sweep stores the state before and after the loop only. In the end, the first state that it has computed is compared with
the true one: the difference is the drift, from rounding or from an inverse that is none. (Gomez, Ren, Urtasun and
Grosse, "The reversible residual network", NeurIPS 2017.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ...errors import BadInput
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.memory_policies import TOLERANCE, Policy, Report, Reports
from ...ir.typed import callback, inverts
from ..dead_code import remove_dead_code
from ..inline import copy_function, inline, uses
from ..inversion import derived, not_derived
from .cotangents import Cotangents, as_type, strong
from .segments import Loop, iterations_of

if TYPE_CHECKING:
    from .sweep import Sweep


def adjoint(
    sweep: Sweep,
    op: Operation,
    block: Block,
    cotangents: Cotangents,
    counted: Callable[[Sweep, Operation, Block], Value],
    policy: Policy,
) -> None:
    """Write the adjoint of a loop in ``block``.

    Raises:
        BadInput: the loop's body is no invertible step, or reads a variable that the inverse does not give.
    """
    loop = Loop(sweep, op)
    is_declared = any(inner.callee is inverts for inner in loop.body.operations)
    step = _Declared(loop, policy) if is_declared else _Derived(loop, policy)
    b = sweep.builder
    n = iterations_of(b, *loop.bounds) if loop.bounds else counted(sweep, op, block)
    gs = [cotangents.filled(dict(zip(loop.parameters, op.results)).get(v, v)) for v in loop.active]
    after = [op.results[i] for i in step.places]
    one, down = (b.constant(k, np.int64) for k in (1, -1))

    def body(k: Value, *carried: Value) -> list[Value]:
        state, gs = list(carried[: len(after)]), list(carried[len(after) :])
        before = step.before(b, k, state)
        return [*before, *loop.reversed_segment(b, k, one, dict(zip(step.places, before)), gs)]

    found = b.range_(b.ufunc(np.subtract, n, one), down, down, body, [*after, *gs])
    step.check(b, found[: len(after)])
    initial = dict(zip(loop.parameters, loop.initial))
    for value, g in zip(loop.active, found[len(after) :]):
        if value in initial:
            cotangents.add(initial[value], g)
        else:
            cotangents.set(value, g)


class _Step:
    """The invertible step of a loop: ``places`` are the numbers of the carried variables that it maps."""

    name: str
    tolerance: float
    places: list[int]

    def __init__(self, loop: Loop, policy: Policy) -> None:
        self.loop, self.policy = loop, policy
        self.reports: list[Report] = [policy.report]

    def refuse(self, why: str) -> BadInput:
        return BadInput(f"the loop at line {self.loop.op.line} cannot be reversed by an inverse: {why}")

    def choose_states(self) -> None:
        """Choose the variables that the adjoint of an iteration reads, and write its sweeps."""
        self.loop.sweeps = self.loop.segment(1)
        self.loop.choose_states(self.loop.sweeps)

    def before(self, b: Builder, k: Value, after: Sequence[Value]) -> list[Value]:
        """Write the state before iteration k, from that after it."""
        raise NotImplementedError

    def unused(self, b: Builder) -> list[Value]:
        """Values for variables that are not read."""
        return [as_type(b, b.zeros(p.type.shape, p.type.dtype), p.type) for p in self.loop.parameters]

    def typed(self, b: Builder, found: Sequence[Value]) -> list[Value]:
        types = [self.loop.parameters[i].type for i in self.places]
        return [as_type(b, b.cast(x, t.dtype), t) for x, t in zip(found, types)]

    def check(self, b: Builder, found: Sequence[Value]) -> None:
        """Write the comparison of the state before the loop with the one that the inverses have led to."""
        drifts = []
        for x, i in zip(found, self.places):
            initial = self.loop.initial[i]
            if not strong(initial.type).is_inexact:
                continue
            apart, scale = (
                b.reduce(np.max, y, range(y.type.ndim)) if y.type.ndim else y
                for y in (b.ufunc(np.absolute, b.ufunc(np.subtract, x, initial)), b.ufunc(np.absolute, initial))
            )
            drift = b.ufunc(np.divide, apart, b.ufunc(np.add, scale, b.constant(1.0, scale.type.dtype)))
            drifts.append(b.cast(drift, np.float64))
        if not drifts:
            return
        drift = reduce(lambda x, y: b.ufunc(np.maximum, x, y), drifts)  # NaN if one is
        b.call(callback, [drift], [], function=Reports(self.reports))
        fits = b.ufunc(np.less_equal, drift, b.constant(self.tolerance, np.float64))
        text = f"the inverse of {self.name} does not lead back to the state before the loop: its drift is {{}}, and {self.tolerance:g} was allowed"
        b.raise_if(b.ufunc(np.logical_not, fits), BadInput, text, drift)


class _Declared(_Step):
    """A step with a declared inverse."""

    def __init__(self, loop: Loop, policy: Policy) -> None:
        super().__init__(loop, policy)
        marks = [op for op in loop.body.operations if op.callee is inverts]
        if len(marks) != 1:
            raise self.refuse(f"an iteration must call one function from morula.invertible, not {len(marks)}")
        (mark,) = marks
        self.name, self.tolerance = mark.named["name"].constant, mark.named["tolerance"].constant
        self.reports.append(mark.named["report"].constant)
        count = mark.named["count"].constant
        after, before = mark.positional[:count], mark.positional[count : 2 * count]
        self.read, self.inverse = mark.positional[2 * count :], mark.named["inverse"].constant
        results = loop.body.results
        self.places = [loop.parameters.index(v) for v in before if v in loop.parameters]
        places_after = [results.index(v) for v in after if v in results]
        if len(self.places) != count or sorted(self.places) != sorted(places_after):
            raise self.refuse(
                f"the arguments of {self.name} must be the variables that it assigns, as in `q, p = step(q, p)`, with the "
                "same types before and after"
            )
        self.order = [self.places.index(i) for i in places_after]
        self.choose_states()
        missing = [loop.parameters[i].name for i in loop.states if i not in self.places]
        plain = copy_function(
            Function("read", [loop.index, *loop.parameters], Block([], loop.body.operations, list(self.read)))
        )
        plain.block.operations = [op for op in plain.block.operations if op.results]
        self.what_is_read = remove_dead_code(plain)
        used = {*uses(plain.block.operations), *plain.block.results}
        missing += [p.name for p in plain.parameters[1:] if p in used]
        if missing:
            raise self.refuse(
                f"an iteration reads {', '.join(missing)}, which {self.name} does not give back; make it part of the state, "
                "or compute it from the loop's index"
            )

    def before(self, b: Builder, k: Value, after: Sequence[Value]) -> list[Value]:
        read = inline(b, self.what_is_read, [self.loop.index_at(b, k), *self.unused(b)])
        return self.typed(b, inline(b, self.inverse, [*(after[i] for i in self.order), *read]))


class _Derived(_Step):
    """An iteration whose inverse follows from its operations."""

    name, tolerance = "an iteration", TOLERANCE

    def __init__(self, loop: Loop, policy: Policy) -> None:
        super().__init__(loop, policy)
        if policy.tolerance is not None:
            self.tolerance = policy.tolerance
        self.name = f"an iteration of the loop at line {loop.op.line}"
        self.choose_states()
        made = derived(loop.plain, 1, len(loop.parameters), loop.states)
        if made.missing:
            raise self.refuse(not_derived([loop.parameters[i].name for i in made.missing]))
        self.places, self.inverse = made.found, made.function

    def before(self, b: Builder, k: Value, after: Sequence[Value]) -> list[Value]:
        state = self.unused(b)
        for i, x in zip(self.places, after):
            state[i] = x
        return self.typed(b, inline(b, self.inverse, [self.loop.index_at(b, k), *state]))
