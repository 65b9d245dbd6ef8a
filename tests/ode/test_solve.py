"""Arguments and results of odesolve: states of any structure, times in any direction, statistics, errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.ode import CONTROLS, METHODS, IntegrationFailed, Solution, Status, StepControl, Tableau, odesolve, tableau

from .problems import kepler, kepler_exact, kepler_start

EXPLICIT = [name for name, method in METHODS.items() if isinstance(method, Tableau)]
ADAPTIVE = [name for name in EXPLICIT if len(METHODS[name].error)]


def decay(t, y, rate=1.0):
    return -rate * y


class TestState:
    def test_a_number(self):
        ys = odesolve(decay, 2.0, [0, 1]).y
        assert ys.shape == (2,)
        assert np.isclose(ys[-1], 2 * np.exp(-1))

    def test_an_int_is_solved_as_a_float(self):
        assert np.isclose(odesolve(decay, 2, [0, 1]).y[-1], 2 * np.exp(-1))
        assert odesolve(decay, np.array([2, 1]), [0, 1]).y.dtype == np.float64

    def test_f_sees_the_form_of_y0(self):
        seen = []

        def f(t, y):
            seen.append((type(t), np.shape(y)))
            return y

        for y0 in (1.0, np.ones(3), np.ones((2, 3)), np.array(1.0)):
            seen.clear()
            odesolve(f, y0, [0, 1])
            assert set(seen) == {(float, np.shape(y0))}

    @pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 2), (0,)])
    def test_an_array_of_any_shape(self, shape):
        y0 = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
        ys = odesolve(decay, y0, [0, 0.5, 1]).y
        assert ys.shape == (3, *shape)
        assert np.allclose(ys[-1], y0 * np.exp(-1), rtol=1e-5)

    def test_a_matrix_equation(self):
        spin = np.array([[0.0, -1.0], [1.0, 0.0]])
        ys = odesolve(lambda t, y: spin @ y, np.eye(2), [0, np.pi / 2], rtol=1e-10, atol=1e-10).y
        assert np.allclose(ys[-1], spin, atol=1e-8)

    def test_a_dict(self):
        def f(t, y):
            return {"x": y["v"], "v": -y["x"]}

        ys = odesolve(f, {"x": 1.0, "v": np.zeros(())}, np.linspace(0, 3, 4), rtol=1e-9, atol=1e-9).y
        assert np.allclose(ys["x"], np.cos(np.arange(4)), atol=1e-7)
        assert np.allclose(ys["v"], -np.sin(np.arange(4)), atol=1e-7)

    def test_nested_tuples_and_lists(self):
        def f(t, y):
            q, [p, extra] = y
            return p, [-q, {"time": np.ones(2)}]

        y0 = (np.ones((2, 2)), [np.zeros((2, 2)), {"time": np.zeros(2)}])
        q, [p, extra] = odesolve(f, y0, [0, 1, 2], rtol=1e-9, atol=1e-9).y
        assert q.shape == p.shape == (3, 2, 2)
        assert np.allclose(q[2], np.cos(2.0), atol=1e-7)
        assert np.allclose(extra["time"], [[0, 0], [1, 1], [2, 2]])

    def test_an_object(self):
        @dataclass
        class Oscillator:
            q: float
            p: float

        ys = odesolve(lambda t, y: Oscillator(y.p, -y.q), Oscillator(1.0, 0.0), [0, 1, 2], rtol=1e-9, atol=1e-9).y
        assert isinstance(ys, Oscillator)
        assert np.allclose(ys.q, np.cos([0, 1, 2]), atol=1e-7)

    @pytest.mark.parametrize("other", [list, tuple])
    def test_f_may_return_a_list_for_a_tuple_and_the_reverse(self, other):
        y0 = (1.0, 0.0) if other is list else [1.0, 0.0]
        ys = odesolve(lambda t, y: other([y[1], -y[0]]), y0, [0, 1]).y
        assert type(ys) is type(y0)
        assert np.allclose([ys[0][-1], ys[1][-1]], [np.cos(1), -np.sin(1)], atol=1e-5)

    def test_f_may_return_a_list_for_a_vector(self):
        ys = odesolve(lambda t, y: [y[1], -y[0]], np.array([1.0, 0.0]), [0, 1]).y
        assert np.allclose(ys[-1], [np.cos(1), -np.sin(1)], atol=1e-5)

    def test_a_complex_state(self):
        ys = odesolve(lambda t, y: 1j * y, 1 + 0j, [0, np.pi], rtol=1e-10, atol=1e-10).y
        assert ys.dtype == np.complex128
        assert abs(ys[-1] + 1) < 1e-8

    @pytest.mark.parametrize("steps", [None, 4])
    @pytest.mark.parametrize("method", ["tsit5", "dop853"])
    def test_float32_stays_float32(self, method, steps):
        seen = set()

        def f(t, y):
            seen.add(y.dtype)
            return -y

        ys = odesolve(f, np.ones(2, np.float32), [0, 1], method=method, rtol=1e-4, atol=1e-5, steps=steps).y
        assert ys.dtype == np.float32 and seen == {np.dtype(np.float32)}
        assert np.allclose(ys[-1], np.exp(-1), atol=1e-4)

    @pytest.mark.parametrize("steps", [None, 30])
    def test_f_may_fill_one_array_again_and_again(self, steps):
        slope = np.empty(2)

        def f(t, y):
            slope[0] = y[1]
            slope[1] = -y[0]
            return slope

        ys = odesolve(f, np.array([1.0, 0.0]), [0, 1, 2], rtol=1e-8, atol=1e-8, steps=steps).y
        assert np.allclose(ys[:, 0], np.cos([0, 1, 2]), atol=1e-6)

    def test_y0_is_left_as_it_was(self):
        y0 = np.array([1.0, 0.5])
        solution = odesolve(lambda t, y: -y, y0, [0, 1])
        solution.y[0] = 7
        assert y0.tolist() == [1.0, 0.5]


class TestTimes:
    def test_any_sequence_of_numbers(self):
        for ts in ([0, 1], (0, 1), range(2), np.array([0, 1]), np.array([0.0, 1.0], np.float32)):
            solution = odesolve(decay, 1.0, ts)
            assert solution.t.dtype == np.float64 and solution.t.tolist() == [0, 1]

    @pytest.mark.parametrize("method", ADAPTIVE)
    def test_backwards(self, method):
        ts = np.linspace(4.0, 0.0, 9)
        tol = 1e-5 if METHODS[method].order == 2 else 1e-9
        ys = odesolve(kepler, kepler_exact(4.0, 0.3), ts, method=method, rtol=tol, atol=tol).y
        assert abs(ys - kepler_exact(ts, 0.3)).max() < 400 * tol

    def test_there_and_back(self):
        there = odesolve(kepler, kepler_start(0.4), [0, 5], rtol=1e-11, atol=1e-11).y[-1]
        back = odesolve(kepler, there, [5, 0], rtol=1e-11, atol=1e-11).y[-1]
        assert np.allclose(back, kepler_start(0.4), atol=1e-8)

    @pytest.mark.parametrize("steps", [None, 20])
    def test_negative_times(self, steps):
        ts = np.linspace(-3.0, -1.0, 5)
        ys = odesolve(lambda t, y: y * np.cos(t), np.exp(np.sin(-3.0)), ts, method="dop853", steps=steps, rtol=1e-9).y
        assert np.allclose(ys, np.exp(np.sin(ts)), atol=1e-8)

    @pytest.mark.parametrize("steps", [None, 3])
    def test_equal_neighbours_give_equal_values(self, steps):
        ts = [0, 0, 0.5, 0.5, 0.5, 1, 1]
        ys = odesolve(decay, 1.0, ts, steps=steps).y
        assert np.allclose(ys, np.exp(-np.array(ts)), atol=1e-4)
        assert ys[1] == ys[0] and ys[3] == ys[2] == ys[4] and np.isclose(ys[6], ys[5], rtol=1e-14)

    @pytest.mark.parametrize("ts", [[0.0], [1.0, 1.0, 1.0]])
    @pytest.mark.parametrize("steps", [None, 3])
    def test_no_time_passes(self, ts, steps):
        solution = odesolve(decay, np.array([2.0, 3.0]), ts, steps=steps)
        assert solution.y.tolist() == [[2.0, 3.0]] * len(ts)

    def test_a_span_shorter_than_the_clock_resolves_in_steps(self):
        ts = [1e6, np.nextafter(1e6, 2e6)]
        assert np.allclose(odesolve(decay, 1.0, ts).y, 1.0)

    def test_values_at_ts_do_not_restrict_the_steps(self):
        few = odesolve(kepler, kepler_start(0.3), [0, 10])
        many = odesolve(kepler, kepler_start(0.3), np.linspace(0, 10, 1001))
        assert few.stats == many.stats
        assert np.allclose(few.y[-1], many.y[-1], rtol=0, atol=1e-14)

    def test_the_values_are_one_smooth_curve(self):
        ts = np.linspace(0, 6, 2001)
        ys = odesolve(kepler, kepler_start(0.3), ts, rtol=1e-5, atol=1e-5).y
        slope = np.diff(ys, axis=0) / np.diff(ts)[:, None]
        f = np.stack([kepler(0, y) for y in (ys[1:] + ys[:-1]) / 2])
        assert abs(slope - f).max() < 1e-3


class TestSteps:
    def test_statistics_count_the_calls(self):
        for method in ADAPTIVE:
            calls = []

            def f(t, y):
                calls.append(t)
                return kepler(t, y)  # noqa: B023

            loose = 1e-4 if METHODS[method].order == 2 else 1e-6
            stats = odesolve(
                f, kepler_start(0.8), [0, 3, 5, 7], method=method, rtol=loose, atol=loose, first_step=1
            ).stats
            assert stats.evaluations == len(calls)
            assert stats.accepted > 0 and stats.rejected > 0 and 0 < stats.last_step < 7
            calls.clear()

    def test_f_is_not_called_outside_the_span(self):
        calls = []
        odesolve(lambda t, y: calls.append(t) or -y, 1.0, [0, 1, 3], first_step=100.0)
        assert min(calls) == 0 and max(calls) <= 3

    def test_steps_of_a_given_size(self):
        stats = odesolve(decay, 1.0, [0, 1, 3], method="rk4", steps=5).stats
        assert (stats.accepted, stats.rejected, stats.evaluations, stats.last_step) == (10, 0, 41, 0.4)

    def test_the_step_is_bounded(self):
        stats = odesolve(lambda t, y: 0 * y, 1.0, [0, 10], first_step=1.0, max_step=0.25).stats
        assert stats.accepted == 40 and stats.last_step == 0.25

    def test_the_first_step_can_be_given(self):
        assert odesolve(decay, 1.0, [0, 1], first_step=0.01, max_step=0.01).stats.last_step == 0.01

    def test_a_zero_state_and_a_zero_derivative(self):
        assert np.array_equal(odesolve(lambda t, y: 0 * y, np.zeros(2), [0, 1e6]).y, np.zeros((2, 2)))

    def test_tolerances_per_component(self):
        def f(t, y):
            return np.stack([-y[1], y[0], 1e-6 * np.cos(t)])

        y0 = np.array([1.0, 0.0, 0.0])
        coarse = odesolve(f, y0, [0, 5], rtol=1e-4, atol=np.array([1e-4, 1e-4, 1e-16]))
        assert np.isclose(coarse.y[-1, 2], 1e-6 * np.sin(5.0), rtol=1e-3)

    def test_a_step_into_a_forbidden_region_is_retried(self):
        def f(t, y):
            with np.errstate(invalid="ignore"):
                return -np.sqrt(y)

        ys = odesolve(f, 1.0, [0, 1.9], first_step=1.8).y
        assert np.isclose(ys[-1], (1 - 1.9 / 2) ** 2, atol=1e-6)

    def test_a_tableau_of_the_users(self):
        ralston = tableau("ralston", 2, stages=[[2 / 3, 2 / 3], [1, 1 / 4, 3 / 4]], error=[[-3 / 4, 3 / 4, 0]])
        ys = odesolve(decay, 1.0, [0, 1], method=ralston, rtol=1e-6).y
        assert np.isclose(ys[-1], np.exp(-1), atol=1e-5)


class TestControl:
    @pytest.mark.parametrize("name", CONTROLS)
    def test_every_controller_meets_the_tolerance(self, name):
        ts = np.linspace(0.0, 10.0, 6)
        solution = odesolve(kepler, kepler_start(0.5), ts, rtol=1e-8, atol=1e-8, step_control=name)
        assert abs(solution.y - kepler_exact(ts, 0.5)).max() < 1e-5
        assert solution.stats.rejected <= solution.stats.accepted / 3

    def test_pi_control_damps_the_steps_of_an_unstable_mode(self):
        """On a mildly stiff problem the elementary controller oscillates at the boundary of stability."""
        counts = [
            odesolve(lambda t, y: -500 * (y - np.cos(t)), 0.0, [0, 3], step_control=name).stats.rejected
            for name in ("I", "PI")
        ]
        assert counts[1] < counts[0] / 2

    def test_a_controller_of_the_users(self):
        safe = odesolve(kepler, kepler_start(0.5), [0, 9], step_control=StepControl((1.0, 0.0, 0.0), safety=0.5))
        bold = odesolve(kepler, kepler_start(0.5), [0, 9], step_control=StepControl((1.0, 0.0, 0.0)))
        assert safe.stats.rejected == 0 and safe.stats.accepted > 1.4 * bold.stats.accepted

    @pytest.mark.parametrize("ts", [[0.0, 2.0], [2.0, 0.0]])
    def test_steps_end_at_tstops(self, ts):
        times = []
        odesolve(lambda t, y: times.append(t) or -y, 1.0, ts, tstops=[1.5, 0.3, 7.0, 2.0, -1.0], rtol=1e-3)
        assert {0.0, 0.3, 1.5, 2.0} <= set(times) and 0 <= min(times) and max(times) <= 2

    def test_a_jump_at_a_stop_costs_no_rejections(self):
        def f(t, y):
            return np.where(t <= 1.0, 1.0, -3.0) * np.ones(1)

        solution = odesolve(f, np.zeros(1), [0, 1, 2], tstops=[1.0, np.nextafter(1.0, 2.0)])
        assert np.allclose(solution.y[:, 0], [0, 1, -2], atol=1e-12) and solution.stats.rejected == 0


class TestStatus:
    def test_success(self):
        solution = odesolve(decay, 1.0, [0, 1])
        assert solution.success and solution.status is Status.SUCCESS and solution.method == "tsit5"
        assert solution.message == "the last time was reached" and solution.t_reached == 1.0
        assert solution.y_reached == solution.y[-1]

    def test_what_was_computed_is_on_the_exception(self):
        with pytest.raises(IntegrationFailed) as failure:
            odesolve(lambda t, y: {"a": -y["a"]}, {"a": 1.0}, [0.0, 0.1, 0.2, 50.0], max_steps=10, rtol=1e-9)
        solution = failure.value.solution
        assert solution.status is Status.MAX_STEPS and not solution.success and solution.stats.accepted <= 10
        assert np.allclose(solution.y["a"][:3], np.exp([0, -0.1, -0.2])) and np.isnan(solution.y["a"][3])
        assert np.isclose(solution.y_reached["a"], np.exp(-solution.t_reached)) and 0.2 < solution.t_reached < 50

    def test_without_an_error(self):
        solution = odesolve(lambda t, y: y * y, 1.0, [0, 0.5, 2], throw=False)
        assert solution.status is Status.STEP_TOO_SMALL and np.allclose(solution.y[:2], [1, 2])
        assert np.isclose(solution.t_reached, 1.0)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_compiled_failures_are_the_same(self, target):
        def solve(y0, throw):
            return odesolve(lambda t, y: y * y, y0, [0.0, 0.5, 2.0], throw=throw, max_steps=60)

        expected = solve(1.0, False)
        compiled = mo.jit(solve, target=target, static_argnums=1)
        found = compiled(1.0, False)
        assert found.status is expected.status and np.allclose(found.y, expected.y, equal_nan=True)
        with pytest.raises(IntegrationFailed, match="max_steps = 60 steps were taken and t = ") as failure:
            compiled(1.0, True)
        assert np.allclose(failure.value.solution.y, expected.y, equal_nan=True)


class TestBadInput:
    @pytest.mark.parametrize("change, message", [
        ({"f": 3}, r"f is int; odesolve needs a function f\(t, y, \*args\) that returns dy/dt"),
        ({"y0": "one"}, "y0 is str; expected a number"),
        ({"y0": {"a": [1.0, None]}}, r"y0\['a'\]\[1\] is NoneType"),
        ({"y0": True}, "y0 is bool"),
        ({"y0": np.array(["a"])}, "y0 has dtype <U1; expected numbers"),
        ({"y0": np.array([1.0, np.nan])}, "y0 holds a value that is not finite"),
        ({"ts": 1.0}, r"ts has shape \(\); expected a one-dimensional sequence of times"),
        ({"ts": ["a"]}, r"ts is \['a'\]; expected a sequence of real times"),
        ({"ts": [0, 1j]}, "expected a sequence of real times"),
        ({"atol": "small"}, "atol = 'small'; expected a finite number"),
        ({"max_step": "big"}, "max_step = 'big'; it must be a positive number"),
        ({"ts": []}, r"ts has shape \(0,\)"),
        ({"ts": [0, 1, 0.5]}, r"ts must be strictly increasing or strictly decreasing, but ts\[1\] = 1 and ts\[2\] = 0.5"),
        ({"ts": [0, 0, -1, 0.5]}, r"but ts\[2\] = -1 and ts\[3\] = 0.5"),
        ({"ts": [0, np.inf]}, "ts holds a time that is not finite"),
        ({"method": "rk45"}, "method 'rk45' is not known; choose one of euler, midpoint"),
        ({"method": "rk4"}, r'method "rk4" has no error estimate; give the number of steps, as in steps=10'),
        ({"steps": 0}, "steps = 0; expected an integer of at least 1"),
        ({"steps": 2.0}, "steps = 2.0; expected an integer of at least 1"),
        ({"steps": True}, "steps = True"),
        ({"rtol": -1e-3}, "rtol = -0.001; expected a finite number that is not negative"),
        ({"atol": np.nan}, "atol = nan"),
        ({"rtol": 0, "atol": 0}, "rtol and atol are both 0"),
        ({"atol": np.ones(3)}, r"atol has shape \(3,\); give one number, or an array of the shape of an array y0"),
        ({"first_step": -0.1}, "first_step = -0.1; it must be a positive number"),
        ({"max_step": 0}, "max_step = 0; it must be a positive number"),
        ({"max_steps": 0}, "max_steps = 0; it must be a positive number"),
        ({"step_control": "P"}, "step_control 'P' is not known; choose one of I, PI, PI42, PID, predictive, or give"),
        ({"tstops": ["a"]}, r"tstops is \['a'\]; expected a sequence of finite times"),
    ])  # fmt: skip
    def test_arguments(self, change, message):
        arguments = {"f": decay, "y0": np.ones(2), "ts": [0, 1]} | change
        with pytest.raises(mo.BadInput, match=message):
            odesolve(**arguments)

    @pytest.mark.parametrize("y0, returned, message", [
        (np.ones(2), np.ones(3), r"the derivative that f returned has shape \(3,\) and dtype float64; the state there "
                                 r"has shape \(2,\)"),
        (np.ones(2), 1.0, r"shape \(\).* has shape \(2,\)"),
        (1.0, np.ones(1), r"shape \(1,\).* has shape \(\)"),
        (np.ones((2, 2)), np.ones(4), r"shape \(4,\).* has shape \(2, 2\)"),
        (np.ones(2), None, r"f returned is missing or None; the state there has shape \(2,\)"),
        ({"a": 1.0}, {"b": 1.0}, r"f returned\['b'\] has no counterpart in y0"),
        ({"a": 1.0}, {"a": 1.0, "b": 1.0}, r"f returned\['b'\] has no counterpart in y0"),
        ({"a": 1.0, "b": 1.0}, {"a": 1.0}, r"f returned\['b'\] is missing or None"),
        ([1.0, 2.0], np.ones(2), r"is an array, and y0 is a list; for a vector, give y0 as an array"),
        ({"a": 1.0}, 1.0, "f returned is a float: expected the structure of y0, a dict"),
        ((1.0, [2.0, 3.0]), (1.0, [2.0]), r"f returned\[1\] has 1 entries: expected 2, like y0"),
        (1.0, 1j, "f returned complex values for a real state; give y0 as complex to solve in complex128"),
    ])  # fmt: skip
    @pytest.mark.parametrize("steps", [None, 2])
    def test_what_f_returns(self, y0, returned, message, steps):
        with pytest.raises(mo.BadInput, match=message):
            odesolve(lambda t, y: returned, y0, [0, 1], steps=steps)

    def test_a_derivative_that_is_not_finite_at_the_start(self):
        with pytest.raises(mo.BadInput, match=r"f is not finite at the start, t = 0: it returned \[inf\]"):
            odesolve(lambda t, y: np.array([np.inf]), np.ones(1), [0, 1])

    def test_the_step_limit(self):
        with pytest.raises(IntegrationFailed, match=r"max_steps = 20 steps were taken and t = .* of 1 was reached"):
            odesolve(lambda t, y: -1e5 * (y - np.cos(t)), 0.0, [0, 1], max_steps=20)

    def test_a_singular_solution(self):
        with np.errstate(all="ignore"), pytest.raises(IntegrationFailed, match="at t = 1; .* may be singular there"):
            odesolve(lambda t, y: y * y, 1.0, [0, 2])

    def test_a_function_that_breaks_off(self):
        with pytest.raises(IntegrationFailed, match=r"at t = 0\.5; .*f may return values that are not finite"):
            odesolve(lambda t, y: y if t <= 0.5 else np.nan * y, 1.0, [0, 2])

    def test_an_error_in_f_is_the_users(self):
        with pytest.raises(KeyError, match="speed"):
            odesolve(lambda t, y, parameters: parameters["speed"] * y, 1.0, [0, 1], {})

    def test_it_is_a_morula_error(self):
        assert issubclass(IntegrationFailed, mo.MorulaError)


def test_the_solution_shows_its_parts():
    solution = odesolve(decay, 1.0, [0, 1])
    assert isinstance(solution, Solution)
    assert repr(solution.stats).startswith("Stats(accepted=")
