"""Properties of sea water by long polynomials in salinity, temperature and pressure."""

from __future__ import annotations

import numpy as np
import seawater as sw

from thirdparty.harness import Call

DISTRIBUTION = "seawater"
FIELD = "oceanography"
HELD_OUT = True

SALT, HEAT, PRESSURE = np.array([34.5, 35.0, 34.8]), np.array([18.0, 9.0, 4.0]), np.array([10.0, 500.0, 1500.0])


def density(s: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    return sw.dens(s, t, p)


def sound(s: float, t: float, p: float) -> float:
    return sw.svel(s, t, p)


def potential(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.ptmp(s, t, PRESSURE, 0) + sw.pden(s, t, PRESSURE, 100.0)


def expansion(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.alpha(s, t, PRESSURE) / sw.beta(s, t, PRESSURE)


def heat_capacity(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.cp(s, t, PRESSURE) * sw.fp(s, PRESSURE)


def conductivity(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.salt(sw.cndr(s, t, PRESSURE) * 0.98, t, PRESSURE)


def stability(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.bfrq(s, t, PRESSURE, lat=30.0)[0] * 1e4


def dissolved_gases(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return sw.satO2(s, t) + sw.satN2(s, t) + sw.satAr(s, t)


def depths(p: np.ndarray, latitude: float) -> np.ndarray:
    return sw.pres(sw.dpth(p, latitude), latitude) * sw.g(latitude, 100.0)


CALLS = {
    "density": Call(density, SALT, HEAT, PRESSURE),
    "sound": Call(sound, 35.0, 9.0, 500.0),
    "potential": Call(potential, SALT, HEAT),
    "expansion": Call(expansion, SALT, HEAT),
    "heat_capacity": Call(heat_capacity, SALT, HEAT),
    "conductivity": Call(conductivity, SALT, HEAT, rtol=1e-5),
    "stability": Call(stability, SALT, HEAT),
    "dissolved_gases": Call(dissolved_gases, SALT, HEAT),
    "depths": Call(depths, PRESSURE, 30.0),
}
