"""Models that are linear in some parameters: NIST's certified values, the whole fit, derivatives, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders
from morula.optim import least_squares, parameter_covariance, variable_projection

from .test_nist import DATA

RANDOM = np.random.default_rng(8)
T = np.linspace(0.0, 4.0, 40)
Y = 2.0 * np.exp(-0.7 * T) + 0.5 * np.exp(-3.0 * T) + 0.01 * RANDOM.normal(size=40)


def exponentials(rates, t):
    return np.exp(-np.outer(t, rates))


def test_the_three_exponentials_of_lanczos_have_the_certified_values():
    problem = DATA["Lanczos2"]
    x, y, certified = np.array(problem["x"]), np.array(problem["y"]), np.array(problem["certified"])
    fit = variable_projection(exponentials, y, np.array([0.3, 2.0, 6.0]), x)
    assert fit.converged, fit.message
    np.testing.assert_allclose(fit.x, certified[1::2], rtol=1e-7)
    np.testing.assert_allclose(fit.coefficients, certified[0::2], rtol=1e-6)
    deviations = np.array(problem["certified_sd"])
    np.testing.assert_allclose(fit.standard_deviations, deviations[1::2], rtol=1e-6)
    np.testing.assert_allclose(fit.coefficient_deviations, deviations[0::2], rtol=1e-6)


def test_statistics_are_those_of_the_whole_fit():
    fit = variable_projection(exponentials, Y, np.array([0.5, 2.0]), T)
    whole = least_squares(lambda b: exponentials(b[:2], T) @ b[2:] - Y, np.array([0.5, 2.0, 1.0, 1.0]))
    np.testing.assert_allclose(np.concatenate([fit.x, fit.coefficients]), whole.x, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, whole.covariance, rtol=1e-5)
    np.testing.assert_allclose(
        np.concatenate([fit.standard_deviations, fit.coefficient_deviations]), whole.standard_deviations, rtol=1e-5
    )
    assert fit.degrees_of_freedom == 36 and np.isclose(fit.rss, whole.rss)
    assert fit.iterations < whole.iterations


def test_several_sets_of_data_share_the_nonlinear_parameters():
    both = np.stack([Y, 3.0 * np.exp(-0.7 * T) - np.exp(-3.0 * T)], axis=1)
    fit = variable_projection(exponentials, both, np.array([0.5, 2.0]), T)
    assert fit.converged and fit.coefficients.shape == fit.coefficient_deviations.shape == (2, 2)
    np.testing.assert_allclose(fit.coefficients, np.linalg.lstsq(exponentials(fit.x, T), both)[0])
    assert fit.residual.shape == (40, 2) and fit.degrees_of_freedom == 74
    assert fit.covariance.shape == (6, 6) and np.all(np.isfinite(fit.covariance))


@pytest.mark.parametrize("target", ["eager", "native"])
def test_the_derivative_by_the_data(target):
    weights = np.cos(np.arange(4.0))

    def number(y):
        fit = variable_projection(exponentials, y, np.array([0.5, 2.0]), T, tol=1e-12)
        return weights[:2] @ fit.x + weights[2:] @ fit.coefficients + fit.rss

    slope = mo.grad(number) if target == "eager" else mo.jit(mo.grad(number))
    d = RANDOM.normal(size=40)
    assert np.isclose(slope(Y) @ d, ridders(lambda s: number(Y + s * d), 1e-3, resolution=1e-12)[0], rtol=1e-5)


@pytest.mark.parametrize("loss", ["linear", "cauchy"])
def test_the_covariance_and_its_derivative(loss):
    def misfit(b, y):
        return b[0] * np.exp(-b[1] * T) - y

    def fitted(y):
        return least_squares(misfit, np.ones(2), y, loss=loss, scale=0.05, tol=1e-12)

    def spread(y):
        return np.sqrt(parameter_covariance(misfit, fitted(y).x, y, loss=loss, scale=0.05)[1, 1])

    np.testing.assert_allclose(
        parameter_covariance(misfit, fitted(Y).x, Y, loss=loss, scale=0.05), fitted(Y).covariance, rtol=1e-9
    )
    d = RANDOM.normal(size=40)
    expected = ridders(lambda s: spread(Y + s * d), 1e-3, resolution=1e-12)[0]
    for slope in (mo.grad(spread), mo.jit(mo.grad(spread))):
        assert np.isclose(slope(Y) @ d, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: variable_projection(lambda x: x * T, Y, 1.0), r"basis returned shape \(40,\) for data of shape \(40,\)"),
        (lambda: variable_projection(exponentials, Y, np.ones(2), T, loss="huber"), "it takes no loss; use least_squares"),
        (lambda: parameter_covariance(lambda b: b, np.ones(2)), "2 residuals for 2 unknowns, expected more"),
        (
            lambda: mo.grad(lambda y: variable_projection(exponentials, y, np.array([0.5, 2.0]), T).covariance[0, 0])(Y),
            "the covariance of a fit cannot be differentiated",
        ),
        (
            lambda: mo.grad(lambda y: least_squares(lambda b: b * T - y, 1.0).covariance[0, 0])(Y),
            "cannot be differentiated; use morula.optim.parameter_covariance",
        ),
    ],
)  # fmt: skip
def test_refuses(call, message):
    with pytest.raises(mo.MorulaError, match=message):
        call()
