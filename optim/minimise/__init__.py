"""Unconstrained minimisation: directions, and globalisation by line searches or trust regions.

A ``Method`` holds settings and begins a ``Search``, which the loop of ``optim/loop.py`` runs. ``descent.py`` combines a
direction (``first_order.py``, ``quasi_newton.py``, ``newton.py``) with a line search (``line_search.py``);
``trust_region.py`` combines a model (``quadratic_models.py``) with a radius.
"""

from .descent import LineMethod
from .first_order import ConjugateGradients, GradientDescent
from .line_search import Backtracking, LineSearch, MoreThuente
from .method import Method
from .newton import Newton, NewtonCG
from .quasi_newton import BFGS, LBFGS
from .trust_region import SR1, Dogleg, TrustKrylov, TrustRegion

__all__ = [
    "BFGS",
    "Backtracking",
    "ConjugateGradients",
    "Dogleg",
    "GradientDescent",
    "LBFGS",
    "LineMethod",
    "LineSearch",
    "Method",
    "MoreThuente",
    "Newton",
    "NewtonCG",
    "SR1",
    "TrustKrylov",
    "TrustRegion",
]


def __dir__() -> list[str]:
    return sorted(__all__)
