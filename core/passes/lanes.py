"""Vectorisation of one loop whose iterations do not depend on each other.

A value that differs between iterations becomes a *lane*: it gets an extra first dimension, with one element per
iteration. A carried array must be one that each iteration reads and writes at its own index, or a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Function, Operation, Value
from ..ir.typed import ArrayType, Dim, lengths
from .lane_sums import Uses
from .simplify import is_total

LEAST = 8
"""The least number of iterations, and of terms of a sum, for which a matrix product pays off."""
WRITES = (typed.setitem, typed.add_at)


class Refused(Exception):
    """The loop cannot be vectorised, and stays a loop."""


class Lanes:
    """The vectorised form of one loop.

    ``lanes`` maps each value that differs between iterations to its array, whose first dimension counts the iterations.
    ``indices`` maps ints that grow by 1 per iteration to their first value; ``same`` maps loop invariants to their
    copies.
    """

    def __init__(self, builder: Builder, op: Operation) -> None:
        start, stop, step, *initial = op.operands
        (body,) = op.blocks
        index, *carried = body.parameters
        if not (step.is_constant and int(step.constant) == 1) or not all(is_plain(o) for o in body.operations):
            raise Refused
        self.builder, self.body = builder, body
        self.uses = Uses(body)
        self.n = self.count(start, stop)
        self.runs = isinstance(self.n, int)
        self.lanes: dict[Value, Value] = {}
        self.indices: dict[Value, Value] = {index: start}
        self.same: dict[Value, Value] = {}
        self.varying = {index}
        self.versions = dict(zip(carried, carried))  # each version of a carried array, with its parameter
        self.latest = dict(zip(carried, carried))
        self.now = dict(zip(carried, initial))
        self.sums: dict[Value, tuple[Any, ...]] = {}
        self.changing = {index, *carried}  # values that depend on the index or on carried variables
        for o in body.operations:
            if any(v in self.changing for v in o.operands):
                self.changing |= set(o.results)
        self.columns: dict[Value, Value] = {}  # matrices with a row per iteration: their transposes
        self.places: dict[Value, Any] = {}  # the index at which each iteration accesses a carried array
        self.products = 0
        for o in body.operations:
            if o.callee in WRITES and o.operands[0] in self.versions:
                self.versions[o.results[0]] = self.versions[o.operands[0]]
        for k, parameter in enumerate(carried):
            found = self.uses.is_sum(parameter, body.results[k])
            if found is not None and not any(v in self.changing for v in found[3] or ()):
                self.sums[parameter] = found
            elif self.versions.get(body.results[k]) is not parameter:
                raise Refused

    def count(self, start: Value, stop: Value) -> int | Dim:
        """The number of iterations."""
        if start.is_constant and stop.is_constant:
            n = int(stop.constant) - int(start.constant)
            if n < LEAST:
                raise Refused
            return n
        bounds = self.builder.integers
        form = bounds.form(stop) - bounds.form(start)
        most = bounds.upper(form)
        if not LEAST <= most < 2**40:
            raise Refused
        n = self.builder.ufunc(np.subtract, *(self.builder.cast(v, np.int64) for v in (stop, start)))
        if bounds.lower(form, 0) < 0:
            n = self.builder.ufunc(np.maximum, n, self.builder.constant(0, np.int64))
        return Dim(n, most)

    # The walk

    def run(self) -> list[Value]:
        """Write the operations that replace the loop, and return its results."""
        skipped = {o for parameter in self.sums for o in self.of_sum(parameter)}
        for op in self.body.operations:
            if op not in skipped:
                self.operation(op)
        return [self.result(p, r) for p, r in zip(self.body.parameters[1:], self.body.results)]

    def of_sum(self, parameter: Value) -> list[Operation]:
        """The operations that only accumulate the sum."""
        add, term, _, index = self.sums[parameter]
        if term is None or parameter.type.shape and index is None and term.type.shape != parameter.type.shape:
            raise Refused
        found = [add]
        if add.callee is typed.setitem:
            found += [self.uses.maker[add.positional[-1]], *(o for o in self.uses.users[parameter] if o is not add)]
        return found

    def result(self, parameter: Value, result: Value) -> Value:
        if parameter not in self.sums:
            if self.latest[parameter] is not result:
                raise Refused
            return self.now[parameter]
        add, term, function, index = self.sums[parameter]
        builder, initial = self.builder, self.now[parameter]
        total = self.total(term)
        if index is None:
            if total.type.shape != initial.type.shape:
                raise Refused
            return builder.call(function, [initial, total], [initial.type])[0]
        index = [self.invariant(v) for v in index]
        spec = add.named["spec"].constant
        if total.type.shape != self.type(add.positional[-1].type).shape:
            raise Refused
        total = builder.ufunc(np.negative, total) if function is np.subtract else total
        return builder.call(typed.add_at, [initial, *index, total], [initial.type], spec=spec)[0]

    def operation(self, op: Operation) -> None:
        if any(v in self.sums or self.versions.get(v) in self.sums for v in op.operands):
            raise Refused
        reads_carried = any(v in self.versions for v in op.operands)
        if reads_carried and (op.operands[0] not in self.versions or op.callee not in (*WRITES, typed.getitem)):
            raise Refused
        if any(v in self.versions for v in op.operands[1:]):
            raise Refused
        if not reads_carried and not any(
            v in self.varying for v in [*op.operands, *(n for v in op.results for n in lengths(v.type))]
        ):
            if not (self.runs or is_total(op) or op.callee is typed.getitem):
                raise Refused
            operands = [self.invariant(v) for v in op.operands]
            made = Operation(op.kind, op.callee, operands, op.keywords, [], [], op.items, op.line, op.may_raise)
            made.results = [Value(v.name, self.type(v.type)) for v in op.results]
            self.builder.append(made)
            self.same.update(zip(op.results, made.results))
            return
        if len(op.results) != 1:
            raise Refused
        self.varying |= set(op.results)
        if _is_int(op.results[0]):
            self.integer(op)
        elif op.callee is typed.getitem:
            self.read(op)
        elif op.callee in WRITES:
            self.write(op)
        else:
            rule = _RULES.get(op.callee) or (Lanes.elementwise if isinstance(op.callee, np.ufunc) else None)
            if rule is None:
                raise Refused
            rule(self, op)

    def invariant(self, v: Value) -> Value:
        if v in self.varying or v in self.versions:
            raise Refused
        return self.same.get(v, v)

    def type(self, kind: ArrayType) -> ArrayType:
        """The type of a loop invariant, or of a lane without its dimension of iterations."""
        if kind.is_static:
            return kind
        return replace(
            kind,
            shape=tuple(replace(n, value=self.invariant(n.value)) if isinstance(n, Dim) else n for n in kind.shape),
        )

    def lane_type(self, kind: ArrayType) -> ArrayType:
        return ArrayType(kind.dtype, (self.n, *self.type(kind).shape))

    def lane(self, v: Value) -> Value:
        """The value with the dimension of iterations in front; invariants are broadcast."""
        if v in self.lanes:
            return self.lanes[v]
        x = self.invariant(v)
        return self.builder.broadcast_to(x, (self.n, *x.type.shape))

    def integer(self, op: Operation) -> None:
        """Handle an int that is the index plus a loop invariant; refuse any other that varies."""
        (result,) = op.results
        a, *rest = op.positional
        if op.callee is typed.cast and a in self.indices and _is_int(a):
            self.indices[result] = self.builder.cast(self.indices[a], result.type.dtype)
            return
        if op.callee in (np.add, np.subtract):
            b = rest[0]
            if op.callee is np.add and b in self.indices:
                a, b = b, a
            if a in self.indices and b not in self.varying:
                self.indices[result] = self.builder.ufunc(op.callee, self.indices[a], self.invariant(b))
                return
        raise Refused

    # Parts of arrays

    def part(self, op: Operation, part: ArrayType, index: Sequence[Value]) -> tuple[Any, list[Value], tuple[int, ...]]:
        """Return spec and index of the parts of all iterations, and the axes that put the iterations first."""
        spec, operands, position, at = [], [], 0, None
        left = list(index)
        for entry in op.named["spec"].constant:
            if entry == "a":
                raise Refused
            v = left.pop(0) if entry != ":" else None
            if v is not None and v in self.varying:
                if entry != "i" or v not in self.indices or at is not None:
                    raise Refused
                at, start = position, self.indices[v]
                operands.append(self.builder.cast(start, np.int64))
                spec.append(("s", 1))
            else:
                spec.append(entry)
                if v is not None:
                    operands.append(self.invariant(v))
            position += spec[-1] != "i"
        if at is None:
            raise Refused
        axes = (at, *(d for d in range(part.ndim + 1) if d != at))
        return tuple(spec), operands, axes

    def read(self, op: Operation) -> None:
        x, *index = op.positional
        (result,) = op.results
        kind = self.lane_type(result.type)
        spec, operands, axes = self.part(op, result.type, index)
        source = self.own(op, x) if x in self.versions else self.invariant(x)
        found = ArrayType(kind.dtype, tuple(kind.shape[axes.index(d)] for d in range(kind.ndim)))
        part = self.builder.call(typed.getitem, [source, *operands], [found], spec=spec)[0]
        made = self.lanes[result] = self.builder.transpose(part, axes)
        if axes == (1, 0):
            self.columns[made] = part

    def write(self, op: Operation) -> None:
        x, *index = op.positional
        v = index.pop()
        if x not in self.versions:
            raise Refused
        target = self.own(op, x)
        spec, operands, axes = self.part(op, v.type, index)
        term, function = self.uses.added(op) or (v, None)
        value = self.outer(term, function is np.subtract) if axes == (1, 0) else None
        if value is None:
            value = self.builder.transpose(self.lane(term), [axes.index(d) for d in range(len(axes))])
            value = self.builder.ufunc(np.negative, value) if function is np.subtract else value
        callee = op.callee if function is None else typed.add_at
        made = self.builder.call(callee, [target, *operands, value], [target.type], spec=spec)[0]
        self.now[self.versions[x]] = made
        self.latest[self.versions[x]] = op.results[0]

    def own(self, op: Operation, x: Value) -> Value:
        """The current version of a carried array, after checking that each iteration accesses only its own index."""
        parameter = self.versions[x]
        if self.latest[parameter] is not x:
            raise Refused
        left = op.positional[1:]
        spec = op.named["spec"].constant
        places = [d for d, entry in enumerate(spec) if entry != ":" and left.pop(0) in self.indices]
        if len(places) != 1:
            raise Refused
        (d,) = places
        v = op.positional[1:][sum(entry != ":" for entry in spec[:d])]
        key = d, self.builder.integers.form(self.indices[v])
        if self.sums.get(parameter) is not None or self.places.setdefault(parameter, key) != key:
            raise Refused
        return self.now[parameter]

    # Arithmetic

    def aligned(self, v: Value, ndim: int) -> Value:
        """Reshape an operand so that it broadcasts against others with ``ndim`` dimensions per iteration."""
        if v not in self.varying:
            return self.invariant(v)
        x = self.lane(v)
        missing = ndim - v.type.ndim
        return self.builder.reshape(x, (self.n, *[1] * missing, *x.type.shape[1:])) if missing else x

    def outer(self, v: Value, negative: bool = False) -> Value | None:
        """Return an invariant vector times a number per iteration as an outer product, with a column per iteration."""
        op = self.uses.maker.get(v)
        if op is None or op.callee is not np.multiply:
            return None
        for vector, number in (op.operands, op.operands[::-1]):
            if (
                vector not in self.varying
                and vector.type.ndim == 1
                and number in self.varying
                and not number.type.shape
            ):
                x = self.invariant(vector)
                column = self.builder.reshape(x, (x.type.shape[0], 1))
                row = self.builder.reshape(self.lane(number), (1, self.n))
                return self.builder.matmul(column, self.builder.ufunc(np.negative, row) if negative else row)
        return None

    def elementwise(self, op: Operation) -> None:
        columns = self.outer(op.results[0])
        if columns is not None:
            self.lanes[op.results[0]] = self.builder.transpose(columns, (1, 0))
            return
        ndim = op.results[0].type.ndim
        operands = [self.aligned(v, ndim) for v in op.positional]
        types = [self.lane_type(r.type) for r in op.results]
        constants = {k: v.constant for k, v in op.named.items()}
        self.lanes.update(zip(op.results, self.builder.call(op.callee, operands, types, **constants)))

    def moved(self, op: Operation) -> None:
        """Handle shape operations and reductions: their axes move by one, past the dimension of iterations."""
        constants = {k: v.constant for k, v in op.named.items()}
        if "axis" in constants:
            constants["axis"] = tuple(d + 1 for d in constants["axis"])
        if "axes" in constants:
            constants["axes"] = (0, *(d + 1 for d in constants["axes"]))
        made = self.builder.call(
            op.callee, [self.lane(op.operands[0])], [self.lane_type(op.results[0].type)], **constants
        )
        self.lanes[op.results[0]] = made[0]

    def product(self, op: Operation) -> None:
        a, b = op.positional
        kind = self.lane_type(op.results[0].type)
        if a.type.ndim == 1:
            if a in self.varying and b in self.varying:
                both = self.builder.ufunc(np.multiply, self.lane(a), self.lane(b))
                self.lanes[op.results[0]] = self.builder.reduce(np.sum, both, (1,))
                return
            rows, vector = (a, b) if a in self.varying else (b, a)
            self.lanes[op.results[0]] = self.times(self.lane(rows), self.invariant(vector), kind)
            return
        if a.type.ndim == 2 and a.type.shape[0] == 1 and b not in self.varying:  # rows times a matrix
            rows_ = self.lane(a)
            flat = self.builder.reshape(rows_, (self.n, rows_.type.shape[2]))
            made = self.builder.matmul(flat, self.invariant(b))
        elif b.type.ndim == 2 and b.type.shape[1] == 1 and a not in self.varying:  # a matrix times columns
            columns = self.lane(b)
            flat = self.builder.reshape(columns, (self.n, columns.type.shape[1]))
            matrix = self.builder.transpose(self.invariant(a), (1, 0))
            made = self.builder.matmul(flat, matrix)
        else:
            raise Refused
        self.products += _is_long(made.type.shape[0]) and _is_long(flat.type.shape[1])
        self.lanes[op.results[0]] = self.builder.reshape(made, kind.shape)

    def times(self, matrix: Value, vector: Value, kind: ArrayType) -> Value:
        """The product of a matrix, with a row per iteration, and an invariant vector."""
        n = vector.type.shape[0]
        self.products += _is_long(n)
        if matrix in self.columns:
            made = self.builder.matmul(self.builder.reshape(vector, (1, n)), self.columns[matrix])
        else:
            made = self.builder.matmul(matrix, self.builder.reshape(vector, (n, 1)))
        return self.builder.reshape(made, kind.shape)

    # Sums over all iterations

    def total(self, v: Value) -> Value:
        """The sum of a term over all iterations, as a matrix product where possible."""
        op = self.uses.maker.get(v)
        if v not in self.varying or op is None:
            raise Refused
        same = all(x.type.shape == v.type.shape for x in op.positional)
        if op.callee in (np.add, np.subtract) and same and all(x in self.varying for x in op.positional):
            a, b = (self.total(x) for x in op.positional)
            return self.builder.call(op.callee, [a, b], [a.type])[0]
        if op.callee is np.multiply:
            found = self.contracted(v)
            if found is not None:
                return found
        return self.builder.reduce(np.sum, self.lane(v), (0,), v.type.dtype)

    def contracted(self, v: Value) -> Value | None:
        """Return a sum over iterations of numbers times a vector or number as a matrix product, or None."""
        fixed: list[Value] = []
        numbers: list[Value] = []
        vectors: list[Value] = []
        waiting = [v]
        while waiting:
            x = waiting.pop()
            op = self.uses.maker.get(x)
            if x not in self.varying:
                fixed.append(self.invariant(x))
            elif op is not None and op.callee is np.multiply:
                waiting += op.positional
            else:
                (vectors if x.type.shape else numbers).append(x)
        if v.type.ndim > 1 or len(vectors) > 1 or any(x.type.shape != v.type.shape for x in vectors):
            return None
        if any(x.type.shape for x in fixed):
            return None
        if len(numbers) + len(vectors) < 2 or v.type.shape and not vectors:
            return None
        builder = self.builder
        ones = [self.lane(x) for x in numbers]
        last = self.lane(vectors[0]) if vectors else ones.pop()
        weights = ones[0]
        # Invariant factors are multiplied into the weights, so that a loop without iterations gives zero.
        for x in [*ones[1:], *fixed]:
            weights = builder.call(np.multiply, [weights, x], [weights.type])[0]
        kind = replace(self.type(v.type), weak=False)
        if vectors:
            if last in self.columns:
                made = builder.matmul(self.columns[last], builder.reshape(weights, (self.n, 1)))
            else:
                made = builder.matmul(builder.reshape(weights, (1, self.n)), last)
            made = builder.reshape(made, kind.shape)
            self.products += _is_long(last.type.shape[1])
        else:
            made = builder.matmul(weights, last)
            self.products += 1
        return made


_RULES: dict[Any, Any] = {
    np.where: Lanes.elementwise,
    typed.cast: Lanes.elementwise,
    typed.complex_of: Lanes.elementwise,
    typed.apart: Lanes.elementwise,
    np.imag: Lanes.elementwise,
    typed.reshape: Lanes.moved,
    typed.transpose: Lanes.moved,
    np.sum: Lanes.moved,
    np.matmul: Lanes.product,
}


def is_plain(op: Operation) -> bool:
    return (
        op.kind == "call"
        and not op.may_raise
        and not isinstance(op.callee, Function)
        and all(isinstance(v.type, ArrayType) for v in op.results)
    )


def _is_int(v: Value) -> bool:
    return v.type.dtype.kind in "iu" and not v.type.shape


def _is_long(n: int | Dim) -> bool:
    return (n.bound if isinstance(n, Dim) else n) >= LEAST
