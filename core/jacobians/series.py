"""Taylor mode: truncated Taylor series of Python functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..eager.recorded.tape import Tape
from ..eager.taylor.run import run_taylor
from ..errors import BadInput
from ..faults import prune
from ..rules.registry import HANDLERS
from ..source.requirements import check_function
from ..values import tree
from ..values.numbers import call_on
from ..values.tangents import has_tangent

__all__ = ["derivatives", "taylor"]

Function = Callable[..., Any]
Run = Callable[[Function, tuple[Any, ...], list[tuple[Any, ...]]], list[Any]]


def taylor(f: Function, x: Any, order: int, series: Any = None) -> list[Any]:
    """Return the coefficients of the truncated Taylor series of ``f(x + t)`` in t, or of f along any path.

    One run of ``f`` computes them, at a cost that is quadratic in the order for each operation; nested derivatives would cost
    exponentially more. A coefficient is a derivative divided by a factorial: see ``derivatives``.

    Args:
        f: any Python function or callable object; its source is differentiated.
        x: the argument of ``f``: a number, an array, or a list, dict or object of these; a tuple holds several positional
            arguments, as for ``jvp``.
        order: the highest power of t, an int that is not negative.
        series: the coefficients of t, t^2, ... of the path of ``x``, a list of at most ``order`` values in the structure of x;
            None, for a coefficient or anywhere inside one, means zero. For a tuple of arguments, a tuple with one such list, or
            None, for each. By default ``[1]``, also for each entry of an array: the path is x + t.

    Returns:
        A list of ``order + 1`` coefficients, each in the structure of the result; the first is ``f(x)``. The others are zero for
        numbers and arrays that do not vary, and None for what has no derivative, such as strings and arrays of integers.

    Raises:
        BadInput: ``f`` is not callable or its source cannot be read; the order is not an int or is negative; the series does
            not fit the argument, or has more coefficients than the order.
        NoDerivative: the result depends on a call of which no series can be derived.

    Sources: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, SIAM 2008, chapter 13; J. Bettencourt,
    M. Johnson and D. Duvenaud, "Taylor-mode automatic differentiation for higher-order derivatives in JAX", 2019.

    >>> taylor(lambda x: 1 / (1 - x), 0.0, 4)
    [1.0, 1.0, 1.0, 1.0, 1.0]
    >>> taylor(lambda x, y: x * y, (2.0, 3.0), 2, ([1.0], [0.0, 1.0]))  # (2 + t) (3 + t^2)
    [6.0, 3.0, 2.0]
    """
    try:
        return along(lambda *call: _run(None, *call), f, x, order, series)
    except Exception as error:
        prune(error)
        raise


def derivatives(f: Function, x: Any, n: int) -> list[Any]:
    """Return ``[f(x), f'(x), ..., f^(n)(x)]``: the value and the first n derivatives of a function of one variable.

    Args:
        f: a Python function of a number, or of an array to which it applies element by element (each entry of its result
            depends on the same entry of x); its source is differentiated.
        x: a number or an array.
        n: the highest derivative, an int that is not negative.

    Returns:
        A list of n + 1 entries, each in the structure of the result.

    Raises:
        BadInput: ``f`` is not callable or its source cannot be read; x is neither a number nor an array; n is not an int or is
            negative.
        NoDerivative: the result depends on a call of which no series can be derived.

    Source: ``taylor``, whose coefficient k is multiplied by k!.

    >>> derivatives(lambda x: x**3, 2.0, 4)
    [8.0, 12.0, 12.0, 6.0, 0.0]
    """
    if not has_tangent(x) and not hasattr(x, "dtype"):
        raise BadInput(
            f"derivatives takes a number or an array, not a {type(x).__name__}; use taylor for other arguments"
        )
    return [c if k < 2 else times(c, math.factorial(k)) for k, c in enumerate(taylor(f, x, n))]


def times(c: Any, factor: float) -> Any:
    return tree.rebuild(c, lambda _, e: e * factor, is_leaf=has_tangent, constant=lambda *_: None)


def _run(tape: Tape | None, *call: Any) -> list[Any]:
    import_module("..compilation.transformed_calls", __package__)  # traces single calls; imported on first use
    f, primals, coefficients = call
    return run_taylor(tape, *call) if coefficients else [call_on(tape, f, *primals)]


def along(run: Run, f: Function, x: Any, order: int, series: Any) -> list[Any]:
    """Check the arguments of ``taylor``, and run it: ``run(f, primals, coefficients of t, t^2, ...)``."""
    check_function(f)
    try:
        n = -1 if isinstance(order, bool) else operator.index(order)
    except TypeError:
        n = -1
    if n < 0:
        given = (
            repr(order) if isinstance(order, (int, float, str, np.generic)) else "a number that the program computes"
        )
        raise BadInput(f"the order of a Taylor series is an int that is not negative, not {given}")
    primals = x if type(x) is tuple else (x,)
    if series is None:
        if type(x) is tuple or not has_tangent(x) and not hasattr(x, "dtype"):
            raise BadInput(
                f"taylor of {'several arguments' if type(x) is tuple else f'a {type(x).__name__}'} needs the series of the path: "
                "pass the coefficients of t, t^2, ... as series"
            )
        each: Sequence[Any] = ([np.ones_like(x) if np.shape(x) else 1.0],)
    else:
        each = series if type(x) is tuple else (series,)
    if not isinstance(each, (tuple, list)) or len(each) != len(primals):
        raise BadInput(
            f"taylor was given {len(primals)} arguments in a tuple, so series must be a tuple with a list of coefficients, or None, "
            "for each of them"
        )
    for s in each:
        if s is not None and not isinstance(s, (list, tuple)):
            raise BadInput(
                f"the series of an argument is a list of the coefficients of t, t^2, ..., not a {type(s).__name__}; for a "
                "direction v, pass [v]"
            )
        if s is not None and len(s) > n > 0:
            raise BadInput(f"the series has {len(s)} coefficients after the argument itself, but the order is {n}")
    coefficients = [tuple(None if s is None or k >= len(s) else s[k] for s in each) for k in range(n)]
    return run(f, primals, coefficients)


def _taylor(tape: Tape, f: Function, x: Any, order: int, series: Any = None) -> list[Any]:
    return along(lambda *call: _run(tape, *call), f, x, order, series)


HANDLERS[taylor] = _taylor
