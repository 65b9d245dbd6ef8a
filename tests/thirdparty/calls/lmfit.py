"""Curve fitting: named parameters with bounds and expressions, models made of functions, line shapes."""

from __future__ import annotations

import lmfit
import numpy as np
from lmfit import lineshapes, models

from thirdparty.harness import Call

DISTRIBUTION = "lmfit"
FIELD = "curve fitting"

X = np.linspace(-3, 3, 15)


def profiles(height: float, centre: float, width: float) -> list[np.ndarray]:
    return [f(X, height, centre, width) for f in (lineshapes.voigt, lineshapes.moffat, lineshapes.students_t)]


def composite(height: float, slope: float) -> np.ndarray:
    model = models.GaussianModel(prefix="peak_") + models.LinearModel()
    p = model.make_params(peak_amplitude=height, peak_center=0.3, peak_sigma=1.2, slope=slope, intercept=0.1)
    return model.eval(p, x=X)


def constrained(a: float, b: float) -> float:
    p = lmfit.Parameters()
    p.add("a", value=a, min=0, max=10)
    p.add("b", value=b)
    p.add("c", expr="2*a + b*sin(a)")
    return p["c"].value * p["a"].value


def fitted_line(y: np.ndarray) -> dict[str, float]:
    return models.LinearModel().fit(y, x=X, slope=1.0, intercept=0.0).best_values


def fitted_decay(y: np.ndarray) -> float:
    def residual(p: lmfit.Parameters) -> np.ndarray:
        return p["a"] * np.exp(-p["b"] * (X + 3)) - y

    p = lmfit.Parameters()
    p.add("a", value=1.0)
    p.add("b", value=0.5)
    return lmfit.minimize(residual, p).params["b"].value


CALLS = {
    "profiles": Call(profiles, 2.0, 0.3, 1.2),
    "composite": Call(composite, 2.0, 0.3),
    "own_model": Call(lambda a, k: lmfit.Model(lambda x, a, k: a * np.sin(k * x)).eval(x=X, a=a, k=k), 2.0, 0.3),
    "constrained": Call(constrained, 2.0, 0.5),
    "guess": Call(lambda y: models.GaussianModel().guess(y, x=X)["center"].value, np.exp(-((X - 0.3) ** 2))),
    "fitted_line": Call(fitted_line, 2 * X + 0.3 * np.sin(5 * X), rtol=1e-5),
    "fitted_decay": Call(fitted_decay, 2 * np.exp(-0.4 * (X + 3)) + 0.01 * np.cos(9 * X), rtol=1e-4),
}
