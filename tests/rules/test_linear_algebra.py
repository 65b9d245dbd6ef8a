"""The rules of ``numpy.linalg``, each at a point in general position, and at special points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from matrices import KINDS, SHAPES, dagger, positive, random
from numpy import linalg
from path_tester import check_gradient
from rule_tester import check_rule

import morula as mo
from morula.testing import check_gradients

# ---- equations and inverses


@KINDS
@pytest.mark.parametrize(
    "a, b",
    [
        ((2, 2), (2,)),
        ((2, 2), (2, 3)),
        ((2, 2, 2), (2,)),
        ((2, 2), (2, 2, 1)),
        ((2, 1, 2, 2), (2, 2, 1)),
        ((0, 0), (0,)),
    ],
    ids=str,
)
def test_solve(a, b, kind):
    check_rule(linalg.solve, random(a, kind), random(b, kind, 1))


def test_solve_with_a_complex_and_a_real_operand():
    check_rule(linalg.solve, random((2, 2)), random((2,), "complex"))
    check_rule(linalg.solve, random((2, 2), "complex"), random((2, 1)))


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (0, 0)], ids=str)
def test_inv(shape, kind):
    check_rule(linalg.inv, random(shape, kind))


@KINDS
@pytest.mark.parametrize("shape, order", [((3, 2), 2), ((2, 3), 2), ((2, 2), 2), ((2, 3, 2), 1)], ids=str)
def test_pinv(shape, order, kind):
    check_rule(linalg.pinv, random(shape, kind), order=order, rtol=1e-6)


def test_pinv_of_a_hermitian_matrix_reads_its_lower_triangle():
    check_rule(linalg.pinv, random((2, 2)), hermitian=True)
    check_rule(linalg.pinv, random((2, 2), "complex"), hermitian=True)


def test_pinv_and_lstsq_that_cut_off_singular_values_are_refused():
    a = np.diag([1.0, 0.1])
    with pytest.raises(mo.NoDerivative, match="cuts off singular values"):
        mo.gradient(lambda a: linalg.pinv(a, rcond=0.5).sum(), a)
    with pytest.raises(mo.NoDerivative, match="cuts off singular values"):
        mo.gradient(lambda a: linalg.lstsq(a, np.ones(2), rcond=0.5)[0].sum(), a)
    stack = np.stack([np.eye(2), a])
    for path in (lambda f: f, lambda f: mo.jit(f, target="native"), lambda f: mo.jit(f, target="xla")):
        with pytest.raises(mo.NoDerivative, match="cuts off singular values"):
            path(mo.grad(lambda a: linalg.pinv(a, rcond=0.5).sum()))(stack)


def test_pinv_of_a_matrix_of_lower_rank_along_its_own_rank():
    def loss(u, v):
        return np.sum(linalg.pinv(np.outer(u, v), rcond=1e-10) * weights)

    weights = random((3, 2), seed=5)
    check_gradients(loss, np.array([0.4, -1.2]), np.array([0.7, 0.2, -0.9]), order=1)


@KINDS
@pytest.mark.parametrize("a, b", [((3, 2), (3,)), ((3, 2), (3, 2)), ((2, 3), (2,)), ((2, 2), (2, 1))], ids=str)
def test_lstsq(a, b, kind):
    check_rule(linalg.lstsq, random(a, kind), random(b, kind, 1), order=1, rtol=1e-6)


def test_lstsq_twice():
    a, b = random((3, 2)), random((3,), seed=1)
    check_gradients(lambda a, b: np.sum(linalg.lstsq(a, b, rcond=None)[0] ** 2), a, b, order=2)
    check_gradients(lambda a, b: linalg.lstsq(a, b, rcond=None)[1][0], a, b, order=2)


@KINDS
def test_tensorsolve_and_tensorinv(kind):
    check_rule(linalg.tensorsolve, random((2, 1, 2), kind), random((2, 1), kind, 1))
    check_rule(linalg.tensorsolve, random((2, 2, 1), kind), random((2, 1), kind, 1), axes=(1,))
    check_rule(linalg.tensorinv, random((2, 1, 2), kind), 2)
    check_rule(linalg.tensorinv, random((2, 2, 1), kind), 1)


# ---- determinants, powers and products


@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 2, 2), (0, 0)], ids=str)
def test_det(shape, kind):
    check_rule(linalg.det, random(shape, kind))


@pytest.mark.parametrize(
    "a", [np.zeros((1, 1)), np.zeros((2, 2)), np.ones((2, 2)), np.diag([0.0, 2.0, 3.0]), np.zeros((2, 3, 3))], ids=str
)
def test_det_of_a_singular_matrix_has_its_cofactors_for_gradient(a):
    check_rule(linalg.det, a)


def test_det_that_underflows_is_not_taken_for_singular():
    (g,) = mo.gradient(linalg.det, 1e-6 * np.eye(60))
    assert not g.any()


@KINDS
@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 2)], ids=str)
def test_slogdet(shape, kind):
    check_rule(linalg.slogdet, random(shape, kind))


@KINDS
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5, 6])
def test_matrix_power(n, kind):
    check_rule(linalg.matrix_power, random((2, 2), kind) / 2, n, rtol=1e-6)


@KINDS
@pytest.mark.parametrize("shapes", [[(2,), (2,)], [(2,), (2, 3), (3,)], [(2, 1), (1, 3), (3, 2), (2, 2)]], ids=str)
def test_multi_dot(shapes, kind):
    check_rule(linalg.multi_dot, [random(shape, kind, i) for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_diagonal(offset):
    check_gradients(lambda x: np.sum(linalg.diagonal(x, offset=offset) ** 3), random((2, 2, 3)))


def test_matrix_rank_has_no_slope():
    (g,) = mo.gradient(lambda a: linalg.matrix_rank(a) + 0.0 * a[0, 0], random((2, 2)))
    assert not g.any()


# ---- norms

VECTOR_ORDERS = [None, 1, 2, 3, 0.5, -1, np.inf, -np.inf]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]


@KINDS
@pytest.mark.parametrize("ord", VECTOR_ORDERS)
def test_norm_of_vectors(ord, kind):
    check_rule(linalg.norm, random((3,), kind), ord, known=(0,))
    check_rule(linalg.norm, random((2, 3), kind), ord, 0, True, order=1, known=(0,))
    check_rule(linalg.vector_norm, random((2, 2), kind), ord=2 if ord is None else ord, axis=(0, 1), order=1)


@KINDS
@pytest.mark.parametrize("ord", [0.5, 2.5, -1.5])
def test_the_order_of_a_norm(ord, kind):
    check_rule(linalg.norm, random((3,), kind), ord)
    check_rule(linalg.norm, random((2, 3), kind), ord, 0, True, order=1)


@KINDS
@pytest.mark.parametrize("ord", MATRIX_ORDERS)
def test_norm_of_matrices(ord, kind):
    check_rule(linalg.norm, random((2, 2), kind), ord, known=(0,))
    check_rule(linalg.norm, random((3, 2, 2), kind), ord, (0, -1), True, order=1, known=(0,))
    check_rule(linalg.matrix_norm, random((2, 1, 3), kind), ord=ord or "fro", order=1)


def test_norm_of_an_array_of_any_rank_without_an_order():
    check_rule(linalg.norm, random((2, 1, 2)))
    check_rule(linalg.vector_norm, random((2, 1, 2)))


@pytest.mark.parametrize("ord", [*VECTOR_ORDERS, 0])
def test_vector_norms_have_gradient_zero_at_zero(ord):
    (g,) = mo.gradient(lambda x: linalg.norm(x, ord), np.zeros(3))
    np.testing.assert_array_equal(g, np.zeros(3))


@pytest.mark.parametrize("ord", MATRIX_ORDERS)
def test_matrix_norms_have_gradient_zero_at_zero(ord):
    (g,) = mo.gradient(lambda x: linalg.norm(x, ord), np.zeros((2, 2)))
    np.testing.assert_array_equal(g, np.zeros((2, 2)))


def test_what_attains_a_norm_together_shares_its_gradient():
    assert mo.gradient(lambda x: linalg.norm(x, np.inf), np.array([2.0, -2.0, 1.0]))[0].tolist() == [0.5, -0.5, 0.0]
    np.testing.assert_allclose(mo.gradient(lambda x: linalg.norm(x, 2), np.eye(2))[0], np.eye(2) / 2, atol=1e-15)


@KINDS
@pytest.mark.parametrize("p", [None, -2, 1, "fro", np.inf])
def test_cond(p, kind):
    check_rule(linalg.cond, random((2, 2), kind), p, rtol=1e-6)


# ---- factorisations


@KINDS
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (0, 0)], ids=str)
def test_cholesky(shape, upper, kind):
    check_rule(linalg.cholesky, positive(shape, kind), upper=upper)


def test_the_gradient_of_cholesky_lies_in_the_triangle_that_is_read():
    (g,) = mo.gradient(lambda a: np.sum(linalg.cholesky(a)), positive((3, 3)))
    np.testing.assert_array_equal(g, np.tril(g))


@KINDS
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, kind):
    """The columns that the complete form adds to a tall matrix's Q are not determined: the projector is tested below."""
    for mode in ("reduced", "r") if shape == "tall" else ("reduced", "complete", "r"):
        check_rule(linalg.qr, random(SHAPES[shape], kind), mode)


