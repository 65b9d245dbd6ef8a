"""Operations on all samples of a batch, in functions under ``vmap(..., axis_name=...)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..specialise.batches import trace_index, trace_joined, trace_sum, without_axis
from ..specialise.traced import always_traces
from ..values import tree
from .samples import BadBatch, is_number


def _lane_sum(x: Any, axis_name: Any) -> Any:
    raise BadBatch(_alone("psum", axis_name))


def _lanes_joined(x: Any, axis_name: Any) -> Any:
    raise BadBatch(_alone("all_gather", axis_name))


def axis_index(axis_name: str) -> int:
    """Return the number of the sample, in a function under ``vmap(..., axis_name=...)``.

    Args:
        axis_name: the name of the samples' axis.

    Raises:
        BadInput: no ``vmap`` around the call has this name, or its function cannot be compiled.

    >>> from morula import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(np.array([5.0, 6.0, 7.0]))
    array([ 0.,  6., 14.])
    """
    raise BadBatch(_alone("axis_index", axis_name))


def _alone(function: str, axis_name: Any) -> str:
    return f"{without_axis(function, axis_name)}, or the function under vmap cannot be compiled: vmap(f).explain(*args) says why"


def _each(x: Any, f: Callable[[Any], Any]) -> Any:
    """Return a structure with ``f`` of each number and array in their places."""
    return tree.rebuild(x, lambda path, leaf: f(leaf), is_leaf=is_number)


always_traces(_lane_sum)(trace_sum)
always_traces(_lanes_joined)(trace_joined)
always_traces(axis_index)(trace_index)


def psum(x: Any, axis_name: str) -> Any:
    """Return the sum of x over all samples of a batch, in a function under ``vmap(..., axis_name=...)``.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis.

    Raises:
        BadInput: no ``vmap`` around the call has this name; samples reach the call in a branch or loop that not all of them take; or the
            function cannot be compiled.

    >>> from morula import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _each(x, lambda leaf: _lane_sum(leaf, axis_name))


def pmean(x: Any, axis_name: str) -> Any:
    """Return the mean of x over all samples of a batch.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis, as given to ``vmap``.

    Raises:
        BadInput: as for ``psum``.

    >>> from morula import vmap
    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    count = _lane_sum(1.0, axis_name)
    return _each(x, lambda leaf: _lane_sum(leaf, axis_name) / count)


def pmax(x: Any, axis_name: str) -> Any:
    """Return the greatest x of all samples of a batch, element by element.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis, as given to ``vmap``.

    Raises:
        BadInput: as for ``psum``.

    >>> from morula import vmap
    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0.25, 1.  ])
    """
    return _each(x, lambda leaf: np.max(_lanes_joined(leaf, axis_name), axis=0))


def pmin(x: Any, axis_name: str) -> Any:
    """Return the least x of all samples of a batch, element by element.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis, as given to ``vmap``.

    Raises:
        BadInput: as for ``psum``.

    >>> from morula import vmap
    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0., 3.])
    """
    return _each(x, lambda leaf: np.min(_lanes_joined(leaf, axis_name), axis=0))


def all_gather(x: Any, axis_name: str) -> Any:
    """Return the x of all samples of a batch along a new first axis.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis, as given to ``vmap``.

    Raises:
        BadInput: as for ``psum``.

    >>> from morula import vmap
    >>> vmap(lambda x: np.sort(all_gather(x, "i")), axis_name="i")(np.array([2.0, 1.0]))
    array([[1., 2.],
           [1., 2.]])
    """
    return _each(x, lambda leaf: _lanes_joined(leaf, axis_name))
