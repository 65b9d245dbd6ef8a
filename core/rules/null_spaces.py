"""Singular values of zero: what the loss's gradient is between the null spaces of a matrix, for ``equal_values``.

At singular values of zero the left and the right vectors rotate independently, and the left vectors are chosen from all columns of U
without a value, as many as the matrix has rows beyond its rank.  With G the gradient with respect to A, the cotangent of the
value of zero of vectors a and b is Re(a^H G b).  So the vectors of the longer side are shifted cyclically within their null space, until each a
has met each b; then a -> c a with |c| = 1 gives Re(conj(c) a^H G b), whence the imaginary part, and a test: if the loss
does not depend on the choice of vectors, the cotangent changes its sign with c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix_factorisations import resolution
from .products import hermitian as dagger


def rank(s: Any) -> Any:
    """The number of singular values above rounding, which come first: (..., 1)."""
    return np.sum(s > resolution(s), axis=-1, keepdims=True)


def completed(x: Any) -> Any:
    """The unitary matrix whose first columns are those of ``x``, which are orthonormal."""
    n = x.shape[-1]
    if x.shape[-2] == n:
        return x
    return np.concatenate([x, np.linalg.qr(x, mode="complete")[0][..., n:]], axis=-1)


def bases(u: Any, vh: Any) -> tuple[Any, Any]:
    """Unitary matrices of left and right vectors, the vectors without values last."""
    return completed(u), completed(dagger(vh))


def place(s: Any, order: int, shift: Any) -> Any:
    """The column of the basis of ``order`` vectors that stands in each column after the shift: (..., order)."""
    r, i = rank(s), np.arange(order)
    return np.where(i < r, i, r + (i - r + shift) % np.maximum(order - r, 1))


def shifted(x: Any, basis: Any, s: Any, shift: Any, c: Any) -> Any:
    """The vectors ``x`` with those of the null space taken from the shifted ``basis``, times ``c``."""
    order, n = basis.shape[-1], x.shape[-1]
    chosen = place(s, order, shift)[..., None, :n] == np.arange(order)[:, None]
    is_null = (np.arange(n) >= rank(s))[..., None, :]
    return np.where(is_null, c * (basis @ chosen.astype(basis.dtype)), x).astype(x.dtype)


def between_null_spaces(s: Any, rows: int, columns: int) -> Any:
    """A mask of the entries of U^H G V that belong to vectors of both null spaces: (..., rows, columns)."""
    r = rank(s)[..., None]
    return (np.arange(rows)[:, None] >= r) & (np.arange(columns) >= r)


def seen_entries(ds: Any, s: Any, rows: int, columns: int, shift: Any) -> tuple[Any, Any]:
    """A mask of the entries that the values' cotangents give after a shift, and these cotangents in their places."""
    k = s.shape[-1]
    if rows >= columns:
        met = place(s, rows, shift)[..., None, :k] == np.arange(rows)[:, None]
        ds = ds[..., None, :]
    else:
        met = place(s, columns, shift)[..., :k, None] == np.arange(columns)
        ds = ds[..., :, None]
    return met & between_null_spaces(s, rows, columns), ds


def turns_null_vectors(s: Any, dx: Any, x: Any, size: Any) -> Any:
    """Whether a rotation of the null space's vectors in ``x`` changes the loss by more than rounding of ``size``."""
    is_null = np.arange(x.shape[-1]) >= rank(s)
    m = dagger(x) @ dx
    within = np.abs(m - dagger(m)) * (is_null[..., :, None] & is_null[..., None, :])
    beyond = np.abs(dx - x @ m) * is_null[..., None, :]
    size = np.maximum(size, np.max(np.abs(m), axis=(-2, -1), keepdims=True, initial=0.0))
    least = 1e4 * np.spacing(size)
    return np.any(within > least) | np.any(beyond > least)
