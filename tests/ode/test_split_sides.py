"""Additive Runge-Kutta methods: order with both parts coupled, stiff diffusion, derivatives on every path, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import Split, additive, esdirk, odesolve
from morula.ode.methods import ADDITIVE

from .problems import diffusing_brusselator, driven, driven_exact, published
from .rooted_trees import defects


def pull(t, y):
    return np.stack([y[1] - 3 * y[0], 0.5 * y[0] - 2 * y[1]]) * y[0]


COUPLED = Split(pull, lambda t, y: driven(t, y) - pull(t, y))


@pytest.mark.parametrize("method", ADDITIVE.values(), ids=ADDITIVE)
def test_the_explicit_coefficients_meet_the_order_conditions(method):
    for order in range(1, method.order + 1):
        assert abs(defects(method.explicit, method.weights, order)).max() < 1e-14
    assert np.allclose(method.explicit.sum(axis=1), method.implicit.c, atol=1e-11)
    assert abs(method.explicit_error.sum()) < 1e-15


@pytest.mark.parametrize("name, steps", [("implicit_euler", 800), ("kencarp3", 80), ("kencarp4", 80), ("kencarp5", 40)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    """Both parts are nonlinear and depend on each other; one depends on the time."""
    errors = [
        abs(
            odesolve(COUPLED, driven_exact(0.0), [0, 2], method=name, steps=n, rtol=1e-12, atol=1e-12).y[-1]
            - driven_exact(2.0)
        ).max()
        for n in (steps, 2 * steps)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - ADDITIVE[name].order) < 0.25


@pytest.mark.parametrize("name", ["kencarp3", "kencarp4", "kencarp5"])
def test_adaptive_steps_follow_the_tolerance(name):
    for tol in (1e-4, 1e-6):
        solution = odesolve(COUPLED, driven_exact(0.0), [0, 2], method=name, rtol=tol, atol=tol, is_dense=True)
        assert abs(solution.y[-1] - driven_exact(2.0)).max() < 100 * tol
        assert abs(solution.sol(1.3) - driven_exact(1.3)).max() < 300 * tol


def test_stiff_diffusion_with_a_banded_jacobian():
    """The reactions are explicit; the steps are far longer than those that are stable for explicit diffusion."""
    _, y0, span, (a, b, alpha), expected = published("bruss1d")

    def diffusion(t, y):
        return diffusing_brusselator(t, y, a, b, alpha) - reaction(t, y)

    def reaction(t, y):
        u, v = y[0::2], y[1::2]
        return np.stack([a + u * u * v - (b + 1) * u, b * u - u * u * v], axis=1).reshape(-1)

    solution = odesolve(Split(diffusion, reaction), y0, span, method="kencarp4", jacobian=(2, 2), rtol=1e-5, atol=1e-5)
    assert np.allclose(solution.y[-1], expected, atol=1e-3)
    assert solution.stats.accepted < 300


def test_a_state_with_a_structure():
    f = Split(lambda t, y: {"a": -50.0 * y["a"], "b": 0.0}, lambda t, y: {"a": 50.0 * y["b"], "b": -y["b"]})
    end = odesolve(f, {"a": 1.0, "b": 1.0}, [0.0, 1.0], method="kencarp5", rtol=1e-8, atol=1e-10).y
    assert abs(end["b"][-1] - np.exp(-1)) < 1e-7
    assert abs(end["a"][-1] - (50 / 49 * np.exp(-1) - np.exp(-50) / 49)) < 1e-7


def relaxed(y0, rate):
    f = Split(lambda t, y, rate: -rate * (y - np.cos(t)), lambda t, y, rate: y[::-1] * y * 0.5)
    return np.sum(odesolve(f, y0, [0.0, 0.3, 0.5], rate, method="kencarp3", rtol=1e-3, atol=1e-4).y ** 2)


def equal(y0, rate):
    f = Split(lambda t, y, rate: -rate * (y - np.cos(t)), lambda t, y, rate: y[::-1] * y * 0.5)
    return np.sum(odesolve(f, y0, [0.0, 0.5], rate, method="kencarp4", steps=2, rtol=1e-12, atol=1e-12).y ** 2)


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    check_gradient(path, equal, np.array([1.0, 2.0]), 20.0)


def test_second_derivatives():
    mo.testing.check_gradients(equal, np.array([1.0, 2.0]), 20.0)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_gradients_along_adaptive_steps_compiled(path):
    compiled = mo.jit(mo.value_and_grad(relaxed, (0, 1)), target=path)(np.array([1.0, 2.0]), 20.0)
    eager = mo.value_and_grad(relaxed, (0, 1))(np.array([1.0, 2.0]), 20.0)
    assert np.isclose(compiled[0], eager[0], rtol=1e-9)
    assert np.allclose(compiled[1][0], eager[1][0], rtol=1e-7) and np.isclose(compiled[1][1], eager[1][1], rtol=1e-7)


@pytest.mark.parametrize("change, message", [
    ({"method": "tsit5"}, "f is a Split, which tsit5 does not solve; choose one of implicit_euler, kencarp3"),
    ({"f": Split(1, pull)}, r"stiff of the Split is int; expected a function stiff\(t, y, \*args\)"),
    ({"f": Split(pull, None)}, "nonstiff of the Split is NoneType"),
    ({"f": pull, "method": ADDITIVE["kencarp3"]}, "kencarp3 is an additive method, and f is one function"),
    ({"mass": np.ones(2)}, "mass does not go together with a Split; give the sum"),
    ({"adjoint": "backsolve"}, 'a Split goes together with adjoint="discrete"'),
    ({"f": Split(pull, lambda t, y: np.ones(3))}, r"the derivative that f returned.*\(3,\)"),
    ({"y0": np.ones(2) + 0j}, "kencarp3 solves real states"),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"f": COUPLED, "y0": np.ones(2), "ts": [0, 1], "method": "kencarp3"} | change
    with pytest.raises(mo.BadInput, match=message):
        odesolve(**arguments)


def test_stages_that_are_not_found():
    split = Split(lambda t, y: y * y, lambda t, y: 0 * y)
    with np.errstate(all="ignore"), pytest.raises(mo.BadInput, match="the stages of kencarp4 were not found at t = 0"):
        odesolve(split, 1.0, [0.0, 4.0], method="kencarp4", steps=1)


def test_a_method_of_ones_own():
    """The trapezoidal rule for one part and Heun's method for the other."""
    method = additive(esdirk("trapezoid_heun", 2, 0.5, [[0.5]]), [[1.0]])
    errors = [
        abs(odesolve(COUPLED, driven_exact(0.0), [0, 1], method=method, steps=n, rtol=1e-12).y[-1] - driven_exact(1.0))
        for n in (100, 200)
    ]
    assert abs(np.log2(max(errors[0]) / max(errors[1])) - 2) < 0.2
