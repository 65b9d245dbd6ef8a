"""Store arrays that loops access by columns with their axes rotated, so that the elements of a column are contiguous.

    for j in range(1, n):                        for j in range(1, n):
        p[:, j] = f(p[:, j - 1])                     q[j, :] = f(q[j - 1, :])      q is p transposed

    for k in range(1, n):                        for k in range(1, n):
        p[:, :, k] = f(p[:, :, k - 1])               q[k, :, :] = f(q[k - 1, :, :])

An array and its later versions (after writes, loops and branches) form one *variable*, whose axes are rotated as a whole
or not at all: an axis that most accesses slice becomes the last, and those behind it come first. They are rotated if
accesses along that axis outnumber those along the present last axis by more than the transpositions cost. A variable is
transposed where it begins (as a parameter, or as the result of an operation), and transposed back for every use except
reads and writes of parts. The transformation is exact.

Without this pass native gradients of ``benchmarks/compilation`` take longer by these factors: ``vadv`` 2.6, ``adi`` 2.0,
``gram_schmidt`` 1.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value, walk
from ..ir.typed import ArrayType
from .inline import copy_function

WRITES = (typed.setitem, typed.add_at)
_ACCESSES = (typed.getitem, *WRITES)
Axes = tuple[int, ...]
"""An order in which the axes of an array are stored."""
_UNKNOWN = 16  # assumed number of iterations of a loop of unknown length
_TURN = 1  # cost of transposing one element, in element accesses
_KEEP = 2  # cost of writing one element to a transposed copy, too


def by_rows(function: Function) -> Function:
    """Return an equivalent function that accesses arrays along their last axis, or ``function`` itself if nothing changes."""
    if not any(is_column(op) for op in walk(function.block)):
        return function
    made = copy_function(function)
    _separate(made)
    variables = Variables(made)
    if not any(variables.axes(v) for v in variables.parent):
        return function
    turned = {v: axes for v in variables.parent if (axes := variables.axes(v))}
    parameters = [_given(v) if v in turned else v for v in made.parameters]
    begun = [transposed(new, old, turned[old]) for new, old in zip(parameters, made.parameters) if new is not old]
    _rewrite(made.block, turned, True)
    made.block.operations[:0] = begun
    made.parameters = parameters
    for value, axes in turned.items():
        value.type = turned_type(value.type, axes)
    return made


def _separate(function: Function) -> None:
    """Make a parameter a variable of its own where a loop's carried array begins with it: that array is a copy in any case."""
    given, found = {*function.parameters}, []
    for op in function.block.operations:
        if op.kind in ("range", "while"):
            for k, value in enumerate(op.operands):
                if value in given and _has_axes(value):
                    op.operands[k] = Value(value.name, value.type)
                    found.append(Operation("call", typed.apart, [value], results=[op.operands[k]], line=op.line))
        found.append(op)
    function.block.operations = found


def _has_axes(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, ArrayType) and kind.ndim > 1 and kind.is_static


def is_column(op: Operation) -> bool:
    """Whether an operation accesses an array at one index of its last axis, and along another axis."""
    if op.callee not in _ACCESSES or not _has_axes(op.operands[0]):
        return False
    spec = op.named["spec"].constant
    return spec[-1] == "i" and any(entry not in ("i", "a") for entry in spec)


def slots(op: Operation) -> Iterator[list[Value]]:
    """Yield groups of values of one variable: a write's array and result, or the versions of a carried variable."""
    if op.kind == "call":
        if op.callee in WRITES:
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

    ``along`` counts accesses along each axis, ``accessed`` all accesses, and ``transposed`` the elements that transposing the
    variable would move; ``parts`` the elements of parts that would have to be transposed, by the axis that becomes the last.
    ``across`` counts reads along an axis but not along the last one, ``written`` elements that are written.
    ``fixed``: the variable is accessed by index arrays, and must not be transposed.
    """

    along: Counter[int] = field(default_factory=Counter)
    accessed: float = 0.0
    transposed: float = 0.0
    parts: Counter[int] = field(default_factory=Counter)
    across: Counter[int] = field(default_factory=Counter)
    written: float = 0.0
    fixed: bool = False

    def gain(self, axis: int, ndim: int) -> float:
        """Return what is gained if an axis becomes the last one, after the cost of transposing."""
        gain = self.along[axis] - self.along[ndim - 1]
        return gain - _TURN * (self.transposed + self.parts[axis]) if gain > self.accessed / 4 else 0.0

    def gain_of_twin(self, axis: int) -> float:
        """Return what is gained by a copy of which an axis is the last one."""
        gain = self.across[axis]
        cost = _TURN * (self.transposed + self.parts[axis]) + _KEEP * self.written
        return gain - cost if gain > self.accessed / 8 else 0.0


class Variables:
    """The variables of a function (a union-find forest, ``parent``) and the account of costs of each."""

    def __init__(self, function: Function) -> None:
        self.parent: dict[Value, Value] = {}
        self.accounts: dict[Value, _Account] = {}
        self.inside: set[Value] = set()  # values defined in the innermost loop
        for op in walk(function.block):
            for slot in slots(op):
                arrays = [v for v in slot if _has_axes(v) and not v.is_constant]
                for v in arrays[1:]:
                    self.parent[self.root(v)] = self.root(arrays[0])
            if op.callee is typed.getitem and _has_axes(op.operands[0]) and not op.operands[0].is_constant:
                self.root(op.operands[0])
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

    def axes(self, value: Value) -> Axes:
        """Return the order in which the axes of a variable are stored; () if they stay as they are."""
        account, ndim = self.account(value), value.type.ndim
        return _best([account.gain(axis, ndim) for axis in range(ndim - 1)], account)

    def axes_of_twin(self, value: Value) -> Axes:
        """Return the order of axes of a copy that is worth being kept beside a variable; () if none is."""
        account = self.account(value)
        return _best([account.gain_of_twin(axis) for axis in range(value.type.ndim - 1)], account)

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
        joined = {v for slot in slots(op) for v in slot}
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
            along = [index in inside for index in op.positional[1 : 1 + len(spec)]]
        account.accessed += count
        account.written += count if op.callee in WRITES else 0
        for axis in range(len(spec)):
            if op.callee is typed.getitem and is_column(op) and along[axis]:
                account.across[axis] += count
            account.along[axis] += count if along[axis] else 0
            if part.type.ndim > 1 and _part_axes(spec, _rotation(axis, len(spec))):
                account.parts[axis] += count


def _best(gains: list[float], account: _Account) -> Axes:
    best = max(gains)
    return _rotation(gains.index(best), len(gains) + 1) if best > 0 and not account.fixed else ()


def _rotation(axis: int, ndim: int) -> Axes:
    """Return an order of axes that begins behind ``axis``, and so ends with it."""
    return (*range(axis + 1, ndim), *range(axis + 1))


def _part_axes(spec: typed.Spec, axes: Axes) -> Axes:
    """Return the order of a part's axes after those of its array have been put into another; () if it is unchanged."""
    sliced = [d for d in range(len(spec)) if spec[d] != "i"]
    order = tuple(sliced.index(d) for d in axes if d in sliced)
    return () if list(order) == sorted(order) else order


