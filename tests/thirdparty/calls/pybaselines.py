"""Baselines under spectra: polynomials and penalised splines, weighted anew until the weights stay as they are."""

from __future__ import annotations

import numpy as np
from pybaselines import Baseline

from thirdparty.harness import Call

DISTRIBUTION = "pybaselines"
FIELD = "spectroscopy"
HELD_OUT = True

X = np.linspace(0.0, 10.0, 40)
SPECTRUM = 5.0 + 0.3 * X + 4.0 * np.exp(-((X - 4.0) ** 2)) + 0.05 * np.sin(7.0 * X)


def polynomial(spectrum: np.ndarray) -> np.ndarray:
    return Baseline(X).poly(spectrum, poly_order=2)[0]


def penalised(spectrum: np.ndarray) -> np.ndarray:
    return Baseline(X).asls(spectrum, lam=1e3, p=0.02)[0]


def with_a_peak(height: float) -> np.ndarray:
    return SPECTRUM + height * np.exp(-((X - 7.0) ** 2))


def reweighted(height: float) -> np.ndarray:
    return Baseline(X).arpls(with_a_peak(height), lam=1e3, max_iter=100, tol=1e-13)[0]


def modified_polynomial(spectrum: np.ndarray) -> np.ndarray:
    return Baseline(X).modpoly(spectrum, poly_order=2, max_iter=3, tol=0.0)[0]


def clipped(height: float) -> np.ndarray:
    return Baseline(X).snip(with_a_peak(height), max_half_window=8, decreasing=True)[0]


CALLS = {
    "polynomial": Call(polynomial, SPECTRUM),
    "penalised": Call(penalised, SPECTRUM),
    "reweighted": Call(reweighted, 2.0),
    "modified_polynomial": Call(modified_polynomial, SPECTRUM),
    "clipped": Call(clipped, 2.0),
}
