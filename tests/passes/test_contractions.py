"""Which sums of products become matrix products, with equal results, and which do not."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.passes.contractions import as_products

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(16, 20)), RNG.normal(size=(20, 24)), RNG.normal(size=(5, 20, 24))


def products(f, *args):
    """Return how many products of matrices a function's program has after the pass, after comparing its results."""
    before = mo.jit(f, target="native").lower(*args).compilation.function
    text = str(before)
    after = verify(as_products(before))
    assert str(before) == text
    for one, two in zip(evaluate(before, list(args)), evaluate(after, list(args)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)
    return sum(op.callee is np.matmul for op in walk(after.block))


def two_matrices(a, b):
    return np.sum(a[:, :, np.newaxis] * b, axis=1)


def columns_first(a, b):
    return np.sum(b[:, np.newaxis, :] * a.T[:, :, np.newaxis], axis=0)


def stacks(a, c):
    return np.sum(a[:, np.newaxis, :, np.newaxis] * c, axis=(2,))


def windows(a, b):
    """A convolution as a loop over windows."""
    found = np.zeros((6, 9, 24))
    for i in range(6):
        window = a[i : i + 9]
        found[i] = np.sum(window[:, :, np.newaxis] * b[np.newaxis], axis=1)
    return found


def two_axes(c, d):
    return np.sum(c[:, :, :, np.newaxis, np.newaxis] * d, axis=(1, 2))


def with_a_batch(c, d):
    return np.sum(c[:, :, :, np.newaxis] * d[:, np.newaxis], axis=2)


@pytest.mark.parametrize(
    "f, args",
    [
        (two_matrices, (A, B)),
        (columns_first, (A, B)),
        (stacks, (A, C)),
        (windows, (A, B)),
        (two_axes, (C, RNG.normal(size=(20, 24, 4, 5)))),
        (with_a_batch, (C, RNG.normal(size=(5, 24, 6)))),
    ],
)
def test_sums_of_products_become_matrix_products(f, args):
    assert products(f, *args) == 1


def of_one_factor(a, b):
    """The last axis of the sum is an axis of b alone."""
    return np.sum(a[:, :, np.newaxis] * b, axis=(1, 2))


def a_matrix_and_a_vector(a, b):
    return np.sum(a[:, :, np.newaxis] * b[:, :1], axis=1)


def of_a_square(c, d):
    return np.sum(c * c * d, axis=2)


def used_otherwise(a, b):
    found = a[:, :, np.newaxis] * b
    return np.sum(found, axis=1), np.max(found)


@pytest.mark.parametrize(
    "f, args",
    [
        (of_one_factor, (A, B)),
        (a_matrix_and_a_vector, (A, B)),
        (of_a_square, (C, C.copy())),
        (used_otherwise, (A, B)),
        (two_matrices, (A[:3, :3], B[:3])),
    ],
)
def test_other_sums_stay(f, args):
    assert products(f, *args) == 0


def test_products_with_inf_and_nan_are_as_before():
    a, b = A.copy(), B.copy()
    a[0, 3], b[4, 5], b[5, 6], a[2] = np.inf, np.nan, 0.0, 0.0
    a[3, 5] = -np.inf
    found = mo.jit(two_matrices, target="xla")(a, b)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, two_matrices(a, b), rtol=1e-12, atol=1e-13)


def test_gradient_of_a_convolution_by_xla():
    def loss(a, b):
        return np.sum(windows(a, b) ** 2)

    expected = mo.grad(loss, (0, 1))(A, B)
    for found, slope in zip(mo.jit(mo.grad(loss, (0, 1)), target="xla")(A, B), expected):
        np.testing.assert_allclose(found, slope, rtol=1e-11)
