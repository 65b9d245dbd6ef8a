"""Differential equations: `odesolve` and the methods it runs.

    solution = odesolve(lambda t, y, k: -k * y, y0, ts, k)      # solution.ys[i] is y(ts[i])

Reading order: `tableaux` and `dop853` hold the methods as data, `control` chooses the length of a step, `state` lays
any structure of numbers out as a vector, and `solve` is the loop that runs them.
"""

from .control import IntegrationFailed
from .solve import METHODS, Solution, Stats, odesolve
from .tableaux import Tableau, tableau

__all__ = ["METHODS", "IntegrationFailed", "Solution", "Stats", "Tableau", "odesolve", "tableau"]
