"""Programs of ``scipy.linalg``'s norms, pseudo-inverses and RQ for back ends that have code for the decompositions in them.

The cut-offs below which singular values count as zero are those of SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .dense_programs import EVERYWHERE, are_stacks, hermitian_pseudo_inverse, is_not_empty, pseudo_inverse
from .library_programs import are_matrices, expands, refuse_not_finite
from .products import hermitian as dagger

# Norms


def norm_of_finite(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """SciPy's norm: numbers of double precision where SciPy calls BLAS or LAPACK, whose sums of squares do not overflow."""
    refuse_not_finite(check_finite, a)
    found = np.linalg.norm(a, ord, axis, keepdims)
    if axis is not None or keepdims or a.dtype.char not in "fdFD":
        return found
    if a.ndim == 1 and ord in (None, 2):
        limits = np.finfo(a.dtype)
        if not (limits.tiny**0.5 / limits.eps < found < limits.max):
            found = np.max(np.abs(a))
            if 0 < found < np.inf:
                found = found * np.linalg.norm(a / found)
        return float(found)
    return float(found) if a.ndim == 2 and ord in (1, np.inf) else found


expands(scipy.linalg.norm, norm_of_finite, is_not_empty, EVERYWHERE)


# Pseudo-inverses


def cut_off(s: Any, shape: Any, atol: Any, rtol: Any) -> Any:
    """SciPy's cut-off for values of a matrix of a shape."""
    rtol = max(shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    return (0.0 if atol is None else atol) + rtol * np.max(np.abs(s), axis=-1, keepdims=True)


def scipy_pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    refuse_not_finite(check_finite, a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    cut = cut_off(s, a.shape, atol, rtol)
    found = pseudo_inverse(u, s, vh, cut)
    return (found, np.sum(s > cut, axis=-1)) if return_rank else found


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    refuse_not_finite(check_finite, a)
    lam, v = np.linalg.eigh(a, "L" if lower else "U")
    cut = cut_off(lam, a.shape, atol, rtol)
    found = hermitian_pseudo_inverse(lam, v, cut)
    return (found, np.sum(np.abs(lam) > cut, axis=-1)) if return_rank else found


expands(scipy.linalg.pinv, scipy_pinv, are_stacks, EVERYWHERE)
expands(scipy.linalg.pinvh, pinvh, are_stacks, EVERYWHERE)


# RQ


def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """With J, which reverses the order, A = (J R^H J) (J Q^H J) for the factors Q R of J A^H J."""
    refuse_not_finite(check_finite, a)
    turned = dagger(a)[::-1, ::-1]
    wide = a.shape[1] >= a.shape[0]
    if mode == "r" and wide:
        r: Any = np.linalg.qr(turned, mode="r")
        filled = np.zeros(turned.shape, a.dtype)
        filled[: r.shape[0]] = r
        return dagger(filled[::-1, ::-1])
    q, r = np.linalg.qr(turned, mode="reduced" if mode == "economic" else "complete")
    r = dagger(r[::-1, ::-1])
    return r if mode == "r" else (r, dagger(q[::-1, ::-1]))


expands(scipy.linalg.rq, rq, are_matrices, EVERYWHERE)
