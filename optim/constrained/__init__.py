"""Minimisation with constraints: bounds, linear and nonlinear equations and inequalities.

``constraints.py`` makes one vector function of the user's constraints; ``interior_point.py``, ``sequential.py`` and
``augmented_lagrangian.py`` hold the methods, ``bounded.py`` the one for bounds alone; ``optimality.py`` differentiates the
answer by the optimality conditions.
"""

from .bounded import BoundedDescent
from .constraints import Constraint

__all__ = ["BoundedDescent", "Constraint"]


def __dir__() -> list[str]:
    return sorted(__all__)
