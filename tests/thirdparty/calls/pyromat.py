"""Thermodynamic properties of gases and fluids from tables, with temperatures found by iteration over masked arrays."""

from __future__ import annotations

import pyromat

from thirdparty.harness import Call

DISTRIBUTION = "PYroMat"
FIELD = "thermodynamics"

nitrogen, air, water = pyromat.get("ig.N2"), pyromat.get("ig.air"), pyromat.get("mp.H2O")


def ideal_gas(temperature: float, pressure: float) -> list[float]:
    return [nitrogen.cp(T=temperature)[0], nitrogen.h(T=temperature)[0] / 1e3, nitrogen.s(T=temperature, p=pressure)[0]]


def compression(inlet: float, ratio: float) -> float:
    """The temperature after an isentropic compression, found by iteration."""
    entropy = air.s(T=inlet, p=1.0)
    return air.T(s=entropy, p=ratio)[0]


def temperature_of_an_enthalpy(enthalpy: float) -> float:
    return air.T(h=enthalpy)[0]


def saturation(temperature: float) -> float:
    return float(water.ps(T=temperature))


CALLS = {
    "ideal_gas": Call(ideal_gas, 400.0, 2.0),
    "compression": Call(compression, 300.0, 8.0),
    "temperature_of_an_enthalpy": Call(temperature_of_an_enthalpy, 200.0),
    "saturation": Call(saturation, 400.0),
}
