"""Minimisation of sums with terms that have no derivative: proximal gradient methods, splitting, and the terms."""

from .gradient import FISTA, ISTA, ProximalMethod
from .solving import proximal_gradient
from .splitting import Splitting, admm
from .terms import (
    L1,
    ElasticNet,
    GroupNorm,
    Huber,
    Indicator,
    LabelledGroups,
    LeastSquares,
    LInf,
    LogBarrier,
    Nuclear,
    Separable,
    Shifted,
    SquaredL2,
    Term,
    Zero,
)
from .total_variation import TotalVariation

__all__ = [
    "ElasticNet",
    "FISTA",
    "GroupNorm",
    "Huber",
    "ISTA",
    "Indicator",
    "L1",
    "LInf",
    "LabelledGroups",
    "LeastSquares",
    "LogBarrier",
    "Nuclear",
    "ProximalMethod",
    "Separable",
    "Shifted",
    "Splitting",
    "SquaredL2",
    "Term",
    "TotalVariation",
    "Zero",
    "admm",
    "proximal_gradient",
]


def __dir__() -> list[str]:
    return sorted(__all__)