def test_qr_of_a_stack():
    check_rule(linalg.qr, random((2, 3, 2)), order=1)


@KINDS
def test_complete_qr_through_the_projector_onto_the_complement(kind):
    weights = random((3, 3), kind, 1)

    def loss(a):
        q, r = linalg.qr(a, mode="complete")
        return np.sum(np.real(weights * (q[:, 2:] @ dagger(q[:, 2:])))) + np.sum(np.real(r) ** 2)

    check_gradients(loss, random((3, 2), kind), order=2)


def test_raw_qr_is_refused():
    with pytest.raises(mo.NoDerivative, match="mode='raw'"):
        mo.gradient(lambda a: np.sum(linalg.qr(a, mode="raw")[0]), random((2, 2)))


@pytest.mark.parametrize("UPLO", ["L", "U"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (2, 2, 2), (0, 0)], ids=str)
def test_eigh(shape, UPLO):
    check_rule(linalg.eigh, random(shape), UPLO, order=1 if len(shape) > 2 else 2)
    check_rule(linalg.eigvalsh, random(shape), UPLO)
    check_rule(linalg.eigvalsh, random(shape, "complex"), UPLO, order=1)


def test_complex_eigh_through_what_does_not_depend_on_phases():
    weights = random((2, 2), "complex", 1)

    def loss(a):
        lam, v = linalg.eigh(a)
        return np.sum(np.real(weights * ((v * np.sin(lam)) @ dagger(v)))) + np.sum(np.abs(v) ** 2 * np.real(weights))

    check_gradients(loss, random((2, 2), "complex"), order=2)


