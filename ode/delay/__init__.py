"""Delay differential equations y' = f(t, y, y(t - lag)), by the method of steps on the dense output of Runge-Kutta methods.

    solution = ddesolve(f, history, ts, *args, lags=1.0)

Reading order: ``steps`` has the equation with its past, and a step; ``solve`` checks the arguments, finds where the solution
has kinks, and runs the loop of ``odesolve``.
"""

from .solve import ddesolve

__all__ = ["ddesolve"]


def __dir__() -> list[str]:
    return sorted(__all__)
