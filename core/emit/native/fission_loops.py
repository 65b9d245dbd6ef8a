"""Emits loops in two parts (``fission``): strips of iterations, each with a loop of the first part and one of the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager

import numpy as np

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import STACK
from .elements import address, element, half, in_memory, is_complex, load, registers, store
from .fission import Parts
from .function import FunctionCode

SIZE = 64
"""The iterations of a strip."""


def in_strips(
    f: FunctionCode,
    op: Operation,
    split: Parts,
    ends: tuple[str, str, int],
    index: Callable[[str], str],
    iteration: Callable[..., list[str]],
    kinds: Sequence[str],
    initial: Sequence[str],
) -> list[str]:
    """Emit the iterations from one position up or down to another by strips; ``ends`` are these and the direction.

    ``index(at)`` is the loop's counter at a position. ``iteration(operations, at, *carried)`` emits operations of the body there
    and returns the next carried registers. An iteration that reads at an index out of range runs the whole body, which ends
    the program.
    """
    code, (low, high, by) = f.code, ends
    buffers = _buffers(f, split.kept)
    onwards = "add nsw i64" if by > 0 else "sub nsw i64"

    def strip(at: str, *carried: str) -> tuple[list[str], str]:
        def before(k: str) -> Sequence[str]:
            f.values[op.blocks[0].parameters[0]] = index(code.value(f"{onwards} {at}, {k}"))
            _pop(f, op, split, carried, k)
            f.block(Block([], split.first, []))
            for value, places in buffers.items():
                dtype = _half(value)
                for place, x in zip(places, registers(f.element(value))):
                    store(code, address(code, place, k, dtype), x, dtype)
            return ()

        def after(k: str, *now: str) -> list[str]:
            for value, places in buffers.items():
                dtype = _half(value)
                loaded = [load(code, address(code, place, k, dtype), dtype) for place in places]
                f.values[value] = element(loaded, value.type.dtype)
            return iteration(split.second, code.value(f"{onwards} {at}, {k}"), *now)

        with code.scope():
            ahead = code.value(f"sub i64 {high}, {at}" if by > 0 else f"sub i64 {at}, {high}")
            size = code.call("llvm.umin.i64", "i64", [("i64", ahead), ("i64", str(SIZE))])
            f.values[op.blocks[0].parameters[0]] = index(at)
            safe = _in_range(f, split, size)
            with _proved(f, split):
                code.counted("0", safe, 1, before, (), (), f.program.loop_marks("interleave.count", 1))
                following = code.counted("0", safe, 1, after, kinds, carried)
            if split.checked:
                bad, good = code.new("outside"), code.new("inside")
                code.branch(code.value(f"icmp ult i64 {safe}, {size}"), bad, good, f.unlikely())
                code.start(bad)
                with code.scope():
                    iteration(op.blocks[0].operations, code.value(f"{onwards} {at}, {safe}"), *following)
                code.do("unreachable")
                code.start(good)
            return following, code.value(f"{onwards} {at}, {size}")

    return code.turns(low, high, by, strip, kinds, initial)


def _in_range(f: FunctionCode, split: Parts, size: str) -> str:
    """Return how many iterations of a strip, from the first, read at indices that are in range."""
    code = f.code
    f.block(Block([], split.of_indices, []))
    for op, growth in split.checked:
        for v, by, n in zip(op.positional[1:], growth, f.lengths(op.positional[0].type)):
            at = f.element(v)
            left = code.subtract(n, at) if by >= 0 else code.add(at, "1")
            if abs(by) > 1:
                left = code.value(f"udiv i64 {code.add(left, str(abs(by) - 1))}, {abs(by)}")
            inside = code.value(f"icmp ult i64 {at}, {n}")
            left = code.value(f"select i1 {inside}, i64 {left if by else size}, i64 0")
            size = code.call("llvm.umin.i64", "i64", [("i64", size), ("i64", left)])
    return size


@contextmanager
def _proved(f: FunctionCode, split: Parts):
    """Emit reads without checks: their indices are in range."""
    proved = [op for op, _ in split.checked if op not in f.proofs.in_range]
    f.proofs.in_range.update(dict.fromkeys(proved, True))
    yield
    for op in proved:
        del f.proofs.in_range[op]


def _half(value: Value) -> np.dtype:
    dtype = value.type.dtype
    return half(dtype) if is_complex(dtype) else dtype


def _buffers(f: FunctionCode, values: Sequence[Value]) -> dict[Value, list[str]]:
    """Return memory for the registers of values in the iterations of a strip; the loops of a function take turns on it."""
    found: dict[Value, list[str]] = {}
    taken: dict[str, int] = {}
    for value in values:
        kind, own = in_memory(_half(value)), []
        pool = f.strip_buffers.setdefault((f"kept {kind}", SIZE), [])
        for _ in range(2 if is_complex(value.type.dtype) else 1):
            n = taken[kind] = taken.get(kind, 0) + 1
            if n > len(pool):
                pool.append(f.code.slot(kind, SIZE))
            own.append(pool[n - 1])
        found[value] = own
    return found


def _pop(f: FunctionCode, op: Operation, split: Parts, carried: Sequence[str], k: str) -> None:
    """Define what the iteration at place k of a strip pops; ``carried`` are the registers before the strip."""
    code = f.code
    for value, (at, below) in split.popped.items():
        first = sum(3 if v.type is STACK else len(_registers(v)) for v in op.results[:at])
        data, used = carried[first : first + 2]
        earlier = code.multiply(k, str(split.sizes[at]))
        place = code.subtract(code.subtract(used, str(below)), earlier)
        pointer = code.value(f"getelementptr inbounds i8, ptr {data}, i64 {place}")
        f.values[value] = load(code, pointer, value.type.dtype)


def _registers(value: Value) -> list[str]:
    return [] if value.type.shape else ["re", "im"] if is_complex(value.type.dtype) else ["x"]
