"""Compiled gradients at equal eigenvalues and singular values, where the loss uses values and vectors.

The references are eager gradients, which come from second derivatives on a tape, or the same function of the matrix
written without a decomposition.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import numerical_vjp

TARGETS = ["native", "xla"]
RNG = np.random.default_rng(0)
N = 5
C, D = RNG.normal(size=(2, N, N))
UNITARY = {
    float: np.linalg.qr(RNG.normal(size=(N, N)))[0],
    complex: np.linalg.qr(RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)))[0],
}
SPECTRA = ([1.0] * 5, [1.0, 1.0, 2.0, 2.0, 3.0], [0.0, 0.0, 0.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0])


def dagger(a):
    return np.conj(np.swapaxes(a, -1, -2))


def hermitian(kind, spectrum):
    q = UNITARY[kind]
    a = (q * np.array(spectrum)) @ dagger(q)
    return (a + dagger(a)) / 2


def weighed(f):
    return np.real(np.sum(C * f**2)) + np.sin(np.real(np.sum(D * f)))


def by_eigh(a):
    lam, v = np.linalg.eigh(a)
    return weighed((v * np.exp(lam)) @ dagger(v))


def by_scipy(a):
    lam, v = scipy.linalg.eigh(a, lower=False)
    return weighed(v @ np.diag(lam**3 + lam) @ dagger(v)) + np.sum(lam**2)


def by_svd(a):
    u, s, vh = np.linalg.svd(a)
    return weighed((u * (s**3 + s)) @ vh)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("f", [by_eigh, by_scipy, by_svd], ids=lambda f: f.__name__)
def test_functions_of_a_matrix_have_their_gradient(f, kind, target):
    gradient = run_on(target)(mo.grad(f))
    for spectrum in SPECTRA:
        a = hermitian(kind, spectrum)
        if f is by_svd:
            a = a @ UNITARY[kind]
        expected = mo.grad(f)(a)
        np.testing.assert_allclose(gradient(a), expected, atol=1e-11 * np.max(np.abs(expected)))


def of_rank(rank, shape, kind):
    a, b = RNG.normal(size=(2, shape[0], rank)), RNG.normal(size=(2, rank, shape[1]))
    return a[0] @ b[0] if kind is float else (a[0] + 1j * a[1]) @ (b[0] + 1j * b[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "shape, kind, full", [((4, 2), float, False), ((2, 3), complex, True), ((3, 1), float, True)], ids=str
)
def test_singular_values_of_zero_of_every_number(shape, kind, full, target):
    """The references are polynomials of the matrix."""
    k, weights = min(shape), of_rank(2, shape, kind)

    def loss(y):
        return np.real(np.sum(np.conj(weights) * y)) + np.sum(np.abs(weights) * np.real(np.conj(y) * y))

    def by_svd(x):
        u, s, vh = np.linalg.svd(x, full_matrices=full)
        return loss((u[..., :k] * (s**3 + s)[..., None, :]) @ vh[..., :k, :])

    def closed(x):
        return loss(x @ dagger(x) @ x + x)

    gradient = run_on(target)(mo.grad(by_svd))
    for rank in range(k + 1):
        x = of_rank(rank, shape, kind)
        expected = mo.grad(closed)(x)
        np.testing.assert_allclose(gradient(x), expected, atol=1e-10 * np.max(np.abs(expected)))


@pytest.mark.parametrize("target", TARGETS)
def test_stacks_of_matrices_of_different_ranks(target):
    def by_svd(stack):
        u, s, vh = np.linalg.svd(stack, full_matrices=False)
        return np.sum(D[:3, :2] * ((u * s[..., None, :]) @ vh) ** 2) + np.sum(C[:3, :2] * ((u * s[..., None, :]) @ vh))

    stack = np.stack([of_rank(rank, (3, 2), float) for rank in range(3)])
    expected = 2 * D[:3, :2] * stack + C[:3, :2]
    np.testing.assert_allclose(run_on(target)(mo.grad(by_svd))(stack), expected, atol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_vectors_of_one_side(target):
    def by_svd(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.sum(C[:3, :3] * ((u * s**2) @ u.T))

    gradient = run_on(target)(mo.grad(by_svd))
    for x in (of_rank(1, (3, 2), float), UNITARY[float][:3, :2], np.eye(3)[:, :2]):
        expected = (C[:3, :3] + C[:3, :3].T) @ x
        np.testing.assert_allclose(gradient(x), expected, atol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_choices_within_null_spaces_are_refused(target):
    """A vector of its own, a function of the values that has a kink at zero, and one side's vectors of a tall matrix."""

    def single(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.sum(s) + u[0, 1] ** 2

    def kink(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.sum(C[:3, :3] * ((u * s) @ u.T))

    def complement(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.sum(C[:3, :3] * ((u * np.cos(s)) @ u.T))

    for f in (single, kink, complement):
        gradient = run_on(target)(mo.grad(f))
        regular = of_rank(2, (3, 2), float)
        expected = numerical_vjp(f, 1.0, regular)[0][0]
        np.testing.assert_allclose(gradient(regular), expected, atol=1e-6)
        with pytest.raises(
            mo.NoDerivative, match=r"svd met equal values or values of zero, and the loss depends on the choice"
        ):
            gradient(of_rank(1, (3, 2), float))


@pytest.mark.parametrize("target", TARGETS)
def test_stacks_loops_and_branches(target):
    def by_stack(stack):
        lam, v = np.linalg.eigh(stack)
        return np.sum(C * ((v * lam[..., None, :] ** 2) @ dagger(v)) ** 2)

    def in_a_loop(a, n):
        for _ in range(n):
            lam, v = np.linalg.eigh(a)
            a = (v * np.tanh(lam)) @ v.T
            if a[0, 0] > -1.0:
                lam, v = np.linalg.eigh(a @ a)
                a = a + (v * np.sqrt(1.0 + lam)) @ v.T
        return weighed(a)

    def without_vectors(a, n):
        for _ in range(n):
            e = scipy.linalg.expm(2.0 * a)
            a = np.linalg.solve(e + np.eye(N), e - np.eye(N))
            a = a + scipy.linalg.sqrtm(np.eye(N) + a @ a)
        return weighed(a)

    def of_symmetric(f):
        return lambda a, *rest: f(0.5 * (a + a.T), *rest)

    stack = np.stack([hermitian(float, s) for s in SPECTRA])
    expected = np.stack([mo.grad(lambda a: by_stack(a))(a) for a in stack])
    np.testing.assert_allclose(run_on(target)(mo.grad(by_stack))(stack), expected, atol=1e-10)
    by_lanes = run_on(target)(mo.vmap(mo.grad(by_eigh)))(stack)
    np.testing.assert_allclose(by_lanes, [mo.grad(by_eigh)(a) for a in stack], rtol=1e-9, atol=1e-8)
    a = hermitian(float, SPECTRA[1])
    expected = mo.grad(of_symmetric(without_vectors))(a, 3)
    np.testing.assert_allclose(run_on(target)(mo.grad(of_symmetric(in_a_loop)))(a, 3), expected, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_that_depends_on_the_choice_of_vectors_is_refused(target):
    def uneven(a):
        lam, v = np.linalg.eigh(a)
        return np.sum(np.arange(1.0, N + 1) * lam * v[0] ** 2)

    compiled = mo.jit(lambda a: np.linalg.eigh(a), target=target)

    def divided(a):
        lam, v = compiled(a)
        return np.sum(C * ((v * lam**2) @ v.T))

    distinct, equal = hermitian(float, SPECTRA[3]), hermitian(float, SPECTRA[1])
    for gradient, f in ((run_on(target)(mo.grad(uneven)), uneven), (mo.grad(divided), divided)):
        expected = numerical_vjp(f, 1.0, distinct)[0][0]
        np.testing.assert_allclose(gradient(distinct), expected, atol=1e-6)
        with pytest.raises(mo.NoDerivative, match=r"eigh met equal values, and the loss depends on the choice"):
            gradient(equal)


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_derivative_is_that_of_distinct_values_alone(target):
    def along(value):
        gradient = mo.grad(lambda a: weighed(value(a)))
        return mo.grad(lambda a: np.sum(gradient(a) * D))

    def cubed(a):
        lam, v = np.linalg.eigh(a)
        return (v * lam**3) @ v.T

    def read(a):
        return np.tril(a) + np.tril(a, -1).T

    compiled, distinct = run_on(target)(along(cubed)), hermitian(float, SPECTRA[3])
    expected = mo.grad(lambda a: np.sum(mo.grad(lambda a: weighed(read(a) @ read(a) @ read(a)))(a) * D))(distinct)
    np.testing.assert_allclose(compiled(distinct), expected, atol=1e-9 * np.max(np.abs(expected)))
    with pytest.raises(mo.NoDerivative, match=r"numpy\.linalg\.eigh met equal values, and a loss .* first order only"):
        compiled(np.eye(N))
