"""Unfoldings of a tensor into matrices, and products of a tensor with a matrix along one axis (Kolda and Bader, 2009, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core import BadInput


def as_tensor(x: Any, least: int, function: str) -> Any:
    """Return an array of floats with at least this number of axes, all of them non-empty.

    Raises:
        BadInput: it has fewer axes, or is empty.
    """
    x = np.asarray(x)
    if x.ndim < least or 0 in x.shape:
        raise BadInput(
            f"{function}: got an array of shape {x.shape}; expected at least {least} axes, none of them empty"
        )
    return x if x.dtype.kind in "fc" else x.astype(float)


def unfold(x: Any, axis: int) -> Any:
    """Return the matrix whose rows are the slices of ``x`` along ``axis``: (n_axis, product of the others, in their order).

    Args:
        x: array of any order.
        axis: the axis that becomes the rows.

    Source: Kolda and Bader (2009), section 2.4; the columns are in C order, as in NumPy and TensorLy.

    >>> unfold(np.arange(6).reshape(1, 2, 3), 1)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    x = np.moveaxis(np.asarray(x), axis, 0)
    return np.reshape(x, (x.shape[0], prod(x.shape[1:])))


def fold(matrix: Any, axis: int, shape: Sequence[int]) -> Any:
    """Return the tensor of this shape whose unfolding along ``axis`` is ``matrix``.

    Args:
        matrix: (n_axis, product of the others).
        axis: the axis that the rows become.
        shape: the shape of the tensor.

    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> bool(np.all(fold(unfold(x, 1), 1, x.shape) == x))
    True
    """
    shape = tuple(shape)
    axis %= len(shape)
    return np.moveaxis(np.reshape(matrix, (shape[axis], *shape[:axis], *shape[axis + 1 :])), 0, axis)


def along(x: Any, matrix: Any, axis: int) -> Any:
    """Return the product of a tensor with a matrix (m, n) along an axis of length n."""
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
