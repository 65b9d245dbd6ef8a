"""Events stand where their functions are zero, and their times are differentiated; checked against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import Event, IntegrationFailed, Status, odesolve

TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def fall(t, y, gravity, restitution):
    return np.array([y[1], -gravity])


def height(t, y, gravity, restitution):
    return y[0]


def bounce(t, y, gravity, restitution):
    return np.array([0.0, -restitution * y[1]])


LANDING = Event(height, is_terminal=True, direction=-1)
BOUNCE = Event(height, direction=-1, change=bounce)


def landing(h0, v0, gravity, method="tsit5"):
    return odesolve(fall, np.array([h0, v0]), [0.0, 9.0], gravity, 0.9, events=LANDING, method=method, **TIGHT)


def third_bounce(h0, gravity, restitution):
    solution = odesolve(fall, np.array([h0, 0.0]), [0.0, 3.0], gravity, restitution, events=BOUNCE, **TIGHT)
    return solution.events[0].t[2]


def swing(t, y):
    return np.array([y[1], -y[0]])


class TestPlaces:
    @pytest.mark.parametrize("method", ["tsit5", "dop853", "bosh3", "vern7", "rodas5p"])
    def test_a_terminal_event_ends_the_solve(self, method):
        solution = landing(1.0, 2.0, 9.81, method)
        exact = (2 + np.sqrt(4 + 2 * 9.81)) / 9.81
        assert solution.status is Status.TERMINATED and solution.success
        assert solution.message == "a terminal event ended the solve"
        assert np.isclose(solution.t_reached, exact, rtol=1e-9) and abs(solution.y_reached[0]) < 1e-9
        assert np.isnan(solution.y[1]).all() and np.allclose(solution.events[0].t, [exact])

    @pytest.mark.parametrize("direction, first", [(0, 0.5), (1, 1.5), (-1, 0.5)])
    def test_direction(self, direction, first):
        y0 = np.array([1.0, 0.0])  # cos t falls through zero at pi / 2 and rises at 3 pi / 2
        found = odesolve(swing, y0, [0, 12], events=Event(lambda t, y: y[0], direction=direction), **TIGHT).events[0]
        step = 1 if direction == 0 else 2
        expected = np.pi * np.arange(first, 12 / np.pi, step)
        assert np.allclose(found.t, expected, atol=1e-7)
        assert found.y.shape == (len(expected), 2) and np.allclose(found.y[:, 0], 0, atol=1e-7)

    def test_backwards_the_direction_is_that_of_the_solve(self):
        event = Event(lambda t, y: y[0], direction=-1)
        found = odesolve(swing, np.array([1.0, 0.0]), [0, -4], events=event, **TIGHT).events[0]
        assert np.allclose(found.t, [-np.pi / 2], atol=1e-7)

    def test_several_events_in_one_step_in_their_order(self):
        """With one step over the whole span, a stop hides what would come after it."""
        levels = [Event(lambda t, y, c=c: y - c) for c in (0.2, 0.4, 0.8)]
        stop = Event(lambda t, y: y - 0.6, is_terminal=True)
        solution = odesolve(lambda t, y: 1.0, 0.0, [0.0, 1.0], events=[*levels, stop], first_step=1.0)
        assert [e.t.round(12).tolist() for e in solution.events] == [[0.2], [0.4], [], [0.6]]
        assert np.isclose(solution.t_reached, 0.6) and solution.stats.accepted == 1

    def test_events_that_do_not_stop_leave_the_solution_as_it_is(self):
        y0, ts = np.array([1.0, 0.0]), np.linspace(0, 9, 5)
        plain = odesolve(swing, y0, ts)
        assert np.array_equal(odesolve(swing, y0, ts, events=lambda t, y: y[0] - 0.3).y, plain.y)

    def test_a_change_of_a_structure(self):
        def f(t, y):
            return {"x": y["v"], "v": -9.81}

        def change(t, y):
            return {"x": 0.0, "v": -0.5 * y["v"]}

        event = Event(lambda t, y: y["x"], direction=-1, change=change)
        solution = odesolve(f, {"x": 1.0, "v": 0.0}, [0.0, 0.6, 0.8], events=event, **TIGHT)
        first = np.sqrt(2 / 9.81)
        after = 0.5 * 9.81 * first
        expected = [after * (t - first) - 9.81 * (t - first) ** 2 / 2 for t in (0.6, 0.8)]
        assert np.allclose(solution.y["x"][1:], expected, atol=1e-8)
        assert np.isclose(solution.events[0].y["v"][0], -9.81 * first)

    def test_an_event_at_the_last_time(self):
        event = Event(lambda t, y: t - 1.0, change=lambda t, y: y + 5.0)
        solution = odesolve(lambda t, y: 1.0, 0.0, [0.0, 1.0], events=event)
        assert solution.events[0].t.tolist() == [1.0] and solution.t_reached == 1.0 and np.isclose(solution.y[-1], 6.0)

    def test_bounces_to_rest_end_with_a_status(self):
        with pytest.raises(IntegrationFailed):
            odesolve(fall, np.array([1.0, 0.0]), [0.0, 5.0], 9.81, 0.5, events=BOUNCE, max_steps=100)

    def test_a_solution_without_events_has_none(self):
        assert len(odesolve(swing, np.ones(2), [0, 1]).events) == 0
        found = odesolve(swing, np.ones(2), [0, 1], events=lambda t, y: y[0] + 9).events[0]
        assert found.t.shape == (0,) and found.y.shape == (0, 2)


class TestGradients:
    def test_of_the_time_of_landing(self):
        def exact(h0, v0, gravity):
            return (v0 + np.sqrt(v0**2 + 2 * gravity * h0)) / gravity

        arguments = 1.0, 2.0, 9.81
        found = mo.gradient(lambda *x: landing(*x).t_reached, *arguments)
        assert np.allclose(found, mo.gradient(exact, *arguments), rtol=1e-8)

    def test_of_the_state_at_the_event(self):
        """The speed on landing is sqrt(v0^2 + 2 g h0)."""
        d = mo.gradient(lambda h0, v0, g: landing(h0, v0, g).y_reached[1], 1.0, 2.0, 9.81)
        speed = np.sqrt(4 + 2 * 9.81)
        assert np.allclose(d, [-9.81 / speed, -2 / speed, -1 / speed], rtol=1e-8)

    def test_of_the_third_bounce(self):
        def exact(h0, gravity, restitution):
            return np.sqrt(2 * h0 / gravity) * (1 + 2 * restitution + 2 * restitution**2)

        arguments = 1.0, 9.81, 0.9
        assert np.allclose(mo.gradient(third_bounce, *arguments), mo.gradient(exact, *arguments), rtol=1e-8)

    def test_of_saved_states_after_a_bounce(self):
        def value(h0, restitution):
            return (
                odesolve(fall, np.array([h0, 0.0]), [0.0, 0.7, 1.0], 9.81, restitution, events=BOUNCE, **TIGHT)
                .y[1:, 0]
                .sum()
            )

        def exact(h0, restitution):
            first = np.sqrt(2 * h0 / 9.81)
            after = [t - first for t in (0.7, 1.0)]
            return sum(restitution * 9.81 * first * s - 9.81 * s**2 / 2 for s in after)

        assert np.allclose(mo.gradient(value, 1.0, 0.9), mo.gradient(exact, 1.0, 0.9), rtol=1e-7)

    def test_of_the_first_time(self):
        """All moves with the start: the event, and so the solution after it, but not the last time."""

        def value(t0):
            return odesolve(fall, np.array([1.0, 0.0]), [t0, 0.8], 9.81, 0.9, events=BOUNCE, **TIGHT).y[-1, 0]

        since = 0.8 - np.sqrt(2 / 9.81)
        assert np.isclose(mo.grad(value)(0.0), -(0.9 * np.sqrt(2 * 9.81) - 9.81 * since), rtol=1e-7)

    def test_second_derivatives(self):
        hessian = mo.hessian(lambda h0: landing(h0, 0.0, 9.81).t_reached)(1.0)
        assert np.isclose(hessian, -0.25 * np.sqrt(2 / 9.81), rtol=1e-6)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_compiled(self, target):
        found, d = mo.jit(mo.value_and_grad(third_bounce, (0, 2)), target=target)(1.0, 9.81, 0.9)
        fall_time = np.sqrt(2 / 9.81)
        assert np.isclose(found, fall_time * (1 + 1.8 + 1.62), rtol=1e-8)
        assert np.allclose(d, [0.5 * found, fall_time * (2 + 3.6)], rtol=1e-7)


class TestBadInput:
    @pytest.mark.parametrize("events, message", [
        (3, r"events is 3; expected an Event, a function event\(t, y, \*args\), or a sequence of these"),
        ([3], r"events\[0\] is 3; expected an Event, or a function event\(t, y, \*args\)"),
        (Event(lambda t, y: y[0], direction=2), r"events\[0\] has direction 2; expected -1, 0 or 1"),
        (lambda t, y: y, r"the function of event 0 returned shape \(2,\) and dtype float64; expected a real number"),
        (Event(lambda t, y: y[0] - 0.5, change=lambda t, y: np.ones(3)), r"the state that event 0 returned has shape \(3,\)"),
    ])  # fmt: skip
    def test_events(self, events, message):
        with pytest.raises(mo.BadInput, match=message):
            odesolve(swing, np.array([1.0, 0.0]), [0, 4], events=events)

    def test_steps_and_events(self):
        with pytest.raises(mo.BadInput, match="steps does not go together with events, saveat and is_dense"):
            odesolve(swing, np.ones(2), [0, 1], steps=4, events=lambda t, y: y[0])
