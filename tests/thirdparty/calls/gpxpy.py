"""Tracks of positions as trees of objects: lengths, slopes, speeds, smoothing in place."""

from __future__ import annotations

import datetime

import numpy as np
from gpxpy.geo import LocationDelta, distance_from_line, elevation_angle, haversine_distance, length_3d
from gpxpy.gpx import GPX, GPXTrack, GPXTrackPoint, GPXTrackSegment

from thirdparty.harness import Call

DISTRIBUTION = "gpxpy"
FIELD = "geodesy"
HELD_OUT = True

NORTHWARDS = np.cos(np.arange(6.0))
HEIGHTS = 300.0 + 20.0 * np.sin(np.arange(6.0))
START = datetime.datetime(2024, 5, 3, 12, 0)


def segment(northwards: np.ndarray, heights: np.ndarray) -> GPXTrackSegment:
    points = [
        GPXTrackPoint(
            46.0 + 0.003 * northwards[i],
            7.0 + 0.002 * i,
            elevation=heights[i],
            time=START + datetime.timedelta(seconds=30 * i),
        )
        for i in range(len(heights))
    ]
    return GPXTrackSegment(points)


def lengths(northwards: np.ndarray, heights: np.ndarray) -> list[float]:
    track = GPXTrack()
    track.segments.append(segment(northwards, heights))
    gpx = GPX()
    gpx.tracks.append(track)
    return [gpx.length_2d(), gpx.length_3d(), *gpx.get_uphill_downhill()]


def speeds(northwards: np.ndarray, heights: np.ndarray) -> list[float]:
    found = segment(northwards, heights)
    return [found.get_speed(i) for i in range(1, 5)] + [found.get_moving_data().moving_distance]


def smoothed(heights: np.ndarray) -> list[float]:
    found = segment(NORTHWARDS, heights)
    found.smooth(vertical=True, horizontal=True)
    return [point.elevation for point in found.points]


def slopes(northwards: float, height: float) -> list[float]:
    here = GPXTrackPoint(46.0 + 0.001 * northwards, 7.0, elevation=height)
    there = GPXTrackPoint(46.001, 7.002, elevation=320.0)
    return [elevation_angle(here, there), length_3d([here, there, here]), here.course_between(there)]


def moved(latitude: float, distance: float) -> list[float]:
    point = GPXTrackPoint(latitude, 7.0)
    point.move(LocationDelta(distance=distance, angle=30.0))
    return [point.latitude, point.longitude, haversine_distance(latitude, 7.0, 46.2, point.longitude)]


def off_the_line(northwards: float) -> float:
    ends = GPXTrackPoint(46.0, 7.0), GPXTrackPoint(46.01, 7.02)
    return distance_from_line(GPXTrackPoint(46.0 + 0.001 * northwards, 7.01), *ends)


CALLS = {
    "lengths": Call(lengths, NORTHWARDS, HEIGHTS),
    "speeds": Call(speeds, NORTHWARDS, HEIGHTS),
    "smoothed": Call(smoothed, HEIGHTS),
    "slopes": Call(slopes, -0.7, 300.0),
    "moved": Call(moved, 46.0, 1000.0),
    "off_the_line": Call(off_the_line, 2.0),
}
