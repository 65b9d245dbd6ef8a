"""Vectorisation of a loop whose parts of arrays begin or end at places that depend on the loop's index.

    for i in range(n):                          B = B + where(k > i, A', 0) @ B
        B[i] += A[i + 1 :, i] @ B[i + 1 :]

    for i in range(n):                          C = C + where(k <= i, A @ A', 0)
        C[i, : i + 1] += A[: i + 1] @ A[i]

As in ``lanes``, each operation of the body is written once for all iterations. A dimension whose length depends on
the index is *ragged*: it is padded to what the parts of all iterations cover together, and iteration i uses the places
from ``shift(i)`` on, as many as it has elements. What lies outside is left out by a mask where it would count: in sums,
in products (``masked_products``) and in writes.

The iterations may also be those of a block: the loop is then one over blocks, whose rows share most of their parts, so
that less is padded. ``meetings`` decides whether the order of operations may change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.affine import Affine
from ..ir.builder import Builder
from ..ir.dynamic import Operation, Value
from ..ir.typed import ArrayType, Dim
from .index_proofs import spans
from .lane_sums import Uses
from .lanes import WRITES, Refused, is_plain
from .meetings import Access, Order, slope
from .ragged_dimensions import Ragged
from .ragged_products import RaggedProducts


@dataclass
class Part:
    """The part of an array that all iterations access: its index, and where the dimension of iterations stands in it."""

    spec: tuple[Any, ...]
    index: list[Value]
    lengths: list[int | Dim]
    at: int | None
    ragged: dict[int, Ragged]


class RaggedLanes(RaggedProducts):
    """The vectorised form of one loop, or of one block of its iterations.

    In addition to ``lanes``, ``windows`` maps values that are the same in all iterations but for ragged dimensions to
    their padded arrays, ``filled`` arrays filled with one number to this number, and ``outer_products`` matrices that are sums of
    outer products to the pairs of factors, with a row per iteration. ``ragged`` holds the ragged dimensions of all of these.
    """

    def __init__(self, builder: Builder, op: Operation) -> None:
        start, stop, step, *initial = op.operands
        (body,) = op.blocks
        self.index, *carried = body.parameters
        if not (step.is_constant and int(step.constant) == 1) or not all(is_plain(o) for o in body.operations):
            raise Refused
        self.builder, self.body, self.bounds = builder, body, builder.integers
        self.start, self.stop = start, stop
        self.uses = Uses(body)
        self.inside = {self.index, *carried, *(r for o in body.operations for r in o.results)}
        self.initial = dict(zip(carried, initial))
        self.versions = dict(zip(carried, carried))
        self.sums: dict[Value, tuple[Any, ...]] = {}
        self.additions: dict[Operation, tuple[Value, Any]] = {}
        self.skipped: set[Operation] = set()
        self.from_before: set[Operation] = set()
        self.analyse(carried)

    # Before anything is written

    def analyse(self, carried: Sequence[Value]) -> None:
        """Check that iterations may be executed side by side."""
        for o in self.body.operations:
            if o.callee in WRITES and o.operands[0] in self.versions:
                self.versions[o.results[0]] = self.versions[o.operands[0]]
                found = self.uses.added(o) if o.callee is typed.setitem else None
                total = self.uses.maker[o.positional[-1]] if found is not None else None
                read = next((v for v in total.operands if v is not found[0]), None) if total and found else None
                if read is not None and self.uses.users[read] == [total]:
                    self.additions[o] = found  # type: ignore[assignment]
                    self.skipped |= {total, self.uses.maker[read]}  # type: ignore[arg-type]
        for k, parameter in enumerate(carried):
            found = self.uses.is_sum(parameter, self.body.results[k])
            if found is not None and found[3] is None:
                self.sums[parameter] = found
                self.skipped.add(found[0])
            elif self.versions.get(self.body.results[k]) is not parameter:
                raise Refused
            else:
                self.order(parameter)

    def order(self, parameter: Value) -> None:
        """Note which reads of a carried array see it as it was before the loop."""
        accesses: list[Access] = []
        places, count = {parameter: 0}, 0
        for o in self.body.operations:
            if not any(self.versions.get(v) is parameter for v in o.operands) or o in self.skipped:
                continue
            version = o.operands[0]
            is_write = o.callee in WRITES
            if version not in places or any(v in self.versions for v in o.operands[1:]):
                raise Refused
            if not is_write and o.callee is not typed.getitem or is_write and places[version] != count:
                raise Refused
            parts = spans(self.bounds, o, self.uses.maker)
            for form in (form for span in parts if span is not None for form in span):
                self.known(form)
            accesses.append(
                Access(o, parts, is_write, o in self.additions or o.callee is typed.add_at, places[version])
            )
            if is_write:
                count += 1
                places[o.results[0]] = count
        order = Order(self.bounds, self.index, accesses)
        if not order.keeps_writes():
            raise Refused
        for access in accesses:
            if access.is_write:
                continue
            if order.reads_initial(access):
                self.from_before.add(access.op)
            elif not order.reads_current(access):
                raise Refused

    # One block of iterations

    def run_from(self, first: Value, count: int | Dim, before: Sequence[Value]) -> list[Value]:
        """Write the operations for ``count`` iterations from ``first`` on; ``before`` are the carried values."""
        self.first, self.n = first, count
        self.last = self.builder.ufunc(np.subtract, self.sum_of(first, count), self.builder.constant(1, np.int64))
        self.lanes: dict[Value, Value] = {}
        self.windows: dict[Value, Value] = {}
        self.filled: dict[Value, Value] = {}
        self.outer_products: dict[Value, list[tuple[Value, Value]]] = {}
        self.ragged: dict[Value, dict[int, Ragged]] = {}
        self.same: dict[Value, Value] = {}
        self.columns: dict[Value, Value] = {}
        self.masks: dict[Ragged, Value | None] = {}
        self.varying = {self.index}
        self.products = 0
        carried = self.body.parameters[1:]
        self.latest = dict(zip(carried, carried))
        self.now = dict(zip(carried, before))
        for op in self.body.operations:
            if op not in self.skipped and not (self.is_number(op.results[0]) and op.callee is not typed.getitem):
                self.operation(op)
        return [self.result(p, r) for p, r in zip(carried, self.body.results)]

    def result(self, parameter: Value, result: Value) -> Value:
        if parameter in self.sums:
            _, term, function, _ = self.sums[parameter]
            if term is None or term.type.shape != parameter.type.shape or term not in self.varying:
                raise Refused
            before = self.now[parameter]
            total = self.of_outer(term, {}) if term in self.outer_products else self.total(term)
            return self.builder.call(function, [before, total], [before.type])[0]
        if self.latest[parameter] is not result:
            raise Refused
        return self.now[parameter]

    # The walk

    def operation(self, op: Operation) -> None:
        if any(v in self.sums for v in op.operands) or len(op.results) != 1:
            raise Refused
        (result,) = op.results
        if any(self.is_ragged(n) for v in [result, *op.positional] for n in v.type.shape) or any(
            v in self.varying or v in self.versions or v in self.filled or self.is_number(v) and self.varies(v)
            for v in op.positional
        ):
            if op.callee is typed.getitem:
                self.read(op)
            elif op.callee in WRITES:
                self.write(op)
            else:
                rule = _RULES.get(op.callee) or (RaggedLanes.elementwise if isinstance(op.callee, np.ufunc) else None)
                if rule is None:
                    raise Refused
                rule(self, op)
            if result not in self.windows and result not in self.filled:
                self.varying.add(result)
            return
        operands = [self.invariant(v) for v in op.operands]
        made = Operation(op.kind, op.callee, operands, op.keywords, [], [], op.items, op.line, op.may_raise)
        made.results = [Value(result.name, self.type(result.type))]
        self.builder.append(made)
        self.same[result] = made.results[0]

    def invariant(self, v: Value) -> Value:
        if v in self.same or v not in self.inside:
            return self.same.get(v, v)
        if v in self.varying or v in self.versions or v in self.windows or not self.is_number(v) or self.varies(v):
            raise Refused
        return self.builder.cast(self.at(self.form(v), self.first), v.type.dtype)

    def lane(self, v: Value) -> Value:
        """The value with the dimension of iterations in front."""
        if v in self.lanes:
            return self.lanes[v]
        if self.is_number(v) and v in self.inside and self.varies(v):
            by = self.builder.constant(slope(self.form(v), self.index), np.int64)
            rows = self.builder.ufunc(np.multiply, self.builder.iota(self.n), by)
            return self.builder.cast(self.builder.ufunc(np.add, rows, self.at(self.form(v), self.first)), v.type.dtype)
        if v in self.filled:
            number = self.filled[v]
            x = self.lane(number)
            shape = (self.n, *self.shape(v.type, self.ragged[v]))
            return self.builder.broadcast_to(self.builder.reshape(x, (self.n, *[1] * v.type.ndim)), shape)
        x = self.windows[v] if v in self.windows else self.invariant(v)
        if not x.type.shape:
            return self.builder.full((self.n,), x)
        return self.builder.broadcast_to(self.builder.reshape(x, (1, *x.type.shape)), (self.n, *x.type.shape))

    def is_lane(self, v: Value) -> bool:
        return v in self.lanes or self.is_number(v) and v in self.inside and self.varies(v)

    # Parts of arrays

    def covered(self, op: Operation, part: ArrayType, index: Sequence[Value]) -> Part:
        left, spec, operands, lengths = list(index), [], [], []
        at, position, ragged, d = None, 0, {}, 0
        for n, entry in zip(op.positional[0].type.shape, op.named["spec"].constant):
            if entry == "a":
                raise Refused
            form = self.form(left.pop(0)) if entry != ":" else None
            by = slope(form, self.index) if form is not None else 0
            place = self.first
            if entry == "i" and by:
                if at is not None:
                    raise Refused
                at, entry = position, ("s", by)
                lengths.append(self.n)
            elif entry != "i":
                length = part.shape[d]
                if form is not None and self.is_ragged(length):
                    entire = self.form(length.value)  # type: ignore[union-attr]
                    ends = self.bounds.is_at_most(Affine(0), form) and self.bounds.is_at_most(
                        form + entire, self.bounds.length(n)
                    )
                    if entry != ("s", 1) or not ends:
                        raise Refused
                    ragged[d] = Ragged(entire, by)
                    place = self.first if by >= 0 else self.last
                    lengths.append(self.padded(ragged[d]))
                elif by:
                    raise Refused
                elif form is not None:
                    lengths.append(self.type(ArrayType(part.dtype, (length,))).shape[0])
                d += 1
            spec.append(entry)
            if form is not None:
                operands.append(self.at(form, place))
            position += entry != "i"
        return Part(tuple(spec), operands, lengths, at, ragged)

    def elements(self, op: Operation, index: Sequence[Value]) -> list[Value] | None:
        """The index arrays of an access to one element per iteration that is no slice of the array; None for others."""
        spec = op.named["spec"].constant
        if any(entry != "i" for entry in spec) or sum(map(self.varies, index)) < 2:
            return None
        return [self.builder.cast(self.lane(v), np.int64) for v in index]

    def read(self, op: Operation) -> None:
        x, *index = op.positional
        (result,) = op.results
        if x in self.windows or x in self.lanes:
            raise Refused
        if x not in self.versions:
            source = self.invariant(x)
        elif op in self.from_before:
            source = self.initial[self.versions[x]]
        elif self.latest[self.versions[x]] is x:
            source = self.now[self.versions[x]]
        else:
            raise Refused
        places = self.elements(op, index)
        if places is not None:
            made = self.builder.getitem(source, places, ("a",) * len(places), [])
            return self.keep(result, made, {})
        part = self.covered(op, result.type, index)
        made = self.builder.getitem(source, part.index, part.spec, part.lengths)
        if part.at is None and x in self.versions and op not in self.from_before:
            raise Refused  # a part that is the same for all iterations, of an array that they write to
        if part.at:
            axes = (part.at, *(d for d in range(made.type.ndim) if d != part.at))
            transposed = self.builder.transpose(made, axes)
            if axes == (1, 0):
                self.columns[transposed] = made
            made = transposed
        self.keep(result, made, part.ragged, part.at is not None)

    def write(self, op: Operation) -> None:
        x, *index = op.positional
        v = index.pop()
        parameter = self.versions.get(x)
        if parameter is None or self.latest[parameter] is not x:
            raise Refused
        builder, target = self.builder, self.now[parameter]
        term, function = self.additions.get(op, (v, np.add if op.callee is typed.add_at else None))
        places = self.elements(op, index)
        if places is not None:
            spec, index, value = ("a",) * len(places), places, self.lane(term)
        else:
            part = self.covered(op, v.type, index)
            spec, index = part.spec, part.index
            if term in self.ragged and (term not in self.filled and self.ragged[term] != part.ragged):
                raise Refused
            if part.at is not None:
                value = self.of_rows(target, term, part, function is None)
            elif function is None:
                raise Refused
            elif term in self.outer_products:
                value = self.of_outer(term, part.ragged)
            elif term in self.lanes:
                value = builder.reduce(np.sum, self.masked(self.lanes[term], part.ragged), (0,), term.type.dtype)
            else:
                raise Refused
        if function is np.subtract:
            value = builder.ufunc(np.negative, value)
        write = builder.setitem if function is None else builder.add_at
        self.now[parameter] = write(target, index, value, spec)
        self.latest[parameter] = op.results[0]

    def of_rows(self, target: Value, term: Value, part: Part, is_set: bool) -> Value:
        """What is written to, or added to, the part that all iterations write to."""
        assert part.at is not None
        value = self.lane(term)
        axes = (part.at, *(d for d in range(value.type.ndim) if d != part.at))
        other = None
        if is_set and any(self.mask(r) is not None for r in part.ragged.values()):
            other = self.builder.transpose(self.builder.getitem(target, part.index, part.spec, part.lengths), axes)
        value = self.masked(value, part.ragged, other)
        return self.builder.transpose(value, [axes.index(d) for d in range(len(axes))])

    # Arithmetic

    def joined(self, op: Operation, operands: Sequence[Value]) -> dict[int, Ragged]:
        """The ragged dimensions of an element-wise result, which those of its operands must agree with."""
        kind = op.results[0].type
        found: dict[int, Ragged] = {}
        for v in operands:
            for d, r in self.ragged.get(v, {}).items():
                if found.setdefault(d + kind.ndim - v.type.ndim, r) != r:
                    raise Refused
        if any(self.is_ragged(n) != (d in found) for d, n in enumerate(kind.shape)):
            raise Refused
        return found

    def elementwise(self, op: Operation) -> None:
        (result,) = op.results
        if any(v in self.outer_products for v in op.positional):
            return self.scaled(op)
        if op.callee is np.multiply and self.is_outer(op):
            return
        operands = [self.filled.get(v, v) for v in op.positional]
        if any(v in self.versions for v in operands):
            raise Refused
        ragged = self.joined(op, operands)
        is_lane = any(map(self.is_lane, operands))
        values = [self.aligned(v, result.type.ndim) for v in operands]
        shape = self.shape(result.type, ragged)
        kind = ArrayType(result.type.dtype, (self.n, *shape) if is_lane else shape)
        constants = {k: v.constant for k, v in op.named.items()}
        self.keep(result, self.builder.call(op.callee, values, [kind], **constants)[0], ragged, is_lane)

    def aligned(self, v: Value, ndim: int) -> Value:
        """Reshape an operand so that it broadcasts against others with ``ndim`` dimensions per iteration."""
        if not self.is_lane(v):
            return self.windows[v] if v in self.windows else self.invariant(v)
        x, missing = self.lane(v), ndim - v.type.ndim
        return self.builder.reshape(x, (self.n, *[1] * missing, *x.type.shape[1:])) if missing else x

    def fill(self, op: Operation) -> None:
        (result,) = op.results
        self.filled[result] = op.operands[0]
        self.ragged[result] = {}

    def moved(self, op: Operation) -> None:
        """Handle transposes, and reshapes that add or remove dimensions of length 1."""
        (x,), (result,) = op.positional, op.results
        if x in self.outer_products or not (x in self.lanes or x in self.windows):
            raise Refused
        if op.callee is typed.transpose:
            origin = list(op.named["axes"].constant)
        else:
            before = [d for d, n in enumerate(x.type.shape) if n != 1]
            after = [d for d, n in enumerate(result.type.shape) if n != 1]
            if [x.type.shape[d] for d in before] != [result.type.shape[d] for d in after]:
                raise Refused
            origin = [-1] * result.type.ndim
            for d, e in zip(after, before):
                origin[d] = e
        ragged = {d: self.ragged[x][e] for d, e in enumerate(origin) if e in self.ragged[x]}
        is_lane = x in self.lanes
        value = self.lanes[x] if is_lane else self.windows[x]
        if op.callee is typed.transpose:
            made = self.builder.transpose(value, (0, *(d + 1 for d in origin)) if is_lane else origin)
        else:
            shape = self.shape(result.type, ragged)
            made = self.builder.reshape(value, (self.n, *shape) if is_lane else shape)
        self.keep(result, made, ragged, is_lane)

    def summed(self, op: Operation) -> None:
        (x,), (result,) = op.positional, op.results
        axes = op.named["axis"].constant
        if x not in self.lanes:
            raise Refused
        value = self.masked(self.lanes[x], {d: r for d, r in self.ragged[x].items() if d in axes})
        made = self.builder.reduce(np.sum, value, [d + 1 for d in axes], result.type.dtype)
        rest = [d for d in range(x.type.ndim) if d not in axes]
        self.keep(result, made, {k: self.ragged[x][d] for k, d in enumerate(rest) if d in self.ragged[x]})


_RULES: dict[Any, Any] = {
    np.where: RaggedLanes.elementwise,
    typed.cast: RaggedLanes.elementwise,
    typed.complex_of: RaggedLanes.elementwise,
    np.imag: RaggedLanes.elementwise,
    typed.full: RaggedLanes.fill,
    typed.reshape: RaggedLanes.moved,
    typed.transpose: RaggedLanes.moved,
    np.sum: RaggedLanes.summed,
    np.matmul: RaggedLanes.product,
}
