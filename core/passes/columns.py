"""Store matrices that loops access by columns transposed, so that the elements of a column are contiguous in memory.

    for j in range(1, n):                        for j in range(1, n):
        p[:, j] = f(p[:, j - 1])                     q[j, :] = f(q[j - 1, :])      q is p transposed

A matrix and its later versions (after writes, loops and branches) form one *variable*, which is transposed as a whole
or not at all. It is transposed if accesses along columns outnumber those along rows by more than the transpositions
cost. A variable is transposed where it begins (as a parameter, or as the result of an operation), and transposed back
for every use except reads and writes of parts. The transformation is exact.

Without this pass the gradient of ``adi`` (``benchmarks/compilation``) takes 1.1 times as long, native and by XLA. (Gram-Schmidt by
columns gains from ``side_by_side``: without that its native gradient takes 2.1 times as long.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value, walk
from ..ir.typed import ArrayType
from .inline import copy_function

_WRITES = (typed.setitem, typed.add_at)
_ACCESSES = (typed.getitem, *_WRITES)
_UNKNOWN = 16  # assumed number of iterations of a loop of unknown length
_TURN = 2  # cost of transposing one element, in element accesses


def by_rows(function: Function) -> Function:
    """Return an equivalent function that accesses matrices along rows, or ``function`` itself if nothing changes."""
    if not any(_is_column(op) for op in walk(function.block)):
        return function
    found = _Variables(function)
    if not any(found.is_turned(v) for v in found.parent):
        return function
    made = copy_function(function)
    variables = _Variables(made)
    turned = {v for v in variables.parent if variables.is_turned(v)}
    parameters = [_given(v) if v in turned else v for v in made.parameters]
    begun = [_transposed(new, old) for new, old in zip(parameters, made.parameters) if new is not old]
    _rewrite(made.block, turned, True)
    made.block.operations[:0] = begun
    made.parameters = parameters
    for value in turned:
        value.type = _turned(value.type)
    return made


def _is_matrix(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, ArrayType) and kind.ndim == 2 and kind.is_static


def _is_column(op: Operation) -> bool:
    """Whether an operation reads or writes a column or a part of one."""
    if op.callee not in _ACCESSES or not _is_matrix(op.operands[0]):
        return False
    spec = op.named["spec"].constant
    return spec[0] not in ("i", "a") and spec[1] == "i"


def _slots(op: Operation) -> Iterator[list[Value]]:
    """Yield groups of values of one variable: a write's array and result, or the versions of a carried variable."""
    if op.kind == "call":
        if op.callee in _WRITES:
            yield [op.operands[0], op.results[0]]
        return
    for k, result in enumerate(op.results):
        if op.kind == "if":
            yield [result, *(b.results[k] for b in op.blocks)]
        else:
            body = op.blocks[-1]
            inside = [b.parameters[len(b.parameters) - len(op.results) + k] for b in op.blocks]
            yield [result, op.initial[k], body.results[k], *inside]


def _accessed(op: Operation) -> Value:
    """The array that an operation reads from, or the new version of the one that it writes to."""
    return op.operands[0] if op.callee is typed.getitem else op.results[0]


@dataclass
class _Account:
    """Costs of a variable, in elements.

    ``gain`` counts accesses along columns minus those along rows, ``accessed`` all accesses, and ``transposed`` the
    elements that transposing the variable would move. ``fixed``: it is accessed by index arrays, and must not be
    transposed.
    """

    gain: float = 0.0
    accessed: float = 0.0
    transposed: float = 0.0
    fixed: bool = False


