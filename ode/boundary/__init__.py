"""Boundary-value problems: y' = f(t, y) with conditions at both ends.

``collocation`` has the equations on a mesh and their Jacobian; ``solve`` the search, the refinement of the mesh and the
derivative.
"""

from .solve import BoundaryProblemFailed, BoundarySolution, BoundaryStatus, bvpsolve

__all__ = ["BoundaryProblemFailed", "BoundarySolution", "BoundaryStatus", "bvpsolve"]


def __dir__() -> list[str]:
    return sorted(__all__)
