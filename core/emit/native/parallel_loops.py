"""Parallel loops: chunks of a loop's iterations, run by the threads of the pool (``thread_pool``).

Two kinds of loops run in this way: loops over the elements of large arrays, and loops of the user's whose iterations are proved
to be independent (``passes/independence``). Their body is a piece (``outlining``). A chunk begins sums and other folds with
nothing (the first one with their initial value) and leaves what it has found in a table; afterwards the partial results are
put together in the order of the chunks. How many chunks there are follows from the number of iterations, their work and the number
of threads, never from timing, so the digits of a result do not change from run to run. A loop with little work is one chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.dynamic import Block, Operation, Value
from .arrays import Memory
from .elements import literal, registers
from .function import PARTS, FunctionCode
from .fusion import cost_of, is_elementwise, is_view
from .interrupts import work_of
from .outlining import Copies, outlined
from .reductions import add_in_any_order, combined, identity
from .thread_pool import MOST_CHUNKS, SLOTS

LEAST = 60_000
"""The least work, in additions, of a loop that is run by several threads: to wake a thread takes about as long."""
GRAIN = 10_000
"""The least work of a chunk."""
PER_THREAD = 4
"""Chunks for each thread: the threads that have quick ones take more of them."""
LEAST_COPY = 1 << 17
"""The least bytes of an array whose copies are added by several threads."""
UNKNOWN = 64
"""The number of iterations that is assumed where it is not known before the loop."""


# Work


def element_work(f: FunctionCode, op: Operation) -> int:
    """Return the work for an element of an operation's result, with that of the lazy arrays that it is computed from."""
    found, waiting, seen = 0, [op], set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        found += 1 if is_view(here) or not is_elementwise(here) else cost_of(here)
        waiting += [f.order.maker[v] for v in here.positional if v in f.lazy and v in f.order.maker]
    return max(found, 1)


def block_work(f: FunctionCode, block: Block, inside: set[Value]) -> str:
    """Return the work of a block, as far as it is known before the loop whose body defines the values ``inside``."""
    code, total = f.code, "0"
    for op in block.operations:
        if op.kind == "if":
            ways = [block_work(f, inner, inside) for inner in op.blocks]
            more = larger(f, *ways)
        elif op.kind == "while":
            more = code.multiply(str(UNKNOWN), block_work(f, op.blocks[1], inside))
        elif op.kind == "range":
            known = inside.isdisjoint(op.operands[:3])
            turns = PARTS["iterations"](f, op) if known else str(UNKNOWN)
            more = code.multiply(turns, code.add("1", block_work(f, op.blocks[0], inside)))
        else:
            more = str(work_of(f, op))
        total = code.add(total, more)
    return total


def larger(f: FunctionCode, a: str, b: str) -> str:
    if a.isdigit() and b.isdigit():
        return str(max(int(a), int(b)))
    return f.code.call("llvm.smax.i64", "i64", [("i64", a), ("i64", b)])


def smaller(f: FunctionCode, a: str, b: str) -> str:
    return f.code.call("llvm.smin.i64", "i64", [("i64", a), ("i64", b)])


def is_worth(work: str) -> bool | None:
    """Return whether a loop has work for several threads; None if that is known only at run time."""
    return int(work) >= LEAST if work.isdigit() else None


def enough(f: FunctionCode, work: str) -> str:
    """Return a register that tells whether a loop has work for several threads."""
    return f.code.value(f"icmp sge i64 {work}, {LEAST}")


# Chunks


