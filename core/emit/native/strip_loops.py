"""The loops of operations that run by strips (``strips``).

While the operations of a strip are written, an array stands for its part in the strip, which has one dimension; an array
with one element for each row stands for the element of this row, in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import typed
from ...ir.dynamic import Operation, Value
from ...ir.typed import ArrayType
from .arrays import Array, Lazy, Memory, broadcast_indices
from .elements import Element, address, element, in_memory, is_complex, register_kinds, registers
from .elementwise import index_part
from .function import PARTS, FunctionCode
from .fusion import FOLDS, is_array
from .reductions import nothing, reduced
from .schedule import WRITES
from .strips import Strip, read
from .updates import added, base_of_update


def run_by_strips(f: FunctionCode, strip: Strip) -> None:
    """Emit the operations of a strip."""
    code = f.code
    here = InStrip(f, strip)
    lengths = f.lengths(ArrayType(strip.members[0].results[0].type.dtype, strip.shape))
    if strip.is_flat:
        lengths = [code.product(lengths)]
    if code.spread is None or not PARTS["strips in chunks"](f, strip, here, lengths):
        code.nest(lengths[:-1], lambda row: pieces(f, strip, here, row, "0", lengths[-1]), may_unroll=False)
    here.leave()
    for op in strip.members:
        if op.callee in FOLDS:
            PARTS["count_length"](f, op)


def pieces(f: FunctionCode, strip: Strip, here: InStrip, row: list[str], first: str, stop: str) -> None:
    """Emit the strips of a part of a row, or of an array in C order."""
    code = f.code
    if strip.of_rows:
        here.write(row, "0", stop)
        return
    size = str(strip.size)

    def turn(base: str) -> tuple[Sequence[str], str]:
        rest = code.subtract(stop, base)
        count = code.call("llvm.smin.i64", "i64", [("i64", rest), ("i64", size)])
        with code.scope():
            here.write(row, base, count)
        return (), code.add(base, size)

    code.turns(first, stop, 1, turn, (), ())


class InStrip:
    """The arrays of a function as they stand in a strip."""

    def __init__(self, f: FunctionCode, strip: Strip) -> None:
        self.f, self.shape, self.members, self.of_rows = f, strip.shape, strip.members, strip.of_rows
        self.is_flat = strip.is_flat
        made = {r for op in strip.members for r in op.results}
        self.around = {v: f.array(v) for op in strip.members for v in read(op) if v not in made}
        """The arrays from before the strip."""
        self.whole: dict[Value, Memory] = {}
        """The memory of arrays that are used after the strip."""
        self.buffers: dict[Value, str] = {}
        self.totals: dict[Value, list[str]] = {}
        """For each number that is folded from all elements, the memory of its registers."""
        self.windows: dict[Value, Memory] = {}
        """The part of an array's memory that a member writes to."""
        for op in strip.members:
            if op.callee in WRITES:
                self.open(op, op.positional[0] in strip.updated)
                continue
            for r in op.results:
                if not is_array(r):
                    self.begin(r, nothing(op))
                elif r in strip.inside and r not in strip.of_rows:
                    self.buffers[r] = self.buffer(r, strip.size)
                elif r not in f.lazy and r not in strip.inside:
                    self.whole[r] = f.memory(r)
        self.row: list[str] = []
        self.base = self.count = "0"
        self.arrays: dict[Value, Array] = {}

    def begin(self, total: Value, start: Sequence[str]) -> None:
        """Let a number that is folded from all elements have new memory, with the registers ``start``."""
        kinds = register_kinds(total.type.dtype)
        self.totals[total] = [self.f.code.slot(kind) for kind in kinds]
        for place, kind, x in zip(self.totals[total], kinds, start):
            self.f.code.do(f"store {kind} {x}, ptr {place}")

    def total(self, total: Value) -> list[str]:
        """Return the registers of a number that is folded from all elements, as far as they have been folded."""
        kinds = register_kinds(total.type.dtype)
        return [self.f.code.value(f"load {kind}, ptr {place}") for kind, place in zip(kinds, self.totals[total])]

    def buffer(self, value: Value, size: int) -> str:
        """Return memory for an array in the strip; the strips of a function take turns on it."""
        count = 1 << (size * (2 if is_complex(value.type.dtype) else 1) - 1).bit_length()
        kind = in_memory(value.type.dtype)
        pool = self.f.strip_buffers.setdefault((kind, count), [])
        taken = {*self.buffers.values()}
        if all(name in taken for name in pool):
            pool.append(self.f.code.slot(kind, count))
        return next(name for name in pool if name not in taken)

    def open(self, op: Operation, is_filled: bool) -> None:
        """Prepare the array that an operation writes to."""
        f, result = self.f, op.results[0]
        memory = base_of_update(f, op) if not is_filled else f.memory(result)
        self.whole[result] = memory
        self.windows[result] = index_part(f, op).of_memory(f.code, memory, f.lengths(op.positional[-1].type))

    def write(self, row: list[str], base: str, count: str) -> None:
        """Emit the operations for ``count`` elements from ``base`` on of a row, or of the arrays in C order."""
        f = self.f
        self.row, self.base, self.count = row, base, count
        self.arrays = {v: self.part(v, array) for v, array in self.around.items()}
        f.strip = self
        for op in self.members:
            f.op = op
            if op.callee in FOLDS:
                self.fold(op)
            elif op.callee in WRITES:
                self.update(op)
            elif op.callee is typed.reshape:
                self.define(op.results[0], self.arrays[op.positional[0]])
            else:
                f.compute(op)
        f.strip = None

    def leave(self) -> None:
        """Define what is used after the strip."""
        f = self.f
        f.values.update(self.whole)
        for value in self.totals:
            f.values[value] = element(self.total(value), value.type.dtype)
        known = {*self.whole, *self.around}
        for op in self.members:
            if all(r in f.lazy for r in op.results) and all(v in known for v in op.positional if is_array(v)):
                f.op = op
                f.compute(op)
                known.update(op.results)

    # What ``FunctionCode`` asks for

    def array(self, value: Value) -> Array:
        return self.arrays[value]

    def lengths(self, kind: ArrayType) -> list[str]:
        return [self.count] if kind.shape == self.shape else ["1"]

    def define(self, value: Value, array: Array) -> None:
        """Define an array: a lazy one as it is; else its elements are written."""
        code = self.f.code
        if value in self.f.lazy:
            self.arrays[value] = array
            return
        if value in self.of_rows:
            self.arrays[value] = array = _same(value, array.load(code, ["0"]))
            if value in self.whole and value.type.ndim == len(self.row):
                self.whole[value].store(code, self.row, array.load(code, ["0"]))
            elif value in self.whole:
                self.whole[value].store(code, [*self.row, "0"], array.load(code, ["0"]))
            return
        if value in self.buffers:
            memory = Memory(code, self.buffers[value], value.type.dtype, [self.count])
        else:
            whole = self.whole[value]
            offset = code.add(self.base, whole.offset(code, self.row)) if self.row else self.base
            memory = Memory(code, address(code, whole.pointer, offset, whole.dtype), whole.dtype, [self.count])
        self.arrays[value] = memory
        memory.fill(code, array)

    def part(self, value: Value, array: Array) -> Array:
        """Return the part in the strip of an array from before it."""
        code, row, base = self.f.code, self.row, self.base
        if self.is_flat:
            get = lambda i: array.load_flat(code, code.add(base, i))  # noqa: E731
        else:
            get = lambda i: array.load(code, broadcast_indices(array, [*row, code.add(base, i)]))  # noqa: E731
        return Lazy(value.type.dtype, [self.count], lambda at: get(at[0]), get)

    def update(self, op: Operation) -> None:
        """Emit a write to the strip's part of an array."""
        code, window, source = self.f.code, self.windows[op.results[0]], self.arrays[op.positional[-1]]

        def one(at: list[str]) -> None:
            place = [*self.row, code.add(self.base, at[0])]
            x = source.load_flat(code, at[0])
            window.store(code, place, added(code, window, place, x) if op.callee is typed.add_at else x)

        code.nest([self.count], one)

    def fold(self, op: Operation) -> None:
        """Emit a reduction of a row, or of the part of all elements in the strip."""
        f, (result,) = self.f, op.results
        array = self.arrays[op.positional[0]]
        if is_array(result):
            self.define(result, _same(result, reduced(f, op, array, nothing(op))))
            return
        kinds, places = register_kinds(result.type.dtype), self.totals[result]
        for place, kind, x in zip(places, kinds, registers(reduced(f, op, array, self.total(result)))):
            f.code.do(f"store {kind} {x}, ptr {place}")


def _same(value: Value, x: Element) -> Lazy:
    """Return an array all of whose elements are ``x``."""
    return Lazy(value.type.dtype, ["1"], lambda at: x, lambda i: x)


PARTS.update(strip=run_by_strips)
