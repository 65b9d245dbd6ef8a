"""Linear and convex quadratic programs: an interior-point method, and operator splitting.

``primal_dual.py`` holds what interior-point methods share, also that for nonlinear problems in ``constrained/``.
"""

from .solving import linear_program, quadratic_program

__all__ = ["linear_program", "quadratic_program"]


def __dir__() -> list[str]:
    return sorted(__all__)
