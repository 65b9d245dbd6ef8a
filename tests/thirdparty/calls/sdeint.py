"""Stochastic differential equations: the paths of the noise are drawn once, the solution follows everything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import sdeint

from thirdparty.harness import Call

DISTRIBUTION = "sdeint"
FIELD = "stochastic processes"

ROTATION = np.array([[-0.5, -2.0], [2.0, -1.0]])


def solved(integrate: Any) -> Any:
    def endpoint(drift: float, start: np.ndarray) -> np.ndarray:
        def noise(x: np.ndarray, t: float) -> np.ndarray:
            return np.array([[0.5 * x[0] * drift, 0.1], [0.2, 0.5 * x[1]]])

        times = np.linspace(0.0, 1.0, 4)
        generator = np.random.default_rng(0)
        return integrate(lambda x, t: ROTATION.dot(x) * drift, noise, start, times, generator=generator)

    return endpoint


CALLS = {
    name: Call(solved(integrate), 1.1, np.array([1.0, 2.0]))
    for name, integrate in {
        "euler_maruyama": sdeint.itoEuler,
        "heun": sdeint.stratHeun,
        "roessler_ito": sdeint.itoSRI2,
        "roessler_stratonovich": sdeint.stratSRS2,
    }.items()
}
