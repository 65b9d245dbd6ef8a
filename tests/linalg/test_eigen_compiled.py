"""Eigenpairs and singular triplets in compiled code: values and gradients are those of eager code."""

from __future__ import annotations

import numpy as np
import pytest
from krylov_methods import poisson

import morula as mo
from morula.linalg import Sparse, eigs, eigsh, lobpcg, svds

GRID = poisson(7)


def restarted(a):
    found = eigsh(0.5 * (a + np.conj(a.T)), 2)
    return found.values[0] + np.sum(np.arange(len(a)) * np.abs(found.vectors[:, 1]) ** 2), found.code


def preconditioned(a):
    found = lobpcg(0.5 * (a + np.conj(a.T)), 2, "largest", preconditioner=np.eye(len(a)), rtol=1e-12)
    return found.values[0] + np.sum(np.arange(len(a)) * np.abs(found.vectors[:, 1]) ** 2), found.code


def general(a):
    found = eigs(a, 2)
    return np.sum(np.abs(found.values)) + np.sum(np.arange(len(a)) * np.abs(found.vectors[:, 1]) ** 2), found.code


def truncated(a):
    found = svds(a, 2)
    return np.sum((a - (found.U * found.values) @ found.Vh) ** 3), found.code


def matrix(n, m, dtype=np.float64):
    """Two values are apart from the others."""
    draws = np.random.default_rng(3)
    a = draws.standard_normal((n, m)) + (1j * draws.standard_normal((n, m)) if dtype == "c16" else 0.0)
    a = a / np.sqrt(4 * n)
    a[0, 0], a[1, 1] = 9.0, 7.0
    return a


@pytest.mark.parametrize(
    "path, program, argument",
    [
        ("native", general, matrix(6, 6)),
        ("xla", restarted, matrix(26, 26, "c16")),
        ("native", truncated, matrix(27, 26)),
        ("native", preconditioned, matrix(5, 5)),
    ],
    ids=lambda x: getattr(x, "__name__", x if isinstance(x, str) else ""),
)
def test_value_and_gradient_agree_with_eager_code(path, program, argument):
    derivative = mo.value_and_grad(program, has_aux=True)
    (value, code), gradient = mo.jit(derivative, target=path)(argument)
    (expected, expected_code), slope = derivative(argument)
    assert code == expected_code == 0
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, atol=1e-8 * np.max(np.abs(slope)))


def test_shift_invert_of_a_sparse_matrix_calls_superlu_through_python():
    def values(data):
        return eigsh(Sparse(data, GRID.indices, GRID.indptr, GRID.shape), 3, sigma=0.0, vectors=False).values

    np.testing.assert_allclose(mo.jit(values, target="native")(GRID.data), values(GRID.data), rtol=1e-10)
