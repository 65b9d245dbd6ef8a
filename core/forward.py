"""Forward mode: tangents of Python functions, and linear maps made of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .api import pullback
from .eager.forward.run import run_forward
from .eager.recorded.tape import Tape
from .faults import prune
from .rules.registry import HANDLERS
from .source.requirements import check_function
from .values import tree
from .values.tangents import as_arguments, check, has_tangent, once, paired

__all__ = ["jvp", "linearize"]

Function = Callable[..., Any]


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the value of ``f(*primals)`` and its derivative along ``tangents`` (Jacobian-vector product), by forward mode.

    The tangents are computed while ``f`` runs, so memory does not grow with the run.

    Args:
        f: any Python function or callable object; its source is differentiated.
        primals: a tuple with one entry for each positional argument: numbers, arrays, and lists, tuples, dicts or objects
            of these.
        tangents: a tuple with one tangent for each argument, in its structure; None, anywhere, where nothing varies.

    Returns:
        ``(y, dy)``, with dy in the structure of y: zero where y does not vary, None for what has no derivative, such as
        strings and arrays of integers.

    Raises:
        BadInput: ``f`` is not callable or its source cannot be read; the tangents do not fit the primals.
        NoDerivative: the result depends on a call that has neither rule nor source.

    >>> jvp(lambda a, b: a * b, (3.0, 4.0), (1.0, 10.0))
    (12.0, 34.0)
    >>> jvp(lambda p: {"area": p["r"] ** 2 * np.pi}, ({"r": 1.0, "name": "disc"},), ({"r": 0.5},))[1]
    {'area': 3.141592653589793}
    """
    check_function(f)
    try:
        return run_forward(None, f, *as_arguments(primals, tangents), {})
    except Exception as error:
        prune(error)
        raise


def _jvp(tape: Tape, f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    check_function(f)
    return run_forward(tape, f, *as_arguments(primals, tangents), {})


HANDLERS[jvp] = _jvp


def linearize(f: Function, *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of ``f(*primals)`` and the linear map of tangents at that point.

    ``f`` runs once, and each call of the map costs about as much as ``f``; for a single direction, ``jvp`` needs less memory.

    Args:
        f: any Python function or callable object; its source is differentiated.
        primals: numbers, arrays, and lists, tuples, dicts or objects of these, one for each positional argument.

    Returns:
        ``(y, push)``: ``push(*tangents)`` takes one tangent for each argument, in its structure, None where nothing varies,
        and returns the tangent of y.

    Raises:
        BadInput: ``f`` is not callable or its source cannot be read; the tangents do not fit the primals.
        NoDerivative: the result depends on a call that has neither rule nor source.

    >>> y, push = linearize(lambda x: x**3, 2.0)
    >>> y, push(1.0), push(2.0)
    (8.0, 12.0, 24.0)
    """
    y, back = pullback(f, *primals)
    transposed = pullback(back, ones_like(y))[1]  # a pullback is linear, and its pullback maps tangents

    def push(*tangents: Any) -> Any:
        pairs = paired(*as_arguments(primals, tangents))
        for path, x, dx in once(pairs):
            if dx is not None:
                check(path, np.asarray(x), np.asarray(dx).dtype, np.shape(dx))
        return transposed(filled(primals, tangents))[0]

    return y, push


def ones_like(y: Any) -> Any:
    """Return ones in the structure of a result, None for what has no derivative."""

    def one(_: Any, e: Any) -> Any:
        return np.ones_like(e) if isinstance(e, np.ndarray) else e * 0 + 1

    return tree.rebuild(y, one, is_leaf=has_tangent, constant=_nothing)


def filled(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tangents with zeros in place of None, and None for what has no derivative."""
    return tree.rebuild(
        primals,
        lambda _, x, dx: np.zeros_like(x) if dx is None else dx,
        tangents,
        is_leaf=has_tangent,
        constant=_nothing,
        is_lenient=True,
        names=("primals", "tangents"),
    )


def _nothing(*_: Any) -> None:
    return None
