"""Arrays that are read by rows and by columns are kept twice; gradients are those of the eager engine."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

N = 30


def lower_and_upper(A, w):
    A = A.copy()
    for i in range(N):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A * w)


def with_a_branch(A, w):
    """A row or a column is overwritten, which the twin has to follow."""
    A = A / 8.0
    for i in range(1, N):
        if A[i, i] > 0.4:
            A[i, :] *= 0.5
        else:
            A[:, i] = A[i, :] + 0.1 * A[:, 0]
        for j in range(i):
            A[i, j] = np.sin(A[i, :j] @ A[:j, i]) + A[:i, j] @ A[:i, i]
    return np.sum(A * w)


def while_of_slabs(A, w):
    """Three axes, in a ``while``; both the first and the last axis are read along."""
    B = np.zeros((N, 2, N))
    B[:, 0, :] = A / 30.0
    B[:, 1, :] = w / 30.0
    i = 1
    while i < N:
        for j in range(N):
            B[i, 1, j] = np.cos(B[:, 0, j] @ B[:, 1, i]) * (B[i, 0, :] @ B[j, 1, :])
        i += 1
    return np.sum(B[:, 1, :] * w)


@pytest.mark.parametrize("f", [lower_and_upper, with_a_branch, while_of_slabs])
def test_gradients(f):
    A, w = np.random.default_rng(0).normal(size=(2, N, N))
    A += 8.0 * np.eye(N)
    value, gradients = mo.jit(mo.value_and_grad(f, (0, 1)), target="native")(A, w)
    expected, gradients_ = mo.value_and_grad(f, (0, 1))(A, w)
    assert np.isclose(value, expected, rtol=1e-12)
    for g, g_ in zip(gradients, gradients_):
        np.testing.assert_allclose(g, g_, 1e-9, 1e-11)


@pytest.mark.parametrize("f", [lower_and_upper, with_a_branch, while_of_slabs])
def test_a_twin_is_carried(f):
    A, w = np.random.default_rng(0).normal(size=(2, N, N))
    lowered = mo.jit(mo.value_and_grad(f), target="native").lower(A, w).as_text()
    assert "transpose(" in lowered


def test_an_array_that_is_written_as_often_as_it_is_read_has_no_twin():
    def f(A):
        A = A.copy()
        for i in range(1, N):
            A[:, i] = A[:, i - 1] * 0.5
            A[i, :] = A[i - 1, :] * 0.5
        return np.sum(A)

    assert "transpose(" not in mo.jit(mo.value_and_grad(f), target="native").lower(np.eye(N)).as_text()
