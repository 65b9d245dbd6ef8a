"""Positions on the ellipsoid as unit vectors: frames and points as objects, which compute when they are asked."""

from __future__ import annotations

import numpy as np
import nvector as nv

from thirdparty.harness import Call

DISTRIBUTION = "nvector"
FIELD = "geodesy"
HELD_OUT = True

WGS84 = nv.FrameE(name="WGS84")


def between(latitude: float, longitude: float) -> np.ndarray:
    one = WGS84.GeoPoint(latitude=latitude, longitude=longitude, z=3, degrees=True)
    other = WGS84.GeoPoint(latitude=4.0, longitude=5.0, z=6, degrees=True)
    return one.delta_to(other).pvector.ravel()


def distance(latitude: float, longitude: float) -> float:
    one = WGS84.GeoPoint(latitude=latitude, longitude=longitude, degrees=True)
    other = WGS84.GeoPoint(latitude=80.0, longitude=5.0, degrees=True)
    return one.distance_and_azimuth(other)[0]


def on_a_sphere(latitude: float, travelled: float) -> tuple[float, float]:
    sphere = nv.FrameE(a=6371e3, f=0)
    start = sphere.GeoPoint(latitude=latitude, longitude=-90.0, degrees=True)
    end, _ = start.displace(distance=travelled, azimuth=200.0, degrees=True)
    return end.latitude_deg, end.longitude_deg


def mean_position(latitudes: np.ndarray) -> np.ndarray:
    points = WGS84.GeoPoint(latitude=latitudes, longitude=[0, 60, 50], degrees=True)
    return points.to_nvector().mean().normal.ravel()


def off_the_track(latitude: float) -> float:
    frame = nv.FrameE(a=6371e3, f=0)
    ends = frame.GeoPoint(latitude, 0, degrees=True), frame.GeoPoint(10, 30, degrees=True)
    return nv.GeoPath(*ends).cross_track_distance(frame.GeoPoint(1.0, 0.1, degrees=True))


def by_functions(latitude: float, longitude: float) -> np.ndarray:
    here, there = nv.lat_lon2n_E(latitude, longitude), nv.lat_lon2n_E(0.3, 0.8)
    shift = nv.n_EA_E_and_n_EB_E2p_AB_N(here, there, 1.0, 2.0).ravel()
    return np.append(shift, nv.great_circle_distance(here, there))


def to_the_centre(latitude: float, depth: float) -> np.ndarray:
    p = nv.n_EB_E2p_EB_E(nv.lat_lon2n_E(latitude, 0.4), depth)
    n, z = nv.p_EB_E2n_EB_E(p * 1.001)
    return np.append(n.ravel(), z)


def rotations(z: float, y: float, x: float) -> np.ndarray:
    return np.array(nv.R2xyz(nv.zyx2R(z, y, x))).ravel()


CALLS = {
    "between": Call(between, 1.0, 2.0),
    "distance": Call(distance, 60.0, 10.0, rtol=1e-5),
    "on_a_sphere": Call(on_a_sphere, 80.0, 1000.0),
    "mean_position": Call(mean_position, np.array([90.0, 60.0, 50.0])),
    "off_the_track": Call(off_the_track, 2.0),
    "by_functions": Call(by_functions, 0.2, 0.4),
    "to_the_centre": Call(to_the_centre, 0.7, 400.0),
    "rotations": Call(rotations, 0.3, 0.2, 0.4),
}
