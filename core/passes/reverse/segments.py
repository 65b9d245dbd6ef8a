"""A loop taken apart: one iteration as a function, segments of iterations with their sweeps, and the state between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...ir.affine import Interval
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.memory_policies import Costs, Plan, Policy, planned
from ...ir.typed import INT64, STACK, ArrayType, AtMost, lengths
from ..dead_code import remove_dead_code
from ..inline import copy_function, free_values, inline, uses
from .bounded import bounded
from .cotangents import as_type
from .reruns import quieten
from .residuals import has_unknown_length, size, stored_bytes
from .stacks import thread

if TYPE_CHECKING:
    from .sweep import Sweep, Sweeps


class Loop:
    """A loop: one iteration as a function, its segments, and the carried variables that make up its state."""

    def __init__(self, sweep: Sweep, op: Operation) -> None:
        self.sweep, self.op, self.body = sweep, op, op.blocks[-1]
        own = 1 if op.kind == "range" else 0
        self.index = self.body.parameters[0] if own else Value("k", INT64)
        self.parameters = self.body.parameters[own:]
        self.initial = op.initial
        self.bounds = list(op.operands[:3]) if own else []
        read = [*free_values(self.body, {self.index}), *(v for v in self.bounds if not v.is_constant)]
        ordered = [*(n for v in read for n in lengths(v.type)), *read]  # lengths before the arrays that have them
        self.captured = list(dict.fromkeys(ordered))
        self.active = [v for v in [*self.captured, *self.parameters] if v in sweep.active]
        plain = Function(
            "iteration", [self.index, *self.parameters], Block([], self.body.operations, self.body.results)
        )
        self.plain = copy_function(plain)
        quieten(self.plain.block)
        for inner in walk(self.plain.block):
            if inner.callee is op.callee:  # one policy is for the outermost loops of a call
                inner.callee = None

    def planned(self, policy: Policy) -> Plan | None:
        """Choose the state, and a plan for it; None: store everything."""
        segment = self.segment(1)
        self.choose_states(segment)
        state = sum(size(t) for t in self.types)
        forward = self.with_bounds(segment.forward)
        carried = forward.parameters[len(forward.parameters) - len(self.parameters) :]
        residuals = stored_bytes(forward, len(self.active), carried)
        rest = 2 * sum(size(v.type) for v in self.active)
        costs = Costs(self.op.iterations, state, residuals, rest)
        # The adjoint of an iteration may hold the states of loops in it, which are large.
        is_single = self.sweep.target != "native" and has_unknown_length(self.body)
        plan = planned(policy, costs, max(1, self.sweep.sharing[policy]), is_single)
        if self.op.callee is policy:
            costs.note(policy, self.op.line, plan)
        if plan is not None:
            self.sweeps = segment if plan.segment == 1 else self.segment(plan.segment)
        return plan

    def with_bounds(self, forward: Function) -> Function:
        """Return a forward sweep whose inner loops carry the most iterations that they may make, as far as this is known."""
        length = self.op.iterations
        given: dict[Value, Interval] = {} if length is None else {forward.parameters[0]: (0, max(0, length - 1))}
        return bounded(forward, given)

    def segment(self, most: int) -> Sweeps:
        """Return the sweeps of a segment of at most so many iterations.

        The segment is a function of its first iteration, their number, the captured values and the state. It returns
        the values that have a cotangent: the captured ones unchanged, so that their cotangents add up, and the state.
        """
        first, count = Value("first", INT64), Value("count", INT64)
        state = [Value(p.name, p.type) for p in self.parameters]
        b = Builder()
        b.line = self.op.line

        def run(k: Value, *carried: Value) -> list[Value]:
            return inline(b, self.plain, [self.index_at(b, b.ufunc(np.add, first, k)), *carried])

        with b.block() as block:
            zero, one = (b.constant(n, np.int64) for n in (0, 1))
            after = run(zero, *state) if most == 1 else b.range_(zero, count, one, run, state)
            if most > 1:
                block.operations[-1].callee = AtMost(most)
            known = dict(zip(self.parameters, after))
            block.results = [known.get(v, v) for v in self.active]
        made = copy_function(Function("segment", [first, count, *self.captured, *state], block))
        wanted = [v in self.sweep.active for v in [*self.captured, *self.parameters]]
        return self.sweep.nested(made, [False, False, *wanted])

    def reversed_segment(
        self, b: Builder, first: Value, count: Value, state: dict[int, Value], gs: list[Value]
    ) -> list[Value]:
        """Write the sweeps of a segment from its state: the cotangents before it, from those after it."""
        # A variable that is not part of the state is not read: dead code uses the zeros.
        whole = [
            state[i] if i in state else as_type(b, b.zeros(p.type.shape, p.type.dtype), p.type)
            for i, p in enumerate(self.parameters)
        ]
        saved = inline(b, self.sweeps.forward, [first, count, *self.captured, *whole])[len(self.active) :]
        return [b.cast(g, g.type.dtype) for g in inline(b, self.sweeps.backward, [*saved, *gs])]

    def choose_states(self, segment: Sweeps) -> None:
        """Choose the carried variables to hold: those that a segment's adjoint reads, and those that determine them."""
        positions = len(segment.forward.parameters) - len(self.parameters)
        states = {i - positions for i in _read(segment.forward, len(self.active)) if i >= positions}
        while True:
            found = sorted(states)
            advance = copy_function(self.plain)
            advance.block.results = [advance.block.results[i] for i in found]
            index, *inputs = advance.parameters
            remove_dead_code(advance)
            used = {*uses(advance.block.operations), *advance.block.results}
            states |= {i for i, p in enumerate(inputs) if p in used}
            if len(states) == len(found):
                break
        advance.parameters = [index, *(inputs[i] for i in found)]
        self.states, self.advance = found, advance

    @property
    def types(self) -> list[ArrayType]:
        return [self.parameters[i].type for i in self.states]

    def index_at(self, b: Builder, k: Value) -> Value:
        """The value of the loop's index in iteration k."""
        if not self.bounds:
            return k
        start, _, step = (b.cast(v, np.int64) for v in self.bounds)
        return b.ufunc(np.add, start, b.ufunc(np.multiply, k, step))

    def run(
        self, b: Builder, first: Value, stop: Value, body: Callable[..., Sequence[Value]], state: Sequence[Value]
    ) -> list[Value]:
        """Write a loop over iterations ``first`` to ``stop``; the body takes the loop's index."""
        step = b.cast(self.bounds[2], np.int64) if self.bounds else b.constant(1, np.int64)
        return b.range_(self.index_at(b, first), self.index_at(b, stop), step, body, state)


def _read(forward: Function, results: int) -> list[int]:
    """The positions of the parameters on which what a forward sweep saves depends."""
    made = copy_function(forward)
    stack = Value("stack", STACK)
    made.block.results = [*made.block.results[results:], thread(made.block, stack)]
    parameters, made.parameters = made.parameters, [*made.parameters, stack]
    remove_dead_code(made)
    used = {*uses(made.block.operations), *made.block.results}
    return [i for i, p in enumerate(parameters) if p in used]


def iterations_of(b: Builder, start: Value, stop: Value, step: Value) -> Value:
    """The length of a range: (stop - start) / step, rounded up, at least 0."""
    start, stop, step = (b.cast(v, np.int64) for v in (start, stop, step))
    below = b.ufunc(np.floor_divide, b.ufunc(np.subtract, start, stop), step)
    return b.ufunc(np.maximum, b.ufunc(np.negative, below), b.constant(0, np.int64))
