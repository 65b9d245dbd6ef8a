"""Physical quantities: numbers and arrays with units, which take over Python's operators and NumPy's functions."""

from __future__ import annotations

import numpy as np
import pint

from thirdparty.harness import Call

DISTRIBUTION = "pint"
FIELD = "units"

units = pint.UnitRegistry()
Quantity = units.Quantity


def kinetic_energy(mass: float, speed: float) -> float:
    return (0.5 * mass * units.kg * (speed * units("km/h")) ** 2).to("kilojoule").magnitude


def temperatures(celsius: float) -> list[float]:
    warm = Quantity(celsius, "degC")
    return [warm.to("kelvin").m, warm.to("degF").m, (warm - Quantity(10.0, "degC")).to("delta_degF").m]


def ideal_gas(amount: float, temperature: float, volume: float) -> float:
    pressure = amount * units.mol * units.molar_gas_constant * Quantity(temperature, "K") / (volume * units.liter)
    return pressure.to("atm").magnitude


def of_text(time: float) -> float:
    return (time * units.parse_expression("3.5 m/s**2") * Quantity("2 min")).to_base_units().magnitude


def in_place(length: float, more: float) -> float:
    total = Quantity(length, "m")
    total += Quantity(more, "cm")
    total **= 2
    total /= Quantity(3.0, "m")
    total.ito("inch")
    return total.magnitude


def arrays(forces: np.ndarray, way: np.ndarray) -> list[float]:
    force, path = Quantity(forces, "N"), Quantity(way, "m")
    work = np.trapezoid(force, path)
    return [
        np.dot(force, path).to("kJ").m,
        work.to("J").m,
        np.linalg.norm(force).to("lbf").m,
        np.interp(Quantity(120.0, "cm"), path, force).m,
        np.sqrt(np.mean(force**2)).m,
    ]


def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([a * units.m, b * units.ft]).to("inch").magnitude


def chosen(a: np.ndarray) -> np.ndarray:
    lengths = Quantity(a, "m")
    return np.where(lengths > Quantity(100.0, "cm"), lengths, Quantity(1.0, "ft")).to("m").magnitude


def spectroscopy(wavelength: float) -> float:
    with units.context("sp"):
        return Quantity(wavelength, "nm").to("THz").magnitude


def wrapped(length: float, width: float) -> float:
    @units.wraps("acre", ("foot", "foot"))
    def area(a: float, b: float) -> float:
        return a * b / 43560.0

    return area(length * units.km, width * units.km).magnitude


def logarithmic(level: float) -> float:
    return Quantity(level, "dBm").to("mW").magnitude


CALLS = {
    "kinetic_energy": Call(kinetic_energy, 2.0, 30.0),
    "temperatures": Call(temperatures, 20.0),
    "ideal_gas": Call(ideal_gas, 1.5, 300.0, 20.0),
    "of_text": Call(of_text, 1.5),
    "in_place": Call(in_place, 1.0, 20.0),
    "arrays": Call(arrays, np.array([0.4, 1.2, 2.0]), np.array([0.5, 1.0, 2.5])),
    "joined": Call(joined, np.array([0.4, 1.2]), np.array([2.0])),
    "chosen": Call(chosen, np.array([0.4, 1.2, 2.0])),
    "spectroscopy": Call(spectroscopy, 500.0),
    "wrapped": Call(wrapped, 2.0, 3.0),
    "logarithmic": Call(logarithmic, 3.0),
}
