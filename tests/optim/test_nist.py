"""All 27 nonlinear regressions of the NIST Statistical Reference Datasets, from both starts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from morula.optim import least_squares

DATA = json.loads((Path(__file__).parents[1] / "reference" / "nist_strd.json").read_text())["problems"]


def saturation(b, x):
    return b[0] * (1 - np.exp(-b[1] * x))


def Misra1b(b, x):
    return b[0] * (1 - (1 + b[1] * x / 2) ** (-2))


def Misra1c(b, x):
    return b[0] * (1 - (1 + 2 * b[1] * x) ** (-0.5))


def Misra1d(b, x):
    return b[0] * b[1] * x / (1 + b[1] * x)


def Chwirut(b, x):
    return np.exp(-b[0] * x) / (b[1] + b[2] * x)


def DanWood(b, x):
    return b[0] * x ** b[1]


def Lanczos(b, x):
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def Gauss(b, x):
    first, second = np.exp(-((x - b[3]) ** 2) / b[4] ** 2), np.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    return b[0] * np.exp(-b[1] * x) + b[2] * first + b[5] * second


def Kirby2(b, x):
    return (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)


def cubic_over_cubic(b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def ENSO(b, x):
    season = 2 * np.pi * x / 12
    second, third = 2 * np.pi * x / b[3], 2 * np.pi * x / b[6]
    return (
        b[0] + b[1] * np.cos(season) + b[2] * np.sin(season)
        + b[4] * np.cos(second) + b[5] * np.sin(second) + b[7] * np.cos(third) + b[8] * np.sin(third)
    )  # fmt: skip


def Nelson(b, x):
    return b[0] - b[1] * x[:, 0] * np.exp(-b[2] * x[:, 1])


def MGH09(b, x):
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])


def MGH10(b, x):
    return b[0] * np.exp(b[1] / (x + b[2]))


def MGH17(b, x):
    return b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4])


def Roszman1(b, x):
    return b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi


def Rat42(b, x):
    return b[0] / (1 + np.exp(b[1] - b[2] * x))


def Rat43(b, x):
    return b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3])


def Eckerle4(b, x):
    return b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


def Bennett5(b, x):
    return b[0] * (b[1] + x) ** (-1 / b[2])


MODELS = {
    "Misra1a": saturation, "Misra1b": Misra1b, "Misra1c": Misra1c, "Misra1d": Misra1d, "Chwirut1": Chwirut,
    "Chwirut2": Chwirut, "DanWood": DanWood, "Lanczos1": Lanczos, "Lanczos2": Lanczos, "Lanczos3": Lanczos,
    "Gauss1": Gauss, "Gauss2": Gauss, "Gauss3": Gauss, "Kirby2": Kirby2, "Hahn1": cubic_over_cubic,
    "Thurber": cubic_over_cubic, "ENSO": ENSO, "Nelson": Nelson, "MGH09": MGH09, "MGH10": MGH10, "MGH17": MGH17,
    "Roszman1": Roszman1, "Rat42": Rat42, "Rat43": Rat43, "Eckerle4": Eckerle4, "Bennett5": Bennett5,
    "BoxBOD": saturation,
}  # fmt: skip


def digits(found, certified):
    """How many digits agree in the worst of the numbers; NIST certifies eleven."""
    found, certified = np.asarray(found), np.asarray(certified)
    return float(np.min(-np.log10(np.maximum(np.abs(found - certified) / np.abs(certified), 1e-11))))


@pytest.mark.parametrize("start", ["start1", "start2"])
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_the_certified_values(name, start):
    data, model = DATA[name], MODELS[name]
    x, y = np.array(data["x"]), np.array(data["y"])
    if name == "Nelson":
        y = np.log(y)
    fit = least_squares(lambda b: model(b, x) - y, np.array(data[start]))
    assert fit.converged, fit.message
    assert fit.degrees_of_freedom == data["n"] - len(data["certified"])  # where NIST prints another, it is a misprint
    assert digits(fit.x, data["certified"]) > 8
    # The residuals of Lanczos1 are the rounding of its data to 14 digits: 1e-13 next to values of 2.5, and their sum of
    # squares can be had to three digits in float64.
    exact = name != "Lanczos1"
    assert digits(fit.rss, data["certified_rss"]) > (9 if exact else 2)
    assert digits(fit.standard_deviations, data["certified_sd"]) > (8 if exact else 2)


def test_there_are_models_for_all_of_the_data():
    assert set(MODELS) == set(DATA) and len(DATA) == 27
