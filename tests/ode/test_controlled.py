"""Controlled equations: paths through data, closed forms, gradients by data and parameters on every path, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient, run_on

import morula as mo
from morula.ode import cdesolve, control_path, odesolve

TIMES = np.array([0.0, 0.5, 0.8, 1.0])
DATA = np.array([[0.0, 1.0], [0.7, 0.2], [0.1, -0.3], [-0.4, 0.6]])
KINDS = ["linear", "hermite"]


@pytest.mark.parametrize("kind", KINDS)
def test_paths_go_through_the_data(kind):
    path = control_path(TIMES, DATA, kind)
    np.testing.assert_allclose(path(TIMES), DATA, atol=1e-14)


def test_hermite_pieces_join_smoothly_and_look_one_difference_back():
    path = control_path(TIMES, DATA)
    slopes = np.diff(DATA, axis=0) / np.diff(TIMES)[:, None]
    for i in (1, 2):
        np.testing.assert_allclose(path.derivative(TIMES[i]), slopes[i - 1], atol=1e-12)
        np.testing.assert_allclose(path.derivative(TIMES[i] - 1e-9), slopes[i - 1], atol=1e-6)
    np.testing.assert_allclose(path.derivative(0.0), slopes[0], atol=1e-12)
    changed = DATA.copy()
    changed[3] += 1.0
    np.testing.assert_array_equal(control_path(TIMES, changed)(0.79), path(0.79))


GROWTH = np.array([0.3, -0.2])


@pytest.mark.parametrize("kind", KINDS)
def test_an_equation_whose_channels_commute_has_the_exponential_of_the_path(kind):
    path = control_path(TIMES, DATA, kind)
    found = cdesolve(lambda t, y: y[:, None] * GROWTH, np.ones(1), [0.0, 0.3, 1.0], control=path, rtol=1e-9, atol=1e-9)
    exact = np.exp([(path(t) - path(0.0)) @ GROWTH for t in (0.0, 0.3, 1.0)])
    np.testing.assert_allclose(found.y[:, 0], exact, atol=1e-8)


def test_a_linear_control_does_not_search_for_the_data_by_rejected_steps():
    """Steps end there; one may be rejected because the control turns steeper."""
    found = cdesolve(
        lambda t, y: y[:, None] * GROWTH, np.ones(1), [0.0, 1.0], control=control_path(TIMES, DATA, "linear")
    )
    assert found.stats.rejected <= 1


def test_a_solution_may_be_the_control():
    circle = odesolve(
        lambda t, y: np.array([-y[1], y[0]]), np.array([1.0, 0.0]), [0.0, 1.0], is_dense=True, rtol=1e-9
    ).sol

    def area(t, y):  # of the sector that the circle covers, beside the two channels
        return np.array([[1.0, 0.0], [0.0, 1.0], [-y[1] / 2, y[0] / 2]])

    found = cdesolve(area, np.array([1.0, 0.0, 0.0]), [0.0, 1.0], control=circle, rtol=1e-8, atol=1e-9)
    assert found.y[-1, 2] == pytest.approx(0.5, abs=1e-6)


def turned(t, y, a):
    return np.tanh(np.stack((a * y, y * y + a[::-1]), axis=1))


def loss_of(kind):
    def loss(data, a):
        path = control_path(TIMES[:3], data, kind)
        y = cdesolve(turned, np.array([1.0, 0.5]), [0.0, 0.8], a, control=path, method="heun", steps=2).y
        return np.sum(y[-1] ** 2)

    return loss


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", PATHS)
def test_gradients_reach_data_and_parameters(path, kind):
    check_gradient(path, loss_of(kind), DATA[:3], np.array([0.5, -0.4]))


@pytest.mark.parametrize("path", ["eager", "native"])  # XLA takes 40 s to compile it
def test_adaptive_steps_end_at_the_data_of_a_linear_control(path):
    def end(data):
        return cdesolve(
            lambda t, y: y[:, None] * GROWTH, np.ones(1), [0.0, 1.0], control=control_path(TIMES, data, "linear")
        ).y[-1, 0]

    value, slope = run_on(path)(mo.value_and_grad(end))(DATA)
    exact = np.exp((DATA[-1] - DATA[0]) @ GROWTH)
    assert value == pytest.approx(exact, rel=1e-6)
    np.testing.assert_allclose(slope, np.outer([-1, 0, 0, 1], GROWTH) * exact, atol=1e-5)


PATH = control_path(TIMES, DATA)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: control_path([0.0], [[1.0]]), "the times must rise, and there must be at least two"),
        (lambda: control_path([0.0, 0.0], [1.0, 2.0]), "the times must rise"),
        (lambda: control_path(TIMES, DATA[:3]), "values has shape \\(3, 2\\) and dtype float64; expected real numbers \\(4, d\\)"),
        (lambda: control_path(TIMES, DATA * np.nan), "not finite; fill in what was not observed"),
        (lambda: control_path(TIMES, DATA, "cubic"), "interpolation is 'cubic'; expected \"hermite\" or \"linear\""),
        (lambda: cdesolve(1.0, np.ones(1), [0, 1], control=PATH), "f is float; cdesolve needs a function"),
        (lambda: cdesolve(turned, np.ones(2), [0, 1], control=DATA), "control is ndarray; give control_path\\(times, values\\)"),
        (lambda: cdesolve(turned, 1.0, [0, 1], control=PATH), "y0 has shape \\(\\); cdesolve needs a vector"),
        (lambda: cdesolve(turned, np.ones(2), [0, 2], control=PATH), "ts goes from 0 to 2; the control is known from 0 to 1"),
        (lambda: cdesolve(lambda t, y: y, np.ones(2), [0, 1], control=PATH), "f returned shape \\(2,\\); the state and the control need \\(2, 2\\)"),
        (
            lambda: cdesolve(turned, np.ones(2), [0, 1], control=odesolve(lambda t, y: y, 1.0, [0, 1], is_dense=True).sol),
            "the control is not a vector at each time",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()
