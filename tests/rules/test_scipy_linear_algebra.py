"""The rules of ``scipy.linalg``: the part of each array that is read, every option, and the result."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import KINDS, SHAPES, dagger, positive, random
from rule_tester import check_rule
from scipy import linalg

import morula as mo
import morula.core.rules.scipy_linear_algebra  # noqa: F401  (the tester reads the table, filled when it is imported)
from morula.testing import check_gradients

BOTH = pytest.mark.parametrize("lower", [False, True])
RIGHT_SIDES = pytest.mark.parametrize("shape", [(3,), (3, 2)], ids=str)


def of_kind(assume_a, kind):
    """A matrix of the structure that is assumed; what is not read is left at zero."""
    a = random((3, 3), kind)
    if assume_a in ("pos", "her"):
        return positive((3, 3), kind)
    if assume_a == "sym":
        return a + a.T
    masks = {
        "diagonal": np.eye(3),
        "tridiagonal": np.tri(3, k=1) * np.tri(3, k=1).T,
        "upper triangular": np.tri(3).T,
        "lower triangular": np.tri(3),
    }
    return a * masks.get(assume_a, 1.0)


# ---- equations


@KINDS
@BOTH
@pytest.mark.parametrize(
    "assume_a", [None, "gen", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "sym", "her", "pos"]
)
def test_solve(assume_a, lower, kind):
    a = of_kind(assume_a, kind)
    check_rule(linalg.solve, a, random((3,), kind), lower=lower, assume_a=assume_a, order=1)
    check_rule(linalg.solve, a, random((3, 2), kind), lower=lower, assume_a=assume_a, order=0)
    if kind == "real":  # SciPy does not solve with the transpose of a complex matrix
        check_rule(linalg.solve, a, random((3,), kind), lower=lower, assume_a=assume_a, transposed=True, order=1)
    if assume_a not in ("diagonal", "tridiagonal"):
        check_rule(linalg.inv, a, assume_a=assume_a, lower=lower, order=0)


def test_solve_twice_and_in_a_stack():
    check_gradients(
        lambda a, b: np.sum(linalg.solve(a, b, assume_a="pos") ** 2), positive((2, 2)), random((2,)), order=2
    )
    check_rule(linalg.solve, random((2, 2, 2)), random((2, 2, 1)), order=1)
    check_rule(linalg.inv, random((2, 2, 2)), order=1)


@KINDS
def test_det(kind):
    check_rule(linalg.det, random((3, 3), kind))
    check_rule(linalg.det, random((2, 2, 2), kind), order=1)


@KINDS
@BOTH
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solve_triangular(trans, lower, unit_diagonal, kind):
    a = random((2, 2), kind)
    check_rule(linalg.solve_triangular, a, random((2,), kind), trans, lower, unit_diagonal, order=2 if lower else 1)
    check_rule(linalg.solve_triangular, a, random((2, 2), kind), trans, lower, unit_diagonal, order=0)


@KINDS
def test_vectors_of_stacks_of_equations(kind):
    a, b = random((2, 2, 2), kind) + 2 * np.eye(2), random((2,), kind)
    for trans in (0, 1, 2):
        check_rule(linalg.solve_triangular, a, b, trans, order=0)
        check_gradients(lambda a, b, trans=trans: linalg.lu_solve(linalg.lu_factor(a), b, trans), a, b, order=1)
    check_gradients(lambda c, b: linalg.cho_solve((c, True), b), np.tril(a), b, order=1)


@KINDS
@RIGHT_SIDES
@pytest.mark.parametrize("l_and_u", [(1, 1), (2, 1), (0, 2), (1, 0)], ids=str)
def test_solve_banded(l_and_u, shape, kind):
    ab = random((sum(l_and_u) + 1, 3), kind)
    ab[l_and_u[1]] += 4
    check_rule(linalg.solve_banded, l_and_u, ab, random(shape, kind), known=(1, 2), order=2 if l_and_u == (2, 1) else 1)


@KINDS
@BOTH
@pytest.mark.parametrize("bands", [1, 2, 3])
def test_solveh_banded(bands, lower, kind):
    ab = random((bands, 3), kind)
    diagonal = 0 if lower else -1
    ab[diagonal] = ab[diagonal].real + 9
    check_rule(linalg.solveh_banded, ab, random((3,), kind), lower=lower)
    check_rule(linalg.solveh_banded, ab, random((3, 2), kind), lower=lower, order=0)


@KINDS
@RIGHT_SIDES
def test_solve_toeplitz(shape, kind):
    c, r = random((3,), kind), random((3,), kind, 1)
    c[0] = 4.0
    check_rule(linalg.solve_toeplitz, (c, r), random(shape, kind, 2))
    check_rule(linalg.solve_toeplitz, c, random(shape, kind, 2))


# ---- factors, and solving with them


@KINDS
@BOTH
def test_cholesky(lower, kind):
    a = positive((3, 3), kind)
    check_rule(linalg.cholesky, a, lower)
    check_rule(linalg.cho_factor, a, lower)
    half = np.tril(a) if lower else np.triu(a)  # nothing but what is read
    check_rule(linalg.cho_factor, half, lower, order=1)
    check_rule(linalg.cholesky, positive((2, 2, 2), kind), lower=lower, order=1)


@KINDS
@BOTH
@RIGHT_SIDES
def test_cho_solve(shape, lower, kind):
    factor = linalg.cho_factor(positive((3, 3), kind), lower)
    check_rule(linalg.cho_solve, factor, random(shape, kind), order=0)
    check_gradients(
        lambda a, b: np.sum(np.abs(linalg.cho_solve(linalg.cho_factor(a, lower), b)) ** 2),
        positive((3, 3), kind), random(shape, kind), order=2 if shape == (3,) else 1,
    )  # fmt: skip


@KINDS
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape, kind):
    a = random(SHAPES[shape], kind)
    check_rule(linalg.lu, a)
    check_rule(linalg.lu, a, True, order=1)
    check_rule(linalg.lu, a, p_indices=True, order=0)
    check_rule(linalg.lu_factor, a, order=1)
    check_rule(linalg.lu, random((2, *SHAPES[shape]), kind), order=1)


@KINDS
@RIGHT_SIDES
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve(trans, shape, kind):
    a, b = random((3, 3), kind)[[1, 2, 0]], random(shape, kind)
    check_rule(linalg.lu_solve, linalg.lu_factor(a), b, trans, order=0)


@KINDS
@RIGHT_SIDES
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve_with_the_factors_of_a_matrix(trans, shape, kind):
    a, b = random((3, 3), kind)[[1, 2, 0]], random(shape, kind)
    check_gradients(
        lambda a, b: np.sum(np.abs(linalg.lu_solve(linalg.lu_factor(a), b, trans)) ** 2), a, b, order=1 + (trans == 2)
    )


@KINDS
@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, pivoting, kind):
    """The columns that ``mode="full"`` adds to a tall matrix's Q are not determined."""
    for mode in ("economic", "r") if shape == "tall" else ("full", "economic", "r"):
        check_rule(
            linalg.qr,
            random(SHAPES[shape], kind),
            mode=mode,
            pivoting=pivoting,
            order=1 + (mode == "economic" and not pivoting),
        )
        check_rule(linalg.qr, random((2, *SHAPES[shape]), kind), mode=mode, pivoting=pivoting, order=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape):
    check_rule(linalg.svd, random(SHAPES[shape]), full_matrices=False)
    check_rule(linalg.svd, random(SHAPES[shape], "complex"), compute_uv=False, order=1)
    check_rule(linalg.svdvals, random(SHAPES[shape], "complex"))


