"""Writes the tangents of a program's blocks: each operation is followed by those of its results' tangents.

A branch also returns the tangents of its results, and a loop carries those of its carried variables, so control flow stays
as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import STACK
from ..inline import copy_function, inline, rename
from ..reverse.activity import active_values, has_cotangent, may_have_cotangent
from ..reverse.cotangents import as_type, strong
from . import by_rule
from .structural import TANGENTS
from .tangents import Tangents
from .transposition import transposed


class Sweep:
    """Adds to a function, in place, the computation of tangents.

    The pass of Taylor mode derives from this class: there, a value has several tangents, the coefficients of its series.
    """

    def __init__(self, target: str, called: Called) -> None:
        self.target = target
        self.called = called
        self.builder = Builder(called.is_differentiated)
        self.replaced: dict[Value, Value] = {}  # results of custom derivatives by the plain values

    def whole(
        self, function: Function, wanted: Sequence[bool], seeds: Sequence[Value], given: Sequence[bool]
    ) -> list[Value]:
        """Write the tangents of a function's body; ``seeds`` are those of its ``wanted`` parameters.

        Returns the tangents of the ``given`` results.
        """
        active = self.active_values(function, wanted, given)
        if any(v.type is STACK for v in active):
            # What is below a varying value on a stack has a place in the stack of tangents, too.
            stacks = [r for op in walk(function.block) for r in op.results if op.callee is typed.stack_new]
            active = self.active_values(function, wanted, given, stacks)
        self.parts = [Tangents(self.builder, active) for _ in range(self.called.order)]
        left = iter(seeds)
        for p in [p for p, on in zip(function.parameters, wanted) if on]:
            self.set(p, [next(left) for _ in self.parts])
        with self.builder.writing([]):
            function.block.operations = self.block(function.block)
            with self.builder.writing(function.block.operations):
                return [t for v, on in zip(function.block.results, given) if on for t in self.filled(v)]

    def active_values(self, *args: Any) -> set[Value]:
        return active_values(*args)

    def filled(self, value: Value) -> list[Value]:
        return [part.filled(value) for part in self.parts]

    def set(self, value: Value, tangents: Sequence[Value]) -> None:
        for part, t in zip(self.parts, tangents, strict=True):
            part.set(value, t)

    def is_active(self, value: Value) -> bool:
        return value in self.parts[0].active

    def block(self, block: Block) -> list[Operation]:
        """Return the operations of a block with those that compute tangents."""
        made: list[Operation] = []
        with self.builder.writing(made):
            for op in block.operations:
                self.builder.line = op.line
                self.operation(op)
        return made

    def operation(self, op: Operation) -> None:
        if op.kind == "if":
            self.branches(op)
        elif op.kind in ("while", "range"):
            self.loop(op)
        elif op.callee is typed.custom and any(map(self.is_active, op.results)):
            self.custom(op)
        elif not self.varies(op):
            self.builder.append(op)
        elif isinstance(op.callee, Function):
            self.called.tangent(self, op)
        else:
            self.builder.append(op)
            self.call(op)

    def call(self, op: Operation) -> None:
        """Write the tangents of the results of a call, which has been written."""
        for part in self.parts:
            if op.callee in TANGENTS:
                TANGENTS[op.callee](self.builder, op, part)
            else:
                by_rule.tangent(self.builder, op, part, self.target)

    def varies(self, op: Operation) -> bool:
        """Whether a call has results whose tangents are needed and may not be zero."""
        needed = any(map(self.is_active, op.results))
        return needed and (op.callee is typed.stack_new or any(part.any(op.positional) for part in self.parts))

    def custom(self, op: Operation) -> None:
        """Apply a custom derivative; it applies to this derivative only: later ones are of the plain values."""
        n, m = op.named["n"].constant, op.named["m"].constant
        y, x = op.positional[:n], op.positional[n : n + m]
        for part in self.parts:
            dxs = [part.filled(v) for v in x if v.type.is_inexact]
            found = custom_tangents(self.builder, op, dxs, self.target)
            for value, t in zip([r for r in op.results if r.type.is_inexact], found, strict=True):
                part.set(value, t)
        self.replaced.update(zip(op.results, y))

    def branches(self, op: Operation) -> None:
        varying = [i for i, r in enumerate(op.results) if self.is_active(r)]
        for branch in op.blocks:
            branch.operations = self.block(branch)
            with self.builder.writing(branch.operations):
                branch.results += [t for i in varying for t in self.filled(branch.results[i])]
        made = [self.fresh(op.results[i]) for i in varying]
        for i, ts in zip(varying, made):
            self.set(op.results[i], ts)
        op.results += chain(*made)
        self.builder.append(op)

    def loop(self, op: Operation) -> None:
        carried = op.carried
        varying = [i for i, (_, p, _, _) in enumerate(carried) if self.is_active(p)]
        before = [t for i in varying for t in self.filled(carried[i][0])]
        first = len(op.blocks[-1].parameters) - len(carried)
        for k, block in enumerate(op.blocks):
            own = block.parameters[first:] if k == len(op.blocks) - 1 else block.parameters
            added = [self.fresh(own[i]) for i in varying]
            block.parameters += chain(*added)
            if k == len(op.blocks) - 1:
                for i, ts in zip(varying, added):
                    self.set(own[i], ts)
                block.operations = self.block(block)
                with self.builder.writing(block.operations):
                    block.results += [t for i in varying for t in self.filled(block.results[i])]
        op.operands += before
        made = [self.fresh(carried[i][3]) for i in varying]
        for i, ts in zip(varying, made):
            self.set(carried[i][3], ts)
        op.results += chain(*made)
        self.builder.append(op)

    def fresh(self, value: Value) -> list[Value]:
        """Return new values for the tangents of a value."""
        return [Value(f"d{value.name}", strong(value.type)) for _ in self.parts]


def custom_tangents(builder: Builder, op: Operation, dxs: Sequence[Value], target: str) -> list[Value]:
    """Write the tangents of the inexact results of a custom derivative, from those of its inexact arguments."""
    n, m = op.named["n"].constant, op.named["m"].constant
    x, residuals = op.positional[n : n + m], op.positional[n + m :]
    dxs = [as_type(builder, dx, v.type) for dx, v in zip(dxs, [v for v in x if v.type.is_inexact])]
    if "forward" in op.named:
        return inline(builder, op.named["forward"].constant, [*residuals, *dxs])
    return transposed(builder, op.named["backward"].constant, residuals, dxs, target)


class Called:
    """The functions that a program calls with the computation of tangents added, each written once."""

    sweep: type[Sweep] = Sweep

    def __init__(self, is_differentiated: bool, order: int = 1) -> None:
        """``order`` is the number of tangents of a value."""
        self.is_differentiated, self.order = is_differentiated, order
        self.made: dict[Function, Function] = {}

    def of(self, function: Function) -> Function:
        """Return the function that also takes and returns the tangents of each of its inexact parameters and results."""
        if function in self.made:
            return self.made[function]
        copied = copy_function(function)
        wanted = [has_cotangent(p) for p in copied.parameters]
        given = [may_have_cotangent(v) for v in copied.block.results]
        seeds = self.seeds([p for p, on in zip(copied.parameters, wanted) if on])
        made = Function(f"{function.name}_forward", [*copied.parameters, *seeds], copied.block, function.filename)
        self.made[function] = made  # before its body is written, which may call it
        sweep = self.sweep("native", self)
        results = sweep.whole(copied, wanted, seeds, given)
        made.block.results += results
        rename(made.block, sweep.replaced)
        return made

    def seeds(self, values: Sequence[Value]) -> list[Value]:
        """Return new values for the tangents of these, each one's in turn."""
        return [Value(f"d{v.name}", strong(v.type)) for v in values for _ in range(self.order)]

    def tangent(self, sweep: Sweep, op: Operation) -> None:
        """Make a call compute tangents, too."""
        made = self.of(op.callee)
        parameters = op.callee.parameters
        op.operands += [t for v, p in zip(op.operands, parameters) if has_cotangent(p) for t in sweep.filled(v)]
        results = [r for r in op.results if may_have_cotangent(r)]
        tangents = [sweep.fresh(r) for r in results]
        op.callee = made
        op.results += chain(*tangents)
        sweep.builder.append(op)
        for value, ts in zip(results, tangents):
            sweep.set(value, ts)
