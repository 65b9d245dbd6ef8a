"""Sums of squares: Levenberg-Marquardt, Gauss-Newton and dogleg steps, bounds, robust losses, and statistics of a fit.

``methods.py`` holds the search, whose steps ``steps.py`` computes; ``fitting.py`` is the front, ``least_squares``, and
``curves.py`` has ``curve_fit`` with SciPy's arguments.
"""

from .curves import curve_fit
from .fitting import Fit, least_squares
from .methods import DoglegFit, GaussNewton, LeastSquaresMethod, LevenbergMarquardt
from .separable import SeparableFit, variable_projection
from .statistics import parameter_covariance

__all__ = [
    "DoglegFit",
    "Fit",
    "GaussNewton",
    "LeastSquaresMethod",
    "LevenbergMarquardt",
    "SeparableFit",
    "curve_fit",
    "least_squares",
    "parameter_covariance",
    "variable_projection",
]


def __dir__() -> list[str]:
    return sorted(__all__)
