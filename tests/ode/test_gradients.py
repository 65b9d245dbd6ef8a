"""The gradient of odesolve is that of the discrete solution, and so of the flow to the solver's accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.linalg import expm

import morula as mo
from morula.core.testing.differences import vjp_by_differences
from morula.ode import METHODS, Tableau, odesolve

from .problems import driven, driven_exact, kepler, kepler_exact, kepler_start, lotka, published

EXPLICIT = [name for name, method in METHODS.items() if isinstance(method, Tableau)]
ADAPTIVE = [name for name in EXPLICIT if len(METHODS[name].error)]
RATES = np.array([1.5, 1.0, 3.0, 1.0])
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def slopes(f, x):
    """The gradient of f at an array x by extrapolated differences."""
    (gradient,), _ = vjp_by_differences(f, 1.0, (np.asarray(x, dtype=float),), step=2e-3)
    return gradient


def decay(t, y, rate):
    return -rate * y


class TestClosedForms:
    """y' = -k y: every derivative is known."""

    ts = np.array([0.5, 0.9, 1.7, 2.0])

    @pytest.mark.parametrize("method", ADAPTIVE)
    def test_initial_value_rate_and_times(self, method):
        tol = 1e-6 if METHODS[method].order == 2 else 1e-10

        def value(y0, rate, ts):
            return odesolve(decay, y0, ts, rate, method=method, rtol=tol, atol=tol).y[2]

        dy0, dk, dts = mo.gradient(value, 2.0, 0.7, self.ts)
        span = self.ts[2] - self.ts[0]
        shrink = np.exp(-0.7 * span)
        assert np.isclose(dy0, shrink, atol=300 * tol)
        assert np.isclose(dk, -2 * span * shrink, atol=300 * tol)
        assert np.allclose(dts, [1.4 * shrink, 0, -1.4 * shrink, 0], atol=3000 * tol)

    @pytest.mark.parametrize("method", EXPLICIT)
    def test_the_same_with_equal_steps(self, method):
        steps = 400 if METHODS[method].order < 3 else 40

        def value(y0, rate, ts):
            return odesolve(decay, y0, ts, rate, method=method, steps=steps).y[2]

        dy0, dk, dts = mo.gradient(value, 2.0, 0.7, self.ts)
        span = self.ts[2] - self.ts[0]
        shrink = np.exp(-0.7 * span)
        tol = {1: 1e-3, 2: 1e-6, 3: 1e-6}.get(METHODS[method].order, 1e-9)
        assert np.allclose([dy0, dk], [shrink, -2 * span * shrink], atol=tol)
        assert np.allclose(dts, [1.4 * shrink, 0, -1.4 * shrink, 0], atol=2 * tol)

    def test_times_as_a_list(self):
        (dts,) = mo.gradient(lambda ts: odesolve(decay, 2.0, ts, 0.7, **TIGHT).y[-1], [0.5, 1.0, 2.0])
        shrink = np.exp(-0.7 * 1.5)
        assert isinstance(dts, list)
        assert np.allclose(dts, [1.4 * shrink, 0, -1.4 * shrink], atol=1e-6)

    def test_a_float_of_the_user_as_the_final_time(self):
        dt = mo.grad(lambda t: odesolve(decay, 2.0, [0.0, t], 0.7, **TIGHT).y[-1])(1.3)
        assert np.isclose(dt, -1.4 * np.exp(-0.7 * 1.3), atol=1e-6)

    def test_the_second_derivatives(self):
        def value(x):
            return odesolve(decay, x[0], [0.0, 1.2], x[1], **TIGHT).y[-1]

        shrink = np.exp(-0.7 * 1.2)
        expected = [[0, -1.2 * shrink], [-1.2 * shrink, 2 * 1.44 * shrink]]
        assert np.allclose(mo.hessian(value)(np.array([2.0, 0.7])), expected, atol=1e-7)

    def test_a_matrix_exponential(self):
        a = np.random.default_rng(1).normal(size=(3, 3))
        jacobian = mo.jacobian(lambda y0: odesolve(lambda t, y: a @ y, y0, [0, 1], **TIGHT).y[-1])(np.ones(3))
        assert np.allclose(jacobian, expm(a), atol=1e-7)

    def test_a_system_that_is_not_autonomous(self):
        def value(ts):
            return odesolve(driven, driven_exact(0.3), ts, **TIGHT).y[-1, 0]

        def exact(ts):
            return odesolve(driven, driven_exact(0.3), ts, method="dop853", rtol=1e-13, atol=1e-13).y[-1, 0]

        ts = np.array([0.3, 0.6, 1.1])
        assert np.allclose(mo.gradient(value, ts)[0], slopes(exact, ts), atol=1e-6)


