"""The compiled programs of a sparse derivative, as functions of ``x``, directions, and the call's other arguments.

``args`` holds the positional arguments, with None in the place of x. The function gets a copy of x, which it may change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...api import grad, pullback
from ...forward import jvp
from ..batching import vmap

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
