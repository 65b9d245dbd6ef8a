"""What the code of a compiled gradient does, counted in its typed program: loops, residuals, calls of libraries and of Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from morula.core.ir import typed
from morula.core.ir.dynamic import Block, Operation, callee_name


@dataclass(frozen=True)
class Emitted:
    """Counts over the program of value and gradient.

    loops, unknown: its loops, and those of them whose number of iterations is not known while compiling.
    branches: in loops.
    saved: bytes that one iteration of the innermost loops saves for the backward sweep, at most; ``saved_in_all``: the bytes
    that a call saves, where loops of unknown length count once.
    arrays: operations that write whole arrays within loops.
    libraries: calls of BLAS, LAPACK or FFT in the program text.
    python: calls of Python.
    """

    loops: int
    unknown: int
    branches: int
    saved: int
    saved_in_all: int
    arrays: int
    libraries: int
    python: int


COLUMNS = {
    "loops": "loops",
    "unknown": "of unknown length",
    "branches": "branches in loops",
    "arrays": "array operations in loops",
    "saved": "bytes saved by an innermost iteration",
    "saved_in_all": "kB saved by a call",
    "libraries": "calls of BLAS, LAPACK, FFT",
    "python": "calls of Python",
}
"""Headings of a table, by field."""


def emitted(gradient: Any, args: tuple[Any, ...]) -> Emitted:
    """Count what the native program of ``gradient``, made by ``mo.jit``, does for these arguments."""
    compilation = gradient.lower(*args).compilation
    block = compilation.function.block
    every = list(_nested(block, 0, 1))
    loops = [op for op, _, _ in every if op.kind in ("range", "while")]
    pushes = [(op, depth, times) for op, depth, times in every if op.callee is typed.stack_push]
    deepest = max((depth for _, depth, _ in pushes), default=0)
    return Emitted(
        loops=len(loops),
        unknown=sum(op.iterations is None for op in loops),
        branches=sum(op.kind == "if" and depth > 0 for op, depth, _ in every),
        saved=max((_bytes(op) for op, depth, _ in pushes if depth == deepest), default=0),
        saved_in_all=sum(_bytes(op) * times for op, _, times in pushes),
        arrays=sum(depth > 0 and _writes_array(op) for op, depth, _ in every),
        libraries=sum(op.kind == "call" and _is_of_library(op) for op, _, _ in every),
        python=len(getattr(compilation.compile().executable, "_calls", ())),
    )


def row(found: Emitted) -> list[str]:
    """The cells of a table, in the order of ``COLUMNS``."""
    return [f"{getattr(found, name) / (1e3 if name == 'saved_in_all' else 1):,.0f}" for name in COLUMNS]


def _nested(block: Block, depth: int, times: int) -> Iterator[tuple[Operation, int, int]]:
    """Yield operations with the number of loops around them, and how often they run in a call."""
    for op in block.operations:
        yield op, depth, times
        is_loop = op.kind in ("range", "while")
        for inner in op.blocks:
            yield from _nested(inner, depth + is_loop, times * ((op.iterations or 1) if is_loop else 1))


def _bytes(push: Operation) -> int:
    return sum(v.type.dtype.itemsize * math.prod(v.type.bounds) for v in push.operands[1:])


def _writes_array(op: Operation) -> bool:
    if op.kind != "call" or op.callee in (typed.setitem, typed.add_at, typed.getitem, typed.stack_pop):
        return False
    return any(getattr(r.type, "shape", ()) for r in op.results)


def _is_of_library(op: Operation) -> bool:
    name = callee_name(op.callee)
    return op.callee is np.matmul or any(part in name for part in ("linalg", "kept_factors", "fft", "factor_kernels"))
