"""Optimisation: minimisation and least-squares fits, with derivatives from the source of the user's function.

``minimize`` finds a local minimum of a real-valued function; its methods are objects with settings (``LBFGS(memory=20)``)
or names. ``least_squares`` fits by Levenberg-Marquardt and returns the standard deviations of the parameters. Both accept
the unknowns as a number, an array or any structure of them, derive the gradient or Jacobian unless it is given, and
differentiate their answers by the implicit function theorem.

A search is a state machine that names the next point to evaluate; ``loop.py`` runs it, ``results.py`` says how it
ended, ``implicit.py`` differentiates the answer. Each kind of problem has a folder.
"""

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
    "SR1",
    "Status",
    "TrustKrylov",
    "TrustRegion",
    "curve_fit",
    "least_squares",
    "minimize",
]


def __dir__() -> list[str]:
    return sorted(__all__)
