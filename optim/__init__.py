"""Optimisation: minimisation and least-squares fits, with derivatives from the source of the user's function.

``minimize`` finds a local minimum of a real-valued function by BFGS or L-BFGS with a strong Wolfe line search.
``least_squares`` fits by Levenberg-Marquardt and returns the standard deviations of the parameters. Both accept the
unknowns as a number, an array or any structure of them, and derive the gradient or Jacobian unless it is given.
"""

from .least_squares import Fit, least_squares
from .minimization import Result, minimize

__all__ = ["Fit", "Result", "least_squares", "minimize"]


def __dir__() -> list[str]:
    return sorted(__all__)
