"""The universal transverse Mercator grid, for numbers and for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import utm

from thirdparty.harness import Call

DISTRIBUTION = "utm"
FIELD = "geodesy"


def to_grid(latitude: float, longitude: float) -> Any:
    easting, northing, _, _ = utm.from_latlon(latitude, longitude)
    return easting / 1e5, northing / 1e6


def from_grid(easting: float, northing: float) -> Any:
    return utm.to_latlon(easting * 1e5, northing * 1e6, 32, "U")


def many_to_grid(latitude: np.ndarray, longitude: np.ndarray) -> Any:
    easting, northing, _, _ = utm.from_latlon(latitude, longitude)
    return easting / 1e5, northing / 1e6


def many_from_grid(easting: np.ndarray, northing: np.ndarray) -> Any:
    return utm.to_latlon(easting * 1e5, northing * 1e6, 32, northern=True)


CALLS = {
    "to_grid": Call(to_grid, 51.2, 7.5),
    "from_grid": Call(from_grid, 3.95201, 5.673135),
    "many_to_grid": Call(many_to_grid, np.array([51.2, 50.0]), np.array([7.5, 8.0])),
    "many_from_grid": Call(many_from_grid, np.array([3.95201, 4.0]), np.array([5.673135, 5.6])),
}
