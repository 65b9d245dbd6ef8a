"""Scores of a simulated river flow against an observed one."""

from __future__ import annotations

import hydroeval
import numpy as np

from thirdparty.harness import Call

DISTRIBUTION = "hydroeval"
FIELD = "hydrology"

observed = np.array([1.0, 2.0, 3.0, 4.5, 2.2])
simulated = np.array([1.1, 1.9, 3.2, 4.1, 2.0])


def efficiencies(simulation: np.ndarray) -> list[np.ndarray]:
    scores = (hydroeval.nse, hydroeval.kge, hydroeval.kgeprime, hydroeval.kgenp)
    return [hydroeval.evaluator(score, simulation, observed) for score in scores]


def errors(simulation: np.ndarray) -> list[np.ndarray]:
    scores = (hydroeval.rmse, hydroeval.mare, hydroeval.pbias)
    return [hydroeval.evaluator(score, simulation, observed) for score in scores]


def of_transformed_flow(simulation: np.ndarray) -> list[np.ndarray]:
    transforms = ("log", "inv", "sqrt")
    return [hydroeval.evaluator(hydroeval.nse, simulation, observed, transform=t) for t in transforms]


def recession(rate: float, storage: float) -> float:
    """Calibration of a linear reservoir."""
    flow = storage * np.exp(-rate * np.arange(5.0))
    return hydroeval.evaluator(hydroeval.kge_c2m, flow, observed[::-1].copy())[0]


CALLS = {
    "efficiencies": Call(efficiencies, simulated),
    "errors": Call(errors, simulated),
    "of_transformed_flow": Call(of_transformed_flow, simulated),
    "recession": Call(recession, 0.4, 4.0),
}
