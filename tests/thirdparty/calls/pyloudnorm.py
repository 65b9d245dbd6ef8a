"""How loud a recording is: filters for the ear, gated blocks, gains."""

from __future__ import annotations

import numpy as np
import pyloudnorm as pyln

from thirdparty.harness import Call

DISTRIBUTION = "pyloudnorm"
FIELD = "sound"
HELD_OUT = True

RATE = 1000
SOUND = 0.3 * np.sin(0.9 * np.arange(1200.0)) * (1.0 + 0.2 * np.sin(0.01 * np.arange(1200.0)))


def loudness(sound: np.ndarray) -> float:
    return pyln.Meter(RATE).integrated_loudness(sound)


def stereo(gain: float) -> float:
    return pyln.Meter(RATE, block_size=0.2).integrated_loudness(np.stack([SOUND, gain * SOUND[::-1]], axis=1))


def normalised(sound: np.ndarray, target: float) -> np.ndarray:
    measured = pyln.Meter(RATE).integrated_loudness(sound)
    return pyln.normalize.loudness(sound, measured, target)


def to_a_peak(sound: np.ndarray, target: float) -> np.ndarray:
    return pyln.normalize.peak(sound, target)


def filtered(gain: float, centre: float) -> np.ndarray:
    stage = pyln.IIRfilter(gain, 0.7, centre, RATE, "high_shelf")
    return stage.apply_filter(SOUND[:50])


CALLS = {
    "loudness": Call(loudness, SOUND),
    "stereo": Call(stereo, 0.6),
    "normalised": Call(normalised, SOUND, -20.0),
    "to_a_peak": Call(to_a_peak, np.array([0.1, -0.4, 0.9, -0.2, 0.3]), -3.0),
    "filtered": Call(filtered, 4.0, 150.0),
}
