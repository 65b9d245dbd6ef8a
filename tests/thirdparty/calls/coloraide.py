"""Colours as objects: plugins for spaces and differences, interpolation of lists of colours, gamut mapping."""

from __future__ import annotations

from typing import Any

from coloraide import Color

from thirdparty.harness import Call

DISTRIBUTION = "coloraide"
FIELD = "colour"

RGB = 0.4, 0.5, 0.2


def converted(red: float, green: float, blue: float) -> Any:
    colour = Color("srgb", [red, green, blue])
    return [colour.convert(space).coords() for space in ("oklch", "lab", "hsl", "jzazbz", "display-p3")]


def differences(red: float, green: float, blue: float) -> Any:
    colour = Color("srgb", [red, green, blue])
    return [colour.delta_e("orange", method=m) for m in ("76", "94", "2000", "cmc", "ok")]


def mixed(red: float, amount: float) -> Any:
    return Color("srgb", [red, 0.3, 0.2]).mix(Color("lab", [50, 20 * red, 10]), amount, space="oklab").coords()


def interpolated(red: float, at: float) -> Any:
    colours = [Color("srgb", [red, 0.3, 0.2]), "yellow", "blue"]
    return Color.interpolate(colours, space="oklab", method="bspline")(at).coords()


def readable(red: float) -> float:
    colour = Color("srgb", [red, 0.3, 0.2])
    return colour.luminance() + colour.contrast("white")


def average(red: float) -> Any:
    return Color.average([Color("srgb", [red, 0.3, 0.2]), "red"], space="oklch").coords()


def glow(kelvin: float) -> Any:
    return Color.blackbody("srgb-linear", kelvin).coords()


CALLS = {
    "converted": Call(converted, *RGB),
    "differences": Call(differences, *RGB),
    "mixed": Call(mixed, 0.4, 0.3),
    "interpolated": Call(interpolated, 0.4, 0.3),
    "readable": Call(readable, 0.4),
    "average": Call(average, 0.4),
    "glow": Call(glow, 4500.0),
}
