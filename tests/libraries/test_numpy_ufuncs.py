"""Methods of ufuncs, and the keywords ``out``, ``where``, ``dtype``, ``initial``, ``axes``."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

random = np.random.default_rng(3)
V = random.uniform(0.5, 1.5, 5)
W = V[:3] + 2
A = random.uniform(-1, 1, (3, 4))
KNOTS = np.array([0.1, 0.4, 0.8, 1.0, 1.7])

FOLDED = [np.add, np.multiply, np.maximum, np.subtract, np.hypot, np.logaddexp, np.divide]


@pytest.mark.parametrize("ufunc", FOLDED, ids=lambda u: u.__name__)
def test_methods_of_ufuncs(ufunc):
    mo.testing.check_gradients(lambda x: ufunc.reduce(x), V)
    mo.testing.check_gradients(lambda x: ufunc.reduce(x, axis=1), A + 2)
    mo.testing.check_gradients(lambda x: ufunc.accumulate(x), V)
    mo.testing.check_gradients(lambda x, y: ufunc.outer(x, y), V, W)
    mo.testing.check_gradients(lambda x: ufunc.reduceat(x, [0, 2, 1, 3]), V)
    mo.testing.check_gradients(lambda x: ufunc.reduceat(x, [0, 2], axis=1), A + 2)


def changed_at(x, y, ufunc, places):
    z = x * 1
    ufunc.at(z, places, y)
    return z


@pytest.mark.parametrize("ufunc", FOLDED, ids=lambda u: u.__name__)
def test_an_entry_that_is_named_twice_is_changed_twice(ufunc):
    mo.testing.check_gradients(lambda x, y: changed_at(x, y, ufunc, [0, 2, 0]), V, W)
    mo.testing.check_gradients(
        lambda x, y: changed_at(x, y, ufunc, ([0, 2, 0], slice(1, 3))), A + 2, np.array([1.5, 3])
    )
    mo.testing.check_gradients(lambda x, y: changed_at(x, y, ufunc, V > 0.9), V, 1.7)


def test_an_operation_of_one_operand_at_places():
    def program(x):
        y = x * 1
        np.exp.at(y, [0, 2, 0])
        np.negative.at(y, [1])
        return y

    mo.testing.check_gradients(program, V)


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2, np.fmod, np.copysign], ids=lambda u: u.__name__)
def test_a_fold_has_numpys_value_or_is_refused(ufunc):
    """Not every loop of NumPy folds from the left."""
    try:
        y, _ = mo.pullback(ufunc.reduce, V)
        assert y == ufunc.reduce(V)
        mo.testing.check_gradients(lambda x: ufunc.reduce(x), V)
    except mo.NoDerivative as error:
        assert "reduce" in str(error)


def where_and_out(x, y):
    z = y * 2
    np.multiply(x, y, out=z, where=x > 0.9)
    np.sqrt(x, out=z, where=y > 0.9)
    np.add(z, 1, z)
    np.multiply(z, z, out=(z,))
    return z


def two_results(x):
    fraction, whole = np.empty(5), np.empty(5)
    np.modf(x * 3, fraction, whole)
    quotient, remainder = np.empty(5), np.empty(5)
    np.divmod(x, 0.3, out=(quotient, remainder))
    return fraction * 2 + whole * x + quotient * x + remainder


def accumulated(x):
    y, z = np.empty(5), np.empty(())
    np.add.accumulate(x * x, out=y)
    np.multiply.reduce(x, out=z)
    return y * z


def reduced(x):
    rows, columns, largest = np.empty(3), np.empty(4), np.empty(3)
    np.sum(x, 1, None, rows)
    np.mean(x, axis=0, out=columns)
    x.max(1, out=largest)
    product = np.dot(x, x.T, out=np.empty((3, 3)))
    joined = np.concatenate([x, x], out=np.empty((6, 4)))
    return rows * largest, columns, product, joined, np.matmul(x, x.T, out=np.empty((3, 3))), np.clip(x, -0.5, 0.5)


CASES = {
    "where and out": (where_and_out, V, KNOTS),
    "two results": (two_results, V),
    "accumulate and reduce": (accumulated, V),
    "reductions": (reduced, A),
    "dtype": (lambda x: np.sqrt(x - 1, dtype=complex), V),
    "casting": (lambda x: np.add(x, 1, casting="same_kind", order="F", subok=False, signature="dd->d"), V),
    "keepdims, initial, where": (
        lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True, initial=2.0, where=A > -0.5),
        A,
    ),
    "initial": (lambda x, i: np.sum(x, initial=i) * np.prod(x, initial=i) * np.max(x, initial=i), V, 1.1),
    "initial of reduce": (lambda x, i: np.maximum.reduce(x, initial=i) + np.add.reduce(x, initial=i), V, 3.1),
    "means of some": (lambda x: np.mean(x, where=A > 0) + np.var(x, ddof=1, where=A > -1) + np.std(x, where=A > 0), A),
    "axes of matmul": (lambda x, y: np.matmul(x, y, axes=[(-1, -2), (0, 1), (1, 0)]), A, A + 1),
    "axes of a vector": (lambda x, y: np.matmul(x, y, axes=[(1, 0), (0,), (0,)]), A, W),
    "axes of a stack": (lambda x, y: np.matmul(x, y, axes=[(0, 1), (0, -1), (1, 2)]), np.stack([A, A + 1], 2), A.T + 2),
    "axis of vecdot": (lambda x, y: np.vecdot(x, y, axis=0), A, A + 1),
    "axes of vecdot": (lambda x, y: np.vecdot(x, y, axes=[0, 1]), A, A.T + 1),
}


@pytest.mark.parametrize(("program", "args"), [(program, args) for program, *args in CASES.values()], ids=CASES)
def test_keywords(program, args):
    mo.testing.check_gradients(program, *args)


if hasattr(np, "matvec"):  # NumPy 2.2

    def test_axes_of_products_with_a_vector():
        mo.testing.check_gradients(lambda x, y: np.matvec(x, y, axes=[(1, 0), 0, 0]), A, W)
        mo.testing.check_gradients(lambda x, y: np.vecmat(x, y, axes=[0, (1, 0), 0]), V[:4], A)
