"""Derivatives with respect to what only chooses the steps are refused with a reason: they were silently zero."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import Adjoint, Event, odesolve
from morula.ode.delay import ddesolve
from morula.ode.stochastic import sdesolve


def decay(t, y, rate):
    return -rate * y


def last(**settings):
    return odesolve(decay, np.ones(2), [0.0, 1.0], 1.0, **settings).y[-1].sum()


def crossing(**settings):
    event = Event(lambda t, y, rate: y[0] - 0.7)
    return odesolve(decay, np.ones(2), [0.0, 1.0], 1.0, events=event, **settings).events[0].t[0]


STEPS = "odesolve has no derivative with respect to rtol, atol, first_step, min_step, max_step, adjoint: they choose the steps"
STOPS = "odesolve has no derivative with respect to tstops: .* find the time by an event, or solve in two parts"
REFUSED = {
    "rtol": (lambda s: last(rtol=s), STEPS),
    "atol": (lambda s: last(atol=s * np.ones(2)), STEPS),
    "first_step": (lambda s: last(first_step=s), STEPS),
    "max_step": (lambda s: last(max_step=100.0 * s), STEPS),
    "the adjoint's rtol": (lambda s: last(adjoint=Adjoint("interpolating", rtol=s)), STEPS),
    "tstops": (lambda s: last(tstops=[s]), STOPS),
    "dense output": (lambda s: odesolve(decay, 1.0, [0.0, 1.0], 1.0, rtol=s, is_dense=True).sol(0.5), STEPS),
    "steps": (lambda s: odesolve(decay, 1.0, [0.0, 1.0], 1.0, rtol=s, saveat="steps").y[1], STEPS),
    "the time of an event": (lambda s: crossing(rtol=s), STEPS),
    "sdesolve": (
        lambda s: sdesolve(lambda t, y: -y, lambda t, y: 0.1 * y, 1.0, [0.0, 1.0], path=3, rtol=s).y[-1],
        "sdesolve has no derivative with respect to rtol, atol, first_step, max_step",
    ),
    "ddesolve": (
        lambda s: ddesolve(lambda t, y, past: -past, 1.0, [0.0, 2.0], lags=1.0, atol=s).y[-1],
        "ddesolve has no derivative with respect to rtol, atol, first_step, max_step",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_reverse_mode(kind):
    program, reason = REFUSED[kind]
    with pytest.raises(mo.NoDerivative, match=reason):
        mo.grad(program)(1e-3)


@pytest.mark.parametrize("kind", ["rtol", "tstops", "the time of an event"])
def test_forward_mode(kind):
    program, reason = REFUSED[kind]
    with pytest.raises(mo.NoDerivative, match=reason):
        mo.jvp(program, (1e-3,), (1.0,))


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("kind", ["rtol", "tstops"])
def test_compiled_code(kind, target):
    program, reason = REFUSED[kind]
    with pytest.raises(mo.NoDerivative, match=reason):
        mo.jit(mo.grad(program), target=target)(1e-3)


def test_a_tolerance_that_is_held_constant_or_not_differentiated_passes():
    def loss(rate, tolerance):
        return odesolve(decay, 1.0, [0.0, 1.0], rate, rtol=tolerance, atol=1e-9 * mo.stop_gradient(rate)).y[-1]

    assert mo.grad(loss)(1.0, 1e-8) == pytest.approx(-np.exp(-1.0), rel=1e-7)
    with pytest.raises(mo.NoDerivative, match=STEPS):
        mo.grad(lambda rate: odesolve(decay, 1.0, [0.0, 1.0], rate, atol=1e-9 * rate).y[-1])(1.0)


def test_equal_steps_do_not_depend_on_tolerances():
    assert mo.grad(lambda s: last(rtol=s, steps=10))(1e-3) == 0.0
