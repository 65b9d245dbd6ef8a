"""Arrays whose length is known only when the program runs (``typed.Dim``).

XLA's shapes are fixed, so such an array is padded to its bound; the elements beyond its length are arbitrary.
Element-wise operations ignore them; reductions, products, sorting and writing mask them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.typed import ArrayType, Dim


def dimension(n: int | Dim) -> int:
    return n.bound if isinstance(n, Dim) else n


def fit(x: Any, bounds: Sequence[int]) -> Any:
    """Return x cut or padded with zeros at its ends to these lengths; elements beyond its own length are arbitrary."""
    shape = np.shape(x)
    if tuple(bounds) == shape:
        return x
    x = lax.slice(x, [0] * len(shape), [min(n, m) for n, m in zip(shape, bounds)])
    return lax.pad(x, np.zeros((), x.dtype), [(0, m - n, 0) for n, m in zip(x.shape, bounds)])


def aligned(x: Any, kind: ArrayType, result: ArrayType) -> Any:
    """Return an operand of an element-wise operation with the bounds of the result, except where it is broadcast."""
    if kind.is_static and result.is_static:
        return x
    wanted = result.shape[result.ndim - kind.ndim :]
    return fit(x, [n if n == 1 and not isinstance(n, Dim) else dimension(m) for n, m in zip(kind.shape, wanted)])


def mask(walk: Any, kind: ArrayType, axes: Sequence[int] | None = None) -> Any:
    """Return a mask of the elements within the array's lengths along ``axes`` (default all); None if all are."""
    found = None
    for axis in range(kind.ndim) if axes is None else axes:
        n = kind.shape[axis]
        if isinstance(n, Dim):
            inside = lax.broadcasted_iota(np.int64, kind.bounds, axis) < walk[n.value]
            found = inside if found is None else found & inside
    return found


def masked(walk: Any, x: Any, kind: ArrayType, identity: Any, axes: Sequence[int] | None = None) -> Any:
    """Return x with ``identity`` in place of the elements beyond its lengths along ``axes`` (default all)."""
    inside = mask(walk, kind, axes)
    return x if inside is None else jnp.where(inside, x, jnp.asarray(identity, x.dtype))


def length(walk: Any, n: int | Dim) -> Any:
    """Return a length as an int64, traced or constant."""
    return walk[n.value] if isinstance(n, Dim) else np.int64(n)
