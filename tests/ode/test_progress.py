"""Reports of a running solve do not change what it computes, on any path or in any transformation; statistics of its time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo
from morula.ode import IntegrationFailed, odesolve
from morula.ode.delay import ddesolve
from morula.ode.stochastic import sdesolve

told: list[tuple[float, int]] = []


def note(t, steps):
    told.append((t, steps))


def decay(t, y, rate):
    return -rate * y


def last(rate):
    return odesolve(decay, np.ones(2), [0.0, 1.0], rate, progress=note).y[-1].sum()


def quiet(rate):
    return odesolve(decay, np.ones(2), [0.0, 1.0], rate).y[-1].sum()


@pytest.fixture(autouse=True)
def nothing_told():
    told.clear()


def check_reports(start=0.0, end=1.0):
    times, steps = zip(*told)
    assert times[0] == start and times[-1] == end and steps[0] == 0
    assert list(times) == sorted(times, reverse=end < start) and list(steps) == sorted(set(steps))


def test_a_function_is_called_at_both_ends_and_between():
    solution = odesolve(decay, np.ones(2), [0.0, 1.0], 1.0, progress=note)
    check_reports()
    assert told[-1][1] == solution.stats.accepted and 3 < len(told) <= 102


def test_reports_of_a_backward_solve_and_of_equal_steps():
    odesolve(decay, np.ones(2), [1.0, 0.0], 1.0, progress=note)
    check_reports(1.0, 0.0)
    told.clear()
    odesolve(decay, np.ones(2), [0.0, 0.5, 1.0], 1.0, steps=500, progress=note)
    check_reports()
    assert len(told) <= 103


def test_reports_are_made_though_the_time_hardly_advances():
    odesolve(decay, 1.0, [0.0, 1.0], 1.0, max_step=1e-6, max_steps=2500, throw=False, progress=note)
    assert [steps for _, steps in told] == [0, 1000, 2000, 2500]


@pytest.mark.parametrize("adjoint", ["discrete", "checkpoint", "forward", "interpolating", "reversible"])
def test_gradients_with_progress(adjoint):
    def loss(rate, progress):
        return odesolve(decay, np.ones(2), [0.0, 1.0], rate, adjoint=adjoint, progress=progress).y[-1].sum()

    assert mo.grad(loss)(1.0, note) == mo.grad(loss)(1.0, False)
    check_reports()


@pytest.mark.parametrize("adjust", [lambda f: f, mo.grad], ids=["value", "gradient"])
def test_compiled_solves_report_as_eager_ones(adjust):
    expected = adjust(last)(1.0)
    eager = list(told)
    told.clear()
    assert mo.jit(adjust(last), target="native")(1.0) == pytest.approx(expected, rel=1e-12)
    assert np.allclose(told, eager)


def test_programs_of_xla_report():
    assert mo.jit(last, target="xla")(1.0) == pytest.approx(quiet(1.0), rel=1e-12)
    check_reports()


def test_batches_report_sample_by_sample():
    rates = np.array([1.0, 2.0])
    assert np.allclose(mo.vmap(last)(rates), mo.vmap(quiet)(rates), rtol=1e-12)
    assert [t for t, steps in told if steps == 0] == [0.0, 0.0] and [t for t, _ in told].count(1.0) == 2
    loss = lambda f: mo.grad(lambda rates: mo.vmap(f)(rates).sum())  # noqa: E731
    assert np.allclose(loss(last)(rates), loss(quiet)(rates), rtol=1e-12)


def test_the_bar_shows_time_and_steps(capsys):
    mo.grad(lambda rate: odesolve(decay, 1.0, [0.0, 2.0], rate, progress=True).y[-1])(1.0)
    shown = capsys.readouterr().err
    assert "t = 2 of 2" in shown and "steps 100%" in shown


def test_a_solve_that_fails_closes_its_bar_and_tells_how_far_it_came(capsys):
    for progress in (True, note):
        with pytest.raises(IntegrationFailed):
            odesolve(decay, 1.0, [0.0, 2.0], 1.0, max_steps=3, progress=progress)
    assert "of 2, 3 steps" in capsys.readouterr().err
    assert told[-1][1] == 3 and 0.0 < told[-1][0] < 2.0


def test_stochastic_and_delay_equations_report():
    sdesolve(lambda t, y: -y, lambda t, y: 0.1 * y, 1.0, [0.0, 1.0], path=3, progress=note)
    check_reports()
    told.clear()
    ddesolve(lambda t, y, past: -past, 1.0, [0.0, 2.0], lags=1.0, progress=note)
    check_reports(end=2.0)


def test_what_is_no_function_is_refused():
    with pytest.raises(
        mo.BadInput, match=r"progress is 3; expected True for a progress bar, or a function progress\(t, steps\)"
    ):
        odesolve(decay, 1.0, [0.0, 1.0], 1.0, progress=3)


def test_statistics_have_the_time_which_compiled_code_does_not_know():
    assert 0.0 < odesolve(decay, 1.0, [0.0, 1.0], 1.0).stats.time < 60.0
    assert 0.0 < sdesolve(lambda t, y: -y, lambda t, y: 0.1 * y, 1.0, [0.0, 1.0], path=3).stats.time < 60.0
    assert math.isnan(mo.jit(lambda rate: odesolve(decay, 1.0, [0.0, 1.0], rate).stats.time, target="native")(1.0))