class Chunked:
    """A loop whose chunks are pieces: write them, run them, and put their partial results together."""

    def __init__(self, f: FunctionCode, count: str, work: str, gap: int = 0, per_thread: int = PER_THREAD) -> None:
        self.f, self.count, self.gap = f, count, gap
        code = f.code
        if "parallel" not in f.program.constants:
            f.program.constants["parallel"] = "@parallel.run"
            code.module.globals += ["@parallel.run = global ptr null", "@parallel.threads = global i64 1"]
        self.threads = code.value("load i64, ptr @parallel.threads")
        most = smaller(f, code.multiply(self.threads, str(per_thread)), str(MOST_CHUNKS))
        most = smaller(f, most, code.value(f"sdiv i64 {work}, {GRAIN}"))
        most = smaller(f, most, code.value(f"sdiv i64 {count}, {2 * gap + 1}") if gap else count)
        most = code.call("llvm.smax.i64", "i64", [("i64", most), ("i64", "1")])
        self.chunks = code.value(f"select i1 {enough(f, work)}, i64 {most}, i64 1")

    def run(self, name: str, table: str, copies: Copies | None = None) -> None:
        """Run the piece ``name``; an error of an iteration ends the program, after the memory of ``copies`` is freed."""
        f, code = self.f, self.f.code
        address = code.value("load ptr, ptr @parallel.run")
        numbers = f"i64 {self.count}, i64 {self.chunks}, i64 {self.gap}"
        arguments = f"ptr @{name}, ptr {table}, {numbers}, ptr %context, i64 {self.threads}"
        status = code.value(f"call i32 {address}({arguments})")
        failed = code.value(f"icmp ne i32 {status}, 0")
        if copies is None:
            f.leave_if(failed)
            return
        free, after = code.new("free"), code.new("on")
        code.branch(failed, free, after, f.unlikely())
        code.start(free)
        code.do(f"call void @free(ptr {copies.base})")
        f.has_failure = True
        code.jump("failed")
        code.start(after)

    def slots(self, kinds: Sequence[str]) -> str:
        """Return memory for the partial results of all chunks."""
        return self.f.code.slot("i64", SLOTS * len(kinds)) if kinds else ""

    def combine(self, kinds: Sequence[str], slots: str, add: Callable[[list[str], list[str]], list[str]]) -> list[str]:
        """Return the partial results of the chunks put together by ``add``."""
        if not kinds:
            return []
        code = self.f.code
        found = partial(self.f, kinds, slots, "0")
        if self.gap:  # chunk k leaves another one, of its last iterations, unless it is the last chunk
            last = code.subtract(self.chunks, "1")
            turn = lambda k, *x: add(list(x), partial(self.f, kinds, slots, code.add(code.multiply(k, "2"), "1")))  # noqa: E731
            found = code.counted("0", last, 1, turn, kinds, found)
        turn = lambda k, *x: add(list(x), partial(self.f, kinds, slots, code.multiply(k, "2")))  # noqa: E731
        return code.counted("1", self.chunks, 1, turn, kinds, found)

    def last(self, kinds: Sequence[str], slots: str) -> list[str]:
        """Return what the last chunk has left."""
        code = self.f.code
        return partial(self.f, kinds, slots, code.multiply(code.subtract(self.chunks, "1"), "2")) if kinds else []


def partial(f: FunctionCode, kinds: Sequence[str], slots: str, place: str) -> list[str]:
    """Return the registers that the chunk with this place has left."""
    found = []
    for r, kind in enumerate(kinds):
        found.append(f.code.value(f"load {kind}, ptr {_word(f, slots, place, len(kinds), r)}"))
    return found


def leave(f: FunctionCode, kinds: Sequence[str], slots: str, names: Sequence[str]) -> None:
    """Store the registers of the chunk that is being written."""
    for r, (kind, name) in enumerate(zip(kinds, names)):
        f.code.do(f"store {kind} {name}, ptr {_word(f, slots, '%place', len(kinds), r)}")


def _word(f: FunctionCode, slots: str, place: str, count: int, r: int) -> str:
    at = f.code.add(f.code.multiply(place, str(count)), str(r))
    return f.code.value(f"getelementptr i64, ptr {slots}, i64 {at}")


def is_first(f: FunctionCode) -> str:
    """Return a register that tells, in a piece, whether it is the first chunk."""
    return f.code.value("icmp eq i64 %place, 0")


# Loops over elements


def spread(
    f: FunctionCode, lengths: Sequence[str], body: Callable[[list[str]], None], independent: Sequence[int]
) -> bool:
    """Run a nest of loops in parallel along one of the ``independent`` dimensions; return False if it is not worth it."""
    if f.strip is not None:
        return False
    work = nest_work(f, lengths)
    along = dimension(lengths, independent)
    if is_worth(work) is False or along is None:
        return False
    chunked = Chunked(f, lengths[along], work)
    chunked.run(*outlined(f, lambda: nest(f, lengths, body, along)))
    note_elements(f)
    return True


def nest_work(f: FunctionCode, lengths: Sequence[str]) -> str:
    each = element_work(f, f.op) if f.op is not None else 1
    return f.code.multiply(f.code.product(lengths), str(each))


def dimension(lengths: Sequence[str], independent: Sequence[int]) -> int | None:
    """Return the dimension along which a nest of loops is cut: the first that is not short."""
    long = [d for d in independent if not lengths[d].isdigit() or int(lengths[d]) >= 4 * PER_THREAD]
    known = [d for d in long if lengths[d].isdigit()]
    return min(known or long, default=None)


def nest(f: FunctionCode, lengths: Sequence[str], body: Callable[[list[str]], None], along: int) -> None:
    """Emit, in a piece, a nest of loops whose dimension ``along`` is a chunk."""
    code = f.code

    def level(at: int, indices: list[str]) -> None:
        if at == len(lengths):
            body(indices)
        elif at == along:
            code.counted("%low", "%high", 1, lambda i: level(at + 1, [*indices, i]) or (), (), ())
        else:
            code.loop(lengths[at], lambda i: level(at + 1, [*indices, i]) or ())

    level(0, [])


