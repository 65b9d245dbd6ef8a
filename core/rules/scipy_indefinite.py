"""The derivative of ``scipy.linalg.ldl``: A = L D L^H with a permuted unit triangle L and blocks of one or two in D.

With M = L^-1 dA L^-H = F D + dD + D F^H, where dL = L F and F is triangular without the blocks: outside of the blocks
F = M D^-1, and dD is M in the blocks.  The pivots, which choose the permutation and the blocks, are constant where the factors
are continuous.

Source: J. Bunch and L. Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", Math.
Comp. 31, 1977; the differential follows that of LU in ``scipy_factorisations``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .scipy_linear_algebra import onto_structure
from .table import vjp


def ldl_pullback(
    dy: Any, y: Any, A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    refuse_overwrite(overwrite_a)
    (dlu, dd, _), (lu, d, perm) = dy, y
    order = perm[..., :, None]
    triangle = np.take_along_axis(lu, order, axis=-2)
    blocks = (d != 0) | np.eye(d.shape[-1], dtype=bool)
    middle = np.zeros_like(d) if dd is None else np.where(blocks, dd, 0.0)
    if dlu is not None:
        if np.any(np.linalg.det(d) == 0):
            raise NoDerivative("scipy.linalg.ldl has no derivative of the triangle at a singular matrix")
        below = np.tri(d.shape[-1], k=-1, dtype=bool) if lower else ~np.tri(d.shape[-1], dtype=bool)
        turn = np.where(below & ~blocks, dagger(triangle) @ np.take_along_axis(dlu, order, axis=-2), 0.0)
        middle = middle + dagger(np.linalg.solve(d, dagger(turn)))
    left = np.linalg.solve(dagger(triangle), middle)
    right = dagger(triangle) if hermitian else np.swapaxes(triangle, -1, -2)
    g = dagger(np.linalg.solve(right, dagger(left)))
    back = np.argsort(perm, axis=-1)
    g = np.take_along_axis(np.take_along_axis(g, back[..., :, None], axis=-2), back[..., None, :], axis=-1)
    return onto_structure(g, "hermitian" if hermitian else "symmetric", lower)


vjp(scipy.linalg.ldl, ldl_pullback)
