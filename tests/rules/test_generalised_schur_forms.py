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


def test_what_is_refused():
    a, b = TURNED, random((4, 4), seed=1)
    with pytest.raises(mo.NoDerivative, match="no derivative of alpha and beta"):
        mo.grad(lambda a: np.sum(np.abs(linalg.ordqz(a, b)[2])))(a)
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
