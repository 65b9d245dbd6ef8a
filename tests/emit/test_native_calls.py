"""Calls of native programs with arguments of every memory layout, without conversion in Python."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from morula.core.emit.native import NativeProgram, compile_function
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.typed import ArrayType

SHAPE = (3, 4)


def unaligned(x):
    found = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


LAYOUTS = {
    "in C order": np.ascontiguousarray,
    "in Fortran order": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "a part of a larger array": lambda x: np.pad(x, 1)[1:-1, 1:-1],
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "unaligned": unaligned,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


def program(write, *kinds):
    builder, parameters = Builder(), [Value(f"x{k}", kind) for k, kind in enumerate(kinds)]
    with builder.block() as block:
        block.results = write(builder, *parameters)
    return compile_function(verify(Function("f", parameters, block)))


@pytest.fixture
def only_built_in(monkeypatch):
    def never(*args):
        raise AssertionError("the arguments are converted in Python")

    monkeypatch.setattr(NativeProgram, "_converted", never)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "?"])
def test_an_array_of_any_layout_is_read_by_the_built_in_call(only_built_in, layout, dtype, rng):
    kind = ArrayType(np.dtype(dtype), SHAPE)
    run = program(lambda b, x, y: [b.ufunc(np.add, x, y), b.ufunc(np.equal, x, y)], kind, kind)
    x, y = LAYOUTS[layout](rng.integers(0, 3, SHAPE).astype(dtype)), rng.integers(0, 3, SHAPE).astype(dtype)
    before = x.copy()
    for first, second in ((x, y), (y, x), (x, x)):
        total, equal = run([first, second])
        np.testing.assert_array_equal(total, np.add(first, second))
        np.testing.assert_array_equal(equal, first == second)
    np.testing.assert_array_equal(x, before)


def test_copies_of_arguments_are_released():
    kind, number = ArrayType(np.dtype(float), (1000, 1000)), ArrayType(np.dtype(float), ())

    def write(b, x, y):
        b.raise_if(b.ufunc(np.less, y, b.constant(0.0)), ValueError, "negative")
        one, two = b.constant(1, np.int64), b.constant(2, np.int64)
        return [b.ufunc(np.add, b.getitem(x, [one, two], ("i", "i"), []), y)]

    run = program(write, kind, number)
    x = np.arange(1e6).reshape(1000, 1000).T
    peaks = []
    for _ in range(3):
        for _ in range(40):
            assert run([x, 1.0]) == [2002.0]
            with pytest.raises(ValueError, match="negative"):
                run([x, -1.0])
            assert run([x, 1]) == [2002.0]  # of another type: the copy is dropped, and Python makes the call
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[-1] - peaks[0] < 100_000  # kB; 120 copies would take 960,000
    assert sys.getrefcount(x) == 2
