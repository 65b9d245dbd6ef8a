"""Colour appearance, difference and spectra: hundreds of array functions that are chosen by a string."""

from __future__ import annotations

from typing import Any

import colour
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "colour-science"
FIELD = "colour"

XYZ = np.array([0.2, 0.12, 0.05])
RGB = np.array([0.4, 0.5, 0.2])
LAB = np.array([[40.0, 20.0, 10.0], [45.0, 22.0, 15.0]])


def difference(method: str) -> Any:
    return lambda lab: colour.delta_E(lab[0], lab[1], method=method)


def encoded(xyz: np.ndarray) -> Any:
    return colour.cctf_encoding(colour.XYZ_to_RGB(xyz, "sRGB"), function="sRGB")


def appearance(xyz: np.ndarray) -> Any:
    seen = colour.XYZ_to_CIECAM02(xyz * 100, np.array([95.0, 100.0, 109.0]), 318.31, 20.0)
    return seen.J, seen.C, seen.h, seen.Q


def adapted(xyz: np.ndarray, white: np.ndarray) -> Any:
    return colour.adaptation.chromatic_adaptation_VonKries(xyz, white, np.array([0.96, 1.0, 0.82]), transform="CAT02")


def along_a_graph_of_conversions(rgb: np.ndarray) -> Any:
    return colour.convert(rgb, "RGB", "CIE Lab")


def between_spaces(rgb: np.ndarray) -> Any:
    wide = colour.RGB_to_RGB(rgb, colour.RGB_COLOURSPACES["sRGB"], colour.RGB_COLOURSPACES["ProPhoto RGB"])
    return wide, colour.RGB_to_HSV(rgb), colour.XYZ_to_Oklab(colour.sRGB_to_XYZ(rgb))


def corrected(rgb: np.ndarray, measured: np.ndarray) -> Any:
    reference = np.array([[0.12, 0.2, 0.31], [0.3, 0.25, 0.5], [0.8, 0.42, 0.1], [0.45, 0.4, 0.2]])
    return colour.colour_correction(rgb, measured, reference)


CALLS = {
    **{f"difference_{name}": Call(difference(f"CIE {name}"), LAB) for name in ("1976", "1994", "2000")},
    "encoded": Call(encoded, XYZ),
    "appearance": Call(appearance, XYZ),
    "adapted": Call(adapted, XYZ, np.array([0.95, 1.0, 1.09])),
    "along_a_graph_of_conversions": Call(along_a_graph_of_conversions, RGB),
    "between_spaces": Call(between_spaces, RGB),
    "corrected": Call(corrected, RGB, np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.5], [0.8, 0.4, 0.1], [0.4, 0.4, 0.2]])),
}
