"""The rule of ``scipy.linalg.cossin``."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, dagger, random
from scipy import linalg

import morula as mo
import morula.core.rules.scipy_cosine_sine  # noqa: F401  (the tester reads the table, filled when it is imported)
from morula.testing import check_gradients

SIZES = pytest.mark.parametrize("m, p, q", [(2, 1, 1), (4, 2, 2), (5, 2, 3), (6, 4, 3), (6, 2, 5), (5, 4, 4)])
TARGETS = ("native", "xla")


def unitary(a):
    """Cayley's transform of a matrix with K^H = -K."""
    k, unit = a - dagger(a), np.eye(a.shape[-1], dtype=a.dtype)
    return np.linalg.solve(unit + k, unit - k)


def weighed(z):
    at = np.arange(z.size).reshape(z.shape)
    return np.sum(np.real(z) * np.cos(at) + np.imag(z) * np.sin(1.3 * at))


def products(x, p, q, swap_sign=False):
    """A loss of all factors that phases of the vectors and rotations within the identities do not change."""
    m = len(x)
    r = min(p, q, m - p, m - q)
    n11, n22 = min(p, q) - r, min(m - p, m - q) - r
    (u1, u2), theta, (v1h, v2h) = linalg.cossin(x, p, q, separate=True, swap_sign=swap_sign)
    left, lower = u1[:, n11 : n11 + r], u2[:, n22 : n22 + r]
    right, last = v1h[n11 : n11 + r], v2h[n22 : n22 + r]
    alone, beyond = u1[:, :n11], u1[:, n11 + r :]
    return (
        weighed((left * np.sin(2 * theta)) @ right)
        + weighed((left * theta) @ last)
        + weighed((lower * np.exp(theta)) @ right)
        + weighed((lower * theta) @ dagger(left))
        + weighed((left * theta**2) @ dagger(left))
        + weighed(alone @ v1h[:n11])
        + weighed(beyond @ dagger(beyond))
    )


@KINDS
@SIZES
def test_angles_and_vectors_of_every_shape(m, p, q, kind):
    order = 2 if m == 4 else 1
    check_gradients(lambda a: products(unitary(a), p, q), random((m, m), kind), order=order)
    check_gradients(lambda a: products(unitary(a), p, q, True), random((m, m), kind, 1), order=1)


@pytest.mark.parametrize("swap_sign", [False, True])
def test_the_product_of_the_factors_is_the_matrix(swap_sign):
    def product(a):
        u, cs, vh = linalg.cossin(unitary(a), 2, 3, swap_sign=swap_sign)
        return u @ cs @ vh

    a, g = random((5, 5)), random((5, 5), seed=2)
    np.testing.assert_allclose(product(a), unitary(a), atol=1e-14)
    expected = mo.pullback(unitary, a)[1](g)[0]
    np.testing.assert_allclose(mo.pullback(product, a)[1](g)[0], expected, atol=1e-12)


def test_the_angles_are_those_of_the_singular_values_of_a_block():
    a = random((6, 6), "complex")

    def by_values(a):
        return np.sum(np.arccos(linalg.svdvals(unitary(a)[:4, :3])[1:]) ** 2)

    g = mo.grad(lambda a: np.sum(linalg.cossin(unitary(a), 4, 3, separate=True)[1] ** 2))(a)
    np.testing.assert_allclose(g, mo.grad(by_values)(a), atol=1e-12)


@pytest.mark.parametrize("compute_u, compute_vh", [(False, True), (True, False), (False, False)])
def test_blocks_and_parts_that_are_not_computed(compute_u, compute_vh):
    def loss(a):
        x = unitary(a)
        blocks = x[:2, :3], x[:2, 3:], x[2:, :3], x[2:, 3:]
        u, cs, vh = linalg.cossin(blocks, compute_u=compute_u, compute_vh=compute_vh)
        assert u.size == 25 * compute_u and vh.size == 25 * compute_vh
        return weighed(cs) + weighed(u**2) + weighed(vh**2)

    check_gradients(loss, random((5, 5)), order=1)


def test_the_gradient_is_tangent_to_the_unitary_matrices():
    x = unitary(random((5, 5), "complex"))
    g = mo.grad(lambda x: products(x, 2, 3))(x)
    np.testing.assert_allclose(dagger(x) @ g, -dagger(dagger(x) @ g), atol=1e-13)


