"""Moist air after ASHRAE: a module of functions with a global system of units, and Newton iterations."""

from __future__ import annotations

import psychrolib

from thirdparty.harness import Call

DISTRIBUTION = "PsychroLib"
FIELD = "building physics"

psychrolib.SetUnitSystem(psychrolib.SI)


def moist_air(temperature: float, humidity: float, pressure: float) -> list[float]:
    ratio = psychrolib.GetHumRatioFromRelHum(temperature, humidity, pressure * 1e5)
    return [
        1e3 * ratio,
        psychrolib.GetMoistAirEnthalpy(temperature, ratio) / 1e3,
        psychrolib.GetMoistAirVolume(temperature, ratio, pressure * 1e5),
        psychrolib.GetVaporPressureDeficit(temperature, ratio, pressure * 1e5) / 1e3,
        psychrolib.GetDegreeOfSaturation(temperature, ratio, pressure * 1e5),
    ]


def dew_point(temperature: float, humidity: float) -> float:
    """By Newton's method on the saturation pressure."""
    return psychrolib.GetTDewPointFromRelHum(temperature, humidity)


def from_wet_bulb(temperature: float, wet_bulb: float, pressure: float) -> list[float]:
    ratio = psychrolib.GetHumRatioFromTWetBulb(temperature, wet_bulb, pressure * 1e5)
    return [1e3 * ratio, psychrolib.GetRelHumFromTWetBulb(temperature, wet_bulb, pressure * 1e5)]


def over_ice(temperature: float) -> list[float]:
    return [psychrolib.GetSatVapPres(temperature), psychrolib.GetSatAirEnthalpy(temperature, 101325.0) / 1e3]


def atmosphere(altitude: float, temperature: float) -> list[float]:
    return [
        psychrolib.GetStandardAtmPressure(altitude * 1e3) / 1e4,
        psychrolib.GetStationPressure(101325.0, altitude * 1e3, temperature) / 1e4,
    ]


CALLS = {
    "moist_air": Call(moist_air, 25.0, 0.4, 1.01),
    "dew_point": Call(dew_point, 25.0, 0.4),
    "from_wet_bulb": Call(from_wet_bulb, 25.0, 18.0, 1.01),
    "over_ice": Call(over_ice, -8.0),
    "atmosphere": Call(atmosphere, 1.2, 15.0),
}
