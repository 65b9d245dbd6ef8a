"""Conversions of colours along a graph of spaces: the way between two of them is found at the call."""

from __future__ import annotations

import numpy as np
from colorspacious import CIECAM02Space, cspace_convert, cspace_converter, deltaE

from thirdparty.harness import Call

DISTRIBUTION = "colorspacious"
FIELD = "colour"
HELD_OUT = True

RGB = np.array([0.2, 0.5, 0.7])


def to_lab(rgb: np.ndarray) -> np.ndarray:
    return cspace_convert(rgb, "sRGB1", "CIELab")


def from_lch(lch: np.ndarray) -> np.ndarray:
    return cspace_convert(lch, "CIELCh", "sRGB1")


def appearance(rgb: np.ndarray) -> np.ndarray:
    return cspace_convert(rgb, "sRGB1", "JCh")


def uniform(image: np.ndarray) -> np.ndarray:
    return cspace_convert(image, "sRGB1", "CAM02-UCS")


def difference(one: np.ndarray, other: np.ndarray) -> float:
    return deltaE(one, other, input_space="sRGB1")


def colour_blind(rgb: np.ndarray) -> np.ndarray:
    space = {"name": "sRGB1+CVD", "cvd_type": "deuteranomaly", "severity": 50}
    return cspace_convert(rgb, space, "sRGB1")


def in_a_bright_room(xyz: np.ndarray, adapting: float) -> np.ndarray:
    viewed = CIECAM02Space(XYZ100_w="D65", Y_b=20.0, L_A=adapting)
    return cspace_converter("XYZ100", {"name": "CIECAM02-subset", "axes": "JMh", "ciecam02_space": viewed})(xyz)


CALLS = {
    "to_lab": Call(to_lab, RGB),
    "from_lch": Call(from_lch, np.array([55.0, 30.0, 250.0])),
    "appearance": Call(appearance, RGB),
    "uniform": Call(uniform, np.linspace(0.1, 0.9, 12).reshape(2, 2, 3)),
    "difference": Call(difference, RGB, np.array([0.3, 0.45, 0.6])),
    "colour_blind": Call(colour_blind, RGB),
    "in_a_bright_room": Call(in_a_bright_room, np.array([20.0, 25.0, 30.0]), 60.0),
}
