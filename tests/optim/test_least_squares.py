"""Least squares: unknowns of any structure, statistics of the fit, stopping, and refusals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.optim import LevenbergMarquardt, Status, least_squares

from .more_garbow_hillstrom import PROBLEMS

T = np.linspace(0, 4, 15)
Y = 2.5 * np.exp(-1.3 * T) + 0.01 * np.cos(7 * T)


def decay(b):
    return b[0] * np.exp(-b[1] * T) - Y


def decay_jacobian(b):
    return np.stack([np.exp(-b[1] * T), -b[0] * T * np.exp(-b[1] * T)], axis=1)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_reaches_a_minimum_of_the_more_garbow_hillstrom_problem(problem):
    fit = least_squares(problem.residuals, problem.start)
    assert fit.converged, fit.message
    assert any(np.isclose(fit.rss, least, rtol=1e-9, atol=1e-18) for least in problem.minima)


class TestUnknowns:
    def test_a_number(self):
        fit = least_squares(lambda x: x * T - np.sin(T), 1.0)
        assert type(fit.x) is float and np.isclose(fit.x, T @ np.sin(T) / (T @ T))
        assert type(fit.standard_deviations) is float

    def test_integers_are_promoted(self):
        assert np.allclose(least_squares(decay, np.array([1, 1])).x, least_squares(decay, np.array([1.0, 1.0])).x)

    def test_a_structure(self):
        class Curve(NamedTuple):
            amplitude: float
            rates: dict

        def misfit(curve):
            return curve.amplitude * np.exp(-curve.rates["decay"] * T) - Y

        fit = least_squares(misfit, Curve(1.0, {"decay": 1.0, "unit": "1/s"}))
        plain = least_squares(decay, np.ones(2))
        assert isinstance(fit.x, Curve) and fit.x.rates["unit"] == "1/s"
        assert np.isclose(fit.x.amplitude, plain.x[0]) and np.isclose(fit.x.rates["decay"], plain.x[1])
        assert np.isclose(fit.standard_deviations.rates["decay"], plain.standard_deviations[1])

    def test_complex_unknowns_of_real_residuals(self):
        def misfit(z):
            e = z[0] * np.exp(1j * T) - (2 - 1j) * np.exp(1j * T)
            return np.concatenate([e.real, e.imag])

        assert np.allclose(least_squares(misfit, np.array([0.5 + 0.5j])).x, 2 - 1j)

    def test_residuals_of_any_shape(self):
        fit = least_squares(lambda b: decay(b).reshape(3, 5), np.ones(2))
        assert fit.residual.shape == (3, 5) and fit.jacobian.shape == (15, 2)
        assert np.isclose(least_squares(lambda x: x**2 - 2.0, 1.0).x, 2**0.5)

    def test_other_arguments_are_passed_on(self):
        fit = least_squares(lambda b, t, y: b[0] * np.exp(-b[1] * t) - y, np.ones(2), T, Y)
        assert np.allclose(fit.x, least_squares(decay, np.ones(2)).x)


class TestFit:
    def test_a_given_jacobian_is_used(self):
        given = least_squares(decay, np.ones(2), jacobian=decay_jacobian)
        derived = least_squares(decay, np.ones(2))
        assert given.iterations == derived.iterations and np.allclose(given.x, derived.x)
        assert np.allclose(derived.jacobian, decay_jacobian(derived.x))

    def test_units_of_the_parameters_do_not_matter(self):
        units = np.array([1e-9, 1e6])
        fit = least_squares(lambda b: decay(b * units), 1 / units)
        plain = least_squares(decay, np.ones(2))
        assert fit.iterations == plain.iterations
        assert np.allclose(fit.x * units, plain.x) and np.allclose(
            fit.standard_deviations * units, plain.standard_deviations
        )

    def test_statistics_of_a_straight_line(self, rng):
        # The textbook's formulas for the variance of slope and intercept.
        y = 3 * T - 1 + rng.standard_normal(15)
        fit = least_squares(lambda b: b[0] * T + b[1] - y, np.zeros(2))
        s2 = fit.rss / 13
        centred = np.sum((T - T.mean()) ** 2)
        assert fit.degrees_of_freedom == 13 and np.isclose(fit.residual_standard_deviation, s2**0.5)
        assert np.isclose(fit.covariance[0, 0], s2 / centred)
        assert np.isclose(fit.covariance[1, 1], s2 * (1 / 15 + T.mean() ** 2 / centred))
        assert np.isclose(fit.covariance[0, 1], -s2 * T.mean() / centred)
        assert np.allclose(fit.standard_deviations, np.sqrt(np.diag(fit.covariance)))

    def test_what_the_data_do_not_determine_has_infinite_variance(self):
        fit = least_squares(lambda b: (b[0] + b[1]) * T + b[2] - Y, np.array([1.0, 2.0, 3.0]))
        assert fit.converged
        assert np.isinf(fit.standard_deviations[:2]).all() and np.isfinite(fit.standard_deviations[2])
        assert np.isnan(fit.covariance[0, 1]) and np.isnan(fit.covariance[0, 2])

    def test_as_many_unknowns_as_residuals_have_no_variance(self):
        fit = least_squares(lambda x: np.array([x[0] ** 2 + x[1] - 3, x[0] - x[1] ** 2 + 1]), np.array([1.0, 1.0]))
        assert fit.converged and fit.rss < 1e-25 and np.isnan(fit.standard_deviations).all()

    def test_more_unknowns_than_residuals(self):
        fit = least_squares(lambda x: np.array([x[0] * x[1] * x[2] - 6]), np.array([1.0, 2.0, 2.0]))
        assert fit.converged and np.isclose(np.prod(fit.x), 6)

    def test_a_domain_with_walls(self):
        fit = least_squares(
            lambda b: np.log(b[0] * T + b[1]) - np.log(2 * T + 0.1),
            np.array([0.01, 50.0]),
            method=LevenbergMarquardt(radius=100),
        )
        assert fit.converged and np.allclose(fit.x, [2, 0.1])

    def test_float32(self):
        t, y = T.astype("f4"), Y.astype("f4")
        fit = least_squares(lambda b: b[0] * np.exp(-b[1] * t) - y, np.ones(2, "f4"))
        assert fit.converged and fit.x.dtype == np.float32
        assert np.allclose(fit.x, least_squares(decay, np.ones(2)).x, rtol=1e-4)

    def test_the_callback_sees_every_step_and_can_stop(self):
        seen = []
        fit = least_squares(decay, np.ones(2), callback=lambda f: seen.append(f.rss) or len(seen) == 3)
        assert len(seen) == 3 and seen == sorted(seen, reverse=True)
        assert not fit.converged and fit.message == "stopped by callback" and fit.rss == seen[-1]

    def test_a_start_at_the_minimum_takes_no_step(self):
        x = least_squares(decay, np.ones(2)).x
        assert least_squares(decay, x).iterations == 0
        assert least_squares(lambda x: x - 1.0, np.ones(3)).iterations == 0

    def test_too_few_iterations_say_so(self):
        fit = least_squares(decay, np.array([9.0, 0.1]), max_iterations=2)
        assert not fit.converged and fit.status is Status.MAX_ITERATIONS

    def test_a_wrong_jacobian_is_noticed(self):
        fit = least_squares(decay, np.ones(2), jacobian=lambda b: -decay_jacobian(b))
        assert not fit.converged and "its derivative is wrong" in fit.message


class TestBadInput:
    @pytest.mark.parametrize(
        "search, message",
        [
            (lambda: least_squares(None, np.ones(2)), "r is a NoneType, expected a function of x0"),
            (lambda: least_squares(decay, "b"), "x0 holds no number to vary"),
            (lambda: least_squares(decay, np.array([1.0, np.inf])), "x0 holds NaN or Inf"),
            (lambda: least_squares(lambda b: np.log(b), -np.ones(2)), r"r\(x0\) holds NaN or Inf"),
            (lambda: least_squares(lambda b: np.sqrt(b), np.zeros(2)), "the Jacobian at x0 holds NaN or Inf"),
            (lambda: least_squares(lambda b: [b[0], b[1]], np.ones(2)), r"r returned a list, expected an array"),
            (lambda: least_squares(lambda b: 1j * b, np.ones(2)), "complex numbers, expected an array of real"),
            (lambda: least_squares(lambda b: b[:0], np.ones(2)), "an empty array, expected at least one residual"),
            (lambda: least_squares(decay, np.ones(2), jacobian=lambda b: np.ones(3)), r"the Jacobian has shape \(3,\)"),
            (lambda: least_squares(decay, np.ones(2), jacobian=T), "jacobian is a ndarray, expected a function"),
            (
                lambda: least_squares(decay, np.ones(2), method="simplex"),
                "no method 'simplex'; there are 'lm', 'dogleg'",
            ),
            (lambda: least_squares(decay, np.ones(2), tol=-1), "tol is -1, expected a positive number"),
            (lambda: LevenbergMarquardt(radius=0), "radius is 0, expected a positive"),
        ],
    )
    def test_says_what_was_given_and_what_was_expected(self, search, message):
        with pytest.raises(mo.BadInput, match=message), np.errstate(all="ignore"):
            search()


def noisy(rng):
    y = decay(np.zeros(2)) * -1 + 0.01 * rng.standard_normal(15)
    y[[3, 9]] += 2.0
    return y


class TestMethods:
    @pytest.mark.parametrize("method", ["dogleg", "gauss-newton"])
    def test_reach_the_same_fit(self, method):
        fit, plain = least_squares(decay, np.ones(2), method=method), least_squares(decay, np.ones(2))
        assert fit.converged and np.allclose(fit.x, plain.x, rtol=1e-9)

    @pytest.mark.parametrize("name", ["rosenbrock", "freudenstein roth", "bard", "kowalik osborne", "osborne 1"])
    def test_the_dogleg_solves_the_more_garbow_hillstrom_problem(self, name):
        problem = next(p for p in PROBLEMS if p.name == name)
        fit = least_squares(problem.residuals, problem.start, method="dogleg")
        assert fit.converged and any(np.isclose(fit.rss, least, rtol=1e-9, atol=1e-18) for least in problem.minima)

    @pytest.mark.parametrize("method, target", [("lm", "native"), ("dogleg", "native")])
    def test_a_compiled_fit_is_the_same_fit(self, method, target):
        def fit(y):
            return least_squares(lambda b: b[0] * np.exp(-b[1] * T) - y, np.ones(2), method=method)

        found, expected = mo.jit(fit, target=target)(Y), fit(Y)
        assert found.converged and abs(found.iterations - expected.iterations) <= 1
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-9)
        np.testing.assert_allclose(found.standard_deviations, expected.standard_deviations, rtol=1e-7)

    def test_many_residuals_of_few_unknowns_take_few_evaluations_of_r(self):
        calls, t = [], np.linspace(0, 4, 20_000)

        def misfit(b):
            calls.append(1)
            return b[0] * np.exp(-b[1] * t) - 2.5 * np.exp(-1.3 * t)

        fit = least_squares(misfit, np.ones(2))
        assert fit.converged and len(calls) <= 1 + fit.evaluations + 3 * (fit.iterations + 1)

    def test_continues_bitwise_from_its_state(self):
        start = np.array([9.0, 0.1])
        whole = least_squares(decay, start, history=True)
        part = least_squares(decay, start, max_iterations=3, resumable=True)
        rest = least_squares(decay, start, resume=part.state)
        assert rest.x.tobytes() == whole.x.tobytes() and rest.iterations == whole.iterations
        assert whole.history.shape == (whole.iterations + 1, 2) and np.isclose(whole.history[-1, 0], whole.rss)


class TestBounds:
    @pytest.mark.parametrize("bounds", [([0, 0.0], [2.0, 9.0]), ([3.0, -np.inf], np.inf), (None, [2.4, 1.0]), (-9, 9)])
    def test_reach_scipys_minimum(self, bounds):
        lower, upper = (b if b is not None else f for b, f in zip(bounds, (-np.inf, np.inf)))
        start = np.clip(np.ones(2), lower, upper)
        expected = scipy.optimize.least_squares(decay, start, bounds=(lower, upper), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        fit = least_squares(decay, start, bounds=bounds)
        assert fit.converged and np.allclose(fit.x, expected.x, rtol=1e-6)
        assert np.all(fit.x >= lower) and np.all(fit.x <= upper)

    def test_of_a_structure(self):
        fit = least_squares(
            lambda p: decay(np.stack([p["a"], p["k"]])), {"a": 1.0, "k": 1.0}, bounds=(None, {"a": 2.0, "k": 9.0})
        )
        assert fit.converged and fit.x["a"] == 2.0

    def test_a_bounded_fit_moves_with_data_and_bound(self):
        def loss(y, top):
            bounds = (0.0, np.stack([top, 9.0]))
            fit = least_squares(lambda b: b[0] * np.exp(-b[1] * T[::3]) - y, np.ones(2), bounds=bounds)
            return fit.x[0] + 3 * fit.x[1]

        mo.testing.check_gradients(loss, Y[::3], 2.0, order=1)

    @pytest.mark.parametrize(
        "bounds, message",
        [
            (([2.0, 0.0], [1.0, 9.0]), "the bounds are crossed: unknown 0 has lower bound 2 and upper bound 1"),
            ((2.0, 9.0), r"x0 is infeasible: unknown 0 is 1, outside of \[2, 9\] by 1"),
            (3.0, r"bounds is a float, expected a pair \(lower, upper\)"),
            ((np.nan, 1.0), "a bound is NaN"),
            ((np.zeros(3), 1.0), r"the lower bound has shape \(3,\): expected \(2,\), like x0"),
        ],
    )
    def test_wrong_bounds_are_refused(self, bounds, message):
        with pytest.raises(mo.BadInput, match=message):
            least_squares(decay, np.ones(2), bounds=bounds)


class TestRobust:
    @pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
    def test_reach_scipys_minimum(self, loss, rng):
        y = noisy(rng)
        misfit = lambda b: b[0] * np.exp(-b[1] * T) - y
        options = dict(loss=loss, f_scale=0.05, xtol=1e-15, ftol=1e-15, gtol=1e-12)
        expected = scipy.optimize.least_squares(misfit, np.array([2.0, 1.0]), **options)
        fit = least_squares(misfit, np.array([2.0, 1.0]), loss=loss, scale=0.05)
        assert fit.converged, fit.message
        assert np.allclose(fit.x, expected.x, rtol=1e-5) and np.isclose(fit.value, 2 * expected.cost)

    def test_tukey_ignores_outliers(self, rng):
        y = noisy(rng)
        keep = np.abs(y + decay(np.zeros(2))) < 1.0
        fit = least_squares(lambda b: b[0] * np.exp(-b[1] * T) - y, np.array([2.4, 1.2]), loss="tukey", scale=1.0)
        plain = least_squares(lambda b: (b[0] * np.exp(-b[1] * T) - y)[keep], np.ones(2))
        assert fit.converged and np.allclose(fit.x, plain.x, rtol=2e-2)

    @pytest.mark.parametrize("loss", ["soft_l1", "cauchy", lambda z: np.log1p(z)], ids=["soft_l1", "cauchy", "own"])
    def test_moves_with_the_data(self, loss, rng):
        def total(y):
            x = least_squares(lambda b: b[0] * np.exp(-b[1] * T[::3]) - y, np.ones(2), loss=loss, scale=0.5).x
            return x[0] + 3 * x[1]

        mo.testing.check_gradients(total, Y[::3] + 0.1 * rng.standard_normal(5), order=1)

    def test_wrong_losses_are_refused(self):
        with pytest.raises(mo.BadInput, match="no loss 'l3'; there are 'linear', 'soft_l1'"):
            least_squares(decay, np.ones(2), loss="l3")
        with pytest.raises(mo.BadInput, match="scale is 0, expected a positive number"):
            least_squares(decay, np.ones(2), scale=0)
