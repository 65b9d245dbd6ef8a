"""A tall Jacobian, of 20,000 residuals in 2 parameters, and the fit that uses it."""

from __future__ import annotations

import numpy as np
from scipy import optimize

import morula as mo
from morula import optim

from ..report import Table
from .timing import timed

TIMES = np.linspace(0.0, 5.0, 20_000)


def decay(p):
    return p[0] * np.exp(-p[1] * TIMES)


def misfit(p):
    return decay(p) - decay(np.array([2.0, 0.7]))


def jacobian_by_hand(p):
    y = np.exp(-p[1] * TIMES)
    return np.stack([y, -p[0] * TIMES * y], -1)


def tall(repeats: int) -> Table:
    p, start = np.array([1.5, 0.5]), np.array([1.0, 1.0])
    jacobian, compiled = mo.jacobian(misfit), mo.jit(mo.jacobian(misfit))
    np.testing.assert_allclose(jacobian(p), jacobian_by_hand(p), rtol=1e-12)
    times = timed(
        {
            "residuals in NumPy": lambda: misfit(p),
            "Jacobian by hand in NumPy": lambda: jacobian_by_hand(p),
            "mo.jacobian(f)": lambda: jacobian(p),
            "mo.jit(mo.jacobian(f))": lambda: compiled(p),
            "the fit by mo.optim.least_squares": lambda: optim.least_squares(misfit, start),
            "the fit by scipy.optimize.least_squares": lambda: optimize.least_squares(misfit, start),
        },
        repeats,
    )
    unit = times["residuals in NumPy"]
    rows = [[name, f"{t * 1e3:.3f}", f"{t / unit:.1f} x"] for name, t in times.items()]
    return [["program", "ms", "against the residuals"], *rows]
