"""Preconditioners: operators that approximate the inverse of a matrix, for ``preconditioner=`` of the iterative methods.

All are products of simple operators, so they have transposes and run in compiled code.
"""

from .incomplete import ic0, ilu0, incomplete_lu
from .multigrid import Multigrid, geometric_multigrid, smoothed_aggregation
from .splittings import jacobi, ssor
from .sweeps import InverseTriangular, Permutation

__all__ = [
    "InverseTriangular",
    "Multigrid",
    "Permutation",
    "geometric_multigrid",
    "ic0",
    "ilu0",
    "incomplete_lu",
    "jacobi",
    "smoothed_aggregation",
    "ssor",
]


def __dir__() -> list[str]:
    return sorted(__all__)
