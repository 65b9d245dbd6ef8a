"""``scipy.sparse.linalg.expm_multiply`` in compiled code, against the dense exponential and eager code."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as sl
from scipy.linalg import expm

import morula as mo

TARGETS = pytest.mark.parametrize("target", ["native", "xla"])
RANDOM = np.random.default_rng(5)
A, B = RANDOM.normal(size=(4, 4)), RANDOM.normal(size=(4, 2))
W = np.cos(np.arange(24.0)).reshape(3, 4, 2)


def by_dense_exponential(a, b, times):
    return sum(np.sum(w * (expm(t * a) @ b)) for w, t in zip(W, times))


@TARGETS
def test_one_product(target):
    loss = lambda a, b: np.real(np.sum(W[0] * sl.expm_multiply(a, b)))  # noqa: E731
    a = A + 0.3j * A.T
    expected = mo.gradient(lambda a, b: np.real(by_dense_exponential(a, b, [1.0])), a, B)
    value, found = mo.jit(lambda a, b: mo.value_and_grad(lambda x: loss(*x))((a, b)), target=target)(a, B)
    np.testing.assert_allclose(value, loss(a, B), rtol=1e-12)
    for g, h in zip(found, expected):
        np.testing.assert_allclose(g, h, rtol=1e-11, atol=1e-12)
    tangent = mo.jit(lambda a, b: mo.jvp(loss, (a, b), (1j * A, B**2))[1], target=target)(a, B)
    exact = np.sum(np.real(np.conj(expected[0]) * 1j * A)) + np.sum(expected[1] * B**2)
    np.testing.assert_allclose(tangent, exact, rtol=1e-11)


@pytest.mark.parametrize(
    "target, endpoint, times",
    [
        ("native", True, [0.1, 0.5, 0.9]),
        ("native", False, [0.1, 0.1 + 0.8 / 3, 0.1 + 1.6 / 3]),
        ("xla", True, [0.1, 0.5, 0.9]),
    ],
    ids=["native", "native without the end", "xla"],
)
def test_products_at_several_times(target, endpoint, times):
    def loss(a, b):
        return np.sum(W * sl.expm_multiply(a, b, start=0.1, stop=0.9, num=3, endpoint=endpoint, traceA=1.0))

    value, g = mo.jit(mo.value_and_grad(loss), target=target)(A, B)
    np.testing.assert_allclose(value, loss(A, B), rtol=1e-12)
    np.testing.assert_allclose(g, mo.grad(lambda a: by_dense_exponential(a, B, times))(A), rtol=1e-11, atol=1e-12)


@TARGETS
def test_sparse_matrices_in_single_precision(target):
    whole = np.where(RANDOM.uniform(size=(4, 4)) < 0.6, A, 0.0)
    pattern = scipy.sparse.csr_array(whole)
    b = B[:, 0].astype(np.float32)

    def loss(data):
        matrix = scipy.sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        return np.sum(sl.expm_multiply(matrix, b) ** 2)

    data = pattern.data.astype(np.float32)
    value, g = mo.jit(mo.value_and_grad(loss), target=target)(data)
    assert value.dtype == g.dtype == np.float32
    dense = mo.grad(lambda a: np.sum((expm(a) @ B[:, 0]) ** 2))(whole)
    np.testing.assert_allclose(g, scipy.sparse.csr_array(np.where(whole != 0, dense, 0.0)).data, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda a: sl.expm_multiply(a[:3], B), "expected A to be like a square matrix"),
        (lambda a: sl.expm_multiply(a, B[:2]), r"shapes of matrices A \(4, 4\) and B \(2, 2\) are incompatible"),
        (lambda a: sl.expm_multiply(a, B, 0.0, 1.0, num=1), "at least two time points are required"),
    ],
    ids=["square", "shapes", "times"],
)
def test_errors_are_those_of_scipy(call, message):
    for run in (call, mo.jit(call, target="native"), mo.grad(lambda a: np.sum(call(a)))):
        with pytest.raises(ValueError, match=message):
            run(A)