class TestDiscreteSolution:
    """With steps of a fixed size the solution is a smooth function, and its gradient is exact to rounding."""

    ts = np.array([0.0, 0.31, 0.4, 0.77, 1.0])
    y0 = np.array([1.0, 0.8])
    weights = np.random.default_rng(0).normal(size=(5, 2))

    def loss(self, method, y0, rates, ts, **options):
        ys = odesolve(lotka, y0, ts, *rates, method=method, **options).y
        return np.sum(self.weights * ys**2)

    @pytest.mark.parametrize("method", EXPLICIT)
    def test_equal_steps(self, method):
        def loss(y0, rates, ts):
            return self.loss(method, y0, rates, ts, steps=2)

        dy0, drates, dts = mo.gradient(loss, self.y0, RATES, self.ts)
        assert np.allclose(dy0, slopes(lambda x: loss(x, RATES, self.ts), self.y0), rtol=1e-8, atol=1e-9)
        assert np.allclose(drates, slopes(lambda x: loss(self.y0, x, self.ts), RATES), rtol=1e-8, atol=1e-9)
        assert np.allclose(dts, slopes(lambda x: loss(self.y0, RATES, x), self.ts), rtol=1e-8, atol=1e-9)

    @pytest.mark.parametrize("method", ADAPTIVE)
    def test_the_adaptive_loop_and_its_dense_output(self, method):
        def loss(y0, rates):
            return self.loss(method, y0, rates, self.ts, rtol=1e9, first_step=0.25, max_step=0.25)

        dy0, drates = mo.gradient(loss, self.y0, RATES)
        rounding = 1e-11 * abs(METHODS[method].interpolant).max()  # of the differences
        assert np.allclose(dy0, slopes(lambda x: loss(x, RATES), self.y0), rtol=1e-8, atol=1e-9 + rounding)
        assert np.allclose(drates, slopes(lambda x: loss(self.y0, x), RATES), rtol=1e-8, atol=1e-9 + rounding)

    def test_steps_end_at_stops_that_do_not_move(self):
        """With a jump of f at a stop, the derivative by ts[0] must leave the step's end there where it is."""

        def f(t, y, k):
            return -k * y if t < 0.5 else k * y

        def value(ts, k):
            return odesolve(f, 1.0, ts, k, tstops=[0.5 - 1e-12, 0.5], rtol=1e-9, atol=1e-12).y[-1]

        dts, dk = mo.gradient(value, np.array([0.1, 0.9]), 0.7)
        assert np.allclose(dts, [0.7, 0.7], atol=1e-7)
        assert np.isclose(dk, 0.0, atol=1e-7)

    def test_inner_times_move_along_the_dense_output(self):
        def loss(inner):
            ts = np.concatenate([[0.0], inner, [1.0]])
            return self.loss("tsit5", self.y0, RATES, ts, rtol=1e9, first_step=0.25, max_step=0.25)

        inner = self.ts[1:-1]
        assert np.allclose(mo.gradient(loss, inner)[0], slopes(loss, inner), rtol=1e-8, atol=1e-9)


