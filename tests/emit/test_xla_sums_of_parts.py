"""Additions in a row to parts of one array, which XLA programs do as one sum: against the interpreter, on random rows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

import morula.core.specialise  # noqa: E402, F401  rules are traced
from morula.core.emit.xla import compile_function  # noqa: E402
from morula.core.emit.xla.sums_of_parts import summed  # noqa: E402
from morula.core.ir.builder import Builder  # noqa: E402
from morula.core.ir.dynamic import Function, Value, verify, walk  # noqa: E402
from morula.core.ir.evaluate import evaluate  # noqa: E402
from morula.core.ir.typed import INT64, ArrayType  # noqa: E402

SHAPES = [(9,), (5, 7), (3, 4, 6)]


def row_of_additions(random, shape, dtype):
    """A loop that carries an array, and adds to several parts of it, some at an index that the loop counts."""
    kind = ArrayType(np.dtype(dtype), shape)
    x, k = Value("x", kind), Value("k", INT64)
    b = Builder()
    counted = int(random.integers(-1, len(shape) - 1)) if len(shape) > 1 else -1  # a dimension with an index, or none
    parts, operands = [], [x, k]
    for _ in range(random.integers(2, 6)):
        lengths = [int(n - random.integers(0, 3)) for n in shape]
        parts.append([(int(random.integers(0, n - m + 1)), m) for n, m in zip(shape, lengths)])
        given = tuple(m for axis, m in enumerate(lengths) if axis != counted)
        operands.append(Value("v", ArrayType(kind.dtype, given)))

    def body(i, now):
        for part, v in zip(parts, operands[2:]):
            index, spec = [], []
            for axis, (low, _) in enumerate(part):
                index.append(i if axis == counted else b.constant(low, np.int64))
                spec.append("i" if axis == counted else ("s", 1))
            now = b.add_at(now, index, v, tuple(spec))
        return [now]

    stop = b.constant(min(shape), np.int64)
    with b.block(operands) as block:
        block.results = b.range_(b.constant(0, np.int64), stop, b.constant(1, np.int64), body, [x])
    block.parameters = []
    return verify(Function("additions", operands, block))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
def test_random_rows_of_additions(shape, dtype):
    random = np.random.default_rng(len(shape))
    found = 0
    for _ in range(3):
        f = row_of_additions(random, shape, dtype)
        found += sum(len(summed(b)) for op in walk(f.block) for b in op.blocks)
        args = [(random.integers(-9, 9, v.type.shape) / 4).astype(v.type.dtype)[()] for v in f.parameters]
        for a, e in zip(compile_function(f)(args), evaluate(f, args), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-14)
    assert found


def test_parts_that_lie_far_apart_and_those_that_are_read_in_between_are_added_one_by_one():
    def pairs(read, apart):
        b = Builder()
        x, v = Value("x", ArrayType(np.dtype(float), (100,))), Value("v", ArrayType(np.dtype(float), (3,)))
        zero = b.constant(0, np.int64)

        def body(i, now):
            now = b.add_at(now, [zero], v, (("s", 1),))
            more = b.getitem(now, [zero], (("s", 1),), [3]) if read else v
            return [b.add_at(now, [b.constant(apart, np.int64)], more, (("s", 1),))]

        with b.block([x, v]) as block:
            block.results = b.range_(zero, b.constant(4, np.int64), b.constant(1, np.int64), body, [x])
        return sum(len(summed(inner)) for op in block.operations for inner in op.blocks)

    assert pairs(False, 1) == 1
    assert pairs(False, 50) == 0
    assert pairs(True, 1) == 0


def test_counts_of_bools_are_exact():
    kind = ArrayType(np.dtype(bool), (3, 700))
    x = Value("x", kind)
    b = Builder()
    with b.block([x]) as block:
        wide = b.cast(x, np.int64)
        block.results = [b.reduce(np.sum, wide, [1]), b.reduce(np.sum, wide, [0, 1])]
    block.parameters = []
    f = verify(Function("counts", [x], block))
    given = np.random.default_rng(0).random((3, 700)) > 0.2
    found = compile_function(f)([given])
    assert found[0].dtype == found[1].dtype == np.int64
    np.testing.assert_array_equal(found[0], np.count_nonzero(given, axis=1))
    assert found[1] == np.count_nonzero(given)
