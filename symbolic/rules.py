"""``rule``: the derivative of a function, from an expression of its value or of its partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from morula.core import BadInput, adjoint, tangent

from .functions import function, required_sympy


def rule(
    f: Callable[..., Any],
    expr: Any = None,
    args: Any = (),
    *,
    partials: Sequence[Any] | None = None,
    result: Any = None,
) -> Callable[..., Any]:
    """Give a function that acts element by element the derivative that an expression says.

    ``f`` still computes the value; so it may be a function of a library in C, or a better program than the expression.
    Compiled programs compute the expression of the value where ``f`` cannot be compiled.

    Args:
        f: a function of numbers and arrays, which broadcast.
        expr: the expression of its value, which SymPy differentiates.
        args: the symbols of its positional arguments, in order.
        partials: instead of ``expr``, the expressions of the partial derivatives, one for each argument; ``nan`` where none
            is known.
        result: the symbol of the result of ``f`` in ``partials``.

    Returns:
        ``f``.

    Raises:
        BadInput: SymPy is not installed, ``f`` is not callable, not exactly one of ``expr`` and ``partials`` is given, their
            number is not that of ``args``, or an expression cannot be printed or contains another symbol.

    >>> import sympy as sp
    >>> from morula.core import grad
    >>> x = sp.Symbol("x")
    >>> def softplus(x):
    ...     return np.logaddexp(0, x)
    >>> rule(softplus, sp.log(1 + sp.exp(x)), (x,)) is softplus
    True
    >>> float(grad(softplus)(0.0))
    0.5
    """
    sp = required_sympy()
    if not callable(f):
        raise BadInput(f"symbolic.rule: the first argument must be a function, not {f!r}")
    symbols = [args] if isinstance(args, sp.Symbol) else list(args)
    if not symbols or not all(isinstance(s, sp.Symbol) for s in symbols):
        raise BadInput(f"symbolic.rule: args must be the symbols of the function's arguments, not {args!r}")
    if (expr is None) == (partials is None):
        raise BadInput("symbolic.rule: give either expr, the function's value, or partials=, its partial derivatives")
    if partials is not None and len(partials) != len(symbols):
        raise BadInput(f"symbolic.rule: {len(partials)} partial derivatives for {len(symbols)} arguments")
    given = [sp.diff(expr, s) for s in symbols] if partials is None else partials
    inside = symbols if result is None else [result, *symbols]
    slopes = [None if p == 0 else function(p, inside, f"partial_{i}") for i, p in enumerate(given)]
    value = f if expr is None or isinstance(f, FunctionType) else _Value(f, function(expr, symbols, "value"))

    def with_slopes(xs: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        if len(xs) != len(slopes):
            raise BadInput(f"symbolic.rule: {f!r} was called with {len(xs)} arguments; its rule is for {len(slopes)}")
        y = value(*xs)
        operands = xs if result is None else (y, *xs)
        return y, [None if p is None else p(*operands) for p in slopes]

    @adjoint(f)
    def _(*xs: Any) -> Any:
        y, found = with_slopes(xs)
        return y, lambda dy: tuple(
            [None if p is None else _summed(_times(dy, np.conj(p)), x) for p, x in zip(found, xs)]
        )

    @tangent(f)
    def _(*xs: Any) -> Any:
        y, found = with_slopes(xs)

        def push(*dxs: Any) -> Any:
            total = np.zeros_like(y)[()]
            for p, dx in zip(found, dxs):
                if p is not None and dx is not None:
                    total = total + _times(dx, p)
            return total

        return y, push

    return f


class _Value:
    """Calls a function, and in compiled programs the expression of its value."""

    def __init__(self, f: Callable[..., Any], expression: Callable[..., Any]) -> None:
        self.f, self.expression = f, expression

    def __call__(self, *xs: Any) -> Any:
        return self.f(*xs)

    def __morula_trace__(self, trace: Any, *xs: Any) -> Any:
        return trace.call(self.expression, *xs)


def _times(t: Any, slope: Any) -> Any:
    """Return the product; zero where ``t`` is zero, whatever the slope."""
    return np.where(t == 0, 0.0, t * slope)[()]


def _summed(g: Any, x: Any) -> Any:
    """Return a cotangent summed over the axes along which an argument was broadcast."""
    added = np.ndim(g) - np.ndim(x)
    if added:
        g = np.sum(g, axis=tuple(range(added)))
    repeated = tuple([i for i, n in enumerate(np.shape(x)) if n == 1 and np.shape(g)[i] != 1])
    return np.sum(g, axis=repeated, keepdims=True) if repeated else g
