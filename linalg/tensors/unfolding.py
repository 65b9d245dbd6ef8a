"""Unfoldings of a tensor into matrices, and products of a tensor with a matrix along one axis (Kolda and Bader, 2009, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core import BadInput


def as_tensor(x: Any, least: int, function: str) -> Any:
    """Return an array of finite floats with at least this number of axes, all of them non-empty.

    Raises:
        BadInput: it has fewer axes, is empty, or holds NaN or Inf.
    """
    x = np.asarray(x)
    if x.ndim < least or 0 in x.shape:
        raise BadInput(
            f"{function}: got an array of shape {x.shape}; expected at least {least} axes, none of them empty"
        )
    if not np.all(np.isfinite(x)):
        raise BadInput(f"{function}: the array holds NaN or Inf; expected finite numbers")
    return x if x.dtype.kind in "fc" else x.astype(float)


def are_ranks(ranks: Sequence[Any]) -> bool:
    """Whether all ranks are integers from 1."""
    return all(isinstance(r, (int, np.integer)) and not isinstance(r, bool) and r >= 1 for r in ranks)


def unfold(x: Any, axis: int) -> Any:
    """Return the matrix whose rows are the slices of ``x`` along ``axis``: (n_axis, product of the others, in their order).

    Args:
        x: array of any order.
        axis: the axis that becomes the rows.

    Raises:
        BadInput: ``x`` has no such axis.

    Source: Kolda and Bader (2009), section 2.4; the columns are in C order, as in NumPy and TensorLy.

    >>> unfold(np.arange(6).reshape(1, 2, 3), 1)
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    x = np.asarray(x)
    check_axis("unfold", axis, x.shape)
    x = np.moveaxis(x, axis, 0)
    return np.reshape(x, (x.shape[0], prod(x.shape[1:])))


def fold(matrix: Any, axis: int, shape: Sequence[int]) -> Any:
    """Return the tensor of this shape whose unfolding along ``axis`` is ``matrix``.

    Args:
        matrix: (n_axis, product of the others).
        axis: the axis that the rows become.
        shape: the shape of the tensor.

    Raises:
        BadInput: the tensor has no such axis, or the matrix is not its unfolding.

    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> bool(np.all(fold(unfold(x, 1), 1, x.shape) == x))
    True
    """
    shape = tuple(shape)
    check_axis("fold", axis, shape)
    axis %= len(shape)
    rows, columns = shape[axis], prod(shape[:axis] + shape[axis + 1 :])
    if np.shape(matrix) != (rows, columns):
        raise BadInput(
            f"fold: the matrix has shape {np.shape(matrix)}; expected {(rows, columns)} for axis {axis} of a tensor of shape {shape}"
        )
    return np.moveaxis(np.reshape(matrix, (shape[axis], *shape[:axis], *shape[axis + 1 :])), 0, axis)


def check_axis(function: str, axis: int, shape: tuple[int, ...]) -> None:
    """Raise BadInput if a tensor of this shape has no such axis."""
    if not -len(shape) <= axis < len(shape):
        raise BadInput(f"{function}: axis {axis} of a tensor of shape {shape}, which has {len(shape)} axes")


def along(x: Any, matrix: Any, axis: int) -> Any:
    """Return the product of a tensor with a matrix (m, n) along an axis of length n."""
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
