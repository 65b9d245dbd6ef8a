"""Optimisation: minima, fits, roots and fixed points, with derivatives from the source of the user's function.

``minimize`` finds a local minimum of a real-valued function; its methods are objects with settings (``LBFGS(memory=20)``)
or names. ``least_squares`` fits by Levenberg-Marquardt and returns the standard deviations of the parameters;
``curve_fit`` has SciPy's arguments. ``root`` and ``fixed_point`` solve systems of equations, ``root_scalar`` one equation
in one unknown. All accept the unknowns as a number, an array or any structure of them, derive the gradient or Jacobian
unless it is given, and differentiate their answers by the implicit function theorem.

A search is a state machine that names the next point to evaluate; ``loop.py`` runs it, ``results.py`` says how it
ended, ``implicit.py`` differentiates the answer. Each kind of problem has a folder.
"""

from . import roots
from .least_squares import DoglegFit, Fit, GaussNewton, LevenbergMarquardt, curve_fit, least_squares
from .minimise import (
    BFGS,
    LBFGS,
    SR1,
    Backtracking,
    ConjugateGradients,
    Dogleg,
    GradientDescent,
    Minimum,
    MoreThuente,
    Newton,
    NewtonCG,
    TrustKrylov,
    TrustRegion,
    minimize,
)
from .results import Result, Status
from .roots import Root, fixed_point, root
from .scalar import root_scalar

__all__ = [
    "BFGS",
    "Backtracking",
    "ConjugateGradients",
    "Dogleg",
    "DoglegFit",
    "Fit",
    "GaussNewton",
    "GradientDescent",
    "LBFGS",
    "LevenbergMarquardt",
    "Minimum",
    "MoreThuente",
    "Newton",
    "NewtonCG",
    "Result",
    "Root",
    "SR1",
    "Status",
    "TrustKrylov",
    "TrustRegion",
    "curve_fit",
    "fixed_point",
    "least_squares",
    "minimize",
    "root",
    "root_scalar",
    "roots",
]


def __dir__() -> list[str]:
    return sorted(__all__)
