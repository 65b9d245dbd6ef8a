"""Multigrid: a hierarchy of ever smaller matrices, and cycles over it that take the same number of steps for all sizes.

``cycle`` runs the V, W and F cycles over a hierarchy. ``aggregation`` makes one from the entries of a matrix, ``grids`` from
the shape of a regular grid.
"""

from .aggregation import smoothed_aggregation
from .cycle import Level, Multigrid
from .grids import geometric_multigrid

__all__ = ["Level", "Multigrid", "geometric_multigrid", "smoothed_aggregation"]


def __dir__() -> list[str]:
    return sorted(__all__)
