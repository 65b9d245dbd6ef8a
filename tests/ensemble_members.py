"""Functions of one member of an ensemble, in a module that other processes can import."""

from __future__ import annotations

import numpy as np

from morula.ode import odesolve


def decayed(rate, k):
    """The solution of y' = -rate k y, y(0) = 1 at t = 1."""
    return odesolve(lambda t, y, a: -a * y, 1.0, [0.0, 1.0], rate * k, method="bosh3", rtol=1e-4).y[-1]


def wave(p, k):
    return {"value": np.sin(k * p["x"]), "parts": (p["x"] * np.ones(2), 3)}
