"""Optimisation: minima, fits, roots and fixed points, with derivatives from the source of the user's function.

``minimize`` finds a local minimum of a real-valued function; its methods are objects with settings (``LBFGS(memory=20)``)
or names. ``least_squares`` fits by Levenberg-Marquardt and returns the standard deviations of the parameters;
``curve_fit`` has SciPy's arguments. ``root`` and ``fixed_point`` solve systems of equations, ``root_scalar`` one equation
in one unknown. ``proximal_gradient`` and ``admm`` minimise sums with terms that have no derivative. All accept the unknowns as a number, an array or any structure of them, derive the gradient or Jacobian
unless it is given, and differentiate their answers by the implicit function theorem.

A search is a state machine that names the next point to evaluate; ``loop.py`` runs it, ``results.py`` says how it
ended, ``implicit.py`` differentiates the answer. Each kind of problem has a folder.
"""

from . import projections, proximal, roots, stochastic
from .constrained import Constraint
from .constrained.augmented_lagrangian import AugmentedLagrangian
from .constrained.interior_point import InteriorPoint
from .constrained.sequential import SQP
from .derivative_free import CMAES, DifferentialEvolution, Direct, NelderMead, ParticleSwarm, Powell
from .global_minimizing import global_minimize
from .least_squares import (
    DoglegFit,
    Fit,
    GaussNewton,
    LevenbergMarquardt,
    SeparableFit,
    curve_fit,
    least_squares,
    parameter_covariance,
    variable_projection,
)
from .minimise import (
    BFGS,
    LBFGS,
    SR1,
    Backtracking,
    ConjugateGradients,
    Dogleg,
    GradientDescent,
    MoreThuente,
    Newton,
    NewtonCG,
    TrustKrylov,
    TrustRegion,
)
from .minimizing import minimize
from .minimum import ConstrainedMinimum, Minimum
from .programs import linear_program, quadratic_program
from .proximal import admm, proximal_gradient
from .restarts import BasinHopping, MultiStart
from .results import Result, Status
from .roots import Root, fixed_point, root
from .scalar import root_scalar

__all__ = [
    "AugmentedLagrangian",
    "BFGS",
    "Backtracking",
    "BasinHopping",
    "CMAES",
    "ConjugateGradients",
    "ConstrainedMinimum",
    "Constraint",
    "DifferentialEvolution",
    "Direct",
    "Dogleg",
    "DoglegFit",
    "Fit",
    "GaussNewton",
    "GradientDescent",
    "InteriorPoint",
    "LBFGS",
    "LevenbergMarquardt",
    "Minimum",
    "MoreThuente",
    "MultiStart",
    "NelderMead",
    "Newton",
    "NewtonCG",
    "ParticleSwarm",
    "Powell",
    "Result",
    "Root",
    "SQP",
    "SR1",
    "SeparableFit",
    "Status",
    "TrustKrylov",
    "TrustRegion",
    "admm",
    "curve_fit",
    "fixed_point",
    "global_minimize",
    "least_squares",
    "linear_program",
    "minimize",
    "parameter_covariance",
    "projections",
    "proximal",
    "proximal_gradient",
    "quadratic_program",
    "root",
    "root_scalar",
    "roots",
    "stochastic",
    "variable_projection",
]


def __dir__() -> list[str]:
    return sorted(__all__)