def turned_type(kind: ArrayType, axes: Axes) -> ArrayType:
    return replace(kind, shape=tuple(kind.shape[d] for d in axes))


def _inverse(axes: Axes) -> Axes:
    return tuple(axes.index(d) for d in range(len(axes)))


def _given(value: Value) -> Value:
    """A new value of the same name and type, for the array before it is transposed."""
    return Value(value.name, value.type)


def transposed(source: Value, result: Value, axes: Axes, line: int = 0) -> Operation:
    return Operation("call", typed.transpose, [source, Value(constant=axes)], ("axes",), results=[result], line=line)


def _rewrite(block: Block, turned: dict[Value, Axes], outermost: bool) -> None:
    """Rewrite accesses to transposed variables; every other use gets the array transposed back."""
    out: list[Operation] = []

    def as_before(value: Value, line: int) -> Value:
        if value not in turned:
            return value
        made = _given(value)
        out.append(transposed(value, made, _inverse(turned[value]), line))
        return made

    for op in block.operations:
        joined = [slot for slot in slots(op) if any(v in turned for v in slot)]
        direct = {v for slot in joined for v in slot if v in turned}
        for inner in op.blocks:
            _rewrite(inner, turned, False)
        if joined:
            _turn_constants(op, turned)
        accesses = op.callee in _ACCESSES and _accessed(op) in turned
        if accesses:
            direct.add(op.operands[0])
        op.operands = [v if v in direct else as_before(v, op.line) for v in op.operands]
        after = rewritten_access(op, turned, out) if accesses else []
        for k, result in enumerate(op.results):
            if result in turned and result not in direct and not accesses and op.callee is not typed.full:
                op.results[k] = _given(result)
                after.append(transposed(op.results[k], result, turned[result], op.line))
        out += [op, *after]
    if outermost:
        block.results = [as_before(v, 0) for v in block.results]
    block.operations = out


def _turn_constants(op: Operation, turned: dict[Value, Axes]) -> None:
    """Transpose constants that are a variable's initial value or its value after a branch or an iteration."""

    def now(value: Value, result: Value) -> Value:
        if result not in turned or not value.is_constant:
            return value
        axes = turned[result]
        constant = np.ascontiguousarray(np.transpose(value.constant, axes))
        return Value(value.name, turned_type(value.type, axes), constant)

    if op.kind == "call":
        op.operands[0] = now(op.operands[0], op.results[0])
        return
    if op.kind != "if":
        skipped = len(op.operands) - len(op.initial)
        op.operands[skipped:] = [now(v, r) for v, r in zip(op.initial, op.results)]
    for b in op.blocks if op.kind == "if" else op.blocks[-1:]:
        b.results = [now(v, r) for v, r in zip(b.results, op.results)]


def rewritten_access(op: Operation, turned: dict[Value, Axes], before: list[Operation]) -> list[Operation]:
    """Change an access to address the same part of the transposed array; return the operations that must follow it."""
    spec, axes = op.named["spec"].constant, turned[_accessed(op)]
    base, *rest = op.positional
    index, value = (rest, []) if op.callee is typed.getitem else (rest[:-1], rest[-1:])
    after: list[Operation] = []
    part = value[0] if value else op.results[0]
    unchanged = tuple(range(part.type.ndim))
    order = _part_axes(spec, axes) or unchanged
    if value and order != unchanged:
        value = [Value(part.name, turned_type(part.type, order))]
        before.append(transposed(part, value[0], order, op.line))
    elif not value and order != (wanted := turned.get(part, unchanged)):
        made = Value(part.name, turned_type(part.type, order))
        after.append(transposed(made, part, tuple(order.index(d) for d in wanted), op.line))
        op.results = [made]
    left = list(index)
    chosen = [left.pop(0) if entry != ":" else None for entry in spec]
    index = [v for d in axes if (v := chosen[d]) is not None]
    op.operands = [base, *index, *value, Value(constant=tuple(spec[d] for d in axes))]
    return after
