"""``solve_ivp`` does what the documentation of ``scipy.integrate.solve_ivp`` says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import morula as mo
from morula.ode.scipy import NAMES, solve_ivp

METHODS = [name for name in NAMES if name != "LSODA"]


def swing(t, y):
    return [y[1], -y[0]]


def decay(t, y, k):
    return -k * y


def both(*args, **kwargs):
    return solve_ivp(*args, **kwargs), scipy.integrate.solve_ivp(*args, **kwargs)


class TestResults:
    @pytest.mark.parametrize("method", METHODS)
    def test_the_fields_and_their_shapes(self, method):
        ours, theirs = both(swing, (0.0, 3.0), [1.0, 0.0], method, dense_output=True)
        assert set(ours.keys()) == set(theirs.keys())
        assert ours.y.shape == (2, len(ours.t)) and ours.t[0] == 0.0 and ours.t[-1] == 3.0
        assert np.allclose(ours.y[:, -1], theirs.y[:, -1], atol=0.02)
        assert (ours.status, ours.message, ours.success) == (theirs.status, theirs.message, theirs.success)
        assert ours.t_events is ours.y_events is None
        assert np.shape(ours.sol(1.0)) == (2,) and ours.sol(np.array([0.5, 1.0, 4.0])).shape == (2, 3)
        assert (ours.sol.t_min, ours.sol.t_max) == (0.0, 3.0)
        assert (ours.njev > 0) == (ours.nlu > 0) == (method in ("Radau", "BDF"))
        assert ours["nfev"] == ours.nfev

    def test_the_default_tolerances_are_those_of_scipy(self):
        ours, theirs = both(swing, (0.0, 10.0), [1.0, 0.0])
        assert abs(len(ours.t) - len(theirs.t)) <= 3

    def test_t_eval(self):
        times = np.linspace(0.0, 2.0, 5)
        ours, theirs = both(decay, (0.0, 2.0), [1.0, 2.0], t_eval=times, args=(0.5,), rtol=1e-8)
        assert np.array_equal(ours.t, times) and np.allclose(ours.y, theirs.y, rtol=1e-6)

    def test_backwards(self):
        ours, theirs = both(decay, (2.0, 0.0), [1.0], args=(0.5,), t_eval=[1.5, 0.5], rtol=1e-8)
        assert np.allclose(ours.y, theirs.y, rtol=1e-6) and np.array_equal(ours.t, theirs.t)

    @pytest.mark.parametrize("method", ["RK45", "Radau", "BDF"])
    def test_complex_states(self, method):
        ours = solve_ivp(lambda t, z: (-1 + 2j) * z, (0, 1), [1 + 1j], method, t_eval=[1.0], rtol=1e-7, atol=1e-9)
        assert np.allclose(ours.y, (1 + 1j) * np.exp(-1 + 2j), rtol=1e-5)

    def test_a_vectorized_function(self):
        ours = solve_ivp(lambda t, y: np.stack([y[1], -y[0]]) * np.ones((2, 1)), (0, 1), [1.0, 0.0], vectorized=True)
        assert np.allclose(ours.y[:, -1], [np.cos(1), -np.sin(1)], atol=1e-3)

    def test_the_result_is_a_mapping_like_scipys(self):
        ours, theirs = both(swing, (0.0, 1.0), [1.0, 0.0])
        assert set(ours) == set(theirs) and len(ours) == len(theirs) and "y" in ours and "z" not in ours
        assert ours.get("status") == 0 and ours.get("z") is None and dict(ours.items())["t"] is ours.t

    def test_arguments_that_scipy_takes(self):
        """A number as the derivative of one component, no times, integers and float32 as y0, classes as methods."""
        ours, theirs = both(lambda t, y: -y[0], (0, 1), [1], scipy.integrate.RK45, rtol=1e-8)
        assert np.allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-6)
        assert solve_ivp(swing, (0, 1), [1.0, 0.0], t_eval=[]).t.shape == (0,)
        assert solve_ivp(swing, (0, 1), np.ones(2, np.float32)).y.dtype == np.float64
        assert solve_ivp(swing, (0, 0), [1.0, 0.0]).t.tolist() == [0.0, 0.0]

    def test_options_without_effect_give_scipys_warning(self):
        for options in ({"jac": None, "min_step": 0.1}, {"tol": 1e-3}):
            with pytest.warns(UserWarning) as ours:
                solve_ivp(decay, (0, 1), [1.0], args=(1.0,), **options)
            with pytest.warns(UserWarning) as theirs:
                scipy.integrate.solve_ivp(decay, (0, 1), [1.0], args=(1.0,), **options)
            assert str(ours[0].message) == str(theirs[0].message)

    def test_a_relative_tolerance_below_rounding_is_raised_with_a_warning(self):
        with pytest.warns(UserWarning, match="At least one element of `rtol` is too small") as ours:
            assert solve_ivp(decay, (0, 0.1), [1.0], "DOP853", args=(1.0,), rtol=1e-20).success
        with pytest.warns(UserWarning) as theirs:
            scipy.integrate.solve_ivp(decay, (0, 0.1), [1.0], "DOP853", args=(1.0,), rtol=1e-20)
        assert str(ours[0].message) == str(theirs[0].message)

    def test_a_failed_solve(self):
        ours = solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0], t_eval=np.linspace(0, 2, 9))
        assert (ours.status, ours.success) == (-1, False) and ours.t[-1] == 0.75 and np.all(np.isfinite(ours.y))
        assert ours.message == "Required step size is less than spacing between numbers."


class TestEvents:
    def test_several_events_with_attributes(self):
        def falls(t, y):
            return y[0]

        falls.direction = -1

        def third(t, y):
            return y[1] - 0.5

        third.terminal = 3
        ours, theirs = both(swing, (0.0, 20.0), [1.0, 0.0], events=[falls, third], rtol=1e-8, atol=1e-8)
        assert ours.status == theirs.status == 1 and ours.message == theirs.message
        for a, b in zip(ours.t_events, theirs.t_events):
            assert np.allclose(a, b, atol=1e-5)
        for a, b in zip(ours.y_events, theirs.y_events):
            assert np.allclose(a, b, atol=1e-5)
        assert np.isclose(ours.t[-1], ours.t_events[1][-1])

    def test_t_eval_ends_before_a_terminal_event(self):
        def hit(t, y):
            return y[0]

        hit.terminal = True
        ours, theirs = both(swing, (0.0, 5.0), [1.0, 0.0], events=hit, t_eval=np.linspace(0, 5, 11))
        assert np.array_equal(ours.t, theirs.t) and ours.y.shape == theirs.y.shape == (2, 4)

    def test_an_event_that_does_not_happen_has_no_entries(self):
        ours = solve_ivp(swing, (0.0, 1.0), [1.0, 0.0], events=lambda t, y: y[0] - 5.0)
        assert ours.t_events[0].shape == (0,) and ours.y_events[0].shape == (0, 2)


class TestJacobians:
    """y' = A y with each form of the Jacobian."""

    matrix = np.array([[-100.0, 1.0, 0.0], [0.5, -2.0, 1.0], [0.0, 0.3, -50.0]])

    @pytest.mark.parametrize("method", ["Radau", "BDF"])
    @pytest.mark.parametrize("form", ["function", "constant", "sparse", "pattern", "banded"])
    def test_forms(self, method, form):
        a = self.matrix
        options = {
            "function": {"jac": lambda t, y: a},
            "constant": {"jac": a},
            "sparse": {"jac": scipy.sparse.csr_array(a)},
            "pattern": {"jac_sparsity": a != 0},
            "banded": {"lband": 1, "uband": 1},
        }[form]
        ours = solve_ivp(lambda t, y: a @ y, (0, 1), np.ones(3), method, rtol=1e-6, atol=1e-9, **options)
        plain = solve_ivp(lambda t, y: a @ y, (0, 1), np.ones(3), method, rtol=1e-6, atol=1e-9)
        assert np.allclose(ours.y[:, -1], plain.y[:, -1], rtol=1e-9)