# ---- eigenvalues


@BOTH
def test_eigh(lower):
    a, b = random((3, 3)), positive((3, 3), seed=1)
    # The default driver's signs jump from one matrix to the next; this one's do not.
    check_rule(linalg.eigh, a, lower=lower, driver="evd")
    check_rule(linalg.eigh, a, b, lower=lower)
    check_rule(linalg.eigh, a, b, lower=lower, subset_by_index=[0, 1], order=1)
    check_rule(linalg.eigvalsh, a, b, lower=lower)
    check_rule(linalg.eigvalsh, random((3, 3), "complex"), positive((3, 3), "complex", 1), lower=lower, order=1)
    check_rule(linalg.eigh, a, lower=lower, eigvals_only=True, subset_by_index=[1, 2], order=1)


def test_complex_generalised_eigh_through_what_does_not_depend_on_phases():
    weights = random((2, 2), "complex", 2)

    def loss(a, b):
        lam, v = linalg.eigh(a, b)
        return np.sum(np.real(weights * ((v * np.sin(lam)) @ dagger(v))))

    check_gradients(loss, random((2, 2), "complex"), positive((2, 2), "complex", 1), order=2)


@pytest.mark.parametrize("kind", [2, 3])
def test_eigh_of_other_types(kind):
    def loss(a, b):
        values, vectors = linalg.eigh(a, b, type=kind)
        return np.sum(np.cos(values)) + np.sum(np.arange(3.0) * vectors**2)

    check_gradients(loss, positive((3, 3), "real", 2), positive((3, 3), "real", 3), order=1)


