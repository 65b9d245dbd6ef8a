"""Formulas of chemistry and scattering of neutrons and X-rays, from tables of the elements."""

from __future__ import annotations

import periodictable

from thirdparty.harness import Call

DISTRIBUTION = "periodictable"
FIELD = "chemistry"


def neutrons(density: float, wavelength: float) -> list[float]:
    real, imaginary, incoherent = periodictable.neutron_sld("SiO2", density=density, wavelength=wavelength)
    return [real, 1e3 * imaginary, incoherent]


def x_rays(density: float, energy: float) -> tuple[float, float]:
    return periodictable.xray_sld("Al2O3", density=density, energy=energy)


def penetration(density: float, wavelength: float) -> list[float]:
    _, cross_sections, depth = periodictable.neutron_scattering("H2O", density=density, wavelength=wavelength)
    return [*cross_sections, depth]


def mixture(water: float, heavy_water: float) -> list[float]:
    mixed = periodictable.mix_by_weight("H2O@1", water, "D2O@1.1", heavy_water)
    return [mixed.mass, mixed.density]


CALLS = {
    "neutrons": Call(neutrons, 2.2, 4.5),
    "x_rays": Call(x_rays, 3.95, 8.0),
    "penetration": Call(penetration, 1.0, 1.8),
    "mixture": Call(mixture, 3.0, 2.0),
}
