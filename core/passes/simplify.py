"""Simplification of typed IR: constant folding, common subexpressions, loop-invariant code motion and dead code.

One walk over the program copies it. It replaces operands by their simplified values, asks ``identities`` for a simpler
value of each operation, reuses an equal operation in scope, and moves loop invariants out of loops. ``dead_code`` then
removes unused operations. Results are unchanged to the last bit, except for the sign of a NaN. The time is linear in
the size of the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value
from ..ir.typed import STACK, Primitive, lengths
from .dead_code import remove_dead_code
from .identities import Known, simpler
from .inline import Copy

_UNSHARED = {typed.full, typed.broadcast_to, typed.setitem, typed.add_at, typed.custom}
"""Calls whose result is often written to afterwards: separate arrays are cheaper than copies of a shared one."""
_TOTAL = {np.where, np.sum, np.prod, np.any, np.all, np.cumsum, np.cumprod, np.sort, np.argsort, np.searchsorted}
"""Functions of NumPy beside the ufuncs that cannot fail for arrays of numbers."""
_STAYING = {typed.getitem, typed.setitem, typed.add_at}
"""Calls that are not moved out of a loop: if the loop does not run, their index may be out of range."""


def simplify(function: Function) -> Function:
    """Return an equivalent, smaller function, whose callees are simplified too; ``function`` is not changed."""
    return _simplified(function, {})


def _simplified(function: Function, done: dict[Function, Function]) -> Function:
    if function not in done:
        made = done[function] = Function(function.name, [], Block(), function.filename)
        walk = _Walk(done)
        made.parameters = [walk.copy.define(v) for v in function.parameters]
        walk.enter(made.parameters)
        made.block = walk.block(function.block)
        remove_dead_code(made)
    return done[function]


def is_pure(op: Operation) -> bool:
    """Whether a call has no effect and its results depend only on its operands."""
    if op.kind != "call" or op.may_raise or isinstance(op.callee, Function):
        return False
    return not any(v.type is STACK for v in [*op.operands, *op.results])


def is_total(op: Operation) -> bool:
    """Whether a pure call may be executed speculatively: it cannot fail, and is not a library call."""
    return (isinstance(op.callee, (np.ufunc, Primitive)) or op.callee in _TOTAL) and op.callee not in _STAYING


def are_cheap(operations: list[Operation]) -> bool:
    """Whether operations are free of effects and cheap, so that they may run even if their result is not needed."""
    return all(
        op.kind == "call" and not op.may_raise and (isinstance(op.callee, (np.ufunc, Primitive)))
        and not any(r.type.shape for r in op.results)
        for op in operations
    )  # fmt: skip


class _Walk:
    def __init__(self, done: dict[Function, Function]) -> None:
        self.done = done
        self.copy = Copy()
        self.out: list[Operation] = []
        self.depths: dict[Value, int] = {}  # the nesting depth at which each value of the copy is defined
        self.depth = 0
        self.loops: list[tuple[int, list[Operation]]] = []  # for each open body: depth, hoisted operations
        self.scopes: list[dict[Any, list[Value]]] = [{}]
        self.known = Known()

    def enter(self, values: list[Value]) -> None:
        for value in values:
            self.depths[value] = self.depth

    def block(self, block: Block, loop: list[Operation] | None = None) -> Block:
        """Return a simplified copy; invariant operations of a loop's body that may be moved go to ``loop``."""
        self.depth += 1
        self.scopes.append({})
        if loop is not None:
            self.loops.append((self.depth, loop))
        outer, self.out = self.out, []
        parameters = [self.copy.define(v) for v in block.parameters]
        self.enter(parameters)
        for op in block.operations:
            self.operation(op)
        made = Block(parameters, self.out, [self.copy.value(v) for v in block.results])
        self.out = outer
        if loop is not None:
            self.loops.pop()
        self.scopes.pop()
        self.depth -= 1
        return made

    def operation(self, op: Operation) -> None:
        if op.kind == "call":
            self.call(op)
        elif op.kind == "if":
            self.branches(op)
        else:
            self.loop(op)

    def call(self, op: Operation) -> None:
        operands = [self.copy.value(v) for v in op.operands]
        types = [self.copy.type(v.type) for v in op.results]
        pure = is_pure(op)
        if pure:
            found = simpler(op, operands, types, self.known, self.add)
            if found is not None:
                self.copy.known.update(zip(op.results, found))
                return
        callee = _simplified(op.callee, self.done) if isinstance(op.callee, Function) else op.callee
        made = Operation(op.kind, callee, operands, op.keywords, [], [], op.items, op.line, op.may_raise)
        made.results = [Value(v.name, t) for v, t in zip(op.results, types)]
        self.copy.known.update(zip(op.results, self.place(made) if pure else self.append(made)))

    def add(self, callee: Any, operands: list[Value], kind: Any, line: int, **constants: Any) -> Value:
        """Place a new pure call and return its result."""
        values = [*operands, *(Value(constant=c) for c in constants.values())]
        return self.place(Operation("call", callee, values, tuple(constants), results=[Value("", kind)], line=line))[0]

    def place(self, op: Operation, is_safe: bool = False) -> list[Value]:
        """Return the results of an equal call in scope, or place this pure call as far out of the loops as allowed.

        With ``is_safe``, the call cannot fail, and an equal one in this block does not count.
        """
        if op.callee is typed.reshape:
            op.operands[0] = self.outside(op.operands[0])
        key = _key(op) if op.callee not in _UNSHARED or not op.results[0].type.shape else None
        if key is not None:
            for scope in reversed(self.scopes[:-1] if is_safe else self.scopes):
                if key in scope:
                    return scope[key]
        depth, out = self.depth, self.out
        if self.loops and self.loops[-1][0] == self.depth and key is not None and (is_safe or is_total(op)):
            read = [v for v in [*op.operands, *(n for v in op.results for n in lengths(v.type))] if not v.is_constant]
            least = max((self.depths[v] for v in read), default=0)
            for inside, before in reversed(self.loops):
                if inside != depth or least >= inside:
                    break
                depth, out = inside - 1, before
        out.append(op)
        for result in op.results:
            self.depths[result] = depth
            self.known.producer[result] = op
        if key is not None:
            self.scopes[depth][key] = op.results
        return op.results

    def outside(self, value: Value) -> Value:
        """Return a part of an array that is to be reshaped, from outside of the loop if it is the same in each iteration.

        Native code reads a part where it is, but stores it to reshape it.
        """
        op = self.known.producer.get(value)
        if not self.loops or op is None or op.callee is not typed.getitem or self.depths.get(value) != self.depth:
            return value
        x, *index = op.positional
        is_slice = "i" not in op.named["spec"].constant and all(v.is_constant for v in index)
        if not (is_slice and x.type.is_static and value.type.is_static):
            return value
        moved = Operation(op.kind, op.callee, op.operands, op.keywords, line=op.line)
        moved.results = [Value(value.name, value.type)]
        return self.place(moved, is_safe=True)[0]

    def append(self, op: Operation) -> list[Value]:
        self.out.append(op)
        self.enter(op.results)
        for result in op.results:
            self.known.producer[result] = op
        return op.results

    def branches(self, op: Operation) -> None:
        condition = self.copy.value(op.operands[0])
        if condition.is_constant:
            chosen = op.blocks[0 if condition.constant else 1]
            for inner in chosen.operations:
                self.operation(inner)
            self.copy.known.update(zip(op.results, [self.copy.value(v) for v in chosen.results]))
            return
        blocks = [self.block(b) for b in op.blocks]
        made = Operation("if", None, [condition], blocks=blocks, line=op.line, may_raise=op.may_raise)
        for k in reversed(range(len(op.results))):
            values = [b.results[k] for b in blocks]
            if values[0] is values[1] or same_constant(*values):
                self.copy.known[op.results[k]] = values[0]
                for b in blocks:
                    del b.results[k]
            else:
                made.results.insert(0, self.copy.define(op.results[k]))
        self.append(made)

    def loop(self, op: Operation) -> None:
        operands = [self.copy.value(v) for v in op.operands]
        skipped = len(op.operands) - len(op.initial)
        if op.kind == "range" and all(v.is_constant for v in operands[:3]):
            if not range(*(int(v.constant) for v in operands[:3])):
                self.copy.known.update(zip(op.results, operands[3:]))
                return
        body = op.blocks[-1]
        first = len(body.parameters) - len(op.results)
        kept = []
        for k, result in enumerate(op.results):
            if body.results[k] is body.parameters[first + k]:  # never changed
                initial = operands[skipped + k]
                self.copy.known[result] = initial
                for b in op.blocks:
                    self.copy.known[b.parameters[len(b.parameters) - len(op.results) + k]] = initial
            else:
                kept.append(k)
        before: list[Operation] = []
        blocks = []
        for b in op.blocks:
            own = len(b.parameters) - len(op.results)
            results = [b.results[k] for k in kept] if b is body else b.results
            trimmed = Block([*b.parameters[:own], *(b.parameters[own + k] for k in kept)], b.operations, results)
            blocks.append(self.block(trimmed, before))
        self.out += before
        made = Operation(op.kind, op.callee, operands[:skipped], blocks=blocks, items=op.items, line=op.line)
        made.operands += [operands[skipped + k] for k in kept]
        made.may_raise = op.may_raise
        made.results = [self.copy.define(op.results[k]) for k in kept]
        self.append(made)


def same_constant(a: Value, b: Value) -> bool:
    return a.is_constant and b.is_constant and constant_key(a) is not None and constant_key(a) == constant_key(b)


def constant_key(value: Value) -> Any:
    """A key that is equal for interchangeable constants; None if the constant cannot be compared."""
    x = value.constant
    if isinstance(x, (np.ndarray, np.generic)):
        return (x.dtype, x.shape, x.tobytes(), value.type) if x.size <= 64 and x.dtype.kind in "biufc" else id(x)
    try:
        hash(x)
    except TypeError:
        return None
    return type(x), x


def _key(op: Operation) -> Any:
    parts: list[Any] = [op.callee, op.keywords, *(v.type for v in op.results)]
    for v in op.operands:
        part = constant_key(v) if v.is_constant else v
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)
