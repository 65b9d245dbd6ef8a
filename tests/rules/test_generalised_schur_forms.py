"""The rules of ``scipy.linalg.qz`` and ``ordqz``."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, dagger, random
from scipy import linalg

import morula as mo
import morula.core.rules.scipy_generalised_schur  # noqa: F401  (the tester reads the table, filled when it is imported)
from morula.testing import check_gradients

TURNED = np.array([[1.0, 2.0, 0.3, 0.4], [-3.0, 1.5, 0.2, 0.1], [0.1, 0.2, 4.0, -0.5], [0.3, -0.1, 0.2, -2.0]])


def without_phases(s, t, q, z):
    """What one phase for each column of Q and of Z together does not change."""
    weights = random(s.shape, "complex", 5)
    along = (q * (np.diagonal(s) * np.abs(np.diagonal(t)))) @ dagger(z)
    return (
        np.sum(np.real(weights) * np.abs(s) ** 2 + np.imag(weights) * np.abs(t) ** 2),
        np.abs(q) ** 2,
        np.abs(z) ** 2,
        np.real(weights * along),
    )


@KINDS
@pytest.mark.parametrize("n", [2, 3, 5])
def test_complex_form_of_a_pair(n, kind):
    a, b = random((n, n), kind), random((n, n), kind, 1) + np.eye(n)
    order = 2 if n == 3 else 1
    check_gradients(lambda a, b: without_phases(*linalg.qz(a, b, output="complex")), a, b, order=order)


@pytest.mark.parametrize("a", [TURNED, random((4, 4)), TURNED[:2, :2]], ids=["block", "real", "two"])
def test_real_form_of_a_pair(a):
    b = random((4, 4), seed=1)[: len(a), : len(a)]
    check_gradients(lambda a, b: without_phases(*linalg.qz(a, b)), a, b, order=2 if len(a) == 2 else 1)


@KINDS
def test_a_sorted_form_of_a_pair(kind):
    a, b = random((4, 4), kind), random((4, 4), kind, 1)

    def loss(a, b):
        s, t, _, _, q, z = linalg.ordqz(a, b, sort=lambda x, y: np.abs(x) < 1.5 * np.abs(y), output="complex")
        return without_phases(s, t, q, z)

    check_gradients(loss, a, b, order=1)


def generalised_eigenvalues(a, b):
    _, _, alpha, beta, _, _ = linalg.ordqz(a, b)
    lam = alpha / beta
    return np.sum(np.cos(np.arange(len(lam))) * np.sin(np.real(lam)) * np.cosh(np.imag(lam))) + np.sum(np.abs(lam) ** 3)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_alpha_and_beta_of_real_forms(n):
    """TURNED has a pair of complex eigenvalues; the scale of their alpha and beta is arbitrary, the ratio is not."""
    b = np.eye(4) + 0.1 * random((4, 4), seed=1)
    a, b = TURNED[:n, :n], b[:n, :n]
    check_gradients(generalised_eigenvalues, a, b, order=2 if n == 4 else 1)
    v = random((n, n), seed=2)
    g = mo.grad(generalised_eigenvalues)(a, b)
    for target in ("native", "xla"):
        tangent = mo.jit(lambda a, v: mo.jvp(generalised_eigenvalues, (a, b), (v, 0.0 * b))[1], target=target)(a, v)
        np.testing.assert_allclose(tangent, np.sum(g * v), rtol=1e-9)


@KINDS
def test_alpha_and_beta_of_complex_forms_and_of_real_eigenvalues(kind):
    a, b = random((4, 4), kind), random((4, 4), kind, 1)

    def loss(a, b, output="complex"):
        _, _, alpha, beta, _, _ = linalg.ordqz(a, b, output=output)
        return np.sum(np.cos(np.arange(4)) * np.abs(alpha) ** 2) + np.sum(beta**3)

    check_gradients(loss, a, b, order=1)
    if kind == "real":
        symmetric = a + a.T
        check_gradients(lambda a: loss(a, np.eye(4) + 0.1 * symmetric, "real"), symmetric, order=1)


def test_results_that_are_not_used_do_not_refuse_a_tangent():
    a, v = random((3, 3)), random((3, 3), seed=2)
    loss = lambda a: np.sum(np.abs(linalg.ordqz(a, a @ a)[0]))  # noqa: E731
    np.testing.assert_allclose(mo.jvp(loss, (a,), (v,))[1], np.sum(mo.grad(loss)(a) * v), rtol=1e-10)


def test_what_is_refused():
    a, b = TURNED, random((4, 4), seed=1)
    with pytest.raises(mo.NoDerivative, match="two generalised eigenvalues are equal to rounding"):
        mo.grad(lambda a: linalg.qz(a, b)[2][0, 1])(2.0 * b)


def test_the_form_of_a_pair_in_native_and_xla_code():
    b = random((4, 4), seed=1)

    def loss(a):
        s, t, q, z = linalg.qz(a, b)
        return np.sum(np.sin(s) * z) + np.sum(t * q)

    expected = mo.grad(loss)(TURNED)
    for target in ("native", "xla"):
        np.testing.assert_allclose(mo.jit(mo.grad(loss), target=target)(TURNED), expected, rtol=1e-9)
