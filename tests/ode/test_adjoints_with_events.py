"""Adjoints with events, dense output, stops and a mass matrix; checked against closed forms and the discrete adjoint."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import Event, SecondOrder, Split, odesolve

TIGHT = {"rtol": 1e-9, "atol": 1e-10}
CONTINUOUS = ["backsolve", "interpolating", "quadrature"]
ON_THE_STEPS = ["checkpoint", "forward"]
OTHERS = [*ON_THE_STEPS, *CONTINUOUS]


def fall(t, y, gravity, restitution):
    return np.array([y[1], -gravity])


def height(t, y, gravity, restitution):
    return y[0]


def speed(t, y, gravity, restitution):
    return y[1]


def bounce(t, y, gravity, restitution):
    return np.array([0.0, -restitution * y[1]])


BOUNCE = Event(height, direction=-1, change=bounce)
TOP = Event(speed, direction=-1)


def dropped(h0, gravity, restitution, **options):
    return odesolve(fall, np.array([h0, 0.0]), [0.0, 0.7, 1.4], gravity, restitution, **TIGHT, **options)


def decay(t, y, k, dose):
    return -k * y * (1.0 + 0.0 * t)


def low(t, y, k, dose):
    return y - 0.5


def dosed(t, y, k, dose):
    return y + dose


def times_of_doses(x, adjoint, **options):
    """The level 0.5 is reached first after log(y0 / 0.5) / k, then every log((0.5 + dose) / 0.5) / k."""
    event = Event(low, direction=-1, change=dosed)
    return odesolve(decay, x[0], [0.0, 3.0], x[1], x[2], events=event, adjoint=adjoint, **TIGHT, **options)


X = np.array([1.3, 0.9, 0.6])

STOP = Event(low, is_terminal=True)


@pytest.mark.parametrize("name", OTHERS)
class TestClosedForms:
    def test_of_a_bouncing_ball(self, name):
        """The second impact, the speed after the first, and the height at a time after it, by h0, g and the restitution."""

        def found(h0, gravity, restitution):
            s = dropped(h0, gravity, restitution, events=BOUNCE, adjoint=name)
            return s.events[0].t[1] + 0.3 * restitution * s.events[0].y[0, 1] + 0.7 * s.y[1, 0]

        def exact(h0, gravity, restitution):
            first = np.sqrt(2 * h0 / gravity)
            since = 0.7 - first
            after = restitution * gravity * first * since - gravity * since**2 / 2
            return first * (1 + 2 * restitution) - 0.3 * restitution * gravity * first + 0.7 * after

        x = 1.0, 9.81, 0.9
        assert np.isclose(found(*x), exact(*x), rtol=1e-9)
        assert np.allclose(mo.gradient(found, *x), mo.gradient(exact, *x), rtol=1e-8)

    def test_of_a_second_dose(self, name):
        found = mo.grad(lambda x: times_of_doses(x, name).events[0].t[1])(X)
        y0, k, dose = X
        both = np.log(y0 / 0.5) + np.log((0.5 + dose) / 0.5)
        assert np.allclose(found, [1 / (k * y0), -both / k**2, 1 / (k * (0.5 + dose))], rtol=1e-7)

    def test_of_a_terminal_event_at_second_order(self, name):
        """t = log(y0 / 0.5) / k."""

        def stop(x):
            event = Event(low, is_terminal=True)
            return odesolve(
                decay, x[0], [0.0, 9.0], x[1], 0.0, events=event, adjoint=name, rtol=1e-8, atol=1e-9
            ).t_reached

        y0, k = X[:2]
        mixed = -1 / (k * k * y0)
        expected = [[-1 / (k * y0**2), mixed], [mixed, 2 * np.log(y0 / 0.5) / k**3]]
        assert np.allclose(mo.hessian(stop)(X[:2]), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", OTHERS)
class TestDiscreteAdjoint:
    def test_many_events_times_and_stops(self, name):
        """Also by the first and the last time, backwards in time, and with two events in one step."""

        def value(x, adjoint):
            h0, gravity, restitution, start, end = x
            s = odesolve(
                fall, np.array([h0, 0.1]), [start, 0.2, 0.7, 1.0, end], gravity, restitution,
                events=[TOP, BOUNCE], adjoint=adjoint, tstops=[0.3, 1.1], **TIGHT,
            )  # fmt: skip
            seen = s.events[1].t[1] + 2 * s.events[0].t[1] + s.events[1].y[0, 1] + s.events[0].y[1, 0]
            return np.sum(s.y[:, 0] * np.arange(1, 6)) + seen + s.y_reached[0]

        x = np.array([1.0, 9.81, 0.9, 0.0, 1.5])
        expected = mo.value_and_grad(lambda x: value(x, "discrete"))(x)
        found = mo.value_and_grad(lambda x: value(x, name))(x)
        assert found[0] == expected[0] and np.allclose(found[1], expected[1], rtol=1e-8, atol=1e-8)

    def test_events_that_stop_nothing(self, name):
        def value(x, adjoint):
            events = [Event(low), Event(decay, direction=1)]
            s = odesolve(decay, x[0], [2.0, 0.0], x[1], x[2], events=events, adjoint=adjoint, **TIGHT)
            return s.y[-1] + (s.events[0].t[0] if len(s.events[0].t) else 0.0)

        x = np.array([0.3, 0.9, 0.6])
        expected = mo.value_and_grad(lambda x: value(x, "discrete"))(x)
        found = mo.value_and_grad(lambda x: value(x, name))(x)
        assert found[0] == expected[0] and np.allclose(found[1], expected[1], rtol=1e-7)


def relax(t, y, p):
    return np.stack([-p[0] * (y[0] - p[2] * y[1]), -p[1] * y[1]])


def slow(t, y, p):
    return np.stack([0.0 * y[0], -p[1] * y[1]])


def fast(t, y, p):
    return np.stack([-p[0] * (y[0] - p[2] * y[1]), 0.0 * y[1]])


def swing(t, q, p):
    return -p[0] * np.sin(q)


def circle(t, y, p):
    return p[0] * np.stack([-y[1], y[0]])


def radius(t, y, p):
    return y[0] ** 2 + y[1] ** 2


P = np.array([3.0, 0.8, 2.0])
START = np.array([1.0, 0.5])


def algebraic(t, y, p):
    """y1 is 2 y0."""
    return np.stack([-p[0] * y[0] * y[1], y[1] - p[2] * y[0]])


def agree(value, names, rtol=1e-10):
    expected = mo.value_and_grad(lambda p: value(p, "discrete"))(P)
    for name in names:
        found = mo.value_and_grad(lambda p, name=name: value(p, name))(P)
        assert np.isclose(found[0], expected[0], rtol=1e-13) and np.allclose(
            found[1], expected[1], rtol=rtol, atol=1e-12
        )


class TestTheSameSteps:
    """Adjoints on the steps of the solve agree with the discrete one to rounding."""

    @pytest.mark.parametrize("method", ["tsit5", "rodas5p", "kvaerno5"])
    def test_dense_output_and_events(self, method):
        def value(p, adjoint):
            half = Event(lambda t, y, p: y[0] - 1.5, change=lambda t, y, p: np.stack([p[1] * y[0], y[1]]))
            s = odesolve(
                relax, np.array([2.0, 0.5]), [0.0, 1.0], p, method=method, events=half, is_dense=True, adjoint=adjoint
            )
            return np.sum(s.sol(0.7)) + s.sol.derivative(0.2)[0] + s.events[0].t[0] + s.y[-1, 0]

        agree(value, ON_THE_STEPS)

    def test_the_beginnings_of_the_steps(self):
        def value(p, adjoint):
            return np.sum(odesolve(relax, START * p[1], [0.0, 1.0], p, saveat="steps", adjoint=adjoint).y ** 2)

        agree(value, ON_THE_STEPS)

    @pytest.mark.parametrize("method", ["rodas5p", "kvaerno5"])
    def test_a_singular_mass_with_an_event(self, method):
        def value(p, adjoint):
            y0 = np.stack([1.0 + 0.0 * p[2], p[2]])
            event = Event(lambda t, y, p: y[0] - 0.6, change=lambda t, y, p: np.stack([2 * y[0], y[1]]))
            given = {"mass": np.array([1.0, 0.0]), "events": event, "is_dense": True, "adjoint": adjoint}
            s = odesolve(algebraic, y0, [0.0, 0.1, 0.3], p, method=method, **given)
            return s.y[1, 1] + s.y[2, 0] + s.sol(0.2)[1] + s.events[0].t[0]

        agree(value, ON_THE_STEPS)

    def test_the_derivative_by_a_mass(self):
        def value(p, adjoint):
            return odesolve(relax, START, [0.0, 1.0], P, mass=p[:2], adjoint=adjoint).y[-1, 0]

        agree(value, ["checkpoint"])
        with pytest.raises(mo.NoDerivative, match='"forward" has no derivative with respect to mass: .* "checkpoint"'):
            mo.grad(lambda p: value(p, "forward"))(P)

    def test_parts_second_order_and_invariants(self):
        def parts(p, adjoint):
            return odesolve(Split(fast, slow), START, [0.0, 0.5], p, method="kencarp4", adjoint=adjoint).y[-1, 0]

        def pendulum(p, adjoint):
            y0 = np.array([p[1]]), np.array([0.0])
            return odesolve(SecondOrder(swing), y0, [0.0, 0.6], p, method="dprkn6", adjoint=adjoint).y[0][-1, 0]

        def kept(p, adjoint):
            return odesolve(circle, START, [0.0, 0.6], p, invariants=radius, adjoint=adjoint).y[-1, 0]

        agree(parts, ON_THE_STEPS)
        agree(pendulum, ON_THE_STEPS)
        agree(kept, ["checkpoint"])

    def test_a_jacobian_of_the_user_moves_with_the_parameters(self):
        """A Rosenbrock step is differentiated with its Jacobian."""

        def value(p, adjoint):
            def by_hand(t, y, p):
                zero = 0.0 * p[0]
                return np.stack([np.stack([-p[0], p[0] * p[2]]), np.stack([zero, -p[1]])])

            given = {"method": "rodas5p", "jacobian": by_hand, "rtol": 1e-3, "atol": 1e-3}
            return odesolve(relax, START, [0.0, 1.0], p, adjoint=adjoint, **given).y[-1, 0]

        agree(value, ON_THE_STEPS)

    @pytest.mark.parametrize(
        ("name", "seen"),
        [
            (
                "checkpoint",
                lambda x, **given: odesolve(decay, x[0], [0.0, 1.0], x[1], x[2], is_dense=True, **given).sol(0.5),
            ),
            (
                "forward",
                lambda x, **given: odesolve(decay, x[0], [0.0, 9.0], x[1], x[2], events=STOP, **given).t_reached,
            ),
        ],
    )
    def test_compiled(self, name, seen):
        f = mo.value_and_grad(lambda x: seen(x, method="bosh3", rtol=1e-4, adjoint=name))
        found, expected = mo.jit(f, target="native")(X), f(X)
        assert np.isclose(found[0], expected[0], rtol=1e-12) and np.allclose(found[1], expected[1], rtol=1e-10)


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"adjoint": "quadrature", "saveat": "steps"}, 'and saveat="steps" asks for more; take adjoint="discrete", "checkpoint" or "forward"'),
            ({"adjoint": "interpolating", "is_dense": True}, "'interpolating' gives the derivative of the states at given times only, and is_"),
            ({"adjoint": "reversible", "events": Event(low)}, "and events asks for more"),
            ({"adjoint": "interpolating", "mass": 2.0}, 'mass goes together with adjoint="discrete", "checkpoint" or "forward" only'),
            ({"adjoint": "forward", "invariants": low}, 'invariants goes together with adjoint="discrete" or "checkpoint" only'),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_refused(self, options, text):
        with pytest.raises(mo.BadInput) as error:
            odesolve(decay, 1.0, [0.0, 1.0], 1.0, 0.0, **options)
        assert text in str(error.value)

    def test_an_event_that_closes_over_a_parameter_needs_another_adjoint(self):
        def stop(level, adjoint):
            event = Event(lambda t, y, k, dose: y - level, is_terminal=True)
            return odesolve(decay, 1.0, [0.0, 9.0], 1.0, 0.0, events=event, adjoint=adjoint).t_reached

        with pytest.raises(mo.BadInput, match=r"f may depend on more: it \(or an event\) is a closure"):
            mo.grad(stop)(0.5, "forward")
        for name in ["checkpoint", *CONTINUOUS]:
            assert np.isclose(mo.grad(stop)(0.5, name), -2.0, rtol=1e-5)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("interpolating", "the adjoint equation with events cannot be compiled"),
            ("checkpoint", 'the gradient by adjoint="checkpoint" with events cannot be compiled in reasonable time'),
        ],
    )
    def test_what_is_not_compiled_is_refused(self, name, text):
        value = mo.grad(lambda x: times_of_doses(x, name).events[0].t[0])
        with pytest.raises(mo.MorulaError, match=text):
            mo.jit(value, target="native")(X)
