"""Eigenproblems and singular values of large matrices: a few pairs, from products with vectors, with derivatives.

A method is a ``Cycle``: its start and its step. ``loop.py`` stops and records it; ``invariant_subspace.py`` differentiates
the space that it converges to, by one deflated solve, and a small dense eigenproblem tells the pairs in it apart.
"""

from .golub_kahan import svds
from .krylov_schur import eigs
from .lanczos import eigsh
from .lobpcg import lobpcg
from .randomised import randomised_svd
from .results import Eigenpairs, SingularTriplets

__all__ = ["Eigenpairs", "SingularTriplets", "eigs", "eigsh", "lobpcg", "randomised_svd", "svds"]


def __dir__() -> list[str]:
    return sorted(__all__)
