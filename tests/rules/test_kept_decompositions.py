"""Decompositions that the forward sweep keeps: derivatives to the second order, and one decomposition for both sweeps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from path_tester import PATHS, run_on

import morula as mo
from morula.core.rules.kept_decompositions import (
    hermitian_equation,
    lyapunov_by_schur,
    schur_form,
    square_equation,
    triangular_equation,
)
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(0)
N = 4
A, B, Q = RNG.normal(size=(N, N)) + 2 * np.eye(N), RNG.normal(size=(N, N)) + 3 * np.eye(N), RNG.normal(size=(N, N))
ZA, ZB, ZQ = (x + 1j * RNG.normal(size=(N, N)) for x in (A, B, Q))
TALL = RNG.normal(size=(6, N))
W = np.cos(np.arange(N * N)).reshape(N, N)


def size(x):
    return np.sum(W * np.sin(np.real(x * np.conj(x))))


def equation(a, b, q):
    return size(scipy.linalg.solve_sylvester(a, b, q))


def lyapunov(a, q):
    return size(scipy.linalg.solve_continuous_lyapunov(a, q))


def root(a):
    return size(scipy.linalg.sqrtm(a @ a))


def polar(a):
    return sum(size(x[:N]) for x in scipy.linalg.polar(a))


def eigenvalues(a):
    return np.sum(np.sin(np.linalg.eigvalsh(a + np.conj(a.T))) + scipy.linalg.eigvalsh(a + np.conj(a.T), lower=False))


def singular_values(a):
    return (
        np.linalg.norm(a, "nuc") ** 2 + np.linalg.cond(a) + np.linalg.cond(a, -2) + np.sum(scipy.linalg.svdvals(a) ** 3)
    )


def small_exponential(a):
    return np.sum(np.sin(scipy.linalg.expm(a / 40) @ a))


def large_exponential(a):
    return np.sum(np.sin(scipy.linalg.expm(a)) + np.cos(np.real(a)))


def forms(t, s, q):
    t, s = np.triu(t), np.triu(s)
    found = [triangular_equation(t, s, q, x, y) for x, y in ("NN", "NC", "CN")]
    return sum(size(np.real(x * np.conj(x))) for x in found)


CASES = [
    (equation, (A, B, Q)),
    (equation, (ZA, ZB, ZQ)),
    (lyapunov, (A, Q)),
    (lyapunov, (ZA, ZQ)),
    (root, (A,)),
    (root, (ZA,)),
    (polar, (TALL,)),
    (polar, (ZA,)),
    (eigenvalues, (A,)),
    (eigenvalues, (ZA,)),
    (singular_values, (TALL,)),
    (singular_values, (ZA,)),
    (forms, (A, B, Q)),
    (forms, (ZA, ZB, ZQ)),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, args", CASES, ids=[f"{f.__name__}-{xs[0].dtype.char}" for f, xs in CASES])
def test_gradients_are_right_to_the_second_order(path, f, args):  # compiled complex ones to the first
    each = tuple(range(len(args)))

    def of_gradients(*xs):
        return sum(np.sum(np.real(np.conj(g) * w)) for g, w in zip(mo.grad(f, argnums=each)(*xs), args))

    losses = [(f, 1e-7), (of_gradients, 1e-6)]
    for loss, tolerance in losses[:1] if args[0].dtype.kind == "c" and path != "eager" else losses:
        expected = numerical_vjp(loss, 1.0, *args)[0]
        for g, h in zip(run_on(path)(mo.grad(loss, argnums=each))(*args), expected, strict=True):
            np.testing.assert_allclose(g, h, atol=tolerance * np.max(np.abs(h)))


@pytest.mark.parametrize("path", [p for p in PATHS if p != "eager"])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("f", [small_exponential, large_exponential])
def test_compiled_exponentials_of_both_degrees_and_their_derivatives(path, f, kind):
    a = RNG.normal(size=(9, 9)) * (1.0 if kind is float else 1.0 + 0.5j)

    def real(a):
        return np.real(f(a))

    def of_gradient(a):
        return np.sum(np.real(mo.grad(real)(a) * np.cos(np.arange(9))))

    value, found = run_on(path)(mo.value_and_grad(real))(a)
    np.testing.assert_allclose(value, real(a), rtol=1e-12)
    expected = mo.grad(real)(a)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.max(np.abs(expected)))
    np.testing.assert_allclose(expected, numerical_vjp(real, 1.0, a)[0][0], atol=1e-7 * np.max(np.abs(expected)))
    if kind is float:
        expected = mo.grad(of_gradient)(a)
        found = run_on(path)(mo.grad(of_gradient))(a)
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize("f, args", [(equation, (A, B, Q)), (lyapunov, (A, Q))])
def test_the_value_beside_a_gradient_is_that_of_the_function(f, args):
    assert mo.value_and_grad(f)(*args)[0] == f(*args)


def test_the_backward_sweep_computes_no_schur_form(monkeypatch):
    count = []
    schur = scipy.linalg.schur
    monkeypatch.setattr(scipy.linalg, "schur", lambda *args, **kwargs: count.append(1) or schur(*args, **kwargs))
    mo.grad(lambda a, b, q: equation(a, b, q), argnums=(0, 1, 2))(A, B, Q)
    assert len(count) == 2


def test_real_numbers_in_a_complex_matrix_are_solved_with_their_real_form():
    a = np.array([[1.0, 5.0], [-5.0, 1.0]])  # a real Schur form has a block here
    f = schur_form(a.astype(complex))
    assert not np.any(np.imag(f))
    for adjoint in (False, True):
        m = a.T if adjoint else a
        x = square_equation(a.astype(complex), ZQ[:2, :2], f, adjoint)
        np.testing.assert_allclose(m @ x + x @ m, ZQ[:2, :2], atol=1e-12)
        y = lyapunov_by_schur(a, Q[:2, :2], schur_form(a), adjoint)
        np.testing.assert_allclose(m @ y + y @ m.T, Q[:2, :2], atol=1e-12)


def test_a_singular_matrix_in_a_hermitian_equation_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        hermitian_equation(np.diag([1.0, 0.0]), np.eye(2))
