"""``curve_fit`` returns what SciPy's does, for the same arguments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.optim import curve_fit

T = np.linspace(0, 4, 15)
Y = 2.5 * np.exp(-1.3 * T) + 0.05 * np.cos(7 * T)
SIGMA = 0.1 + 0.02 * T


def model(t, a, k, c):
    return a * np.exp(-k * t) + c


CORRELATED = 0.01 * 0.5 ** np.abs(np.arange(15)[:, None] - np.arange(15))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p0": [2.0, 1.0, 0.0]},
        {"sigma": SIGMA},
        {"sigma": SIGMA, "absolute_sigma": True},
        {"sigma": 0.3, "absolute_sigma": True},
        {"sigma": CORRELATED, "absolute_sigma": True},
        {"sigma": CORRELATED},
        {"bounds": ([0, 0, 0], [9, 9, 9])},
        {"bounds": (0, [2.0, 3.0, 1.0])},
        {"bounds": scipy.optimize.Bounds([0, 0, -1], [9, 9, 1]), "method": "dogbox"},
        {"method": "trf", "loss": "soft_l1", "f_scale": 10.0},
        {"method": "lm", "jac": lambda t, a, k, c: np.stack([np.exp(-k * t), -a * t * np.exp(-k * t), np.ones(15)], 1)},
        {"jac": "3-point", "method": "trf"},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_agrees_with_scipy(options):
    expected = scipy.optimize.curve_fit(model, T, Y, **options)
    found = curve_fit(model, T, Y, **options)
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=1e-4 if "bounds" in options else 1e-6)  # SciPy's
    if "loss" not in options:
        np.testing.assert_allclose(found[1], expected[1], rtol=5e-3, atol=1e-9)


def test_the_full_output():
    _, _, info, message, flag = curve_fit(model, T, Y, full_output=True)
    assert info["nfev"] > 0 and info["fvec"].shape == (15,) and isinstance(message, str) and flag == 1


def test_observations_with_nan_are_omitted():
    y, t = Y.copy(), T.copy()
    y[3], t[5] = np.nan, np.nan
    found = curve_fit(model, t, y, sigma=SIGMA, nan_policy="omit")
    keep = np.isfinite(t) & np.isfinite(y)
    np.testing.assert_allclose(found[0], curve_fit(model, T[keep], Y[keep], sigma=SIGMA[keep])[0])
    for options in ({}, {"nan_policy": "raise"}):
        with pytest.raises(mo.BadInput, match="xdata holds NaN or Inf; remove them, or pass nan_policy='omit'"):
            curve_fit(model, t, y, **options)


def test_two_independent_variables_and_lists():
    x = np.array([[0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 1.0, 2.0]])
    found, _ = curve_fit(lambda x, a, b: a * x[0] + b * x[1], x, [2, 1, 4, 7])
    np.testing.assert_allclose(found, scipy.optimize.curve_fit(lambda x, a, b: a * x[0] + b * x[1], x, [2, 1, 4, 7])[0])


def test_an_undetermined_covariance_is_infinite_with_a_warning():
    with pytest.warns(scipy.optimize.OptimizeWarning, match="could not be estimated"):
        _, covariance = curve_fit(lambda t, a, b: (a + b) * t, T, Y)
    assert np.all(np.isinf(covariance))


def test_a_fit_that_fails_raises_as_scipy_does():
    with pytest.raises(RuntimeError, match="Optimal parameters not found"):
        curve_fit(model, T, Y, maxfev=1)


def test_the_parameters_move_with_data_and_sigma():
    few = slice(0, 15, 3)

    def loss(y, sigma):
        return curve_fit(lambda t, a, k: a * np.exp(-k * t), T[few], y, sigma=sigma)[0] @ np.array([1.0, 2.0])

    mo.testing.check_gradients(loss, Y[few], SIGMA[few], order=1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: curve_fit(model, T, Y, method="newton"), "method is 'newton', expected None or one of 'lm', 'trf'"),
        (lambda: curve_fit(model, T, Y, method="lm", bounds=(0, 9)), "method 'lm' takes no bounds"),
        (lambda: curve_fit(model, T, Y, sigma=np.ones(3)), r"sigma has shape \(3,\), expected a number, \(15,\)"),
        (lambda: curve_fit(model, T, Y, sigma=-np.eye(15)), "sigma is not positive definite"),
        (lambda: curve_fit(model, T, Y, nan_policy="skip"), "nan_policy is 'skip', expected None, 'raise' or 'omit'"),
        (lambda: curve_fit(model, T, Y, epsfcn=1e-3), "there is no argument 'epsfcn'"),
        (lambda: curve_fit(lambda *p: p[0], T, Y), "the number of parameters is not known from f; give p0"),
        (lambda: curve_fit(model, [], []), "ydata is empty"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(mo.BadInput, match=message):
        call()
