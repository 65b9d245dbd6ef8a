"""Sun and moon over the horizon, by chains of small functions of floats, dates and places given as objects."""

from __future__ import annotations

import datetime

from astral import Observer, SunDirection
from astral.moon import moon_position
from astral.sun import (
    elevation,
    eq_of_time,
    hour_angle,
    sun_declination,
    sun_rad_vector,
    zenith_and_azimuth,
)

from thirdparty.harness import Call

DISTRIBUTION = "astral"
FIELD = "astronomy"
HELD_OUT = True

NOON = datetime.datetime(2024, 5, 3, 11, 30, tzinfo=datetime.timezone.utc)


def height(latitude: float, longitude: float) -> float:
    return elevation(Observer(latitude, longitude, 0.0), NOON)


def direction(latitude: float, longitude: float) -> tuple[float, float]:
    return zenith_and_azimuth(Observer(latitude, longitude), NOON, with_refraction=False)


def equation_of_time(century: float) -> float:
    return eq_of_time(century)


def declination(century: float) -> tuple[float, float]:
    return sun_declination(century), sun_rad_vector(century)


def sunrise_angle(latitude: float, declined: float) -> float:
    return hour_angle(latitude, declined, 90.833, SunDirection.RISING)


def moon(hours: float) -> list[float]:
    place = moon_position(8889.0 + hours / 24.0)
    return [place.right_ascension, place.declination, place.distance]


CALLS = {
    "height": Call(height, 51.5, -0.1),
    "direction": Call(direction, 51.5, -0.1),
    "equation_of_time": Call(equation_of_time, 0.243),
    "declination": Call(declination, 0.243),
    "sunrise_angle": Call(sunrise_angle, 51.5, 15.0),
    "moon": Call(moon, 5.3),
}
