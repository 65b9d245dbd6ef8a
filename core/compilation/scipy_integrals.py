"""QUADPACK's adaptive integrals in compiled programs: driven, with the derivative of the sum over the final intervals.

``core/eager/libraries/scipy_integrate.py`` describes the derivative, which is the same in eager code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import _quadpack  # type: ignore[attr-defined]
from scipy.integrate._quad_vec import _quadrature_gk15, _quadrature_gk21

from ..api import adjoint, nestlevel, stop_gradient
from ..errors import NoDerivative
from ..specialise.driven import again, drive, stands_for

Integrand = Callable[[Any], Any]
REPORT = ("neval", "last", "iord", "alist", "blist", "rlist", "elist")


def follows(y: Any, total: Any, has_derivative: Any) -> Any:
    """Return an integral with the derivative of ``total``, the sum over its intervals, if the two agree."""
    return y


@adjoint(follows)
def _follows_with_pullback(y: Any, total: Any, has_derivative: Any) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, Any, Any]:
        if not has_derivative or not np.isclose(total, y, rtol=1e-8, atol=1e-13):
            raise NoDerivative(
                "an integral by QUADPACK did not converge, or was extrapolated from several sums, so it has no derivative"
            )
        return None, dy, None

    return y, back


def run_of(solver: Any) -> Callable[..., tuple[Any, ...]]:
    """Return the function that runs an integrator: arguments before and after the two that are fixed."""

    def run(functions: Any, before: int, *given: Any) -> tuple[Any, ...]:
        ends = [x if isinstance(x, np.ndarray) and x.ndim else float(x) for x in given[:before]]
        if solver is _quadpack._qagie:
            ends[1] = int(ends[1])
        *accuracy, limit = given[before:]
        value, error, report, ier = solver(functions[0], *ends, (), 1, *map(float, accuracy), int(limit))
        return (value, error, *(report[name] for name in REPORT), ier)

    run.__name__ = solver.__name__.removeprefix("_")
    return run


def integrated(
    run: Any, f: Integrand, total: Callable[[Any, Any, Any], Any], full_output: Any, ends: Any, accuracy: Any
) -> Any:
    """Return what an integrator returns; ``total(last, lower, upper)`` is the sum over the intervals."""
    limit = accuracy[2]

    def results(y: Any) -> tuple[Any, ...]:
        lists = [np.zeros(limit) for _ in range(4)]
        return (0.0, 0.0, 0, 0, np.zeros(limit, np.int32), *lists, 0)

    value, error, *report, ier = drive(run, (f,), (0.0,), results, len(ends), *ends, *accuracy)
    if nestlevel():
        _, last, _, lower, upper, _, _ = report
        sum_of_all = again(total, last, stop_gradient(lower), stop_gradient(upper))
        value = follows(stop_gradient(value), sum_of_all, ier == 0)
    return (value, error, dict(zip(REPORT, report)), ier) if full_output else (value, error, ier)


def magnitude(x: Any) -> Any:
    return abs(x)


run_finite, run_infinite = map(run_of, (_quadpack._qagse, _quadpack._qagie))


def summed(rule: Any, integrand: Integrand, last: Any, lower: Any, upper: Any) -> Any:
    """Return the sum over the intervals of a quadrature rule."""
    found = 0.0
    for i in range(last):
        found += rule(lower[i], upper[i], integrand, magnitude)[0]
    return found


@stands_for(_quadpack._qagse)
def finite(f: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, *accuracy: Any) -> Any:
    a, b = float(a), float(b)
    start, width = stop_gradient(a), stop_gradient(b - a)

    def integrand(x: Any) -> Any:
        return float(f(x, *args))

    def moved(x: Any) -> Any:
        """Return the ends of the intervals as functions of a and b: they move in proportion."""
        return a + (b - a) * ((x - start) / width)

    def total(last: Any, lower: Any, upper: Any) -> Any:
        return summed(_quadrature_gk21, integrand, last, moved(lower), moved(upper))

    return integrated(run_finite, integrand, total, full_output, (a, b), accuracy)


@stands_for(_quadpack._qagie)
def infinite(f: Any, bound: Any, which: Any, args: Any = (), full_output: Any = 0, *accuracy: Any) -> Any:
    """``which``: 1 for an integral from the bound up, -1 for one up to the bound, 2 for the whole line."""
    bound = float(bound)

    def integrand(x: Any) -> Any:
        return float(f(x, *args))

    def mapped(t: Any) -> Any:
        """Return the integrand of the same integral from 0 to 1."""
        far = (1 - t) / t
        if which == 2:
            return (integrand(far) + integrand(-far)) / (t * t)
        return integrand(bound + which * far) / (t * t)

    def total(last: Any, lower: Any, upper: Any) -> Any:
        return summed(_quadrature_gk15, mapped, last, lower, upper)

    return integrated(run_infinite, integrand, total, full_output, (bound, which), accuracy)
