"""Vectors of a length that only the data tell become inner loops, with equal results; others stay."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient

import morula as mo
from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType
from morula.core.passes.ragged_loops import by_elements

RNG = np.random.default_rng(0)
STARTS = np.concatenate([[0], np.cumsum(RNG.integers(4, 40, 12))])
COLUMNS = RNG.integers(-12, 12, STARTS[-1])
ENTRIES, X, W = RNG.normal(size=STARTS[-1]), RNG.normal(size=12), RNG.normal(size=12)


def product(starts, columns, entries, x, w):
    y = np.empty(len(w))
    for i in range(len(w)):
        inside = slice(starts[i], starts[i + 1])
        y[i] = entries[inside] @ x[columns[inside]]
    return np.sum(y * w)


def softmax_of_rows(starts, columns, entries, x, w):
    """A sum needs a maximum: two inner loops."""
    total = 0.0
    for i in range(len(w)):
        row = entries[starts[i] : starts[i + 1]] * x[i]
        weights = np.exp(row - np.max(row))
        total += w[i] * np.sum(weights * x[columns[starts[i] : starts[i + 1]]]) / np.sum(weights)
    return total


def scaled_in_place(starts, columns, entries, x, w):
    entries = entries.copy()
    for i in range(len(w)):
        row = 1.0 * entries[starts[i] : starts[i + 1]]
        entries[starts[i] : starts[i + 1]] = row / (np.sqrt(np.sum(row**2)) + x[i] ** 2)
    return np.sum(entries * np.cos(np.arange(len(entries))))


def scattered(starts, columns, entries, x, w):
    """Columns repeat within a row."""
    y = np.zeros(len(x))
    for i in range(len(w)):
        inside = slice(starts[i], starts[i + 1])
        np.add.at(y, columns[inside], entries[inside] * w[i])
    return np.sum(y * x**2)


PROGRAMS = (product, softmax_of_rows, scaled_in_place, scattered)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_by_xla(program):
    check_gradient("xla", program, STARTS, COLUMNS, ENTRIES, X, W, argnums=(2, 3, 4))


def vectors(function):
    """The values of a program of a length that is known only at run time."""
    kinds = [v.type for op in walk(function.block) for v in op.results]
    return sum(isinstance(kind, ArrayType) and not kind.is_static for kind in kinds)


@pytest.mark.parametrize("f", [*PROGRAMS, mo.value_and_grad(product, (2, 3, 4)), mo.value_and_grad(scattered, (2, 4))])
def test_no_vector_is_left(f):
    args = (STARTS, COLUMNS, ENTRIES, X, W)
    before = mo.jit(f, target="native").lower(*args).compilation.function
    text = str(before)
    after = verify(by_elements(before))
    assert str(before) == text
    assert vectors(before) > 0 == vectors(after)
    for one, two in zip(evaluate(before, list(args)), evaluate(after, list(args)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


def sorted_rows(starts, entries):
    total = 0.0
    for i in range(len(starts) - 1):
        total += np.sum(np.sort(entries[starts[i] : starts[i + 1]]) ** 2)
    return total


def triangle(starts, entries):
    total = 0.0
    for i in range(150):
        total += np.sum(entries[:i] ** 2)
    return total


@pytest.mark.parametrize("program", [sorted_rows, triangle])
def test_other_vectors_stay(program):
    entries = RNG.normal(size=200)
    starts = np.arange(0, 200, 11)
    before = mo.jit(program, target="native").lower(starts, entries).compilation.function
    after = by_elements(before)
    assert vectors(before) == vectors(after) > 0


def test_an_index_out_of_bounds_is_reported():
    columns = COLUMNS.copy()
    columns[40] = 12
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 12"):
        mo.jit(product, target="xla")(STARTS, columns, ENTRIES, X, W)
