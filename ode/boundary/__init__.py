"""Boundary-value problems: y' = f(t, y) with conditions at both ends.

``collocation`` has the equations on a mesh and their Jacobian, ``solve`` the refinement of the mesh; ``shooting`` has equations whose
intervals are solved by ``odesolve``. ``newton`` solves the equations of both, and has the derivative.
"""

from .newton import BoundaryStatus
from .shooting import shoot
from .solve import BoundaryProblemFailed, BoundarySolution, bvpsolve

__all__ = ["BoundaryProblemFailed", "BoundarySolution", "BoundaryStatus", "bvpsolve", "shoot"]


def __dir__() -> list[str]:
    return sorted(__all__)