def test_complex_matrices_in_native_and_xla_code():
    a, v = random((5, 5), "complex"), random((5, 5), "complex", 3)

    def loss(a):
        u, cs, vh = linalg.cossin(unitary(a), 2, 3)
        return weighed(np.abs(u) ** 2) + weighed((u @ cs @ vh)[:, :3]) + weighed(cs)

    value, expected = mo.value_and_grad(loss)(a)
    slope = np.sum(np.real(np.conj(expected) * v))
    for target in TARGETS:
        found, g = mo.jit(mo.value_and_grad(loss), target=target)(a)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(g, expected, atol=1e-11)
        tangent = mo.jit(lambda a, v: mo.jvp(loss, (a,), (v,))[1], target=target)(a, v)
        np.testing.assert_allclose(tangent, slope, rtol=1e-10)


def test_stacks_in_single_precision_on_every_path():
    stack = np.stack([random((4, 4)), random((4, 4), seed=1)]).astype(np.float32)

    def loss(a):
        u, cs, vh = linalg.cossin(unitary(a), 1, 2)
        return np.sum(u**2) + np.sum(cs * np.float32(0.5)) + np.sum(np.abs(vh[..., 2:, :]) ** 3)

    expected = np.stack([mo.grad(loss)(a.astype(float)) for a in stack])
    for gradient in (mo.grad(loss), *(mo.jit(mo.grad(loss), target=target) for target in TARGETS)):
        found = gradient(stack)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_losses_that_depend_on_the_choice_of_vectors_are_refused():
    angles = np.array([0.4, 0.4, 1.1])
    c, s = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    u, v = (linalg.block_diag(unitary(random((3, 3), seed=k)), unitary(random((3, 3), seed=k + 1))) for k in (0, 2))
    equal = u @ np.block([[c, -s], [s, c]]) @ v.T
    first = lambda x: np.abs(linalg.cossin(x, 3, 3, separate=True)[0][0][0, 0]) ** 2  # noqa: E731
    rebuilt = lambda x: weighed(linalg.cossin(x, 3, 3)[0] @ linalg.cossin(x, 3, 3)[1])  # noqa: E731
    zero = lambda x: weighed(np.matmul(*linalg.cossin(x, 1, 1)[:2])[:, 0])  # noqa: E731
    for loss, x in ((first, equal), (rebuilt, equal), (zero, np.eye(2) + 0j)):
        for gradient in (mo.grad(loss), *(mo.jit(mo.grad(loss), target=target) for target in TARGETS)):
            with pytest.raises(
                mo.NoDerivative, match="angles are equal, 0 or pi/2, and the loss depends on the choice"
            ):
                gradient(x)

    def projector(x):
        left = linalg.cossin(x, 3, 3, separate=True)[0][0][:, :2]
        return weighed(left @ left.T)

    along = lambda t: projector(equal @ linalg.expm(t * (random((6, 6)) - random((6, 6)).T)))  # noqa: E731
    check_gradients(along, 0.0, order=1)


def test_matrices_that_are_not_unitary_are_refused():
    loss = lambda x: np.sum(linalg.cossin(x, 2, 2, separate=True)[1])  # noqa: E731
    for gradient in (mo.grad(loss), *(mo.jit(mo.grad(loss), target=target) for target in TARGETS)):
        with pytest.raises(mo.NoDerivative, match="only for unitary matrices, which X is not"):
            gradient(2.0 * np.eye(4))


@pytest.mark.parametrize(
    "given, message",
    [
        ((np.eye(4)[:3], 1, 1), "only supports square"),
        ((np.eye(4), 4, 1), "invalid p=4, 0<p<4 must hold"),
        ((np.eye(4), 1, -2), "invalid q=-2, 0<q<4 must hold"),
        (([np.eye(2)] * 3,), "exactly four arrays"),
    ],
)
def test_errors_are_those_of_scipy(given, message):
    x, *sizes = given
    with pytest.raises(ValueError, match=message):
        linalg.cossin(*given)
    for run in (mo.grad, lambda f: mo.jit(f, target="native")):
        with pytest.raises(ValueError, match=message):
            run(lambda x: np.sum(linalg.cossin(x, *sizes)[1]))(x)
