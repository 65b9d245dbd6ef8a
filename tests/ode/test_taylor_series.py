"""The Taylor-series method: its order, its steps, its dense output, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import METHODS, Taylor, odesolve

from .problems import driven, driven_exact, kepler, kepler_exact, kepler_start


@pytest.mark.parametrize("order, steps", [(2, 80), (5, 40), (9, 12)])
def test_the_order_of_convergence_is_any(order, steps):
    exact = driven_exact(2.0)
    errors = [
        abs(odesolve(driven, driven_exact(0.0), [0, 2.0], method=Taylor("t", order), steps=n).y[-1] - exact).max()
        for n in (steps, 2 * steps)
    ]
    assert order - 0.3 < np.log2(errors[0] / errors[1]) < order + 1.5


def test_the_coefficients_are_those_of_the_solution():
    """The dense output of a step of y' = y is the truncated series of exp."""
    solution = odesolve(lambda t, y: y, 1.0, [0, 0.5], method=Taylor("t", 6), rtol=1e6, first_step=0.5, is_dense=True)
    powers = np.arange(1.0, 7)
    assert np.allclose(solution.sol.coefficients[0, :, 0], 0.5**powers / np.cumprod(powers), rtol=1e-14)


@pytest.mark.parametrize("tolerance", [1e-5, 1e-13])
def test_order_and_step_follow_the_tolerance(tolerance):
    ts = np.linspace(0.0, 10.0, 101)
    solution = odesolve(kepler, kepler_start(0.3), ts, method="taylor", rtol=tolerance, atol=tolerance)
    assert solution.stats.rejected == 0
    assert abs(solution.y - kepler_exact(ts, 0.3)).max() < 30 * tolerance
    assert solution.stats.accepted < 60  # the order rises, not the number of steps


def test_the_last_two_terms_of_each_step_are_within_the_tolerance():
    order = METHODS["taylor"].order_for(1e-8)
    solution = odesolve(kepler, kepler_start(0.3), [0, 5.0], method="taylor", rtol=1e-8, atol=1e-8, is_dense=True)
    terms = solution.sol.coefficients / (1e-8 + 1e-8 * abs(solution.sol.states[:, None]))
    sizes = np.sqrt((terms[:-1] ** 2).mean(axis=2))
    assert sizes.shape[1] == order
    assert (sizes[:, -2:].max(axis=1) < 1).all() and (sizes[:, -2:].max(axis=1) > 0.3).all()


def test_complex_and_single_precision():
    y = odesolve(lambda t, y: (1j - t) * y, 1.0 + 0j, [0, 1.0], method="taylor", rtol=1e-10).y[-1]
    assert np.isclose(y, np.exp(1j - 0.5), rtol=1e-9)
    y = odesolve(lambda t, y: -y, np.ones(2, np.float32), [0, 1.0], method="taylor", rtol=1e-5).y[-1]
    assert y.dtype == np.float32 and np.allclose(y, np.exp(-1.0), rtol=1e-5)


def swing(x, ts, method, tol):
    rate = lambda t, y, k: np.stack([y[1], -k * np.sin(y[0]) + t])  # noqa: E731
    return np.sum(odesolve(rate, x[:2], ts, x[2], method=method, rtol=tol, atol=tol).y[1:] ** 2)


def derivatives(x, ts, method, tol):
    return mo.gradient(lambda x, ts: swing(x, ts, method, tol), x, ts)


@pytest.mark.parametrize("target", [None, "native"])
def test_derivatives_with_respect_to_values_rates_and_times(target):
    x, ts = np.array([1.0, 0.5, 3.0]), np.array([0.1, 0.3, 0.6])
    pair = lambda x, ts: derivatives(x, ts, Taylor("t5", 5), 1e-6)  # noqa: E731
    found = mo.jit(pair, target=target)(x, ts) if target else pair(x, ts)
    for a, b in zip(found, derivatives(x, ts, "dop853", 1e-10)):
        assert np.allclose(a, b, atol=2e-5)


def test_compiled_by_xla():
    """The order and the steps are those of the other paths, and so is the gradient."""
    loss = lambda rate: odesolve(lambda t, y: -rate * y, 1.0, [0, 0.5], method=Taylor("t3", 3), rtol=1e-4).y[-1]  # noqa: E731
    found, expected = mo.jit(mo.value_and_grad(loss), target="xla")(2.0), mo.value_and_grad(loss)(2.0)
    assert np.allclose(found, expected, rtol=1e-9) and np.isclose(found[1], -0.5 * np.exp(-1.0), rtol=1e-3)


def test_orders_that_do_not_exist():
    with pytest.raises(ValueError, match="the order of t is 1; expected at least 2"):
        Taylor("t", 1)


def test_a_singular_solution_ends_the_solve():
    failed = odesolve(lambda t, y: y * y, 1.0, [0, 2.0], method="taylor", throw=False)
    assert failed.status.name == "STEP_TOO_SMALL" and abs(failed.t_reached - 1) < 1e-6
