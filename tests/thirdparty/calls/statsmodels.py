"""Regressions as classes whose results compute what is asked of them: least squares, generalised models, time series."""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.stattools import durbin_watson, jarque_bera
from statsmodels.stats.weightstats import DescrStatsW, ttest_ind
from statsmodels.tsa.stattools import acf

from thirdparty.harness import Call

DISTRIBUTION = "statsmodels"
FIELD = "statistics"
HELD_OUT = True

T = np.arange(12.0)
X = np.stack([np.ones(12), np.sin(T), np.cos(2.0 * T)], axis=1)
Y = X @ np.array([1.0, 0.5, -0.3]) + 0.1 * np.sin(5.0 * T**1.2)


def least_squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return sm.OLS(y, x).fit().params


def standard_errors(y: np.ndarray) -> np.ndarray:
    fitted = sm.OLS(y, X).fit()
    return np.append(fitted.bse, [fitted.rsquared, fitted.llf, fitted.aic, fitted.fvalue])


def weighted(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return sm.WLS(y, X, weights=weights).fit().tvalues


def robust_covariance(y: np.ndarray) -> np.ndarray:
    return sm.OLS(y, X).fit(cov_type="HC3").cov_params()


def poisson(counts: np.ndarray) -> np.ndarray:
    return sm.GLM(counts, X, family=sm.families.Poisson()).fit(tol=1e-12).params


def logit_likelihood(parameters: np.ndarray) -> float:
    return sm.Logit((Y > 1.0).astype(float), X).loglike(parameters)


def robust(y: np.ndarray) -> np.ndarray:
    return sm.RLM(y, X, M=sm.robust.norms.HuberT()).fit(tol=1e-12).params


def diagnosed(y: np.ndarray) -> list[float]:
    residuals = sm.OLS(y, X).fit().resid
    return [durbin_watson(residuals), jarque_bera(residuals)[0], het_breuschpagan(residuals, X)[0]]


def compared(one: np.ndarray, other: np.ndarray) -> list[float]:
    described = DescrStatsW(one)
    return [ttest_ind(one, other)[0], described.std_mean, *described.tconfint_mean()]


def autocorrelation(y: np.ndarray) -> np.ndarray:
    return acf(y, nlags=4, fft=False)


CALLS = {
    "least_squares": Call(least_squares, X, Y),
    "standard_errors": Call(standard_errors, Y),
    "weighted": Call(weighted, Y, 1.0 + 0.5 * np.sin(T)),
    "robust_covariance": Call(robust_covariance, Y),
    "poisson": Call(poisson, np.exp(Y)),
    "logit_likelihood": Call(logit_likelihood, np.array([0.2, 0.5, -0.3])),
    "robust": Call(robust, Y + np.cos(3.0 * T**1.5), rtol=1e-5),
    "diagnosed": Call(diagnosed, Y),
    "compared": Call(compared, Y, np.cos(T)),
    "autocorrelation": Call(autocorrelation, Y),
}