class TestFlow:
    @pytest.mark.parametrize("method", ["dopri5", "tsit5", "dop853"])
    def test_a_fit_of_lotka_volterra(self, method):
        f, y0, _, args, _ = published("lotka")
        ts = np.linspace(0.0, 4.0, 9)
        data = np.random.default_rng(2).normal(size=(9, 2))

        def loss(y0, rates, method="dop853", tol=1e-12):
            return np.sum((odesolve(f, y0, ts, *rates, method=method, rtol=tol, atol=tol).y - data) ** 2)

        dy0, drates = mo.gradient(lambda y0, rates: loss(y0, rates, method, 1e-9), y0, np.array(args))
        assert np.allclose(dy0, slopes(lambda x: loss(x, args), y0), rtol=1e-5)
        assert np.allclose(drates, slopes(lambda x: loss(y0, x), args), rtol=1e-5)

    def test_steps_that_were_rejected_leave_no_trace(self):
        ts = [0.0, 4.0]
        solution = odesolve(kepler, kepler_start(0.7), ts, first_step=1.0, **TIGHT)
        assert solution.stats.rejected > 0
        value = mo.gradient(lambda y0: odesolve(kepler, y0, ts, first_step=1.0, **TIGHT).y[-1, 0], kepler_start(0.7))
        clean = mo.gradient(lambda y0: odesolve(kepler, y0, ts, steps=300, method="dop853").y[-1, 0], kepler_start(0.7))
        assert np.allclose(value[0], clean[0], rtol=1e-5)

    @given(st.integers(1, 3), st.integers(0, 10_000), st.sampled_from(["dopri5", "tsit5", "dop853"]), st.floats(-2, 2))
    @settings(max_examples=12)
    def test_linear_systems_of_any_size_in_any_direction(self, n, seed, method, end):
        rng = np.random.default_rng(seed)
        a, y0, w = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=n)

        def value(y0):
            return w @ odesolve(lambda t, y: a @ y, y0, [0.0, end], method=method, **TIGHT).y[-1]

        v, d = mo.value_and_grad(value)(y0)
        exact = expm(end * a)
        size = np.linalg.norm(exact, 2)
        assert np.isclose(v, w @ exact @ y0, atol=1e-6 * size)
        assert np.allclose(d, exact.T @ w, atol=1e-6 * size)

    @pytest.mark.parametrize("ts", [[0.0, 3.0], [3.0, 0.0]], ids=["forwards", "backwards"])
    def test_the_flow_of_a_hamiltonian_is_symplectic(self, ts):
        start = kepler_exact(ts[0], 0.4)
        flow = mo.jacobian(lambda y0: odesolve(kepler, y0, ts, **TIGHT).y[-1])(start)
        omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
        assert np.allclose(flow.T @ omega @ flow, omega, atol=1e-6)

    def test_there_and_back_is_the_identity(self):
        def round_trip(y0):
            there = odesolve(kepler, y0, [0, 2], **TIGHT).y[-1]
            return odesolve(kepler, there, [2, 0], **TIGHT).y[-1]

        assert np.allclose(mo.jacobian(round_trip)(kepler_start(0.4)), np.eye(4), atol=1e-6)

    def test_along_the_solution_the_flow_carries_f_to_f(self):
        y0 = kepler_start(0.5)
        solution = odesolve(kepler, y0, [0, 2.5], **TIGHT)
        flow = mo.jacobian(lambda y: odesolve(kepler, y, [0, 2.5], **TIGHT).y[-1])(y0)
        assert np.allclose(flow @ kepler(0, y0), kepler(0, solution.y[-1]), atol=1e-6)


@dataclass
class Oscillator:
    stiffness: float
    mass: float

    def __call__(self, t, y):
        return np.stack([y[1], -self.stiffness / self.mass * y[0]])


