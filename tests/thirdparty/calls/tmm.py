"""Light through a stack of thin films: complex transfer matrices, coherent and incoherent layers."""

from __future__ import annotations

import numpy as np
import tmm

from thirdparty.harness import Call

DISTRIBUTION = "tmm"
FIELD = "optics"
HELD_OUT = True

INF = float("inf")


def reflected(thickness: float, index: float, angle: float) -> list[float]:
    found = tmm.coh_tmm("s", [1.0, index, 3.3 + 0.3j, 1.0], [INF, thickness, 300.0, INF], angle, 400.0)
    return [found["R"], found["T"]]


def parallel(thickness: float, angle: float) -> float:
    return tmm.coh_tmm("p", [1.0, 2.2, 3.3 + 0.3j, 1.0], [INF, thickness, 300.0, INF], angle, 400.0)["T"]


def unpolarised(thickness: float, wavelength: float) -> list[float]:
    return list(tmm.unpolarized_RT([1.0, 1.45, 3.5 + 0.01j], [INF, thickness, INF], 0.4, wavelength).values())


def ellipsometry(thickness: float) -> list[float]:
    found = tmm.ellips([1.0, 1.46, 3.87 + 0.02j], [INF, thickness, INF], 1.2, 633.0)
    return [found["psi"], found["Delta"]]


def absorbed(thickness: float) -> np.ndarray:
    data = tmm.coh_tmm("p", [1.0, 2.0 + 0.5j, 3.3 + 0.3j, 1.0], [INF, thickness, 300.0, INF], 0.3, 400.0)
    return np.append(tmm.absorp_in_each_layer(data), tmm.position_resolved(1, 20.0, data)["absor"])


def incoherent(thickness: float, substrate: float) -> list[float]:
    lists = [1.0, 2.2 + 0.01j, 1.5 + 1e-6j, 1.0], [INF, thickness, substrate, INF], ["i", "c", "i", "i"]
    found = tmm.inc_tmm("s", *lists, 0.3, 500.0)
    return [found["R"], found["T"]]


CALLS = {
    "reflected": Call(reflected, 100.0, 2.2, 0.3),
    "parallel": Call(parallel, 100.0, 0.3),
    "unpolarised": Call(unpolarised, 120.0, 550.0),
    "ellipsometry": Call(ellipsometry, 100.0),
    "absorbed": Call(absorbed, 100.0),
    "incoherent": Call(incoherent, 100.0, 50000.0),
}