def test_eigh_of_a_tridiagonal_matrix():
    d, e = random((4,)), random((3,), seed=1)
    check_rule(linalg.eigh_tridiagonal, d, e, order=1)
    check_rule(linalg.eigvalsh_tridiagonal, d, e)
    check_rule(linalg.eigh_tridiagonal, d, e, eigvals_only=True, select="i", select_range=(0, 1), order=1)
    check_rule(linalg.eigh_tridiagonal, d, e, select="i", select_range=(0, 1), order=1)


@KINDS
def test_eig(kind):
    a = random((2, 2), kind) + np.array([[0, 0.5], [-0.4, 0]])
    check_rule(linalg.eig, a)
    check_rule(linalg.eigvals, a)
    check_rule(linalg.eig, a, right=False, order=1)
    with pytest.raises(mo.NoDerivative, match="homogeneous_eigvals=True"):
        mo.gradient(lambda a: np.real(linalg.eig(a, homogeneous_eigvals=True)[0][0, 0]), a)


# ---- norms, pseudo-inverses, least squares


@KINDS
def test_norm(kind):
    for ord in (None, 1, 2, np.inf, "nuc"):
        check_rule(linalg.norm, random((2, 2), kind), ord, order=1)
    check_rule(linalg.norm, random((2, 3), kind), 1, 0, True)


@KINDS
@pytest.mark.parametrize("shape", SHAPES)
def test_pinv_and_lstsq(shape, kind):
    a = random(SHAPES[shape], kind)
    check_rule(linalg.pinv, a, order=1, rtol=1e-6)
    check_rule(linalg.pinv, a, return_rank=True, order=0, rtol=1e-6)
    for driver in ("gelsd", "gelsy"):
        check_rule(linalg.lstsq, a, random((len(a), 2), kind, 1), lapack_driver=driver, order=0, rtol=1e-6)
    check_rule(linalg.lstsq, a, random((len(a),), kind, 1), order=1, rtol=1e-6)


@BOTH
def test_pinvh(lower):
    check_rule(linalg.pinvh, random((2, 2)), lower=lower)
    check_rule(linalg.pinvh, random((2, 2), "complex"), lower=lower, return_rank=True, order=1)


# ---- functions of a matrix


@KINDS
def test_functions_of_a_matrix(kind):
    a = positive((2, 2), kind) / 2 + random((2, 2), kind) / 4
    check_rule(linalg.expm, a / 2)
    check_rule(linalg.logm, a, order=1)
    check_rule(linalg.sqrtm, a)
    check_rule(linalg.signm, a - 2 * np.eye(2), order=1)
    check_rule(linalg.fractional_matrix_power, a, 0.3, order=1)
    check_rule(linalg.expm, random((2, 2, 2), kind), order=1)


@KINDS
def test_the_first_power_which_is_the_matrix_itself(kind):
    a = positive((2, 2), kind) / 2 + random((2, 2), kind) / 4
    check_gradients(lambda a, t: linalg.fractional_matrix_power(a, t), a, 1.0, order=1)


@pytest.mark.filterwarnings("ignore:.*logm")
def test_logarithms_and_fractional_powers_of_singular_matrices_are_refused():
    power = linalg.fractional_matrix_power
    for a in (np.ones((2, 2)), np.full((2, 2), 0.5), np.zeros((2, 2))):
        with pytest.raises(
            mo.NoDerivative, match="fractional_matrix_power .*not an integer has no derivative at a singular"
        ):
            mo.grad(lambda a: np.sum(power(a, 0.3)))(a)
        with pytest.raises(mo.NoDerivative, match=r"scipy\.linalg\.logm has no derivative at a singular matrix"):
            mo.grad(lambda a: np.sum(np.real(linalg.logm(a))))(a)
    np.testing.assert_allclose(mo.grad(lambda a: np.sum(power(a, 2)))(np.ones((2, 2))), np.full((2, 2), 4.0))


