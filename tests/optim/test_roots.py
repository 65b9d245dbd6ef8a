"""Systems of equations and fixed points: convergence, structures, derivatives, and refusals."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import morula as mo
from morula.optim import Status, fixed_point, root
from morula.optim.roots import Anderson, Broyden, DFSane, Iteration, Newton

from .more_garbow_hillstrom import PROBLEMS

METHODS = ("newton", "broyden", "chord", "trust region", "df-sane")
SYSTEMS = {"rosenbrock", "powell singular", "discrete boundary value", "discrete integral equation", "broyden tridiagonal", "broyden banded", "helical valley"}  # fmt: skip


def circle(x, a):
    return np.stack([x[0] ** 2 + x[1] ** 2 - a, x[0] - x[1]])


X0 = np.array([1.0, 2.0])


@pytest.mark.parametrize("method", METHODS[:4])
@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.name in SYSTEMS], ids=lambda p: p.name)
def test_solves_the_more_garbow_hillstrom_system(problem, method):
    found = root(problem.residuals, problem.start, method=method, tol=1e-9, max_iterations=1000)
    if problem.name == "powell singular" and method == "chord":  # converges sublinearly where the Jacobian is singular
        assert found.converged or np.max(np.abs(problem.residuals(found.x))) < 1e-3
        return
    assert found.converged, found.message
    assert np.max(np.abs(problem.residuals(found.x))) < 1e-8


@pytest.mark.parametrize("method", METHODS)
class TestEachMethod:
    def test_the_derivative_of_a_root(self, method):
        # x = sqrt(a / 2) in both entries
        slope = mo.grad(lambda a: np.sum(root(circle, X0, a, method=method).x))(4.0)
        assert np.isclose(slope, 2 * 0.25 / math.sqrt(2.0), rtol=1e-9)

    def test_compiled_it_is_the_same_search(self, method):
        found, expected = (
            mo.jit(lambda a: root(circle, X0, a, method=method), target="native")(4.0),
            root(circle, X0, 4.0, method=method),
        )
        assert found.converged and found.iterations == expected.iterations
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-12)

    def test_continues_bitwise_from_a_pickle(self, method):
        whole = root(circle, X0, 4.0, method=method)
        part = root(circle, X0, 4.0, method=method, max_iterations=2, resumable=True)
        rest = root(circle, X0, 4.0, method=method, resume=pickle.loads(pickle.dumps(part.state)))
        assert part.status is Status.MAX_ITERATIONS and rest.x.tobytes() == whole.x.tobytes()


class TestRoot:
    def test_newton_converges_quadratically(self):
        measures = root(circle, X0, 4.0, history=True).history[:, 1]
        assert measures[-1] < 10 * measures[-2] ** 2 + 1e-15

    def test_newton_evaluates_less_often_than_chord_and_broyden_needs_few_jacobians(self):
        calls = []

        def jacobian(x, a):
            calls.append(1)
            return np.array([[2 * x[0], 2 * x[1]], [1.0, -1.0]])

        assert root(circle, X0, 4.0, jacobian=jacobian, method="broyden").converged and len(calls) == 1

    def test_on_xla_and_its_derivative(self):
        def loss(a):
            return np.sum(root(circle, X0, a).x)

        value, slope = mo.jit(mo.value_and_grad(loss), target="xla")(4.0)
        assert np.isclose(value, 2 * math.sqrt(2.0)) and np.isclose(slope, 0.5 / math.sqrt(2.0))

    def test_a_structure_and_complex_unknowns(self):
        found = root(lambda p: {"a": p["a"] ** 2 - 2, "b": p["a"] * p["b"] - 1}, {"a": 1.0, "b": 1.0}).x
        assert np.isclose(found["a"], 2**0.5) and np.isclose(found["b"], 0.5**0.5)
        z = root(lambda z: z**2 + 1, 0.5 + 0.5j)
        assert z.converged and np.isclose(z.x, 1j)

    def test_the_derivative_of_complex_and_structured_roots(self):
        mo.testing.check_gradients(lambda a: abs(root(lambda z: z**2 + a, 0.5 + 0.5j).x), 2.0, order=1)
        mo.testing.check_gradients(
            lambda a: root(lambda p: {"u": p["u"] ** 2 - a, "v": p["u"] * p["v"] - 1}, {"u": 1.0, "v": 1.0}).x["v"], 2.0
        )

    @pytest.mark.parametrize("adjoint, error", [("krylov", 1e-9), ("unrolled", 1e-4)])
    def test_by_other_adjoints(self, adjoint, error):
        slope = mo.grad(lambda a: np.sum(root(circle, X0, a, adjoint=adjoint).x))(4.0)
        assert np.isclose(slope, 0.5 / math.sqrt(2.0), rtol=error)

    @pytest.mark.parametrize("method", METHODS)
    def test_no_root_is_said_so(self, method):
        found = root(lambda x: np.stack([x[0], x[1] ** 2 + 1]), np.array([0.3, 0.7]), method=method)
        assert not found.converged
        with pytest.raises(mo.MorulaError, match="the search found no root, so there is no derivative"):
            mo.grad(lambda a: root(lambda x: x**2 + a, 0.7, method=method).x)(1.0)

    def test_a_singular_start_is_left(self):
        assert (
            root(lambda x: np.stack([x[0] ** 2 - 1, x[1] - x[0]]), np.array([0.0, 0.5]), max_iterations=50).iterations
            > 0
        )

    def test_a_root_that_is_not_isolated_has_no_derivative(self):
        with pytest.raises(
            mo.MorulaError, match="the Jacobian is singular at the root.*check that the root is isolated"
        ):
            mo.grad(lambda a: np.sum(root(lambda x: np.stack([x[0] + x[1] - a, 2 * (x[0] + x[1] - a)]), X0).x))(3.0)

    def test_undamped_newton_can_cycle_where_the_damped_one_converges(self):
        f = np.arctan
        assert root(f, 3.0).converged
        assert not root(f, 3.0, method=Newton(damped=False)).converged

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda: root(3, X0), r"root\(f, x0\): f is a int, expected a function of x0"),
            (
                lambda: root(lambda x: x[:1], X0),
                "f returned 1 numbers for 2 unknowns, expected as many; use least_squares",
            ),
            (lambda: root(lambda x: x / 0.0, X0), r"f\(x0\) holds NaN or Inf"),
            (lambda: root(circle, X0, 1.0, method="secant"), "no method 'secant'; there are 'newton', 'broyden'"),
            (lambda: root(circle, X0, 1.0, tol=0), "tol is 0, expected a positive number"),
            (lambda: root(circle, X0, 1.0, adjoint="x"), "adjoint is 'x', expected one of"),
            (lambda: root(circle, np.array([1.0, np.nan]), 1.0), "x0 holds NaN or Inf"),
        ],
    )
    def test_bad_input_is_refused(self, call, message):
        with pytest.raises(mo.BadInput, match=message), np.errstate(all="ignore"):
            call()


def damped_cosine(x, a):
    return 0.9 * np.cos(a * x)


A = np.array([1.0, 0.5, 0.2])


@pytest.mark.parametrize("method", ["anderson", "iteration", "aitken"])
class TestFixedPoint:
    def test_is_found_and_differentiated(self, method):
        found = fixed_point(damped_cosine, np.ones(3), A, method=method, tol=1e-13)
        x = found.x
        assert found.converged and np.allclose(x, damped_cosine(x, A), atol=1e-12)
        slopes = mo.grad(lambda a: np.sum(fixed_point(damped_cosine, np.ones(3), a, method=method, tol=1e-13).x))(A)
        s = 0.9 * np.sin(A * x)
        assert np.allclose(slopes, -s * x / (1 + s * A), rtol=1e-10)

    def test_compiled_it_is_the_same_search(self, method):
        found, expected = (
            mo.jit(lambda a: fixed_point(damped_cosine, np.ones(3), a, method=method))(A),
            fixed_point(damped_cosine, np.ones(3), A, method=method),
        )
        assert found.iterations == expected.iterations
        np.testing.assert_allclose(found.x, expected.x, atol=1e-10)


def test_anderson_solves_a_linear_system_in_as_many_steps_as_unknowns(rng):
    M, b = 0.9 * np.linalg.qr(rng.standard_normal((4, 4)))[0], rng.standard_normal(4)
    found = fixed_point(lambda x: M @ x + b, np.zeros(4), method=Anderson(memory=6))
    assert found.converged and found.iterations <= 7
    np.testing.assert_allclose(found.x, np.linalg.solve(np.eye(4) - M, b), rtol=1e-8)


def test_damping_makes_an_iteration_converge():
    def g(x):
        return -1.5 * x + 5.0

    assert not fixed_point(g, 1.0, method="iteration", max_iterations=200).converged
    assert np.isclose(fixed_point(g, 1.0, method=Iteration(damping=0.5)).x, 2.0)


def test_the_spectral_method_solves_many_equations_without_a_jacobian():
    names = {"discrete boundary value", "discrete integral equation", "broyden tridiagonal", "broyden banded"}
    for problem in (p for p in PROBLEMS if p.name in names):
        found = root(problem.residuals, problem.start, method="df-sane", tol=1e-9)
        assert found.converged and found.evaluations < 100
    n = 2000
    found = root(lambda x: np.exp(x) - 1.0, np.arange(1.0, n + 1.0) / n, method=DFSane(memory=5))
    assert found.converged and np.max(np.abs(found.x)) < 1e-9


def test_the_roots_of_a_polynomial_move_with_its_coefficients():
    coefficients = np.array([1.0, -6.0, 11.0, -6.0])

    def number(c):
        return np.sum(np.abs(np.roots(c) - 1.5j) ** 3)

    z = np.roots(coefficients)
    # p(z) = 0: dz = -Σ zᵏ dcₖ / p'(z), and all roots are real here.
    slopes = -np.vander(z, 4) / np.polyval(np.polyder(coefficients), z)[:, None]
    expected = (3.0 * np.abs(z - 1.5j) * z) @ slopes
    for slope in (mo.grad(number), mo.jit(mo.grad(number)), mo.jit(mo.grad(number), target="xla")):
        np.testing.assert_allclose(slope(coefficients), expected, rtol=1e-9)


def test_the_one_step_adjoint_leaves_the_derivative_of_the_map_out():
    def x(a, adjoint):
        return fixed_point(lambda x: a + 0.1 * np.sin(x), 0.5, adjoint=adjoint).x

    exact, approximate = mo.grad(x)(1.0, "implicit"), mo.grad(x)(1.0, "one-step")
    assert np.isclose(exact, 1.0 / (1.0 - 0.1 * np.cos(x(1.0, "implicit")))) and np.isclose(approximate, 1.0)


def test_the_krylov_adjoint_of_a_deep_equilibrium(rng):
    W, b = 0.1 * rng.standard_normal((30, 30)), rng.standard_normal(30)

    def loss(b, adjoint):
        return np.sum(fixed_point(lambda x: np.tanh(W @ x + b), np.zeros(30), adjoint=adjoint, tol=1e-12).x ** 2)

    np.testing.assert_allclose(mo.grad(loss)(b, "krylov"), mo.grad(loss)(b, "implicit"), rtol=1e-8)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: fixed_point(None, 1.0), r"fixed_point\(g, x0\): g is a NoneType"),
        (lambda: fixed_point(lambda x: x[:1], X0), "g returned 1 numbers for 2 unknowns"),
        (lambda: fixed_point(lambda x: x * np.inf, 1.0), r"g\(x0\) holds NaN or Inf"),
        (lambda: DFSane(memory=0), "DFSane: memory is 0, expected 1 or more"),
        (lambda: Anderson(memory=0), "memory is 0, expected 1 or more"),
        (lambda: fixed_point(math.cos, 1.0, method=Broyden), "no method"),
    ],
)
def test_bad_input_of_fixed_points_is_refused(call, message):
    with pytest.raises(mo.BadInput, match=message), np.errstate(all="ignore"):
        call()
