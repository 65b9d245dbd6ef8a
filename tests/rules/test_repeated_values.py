"""Equal eigenvalues and singular values: a loss independent of the choice of vectors has its gradient.

The closed forms are polynomials and inverses of the matrix itself, written without a decomposition.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import morula as mo
from morula.core.testing.differences import numerical_vjp

C = np.random.default_rng(5).normal(size=(3, 3))
W = np.random.default_rng(6).normal(size=(3, 3))
DECOMPOSITIONS = [np.linalg.eigh, scipy.linalg.eigh]
FUNCTIONS = {
    "the matrix itself": (lambda d: d, lambda a: a),
    "its cube": (lambda d: d**3, lambda a: a @ a @ a),
    "an inverse": (lambda d: 1 / (d + 2), lambda a: np.linalg.inv(a + 2 * np.eye(3))),
}


def matrices(is_complex):
    """Hermitian matrices with equal eigenvalues; LAPACK finds some of them equal to rounding only."""
    random = np.random.default_rng(1)
    q = np.linalg.qr(random.normal(size=(3, 3)) + (1j * random.normal(size=(3, 3)) if is_complex else 0))[0]
    found = [(q * np.array(d)) @ q.conj().T for d in ([0.5] * 3, [1.0, 1.0, 3.0], [1.0, 2.0, 2.0])]
    return [(a + a.conj().T) / 2 for a in found] + [0.5 * np.eye(3, dtype=q.dtype), np.zeros((3, 3), q.dtype)]


def read(a):
    """The matrix that its lower triangle stands for."""
    return np.tril(a, -1) + np.conj(np.tril(a, -1)).T + np.diag(np.real(np.diagonal(a)))


def rebuilt(eigh, f, a):
    lam, v = eigh(a)
    return (v * f(lam)) @ np.conj(v).T


def root(a):
    return rebuilt(np.linalg.eigh, np.sqrt, a)


def loss(value, is_complex):
    return np.real(np.sum((C + 1j * W if is_complex else C) * value))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("eigh", DECOMPOSITIONS, ids=["numpy", "scipy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_matrix_made_of_its_eigenvectors(name, eigh, is_complex):
    f, closed = FUNCTIONS[name]
    by_vectors = mo.grad(lambda a: loss(rebuilt(eigh, f, a), is_complex))
    by_formula = mo.grad(lambda a: loss(closed(read(a)), is_complex))
    for a in matrices(is_complex):
        np.testing.assert_allclose(by_vectors(a), by_formula(a), rtol=1e-9, atol=1e-11)


def test_a_jacobian_a_pullback_called_twice_and_a_checkpoint():
    a = 4 * np.eye(3)
    expected = mo.jacobian(lambda a: scipy.linalg.sqrtm(read(a)))(a)
    np.testing.assert_allclose(mo.jacobian(root)(a), expected, atol=1e-12)
    _, back = mo.vjp(root, a)
    assert np.array_equal(back(C)[0], back(C)[0])
    np.testing.assert_allclose(mo.grad(lambda a: np.sum(C * mo.checkpoint(root, a)))(a), back(C)[0], atol=1e-12)


def test_several_decompositions_that_do_not_follow_from_each_other():
    def total(root, a):
        product = np.sum(C * root(a)) * np.sum(W * root(2 * a))
        for i in range(4):
            product = product + i * np.sum(C * root(a * (i + 1)))
        return product

    a, plain = 4 * np.eye(3), lambda a: scipy.linalg.sqrtm(read(a))
    found, expected = (mo.grad(lambda a, r=r: total(r, a))(a) for r in (root, plain))
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_stacks_and_writes_in_place():
    def by_vectors(stack):
        lam, v = np.linalg.eigh(stack)
        out = np.zeros_like(stack)
        for i in range(len(stack)):
            out[i] = (v[i] * lam[i] ** 2) @ v[i].T
        out[0] *= 2
        return np.sum(out * np.arange(12.0).reshape(3, 2, 2))

    def by_formula(stack):
        squares = [read(a) @ read(a) for a in stack]
        return np.sum(np.stack([2 * squares[0], squares[1], squares[2]]) * np.arange(12.0).reshape(3, 2, 2))

    stack = np.stack([np.eye(2), np.diag([1.0, 2.0]), np.array([[2.0, 0.3], [0.3, 1.0]])])
    np.testing.assert_allclose(mo.grad(by_vectors)(stack), mo.grad(by_formula)(stack), atol=1e-12)


def test_the_depth_of_derivatives_is_that_of_the_program():
    def f(a):
        r = root(a)
        return np.sum(r) * 0 + mo.nestlevel()

    assert mo.value_and_grad(f)(np.eye(3))[0] == 1


def rectangular():
    u, _, vh = np.linalg.svd(np.random.default_rng(2).normal(size=(4, 3)), full_matrices=False)
    return (u * np.array([2.0, 2.0, 1.0])) @ vh


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("svd", [np.linalg.svd, scipy.linalg.svd], ids=["numpy", "scipy"])
@pytest.mark.parametrize("f", [lambda s: s, lambda s: s**3, np.ones_like], ids=["identity", "cube", "polar"])
def test_functions_of_singular_values(f, svd, full):
    weights = np.arange(12.0).reshape(4, 3) - 4

    def value(x):
        u, s, vh = svd(x, full_matrices=full)
        return np.sum(weights * ((u[:, :3] * f(s)) @ vh))

    x = rectangular()
    ((expected,), _) = numerical_vjp(value, 1.0, x)
    np.testing.assert_allclose(mo.grad(value)(x), expected, rtol=1e-6, atol=1e-6)


PATHS = ("eager", "native", "xla")


def run(path, f, x):
    return f(x) if path == "eager" else mo.jit(f, target=path)(x)


@pytest.mark.parametrize("path", PATHS)
def test_the_orthogonal_factor_and_a_projector_on_every_path(path):
    def turned(x):
        u, _, vh = np.linalg.svd(x, full_matrices=False)
        return np.sum(np.sin(np.arange(12.0).reshape(4, 3)) * (u @ vh))

    def projected(a):
        lower = np.linalg.eigh(a)[1][:, :2]
        return np.sum(C * (lower @ lower.T))

    for f, x in ((turned, rectangular()), (projected, np.diag([1.0, 1.0, 2.0]))):
        ((expected,), _) = numerical_vjp(f, 1.0, x)
        np.testing.assert_allclose(run(path, mo.grad(f), x), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("path", PATHS)
def test_eigenvalues_alone_on_every_path(path):
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 3)  # noqa: E731
    expected = mo.grad(lambda a: np.trace(read(a) @ read(a) @ read(a)))(0.5 * np.eye(3))
    np.testing.assert_allclose(run(path, mo.grad(f), 0.5 * np.eye(3)), expected, atol=1e-12)


# What is refused


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", ["forward", "taylor"])
def test_forward_modes_refuse_vectors_that_are_orthogonal_to_ones(mode, path):
    """The eigenvectors of a Laplacian sum to zero, so they are orthogonal to many cotangents that one might try."""
    laplacian, v = scipy.linalg.circulant([2.0, -1.0, 0.0, -1.0]), np.arange(16.0).reshape(4, 4)

    def exponential(a):
        return rebuilt(np.linalg.eigh, np.exp, a)

    along = {
        "forward": lambda a: mo.jvp(exponential, (a,), (v,))[1],
        "taylor": lambda a: mo.taylor(exponential, a, 1, [v])[1],
    }[mode]
    with pytest.raises(mo.NoDerivative, match="met equal values"):
        run(path, along, laplacian)


def test_a_decomposition_made_from_another_one_is_refused():
    with pytest.raises(mo.NoDerivative, match=rf"eigh, called at {__file__}:\d+, met equal.*scipy\.linalg\.sqrtm"):
        mo.grad(lambda a: np.sum(C * root(root(a))))(4 * np.eye(3))


def test_a_second_derivative_is_refused():
    """The first derivative at the point does not say how it changes where equal values split."""
    first = lambda a: np.sum(mo.grad(lambda a: np.sum(C * rebuilt(np.linalg.eigh, np.square, a)))(a) * W)  # noqa: E731
    with pytest.raises(mo.NoDerivative, match=rf"eigh, called at {__file__}:\d+, .* of first order only"):
        mo.grad(first)(0.5 * np.eye(3))


# Values of zero, where cotangents of zero do not tell what the loss is made of


def of_rank(rank, shape, is_complex):
    random = np.random.default_rng(rank)
    a, b = random.normal(size=(2, *shape[:1], rank)), random.normal(size=(2, rank, *shape[1:]))
    return (a[0] + 1j * a[1]) @ (b[0] + 1j * b[1]) if is_complex else a[0] @ b[0]


SHAPES = [(3, 2), (2, 3), (3, 3)]
ODD = {
    "the matrix itself": (lambda s: s, lambda a: a),
    "its cube": (lambda s: s**3 + s, lambda a: a @ np.conj(a).T @ a + a),
}


def weighed(f, full, weights):
    def loss(x):
        u, s, vh = np.linalg.svd(x, full_matrices=full)
        return np.real(np.sum(np.conj(weights) * ((u[:, : len(s)] * f(s)) @ vh[: len(s)])))

    return loss


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ODD)
def test_matrices_of_every_rank_made_of_their_singular_vectors(name, shape, is_complex):
    f, closed = ODD[name]
    weights = of_rank(5, shape, is_complex)
    for rank in range(3):
        x = of_rank(rank, shape, is_complex)
        expected = mo.grad(lambda a: np.real(np.sum(np.conj(weights) * closed(a))))(x)
        for full in (False, True):
            np.testing.assert_allclose(mo.grad(weighed(f, full, weights))(x), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("target", PATHS[1:])
@pytest.mark.parametrize("library", [np.linalg, scipy.linalg], ids=["numpy", "scipy"])
def test_values_of_zero_whose_cotangents_are_zero(target, library):
    """The tangent of a material law at rest, and a matrix of lower rank made of its singular vectors."""

    def shear(a):
        return rebuilt(library.eigh, lambda d: d, a)[0, 1]

    rest = np.zeros((2, 2))
    assert mo.grad(shear)(rest).tolist() == [[0.0, 0.0], [1.0, 0.0]]
    gradient = mo.jit(mo.grad(shear), target=target)
    np.testing.assert_allclose(gradient(rest), mo.grad(shear)(rest), atol=1e-15)
    bent = np.array([[0.3, 0.1], [0.1, 0.2]])
    np.testing.assert_allclose(gradient(bent), mo.grad(shear)(bent), atol=1e-13)

    def by_vectors(a):
        u, values, vh = library.svd(a, False)
        return np.sum(np.sin(np.arange(6.0).reshape(3, 2)) * ((u * values) @ vh))

    by_svd = mo.jit(mo.grad(by_vectors), target=target)
    np.testing.assert_allclose(by_svd(of_rank(1, (3, 2), False)), np.sin(np.arange(6.0).reshape(3, 2)), atol=1e-12)


@pytest.mark.parametrize("target", PATHS[1:])
@pytest.mark.parametrize("library", [np.linalg, scipy.linalg], ids=["numpy", "scipy"])
def test_equal_values_whose_vectors_are_not_read_are_compiled(target, library):
    """The largest components of few samples."""

    def of_samples(x):
        lam, v = library.eigh(x @ x.T)
        return np.sum(np.sin(C[0, 0] + np.arange(16.0).reshape(4, 4)) * ((v[:, -2:] * np.sqrt(lam[-2:])) @ v[:, -2:].T))

    def by_svd(x):
        u, s, vh = library.svd(x)
        return np.sum(np.sin(np.arange(12.0).reshape(4, 3)) * ((u[:, :2] * s[:2] ** 2) @ vh[:2]))

    x = of_rank(2, (4, 3), False)
    for f in (of_samples, by_svd):
        np.testing.assert_allclose(mo.jit(mo.grad(f), target=target)(x), mo.grad(f)(x), rtol=1e-8, atol=1e-9)