def test_expm_where_eigenvalues_repeat_and_eigenvectors_are_too_few():
    for a in (np.zeros((2, 2)), np.eye(3), np.array([[1.0, 1.0], [0.0, 1.0]])):
        check_rule(linalg.expm, a)


def test_expm_with_a_huge_cotangent_keeps_its_accuracy():
    a, weights = random((3, 3)), random((3, 3), seed=1)
    g = mo.gradient(lambda a: np.sum(linalg.expm(a) * weights), a)[0]
    huge = mo.gradient(lambda a: 1e200 * np.sum(linalg.expm(a) * weights), a)[0]
    np.testing.assert_allclose(huge / 1e200, g, rtol=1e-12)


@pytest.mark.parametrize("f", [linalg.cosm, linalg.sinm, linalg.coshm, linalg.sinhm], ids=lambda f: f.__name__)
def test_functions_that_scipy_writes_in_python_need_no_rule(f):
    check_gradients(lambda a: np.sum(f(a) ** 2), random((2, 2)) / 2, order=1)


@KINDS
@pytest.mark.parametrize("shape, side", [((2, 2), "right"), ((3, 2), "right"), ((2, 2), "left"), ((2, 3), "left")])
def test_polar(shape, side, kind):
    check_rule(linalg.polar, random(shape, kind), side)


# ---- matrix equations


@KINDS
def test_sylvester_and_lyapunov(kind):
    a, b, q = random((2, 2), kind), random((1, 1), kind, 1), random((2, 1), kind, 2)
    check_rule(linalg.solve_sylvester, a, b, q)
    check_rule(linalg.solve_continuous_lyapunov, a, random((2, 2), kind, 3))
    check_rule(linalg.solve_discrete_lyapunov, a / 5, random((2, 2), kind, 3))


@KINDS
@pytest.mark.parametrize("solver", [linalg.solve_continuous_are, linalg.solve_discrete_are], ids=lambda f: f.__name__)
def test_riccati(solver, kind):
    """SciPy insists on Hermitian Q and R, so the matrices are made from factors that are free."""
    a, b = random((2, 2), kind), random((2, 1), kind, 1)

    def loss(a, b, q, r):
        x = solver(a, b, q @ dagger(q) + np.eye(2), r @ dagger(r) + np.eye(1))
        return np.sum(np.abs(x) ** 2)

    check_gradients(loss, a / 2, b, random((2, 2), kind, 2), random((1, 1), kind, 3), order=1, rtol=1e-5)


@KINDS
@pytest.mark.parametrize("solver", [linalg.solve_continuous_are, linalg.solve_discrete_are], ids=lambda f: f.__name__)
def test_riccati_in_descriptor_form(solver, kind):
    a, b, s = random((2, 2), kind), random((2, 1), kind, 1), random((2, 1), kind, 4)

    def loss(a, b, e, s, r):
        x = solver(a, b, np.eye(2), r @ dagger(r) + np.eye(1), np.eye(2) + e / 4, s / 4)
        return np.sum(np.abs(x) ** 2)

    check_gradients(loss, a / 2, b, random((2, 2), kind, 2), s, random((1, 1), kind, 3), order=1, rtol=1e-5)
    check_gradients(lambda s: np.abs(solver(a / 2, b, np.eye(2), np.eye(1), s=s / 4)[0, 1]), s, order=1, rtol=1e-5)


def test_a_range_of_eigenvalues_is_no_array():
    a = positive((3, 3))
    check_gradients(lambda a: np.sum(linalg.eigh(a, subset_by_value=(-1.0, 1e9))[0] ** 2), a)
    check_gradients(lambda a: np.sum(linalg.eigvalsh(a, subset_by_value=[-1.0, 1e9]) ** 2), a)


