"""SciPy's root finders and least-squares solvers in C, in compiled programs: driven, with the derivative of the solution.

The solution is differentiated by the implicit function theorem, as in eager code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import _minpack, _zeros  # type: ignore[attr-defined]

from ..api import adjoint, nestlevel, pullback, stop_gradient
from ..errors import NoDerivative
from ..implicit import implicit
from ..specialise.driven import again, drive, stands_for

SIGN_ERROR = -1
"""The flag of ``_zeros`` where f(a) and f(b) have one sign."""
SAME_SIGN = "f(a) and f(b) must have different signs"


def solved(x: Any, residual: Callable[[Any], Any], is_found: Any) -> Any:
    """Return a solution with its derivative; it has none unless it ``is_found``."""
    return found(implicit(stop_gradient(x), lambda x: again(residual, x)), is_found) if nestlevel() else x


def found(x: Any, is_found: Any) -> Any:
    return x


@adjoint(found)
def _found_with_pullback(x: Any, is_found: Any) -> tuple[Any, Any]:
    def back(dx: Any) -> tuple[Any, None]:
        if not is_found:
            raise NoDerivative("a solver of SciPy has not found a solution, so its result has no derivative")
        return dx, None

    return x, back


# Brackets of one root


def _bracketing(solver: Any) -> Callable[..., Any]:
    def run(functions: Any, a: float, b: float, xtol: float, rtol: float, maxiter: int) -> tuple[Any, ...]:
        try:
            return solver(functions[0], float(a), float(b), float(xtol), float(rtol), int(maxiter), (), True, False)
        except ValueError as error:
            if str(error) != SAME_SIGN:
                raise
            return np.nan, 0, 0, SIGN_ERROR

    run.__name__ = solver.__name__.removeprefix("_")

    def program(
        f: Any,
        a: Any,
        b: Any,
        xtol: Any,
        rtol: Any,
        maxiter: Any,
        args: Any,
        full_output: Any = False,
        disp: Any = True,
    ) -> Any:
        def residual(x: Any) -> Any:
            return float(f(x, *args))

        results = lambda y: (0.0, 0, 0, 0)  # noqa: E731
        x, calls, iterations, flag = drive(run, (residual,), (0.0,), results, float(a), float(b), xtol, rtol, maxiter)
        if flag == SIGN_ERROR:
            raise ValueError(SAME_SIGN)
        if disp and flag != 0:
            raise RuntimeError(f"Failed to converge after {iterations} iterations.")
        x = solved(x, residual, flag == 0)
        return (x, calls, iterations, flag) if full_output else x

    return program


for _solver in (_zeros._bisect, _zeros._brenth, _zeros._brentq, _zeros._ridder):
    stands_for(_solver)(_bracketing(_solver))


# Systems of equations, and least squares


def half_square_slope(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of |f|²/2, which is zero at a least-squares solution."""
    y, back = pullback(f, x)
    return back(y)[0]


def _minpack_program(solver: Any, names: tuple[str, ...], has_jacobian: bool, squares: bool) -> Callable[..., Any]:
    """Return the program for a function of MINPACK; ``names``: the entries of its report."""

    def run(functions: Any, x0: Any, *options: Any) -> tuple[Any, ...]:
        x, report, info = solver(*functions, np.array(x0), (), 1, *options)
        return (x, *(report[name] for name in names), info)

    run.__name__ = solver.__name__.removeprefix("_")

    def solve(functions: Any, points: Any, full_output: Any, *options: Any) -> Any:
        n = len(points[0])

        def results(y: Any, *slopes: Any) -> tuple[Any, ...]:
            like = {"fvec": y, "r": np.zeros(n * (n + 1) // 2), "qtf": np.zeros(n), "nfev": 0, "njev": 0}
            like |= {"fjac": np.zeros((n, len(y))), "ipvt": np.zeros(n, np.int32)}
            return (np.zeros(n), *(like[name] for name in names), 0)

        x, *values, info = drive(run, functions, points, results, points[0], *options)
        f = functions[0]
        if squares:
            x = solved(x, lambda x: half_square_slope(f, x), 1 <= info and info <= 4)
        else:
            x = solved(x, f, info == 1 or info == 3)
        return (x, dict(zip(names, values)), info) if full_output else (x, info)

    def of(f: Any, args: Any) -> Callable[[Any], Any]:
        return lambda x: np.asarray(f(x, *args), float)

    def program(f: Any, x0: Any, args: Any = (), full_output: Any = 1, *options: Any) -> Any:
        start = np.array(x0, float)
        return solve((lambda x: np.ravel(of(f, args)(x)),), (start,), full_output, *options)

    def with_jacobian(
        f: Any, slopes: Any, x0: Any, args: Any = (), full_output: Any = 1, col_deriv: Any = 0, *options: Any
    ) -> Any:
        start = np.array(x0, float)
        functions = (lambda x: np.ravel(of(f, args)(x)), of(slopes, args))
        return solve(functions, (start, np.copy(start)), full_output, col_deriv, *options)

    return with_jacobian if has_jacobian else program


for _solver, _names, _has_jacobian, _squares in (
    (_minpack._hybrd, ("fvec", "nfev", "fjac", "r", "qtf"), False, False),
    (_minpack._hybrj, ("fvec", "nfev", "njev", "fjac", "r", "qtf"), True, False),
    (_minpack._lmdif, ("fvec", "nfev", "fjac", "ipvt", "qtf"), False, True),
    (_minpack._lmder, ("fvec", "nfev", "njev", "fjac", "ipvt", "qtf"), True, True),
):
    stands_for(_solver)(_minpack_program(_solver, _names, _has_jacobian, _squares))
