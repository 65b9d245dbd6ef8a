"""Units as a subclass of arrays, cosmologies as frozen dataclasses of descriptors, models with generated signatures."""

from __future__ import annotations

from typing import Any

import astropy.units as u
import numpy as np
from astropy import constants
from astropy.coordinates import Angle, Distance, SkyCoord, angular_separation
from astropy.cosmology import FlatLambdaCDM, Flatw0waCDM, LambdaCDM
from astropy.modeling import models
from astropy.stats import biweight_location, mad_std

from thirdparty.harness import Call, Refused

DISTRIBUTION = "astropy"
FIELD = "astronomy"

X = np.linspace(-2.0, 2.0, 7)


def arithmetic_with_units(x: np.ndarray, time: float) -> Any:
    position = x * u.km + [3.0, 20.0] * u.m
    position[0] = 2 * position[1]
    speed = np.diff(position) / (time * u.minute)
    speed += 1 * u.m / u.s
    return speed.to_value(u.km / u.h), np.sqrt(np.sum(position**2)).to(u.m).value


def equivalent_units(wavelength: float, temperature: float, magnitude: float) -> Any:
    energy = (wavelength * u.nm).to(u.eV, equivalencies=u.spectral())
    kelvin = (temperature * u.deg_C).to(u.K, equivalencies=u.temperature())
    return energy.value, (constants.k_B * kelvin).to(u.eV).value, (magnitude * u.ABmag).to(u.Jy).value


def functions_of_quantities(x: np.ndarray, angle: float) -> Any:
    q = x * u.m
    interpolated = np.interp(1.1 * u.m, q, q**2)
    joined = np.concatenate([q, [2.0] * u.km]).std()
    return interpolated.value, joined.value, np.sin(angle * u.deg).value, np.cross(q, q[::-1]).value


def escape_speed(mass: float, radius: float) -> float:
    return np.sqrt(2 * constants.G * mass * u.M_sun / (radius * u.R_sun)).to(u.km / u.s).value


def distances(hubble: float, matter: float, z: float) -> Any:
    flat = FlatLambdaCDM(H0=hubble, Om0=matter)
    curved = LambdaCDM(H0=hubble, Om0=matter, Ode0=0.6, Tcmb0=2.7)
    return flat.luminosity_distance(z).value / 1e3, flat.distmod(z).value, curved.H(z).value


def dark_energy(w0: float, wa: float, z: np.ndarray) -> Any:
    return Flatw0waCDM(H0=70.0, Om0=0.3, w0=w0, wa=wa).H(z).value


def spectral_lines(amplitude: float, mean: float, width: float) -> Any:
    lines = models.Gaussian1D(amplitude, mean, width) + models.Voigt1D(mean, amplitude, width, width)
    return (lines | models.Scale(2.0))(X) + models.Polynomial1D(2, c0=mean, c1=amplitude)(X)


def black_body(temperature: float) -> float:
    return models.BlackBody(temperature=temperature * u.K)(500 * u.nm).value * 1e5


def robust_statistics(data: np.ndarray) -> Any:
    return mad_std(data), biweight_location(data)


def angles(longitude: float, latitude: float, parallax: float) -> Any:
    separation = angular_separation(longitude, latitude, 0.3, 0.4)
    return separation, Angle(longitude, "deg").radian, Distance(parallax=parallax * u.mas).pc


CALLS = {
    "arithmetic_with_units": Call(arithmetic_with_units, np.array([1.3, 2.9]), 2.0),
    "equivalent_units": Call(equivalent_units, 500.0, 30.0, 20.0),
    "functions_of_quantities": Call(functions_of_quantities, np.array([0.7, 1.2, 3.0]), 33.0),
    "escape_speed": Call(escape_speed, 1.0, 2.0),
    "distances": Call(distances, 70.0, 0.3, 0.5),
    "dark_energy": Call(dark_energy, -0.9, 0.1, np.array([0.5, 1.1])),
    "spectral_lines": Call(spectral_lines, 1.0, 0.2, 0.7),
    "black_body": Call(black_body, 5778.0),
    "robust_statistics": Call(robust_statistics, np.array([1.0, 2.0, 3.5, 2.2, 8.0])),
    "angles": Call(angles, 1.0, 0.2, 10.0),
}

REFUSED = {
    "galactic_coordinates": Refused(
        "the rotation calls functions of ERFA, which are compiled from C",
        "has no derivative rule",
        lambda ra, dec: SkyCoord(ra, dec, unit="deg").galactic.l.deg,
        10.0,
        20.0,
    ),
}
