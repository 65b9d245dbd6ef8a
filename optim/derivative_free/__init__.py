"""Minimisation by values alone: simplex and conjugate directions, and global searches within bounds.

``method.py`` says what a method is; ``simplex.py`` and ``directions.py`` search locally, from a guess; ``populations.py`` and
``rectangles.py`` search a box.
"""

from .directions import Powell
from .method import GlobalMethod, ValueMethod
from .populations import CMAES, DifferentialEvolution, ParticleSwarm
from .rectangles import Direct
from .simplex import NelderMead

__all__ = [
    "CMAES",
    "DifferentialEvolution",
    "Direct",
    "GlobalMethod",
    "NelderMead",
    "ParticleSwarm",
    "Powell",
    "ValueMethod",
]


def __dir__() -> list[str]:
    return sorted(__all__)