class _Variables:
    """The variables of a function (a union-find forest, ``parent``) and the account of costs of each."""

    def __init__(self, function: Function) -> None:
        self.parent: dict[Value, Value] = {}
        self.accounts: dict[Value, _Account] = {}
        self.inside: set[Value] = set()  # values defined in the innermost loop
        for op in walk(function.block):
            for slot in _slots(op):
                matrices = [v for v in slot if _is_matrix(v) and not v.is_constant]
                for v in matrices[1:]:
                    self.parent[self.root(v)] = self.root(matrices[0])
        for v in function.parameters:
            self.boundary(v, 1)
        self.block(function.block, 1, {*function.parameters})
        for v in function.block.results:
            self.boundary(v, 1)

    def root(self, value: Value) -> Value:
        at = value
        while self.parent.setdefault(at, at) is not at:
            at = self.parent[at]
        self.parent[value] = at
        return at

    def account(self, value: Value) -> _Account:
        return self.accounts.setdefault(self.root(value), _Account())

    def is_turned(self, value: Value) -> bool:
        a = self.account(value)
        return not a.fixed and a.gain > _TURN * a.transposed and a.gain > a.accessed / 4

    def boundary(self, value: Value, times: float) -> None:
        if value in self.parent:
            self.account(value).transposed += times * prod(value.type.shape)

    def block(self, block: Block, times: float, inside: set[Value]) -> None:
        for op in block.operations:
            self.operation(op, times, inside)
            unknown = _UNKNOWN if op.kind in ("range", "while") else 1
            repeats = times * (unknown if op.iterations is None else op.iterations)
            for inner in op.blocks:
                own = inside if op.kind == "if" else {*inner.parameters}
                self.block(inner, repeats, own)
            inside.update(op.results)

    def operation(self, op: Operation, times: float, inside: set[Value]) -> None:
        joined = {v for slot in _slots(op) for v in slot}
        others = [v for v in op.operands if v not in joined]
        if op.callee in _ACCESSES and _accessed(op) in self.parent:
            self.access(op, times, inside)
            others = [v for v in others if v is not op.operands[0]]
        made = [v for v in op.results if v not in joined and op.callee is not typed.full]
        for v in (*others, *made):
            self.boundary(v, times)

    def access(self, op: Operation, times: float, inside: set[Value]) -> None:
        account, spec = self.account(_accessed(op)), op.named["spec"].constant
        if "a" in spec:
            account.fixed = True
            return
        part = op.results[0] if op.callee is typed.getitem else op.positional[-1]
        count = times * prod(part.type.bounds)
        along = [entry != "i" for entry in spec]
        if not any(along):
            along = [index in inside for index in op.positional[1:3]]
        account.accessed += count
        if along[0] != along[1]:
            account.gain += count if along[0] else -count
        elif part.type.ndim == 2:
            account.transposed += count


def _turned(kind: ArrayType) -> ArrayType:
    return replace(kind, shape=kind.shape[::-1])


def _given(value: Value) -> Value:
    """A new value of the same name and type, for the matrix before it is transposed."""
    return Value(value.name, value.type)


def _transposed(source: Value, result: Value, line: int = 0) -> Operation:
    axes = Value(constant=(1, 0))
    return Operation("call", typed.transpose, [source, axes], ("axes",), results=[result], line=line)


def _rewrite(block: Block, turned: set[Value], outermost: bool) -> None:
    """Rewrite accesses to transposed variables; every other use gets the matrix transposed back."""
    out: list[Operation] = []

    def as_before(value: Value, line: int) -> Value:
        if value not in turned:
            return value
        made = _given(value)
        out.append(_transposed(value, made, line))
        return made

    for op in block.operations:
        joined = [slot for slot in _slots(op) if any(v in turned for v in slot)]
        direct = {v for slot in joined for v in slot if v in turned}
        for inner in op.blocks:
            _rewrite(inner, turned, False)
        if joined:
            _turn_constants(op, turned)
        accesses = op.callee in _ACCESSES and _accessed(op) in turned
        if accesses:
            direct.add(op.operands[0])
        op.operands = [v if v in direct else as_before(v, op.line) for v in op.operands]
        after = _access(op, turned, out) if accesses else []
        for k, result in enumerate(op.results):
            if result in turned and result not in direct and not accesses and op.callee is not typed.full:
                op.results[k] = _given(result)
                after.append(_transposed(op.results[k], result, op.line))
        out += [op, *after]
    if outermost:
        block.results = [as_before(v, 0) for v in block.results]
    block.operations = out


def _turn_constants(op: Operation, turned: set[Value]) -> None:
    """Transpose constants that are a variable's initial value or its value after a branch or an iteration."""

    def now(value: Value, result: Value) -> Value:
        if result not in turned or not value.is_constant:
            return value
        return Value(value.name, _turned(value.type), np.ascontiguousarray(np.transpose(value.constant)))

    if op.kind == "call":
        op.operands[0] = now(op.operands[0], op.results[0])
        return
    if op.kind != "if":
        skipped = len(op.operands) - len(op.initial)
        op.operands[skipped:] = [now(v, r) for v, r in zip(op.initial, op.results)]
    for b in op.blocks if op.kind == "if" else op.blocks[-1:]:
        b.results = [now(v, r) for v, r in zip(b.results, op.results)]


def _access(op: Operation, turned: set[Value], before: list[Operation]) -> list[Operation]:
    """Change an access to address the same part of the transposed matrix; return the operations that must follow it."""
    spec = op.named["spec"].constant
    base, *rest = op.positional
    index, value = (rest, []) if op.callee is typed.getitem else (rest[:-1], rest[-1:])
    after: list[Operation] = []
    if value and value[0].type.ndim == 2:
        value = [Value(value[0].name, _turned(value[0].type))]
        before.append(_transposed(rest[-1], value[0], op.line))
    elif not value and op.results[0].type.ndim == 2 and op.results[0] not in turned:
        after.append(_transposed(Value("", _turned(op.results[0].type)), op.results[0], op.line))
        op.results = [after[0].operands[0]]
    op.operands = [base, *index[::-1], *value, Value(constant=tuple(spec[::-1]))]
    return after
