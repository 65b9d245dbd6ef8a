"""Values and gradients on the standard families of hard matrices, against mpmath with 50 digits.

The tolerance of each is its condition number times the rounding of float64: no algorithm in float64 can promise more.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import linalg

import morula as mo

N = 6
EPS = np.finfo(float).eps


def kahan(n, angle=1.2):
    s, c = np.sin(angle), np.cos(angle)
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def wilkinson(n):
    return np.diag(np.abs(np.arange(n) - (n - 1) / 2)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)


def grcar(n):
    return np.triu(np.tril(np.ones((n, n)), 3)) - np.diag(np.ones(n - 1), -1)


def poisson(n):
    return 2 * np.eye(n) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)


def convection_diffusion(n, speed=1.5):
    return 2 * np.eye(n) - (1 - speed) * np.diag(np.ones(n - 1), 1) - (1 + speed) * np.diag(np.ones(n - 1), -1)


MATRICES = {
    "Hilbert": linalg.hilbert(N),
    "Kahan": kahan(N),
    "Wilkinson": wilkinson(N),
    "Grcar": grcar(N),
    "Poisson": poisson(N),
    "convection and diffusion": convection_diffusion(N),
    "almost singular": np.ones((N, N)) + 1e-5 * np.diag(1.0 + np.arange(N)),
}
B = np.cos(np.arange(N))
FAMILIES = pytest.mark.parametrize("name", MATRICES)


def in_digits(a):
    return mpmath.matrix(a.tolist())


def slope(f, a):
    """The gradient of ``f`` at ``a`` by mpmath's derivatives."""

    def moved(i, j, x):
        m = in_digits(a)
        m[i, j] = x
        return f(m)

    found = np.empty(a.shape)
    for i, j in np.ndindex(a.shape):
        found[i, j] = float(mpmath.diff(lambda x, i=i, j=j: moved(i, j, x), a[i, j]))
    return found


def check(loss, exact, a, condition):
    """Compare value and gradient, eager and native, with those in 50 digits."""
    with mpmath.workdps(50):
        value, gradient = float(exact(in_digits(a))), slope(exact, a)
    tolerance = 100 * N * condition * EPS
    for f in (mo.value_and_grad(loss), mo.jit(mo.value_and_grad(loss), target="native")):
        y, g = f(a)
        assert abs(y - value) <= tolerance * max(abs(value), 1e-300)
        assert np.max(np.abs(g - gradient)) <= tolerance * np.max(np.abs(gradient))


@FAMILIES
def test_the_solution_of_an_equation(name):
    a = MATRICES[name]

    def exact(m):
        return mpmath.fsum(x * float(b) for x, b in zip(mpmath.lu_solve(m, in_digits(B[:, None])), B[::-1]))

    check(lambda a: np.linalg.solve(a, B) @ B[::-1], exact, a, np.linalg.cond(a))


@FAMILIES
def test_a_determinant_and_its_logarithm(name):
    a = MATRICES[name]
    condition = np.linalg.cond(a)
    check(np.linalg.det, mpmath.det, a, condition)
    check(lambda a: np.linalg.slogdet(a)[1], lambda m: mpmath.log(abs(mpmath.det(m))), a, condition)


@FAMILIES
def test_an_exponential(name):
    a = MATRICES[name] / 2

    def exact(m):
        e = mpmath.expm(m)
        return mpmath.fsum(e[i, j] * float(B[i] * B[j]) for i in range(N) for j in range(N))

    check(lambda a: B @ linalg.expm(a) @ B, exact, a, np.linalg.norm(linalg.expm(a)) / abs(B @ linalg.expm(a) @ B))


@pytest.mark.parametrize("name", ["Hilbert", "Wilkinson", "Poisson", "almost singular"])
def test_singular_values_and_eigenvalues(name):
    a = MATRICES[name]

    def largest(m):
        return max(mpmath.svd_r(m, compute_uv=False))

    check(lambda a: np.linalg.svd(a, compute_uv=False)[0], largest, a, 1.0)


@pytest.mark.parametrize("name", ["Hilbert", "Kahan", "Grcar", "almost singular"])
def test_least_squares(name):
    a = MATRICES[name][:, : N - 1]

    def exact(m):
        x = mpmath.lu_solve(m.T * m, m.T * in_digits(B[:, None]))
        return mpmath.fsum(x[i] for i in range(N - 1))

    check(lambda a: np.sum(np.linalg.lstsq(a, B, rcond=None)[0]), exact, a, np.linalg.cond(a) ** 2 / (10 * N))