@KINDS
def test_eig(kind):
    a = random((2, 2), kind) + np.array([[0, 0.5], [-0.4, 0]])
    check_rule(linalg.eig, a)
    check_rule(linalg.eigvals, a)
    check_rule(linalg.eig, random((2, 3, 3), kind), order=1)


def test_eig_of_a_real_matrix_with_a_complex_pair():
    a = np.array([[0.1, 1.5], [-0.7, 0.4]])
    assert np.iscomplexobj(linalg.eigvals(a))
    check_rule(linalg.eig, a)
    check_rule(linalg.eigvals, a)


@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape):
    check_rule(linalg.svd, random(SHAPES[shape]), full_matrices=False)
    check_rule(linalg.svd, random((2, *SHAPES[shape])), False, order=1)


@KINDS
@pytest.mark.parametrize("shape", [*SHAPES.values(), (2, 3, 2), (0, 2)], ids=str)
def test_singular_values(shape, kind):
    check_rule(linalg.svd, random(shape, kind), compute_uv=False, order=min(2, 4 - len(shape)))
    check_rule(linalg.svdvals, random(shape, kind), order=1)


@KINDS
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_through_what_does_not_depend_on_phases(shape, full, kind):
    m, n = SHAPES[shape]
    of_u, of_v, of_a = random((m, m), kind, 1), random((n, n), kind, 2), random((m, n), kind, 3)

    def loss(a):
        u, s, vh = linalg.svd(a, full_matrices=full)
        k = len(s)
        between = np.real(of_a * ((u[:, :k] * np.sin(s)) @ vh[:k]))
        first_u, first_v = u[:, :1] @ dagger(u[:, :1]), dagger(vh[:1]) @ vh[:1]
        rest_u, rest_v = u[:, 1:] @ dagger(u[:, 1:]), dagger(vh[1:]) @ vh[1:]
        return np.sum(between) + np.sum(np.real(of_u * (first_u + 2 * rest_u))) + np.sum(
            np.real(of_v * (first_v - rest_v))
        )  # fmt: skip

    check_gradients(loss, random((m, n), kind), order=2)


def test_svd_of_a_hermitian_matrix():
    check_rule(linalg.svd, random((2, 2)) - 2 * np.eye(2), hermitian=True)
    check_rule(linalg.svd, random((2, 2), "complex"), compute_uv=False, hermitian=True)


# ---- repeated eigenvalues and singular values