class TestStructure:
    def test_a_state_that_is_a_dict(self):
        def f(t, y, stiffness):
            return {"x": y["v"], "v": -stiffness * y["x"]}

        def value(y0, stiffness):
            return odesolve(f, y0, [0.0, 1.0], stiffness, **TIGHT).y["x"][-1]

        dy0, dk = mo.gradient(value, {"x": 0.3, "v": 0.5}, 4.0)
        assert set(dy0) == {"x", "v"}
        assert np.allclose([dy0["x"], dy0["v"]], [np.cos(2.0), np.sin(2.0) / 2], atol=1e-7)
        expected = -0.3 * np.sin(2.0) / 4 + 0.5 * (np.cos(2.0) / 8 - np.sin(2.0) / 16)
        assert np.isclose(dk, expected, atol=1e-7)

    def test_a_state_of_several_arrays(self):
        def value(q, p):
            return np.sum(odesolve(lambda t, y: (y[1], -y[0]), (q, p), [0.0, 1.0], **TIGHT).y[0][-1])

        dq, dp = mo.gradient(value, np.ones((2, 3)), np.zeros((2, 3)))
        assert np.allclose(dq, np.cos(1.0), atol=1e-7) and dq.shape == (2, 3)
        assert np.allclose(dp, np.sin(1.0), atol=1e-7)

    def test_a_function_that_is_an_object(self):
        def value(oscillator):
            return odesolve(oscillator, np.array([1.0, 0.0]), [0.0, 1.0], **TIGHT).y[-1, 0]

        (d,) = mo.gradient(value, Oscillator(4.0, 1.0))
        assert isinstance(d, Oscillator)
        assert np.isclose(d.stiffness, -np.sin(2.0) / 4, atol=1e-7)
        assert np.isclose(d.mass, np.sin(2.0), atol=1e-7)

    def test_what_f_closes_over(self):
        def value(rate):
            def f(t, y):
                return -rate * y

            return odesolve(f, 1.0, [0.0, 1.0], **TIGHT).y[-1]

        assert np.isclose(mo.grad(value)(0.5), -np.exp(-0.5), atol=1e-7)

    @pytest.mark.parametrize("steps", [None, 40])
    def test_f_may_write_into_an_array_of_its_own(self, steps):
        def f(t, y, k):
            dy = np.zeros_like(y)
            dy[0] = y[1]
            dy[1] -= k * y[0]
            return dy

        def value(y0, k):
            return odesolve(f, y0, [0.0, 1.0], k, steps=steps, **TIGHT).y[-1, 0]

        dy0, dk = mo.gradient(value, np.array([0.3, 0.0]), 4.0)
        assert np.allclose(dy0, [np.cos(2.0), np.sin(2.0) / 2], atol=1e-7)
        assert np.isclose(dk, -0.3 * np.sin(2.0) / 4, atol=1e-7)

    @pytest.mark.parametrize("steps", [None, 40])
    def test_f_may_fill_one_array_again_and_again(self, steps):
        slope = np.empty(2)

        def f(t, y, k):
            slope[0] = y[1]
            slope[1] = -y[0]
            slope[1] *= k
            return slope * k**0

        def value(y0, k):
            return odesolve(f, y0, [0.0, 1.0], k, steps=steps, **TIGHT).y[-1, 0]

        dy0, dk = mo.gradient(value, np.array([0.3, 0.0]), 4.0)
        assert np.allclose(dy0, [np.cos(2.0), np.sin(2.0) / 2], atol=1e-7)
        assert np.isclose(dk, -0.3 * np.sin(2.0) / 4, atol=1e-7)

    def test_f_may_branch(self):
        """y' = k y turns into y' = k (2 y - 1) at y = 1, a kink; from there on y is ((y0 e^(kt))^2 + 1) / 2."""

        def f(t, y, k):
            if y < 1:
                return k * y
            return k * (2 * y - 1)

        d = mo.gradient(lambda y0, k: odesolve(f, y0, [0.0, 1.0], k, **TIGHT).y[-1], 0.5, 1.3)
        assert np.allclose(d, [0.5 * np.exp(2.6), 0.25 * np.exp(2.6)], rtol=1e-3)

    def test_a_complex_state(self):
        def value(z0, w):
            return abs(odesolve(lambda t, z: w * z, z0, [0.0, 1.0], **TIGHT).y[-1]) ** 2

        z0, w = 1 + 2j, 0.3 + 1j
        dz, dw = mo.gradient(value, z0, w)
        size = np.exp(0.6)
        assert np.isclose(dz, 2 * z0 * size, atol=1e-6)
        assert np.isclose(dw, 2 * abs(z0) ** 2 * size, atol=1e-6)

    def test_float32_stays_float32(self):
        (d,) = mo.gradient(
            lambda y0: odesolve(lambda t, y: -y, y0, [0, 1], rtol=1e-4, atol=1e-6).y[-1].sum(), np.ones(2, np.float32)
        )
        assert d.dtype == np.float32 and np.allclose(d, np.exp(-1), atol=1e-4)

    @pytest.mark.parametrize("steps", [None, 3])
    def test_equal_times(self, steps):
        def value(ts):
            return np.sum(odesolve(decay, 1.0, ts, 2.0, steps=steps, **TIGHT).y * np.array([3.0, 5.0, 7.0]))

        (d,) = mo.gradient(value, np.array([1.0, 1.0, 1.0]))
        assert np.allclose(d, [2 * (5 + 7), -2 * 5, -2 * 7], atol=1e-7)

    def test_the_gradient_leaves_the_solution_as_it_is(self):
        y0 = kepler_start(0.3)
        plain = odesolve(kepler, y0, [0, 5])
        value, _ = mo.value_and_grad(lambda y0: odesolve(kepler, y0, [0, 5]).y[-1, 0])(y0)
        assert value == plain.y[-1, 0]

    def test_errors_are_those_of_the_call_itself(self):
        with pytest.raises(mo.BadInput, match="the derivative that f returned has shape"):
            mo.gradient(lambda y0: odesolve(lambda t, y: np.ones(3), y0, [0, 1]).y[-1].sum(), np.ones(2))
