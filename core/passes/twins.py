"""Keep a transposed copy of arrays that loops read along two axes, and read each part where its elements are contiguous.

    A[i, j] -= A[i, :j] @ A[:j, j]              A[i, j] -= A[i, :j] @ T[j, :j];  T[j, i] = A[i, j]      T is A transposed

Elements of a factorisation or a recurrence are written once and read many times, by rows and by columns. No order of the
axes suits both (``columns``), but a copy that every write keeps up to date does. An array and its later versions get such
a *twin* if the elements that are read along the twin's last axis outnumber those that are written by far. The
transformation is exact. The adjoint of reading a twin adds to the twin's cotangent, so the adjoint accesses contiguous
elements, too.

Without this pass the native gradient of ``lu`` (``benchmarks/compilation``) takes 4.2 times as long.
"""

from __future__ import annotations

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value, walk
from .columns import WRITES, Axes, Variables, is_column, rewritten_access, transposed, turned_type
from .inline import copy_function


def with_twins(function: Function) -> Function:
    """Return an equivalent function with transposed copies, or ``function`` itself if no array gets one."""
    if not any(op.callee is typed.getitem and is_column(op) for op in walk(function.block)):
        return function
    found = Variables(function)
    if not any(found.axes_of_twin(v) for v in found.parent):
        return function
    made = copy_function(function)
    variables = Variables(made)
    _Twins({v: axes for v in variables.parent if (axes := variables.axes_of_twin(v))}).function(made)
    return made


class _Twins:
    def __init__(self, axes: dict[Value, Axes]) -> None:
        self.axes = axes
        self.of = {v: Value(v.name, turned_type(v.type, order)) for v, order in axes.items()}

    def function(self, function: Function) -> None:
        begun = [transposed(v, self.of[v], self.axes[v]) for v in function.parameters if v in self.of]
        self.block(function.block)
        function.block.operations[:0] = begun

    def twin(self, value: Value, like: Value) -> Value:
        """Return the twin of a version of ``like``, which may be a constant."""
        if not value.is_constant:
            return self.of[value]
        axes = self.axes[like]
        constant = np.ascontiguousarray(np.transpose(value.constant, axes))
        return Value(value.name, turned_type(value.type, axes), constant)

    def block(self, block: Block) -> None:
        out: list[Operation] = []
        for op in block.operations:
            if op.kind != "call":
                self.structure(op)
                out.append(op)
            elif op.callee is typed.getitem and op.operands[0] in self.of and is_column(op):
                self.read(op, out)
            else:
                out.append(op)
                made = [r for r in op.results if r in self.of]
                if made and op.callee in WRITES:
                    self.write(op, out)
                else:
                    out += [transposed(r, self.of[r], self.axes[r], op.line) for r in made]
        block.operations = out

    def read(self, op: Operation, out: list[Operation]) -> None:
        base, result = op.operands[0], op.results[0]
        op.operands[0] = self.of[base]
        after = rewritten_access(op, {self.of[base]: self.axes[base]}, out)
        out += [op, *after]
        if result in self.of:
            out.append(transposed(result, self.of[result], self.axes[result], op.line))

    def write(self, op: Operation, out: list[Operation]) -> None:
        """Append the same write to the twin."""
        (result,) = op.results
        twin = self.of[result]
        operands = [self.twin(op.operands[0], result), *op.operands[1:]]
        also = Operation(op.kind, op.callee, operands, op.keywords, [], [twin], op.items, op.line, op.may_raise)
        rewritten_access(also, {twin: self.axes[result]}, out)
        out.append(also)

    def structure(self, op: Operation) -> None:
        """Carry the twins of the arrays that a loop or a branch carries."""
        for inner in op.blocks:
            self.block(inner)
        count, skipped = len(op.results), len(op.operands) - len(op.results)
        firsts = [len(b.parameters) - count for b in op.blocks]
        for k, result in enumerate(op.results[:]):
            if result not in self.of:
                continue
            op.results.append(self.of[result])
            for b in op.blocks if op.kind == "if" else op.blocks[-1:]:
                b.results.append(self.twin(b.results[k], result))
            if op.kind != "if":
                op.operands.append(self.twin(op.operands[skipped + k], result))
                for b, first in zip(op.blocks, firsts):
                    b.parameters.append(self.of[b.parameters[first + k]])
