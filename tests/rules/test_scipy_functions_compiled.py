"""Functions of ``scipy.linalg`` in compiled gradients that take several arrays, or return real or complex ones by value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

import morula as mo
from morula.core.ir.library_results import of_kind

A = np.random.default_rng(0).normal(size=(4, 4))  # has complex eigenvalues
S = A @ A.T + np.eye(4)
PROGRAMS = {
    "expm_frechet": lambda a: np.sum(linalg.expm_frechet(a, a @ a)[1]),
    "expm_cond": lambda a: linalg.expm_cond(a),
    "solve_toeplitz": lambda a: np.sum(linalg.solve_toeplitz((a[0] + 4 * np.eye(4)[0], a[1]), a[2]) ** 2),
    "block_diag": lambda a: np.sum(linalg.block_diag(a[:2, :2], a[2:, 1:], a[0, 0]) ** 2),
    "matmul_toeplitz": lambda a: np.sum(linalg.matmul_toeplitz((a[0], a[1]), a[2]) ** 2),
    "eigvals": lambda a: np.sum(np.abs(linalg.eigvals(a))),
    "eig": lambda a: np.sum(np.abs(linalg.eig(a)[1]) ** 2 * a),
    "left eig": lambda a: np.sum(np.abs(linalg.eig(a, left=True)[1]) ** 2 * a),
    "eig of a pair": lambda a: np.sum(np.abs(linalg.eig(a, a.T @ a)[1]) ** 2 * a),
    "eigvals of a pair": lambda a: np.sum(np.abs(linalg.eigvals(a, a.T @ a))),
    "fractional power": lambda a: np.sum(np.real(linalg.fractional_matrix_power(a, 0.3))),
    "qr_multiply": lambda a: np.sum(linalg.qr_multiply(a, a)[0] * a),
    "rq": lambda a: np.sum(linalg.rq(a)[0] * a),
    "ldl": lambda a: np.sum(linalg.ldl(a + a.T)[0] * a),
    "eig_banded": lambda a: np.sum(linalg.eig_banded(a[:2], lower=True)[0] ** 2),
    "orth": lambda a: np.sum((linalg.orth(a[:, :2]) @ linalg.orth(a[:, :2]).T) ** 2 * a),
    "lstsq of a tall matrix": lambda a: np.sum(linalg.lstsq(a[:, :3], a[:, 3])[0] ** 2),
    "funm": lambda a: np.sum(np.real(linalg.funm(a + 0j, np.exp))),
}


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name, target):
    f = PROGRAMS[name]
    for a in (A, S):  # eigenvectors are complex, or real
        value, gradient = mo.jit(mo.value_and_grad(f), target=target)(a)
        np.testing.assert_allclose(value, f(a), rtol=1e-9)
        np.testing.assert_allclose(gradient, mo.grad(f)(a), rtol=1e-7, atol=1e-9)


def test_complex_numbers_are_not_made_real_in_silence():
    with pytest.raises(
        mo.BadInput, match=r"eigvals returned complex numbers, but the program was compiled for real ones"
    ):
        of_kind(np.array([1j]), np.dtype(float), np.linalg.eigvals)
    assert of_kind(1, np.dtype(complex), np.linalg.eigvals).dtype == int
