"""Colours for people, in floats and tuples: the largest chroma of a hue by lines through the gamut."""

from __future__ import annotations

from hsluv import hpluv_to_rgb, hsluv_to_rgb, lch_to_rgb, rgb_to_hpluv, rgb_to_hsluv

from thirdparty.harness import Call, Cut

DISTRIBUTION = "hsluv"
FIELD = "colour"
HELD_OUT = True


def to_screen(h: float, s: float, l: float) -> tuple[float, float, float]:
    return hsluv_to_rgb((h, s, l))


def from_screen(r: float, g: float, b: float) -> tuple[float, float, float]:
    return rgb_to_hsluv((r, g, b))


def pastel(h: float, s: float, l: float) -> tuple[float, float, float]:
    return hpluv_to_rgb((h, s, l))


def to_pastel(r: float, g: float, b: float) -> tuple[float, float, float]:
    return rgb_to_hpluv((r, g, b))


def mixed(h: float, c: float) -> list[float]:
    one, other = lch_to_rgb((55.0, c, h)), lch_to_rgb((70.0, 20.0, 100.0))
    return [0.5 * (a + b) for a, b in zip(one, other)]


CALLS = {
    "from_screen": Call(from_screen, 0.2, 0.5, 0.7),
    "to_pastel": Call(to_pastel, 0.3, 0.35, 0.4),
    "mixed": Call(mixed, 250.0, 30.0),
}
CUT = {
    "to_screen": Cut("red, green and blue are rounded to 1e-10", to_screen, 250.0, 60.0, 55.0),
    "pastel": Cut("red, green and blue are rounded to 1e-10", pastel, 250.0, 60.0, 55.0),
}
