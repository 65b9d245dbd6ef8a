"""Functions of a matrix of SciPy, and its functions of stacks, in native code, without Python."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg
from without_python import check_without_python, refuse_python

RNG = np.random.default_rng(7)
A = RNG.normal(size=(5, 5)) / 4
B = RNG.normal(size=(5, 5)) + 3 * np.eye(5)
W = np.cos(np.arange(128.0))


def size(*arrays):
    return sum(np.sum(W[: np.size(x)].reshape(np.shape(x)) * np.abs(x) ** 2) for x in arrays)


def tangent(a):
    return size(linalg.tanm(a))


def cosine(a):
    return size(linalg.cosm(a))


def hyperbolic_tangent(a):
    return size(linalg.tanhm(a))


def sign(a):
    return np.sum(W[:25].reshape(5, 5) * np.real(linalg.signm(a - 2.5 * np.eye(5))))


def powers(a):
    return size(linalg.fractional_matrix_power(a @ np.conj(a.T) + np.eye(5), -1.3)) + size(
        linalg.fractional_matrix_power(a, 2)
    )


@pytest.mark.parametrize(
    "f, a",
    [(tangent, A), (hyperbolic_tangent, A), (cosine, A + 0.2j * B), (sign, B), (powers, B), (powers, B + 0.3j * A)],
    ids=["tan", "tanh", "cos of complex", "sign", "powers", "powers of complex"],
)
def test_functions_of_a_matrix(f, a, monkeypatch):
    check_without_python(f, a, monkeypatch=monkeypatch)


def inverses(a):
    both = np.stack([a, a.T + 1])
    return size(
        linalg.inv(a, assume_a="diagonal"),
        np.linalg.cond(a, "nuc"),
        np.linalg.cond(both, 1),
        np.linalg.cond(both, "fro"),
    )


def bands(a):
    band = a[:2] + np.array([[0.0], [20.0]])
    upper, lower = linalg.cholesky_banded(band), linalg.cholesky_banded(band[::-1], lower=True)
    solved = linalg.cho_solve_banded((upper, False), a), linalg.cho_solve_banded((lower, True), a[0])
    both = np.stack([band, band - a[2:4] / 9])
    return size(
        upper, lower, *solved, linalg.cholesky_banded(both), linalg.solveh_banded(both, a), *linalg.eig_banded(both)
    )


def stacks(a):
    both = np.stack([a, a.T + 1])
    of_equations = linalg.lstsq(both[:, :, :3], both)[0], linalg.solve_sylvester(both, a, both)
    return size(*linalg.hessenberg(both, calc_q=True), *linalg.rq(both), *linalg.lu(both)[1:], *of_equations)


def stacks_of_forms_and_values(a):
    both = np.stack([a, a.T + 1])
    band = np.stack([a[:2], a[2:4]]) + np.array([[0.0], [9.0]])
    of_three = linalg.eigh_tridiagonal(both[0], a[:, 1:])[0], linalg.eigvalsh_tridiagonal(both[1], a[0, 1:])
    return size(linalg.schur(both)[0], linalg.schur(both, output="complex")[0], linalg.eigvals_banded(band), *of_three)


@pytest.mark.parametrize("f", [inverses, bands, stacks, stacks_of_forms_and_values])
def test_inverses_bands_and_stacks(f, monkeypatch):
    check_without_python(f, B, monkeypatch=monkeypatch)


def of_exponentials(a):
    return linalg.sinm(a), linalg.coshm(a), linalg.sinhm(a)


def test_sines_and_cosines(monkeypatch):
    """Their gradients are those of the exponential, as the gradients of the tangents."""
    refuse_python(monkeypatch)
    for found, expected in zip(run_on("native")(of_exponentials)(A), of_exponentials(A), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)


def of_kinds(a):
    return linalg.expm(a), linalg.fractional_matrix_power(a, 0.5), linalg.signm(a)


@pytest.mark.parametrize("a", [
    np.diag([1.0, -2.0]),
    np.array([[0.0, -1.0], [1.0, 0.0]]),
    np.array([[2.0, 1.0], [0.0, 2.0]]),
    np.array([[1.0, 2.0], [0.0, 0.0]]),
    np.diag([0.0, 1000.0]),
], ids=["negative", "rotation", "Jordan block", "singular", "overflow"])  # fmt: skip
def test_values_and_kinds_are_those_of_scipy(a, monkeypatch):
    refuse_python(monkeypatch)
    for found, expected in zip(run_on("native")(of_kinds)(a), of_kinds(a), strict=True):
        assert np.iscomplexobj(found) == np.iscomplexobj(expected)
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_errors():
    with pytest.raises(np.linalg.LinAlgError, match="2-th leading minor not positive definite"):
        run_on("native")(linalg.cholesky_banded)(np.array([[0.0, 2.0], [1.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError, match="A singular matrix detected"):
        run_on("native")(lambda a: linalg.inv(a, assume_a="diagonal"))(np.diag([0.0, 1.0]))
    assert np.all(np.isnan(run_on("native")(linalg.expm)(np.full((2, 2), np.nan))))


INFINITE = np.array([[1.0, np.nan], [0.0, 4.0]])


@pytest.mark.parametrize("a", [INFINITE, INFINITE + 0j, np.array([[np.inf, 1.0], [1.0, 2.0]])], ids=["triangle", "complex", "general"])  # fmt: skip
def test_roots_of_matrices_that_are_not_finite(a):
    np.testing.assert_array_equal(run_on("native")(linalg.sqrtm)(a), linalg.sqrtm(a))
