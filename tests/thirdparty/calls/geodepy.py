"""Geodesy as a survey office computes it: angles in degrees, grids, datums, velocities of plates, error ellipses."""

from __future__ import annotations

from datetime import date

import numpy as np
from geodepy.constants import gda94_to_gda2020
from geodepy.convert import geo2grid, grid2geo, llh2xyz, xyz2llh
from geodepy.geodesy import enu2xyz, vincdir, vincinv
from geodepy.statistics import error_ellipse, vcv_local2cart
from geodepy.survey import first_vel_corrn, joins, va_conv
from geodepy.transform import conform7, transform_atrf2014_to_gda2020

from thirdparty.harness import Call, Cut

DISTRIBUTION = "geodepy"
FIELD = "geodesy"
HELD_OUT = True


def inverse(latitude: float, longitude: float) -> tuple[float, float, float]:
    return vincinv(latitude, longitude, -37.652821139, 143.926495527)


def direct(latitude: float, azimuth: float, distance: float) -> tuple[float, float, float]:
    return vincdir(latitude, 144.4, azimuth, distance)


def round_trip(latitude: float, longitude: float, height: float) -> tuple[float, float, float]:
    x, y, z = llh2xyz(latitude, longitude, height)
    return xyz2llh(x + 10.0, y - 5.0, z + 3.0)


def to_grid(latitude: float, longitude: float) -> tuple[float, float]:
    return geo2grid(latitude, longitude)[2:4]


def from_grid(east: float, north: float) -> tuple[float, float]:
    return grid2geo(55, east, north)[:2]


def datum(x: float, y: float, z: float) -> tuple[float, float, float]:
    return conform7(x, y, z, gda94_to_gda2020)[:3]


def plate(x: float, y: float, z: float) -> tuple[float, float, float]:
    return transform_atrf2014_to_gda2020(x, y, z, date(2014, 3, 1))[:3]


def local_axes(latitude: float, longitude: float) -> np.ndarray:
    covariance = np.array([[0.03, 0.001, 0.002], [0.001, 0.02, 0.003], [0.002, 0.003, 0.05]])
    return np.append(vcv_local2cart(covariance, latitude, longitude), enu2xyz(latitude, longitude, 1.0, 2.0, 3.0))


def ellipse(covariance: np.ndarray) -> tuple[float, float, float]:
    return error_ellipse(covariance)


def measured(distance: float, temperature: float, pressure: float) -> list[float]:
    corrected = distance + first_vel_corrn(distance, (281.8, 79.4), temperature, pressure, 55.0)
    return [corrected, *va_conv(92.5, corrected, 1.5, 1.7), *joins(500.0, 460.5, corrected, 475.0)]


CALLS = {
    "round_trip": Call(round_trip, -37.95, 144.42, 603.2),
    "datum": Call(datum, -4052051.7643, 4212836.2017, -2545106.0245),
    "plate": Call(plate, -4052051.7643, 4212836.2017, -2545106.0245),
    "local_axes": Call(local_axes, -37.95, 144.42),
    "ellipse": Call(ellipse, np.array([[0.03, 0.01, 0.0], [0.01, 0.02, 0.0], [0.0, 0.0, 0.05]])),
    "measured": Call(measured, 1117.85, 6.8, 960.8),
}
CUT = {
    "inverse": Cut(
        "the distance is rounded to millimetres, azimuths to 1e-9 degrees", inverse, -37.951033416, 144.42486
    ),
    "direct": Cut("positions are rounded to 1e-11 degrees, the azimuth to 1e-9", direct, -37.95, 306.9, 54000.0),
    "to_grid": Cut("coordinates are rounded to tenths of millimetres", to_grid, -37.951, 144.424),
    "from_grid": Cut("latitude and longitude are rounded to 1e-11 degrees", from_grid, 228854.052, 5796489.777),
}
