"""Forward-mode AD as a transformation of IR: each operation is followed by that of its result's tangent.

Control flow stays as it is: a branch also returns the tangents of its results, and a loop carries those of its variables.
Values that do not vary, or that the result does not depend on, have no tangent.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ...ir.dynamic import Block, Function, Link, Operation, Value, callee_name
from ...ir.vocabulary import UNPACK, Unstructured, make_list, make_tuple
from ...rules import find_rule
from ...rules.tangents import linear_groups, may_push, or_zero, tangent
from ...values.cotangents import fit
from .types import Type
from .writer import NONE, Writer


def forward(
    function: Function,
    active_parameters: Sequence[Value],
    compiled_callee: Callable[[Operation, tuple[bool, ...]], Any],
) -> Function:
    """Return the function that also takes tangents of the active parameters, and returns ``(y, dy)``.

    ``function`` is typed, and is changed.  The tangent of a tuple is a tuple, with None for elements that have none.
    """
    return _Forward(function, active_parameters, compiled_callee).run()


class _Forward(Writer):
    def __init__(self, function: Function, parameters: Sequence[Value], compiled_callee: Any) -> None:
        super().__init__(function, parameters, compiled_callee)
        self.tangents: dict[Value, Value] = {}
        self.narrow: set[Value] = set()  # tangents of arrays that may need broadcasting to the shape of their values
        self.parts: dict[Value, list[Value]] = {}  # the elements of tuples that are made where they are used

    def run(self) -> Function:
        seeds = [self.fresh(p) for p in self.parameters]
        self.tangents.update((p, t) for p, t in zip(self.parameters, seeds) if p in self.active)
        block = self.function.block
        self.block(block)
        (y,) = block.results
        self.out = block.operations
        block.results = [self.call(make_tuple, y, self.returned(y))]
        parameters = [*self.function.parameters, *seeds]
        return Function(f"{self.function.name}_tangent", parameters, block, self.function.filename)

    def returned(self, y: Value) -> Value:
        if y in self.parts:
            return self.call(make_tuple, *(self.returned(e) for e in self.parts[y]))
        return self.full(y) if y in self.tangents else NONE

    # Tangents

    def fresh(self, x: Value) -> Value:
        return Value(f"d{x.name}" if x.name else "", x.type)

    def zero(self, kind: Type) -> Value:
        """Return the zero tangent of a value; one number stands for all entries of an array."""
        if kind.kind == "tuple":
            return self.call(make_list if kind.is_list else make_tuple, *map(self.zero, kind.elements))
        return Value(constant=0.0)

    def set(self, y: Value, t: Value, is_narrow: bool) -> None:
        if not t.is_constant and y.name and not t.name:
            t.name = f"d{y.name}"
        self.tangents[y] = t
        if is_narrow and y.type.kind != "real":
            self.narrow.add(t)

    def is_narrow(self, t: Value) -> bool:
        return t in self.narrow or t.is_constant

    def full(self, x: Value) -> Value:
        """Return the tangent of a value in its shape; of an array that does not vary, zeros."""
        t, kind = self.tangents.get(x), x.type.kind
        if t is not None and (kind == "real" or not self.is_narrow(t)):
            return t
        if kind == "tuple":
            if x in self.parts:
                return self.call(make_list if x.type.is_list else make_tuple, *map(self.full, self.parts[x]))
            if t is None and {e.kind for e in x.type.elements} <= {"real"}:
                return self.zero(x.type)
            raise Unstructured(f"a tuple {x.name} with arrays that vary on some paths only")
        if t is None:
            return Value(constant=0.0) if kind == "real" else self.call(or_zero, NONE, x)
        return self.call(fit, t, x)

    # Operations

    def block(self, block: Block) -> None:
        outer, self.out = self.out, []
        for op in block.operations:
            self.line = op.line
            getattr(self, f"push_{op.kind}")(op)
        block.operations, self.out = self.out, outer

    def push_call(self, op: Operation) -> None:
        is_active = any(r in self.active for r in op.results) and any(v in self.tangents for v in op.operands)
        is_display = op.callee in (make_tuple, make_list)
        rule = None if op.callee is UNPACK or is_display else find_rule(op.callee)
        if (
            is_active
            and rule is None
            and type(op.callee) is FunctionType
            and op.callee is not UNPACK
            and not is_display
        ):
            self.push_user_call(op)
            return
        self.out.append(op)
        if is_display:
            self.parts[op.results[0]] = op.operands
        if not is_active:
            return
        if op.callee is UNPACK:
            self.push_unpack(op)
            return
        (y,) = op.results
        if is_display:
            given = [self.tangents.get(v) or self.zero(v.type) for v in op.operands]
            is_narrow = any(v.type.kind != "real" and self.is_narrow(t) for v, t in zip(op.operands, given))
            self.set(y, self.call(op.callee, *given), is_narrow)
        elif rule.partials:  # type: ignore[union-attr]
            self.push_elementwise(op, rule, y)
        else:
            self.push_ruled(op, rule, y)

    def push_unpack(self, op: Operation) -> None:
        (x,) = op.operands
        t = self.full(x) if x.type.kind == "array" else self.tangents[x]
        found = self.emit("call", UNPACK, [t], len(op.results))
        for r, dr in zip(op.results, found):
            if r in self.active:
                self.set(r, dr, t in self.narrow)

    def push_elementwise(self, op: Operation, rule: Any, y: Value) -> None:
        arrays = [x for x in op.operands if x.type.kind not in ("real", "bool")]
        total, is_narrow = None, True
        for x, partial in zip(op.operands, rule.partials):
            t = self.tangents.get(x)
            if t is None or partial is None or isinstance(partial, int) and partial == 0:
                continue
            slope = Value(constant=partial) if isinstance(partial, int) else self.inline(partial, [y, *op.operands])
            part, is_one = t, False
            if slope.is_constant and isinstance(slope.constant, int) and slope.constant in (1, -1):
                is_one = slope.constant == 1
                part = t if is_one else self.call(operator.neg, t)
            else:
                part = self.call(operator.mul, t, slope)
            same = len(arrays) == 1 or x.type.shape is not None and x.type.shape == y.type.shape
            if x.type.kind == "array" and same and not self.is_narrow(t):
                is_narrow = False
            total = part if total is None else self.call(operator.add, total, part)
        if total is None:
            return
        if y.type.kind == "number":
            total, is_narrow = self.call(fit, total, y), False
        self.set(y, total, is_narrow)

    def push_ruled(self, op: Operation, rule: Any, y: Value) -> None:
        varying = [i for i, x in enumerate(op.positional) if x in self.tangents]
        if not varying:
            return
        if y.type.kind == "tuple":
            raise Unstructured(f"a call of {callee_name(op.callee)}, which returns a tuple,")
        groups = linear_groups(rule, varying, op.keywords)
        if groups is not None:
            total = None
            for group in groups:
                if not set(group).isdisjoint(varying):
                    given = [
                        self.full(x) if i in group and i < len(op.positional) else x for i, x in enumerate(op.operands)
                    ]
                    part = self.emit("call", op.callee, given, keywords=op.keywords)[0]
                    total = part if total is None else self.call(operator.add, total, part)
        elif may_push(rule, varying, op.keywords, y.type.kind == "real"):
            tangents = [self.full(x) if i in varying else NONE for i, x in enumerate(op.positional)]
            named = self.emit("call", dict, list(op.named.values()), keywords=op.keywords)[0]
            given = [self.call(make_tuple, *tangents), y, self.call(make_tuple, *op.positional), named]
            total = self.call(tangent, Value(constant=op.callee), *given)
        else:
            raise Unstructured(f"a call of {callee_name(op.callee)}, whose pullback is to be transposed,")
        if y.type.kind == "number":
            total = self.call(fit, total, y)  # type: ignore[arg-type]
        self.set(y, total, False)  # type: ignore[arg-type]

    def push_user_call(self, op: Operation) -> None:
        """Replace the call of a Python function by that of its form that takes tangents, too."""
        (y,) = op.results
        compiled = self.compiled_callee(op, tuple(x in self.tangents for x in op.operands))
        given = [*op.operands, *(self.full(x) for x in op.operands if x in self.tangents)]
        pair, t = Value(), self.fresh(y)
        self.out.append(Operation("call", Link(compiled, "push"), given, results=[pair], line=op.line))
        self.out.append(Operation("call", UNPACK, [pair], results=[y, t], line=op.line))
        self.set(y, t, False)

    def push_if(self, op: Operation) -> None:
        for branch in op.blocks:
            self.block(branch)
        for i, r in enumerate(list(op.results)):
            if r in self.active and any(b.results[i] in self.tangents for b in op.blocks):
                self.join(op, i, r)
        self.out.append(op)

    def join(self, op: Operation, i: int, r: Value) -> None:
        t, is_narrow, outer = self.fresh(r), False, self.out
        for branch in op.blocks:
            x = branch.results[i]
            self.out = branch.operations
            found = self.tangents.get(x) or self.zero(r.type)
            branch.results.append(found)
            is_narrow |= self.is_narrow(found)
        self.out = outer
        op.results.append(t)
        self.set(r, t, is_narrow)

    def push_while(self, op: Operation) -> None:
        self.loop(op, op.operands, 0)

    def push_for(self, op: Operation) -> None:
        self.loop(op, op.operands[1:], op.items)

    def loop(self, op: Operation, initial: Sequence[Value], items: int) -> None:
        body = op.blocks[-1]
        parameters = body.parameters[items:]
        varying = [i for i, p in enumerate(parameters) if p in self.active]
        for i in varying:
            op.operands.append(self.full(initial[i]))
            t = self.fresh(parameters[i])
            body.parameters.append(t)
            self.set(parameters[i], t, False)
            if op.kind == "while":
                op.blocks[0].parameters.append(self.fresh(parameters[i]))
        self.block(body)
        outer, self.out = self.out, body.operations
        body.results += [self.full(body.results[i]) for i in varying]
        self.out = outer
        for i in varying:
            t = self.fresh(parameters[i])
            self.set(op.results[i], t, False)
            op.results.append(t)
        self.out.append(op)
