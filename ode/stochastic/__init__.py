"""Stochastic differential equations dy = f(t, y) dt + g(t, y) dW, along paths that a seed determines.

    solution = sdesolve(f, g, y0, ts, *args, path=seed)

Reading order: ``brownian`` has the paths, ``methods`` the coefficients, ``steppers`` a step of each family, ``problem`` the
equation as functions of a vector; ``solve`` checks the arguments and runs the loop of ``odesolve``.
"""

from .brownian import BrownianPath
from .methods import METHODS, RosslerTableau, StratonovichTableau, rossler
from .solve import sdesolve

__all__ = ["METHODS", "BrownianPath", "RosslerTableau", "StratonovichTableau", "rossler", "sdesolve"]


def __dir__() -> list[str]:
    return sorted(__all__)