@pytest.mark.parametrize("arguments, options, message", [
    (((0, 1), [1.0], "RK5"), {}, "`method` must be one of RK23"),
    (((0, 1), [[1.0]]), {}, "`y0` must be 1-dimensional"),
    (((0, 1), [1.0]), {"t_eval": [[0.5]]}, "`t_eval` must be 1-dimensional."),
    (((0, 1), [1.0]), {"t_eval": [0.5, 2.0]}, "Values in `t_eval` are not within `t_span`."),
    (((0, 1), [1.0]), {"t_eval": [0.5, 0.2]}, "Values in `t_eval` are not properly sorted."),
    (((0, 1), [1.0]), {"first_step": 2.0}, "`first_step` exceeds bounds"),
    (((0, 1), [1.0]), {"args": 3.0}, "Supplied 'args' cannot be unpacked."),
    (((0, 1), 1.0), {}, "`y0` must be 1-dimensional"),
    (((0, 1), [np.nan]), {}, "y0 holds a value that is not finite"),
    (((0, 1), [1.0]), {"atol": -1.0}, "atol = -1.0; expected a finite number that is not negative"),
    (((0, 1), [1.0]), {"atol": [1.0, 1.0]}, r"atol has shape \(2,\); give one number, or an array of the shape of an array y0"),
    (((0, 1), [1.0]), {"first_step": 0.0}, "first_step = 0.0; it must be a positive number"),
    (((0, 1), [1.0]), {"max_step": -1.0}, "max_step = -1.0; it must be a positive number"),
    (((0, 1), [1.0], "BDF"), {"jac": lambda t, y: np.eye(3)}, r"jacobian returned shape \(3, 3\); the state has 1 components"),
    (((0, 1), [1.0], "BDF"), {"jac_sparsity": np.eye(3)}, "the pattern of the Jacobian has 3 rows; the state has 1 components"),
    (((0, 1), [1.0], "BDF"), {"jac": np.eye(2)}, r"`jac` is expected to have shape \(1, 1\), but actually has \(2, 2\)"),
    ((3.0, [1.0]), {}, r"`t_span` is 3.0; expected two numbers"),
])  # fmt: skip
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        solve_ivp(lambda t, y: -y, *arguments, **options)


def test_gradients_go_through_it():
    def last(k, y0):
        return solve_ivp(decay, (0.0, 2.0), y0, "DOP853", t_eval=[1.0, 2.0], args=(k,), rtol=1e-9, atol=1e-9).y[0, -1]

    dk, dy0 = mo.gradient(last, 0.5, np.array([3.0]))
    assert np.isclose(dk, -6.0 * np.exp(-1.0), rtol=1e-6) and np.isclose(dy0[0], np.exp(-1.0), rtol=1e-6)
