"""``constant`` stops derivatives through a function; ``implicit`` differentiates the solution of an equation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .api import adjoint, nestlevel, pullback, stop_gradient, tangent
from .eager.recorded.custom import taylor_order
from .errors import BadInput, MorulaError, NoDerivative
from .forward import jvp
from .jacobians.functions import jacobian
from .rules.registry import HELD, key_of
from .source.requirements import check_function
from .values import tree

Made = TypeVar("Made", bound=Callable[..., Any])
Solve = Callable[[Callable[[Any], Any], Any], Any]


def constant(f: Made) -> Made:
    """Return ``f`` with its result held constant: no cotangent reaches its arguments or captured variables.

    Use it for code whose result only controls the computation: step sizes, or the search for a solution that
    ``implicit`` then differentiates.  It applies at every level of nested derivatives.

    Args:
        f: any function; it is not changed.

    Returns:
        A function with the same arguments and results.

    Raises:
        BadInput: ``f`` is not callable.

    >>> from morula.core import grad
    >>> rounded = constant(lambda x: round(x, 1))
    >>> grad(lambda x: x * rounded(x))(1.234)
    1.2
    """
    check_function(f)

    def held(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    @adjoint(held)
    def _(*args: Any, **kwargs: Any) -> Any:
        return held(*args, **kwargs), lambda dy: (None,) * len(args)

    HELD.add(key_of(held))
    return functools.wraps(f)(held)  # type: ignore[return-value]


def implicit(
    x: Any,
    residual: Callable[[Any], Any],
    solve: Solve | tuple[Solve, Solve] | None = None,
    needs_product: bool = True,
) -> Any:
    """Return ``x``, a solution of ``residual(x) = 0``, as a differentiable function of the variables of ``residual``.

    By the implicit function theorem a change dr of the residual at fixed x changes the solution by -J^-1 dr, with J the
    Jacobian of the residual.  How x was found does not matter, and is not differentiated.  Derivatives may be nested.

    Args:
        x: the solution: a number, an array, or a structure of them (``morula.tree``).
        residual: a function of x alone that returns x's structure; its other variables come from its closure.
        solve: ``solve(pull, dx)`` returns the vector u with ``pull(u) = dx``, where ``pull(u)`` is the product of the
            transposed Jacobian with u (in forward mode, of the Jacobian itself); by default the Jacobian is computed and
            factorised.  Pass an iterative method for large systems, or a pair of them, for reverse and for forward mode,
            if they differ.
        needs_product: False for a ``solve`` that does not call ``pull``; eager reverse mode then spares recording the residual
            for it.

    Returns:
        A copy of ``x``; outside of derivatives ``residual`` is not called.

    Raises:
        BadInput: ``residual`` or ``solve`` is not callable, or the residual and x differ in their number of entries.
        MorulaError: a cotangent arrives, and the Jacobian is singular.

    Source: Griewank and Walther (2008), section 15.1; Blondel et al. (2022).

    >>> from morula.core import grad
    >>> def root(a):
    ...     x = constant(lambda a: a**0.5)(a)
    ...     return implicit(x, lambda x: x * x - a)
    >>> grad(root)(4.0), grad(grad(root))(4.0)
    (0.25, -0.03125)
    """
    check_function(residual)
    solves = () if solve is None else solve if isinstance(solve, tuple) else (solve, solve)
    for given in solves:
        check_function(given)
    vector, restore = tree.flatten(x)
    if nestlevel() == 0:
        return restore(vector)

    def residuals(v: np.ndarray) -> np.ndarray:
        r = tree.flatten(residual(restore(v)))[0]
        if r.shape != v.shape:
            raise BadInput(f"implicit: the residual has {r.size} entries and x has {v.size}; expected equal numbers")
        return r

    by = _by(solves[0], solves[1], residuals, needs_product) if solves else _dense(residuals)
    return restore(_attached(vector, residuals, by))


def _attached(x: np.ndarray, residuals: Callable[[Any], Any], solve: Callable[[Any, Any], Any]) -> np.ndarray:
    if nestlevel() == 0:
        return x
    x = _settled(x, residuals, solve)
    order = taylor_order()
    if order:
        return _with_series(x, residuals, solve, order)
    return _moved(x, residuals(x), residuals, solve)


def _with_series(x: np.ndarray, residuals: Callable[[Any], Any], solve: Callable[..., Any], order: int) -> np.ndarray:
    """Return ``x`` with its Taylor series, by steps of Newton's method from a constant: each doubles their length."""
    for _ in range(order.bit_length()):
        step = solve(x, residuals(x), True)
        x = x - (step - stop_gradient(step))  # the value stays as it is
    return x


def _settled(x: np.ndarray, residuals: Callable[[Any], Any], solve: Callable[[Any, Any], Any]) -> np.ndarray:
    """Return ``x`` as a constant of the innermost derivative, and as the solution for the enclosing derivatives."""
    return np.copy(x)


@adjoint(_settled)
def _settled_with_pullback(x: Any, residuals: Any, solve: Any) -> tuple[Any, Any]:
    return _attached(x, residuals, solve), lambda dx: (None, None, None)


def _moved(
    x: np.ndarray, r: np.ndarray, residuals: Callable[[Any], Any], solve: Callable[[Any, Any], Any]
) -> np.ndarray:
    """Return ``x``, made to depend on its residual ``r``, which is zero."""
    return np.copy(x)


@adjoint(_moved)
def _moved_with_pullback(x: Any, r: Any, residuals: Any, solve: Any) -> tuple[Any, Any]:
    return np.copy(x), lambda dx: (None, -solve(x, dx), None, None)


@tangent(_moved)
def _moved_with_tangent(x: Any, r: Any, residuals: Any, solve: Any) -> tuple[Any, Any]:
    return np.copy(x), lambda dx, dr, *others: -solve(x, dr, True)


def _dense(residuals: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def solve(x: np.ndarray, dx: np.ndarray, is_forward: bool = False) -> np.ndarray:
        slopes = jacobian(residuals)(x)
        if not np.linalg.cond(slopes) < 1.0 / np.finfo(slopes.dtype).eps:
            raise MorulaError(
                "implicit: the Jacobian of the residual is singular at x, so the solution is not unique or not differentiable "
                "there; check that the residual has an isolated root at x"
            )
        return np.linalg.solve(slopes if is_forward else slopes.T, dx)

    return solve


def _by(
    backward: Solve, forward: Solve, residuals: Callable[[Any], Any], needs_product: bool
) -> Callable[[Any, Any], Any]:
    def solve(x: np.ndarray, dx: np.ndarray, is_forward: bool = False) -> np.ndarray:
        if taylor_order():
            raise NoDerivative(
                "implicit: the given solve does not know when the coefficients of a Taylor series have converged; leave it out"
            )
        if is_forward:
            return forward(lambda u: jvp(residuals, (x,), (u,))[1], dx)
        if not needs_product:
            return backward(_no_product, dx)
        back = pullback(residuals, x)[1]
        return backward(lambda u: back(u)[0], dx)

    return solve


def _no_product(u: np.ndarray) -> np.ndarray:
    raise BadInput("implicit: solve called pull, but needs_product is False; leave needs_product out")
