"""Solutions with factors of a matrix that is known: eager code differentiates the solution with the matrix."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient, run_on
from scipy import linalg

import morula as mo
from morula.core.rules.scipy_factorisations import lu_solve_pullback
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(4, 4)) + 4 * np.eye(4), RNG.normal(size=(4, 2))
STACK = np.stack([A, A.T + 1.0])
W = np.cos(np.arange(8)).reshape(4, 2)


def solved(a, b):
    """With factors that are used as they are, factors that are changed, and a matrix that is overwritten between."""
    work = a.copy()
    lu = linalg.lu_factor(work)
    work[0] = 3.0
    x = linalg.lu_solve(lu, b) + linalg.lu_solve(lu, b, 1) + linalg.lu_solve(lu, b[:, 0], 2)[:, None]
    c = linalg.cho_factor(a @ np.conj(a.T))
    z = linalg.cho_solve(c, b)
    logarithm = np.sum(np.log(np.diagonal(c[0])))
    c[0][0, 0] *= 2.0
    y = linalg.cho_solve(c, b[:, 1])
    return np.real(np.sum(W * (x**2 + z**2)) + np.sum(y**3) + logarithm + np.sum(lu[0] ** 2))


@pytest.mark.parametrize("path", PATHS)
def test_factors_that_stay_and_factors_that_change(path):
    check_gradient(path, solved, A, B)
    z = A + 0.3j * B @ B.T
    expected = numerical_vjp(solved, 1.0, z, B + 0j)[0]
    for g, h in zip(run_on(path)(mo.grad(solved, argnums=(0, 1)))(z, B + 0j), expected, strict=True):
        np.testing.assert_allclose(g, h, atol=1e-7 * np.max(np.abs(h)))


def test_second_derivatives_are_those_of_differences():
    def along(a, b):
        return sum(np.sum(g * x) for g, x in zip(mo.grad(solved, argnums=(0, 1))(a, b), (A, B)))

    expected = numerical_vjp(along, 1.0, A, B)[0]
    for g, h in zip(mo.grad(along, argnums=(0, 1))(A, B), expected, strict=True):
        np.testing.assert_allclose(g, h, atol=1e-6 * np.max(np.abs(h)))


def test_the_backward_sweep_does_not_go_through_the_factors(monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError("the derivative through the factors")

    monkeypatch.setattr(lu_solve_pullback, "__code__", refused.__code__)
    a = A.copy()
    mo.grad(lambda a: np.sum(linalg.lu_solve(linalg.lu_factor(a), B) ** 2))(a)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("b", [B, B[:, 0], np.stack([B, 2 * B])], ids=["matrix", "vector", "stack"])
def test_stacks_of_factors(path, b):
    def by_lu(a, b):
        return sum((k + 1) * np.sum(linalg.lu_solve(linalg.lu_factor(a), b, k) ** 2) for k in range(3))

    check_gradient(path, by_lu, STACK, b)
