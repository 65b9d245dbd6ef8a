"""Initial-value problems of ordinary differential equations: ``odesolve`` and its Runge-Kutta methods.

    solution = odesolve(lambda t, y, k: -k * y, y0, ts, k)      # solution.ys[i] is y(ts[i])

Reading order: ``tableaux`` and ``dop853`` hold the methods as data, ``control`` chooses the step sizes, ``state``
converts a structure of numbers to a vector and back, and ``solve`` has the loops.
"""

from .control import IntegrationFailed
from .solve import METHODS, Solution, Stats, odesolve
from .tableaux import Tableau, tableau

__all__ = ["METHODS", "IntegrationFailed", "Solution", "Stats", "Tableau", "odesolve", "tableau"]


def __dir__() -> list[str]:
    return sorted(__all__)
