"""The international standard atmosphere: layers looked up by height, and heights found from pressure or density."""

from __future__ import annotations

import numpy as np
from ambiance import Atmosphere

from thirdparty.harness import Call

DISTRIBUTION = "ambiance"
FIELD = "aeronautics"


def profile(heights: np.ndarray) -> list[np.ndarray]:
    air = Atmosphere(heights * 1e3)
    return [air.temperature, air.pressure / 1e4, air.density, air.speed_of_sound, air.dynamic_viscosity * 1e5]


def dynamic_pressure(height: float, mach: float) -> float:
    air = Atmosphere(height * 1e3)
    return float(0.5 * air.density[0] * (mach * air.speed_of_sound[0]) ** 2) / 1e4


def height_of_a_pressure(pressure: float) -> float:
    return Atmosphere.from_pressure(pressure * 1e4).h[0] / 1e3


def height_of_a_density(density: float) -> float:
    return Atmosphere.from_density(np.array([density])).h[0] / 1e3


CALLS = {
    "profile": Call(profile, np.array([1.0, 15.0, 30.0])),
    "dynamic_pressure": Call(dynamic_pressure, 5.0, 0.8),
    "height_of_a_pressure": Call(height_of_a_pressure, 5.0),
    "height_of_a_density": Call(height_of_a_density, 0.9),
}
