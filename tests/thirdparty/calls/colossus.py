"""Cosmology and haloes: an object with stored tables, integrals over redshift, profiles and fitted models by name."""

from __future__ import annotations

import numpy as np
from colossus.cosmology.cosmology import Cosmology, setCosmology
from colossus.cosmology.power_spectrum import modelEisenstein98
from colossus.halo import concentration, mass_defs
from colossus.halo.profile_einasto import EinastoProfile
from colossus.halo.profile_nfw import NFWProfile

from thirdparty.harness import Call

DISTRIBUTION = "colossus"
FIELD = "cosmology"
HELD_OUT = True

PLANCK = setCosmology("planck18", interpolation=False, persistence="")


def hubble(matter: float, h0: float, z: np.ndarray) -> np.ndarray:
    cosmology = Cosmology(
        name="own", flat=True, H0=h0, Om0=matter, Ob0=0.049, sigma8=0.81, ns=0.95, interpolation=False, persistence=""
    )
    return cosmology.Hz(z)


def distance(z: float) -> float:
    return PLANCK.luminosityDistance(z)


def age(z: float) -> float:
    return PLANCK.age(z)


def nfw(density: float, radius: float, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    profile = NFWProfile(rhos=density, rs=radius)
    return profile.density(r), profile.enclosedMass(r)


def surface_density(r: np.ndarray) -> np.ndarray:
    return NFWProfile(rhos=2e6, rs=80.0).surfaceDensity(r)


def einasto(alpha: float, r: np.ndarray) -> np.ndarray:
    return EinastoProfile(rhos=2e6, rs=80.0, alpha=alpha).densityDerivativeLog(r)


def power(k: np.ndarray, h: float, matter: float) -> np.ndarray:
    return modelEisenstein98(k, h, matter, 0.049, 2.7255)


def concentrated(mass: np.ndarray, z: float) -> np.ndarray:
    return concentration.concentration(mass, "200c", z, model="duffy08")


def other_definition(mass: float, c: float) -> tuple[float, float, float]:
    return mass_defs.changeMassDefinition(mass, c, 0.5, "vir", "200c")


CALLS = {
    "hubble": Call(hubble, 0.3, 70.0, np.array([0.0, 0.5, 2.0])),
    "distance": Call(distance, 0.8),
    "age": Call(age, 0.8),
    "nfw": Call(nfw, 2e6, 80.0, np.array([10.0, 100.0, 500.0])),
    "surface_density": Call(surface_density, np.array([10.0, 100.0, 500.0])),
    "einasto": Call(einasto, 0.2, np.array([10.0, 100.0, 500.0])),
    "power": Call(power, np.array([0.01, 0.1, 1.0]), 0.68, 0.31),
    "concentrated": Call(concentrated, np.array([1e12, 1e14]), 0.5),
    "other_definition": Call(other_definition, 1e12, 7.0),
}