def fold_in_chunks(
    f: FunctionCode,
    op: Operation,
    lengths: Sequence[str],
    step: Callable[[list[str], list[str]], list[str]],
    kinds: Sequence[str],
    start: Sequence[str],
) -> list[str] | None:
    """Fold the elements of an array in parallel; None if that is not worth it. ``step`` is that of ``reductions.fold``."""
    code = f.code
    work, along = nest_work(f, lengths), dimension(lengths, range(min(len(lengths), 1)))
    if f.piece is not None or f.strip is not None or is_worth(work) is False or along is None:
        return None
    chunked = Chunked(f, lengths[0], work)
    slots = chunked.slots(kinds)

    def level(at: int, indices: list[str], carried: list[str]) -> list[str]:
        if at == len(lengths):
            return step(indices, carried)
        inner = lambda i, *x: level(at + 1, [*indices, i], list(x))  # noqa: E731
        if at == 0:
            return code.counted("%low", "%high", 1, inner, kinds, carried)
        return code.loop(lengths[at], inner, kinds, carried)

    def write() -> None:
        leave(f, kinds, slots, level(0, [], initial(f, op.callee, op.results[0].type.dtype, kinds, start)))

    chunked.run(*outlined(f, write))
    note_elements(f)
    dtype = op.results[0].type.dtype
    return chunked.combine(kinds, slots, lambda a, b: combined(code, op.callee, dtype, a, b))


def initial(f: FunctionCode, callee: Any, dtype: np.dtype, kinds: Sequence[str], start: Sequence[str]) -> list[str]:
    """Return, in a piece, the registers with which a chunk begins a fold: ``start`` in the first, nothing in the others."""
    first = is_first(f)
    nothing = registers(literal(identity(callee, dtype), dtype))
    return [
        x if x == y else f.code.value(f"select i1 {first}, {kind} {x}, {kind} {y}")
        for kind, x, y in zip(kinds, start, nothing)
    ]


def note_elements(f: FunctionCode) -> None:
    if f.op is not None:
        f.program.note(f.op, "array operations in parallel")


# Copies of arrays that are only added to


def with_copies(f: FunctionCode, chunked: Chunked, arrays: Sequence[Value]) -> Copies | None:
    """Return memory for copies of arrays, as many as there are chunks but the first."""
    if not arrays:
        return None
    code, total, places = f.code, 0, {}
    for value in arrays:
        buffer = f.placement.of[value]
        places[buffer] = f.memory(value).pointer, total
        total += (buffer.size + 127) // 64 * 64
    code.module.declare("malloc", "ptr", ["i64"], pure=False)
    code.module.declare("free", "void", ["ptr"], pure=False)
    size = code.multiply(code.subtract(chunked.chunks, "1"), str(total))
    base = code.value(f"call ptr @malloc(i64 {code.add(size, '64')})")
    failed = code.value(f"icmp eq ptr {base}, null")
    f.fail_if(failed, MemoryError, "not enough memory for the arrays of compiled code")
    return Copies(base, total, places)


def clear_copies(f: FunctionCode, copies: Copies | None) -> None:
    """Emit, at the start of a piece, what fills its copies with zeros."""
    if copies is None:
        return
    code = f.code
    code.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1 immarg"], pure=False)
    clear, after = code.new("clear"), code.new("on")
    is_gap = code.value("and i64 %place, 1")
    later = code.value("icmp sgt i64 %place, 0")
    fresh = code.value(f"icmp eq i64 {is_gap}, 0")
    code.branch(code.value(f"and i1 {later}, {fresh}"), clear, after)
    code.start(clear)
    for buffer in copies.places:
        code.do(f"call void @llvm.memset.p0.i64(ptr {f.pointers[buffer]}, i8 0, i64 {buffer.size}, i1 false)")
    code.jump(after)
    code.start(after)


def add_copies(f: FunctionCode, chunked: Chunked, copies: Copies | None, arrays: Sequence[Value]) -> None:
    """Emit the sums of arrays and their copies, in the order of the chunks, and free the copies."""
    if copies is None:
        return
    code = f.code
    others = code.subtract(chunked.chunks, "1")
    for value in arrays:
        buffer = f.placement.of[value]
        memory, (_, at) = f.memory(value), copies.places[buffer]

        def add(index: list[str], memory: Memory = memory, at: int = at) -> None:
            k, i = index
            start = code.add(code.multiply(k, str(copies.size)), str(at))
            copy = Memory(
                code, code.value(f"getelementptr i8, ptr {copies.base}, i64 {start}"), memory.dtype, memory.lengths
            )
            total = add_in_any_order(code, memory.dtype, memory.compute_flat(code, i), copy.compute_flat(code, i))
            memory.store_flat(code, i, total)

        independent = [1] if buffer.size >= LEAST_COPY else []
        code.nest([others, memory.count(code)], add, independent=independent)
    code.do(f"call void @free(ptr {copies.base})")


PARTS.update(spread=spread, fold=fold_in_chunks)
