"""The compiled programs of a sparse derivative, as functions of ``x``, directions, and the call's other arguments.

``args`` holds the positional arguments, with None in the place of x. The function gets a copy of x, which it may change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...api import grad, pullback
from ...forward import jvp
from ...values import tree
from ..batching import vmap
from .plans import in_order

Function = Callable[..., Any]


def tangent_of(f: Function, position: int) -> Function:
    """Return the function ``(x, dx, args, kwargs) -> dy``; its result is None if y is not a number or array of real floats."""

    def tangent(x: Any, dx: Any, args: Any, kwargs: Any) -> Any:
        def of_x(x: Any) -> Any:
            return f(*args[:position], np.array(x), *args[position + 1 :], **kwargs)

        y, dy = jvp(of_x, (x,), (dx,))
        return dy if isinstance(y, (np.ndarray, np.generic, float)) else None

    return tangent


def columns_of(f: Function, position: int) -> Function:
    """Return the function ``(x, seeds, args, kwargs)`` that gives J dx for each direction dx in ``seeds``, along a first axis."""

    def columns(x: Any, seeds: Any, args: Any, kwargs: Any) -> Any:
        def of_x(x: Any) -> Any:
            return f(*args[:position], np.array(x), *args[position + 1 :], **kwargs)

        return vmap(lambda dx: jvp(of_x, (x,), (dx,))[1])(seeds)

    return columns


def rows_of(f: Function, position: int) -> Function:
    """Return the function ``(x, seeds, args, kwargs)`` that gives J' dy for each cotangent dy in ``seeds``, along a first axis."""

    def rows(x: Any, seeds: Any, args: Any, kwargs: Any) -> Any:
        def of_x(x: Any) -> Any:
            return f(*args[:position], np.array(x), *args[position + 1 :], **kwargs)

        return vmap(pullback(of_x, x)[1])(seeds)[0]

    return rows


def products_of(f: Function, position: int) -> Function:
    """Return the function ``(x, seeds, args, kwargs)`` that gives H dx for each direction dx in ``seeds``, along a first axis."""

    def products(x: Any, seeds: Any, args: Any, kwargs: Any) -> Any:
        def of_x(x: Any) -> Any:
            return f(*args[:position], np.array(x), *args[position + 1 :], **kwargs)

        return vmap(lambda dx: jvp(grad(of_x), (x,), (dx,))[1])(seeds)

    return products


def entries_of(f: Function, position: int, makes: Sequence[Function]) -> Function:
    """Return the function ``(x, seeds, places, args, kwargs)`` that gives the entries of a matrix from its compressed columns and rows.

    ``makes`` are those of the functions above that compute these, and ``seeds`` the directions of each.
    """
    compressed = [make(f, position) for make in makes]

    def entries(x: Any, seeds: Any, places: Any, args: Any, kwargs: Any) -> Any:
        return in_order([made(x, s, args, kwargs) for made, s in zip(compressed, seeds)], places)

    return entries


def vector_of(x: Any) -> Any:
    """Return the numbers in a structure as one vector, in the order of ``tree.leaves``."""
    return np.concatenate([np.array(np.ravel(e)) for e in tree.leaves(x)])


def zeros_of(x: Any) -> Any:
    """Return a structure with the constants of another one, whose numbers are no variables."""
    return tree.map_leaves(lambda e: np.zeros(e.shape, e.dtype) if isinstance(e, np.ndarray) else 0.0, x)


def structure_of(vector: Any, like: Any) -> Any:
    """Return a structure like another one, with the numbers of a vector."""
    leaves = tree.leaves(like)
    sizes = [np.size(e) for e in leaves]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = [vector[start : start + n] for start, n in zip(starts, sizes)]
    return tree.with_leaves(
        like,
        [
            np.array(np.reshape(part, e.shape), e.dtype) if isinstance(e, np.ndarray) else part[0]
            for part, e in zip(parts, leaves)
        ],
    )


def of_vectors(f: Function, position: int, is_hessian: bool) -> Function:
    """Return a function of structures as one of vectors.

    Its last argument is a structure like the argument at ``position``, for the constants in it; None if that is an array.
    """

    @functools.wraps(f, ("__name__", "__qualname__", "__doc__"))
    def flat(*args: Any, **kwargs: Any) -> Any:
        x, like = args[position], args[-1]
        if like is not None:
            x = structure_of(x, like)
        y = f(*args[:position], x, *args[position + 1 : -1], **kwargs)
        if is_hessian or isinstance(y, (np.ndarray, np.generic, int, float, complex)):
            return y
        return vector_of(y) if len(tree.leaves(y)) else None

    return flat
