"""The rules of ``scipy.linalg`` for Schur and Hessenberg forms, and of functions of matrices that are computed by them."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, random
from rule_tester import check_rule
from scipy import linalg

import morula as mo
import morula.core.rules.scipy_schur  # noqa: F401  (the tester reads the table, filled when it is imported)
from morula.testing import check_gradients

# Eigenvalues: two real ones and a pair, in blocks that LAPACK standardises
BLOCKS = np.array([[1.0, 2.0, 0.3, 0.4], [-3.0, 1.5, 0.2, 0.1], [0.1, 0.2, 4.0, -0.5], [0.3, -0.1, 0.2, -2.0]])
PAIRS = BLOCKS + np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3.0], [0, 0, -4.0, 5.0]])


def spread(kind, n=4):
    return random((n, n), kind) + 0.5 * np.diag(np.arange(n)) @ np.ones((n, n))


@pytest.mark.parametrize("a", [BLOCKS, PAIRS, random((3, 3)), random((5, 5))], ids=["block", "pairs", "3", "5"])
def test_real_schur_form(a):
    check_rule(linalg.schur, a, order=1, rtol=1e-6)


def test_second_derivatives_of_a_schur_form():
    check_rule(linalg.schur, BLOCKS[:3, :3], rtol=1e-6)


def test_schur_forms_of_a_stack():
    check_rule(linalg.schur, np.stack([BLOCKS, PAIRS]), order=1, rtol=1e-6)


def without_phases(t, z):
    """What the phases of the Schur vectors do not change: sizes, the diagonal, and vectors times their coefficients."""
    weights = random(t.shape, "complex", 5)
    along = (z * np.diagonal(t)) @ np.conj(z).T
    return np.sum(np.real(weights) * np.abs(t) ** 2 + np.imag(weights) * np.abs(z) ** 2) + np.sum(
        np.real(weights * along)
    )


@KINDS
@pytest.mark.parametrize("n", [2, 3, 5])
def test_complex_schur_form(n, kind):
    check_gradients(
        lambda a: without_phases(*linalg.schur(a, output="complex")), spread(kind, n), order=2 if n < 5 else 1
    )


@KINDS
def test_a_sorted_schur_form(kind):
    def loss(a):
        t, z, count = linalg.schur(a, output="complex", sort=lambda x: np.real(x) < 2.0)
        return without_phases(t, z) * count

    check_gradients(loss, spread(kind), order=1)


def test_a_real_schur_form_made_complex():
    def loss(a):
        return without_phases(*linalg.rsf2csf(*linalg.schur(a)))

    check_gradients(loss, PAIRS, order=1)
    check_gradients(loss, BLOCKS, order=2)
    t, z = linalg.schur(PAIRS)
    form = t != 0  # what is zero is the form of T, which differences must not leave
    check_gradients(lambda t, z: without_phases(*linalg.rsf2csf(t * form, z)), t, z + 0.1 * random((4, 4)), order=1)


@KINDS
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_hessenberg_form(n, kind):
    a = random((n, n), kind)
    check_rule(linalg.hessenberg, a, True, order=2 if n == 4 else 1, rtol=1e-6)
    check_rule(linalg.hessenberg, a, order=1 if n == 4 else 0, rtol=1e-6)


@KINDS
def test_hessenberg_forms_of_a_stack(kind):
    check_rule(linalg.hessenberg, random((2, 4, 4), kind), True, order=1, rtol=1e-6)


@KINDS
@pytest.mark.parametrize("separate", [False, True])
def test_balancing_scales_by_constants(separate, kind):
    """Differences would cross the points at which a scaling changes; the closed form keeps it."""
    full = random((4, 4), kind) * 10.0 ** np.array([0, 3, -2, 1])
    permuted = full * np.array([[1, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 0, 1]])
    assert np.any(linalg.matrix_balance(permuted, separate=True)[1][1] != np.arange(4))
    check_rule(linalg.matrix_balance, random((3, 3), kind) + 1.0, separate=separate, order=1)
    weights = random((4, 4), kind, 1)
    for a in (full, permuted):
        d = linalg.matrix_balance(a)[1]
        ours = mo.grad(lambda a: np.sum(np.real(weights * linalg.matrix_balance(a, separate=separate)[0])))(a)
        closed = mo.grad(lambda a, d=d: np.sum(np.real(weights * (np.linalg.inv(d) @ a @ d))))(a)
        np.testing.assert_allclose(ours, closed, rtol=1e-12)


@KINDS
def test_functions_of_a_matrix_by_parletts_recurrence(kind):
    a, p = spread(kind, 3) / 3, 0.7

    def loss(a, p):
        f = linalg.funm(a + 0j, lambda x: np.exp(p * x) * x)
        return np.sum(np.real(random((3, 3), "complex", 3) * f))

    def closed(a, p):
        return np.sum(np.real(random((3, 3), "complex", 3) * (linalg.expm(p * a) @ a)))

    check_gradients(loss, a, p, order=1)
    for ours, theirs in zip(mo.gradient(loss, a, p), mo.gradient(closed, a, p)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_functions_of_a_real_matrix_with_complex_eigenvalues():
    check_gradients(lambda a: np.sum(linalg.funm(a, np.exp) ** 2), PAIRS / 4, order=1)
    np.testing.assert_allclose(
        mo.grad(lambda a: np.sum(linalg.funm(a, np.exp) ** 2))(PAIRS / 4),
        mo.grad(lambda a: np.sum(linalg.expm(a) ** 2))(PAIRS / 4),
        rtol=1e-10,
    )


def test_equal_eigenvalues_have_no_schur_form_with_a_derivative():
    jordan = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.5], [0.0, 0.0, 1.0]])
    with pytest.raises(mo.NoDerivative, match="two eigenvalues are equal to rounding"):
        mo.grad(lambda a: linalg.schur(a)[1][0, 1])(jordan)
    np.testing.assert_allclose(mo.grad(lambda a: np.trace(linalg.schur(a)[0]))(jordan), np.eye(3), atol=1e-12)


def test_a_reduced_hessenberg_form_is_refused():
    a = np.zeros((4, 4)) + np.diag([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(mo.NoDerivative, match="an entry below its diagonal is zero"):
        mo.grad(lambda a: np.sum(linalg.hessenberg(a)))(a)


def test_a_program_in_native_and_xla_code(tmp_path):
    def loss(a):
        t, z = linalg.schur(a)
        h, q = linalg.hessenberg(a @ a, calc_q=True)
        return np.sum(np.sin(t) * z) + np.sum(h * q)

    expected = mo.grad(loss)(BLOCKS)
    for target in ("native", "xla"):
        np.testing.assert_allclose(mo.jit(mo.grad(loss), target=target)(BLOCKS), expected, rtol=1e-9)
