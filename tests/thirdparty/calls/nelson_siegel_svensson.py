"""Interest rate curves: dataclasses, masked writes, coefficients by least squares."""

from __future__ import annotations

import numpy as np
from nelson_siegel_svensson import NelsonSiegelCurve, NelsonSiegelSvenssonCurve
from nelson_siegel_svensson.calibrate import betas_ns_ols, betas_nss_ols, errorfn_ns_ols

from thirdparty.harness import Call

DISTRIBUTION = "nelson_siegel_svensson"
FIELD = "finance"

YEARS = np.array([0.5, 1.0, 2.0, 5.0, 10.0, 20.0])
RATES = np.array([1.1, 1.3, 1.6, 1.9, 2.1, 2.2])


def zero_rates(level: float, slope: float, hump: float, decay: float) -> np.ndarray:
    return NelsonSiegelCurve(level, slope, hump, decay).zero(np.array([0.0, 0.5, 1.0, 10.0]))


def misfit(decay: float, rates: np.ndarray) -> float:
    return errorfn_ns_ols(decay, YEARS.copy(), rates)


CALLS = {
    "zero_rates": Call(zero_rates, 0.028, -0.03, 0.04, 1.1),
    "forward_rates": Call(lambda curve, years: curve.forward(years), NelsonSiegelCurve(2.8, -3.0, 4.0, 1.1), YEARS),
    "two_humps": Call(lambda curve: curve(YEARS.copy()), NelsonSiegelSvenssonCurve(2.8, -3.0, -4.0, -1.5, 1.1, 4.0)),
    "fitted_coefficients": Call(lambda decay, rates: betas_ns_ols(decay, YEARS.copy(), rates)[0], 1.5, RATES),
    "misfit": Call(misfit, 1.5, RATES),
    "two_decays": Call(lambda t, rates: betas_nss_ols(t, YEARS.copy(), rates)[0].beta3, np.array([1.5, 4.0]), RATES),
}
