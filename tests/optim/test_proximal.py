"""Terms with proximal operators, proximal gradient methods and splitting: known solutions, derivatives, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse

import morula as mo
from morula.core.testing.differences import ridders
from morula.optim import Status, minimize, projections as onto, quadratic_program
from morula.optim.proximal import (
    L1,
    ElasticNet,
    GroupNorm,
    Huber,
    Indicator,
    LabelledGroups,
    LeastSquares,
    LInf,
    LogBarrier,
    Nuclear,
    Separable,
    Shifted,
    SquaredL2,
    TotalVariation,
    Zero,
    admm,
    proximal_gradient,
)

RANDOM = np.random.default_rng(5)
X, MATRIX = 2.0 * RANDOM.normal(size=6), 2.0 * RANDOM.normal(size=(3, 4))
DESIGN = RANDOM.normal(size=(4, 6))
LABELS = np.array([0, 1, 0, 2, 1, 0])
TERMS = {
    "zero": (lambda w: Zero(), X),
    "l1": (lambda w: L1(w), X),
    "l1, weights": (lambda w: L1(w * np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0])), X),
    "elastic net": (lambda w: ElasticNet(w, 0.5 * w), X),
    "squares": (lambda w: SquaredL2(w), X),
    "norm": (lambda w: GroupNorm(w), X),
    "norms of rows": (lambda w: GroupNorm(w, axis=1), MATRIX),
    "groups": (lambda w: LabelledGroups(w * np.array([1.0, 2.0, 0.5]), LABELS), X),
    "largest": (lambda w: LInf(w), X),
    "nuclear": (lambda w: Nuclear(w), MATRIX),
    "huber": (lambda w: Huber(w, 0.7), X),
    "barrier": (lambda w: LogBarrier(w), X),
    "simplex": (lambda w: Indicator(lambda x: onto.simplex(x, w)), X),
    "shifted": (lambda w: Shifted(L1(w), np.arange(6.0)), X),
    "least squares, wide": (lambda w: LeastSquares(DESIGN, w * np.ones(4)), X),
    "least squares, tall": (lambda w: LeastSquares(w * DESIGN.T @ DESIGN, np.ones(6)), X),
    "total variation": (lambda w: TotalVariation(w), X),
}


def proxes(w, x, matrix):
    """Return a number that depends on the proximal operators that do most."""
    total = 0.0
    for name in ("l1, weights", "norms of rows", "groups", "largest", "nuclear", "total variation"):
        make, at = TERMS[name]
        z = make(w).prox(matrix if np.ndim(at) == 2 else x, 0.7)
        total = total + np.sum(np.cos(np.arange(1.0, np.size(z) + 1.0)) * z.reshape(-1))
    return total


@pytest.mark.parametrize("name", TERMS)
def test_the_proximal_operator_is_a_minimum(name):
    make, x = TERMS[name]
    term, step = make(1.3), 0.7
    z = term.prox(x, step)

    def objective(z):
        return step * term.value(z) + 0.5 * np.sum((z - x) ** 2)

    least = objective(z)
    assert np.isfinite(least)
    for size in (1e-3, 0.1, 1.0):
        for d in RANDOM.normal(size=(30, *np.shape(x))) * size:
            # The objective is strongly convex: it rises by half the square of the distance at least.
            assert objective(z + d) >= least + 0.5 * np.sum(d**2) - 1e-7 * size


@pytest.mark.parametrize("name", TERMS)
def test_the_proximal_operator_is_differentiable(name):
    make, x = TERMS[name]
    weights = np.cos(np.arange(1.0, np.size(x) + 1.0)).reshape(np.shape(x))
    mo.testing.check_gradients(lambda w, x: np.sum(weights * make(w).prox(x, 0.7)), 1.3, x, order=1)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled_the_operators_are_the_same(target):
    value, slopes = mo.jit(mo.value_and_grad(proxes, argnums=(0, 1, 2)), target=target)(1.3, X, MATRIX)
    expected, others = mo.value_and_grad(proxes, argnums=(0, 1, 2))(1.3, X, MATRIX)
    assert np.isclose(value, expected, rtol=1e-12)
    for slope, other in zip(slopes, others):
        np.testing.assert_allclose(slope, other, rtol=1e-9, atol=1e-12)


def test_complex_entries_shrink_towards_zero():
    z = L1(1.0).prox(np.array([3.0 + 4.0j, 0.3j]), 2.0)
    assert np.allclose(z, [3.0 * 0.6 + 4.0j * 0.6, 0.0])


def test_total_variation_of_long_and_short_sequences():
    assert TotalVariation(1.0).prox(np.array([2.0]), 1.0).tolist() == [2.0]
    assert TotalVariation(1.0).prox(np.zeros(0), 1.0).size == 0
    y = np.repeat([0.0, 3.0, -1.0], 30) + 0.3 * RANDOM.normal(size=90)
    x = TotalVariation(2.0).prox(y, 1.0)
    dual = np.cumsum(y - x)  # the optimality conditions: within the tube, at its side where x changes
    assert np.max(np.abs(dual)) <= 2.0 + 1e-9 and abs(dual[-1]) < 1e-9
    jumps = np.diff(x)
    assert np.allclose(dual[:-1][jumps != 0.0], -2.0 * np.sign(jumps[jumps != 0.0]))


TALL = RANDOM.normal(size=(40, 12))
SPARSE = np.array([2.0, -3.0, 1.0] + 9 * [0.0])
DATA = TALL @ SPARSE + 0.1 * RANDOM.normal(size=40)
OTHER = RANDOM.normal(size=12)


def misfit(x, b):
    return 0.5 * np.sum((TALL @ x - b) ** 2)


def lasso(w, b):
    return OTHER @ proximal_gradient(misfit, L1(w), np.zeros(12), b, tol=1e-11).x


def split(w, b):
    return OTHER @ admm(LeastSquares(TALL, b), L1(w), np.eye(12), tol=1e-11).x


@pytest.mark.parametrize("method", ["fista", "ista"])
class TestProximalGradient:
    def test_the_lasso_meets_its_optimality_conditions(self, method):
        found = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, method=method)
        slope = TALL.T @ (TALL @ found.x - DATA)
        zero = found.x == 0.0
        assert found.converged and 5 <= np.sum(zero) < 12 and found.iterations < 60
        assert np.all(np.abs(slope[zero]) <= 4.0) and np.allclose(slope[~zero], -4.0 * np.sign(found.x[~zero]))
        assert np.isclose(found.value, misfit(found.x, DATA) + 4.0 * np.sum(np.abs(found.x)))

    def test_resumed_it_is_the_same_search(self, method):
        whole = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, method=method)
        part = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, method=method, max_iterations=3, resumable=True)
        state = pickle.loads(pickle.dumps(part.state))
        rest = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, method=method, resume=state)
        assert part.status is Status.MAX_ITERATIONS and rest.x.tobytes() == whole.x.tobytes()

    def test_without_a_term_it_finds_the_minimum_of_a_smooth_function(self, method):
        def f(x):
            return np.sum((1 - x[:-1]) ** 2 + 10 * (x[1:] - x[:-1] ** 2) ** 2)

        found = proximal_gradient(f, Zero(), np.array([-1.2, 1.0]), method=method)
        assert found.converged and np.allclose(found.x, 1.0, atol=1e-6)


def test_a_constrained_minimum_is_that_of_the_quadratic_program():
    P, q = TALL.T @ TALL, -TALL.T @ DATA
    found = proximal_gradient(misfit, Indicator(onto.simplex), np.full(12, 1.0 / 12), DATA)
    expected = quadratic_program(P, q, np.ones((1, 12)), 1.0, 1.0, bounds=(0.0, None))
    np.testing.assert_allclose(found.x, expected.x, atol=1e-7)


def test_a_structure_with_one_term_for_each_part():
    def f(model):
        return 0.5 * np.sum((TALL @ model["weights"] + model["bias"] - DATA - 2.0) ** 2)

    h = Separable({"weights": L1(4.0), "bias": Zero()})
    found = proximal_gradient(f, h, {"weights": np.zeros(12), "bias": 0.0})
    assert found.converged and np.sum(found.x["weights"] == 0.0) >= 5
    assert abs(np.sum(TALL @ found.x["weights"] + found.x["bias"] - DATA - 2.0)) < 1e-6


@pytest.mark.parametrize("target", ["eager", "native", "xla"])
@pytest.mark.parametrize("solve", [lasso, split])
def test_the_derivative_by_weight_and_data(solve, target):
    slope = mo.value_and_grad(solve, argnums=(0, 1))
    value, (dw, db) = (slope if target == "eager" else mo.jit(slope, target=target))(4.0, DATA)
    # On the entries that stay different from zero, x = (AᵀA)⁻¹ (Aᵀ b - w sign x).
    x = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, tol=1e-11).x
    kept = x != 0.0
    A = TALL[:, kept]
    assert np.isclose(value, OTHER @ x, atol=1e-8)
    assert np.isclose(dw, -OTHER[kept] @ np.linalg.solve(A.T @ A, np.sign(x[kept])), rtol=1e-7)
    np.testing.assert_allclose(db, OTHER[kept] @ np.linalg.solve(A.T @ A, A.T), rtol=1e-6, atol=1e-9)


def test_the_krylov_adjoint_and_the_derivative_of_the_value():
    def least(w, adjoint):
        return proximal_gradient(misfit, L1(w), np.zeros(12), DATA, tol=1e-11, adjoint=adjoint).value

    x = proximal_gradient(misfit, L1(4.0), np.zeros(12), DATA, tol=1e-11).x
    for adjoint in ("implicit", "krylov"):
        assert np.isclose(mo.grad(lambda w: least(w, adjoint))(4.0), np.sum(np.abs(x)), rtol=1e-8)  # noqa: B023


@pytest.mark.parametrize("kind", ["array", "sparse"])
def test_splitting_denoises_an_image_by_its_total_variation(kind):
    image = np.zeros((6, 6))
    image[2:5, 1:4] = 1.0
    noisy = (image + 0.1 * RANDOM.normal(size=(6, 6))).reshape(-1)
    step, unit = (
        scipy.sparse.diags_array([-np.ones(5), np.ones(5)], offsets=[0, 1], shape=(5, 6)),
        scipy.sparse.eye_array(6),
    )
    K = scipy.sparse.vstack([scipy.sparse.kron(unit, step), scipy.sparse.kron(step, unit)], format="csr")
    K = K if kind == "sparse" else K.toarray()
    found = admm(Shifted(SquaredL2(), noisy), L1(0.1), K)
    assert found.converged, found.message
    # The dual problem is a quadratic program within bounds: x = y - Kᵀ u.
    dense = K.toarray() if kind == "sparse" else K
    u = quadratic_program(dense @ dense.T, -dense @ noisy, bounds=(-0.1, 0.1)).x
    np.testing.assert_allclose(found.x, noisy - dense.T @ u, atol=1e-6)
    assert np.max(np.abs(found.multipliers)) <= 0.1 + 1e-9
    slope = mo.grad(lambda s: admm(Shifted(SquaredL2(), s * noisy), Huber(0.1, 0.01), K, tol=1e-10).value)(1.0)
    smooth = lambda s: (
        minimize(  # noqa: E731
            lambda x: 0.5 * np.sum((x - s * noisy) ** 2) + Huber(0.1, 0.01).value(dense @ x), noisy, tol=1e-9
        ).value
    )
    assert np.isclose(slope, ridders(lambda d: smooth(1.0 + d), 0.01)[0], rtol=1e-6)


def test_a_solution_that_is_not_unique_has_no_derivative():
    twice = np.concatenate([TALL[:, :1], TALL[:, :1]], axis=1)

    def f(x, b):
        return 0.5 * np.sum((twice @ x - b) ** 2)

    with pytest.raises(mo.MorulaError, match="Jacobian of the proximal gradient step is singular at the minimum"):
        mo.grad(lambda b: proximal_gradient(f, L1(1.0), np.ones(2), b).x[0])(DATA)


def test_a_function_without_a_bound_is_said_so():
    assert proximal_gradient(lambda x: -np.sum(x**2), L1(1.0), np.full(2, 3.0)).status is Status.UNBOUNDED


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: proximal_gradient(misfit, abs, np.zeros(12), DATA), "h is a builtin_function_or_method, expected a term"),
        (lambda: proximal_gradient(misfit, L1(1.0), np.zeros(12), DATA, method="bfgs"), "no method 'bfgs'; there are 'fista'"),
        (lambda: proximal_gradient(lambda x: np.sum(np.log(x)), Zero(), -np.ones(2)), "proximal_gradient: f.x0. is nan; expected a start at which f is finite"),
        (lambda: admm(Zero(), L1(1.0), np.ones(3)), r"K has shape \(3,\), expected a matrix"),
        (lambda: admm(Zero(), L1(1.0), np.eye(3), np.ones(2)), r"x0 has shape \(2,\), expected \(3,\) for K of shape \(3, 3\)"),
        (lambda: admm(Zero(), L1(1.0), np.eye(3), adjoint="unrolled"), "expected 'implicit' or 'krylov'"),
        (lambda: TotalVariation(1.0).prox(np.ones((2, 2)), 1.0), r"x has shape \(2, 2\), expected a vector"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, message):
    with pytest.raises(mo.BadInput, match=message):
        call()
