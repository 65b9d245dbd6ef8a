"""Light scattered by a sphere: recurrences and continued fractions in complex numbers."""

from __future__ import annotations

import miepython
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "miepython"
FIELD = "optics"
HELD_OUT = True

ANGLES = np.cos(np.linspace(0.1, 3.0, 5))


def efficiencies(index: float, absorbed: float, size: float) -> list[float]:
    return list(miepython.efficiencies_mx(index - 1j * absorbed, size))


def in_water(diameter: float, wavelength: float) -> list[float]:
    return list(miepython.efficiencies(1.59 - 0.01j, diameter, wavelength, n_env=1.33))


def amplitudes(size: float, mu: np.ndarray) -> np.ndarray:
    return np.array(miepython.S1_S2(1.5 - 0.02j, size, mu, norm="qsca"))


def unpolarised(size: float, mu: np.ndarray) -> np.ndarray:
    return miepython.i_unpolarized(1.5 - 0.02j, size, mu)


def polarisation(size: float, mu: np.ndarray) -> np.ndarray:
    return miepython.phase_matrix(1.5 - 0.02j, size, mu)


CALLS = {
    "efficiencies": Call(efficiencies, 1.5, 0.05, 3.0),
    "in_water": Call(in_water, 0.8, 0.6328),
    "amplitudes": Call(amplitudes, 2.5, ANGLES),
    "unpolarised": Call(unpolarised, 2.5, ANGLES),
    "polarisation": Call(polarisation, 2.5, ANGLES),
}
