"""Arrays with units as a subclass of NumPy's, which sees every function of arrays before NumPy does."""

from __future__ import annotations

import numpy as np
from unyt import G, kb, unyt_array, unyt_quantity
from unyt.physical_constants import mass_sun_mks

from thirdparty.harness import Call

DISTRIBUTION = "unyt"
FIELD = "units"
HELD_OUT = True


def orbital_speed(distance: float, mass: float) -> float:
    speed = np.sqrt(G * mass * mass_sun_mks / unyt_quantity(distance, "AU"))
    return float(speed.to_value("km/s"))


def kinetic_energy(masses: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    energy = 0.5 * unyt_array(masses, "g") * unyt_array(speeds, "km/s") ** 2
    return energy.to("J").value


def joined(lengths: np.ndarray) -> np.ndarray:
    together = np.concatenate([unyt_array(lengths, "cm"), unyt_array(lengths, "m").to("cm")])
    return together.in_units("inch").d


def thermal(temperature: float) -> float:
    return ((kb * unyt_quantity(temperature, "K")).to("eV") / unyt_quantity(0.3, "eV")).item()


def in_place(lengths: np.ndarray) -> np.ndarray:
    path = unyt_array(lengths.copy(), "m")
    path += unyt_quantity(3.0, "ft")
    path.convert_to_units("km")
    return np.diff(path).value


def spectral(wavelength: float) -> float:
    return float(unyt_quantity(wavelength, "nm").to_equivalent("eV", "spectral").value)


CALLS = {
    "orbital_speed": Call(orbital_speed, 1.5, 0.8),
    "kinetic_energy": Call(kinetic_energy, np.array([1.0, 2.5]), np.array([3.0, 0.5])),
    "joined": Call(joined, np.array([1.0, 2.5, 4.0])),
    "thermal": Call(thermal, 300.0),
    "in_place": Call(in_place, np.array([1.0, 2.5, 4.0])),
    "spectral": Call(spectral, 550.0),
}
