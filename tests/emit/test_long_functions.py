"""Long functions are divided into pieces, with equal results, errors and gradients."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import morula as mo
from morula.core.emit.native import long_functions
from morula.core.emit.native.long_functions import in_pieces
from morula.core.ir.dynamic import walk
from morula.core.ir.evaluate import evaluate

X = np.linspace(0.2, 0.9, 6)


def long(x, p):
    """Straight lines, loops and branches on a small array and a large one."""
    total, y, grid = 0.0, x * p, np.linspace(0.0, 1.0, 2_000)
    for k in range(4):
        y = np.tanh(y) * p + x
        for i in range(len(y)):
            if y[i] > 0.5:
                total += y[i] * p
            else:
                y[i] = np.sin(y[i]) + 0.1 * k
        grid = grid * y[0] + np.roll(grid, 1)
        total += np.sum(grid[:5]) + np.max(y)
    return total + np.sum(y)


def raising(x, p):
    y = np.tanh(x) * p + x
    y = np.exp(-(y**2)) * x
    rest = [1.0, 2.0, 3.0]
    i = int(np.sum(y) * 0.0 + p)
    return np.sum(y) + rest[i] * p


@pytest.fixture
def short_pieces(monkeypatch):
    monkeypatch.setenv("MORULA_CACHE", "0")
    monkeypatch.setattr(long_functions, "LONG", 12)
    monkeypatch.setattr(long_functions, "PIECE", 5)


def test_values_and_gradients_are_the_same(short_pieces):
    found, slopes = mo.jit(mo.value_and_grad(long, (0, 1)), target="native")(X, 0.7)
    expected, by_eager = mo.value_and_grad(long, (0, 1))(X, 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for one, two in zip(slopes, by_eager):
        np.testing.assert_allclose(one, two, rtol=1e-11)


def test_errors_of_a_piece_end_the_program(short_pieces):
    f = mo.jit(raising, target="native")
    assert f(X, 1.0) == pytest.approx(raising(X, 1.0))
    with pytest.raises(IndexError):
        f(X, 5.0)


def test_pieces_are_small_and_do_not_pass_large_arrays(short_pieces):
    before = mo.jit(mo.grad(long, (0, 1)), target="native").lower(X, 0.7).compilation.function
    after, pieces = in_pieces(before)
    assert len(pieces) > 4
    for piece in pieces:
        kinds = [v.type for v in (*piece.parameters, *piece.block.results)]
        assert max(np.prod(kind.bounds) * kind.dtype.itemsize for kind in kinds) <= 8192
        assert sum(1 for _ in walk(piece.block)) <= 5
    for one, two in zip(evaluate(before, [X, 0.7]), evaluate(after, [X, 0.7]), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_longest_function_does_not_grow_with_the_program(tmp_path):
    def longest(n):
        lines = [f"    y = np.tanh(y) * p + x - np.mean(y) * {k}" for k in range(n)]
        path = tmp_path / f"program{n}.py"
        path.write_text("\n".join(["import numpy as np", "def f(x, p):", "    y = x", *lines, "    return np.sum(y)"]))
        text = mo.jit(runpy.run_path(str(path))["f"], target="native").lower(X, 0.7).as_text("llvm")
        return max(part.count("\n") for part in text.split("\ndefine "))

    assert longest(300) < 1.5 * longest(190)
