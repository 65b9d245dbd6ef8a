"""Writes to windows of arrays in native code: short rows that are neighbours in memory are written in one loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from path_tester import PATHS, check_gradient
from pytest import mark

from morula.core.emit.native import compile_function
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType


@st.composite
def windows(draw):
    """Lengths of an array, and for each dimension the entry of an index, with first index and length for slices."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    parts = []
    for n in shape:
        kind = draw(st.sampled_from([":", "i", "s", "whole"]))
        first = draw(st.integers(0, n - 1)) if kind != "whole" else 0
        step = draw(st.sampled_from([1, 1, 2]))
        length = n if kind == "whole" else draw(st.integers(0, (n - 1 - first) // step + 1))
        entry = kind if kind in (":", "i") else ("s", 1 if kind == "whole" else step)
        parts.append((entry, first, n if kind == ":" else length))
    return shape, parts


@settings(max_examples=30, deadline=None)
@given(windows(), st.booleans(), st.sampled_from([typed.add_at, typed.setitem]))
def test_a_write_to_a_window_is_that_of_the_interpreter(window, is_computed, callee):
    shape, parts = window
    spec = tuple(entry for entry, _, _ in parts)
    part = tuple(n for entry, _, n in parts if entry != "i")
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=shape), rng.normal(size=part)]
    builder = Builder()
    x, y = (Value(name, ArrayType(np.dtype(float), np.shape(a))) for name, a in zip("xy", arguments))
    with builder.block() as block:
        added = builder.ufunc(np.sin, y) if is_computed else y
        index = [builder.constant(first, np.int64) for entry, first, _ in parts if entry != ":"]
        block.results = builder.call(callee, [x, *index, added], [x.type], spec=spec)
    function = verify(Function("f", [x, y], block))
    (found,) = compile_function(function)(arguments)
    np.testing.assert_allclose(found, evaluate(function, arguments)[0], rtol=1e-13)


def sums_of_windows(x, kernel):
    total = 0.0
    for i in range(x.shape[1] - 1):
        for j in range(x.shape[2] - 2):
            total = total + np.sum(np.sin(np.sum(x[:, i : i + 2, j : j + 3, :, None] * kernel, axis=(1, 2, 3))))
    return total


@mark.parametrize("path", PATHS)
def test_gradients_of_windows(path):
    rng = np.random.default_rng(1)
    check_gradient(path, sums_of_windows, rng.normal(size=(2, 4, 5, 2)), rng.normal(size=(2, 3, 2, 2)))
