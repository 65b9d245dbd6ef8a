"""``root_scalar``: the front of all methods for one equation in one unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, constant, nestlevel, taylor
from ..implicit import ROOT, attached, underived
from ..loop import searched
from ..roots.finding import Root
from .brackets import BRACKETS
from .open_methods import ORDERS, OpenSearch

METHODS = (*BRACKETS, *ORDERS)


class ScalarEquation:
    """f at a number, with as many Taylor coefficients as the method needs."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], order: int) -> None:
        self.f, self.args, self.order = f, args, order

    def __call__(self, x: float) -> tuple[float, ...]:
        if self.order == 0:
            return (number(self.f(x, *self.args)),)
        return tuple(number(c) for c in taylor(lambda x: self.f(x, *self.args), x, self.order))


def number(value: Any) -> float:
    """Return what f has returned as a float."""
    if np.size(value) != 1 or np.iscomplexobj(value):
        kind = f"an array of shape {np.shape(value)}" if np.size(value) != 1 else "a complex number"
        raise BadInput(f"root_scalar: f returned {kind}, expected a real number; use root, or vmap for many equations")
    return float(np.reshape(value, ()))


def root_scalar(
    f: Callable[..., Any],
    *args: Any,
    bracket: Any = None,
    x0: Any = None,
    method: str = "auto",
    xtol: float = 2e-12,
    rtol: float = 4 * float(np.finfo(np.float64).eps),
    max_iterations: int = 100,
    callback: Callable[[Root], Any] | None = None,
    history: bool = False,
) -> Root:
    """Find a number ``x`` with ``f(x, *args) = 0``, from a bracket or from a guess.

    Args:
        f: ``f(x, *args)`` returns a real number.
        args: further arguments of ``f``.
        bracket: two numbers at which ``f`` has opposite signs.
        x0: a guess, for the methods that need no bracket.
        method: with a bracket ``"brent"`` (``"auto"``), ``"toms748"``, ``"itp"`` or ``"bisection"``; with a guess
            ``"newton"`` (``"auto"``), ``"halley"``, ``"householder"`` (order 3) or ``"secant"``. Derivatives come from the
            source of ``f``.
        xtol, rtol: converged when the bracket, or the step, is at most ``xtol + rtol * |x|``, or ``f`` is zero.
        max_iterations: the largest number of evaluations beyond the start.
        callback: called with the current ``Root`` after every iteration; the search stops when it returns a true value.
        history: record ``|f|`` and the measure of convergence at each iteration.

    Returns:
        A ``Root``. Inside a differentiated function, ``x`` is differentiable with respect to everything that ``f`` reads,
        by the implicit function theorem. ``vmap`` finds the roots of many equations.

    Raises:
        BadInput: neither or both of bracket and guess are given, ``f`` has the same sign at both ends, is not finite at the
            start, or does not return a real number, or the method does not fit.
        MorulaError: a derivative is taken of a root that was not found, or at which the slope is zero.

    Source: Brent (1973); Alefeld, Potra and Shi (1995); Oliveira and Takahashi (2020); Householder (1970).

    >>> round(root_scalar(lambda x: x**3 - 2.0, bracket=(0.0, 2.0)).x, 9)
    1.25992105
    >>> round(root_scalar(lambda x: x**3 - 2.0, x0=1.0, method="halley").x, 9)
    1.25992105
    """
    if not callable(f):
        raise BadInput(f"root_scalar(f): f is a {type(f).__name__}, expected a function of a number")
    if (bracket is None) == (x0 is None):
        raise BadInput("root_scalar: expected either a bracket or a guess x0")
    chosen = ("newton" if bracket is None else "brent") if method == "auto" else method
    if chosen not in METHODS:
        raise BadInput(f"root_scalar: no method {method!r}; there are {', '.join(map(repr, METHODS))}")
    if chosen in BRACKETS and bracket is None:
        raise BadInput(f"root_scalar: {chosen} needs a bracket, two numbers at which f has opposite signs")
    if chosen in ORDERS and x0 is None:
        raise BadInput(f"root_scalar: {chosen} starts from a guess, x0; for a bracket there are {', '.join(BRACKETS)}")
    if not (xtol >= 0 and rtol >= 0 and xtol + rtol > 0):
        raise BadInput(f"root_scalar: xtol is {xtol!r} and rtol {rtol!r}, expected one of them positive, none negative")
    found = _search(f, args, bracket, x0, chosen, xtol, rtol, max_iterations, callback, history)
    if nestlevel() == 0:
        return found
    x = attached(found.x, lambda x: np.reshape(f(x, *args), ()), found.code, "implicit", ROOT)
    return Root(
        x,
        found.iterations,
        found.evaluations,
        found.code,
        found.history,
        found.state,
        underived(found.residual, "the residual at a root"),
    )


@constant
def _search(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    bracket: Any,
    x0: Any,
    method: str,
    xtol: float,
    rtol: float,
    max_iterations: int,
    callback: Callable[[Root], Any] | None,
    history: bool,
) -> Root:
    problem = ScalarEquation(f, args, ORDERS.get(method, 0))
    if bracket is not None:
        if len(bracket) != 2:
            raise BadInput(f"root_scalar: bracket has {len(bracket)} entries, expected two numbers")
        a, b = float(bracket[0]), float(bracket[1])
        if not (math.isfinite(a) and math.isfinite(b)):
            raise BadInput("root_scalar: the bracket holds NaN or Inf, expected two numbers")
        search = BRACKETS[method].search(a, b, xtol, rtol)
    else:
        search = OpenSearch(float(x0), ORDERS[method], xtol, rtol)

    def found() -> Root:
        return Root(search.point, search.iterations, search.evaluations, search.code, None, None, search.residual)

    return searched(problem, search, found, max_iterations, callback, history, False, False)
