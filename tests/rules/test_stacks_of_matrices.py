"""Functions of ``scipy.linalg`` on stacks of matrices: the gradient is that of each matrix by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

import morula as mo

random = np.random.default_rng(0)
SQUARE = random.normal(size=(3, 4, 4)) + 3 * np.eye(4)
POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2) + np.eye(4)
TALL = random.normal(size=(3, 5, 4))
BAND = random.normal(size=(3, 3, 4)) + 6 * np.eye(3)[:, 1:2]
HERMITIAN_BAND = random.normal(size=(3, 2, 4)) + 9 * np.eye(2)[:, :1]
RIGHT = random.normal(size=(4, 2))

PROGRAMS = {
    "lstsq": (lambda a: linalg.lstsq(a, a[..., :2] ** 2)[0], TALL),
    "lstsq of one right side": (lambda a: linalg.lstsq(a, np.ones((5, 1)))[0], TALL),
    "cho_solve": (lambda a: linalg.cho_solve(linalg.cho_factor(a), a[..., :2]), POSITIVE),
    "solve_banded": (lambda a: linalg.solve_banded((1, 1), a, RIGHT), BAND),
    "solveh_banded": (lambda a: linalg.solveh_banded(a, RIGHT, lower=True), HERMITIAN_BAND),
    "eig_banded": (lambda a: np.abs(linalg.eig_banded(a, lower=True)[1]), HERMITIAN_BAND),
    "eigvals_banded": (lambda a: linalg.eigvals_banded(a, lower=True), HERMITIAN_BAND),
    "eigh_tridiagonal": (lambda a: np.abs(linalg.eigh_tridiagonal(a[..., 0, :], a[..., 1, :3])[1]), SQUARE),
    "riccati": (lambda a: linalg.solve_continuous_are(a / 3, a, np.eye(4), np.eye(4)), POSITIVE),
    "schur": (lambda a: linalg.schur(a)[0], SQUARE),
    "hessenberg": (lambda a: linalg.hessenberg(a), SQUARE),
    "ldl": (lambda a: linalg.ldl(a)[0], SQUARE),
    "rq": (lambda a: linalg.rq(a)[0], SQUARE),
    "qz": (lambda a: np.abs(linalg.qz(a, a**2, output="complex")[0]), SQUARE),
    "logm": (linalg.logm, POSITIVE),
    "polar": (lambda a: linalg.polar(a)[0], TALL),
    "sylvester": (lambda a: linalg.solve_sylvester(a, a, a), POSITIVE),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stack_has_the_gradients_of_its_matrices(name):
    f, stack = PROGRAMS[name]
    weights = np.cos(np.arange(np.size(f(stack)))).reshape(np.shape(f(stack)))
    together = mo.grad(lambda a: np.sum(weights * f(a)))(stack)
    apart = [mo.grad(lambda a, w=w: np.sum(w * f(a)))(a) for a, w in zip(stack, weights)]
    np.testing.assert_allclose(together, apart, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("name", ["solve_banded", "eig_banded", "riccati"])
def test_a_stack_in_compiled_code(name, target):
    f, stack = PROGRAMS[name]
    gradient = mo.grad(lambda a: np.sum(np.sin(f(a))))
    np.testing.assert_allclose(mo.jit(gradient, target=target)(stack), gradient(stack), rtol=1e-7, atol=1e-10)