def test_a_riccati_solution_that_does_not_solve_its_equation_is_refused():
    """SciPy's balancing spoils the solution for a general ``e``."""
    a = np.random.default_rng(3).normal(size=(4, 4)) + np.diag([2.0, 5.0, 8.0, 11.0])
    q = 2 * np.eye(4)

    def solved(a, balanced):
        return linalg.solve_continuous_are(a / 3, a, q, q, np.eye(4) + a / 40, balanced=balanced)

    check_gradients(lambda a: np.sum(solved(a, False) ** 2), a, order=1, rtol=1e-5)
    if np.max(np.abs(solved(a, True) - solved(a, False))) > 1e-4:  # a version of SciPy may solve it
        with pytest.raises(mo.NoDerivative, match="does not solve the Riccati equation.*balanced=False"):
            mo.grad(lambda a: np.sum(solved(a, True) ** 2))(a)


# ---- matrices of a given structure


@KINDS
def test_matrices_of_a_given_structure(kind):
    c, r = random((3,), kind), random((2,), kind, 1)
    for f in (linalg.toeplitz, linalg.hankel):
        check_rule(f, c)
        check_rule(f, c, r)
        check_rule(f, r, c, order=1)
    check_rule(linalg.circulant, c)
    check_rule(linalg.block_diag, random((1, 2), kind), c, np.array(2.0), random((2, 1), kind))


# ---- what is refused


@KINDS
@pytest.mark.parametrize("which", ["row", "col"])
def test_qr_insert(which, kind):
    a, u = random((3, 3), kind), random((3,), kind, 1)

    def inserted(a, u):
        q, r = linalg.qr(a)
        q, r = linalg.qr_insert(q, r, u, 1, which, overwrite_qru=True)
        return (np.abs(q) ** 2, np.abs(r) ** 2) if which == "col" else np.abs(r[:3]) ** 2

    check_gradients(inserted, a, u, order=1)


OVERWRITING = {
    "solve a": lambda a, b: np.sum(linalg.solve(2 * a, b, overwrite_a=True) ** 2),
    "solve b": lambda a, b: np.sum(linalg.solve(a, b, overwrite_b=True) ** 2),
    "solve a fresh": lambda a, b: np.sum(linalg.solve(a, 2 * b, overwrite_b=True) ** 2),
    "cholesky": lambda a, b: np.sum(linalg.cholesky(a, False, True) ** 2),
    "cho_factor": lambda a, b: np.sum(linalg.cho_factor(a, overwrite_a=True)[0] ** 2),
    "lu_solve": lambda a, b: np.sum(linalg.lu_solve(linalg.lu_factor(a, overwrite_a=True), b, overwrite_b=True) ** 2),
    "cho_solve": lambda a, b: np.sum(linalg.cho_solve((a, True), b, overwrite_b=True) ** 2),
    "banded": lambda a, b: np.sum(linalg.solve_banded((1, 0), a, b, overwrite_ab=True, overwrite_b=True) ** 2),
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_an_argument_that_is_overwritten_and_not_read_again_is_no_matter(name):
    def on_fresh_arrays(a, b):
        a = np.asfortranarray(a * 1.0)
        b = np.asfortranarray(b * 1.0)
        return OVERWRITING[name](a, b)

    check_gradients(on_fresh_arrays, positive((2, 2)), random((2,)))


def test_a_result_in_the_memory_of_an_overwritten_argument_shares_it():
    def f(a):
        b = np.asfortranarray(np.ones((2, 2)) * a)
        x = linalg.cholesky(b, overwrite_a=True)
        b *= 3  # and with it x
        x[0] += 1
        return np.sum(x**2) + np.sum(linalg.solve(x, a, overwrite_a=True))

    check_gradients(f, positive((2, 2)))


def test_what_is_left_of_an_overwritten_argument_is_refused():
    a = np.asfortranarray(positive((2, 2)))

    def left_over(a):
        b = np.asfortranarray(a * 2)
        return np.sum(linalg.solve(b, np.ones(2), overwrite_a=True)) + b[0, 0]

    with pytest.raises(mo.NoDerivative, match="overwrite_"):
        mo.gradient(left_over, a)
    x = mo.gradient(lambda a: np.sum(a * linalg.solve(2 * np.eye(2), np.ones((2, 2)), overwrite_b=True)), a)[0]
    assert x.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_derivative_that_would_divide_by_a_singular_matrix_is_refused():
    singular = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(mo.NoDerivative, match="lu has no derivative here, because a matrix .* is singular"):
        mo.gradient(lambda a: np.sum(linalg.lu(a, permute_l=True)[0] ** 2), singular)
