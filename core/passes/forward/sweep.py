"""Writes the tangents of a program's blocks: each operation is followed by those of its results' tangents.

A branch also returns the tangents of its results, and a loop carries those of its carried variables, so control flow stays
as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    """Adds to a function, in place, the computation of tangents."""

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
        active = active_values(function, wanted, given)
        if any(v.type is STACK for v in active):
            # What is below a varying value on a stack has a place in the stack of tangents, too.
            stacks = [r for op in walk(function.block) for r in op.results if op.callee is typed.stack_new]
            active = active_values(function, wanted, given, stacks)
        self.tangents = Tangents(self.builder, active)
        for p, seed in zip([p for p, on in zip(function.parameters, wanted) if on], seeds):
            self.tangents.set(p, seed)
        with self.builder.writing([]):
            function.block.operations = self.block(function.block)
            with self.builder.writing(function.block.operations):
                return [self.tangents.filled(v) for v, on in zip(function.block.results, given) if on]

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
        elif op.callee is typed.custom and any(r in self.tangents.active for r in op.results):
            self.custom(op)
        elif not self.varies(op):
            self.builder.append(op)
        elif isinstance(op.callee, Function):
            self.called.tangent(self, op)
        else:
            self.builder.append(op)
            if op.callee in TANGENTS:
                TANGENTS[op.callee](self.builder, op, self.tangents)
            else:
                by_rule.tangent(self.builder, op, self.tangents, self.target)

    def varies(self, op: Operation) -> bool:
        """Whether a call has results whose tangents are needed and may not be zero."""
        needed = any(r in self.tangents.active for r in op.results)
        return needed and (op.callee is typed.stack_new or self.tangents.any(op.positional))

    def custom(self, op: Operation) -> None:
        """Apply a custom derivative; it applies to this derivative only: later ones are of the plain values."""
        n, m = op.named["n"].constant, op.named["m"].constant
        y, x, residuals = op.positional[:n], op.positional[n : n + m], op.positional[n + m :]
        dxs = [self.tangents.filled(v) for v in x if v.type.is_inexact]
        dxs = [as_type(self.builder, dx, v.type) for dx, v in zip(dxs, [v for v in x if v.type.is_inexact])]
        if "forward" in op.named:
            found = inline(self.builder, op.named["forward"].constant, [*residuals, *dxs])
        else:
            found = transposed(self.builder, op.named["backward"].constant, residuals, dxs, self.target)
        for value, t in zip([r for r in op.results if r.type.is_inexact], found, strict=True):
            self.tangents.set(value, t)
        self.replaced.update(zip(op.results, y))

    def branches(self, op: Operation) -> None:
        varying = [i for i, r in enumerate(op.results) if r in self.tangents.active]
        for branch in op.blocks:
            branch.operations = self.block(branch)
            with self.builder.writing(branch.operations):
                branch.results += [self.tangents.filled(branch.results[i]) for i in varying]
        made = [Value(f"d{op.results[i].name}", strong(op.results[i].type)) for i in varying]
        for i, t in zip(varying, made):
            self.tangents.set(op.results[i], t)
        op.results += made
        self.builder.append(op)

    def loop(self, op: Operation) -> None:
        tangents, carried = self.tangents, op.carried
        varying = [i for i, (_, p, _, _) in enumerate(carried) if p in tangents.active]
        before = [tangents.filled(carried[i][0]) for i in varying]
        first = len(op.blocks[-1].parameters) - len(carried)
        for k, block in enumerate(op.blocks):
            own = block.parameters[first:] if k == len(op.blocks) - 1 else block.parameters
            added = [Value(f"d{own[i].name}", strong(own[i].type)) for i in varying]
            block.parameters += added
            if k == len(op.blocks) - 1:
                for i, t in zip(varying, added):
                    tangents.set(own[i], t)
                block.operations = self.block(block)
                with self.builder.writing(block.operations):
                    block.results += [tangents.filled(block.results[i]) for i in varying]
        op.operands += before
        made = [Value(f"d{carried[i][3].name}", strong(carried[i][3].type)) for i in varying]
        for i, t in zip(varying, made):
            tangents.set(carried[i][3], t)
        op.results += made
        self.builder.append(op)


class Called:
    """The functions that a program calls with the computation of tangents added, each written once."""

    def __init__(self, is_differentiated: bool) -> None:
        self.is_differentiated = is_differentiated
        self.made: dict[Function, Function] = {}

    def of(self, function: Function) -> Function:
        """Return the function that also takes and returns a tangent for each of its inexact parameters and results."""
        if function in self.made:
            return self.made[function]
        copied = copy_function(function)
        wanted = [has_cotangent(p) for p in copied.parameters]
        given = [may_have_cotangent(v) for v in copied.block.results]
        seeds = [Value(f"d{p.name}", strong(p.type)) for p, on in zip(copied.parameters, wanted) if on]
        made = Function(f"{function.name}_forward", [*copied.parameters, *seeds], copied.block, function.filename)
        self.made[function] = made  # before its body is written, which may call it
        sweep = Sweep("native", self)
        results = sweep.whole(copied, wanted, seeds, given)
        made.block.results += results
        rename(made.block, sweep.replaced)
        return made

    def tangent(self, sweep: Sweep, op: Operation) -> None:
        """Make a call compute tangents, too."""
        made = self.of(op.callee)
        parameters = op.callee.parameters
        op.operands += [sweep.tangents.filled(v) for v, p in zip(op.operands, parameters) if has_cotangent(p)]
        results = [r for r in op.results if may_have_cotangent(r)]
        tangents = [Value(f"d{r.name}", strong(r.type)) for r in results]
        op.callee = made
        op.results += tangents
        sweep.builder.append(op)
        for value, t in zip(results, tangents):
            sweep.tangents.set(value, t)
