"""Arrays whose length is known only when the program runs (``typed.Dim``).

XLA's shapes are fixed, so such an array is held at its bound, with anything at all beyond its length.  Computing element
by element needs no care; whatever mixes elements (reductions, products, sorting, writing) masks them first.
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
    """x cut or padded with zeros at its ends to these lengths: what is beyond an array's own length does not matter."""
    shape = np.shape(x)
    if tuple(bounds) == shape:
        return x
    x = lax.slice(x, [0] * len(shape), [min(n, m) for n, m in zip(shape, bounds)])
    return lax.pad(x, np.zeros((), x.dtype), [(0, m - n, 0) for n, m in zip(x.shape, bounds)])


def aligned(x: Any, kind: ArrayType, result: ArrayType) -> Any:
    """An operand of an element-wise operation with the bounds of its result, where it is not to be repeated."""
    if kind.is_static and result.is_static:
        return x
    wanted = result.shape[result.ndim - kind.ndim :]
    return fit(x, [n if n == 1 and not isinstance(n, Dim) else dimension(m) for n, m in zip(kind.shape, wanted)])


def mask(walk: Any, kind: ArrayType, axes: Sequence[int] | None = None) -> Any:
    """Where the elements of an array are within its lengths along these axes (all of them); None: everywhere."""
    found = None
    for axis in range(kind.ndim) if axes is None else axes:
        n = kind.shape[axis]
        if isinstance(n, Dim):
            inside = lax.broadcasted_iota(np.int64, kind.bounds, axis) < walk[n.value]
            found = inside if found is None else found & inside
    return found


def masked(walk: Any, x: Any, kind: ArrayType, identity: Any, axes: Sequence[int] | None = None) -> Any:
    """x with ``identity`` in place of what is beyond its lengths along these axes (all of them)."""
    inside = mask(walk, kind, axes)
    return x if inside is None else jnp.where(inside, x, jnp.asarray(identity, x.dtype))


def length(walk: Any, n: int | Dim) -> Any:
    """A length as an int64."""
    return walk[n.value] if isinstance(n, Dim) else np.int64(n)
