"""``method="auto"`` uses the explicit method on problems that are not stiff, the other one on stiff ones, and both in turn."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import odesolve
from morula.ode.steppers.switching import Choice

from .problems import published, van_der_pol


def test_a_problem_that_is_not_stiff_is_solved_as_by_the_explicit_method():
    f, y0, span, args, _ = published("lotka")
    auto, explicit = (odesolve(f, y0, span, *args, method=name) for name in ("auto", "tsit5"))
    assert auto.stats.implicit_steps == auto.stats.factorisations == 0
    assert np.allclose(auto.y, explicit.y, rtol=1e-12) and auto.stats.evaluations == explicit.stats.evaluations


def test_a_stiff_problem_costs_about_as_much_as_by_the_method_for_stiff_ones():
    f, y0, span, args, expected = published("hires")
    auto, stiff = (odesolve(f, y0, span, *args, method=name, rtol=1e-5, atol=1e-8) for name in ("auto", "rodas5p"))
    assert np.allclose(auto.y[-1], expected, rtol=1e-4)
    assert auto.stats.implicit_steps > 20 and auto.stats.accepted < 2 * stiff.stats.accepted


@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
def test_accuracy_of_fast_components_that_holds_the_step_within_the_stability_region_is_stiffness_too(rtol):
    """Robertson's reaction at tight tolerances: explicit steps stay far below the boundary, and are far too short."""
    f, y0, _, args, _ = published("rober")
    auto, stiff = (
        odesolve(f, y0, [0.0, 100.0], *args, method=name, rtol=rtol, atol=1e-4 * rtol).stats
        for name in ("auto", "rodas5p")
    )
    assert auto.accepted < 1.2 * stiff.accepted + 20 and auto.implicit_steps > 0.6 * stiff.implicit_steps


def test_trials_that_do_not_pay_become_rare():
    choice, steps = Choice(3.5), []
    for _ in range(1000):
        steps.append(choice.next())
        choice.note(0.6 * 3.5)
    assert sum(steps[:100]) > sum(steps[100:]) / 3 and 0 < sum(steps) < 30


def test_it_goes_back_where_the_stiffness_ends():
    """For t > 1 the problem is not stiff: the method for stiff problems makes only a few of the steps there."""

    def f(t, y):
        rate = 1e4 if t < 1.0 else 1.0
        return np.array([-rate * (y[0] - np.cos(5 * t)), 5.0 * y[2], -5.0 * y[1]])

    stats = [
        odesolve(f, np.array([1.0, 0.0, 1.0]), [0, end], method="auto", rtol=1e-5, tstops=[1.0]).stats
        for end in (1.0, 8.0)
    ]
    assert stats[0].implicit_steps > 20
    assert stats[1].implicit_steps - stats[0].implicit_steps < 0.5 * (stats[1].accepted - stats[0].accepted)


def test_gradients_and_dense_output():
    def loss(mu, method):
        solution = odesolve(
            van_der_pol, np.array([2.0, 0.0]), [0, 2.0], mu, method=method, rtol=1e-7, atol=1e-7, is_dense=True
        )
        return solution.y[-1, 0] + solution.sol(1.3)[0]

    expected = mo.value_and_grad(loss)(100.0, "rodas5p")
    assert np.allclose(mo.value_and_grad(loss)(100.0, "auto"), expected, rtol=1e-5)
    assert np.allclose(mo.jit(mo.value_and_grad(loss), static_argnums=1)(100.0, "auto"), expected, rtol=1e-5)


def test_fixed_steps_are_refused():
    with pytest.raises(mo.BadInput, match='method "auto" switches by what the steps show; leave out steps, or name'):
        odesolve(van_der_pol, np.array([2.0, 0.0]), [0, 1], 1.0, method="auto", steps=10)
