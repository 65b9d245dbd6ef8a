"""Great circles between pairs of coordinates, alone and in arrays, with units from an enumeration."""

from __future__ import annotations

from typing import Any

from haversine import Direction, Unit, haversine, haversine_vector, inverse_haversine, inverse_haversine_vector

from thirdparty.harness import Call

DISTRIBUTION = "haversine"
FIELD = "geodesy"

LYON, PARIS = (45.7597, 4.8422), (48.8567, 2.3508)


def distance(a: tuple[float, float], b: tuple[float, float]) -> Any:
    return haversine(a, b) / 1e2, haversine(a, b, unit=Unit.MILES) / 1e2, haversine(a, b, unit="nmi", normalize=True)


def many_distances(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> Any:
    return haversine_vector(a, b, Unit.KILOMETERS, comb=True) / 1e3


def destination(a: tuple[float, float], length: float, direction: float) -> Any:
    return inverse_haversine(a, length, direction), inverse_haversine(a, length, Direction.SOUTHWEST)


def many_destinations(a: list[tuple[float, float]], lengths: list[float]) -> Any:
    return inverse_haversine_vector(a, lengths, [1.0, 2.0])


CALLS = {
    "distance": Call(distance, LYON, PARIS),
    "many_distances": Call(many_distances, [LYON, (44.0, 3.0)], [PARIS, (1.0, 2.0)]),
    "destination": Call(destination, LYON, 50.0, 1.1),
    "many_destinations": Call(many_destinations, [LYON, (1.0, 2.0)], [50.0, 60.0]),
}
