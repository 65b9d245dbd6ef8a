"""Minimisation: the Moré-Garbow-Hillstrom problems, unknowns of any structure, stopping, and refusals."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.optim import LBFGS, Backtracking, ConjugateGradients, Newton, Status, minimize

from .more_garbow_hillstrom import PROBLEMS

METHODS = ("bfgs", "lbfgs")
WITH_HESSIAN = ("newton", "newton-cg", "trust region", "trust-krylov", "dogleg")
FURTHER = (*WITH_HESSIAN, "sr1", "cg")


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    g = np.zeros_like(x)
    g[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


# Ten steps do not hold a Hessian of condition 1e9.
BEYOND_LBFGS = {"meyer", "osborne 1"}
CASES = [(p, m) for p in PROBLEMS for m in METHODS if m != "lbfgs" or p.name not in BEYOND_LBFGS]


@pytest.mark.parametrize("problem, method", CASES, ids=[f"{p.name}, {m}" for p, m in CASES])
def test_reaches_a_minimum_of_the_more_garbow_hillstrom_problem(problem, method):
    residuals = problem.residuals
    result = minimize(lambda x: np.sum(residuals(x) ** 2), problem.start, method=method)
    assert result.converged, result.message
    assert any(np.isclose(result.value, least, rtol=1e-6, atol=1e-11) for least in problem.minima)


EASY = {"rosenbrock", "freudenstein roth", "beale", "helical valley", "bard", "powell singular", "wood", "brown dennis"}


@pytest.mark.parametrize("method", FURTHER)
@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.name in EASY], ids=lambda p: p.name)
def test_further_methods_reach_a_minimum(problem, method):
    result = minimize(lambda x: np.sum(problem.residuals(x) ** 2), problem.start, method=method)
    assert result.converged, result.message
    assert any(np.isclose(result.value, least, rtol=1e-6, atol=1e-11) for least in problem.minima)


@pytest.mark.parametrize("method", WITH_HESSIAN)
def test_newton_converges_quadratically(method):
    measures = minimize(lambda x: np.sum(np.cosh(x) + x**2 / 2), np.arange(1.0, 4), method=method, history=True).history
    assert measures[-1, 1] < 1e-8 and measures[-1, 1] < measures[-2, 1] ** 1.5


@pytest.mark.parametrize("method", ["trust region", "newton", "trust-krylov"])
def test_a_saddle_point_is_left(method):
    result = minimize(lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4, np.array([1.0, 1e-6]), method=method)
    assert result.converged and np.isclose(abs(result.x[1]), 0.5**0.5, atol=1e-7)


def test_the_exact_trust_region_leaves_a_saddle_without_a_slope_along_the_way_down():
    result = minimize(lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4, np.array([1.0, 0.0]), method="trust region")
    assert result.converged and np.isclose(result.value, -0.25)


def test_gradient_descent_solves_a_quadratic():
    result = minimize(
        lambda x: np.sum(np.array([1.0, 4.0, 9.0]) * (x - 1) ** 2), np.zeros(3), method="gradient descent"
    )
    assert result.converged and np.allclose(result.x, 1.0)


@pytest.mark.parametrize(
    "method",
    [
        LBFGS(memory=2),
        LBFGS(line_search=Backtracking()),
        Newton(line_search=Backtracking()),
        ConjugateGradients(update="polak-ribiere"),
    ],
    ids=str,
)
def test_methods_are_objects_with_settings(method):
    result = minimize(rosenbrock, np.array([-1.2, 1.0, 1.0]), method=method)
    assert result.converged and np.allclose(result.x, 1.0, atol=1e-6)


class TestUnknowns:
    def test_a_number(self):
        result = minimize(lambda x: (x - 2.0) ** 2 + 1.0, 0.0)
        assert type(result.x) is float and np.isclose(result.x, 2.0)
        assert np.isclose(result.value, 1.0) and abs(result.gradient) < 1e-8

    def test_integers_are_promoted(self):
        assert np.isclose(minimize(lambda x: (x - 0.5) ** 2, 3).x, 0.5)
        assert np.allclose(minimize(lambda x: np.sum((x - 0.5) ** 2), np.array([3, 4])).x, 0.5)

    def test_an_array_of_any_shape(self):
        target = np.arange(6.0).reshape(2, 3)
        result = minimize(lambda x: np.sum((x - target) ** 4 + (x - target) ** 2), np.zeros((2, 3)))
        assert np.allclose(result.x, target)

    def test_a_structure(self):
        def loss(p):
            a, (b, c) = p["a"], p["rest"]
            return np.sum((a - 1) ** 2) + (b - 2 * a[0]) ** 2 + (c[0] - b) ** 2

        result = minimize(loss, {"a": np.zeros(2), "rest": [0, (5.0,)], "name": "kept"})
        assert np.allclose(result.x["a"], 1) and np.allclose(result.x["rest"][0], 2)
        assert np.allclose(result.x["rest"][1], 2) and isinstance(result.x["rest"][1], tuple)
        assert result.x["name"] == "kept"

    def test_an_object(self):
        @dataclass
        class Line:
            slope: float
            offset: float
            label: str = "line"

            def __call__(self, t):
                return self.slope * t + self.offset

        t = np.linspace(0, 1, 5)
        start = Line(0.0, 0.0)
        result = minimize(lambda line: np.sum((line(t) - 3 * t + 1) ** 2), start)
        assert isinstance(result.x, Line) and result.x.label == "line"
        assert np.isclose(result.x.slope, 3) and np.isclose(result.x.offset, -1)
        assert start.slope == 0.0

    def test_complex_numbers_are_varied_in_the_plane(self):
        result = minimize(lambda z: np.sum(np.abs(z - (1 + 2j)) ** 2 + np.abs(z) ** 4), np.array([0.5 + 0j, 1j]))
        assert result.converged and np.allclose(np.angle(result.x), np.angle(1 + 2j))

    def test_float32_stays_float32_and_ends_at_its_rounding(self):
        seen = set()

        def loss(x):
            seen.add(x.dtype)
            return np.sum(np.float32(100) * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

        result = minimize(loss, np.array([-1.2, 1.0], np.float32))
        assert seen == {np.dtype(np.float32)} and result.x.dtype == np.float32
        assert result.converged and np.allclose(result.x, 1, atol=1e-2)

    def test_other_arguments_are_passed_on(self):
        assert np.isclose(minimize(lambda x, a, b: a * (x - b) ** 2, 0.0, 3.0, 4.0).x, 4.0)


class TestSearch:
    @pytest.mark.parametrize("method", METHODS)
    def test_many_unknowns(self, method):
        n = 200 if method == "lbfgs" else 50
        result = minimize(rosenbrock, np.full(n, 1.1), method=method, gradient=rosenbrock_gradient)
        assert result.converged and np.allclose(result.x, 1, atol=1e-6)

    def test_a_given_gradient_is_used(self):
        calls = []

        def gradient(x):
            calls.append(1)
            return rosenbrock_gradient(x)

        given = minimize(rosenbrock, np.array([-1.2, 1.0]), gradient=gradient)
        derived = minimize(rosenbrock, np.array([-1.2, 1.0]))
        assert len(calls) == given.evaluations
        assert given.iterations == derived.iterations and np.allclose(given.x, derived.x)

    def test_converges_faster_than_linearly(self):
        values = []
        minimize(
            lambda x: np.sum(np.cosh(x) + x**2 / 2), np.arange(1.0, 4), callback=lambda r: values.append(r.value - 3)
        )
        late = [b / a for a, b in zip(values[-5:], values[-4:]) if a > 1e-14]
        assert late[-1] < 0.05

    def test_a_domain_with_walls(self):
        # log is NaN beyond 0 and the first step leads far beyond it.
        with np.errstate(invalid="ignore"):
            result = minimize(lambda x: x - np.log(x) + 1e-3 * x**4, 1e-4)
        assert result.converged and np.isclose(result.x + 0.0, 1 - 0.004, atol=1e-4)

    def test_a_kink_is_reported_where_it_stops_the_search(self):
        result = minimize(lambda x: np.sum(np.abs(x)) + 0.1 * np.sum(x), np.array([1.0, -3.0]))
        assert np.allclose(result.x, 0, atol=1e-6)

    def test_values_that_are_rounded_coarsely_do_not_stop_it_early(self):
        # The minimum is known to 1e-16 / 1e-8 from the slopes, while the value 1e8 hides all beyond 1e-4.
        result = minimize(lambda x: 1e8 + np.sum((x - np.arange(3)) ** 2 * np.array([1, 10, 100])), np.full(3, 7.0))
        assert result.converged and np.allclose(result.x, np.arange(3), atol=1e-3)

    @pytest.mark.parametrize("seed", range(8))
    def test_cancellation_within_f_is_not_taken_for_a_failure(self, seed):
        # The residuals at Meyer's minimum are differences of numbers 1e4 times as large.
        meyer = next(p for p in PROBLEMS if p.name == "meyer")
        start = meyer.start * (1 + 1e-3 * np.random.default_rng(seed).normal(size=3))
        result = minimize(lambda x: np.sum(meyer.residuals(x) ** 2), start)
        assert result.converged, result.message
        assert np.isclose(result.value, meyer.minima[0], rtol=1e-6)

    @pytest.mark.parametrize("error", [1e-6, 1e-3, 0.1])
    def test_a_wrong_gradient_is_not_taken_for_rounding(self, error):
        def wrong(x):
            return 2 * x + 4 * x**3 + np.where(x < 0.1, -error, error)

        result = minimize(lambda x: np.sum(x**2 + x**4), np.array([3.0, 2.0, 1.0]), gradient=wrong)
        assert not result.converged

    def test_the_callback_sees_every_iteration_and_can_stop(self):
        seen = []

        def callback(r):
            seen.append((r.iterations, r.value))
            return len(seen) == 5

        result = minimize(rosenbrock, np.array([-1.2, 1.0]), callback=callback)
        assert [i for i, _ in seen] == [1, 2, 3, 4, 5]
        assert sorted((v for _, v in seen), reverse=True) == [v for _, v in seen]
        assert not result.converged and result.message == "stopped by callback" and result.value == seen[-1][1]

    def test_a_start_at_the_minimum_takes_no_iteration(self):
        result = minimize(rosenbrock, np.ones(3))
        assert result.converged and result.iterations == 0 and result.evaluations == 1

    def test_too_few_iterations_say_so(self):
        result = minimize(rosenbrock, np.array([-1.2, 1.0]), max_iterations=3)
        assert not result.converged and result.status is Status.MAX_ITERATIONS and result.iterations == 3

    def test_a_wrong_gradient_is_noticed(self):
        result = minimize(rosenbrock, np.array([-1.2, 1.0]), gradient=lambda x: -rosenbrock_gradient(x))
        assert not result.converged and "its derivative is wrong" in result.message

    @pytest.mark.parametrize("method", ["bfgs", "trust-krylov"])
    def test_a_function_without_a_minimum_is_unbounded(self, method):
        result = minimize(lambda x: -x + 0.0 * x**2, 1.0, method=method)
        assert result.status is Status.UNBOUNDED and "decreases without bound" in result.message

    def test_the_history_holds_values_and_gradients(self):
        values = []
        result = minimize(rosenbrock, np.array([-1.2, 1.0]), history=True, callback=lambda r: values.append(r.value))
        assert result.history.shape == (result.iterations + 1, 2)
        assert result.history[1:, 0].tolist() == values and result.history[-1, 1] == result.gradient_norm

    @pytest.mark.parametrize("method", ["bfgs", "lbfgs", "cg", "trust region", "sr1"])
    def test_a_search_continues_bitwise_from_a_pickle(self, method):
        x0 = np.array([-1.2, 1.0, 0.5])
        whole = minimize(rosenbrock, x0, method=method)
        part = minimize(rosenbrock, x0, method=method, max_iterations=7, resumable=True)
        assert part.status is Status.MAX_ITERATIONS
        state = pickle.loads(pickle.dumps(part.state))
        for _ in range(2):  # the state is not used up
            rest = minimize(rosenbrock, x0, method=method, resume=state)
            assert (rest.iterations, rest.evaluations) == (whole.iterations, whole.evaluations)
            assert rest.x.tobytes() == whole.x.tobytes()

    def test_progress_is_shown(self, capsys):
        minimize(rosenbrock, np.array([-1.2, 1.0]), progress=True)
        assert "iterations" in capsys.readouterr().err

    def test_x_may_be_written_to(self):
        def loss(x):
            value = np.sum((x - 3.0) ** 2)
            x[:] = 0.0
            return value

        assert np.allclose(minimize(loss, np.ones(2), gradient=lambda x: 2 * (x - 3.0)).x, 3.0)


class TestBadInput:
    @pytest.mark.parametrize(
        "search, message",
        [
            (lambda: minimize(3, 1.0), "f is a int, expected a function of x0"),
            (lambda: minimize(rosenbrock, "x"), "x0 holds no number to vary"),
            (lambda: minimize(rosenbrock, {}), "x0 holds no number to vary"),
            (lambda: minimize(rosenbrock, np.array([1.0, np.nan])), "x0 holds NaN or Inf"),
            (lambda: minimize(rosenbrock, np.array([1.0, None])), "x0 is an array of Python objects"),
            (lambda: minimize(lambda x: x * np.nan, 1.0), r"f\(x0\) is nan"),
            (lambda: minimize(lambda x: x**2, 1.0, gradient=lambda x: np.nan), "the gradient at x0 is not finite"),
            (lambda: minimize(lambda x: x**2, np.ones(2), gradient=lambda x: x), r"an array of shape \(2,\)"),
            (lambda: minimize(lambda x: 1j * x, 1.0, gradient=lambda x: x), "a complex number, expected a real scalar"),
            (lambda: minimize(rosenbrock, np.ones(2), gradient=lambda x: x[:1] * 0), r"the gradient has shape \(1,\)"),
            (
                lambda: minimize(rosenbrock, np.ones(2), gradient=np.ones(2)),
                "gradient is a ndarray, expected a function",
            ),
            (
                lambda: minimize(rosenbrock, np.ones(2), method="simplex"),
                "no method 'simplex'; there are 'bfgs', 'lbfgs'",
            ),
            (lambda: minimize(rosenbrock, np.ones(2), tol=0), "tol is 0, expected a positive number"),
            (lambda: minimize(rosenbrock, np.ones(2), max_iterations=-1), "expected 0 or more"),
        ],
    )
    def test_says_what_was_given_and_what_was_expected(self, search, message):
        with pytest.raises(mo.BadInput, match=message):
            search()

    def test_a_function_of_many_values_is_refused(self):
        with pytest.raises(mo.MorulaError, match=r"\(2,\)"):
            minimize(lambda x: x**2, np.ones(2))


def valley(x, a):
    return a * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


COMPILED = [(m, "native") for m in (*METHODS, *FURTHER)] + [("trust-krylov", "xla")]


@pytest.mark.parametrize("method, target", COMPILED)
def test_a_compiled_search_is_the_same_search(method, target):
    def fit(x0, a):
        return minimize(valley, x0, a, method=method)

    x0 = np.array([-1.2, 1.0])
    found, expected = mo.jit(fit, target=target)(x0, 100.0), fit(x0, 100.0)
    assert found.converged and abs(found.iterations - expected.iterations) <= 2
    np.testing.assert_allclose(found.x, [1.0, 1.0], rtol=1e-7)


@pytest.mark.parametrize(
    "method, target, adjoint",
    [("bfgs", "native", "implicit"), ("lbfgs", "native", "krylov"), ("bfgs", "xla", "implicit")],
)
def test_the_derivative_of_a_compiled_minimum(method, target, adjoint):
    def loss(a):
        x = minimize(lambda x: np.sum((x - a) ** 2) + np.sum(x**4), np.zeros(2), method=method, adjoint=adjoint).x
        return np.sum(x**2)

    a = np.array([1.0, -0.5])
    x = minimize(lambda x: np.sum((x - a) ** 2) + np.sum(x**4), np.zeros(2)).x
    np.testing.assert_allclose(mo.jit(mo.grad(loss), target=target)(a), 2 * x * 2 / (2 + 12 * x**2), rtol=1e-6)


def test_a_batch_of_searches():
    starts = np.array([[-1.2, 1.0], [0.5, 0.5], [3.0, -2.0], [1.0, 1.0]])
    found = mo.jit(mo.vmap(lambda x0: minimize(valley, x0, 10.0).x))(starts)
    np.testing.assert_allclose(found, np.ones((4, 2)), rtol=1e-7)
