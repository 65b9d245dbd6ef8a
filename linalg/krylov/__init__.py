"""Iterative methods for linear systems.

A method is a ``Recurrence``: its start and its step. ``loop.py`` stops, restarts and records it; ``solve.py`` checks the
arguments and differentiates the solution.
"""

from .bicgstab import bicgstab
from .bidiagonalisation import lsmr, lsqr
from .block_conjugate_gradients import block_cg
from .block_minimal_residuals import block_gmres
from .conjugate_gradients import cg
from .generalised_minimal_residuals import gmres
from .induced_dimension_reduction import idrs
from .minimal_residuals import minres
from .solution import Solution, Status
from .stationary import richardson
from .symmetric_lq import symmlq

__all__ = [
    "Solution",
    "Status",
    "bicgstab",
    "block_cg",
    "block_gmres",
    "cg",
    "gmres",
    "idrs",
    "lsmr",
    "lsqr",
    "minres",
    "richardson",
    "symmlq",
]


def __dir__() -> list[str]:
    return sorted(__all__)
