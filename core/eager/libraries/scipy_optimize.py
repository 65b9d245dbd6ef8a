"""SciPy's root finders and minimisers whose iteration runs in C, or whose iteration has the wrong derivative.

A minimiser that only compares function values ends at a point that the comparisons have chosen.  Along the path that
ran, this point does not depend on the function, although the minimum does.  So these minimisers, like those in C, are
differentiated by the implicit function theorem, as roots of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from scipy.optimize import _minpack, _optimize, _zeros  # type: ignore[attr-defined]
from scipy.optimize._linprog_highs import _highs_wrapper

from ...errors import NoDerivative
from ...rules.connected import connected
from ...rules.registry import Handler, handles
from ...values.numbers import NO_KEYWORDS
from ..arrays.implicit import Watched, root, solution
from ..recorded.access import getitem
from ..recorded.call import call
from ..recorded.custom import distinct
from ..recorded.tape import Tape
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import Recording, call_opaque

Function = Callable[..., Any]


def _bracketing(solver: Any) -> Handler:
    def handler(
        tape: Tape, f: Any, a: Any, b: Any, xtol: Any, rtol: Any, maxiter: int, args: Any, full_output: Any, disp: Any
    ) -> Any:
        watched = Watched(tape, f)
        x, calls, iterations, failed = solver(watched, a, b, xtol, rtol, maxiter, args, True, disp)
        if failed:
            note(tape, x, solver, (f, args))
        else:
            x = root(tape, x, watched, *args)
        return (x, calls, iterations, failed) if full_output else x

    return handler


for _solver in (_zeros._bisect, _zeros._brenth, _zeros._brentq, _zeros._ridder):
    handles(_solver)(_bracketing(_solver))


def half_square_slope(x: Any, f: Function, args: tuple[Any, ...]) -> Any:
    """Return the gradient of |f|²/2, which is zero at a least-squares solution."""
    y, back = connected.pullback(lambda x: np.asarray(f(x, *args)), x)
    return back(y)[0]


def _minpack_solver(solver: Any, has_jacobian: bool, squares: bool) -> Handler:
    def handler(tape: Tape, f: Any, *given: Any) -> Any:
        watched = Watched(tape, f)
        x0, args = given[1:3] if has_jacobian else given[:2]
        jacobian = (Watched(tape, given[0]),) if has_jacobian else ()
        # MINPACK writes the solution into the start vector, so it gets a copy.
        x, *rest = solver(watched, *jacobian, np.array(x0, float), *given[len(jacobian) + 1 :])
        if rest[-1] not in ((1, 2, 3, 4) if squares else (1, 3)):
            note(tape, x, solver, (f, x0, args))
        elif squares:
            # Evaluate elsewhere first: a function that caches its last value would return it for an equal x, although
            # the new x is another object on the tape.
            call(tape, f, np.array(x0, float), *args)
            x = solution(tape, x, half_square_slope, f, args)
        else:
            x = root(tape, x, watched, *args)
        for report in rest:
            if isinstance(report, dict):
                note(tape, tuple(report.values()), solver, (f, x0, args))
        return (x, *rest)

    return handler


for _solver, _has_jacobian, _squares in (
    *((_minpack._hybrd, False, False), (_minpack._hybrj, True, False)),
    *((_minpack._lmdif, False, True), (_minpack._lmder, True, True)),
):
    handles(_solver)(_minpack_solver(_solver, _has_jacobian, _squares))


def limits(bounds: Any, n: int) -> list[tuple[Any, Any]]:
    """Return the lower and upper bound of each variable, None where there is none."""
    if bounds is None:
        return [(None, None)] * n
    if hasattr(bounds, "lb"):
        return list(zip(np.broadcast_to(bounds.lb, n), np.broadcast_to(bounds.ub, n)))
    return list(bounds)


def stationarity(x: Any, f: Function, args: tuple[Any, ...], held: list[Any]) -> Any:
    """Return the residual of a minimum: the gradient for free variables, the distance to the bound for held ones."""
    slope = connected.pullback(lambda x: np.sum(f(x, *args)), x)[1](1.0)[0]
    if np.ndim(x) == 0:
        return slope
    return [slope[i] if bound is None else x[i] - bound for i, bound in enumerate(held)]


def kept(x: Any, constraints: list[dict[str, Any]]) -> Any:
    """Return the values of all constraint functions, which are zero or nonnegative where the constraints hold."""
    return np.concatenate([np.atleast_1d(c["fun"](x, *c.get("args", ()))) for c in constraints])


def optimality(
    z: Any, f: Function, args: tuple[Any, ...], held: list[Any], constraints: list[dict[str, Any]], active: list[int]
) -> Any:
    """Return the residual of the Karush-Kuhn-Tucker equations for x and the multipliers of the active constraints.

    J. Nocedal and S. J. Wright, "Numerical Optimization", 2006, equation 12.34.
    """
    x, multipliers = z[: len(held)], z[len(held) :]

    def lagrangian(x: Any) -> Any:
        return np.sum(f(x, *args)) - np.sum(multipliers * kept(x, constraints)[active])

    slope = connected.pullback(lagrangian, x)[1](1.0)[0]
    free = [slope[i] if bound is None else x[i] - bound for i, bound in enumerate(held)]
    return np.concatenate([np.array(free), kept(x, constraints)[active]])


def multipliers_at(
    x: Any, f: Function, args: tuple[Any, ...], held: list[Any], constraints: list[dict[str, Any]]
) -> tuple[list[Any], list[int], Any]:
    """Return the active bound of each variable, the active entries of the constraints, and their multipliers.

    Where a constraint and a bound coincide, the constraint determines the variable and its bound is dropped.
    """
    values = kept(x, constraints)
    sizes = [np.size(c["fun"](x, *c.get("args", ()))) for c in constraints]
    equal = np.repeat([c["type"].lower() == "eq" for c in constraints], sizes)
    active = np.flatnonzero(equal | (values <= 1e-6)).tolist()
    back = connected.pullback(lambda x: kept(x, constraints)[active], x)[1]
    rows = np.reshape([back(unit)[0] for unit in np.eye(len(active))], (len(active), len(held)))
    bound_only = [row for row in rows if not any(row[i] for i, bound in enumerate(held) if bound is None)]
    held = [None if any(row[i] for row in bound_only) else bound for i, bound in enumerate(held)]
    free = [i for i, bound in enumerate(held) if bound is None]
    slope = connected.pullback(lambda x: np.sum(f(x, *args)), x)[1](1.0)[0]
    return held, active, np.linalg.lstsq(rows[:, free].T, slope[free])[0]


def value_of(f: Function) -> Function:
    """Return the value part of an objective that also returns its gradient."""
    return lambda x, *args: f(x, *args)[0]


def _minimiser(solver: Any) -> Handler:
    parameters = signature(solver)

    def handler(tape: Tape, *args: Any, **kwargs: Any) -> Any:
        given = parameters.bind(*args, **kwargs).arguments
        f = args[0]
        # MemoizeJac caches the last value, and would return it for an equal x that is another object on the tape.
        f = value_of(f.fun) if isinstance(f, _optimize.MemoizeJac) else f
        recording = [Recording(tape, a) if callable(a) and not isinstance(a, type) else a for a in args]
        result = solver(*recording, **{k: Recording(tape, v) if callable(v) else v for k, v in kwargs.items()})
        fixed = given.get("args", ())
        fixed = fixed if isinstance(fixed, tuple) else (fixed,)
        inputs = (args, tuple(kwargs.values()))
        # Make new objects: values returned by the objective in an iteration carry derivatives that ignore x.
        result.update({k: distinct(v) for k, v in result.items() if k != "x"})
        note(tape, tuple(v for k, v in result.items() if k not in ("x", "fun")), solver, inputs)
        constraints = given.get("constraints", ())
        followed = all(isinstance(c, dict) for c in constraints) if isinstance(constraints, (list, tuple)) else False
        if not result.get("success", True) or not followed or given.get("integrality") is not None:
            note(tape, (result.x, result.fun), solver, inputs)
            return result
        x = result.x
        # An active bound determines its variable.
        bounds = limits(given.get("bounds"), np.size(x))
        held = [next((b for b in pair if b is not None and b == at), None) for pair, at in zip(bounds, np.ravel(x))]
        first = len(tape.records)
        try:
            if constraints:
                held, active, multipliers = multipliers_at(x, f, fixed, held, list(constraints))
                z = np.concatenate([x, multipliers])
                z = solution(tape, z, optimality, f, fixed, held, list(constraints), active)
                solved = getitem(tape, z, slice(len(held)))
            else:
                solved = solution(tape, x, stationarity, f, fixed, held)
            least = call(tape, f, solved, *fixed)
        except NoDerivative:  # refused only if a cotangent reaches the result and it depends on an input
            del tape.records[first:]
            note(tape, (x, result.fun), solver, inputs)
            return result
        result["x"], result["fun"] = solved, least
        return result

    return handler


for _module, _name in (
    *(("_lbfgsb_py", "_minimize_lbfgsb"), ("_tnc", "_minimize_tnc"), ("_slsqp_py", "_minimize_slsqp")),
    *(("_optimize", "_minimize_neldermead"), ("_cobyla_py", "_minimize_cobyla")),
    *(("_trustregion_krylov", "_minimize_trust_krylov"), ("_optimize", "_minimize_scalar_golden")),
    *(("_differentialevolution", "differential_evolution"), ("_dual_annealing", "dual_annealing")),
):
    _solver = getattr(import_module(f"scipy.optimize.{_module}"), _name)
    handles(_solver)(_minimiser(_solver))


@handles(_highs_wrapper)
def linear_program(tape: Tape, *args: Any) -> Any:
    """Call HiGHS as opaque code: it keeps its problem in C objects that share parts and cannot be followed."""
    return call_opaque(tape, _highs_wrapper, args, NO_KEYWORDS)
