"""Fuzzy sets sampled on a universe, their combination and their centre, and controllers made of rules."""

from __future__ import annotations

import numpy as np
import skfuzzy as fuzz
from skfuzzy import control

from thirdparty.harness import Call

DISTRIBUTION = "scikit-fuzzy"
FIELD = "control"
HELD_OUT = True

UNIVERSE = np.linspace(0.0, 10.0, 21)


def triangle(corners: np.ndarray) -> np.ndarray:
    return fuzz.trimf(UNIVERSE, corners)


def smooth(mean: float, width: float, slope: float) -> np.ndarray:
    bell, step = fuzz.gbellmf(UNIVERSE, width, slope, mean), fuzz.sigmf(UNIVERSE, mean, slope)
    return fuzz.fuzzy_and(UNIVERSE, bell, UNIVERSE, step)[1]


def centre(mean: float, width: float) -> float:
    return fuzz.defuzz(UNIVERSE, fuzz.gaussmf(UNIVERSE, mean, width), "centroid")


def tip(service: float, food: float) -> float:
    poor, good = fuzz.zmf(UNIVERSE, 1.0, 6.0), fuzz.smf(UNIVERSE, 4.0, 9.0)
    low = np.fmin(fuzz.interp_membership(UNIVERSE, poor, service), fuzz.gaussmf(UNIVERSE, 2.0, 1.5))
    high = np.fmin(fuzz.interp_membership(UNIVERSE, good, food), fuzz.gaussmf(UNIVERSE, 8.0, 1.5))
    return fuzz.defuzz(UNIVERSE, np.fmax(low, high), "centroid")


def composed(relation: np.ndarray) -> np.ndarray:
    return fuzz.maxprod_composition(relation, relation.T) + fuzz.cartprod(relation[0, :2], relation[1, :2])


def controller(heat: float) -> float:
    temperature = control.Antecedent(UNIVERSE, "temperature")
    fan = control.Consequent(UNIVERSE, "fan")
    temperature["cold"], temperature["hot"] = fuzz.zmf(UNIVERSE, 2.0, 7.0), fuzz.smf(UNIVERSE, 3.0, 9.0)
    fan["slow"], fan["fast"] = fuzz.gaussmf(UNIVERSE, 2.0, 1.5), fuzz.gaussmf(UNIVERSE, 8.0, 1.5)
    rules = [control.Rule(temperature["cold"], fan["slow"]), control.Rule(temperature["hot"], fan["fast"])]
    simulation = control.ControlSystemSimulation(control.ControlSystem(rules))
    simulation.input["temperature"] = heat
    simulation.compute()
    return simulation.output["fan"]


CALLS = {
    "triangle": Call(triangle, np.array([1.2, 4.7, 8.1])),
    "smooth": Call(smooth, 4.3, 2.0, 1.5),
    "centre": Call(centre, 4.3, 1.2),
    "tip": Call(tip, 3.3, 7.2),
    "composed": Call(composed, np.array([[0.2, 0.5, 0.9], [0.4, 0.7, 0.3]])),
    "controller": Call(controller, 5.3),
}
