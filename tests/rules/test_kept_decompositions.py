"""Decompositions that the forward sweep keeps: derivatives to the second order, and one decomposition for both sweeps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from path_tester import PATHS, run_on

import morula as mo
from morula.core.rules.kept_decompositions import hermitian_equation, lyapunov_by_schur, schur_form, square_equation
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
