"""What users of other solvers complain of does not happen here, and nothing is lost when a solve fails."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import morula as mo
from morula.ode import Event, IntegrationFailed, Status, Tableau, odesolve

from .problems import lotka, robertson, van_der_pol

RATES = (1.5, 1.0, 3.0, 1.0)


def grow(t, y, rate):
    return rate * y


def test_the_default_number_of_steps_is_enough_where_scipy_needs_thousands():
    solution = odesolve(van_der_pol, np.array([2.0, 0.0]), [0.0, 3.0], 1000.0, rtol=1e-3, atol=1e-6)
    assert solution.success and solution.stats.accepted > 1000


def test_newtons_method_that_fails_makes_a_shorter_step():
    rates = (0.04, 3e7, 1e4)
    for method in ("bdf", "radau5", "kvaerno5"):
        solution = odesolve(robertson, np.array([1.0, 0.0, 0.0]), [0.0, 40.0], *rates, method=method, first_step=40.0)
        assert solution.success and solution.stats.rejected > 0


def test_dense_output_has_the_steps_that_were_taken_and_no_padding():
    sol = odesolve(lotka, np.ones(2), [0.0, 3.0], *RATES, is_dense=True, max_steps=5000).sol
    assert len(sol.starts) < 100 and np.all(np.isfinite(sol.coefficients))


def test_each_element_of_a_batch_has_its_own_steps():
    """A fast element does not change the steps, and so the digits, of a slow one."""
    solve = mo.vmap(lambda rate: odesolve(grow, np.ones(1), [0.0, 1.0], rate).y[-1, 0])
    assert solve(np.array([-1.0, -30.0]))[0] == pytest.approx(
        float(odesolve(grow, np.ones(1), [0.0, 1.0], -1.0).y[-1, 0]), rel=1e-14
    )


def test_gradients_of_a_batch():
    def loss(rates):
        return np.sum(mo.vmap(lambda rate: odesolve(grow, np.ones(1), [0.0, 1.0], rate, rtol=1e-8).y[-1, 0])(rates))

    rates = np.array([-1.0, 0.5])
    assert np.allclose(mo.grad(loss)(rates), np.exp(rates), rtol=1e-6)


def test_gradients_of_a_batch_behind_an_event():
    """The state is halved where it passes 2: y(1) = exp(k) / 2 if that happens before."""
    event = Event(lambda t, y, rate: y[0] - 2.0, direction=1, change=lambda t, y, rate: 0.5 * y)

    def loss(rates):
        solve = lambda rate: odesolve(grow, np.ones(1), [0.0, 1.0], rate, events=event, rtol=1e-8, atol=1e-8).y[-1, 0]  # noqa: E731
        return np.sum(mo.vmap(solve)(rates))

    rates = np.array([0.9, 0.3])
    assert np.allclose(mo.grad(loss)(rates), [0.5 * np.exp(0.9), np.exp(0.3)], rtol=1e-6)


def test_gradients_of_second_order_behind_an_event():
    """After the event at y = 2 the rate changes its sign: y(1) = 2 exp(-(k - log 2)) for k the rate."""

    def last(k):
        event = Event(lambda t, y, k: y[0] - 2.0, direction=1, change=lambda t, y, k: np.array([y[0], -y[1]]))
        f = lambda t, y, k: np.stack([k * y[1] * y[0], 0.0 * y[1]])  # noqa: E731
        return odesolve(f, np.ones(2), [0.0, 1.0], k, events=event, rtol=1e-9, atol=1e-9).y[-1, 0]

    value = 4.0 * np.exp(-1.2)
    assert np.isclose(last(1.2), value, rtol=1e-6)
    assert np.isclose(mo.grad(last)(1.2), -value, rtol=1e-5)
    assert np.isclose(mo.grad(mo.grad(last))(1.2), value, rtol=1e-4)


def test_a_step_that_becomes_too_small_says_when_and_keeps_what_was_computed():
    with pytest.raises(IntegrationFailed, match="step became too small to advance the time at t = 1") as caught:
        odesolve(lambda t, y: y**2, 1.0, [0.0, 0.5, 0.9, 2.0])
    solution = caught.value.solution
    assert np.allclose(solution.y[:3], [1.0, 2.0, 10.0], rtol=1e-4) and np.isnan(solution.y[3])
    assert solution.status is Status.STEP_TOO_SMALL and np.isclose(solution.t_reached, 1.0, atol=1e-4)


@pytest.mark.parametrize("method", ["tsit5", "rodas5p", "bdf"])
def test_a_step_below_the_limit_ends_the_solve(method):
    """The pole of y at t = 1 needs ever shorter steps; a smooth solution does not meet the limit."""
    with pytest.raises(
        IntegrationFailed, match=r"a step of min_step = 1e-05 is not accurate enough at t = (0\.99|1)"
    ) as caught:
        odesolve(lambda t, y: y**2, 1.0, [0.0, 0.5, 2.0], method=method, min_step=1e-5)
    solution = caught.value.solution
    assert solution.status is Status.STEP_TOO_SMALL and "smaller than min_step" in solution.message
    assert np.isclose(solution.y[1], 2.0, rtol=1e-3) and 0.99 < solution.t_reached < 1.01
    assert np.isclose(
        odesolve(lambda t, y: -y, 1.0, [0.0, 1.0], method=method, min_step=1e-5).y[-1], np.exp(-1.0), rtol=1e-4
    )


@pytest.mark.parametrize("value", [-1.0, 2.0, None])
def test_a_limit_beyond_the_largest_step_is_refused(value):
    with pytest.raises(mo.BadInput, match=r"min_step = .*; expected a number from 0 to max_step = 1.0"):
        odesolve(grow, 1.0, [0.0, 1.0], 1.0, min_step=value, max_step=1.0)


def test_a_class_in_place_of_an_instance_is_named():
    with pytest.raises(mo.BadInput, match="method <class .*Tableau.*> is not known; choose one of euler"):
        odesolve(grow, 1.0, [0.0, 1.0], 1.0, method=Tableau)


def test_solutions_are_pickled_and_shown_as_columns():
    solution = odesolve(lambda t, y: {"a": -y["a"], "b": y["a"][0]}, {"a": np.ones(2), "b": 0.0}, [0.0, 1.0])
    columns = pickle.loads(pickle.dumps(solution)).to_numpy()
    assert list(columns) == ["t", "a[0]", "a[1]", "b"] and np.allclose(columns["b"], [0.0, 1 - np.exp(-1)], atol=1e-5)
    assert list(odesolve(grow, 1.0, [0.0, 1.0], 1.0).to_numpy()) == ["t", "y"]


def test_a_table_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mo.MorulaError, match="to_pandas needs pandas .pip install pandas.; to_numpy does not"):
        odesolve(grow, 1.0, [0.0, 1.0], 1.0).to_pandas()


def test_plots():
    pytest.importorskip("matplotlib").use("Agg")
    solution = odesolve(lotka, np.ones(2), np.linspace(0.0, 5.0, 40), *RATES)
    axes = solution.plot()
    assert [line.get_label() for line in axes.lines] == ["[0]", "[1]"]
    portrait = solution.plot(phase=("[0]", "[1]"))
    assert np.array_equal(portrait.lines[0].get_xdata(), solution.y[:, 0])
    with pytest.raises(mo.BadInput, match=r"the solution has no column 'x'; its columns are t, \[0\], \[1\]"):
        solution.plot(phase=("x", "[1]"))
