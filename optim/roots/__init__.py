"""Systems of equations and fixed points: ``root`` and ``fixed_point``, and their methods with settings."""

from .finding import Root, root
from .fixed_points import Aitken, Anderson, Iteration, fixed_point
from .methods import Broyden, Chord, Newton, RootMethod, TrustRegionNewton
from .spectral import DFSane

__all__ = [
    "Aitken",
    "Anderson",
    "Broyden",
    "Chord",
    "DFSane",
    "Iteration",
    "Newton",
    "Root",
    "RootMethod",
    "TrustRegionNewton",
    "fixed_point",
    "root",
]


def __dir__() -> list[str]:
    return sorted(__all__)
