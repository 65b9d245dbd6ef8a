"""Equivalent circuits written as a text, which is made into a Python expression and evaluated."""

from __future__ import annotations

import numpy as np
from impedance.models.circuits import CustomCircuit, Randles
from impedance.models.circuits.elements import G, W, p, s
from impedance.validation import calc_mu

from thirdparty.harness import Call, Cut

DISTRIBUTION = "impedance"
FIELD = "electrochemistry"
HELD_OUT = True

FREQUENCIES = np.array([1000.0, 100.0, 10.0, 1.0, 0.1])


def custom(r0: float, r1: float, c1: float) -> np.ndarray:
    circuit = CustomCircuit("R0-p(R1,C1)", initial_guess=[r0, r1, c1])
    return circuit.predict(FREQUENCIES, use_initial=True)


def diffusion(r0: float, r1: float, c1: float, z: float, tau: float) -> np.ndarray:
    circuit = CustomCircuit("R0-p(R1,C1)-Wo1", initial_guess=[r0, r1, c1, z, tau])
    return circuit.predict(FREQUENCIES, use_initial=True)


def randles(guess: np.ndarray) -> np.ndarray:
    return Randles(initial_guess=list(guess), CPE=True).predict(FREQUENCIES, use_initial=True)


def by_hand(sigma: float, rate: float) -> np.ndarray:
    frequencies = list(FREQUENCIES)
    return s([W([sigma], frequencies), p([G([0.1, rate], frequencies), W([0.5], frequencies)])])


def overfit(elements: np.ndarray) -> float:
    return calc_mu(elements)


CALLS = {
    "by_hand": Call(by_hand, 0.3, 0.7),
    "overfit": Call(overfit, np.array([0.4, -0.1, 0.3, 0.2, -0.05])),
}

AS_TEXT = "the circuit and its parameters are formatted as text and evaluated"
CUT = {
    "custom": Cut(AS_TEXT, custom, 0.01, 0.05, 0.1),
    "diffusion": Cut(AS_TEXT, diffusion, 0.01, 0.05, 0.1, 0.2, 20.0),
    "randles": Cut(AS_TEXT, randles, np.array([0.01, 0.05, 0.1, 0.9, 0.2, 20.0])),
}
