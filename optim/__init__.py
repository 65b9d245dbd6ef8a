"""Optimisation: minima of functions and least-squares fits, with derivatives from the function's own source.

``minimize`` looks for a local minimum of a real-valued function by BFGS or L-BFGS with a strong Wolfe line search;
``least_squares`` fits by Levenberg-Marquardt and states the parameters' standard deviations.  Both take their unknowns as a
number, an array or any structure of them, and derive gradient and Jacobian unless given.
"""

from .least_squares import Fit, least_squares
from .minimization import Result, minimize

__all__ = ["Fit", "Result", "least_squares", "minimize"]
