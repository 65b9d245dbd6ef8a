"""Steady states: roots of f that the solution runs into, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS

import morula as mo
from morula.ode import SteadyStateFailed, steady_state

from .problems import brusselator, diffusing_brusselator

START = np.array([1.5, 2.0])


def resting(a, b):
    return steady_state(brusselator, START, a, b).y[1]


@pytest.mark.parametrize("path", PATHS)
def test_value_and_gradient_of_a_reaction_at_rest(path):
    """x = a, y = b / a."""
    f = mo.value_and_grad(resting, (0, 1))
    value, slopes = (f if path == "eager" else mo.jit(f, target=path))(1.1, 1.7)
    assert np.isclose(value, 1.7 / 1.1) and np.allclose(slopes, [-1.7 / 1.21, 1 / 1.1])


def test_second_derivatives():
    hessian = mo.hessian(lambda p: resting(p[0], p[1]))(np.array([1.1, 1.7]))
    assert np.allclose(hessian, [[2 * 1.7 / 1.1**3, -1 / 1.21], [-1 / 1.21, 0.0]])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_unit_of_time_does_not_matter(scale):
    found = steady_state(lambda t, y: -scale * (y**3 - 8.0), 1.0, first_step=1e-2 / scale)
    assert np.isclose(found.y, 2.0, rtol=1e-10) and found.success


def test_the_state_that_the_solution_runs_into_is_found():
    """y' = y - y^3 rests at -1, 0 and 1; Newton's method from 0.5 would go to -1, and 0 is unstable."""
    assert np.isclose(steady_state(lambda t, y: y - y**3, 0.5).y, 1.0)


def test_structures_and_forms_of_the_jacobian():
    found = steady_state(lambda t, y, k: {"x": k - y["x"], "z": y["x"] - 2 * y["z"]}, {"x": 0.0, "z": np.zeros(2)}, 3.0)
    assert np.isclose(found.y["x"], 3.0) and np.allclose(found.y["z"], 1.5)
    y0 = np.tile([1.3, 3.0], 6)
    banded = steady_state(diffusing_brusselator, y0, 1.0, 1.5, 0.02, jacobian=(2, 2))
    assert np.allclose(banded.y, steady_state(diffusing_brusselator, y0, 1.0, 1.5, 0.02).y, atol=1e-8)


def test_a_solution_without_rest_is_an_error_with_the_last_state():
    turning = lambda t, y: np.stack([y[1], -y[0] - 0.1])  # noqa: E731
    with pytest.raises(SteadyStateFailed, match="no steady state was found in 20 steps: f has the size") as caught:
        steady_state(turning, np.array([2.0, 0.0]), max_iterations=20)
    assert caught.value.solution.iterations == 20
    assert not steady_state(turning, np.array([2.0, 0.0]), max_iterations=20, throw=False).success


@pytest.mark.parametrize("given, message", [
    ({"f": 1.0}, "f is float; steady_state needs a function"),
    ({"y0": 1j}, "y0 is complex; give its real and imaginary parts apart"),
    ({"first_step": 0.0}, "first_step = 0.0; it must be a positive number"),
    ({"f": lambda t, y: np.stack([y[1] - y[0], y[0] - y[1]]), "y0": np.array([1.0, 2.0])},
     "the Jacobian of f is singular where the solution comes to rest"),
])  # fmt: skip
def test_what_is_wrong_with_the_arguments_is_said(given, message):
    options = {"f": lambda t, y: -y, "y0": 1.0, **given}
    with pytest.raises(mo.BadInput, match=message):
        steady_state(options.pop("f"), options.pop("y0"), **options)