def test_losses_of_repeated_eigenvalues_have_their_gradient():
    a = np.diag([1.0, 1.0, 2.0])
    g = mo.gradient(lambda a: np.sum(linalg.eigvalsh(a) ** 2), a)[0]
    np.testing.assert_allclose(g, 2 * a, atol=1e-14)
    np.testing.assert_allclose(mo.gradient(lambda a: np.real(np.sum(linalg.eigvals(a) ** 2)), a)[0], 2 * a, atol=1e-14)
    np.testing.assert_allclose(mo.gradient(lambda a: np.sum(linalg.svdvals(a) ** 2), a)[0], 2 * a, atol=1e-14)


def test_the_projector_onto_a_repeated_eigenspace_has_its_gradient():
    turn = linalg.qr(random((3, 3)))[0]
    a, weights = turn @ np.diag([1.0, 1.0, 2.0]) @ turn.T, random((3, 3), seed=1)

    def by_eigh(a):
        v = linalg.eigh(a)[1][:, :2]
        return np.sum(weights * (v @ v.T))

    def by_polynomial(a):
        """The projector is (2 - a) to first order about ``a``, whose other eigenvalue is 2."""
        whole = np.tril(a) + np.tril(a, -1).T
        return np.sum(weights * polynomial(whole))

    def polynomial(a):
        b = 2 * np.eye(3) - a
        return 3 * b @ b - 2 * b @ b @ b

    np.testing.assert_allclose(mo.gradient(by_eigh, a)[0], mo.gradient(by_polynomial, a)[0], atol=1e-12)


def test_svd_at_repeated_and_zero_singular_values_stays_finite():
    for a in (np.eye(2), np.zeros((2, 2)), np.ones((3, 2)), np.diag([1.0, 0.0])):
        (g,) = mo.gradient(lambda a: np.sum(linalg.svd(a, full_matrices=False)[0] ** 2), a)
        assert np.all(np.isfinite(g))


# ---- single precision, lists, objects of results


@pytest.mark.parametrize(
    "f",
    [
        linalg.inv,
        linalg.det,
        linalg.slogdet,
        linalg.cholesky,
        linalg.qr,
        linalg.eigh,
        linalg.svd,
        linalg.pinv,
        linalg.norm,
    ],
)
def test_single_precision_stays_single(f):
    check_rule(f, positive((2, 2)).astype(np.float32), order=0)


def test_results_are_read_by_name():
    a = positive((2, 2))
    for by_name, by_place in (
        (lambda a: linalg.slogdet(a).logabsdet, lambda a: linalg.slogdet(a)[1]),
        (lambda a: np.sum(linalg.eigh(a).eigenvalues ** 2), lambda a: np.sum(linalg.eigh(a)[0] ** 2)),
        (lambda a: np.sum(linalg.svd(a).S ** 2), lambda a: np.sum(linalg.svd(a)[1] ** 2)),
        (lambda a: np.sum(linalg.qr(a).R ** 2), lambda a: np.sum(linalg.qr(a)[1] ** 2)),
    ):
        np.testing.assert_array_equal(mo.gradient(by_name, a)[0], mo.gradient(by_place, a)[0])


def test_a_matrix_written_as_nested_lists():
    assert mo.gradient(lambda x: linalg.det([[x, 2.0], [3.0, x]]), 5.0) == pytest.approx((10.0,))


@pytest.mark.parametrize("path", ["eager", "native"])
@pytest.mark.parametrize("mode", ["r", "reduced"])
@pytest.mark.parametrize(
    "a",
    [np.zeros((3, 2)), np.ones((3, 2)), np.outer([1.0, 2.0, -0.5], [0.3, 0.7])],
    ids=["zeros", "ones", "of rank one"],
)
def test_a_qr_factorisation_of_dependent_columns_has_no_derivative(a, mode, path):
    def f(a):
        found = np.linalg.qr(a, mode)
        return np.sum(found if mode == "r" else found[1])

    gradient = mo.grad(f) if path == "eager" else mo.jit(mo.grad(f))
    with pytest.raises(mo.NoDerivative, match="linearly dependent"):
        gradient(a)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_least_squares_by_a_driver_without_singular_values(path):
    def f(a, b):
        x, residuals, rank, s = scipy.linalg.lstsq(a, b, lapack_driver="gelsy")
        return np.sum(x**2) + rank + (1.0 if s is None else 0.0)

    check_gradient(path, f, np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), np.array([1.0, 2.0, 4.0]))
