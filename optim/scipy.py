"""The functions of ``scipy.optimize`` with SciPy's arguments and result fields, and with derivatives.

A program moves by changing one import: ``from morula.optim.scipy import minimize, least_squares, curve_fit, root, root_scalar,
fixed_point, linprog``. Derivatives that SciPy would approximate by differences are exact, so settings of difference formulas have
no effect; the methods are those of this package that are nearest to SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import BadInput
from .constrained.constraints import Constraint
from .least_squares import LevenbergMarquardt, curve_fit
from .least_squares.fitting import least_squares as fit
from .minimizing import minimize as minimum_of
from .programs import linear_program
from .results import AT_ROUNDING, CONVERGED, INFEASIBLE, MAX_ITERATIONS, UNBOUNDED
from .roots import fixed_point as fixed_point_of, root as root_of
from .scalar import root_scalar as root_scalar_of

__all__ = ["curve_fit", "fixed_point", "least_squares", "linprog", "minimize", "root", "root_scalar"]


def __dir__() -> list[str]:
    return sorted(__all__)


MINIMISERS = {
    "nelder-mead": "nelder-mead",
    "powell": "powell",
    "cg": "cg",
    "bfgs": "bfgs",
    "newton-cg": "newton-cg",
    "l-bfgs-b": "lbfgs",
    "tnc": "newton-cg",
    "cobyla": "sqp",
    "cobyqa": "sqp",
    "slsqp": "sqp",
    "trust-constr": "interior point",
    "dogleg": "dogleg",
    "trust-ncg": "trust-krylov",
    "trust-krylov": "trust-krylov",
    "trust-exact": "trust region",
}
TOLERANCES = ("gtol", "xatol", "xtol", "ftol")


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str | None = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimise a scalar function with the arguments and result fields of ``scipy.optimize.minimize``.

    Args:
        fun: ``fun(x, *args)`` returns a number, or with ``jac=True`` also the gradient.
        x0: the initial guess (n,).
        args: further arguments, a tuple.
        method: a name of SciPy's; the method of ``morula.optim.minimize`` that is nearest to it is used.
        jac: the gradient, True, or None for the derived one.
        hess, hessp: accepted; second derivatives come from the source.
        bounds: pairs (min, max), or an object with ``lb`` and ``ub``.
        constraints: dicts with ``"type"`` and ``"fun"``, ``LinearConstraint``, ``NonlinearConstraint``, or a list of them.
        tol: of the method.
        callback: ``callback(x)``.
        options: ``maxiter`` and tolerances (``gtol``, ``xatol``, ``xtol``, ``ftol``) have an effect.

    Returns:
        An ``OptimizeResult`` with ``x``, ``fun``, ``jac``, ``nit``, ``nfev``, ``njev``, ``success``, ``status`` and ``message``.

    Raises:
        BadInput: an argument has the wrong type or value, or the method is unknown.

    >>> minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(2), method="BFGS").x.round(6).tolist()
    [1.0, 1.0]
    """
    options = options or {}
    x0 = np.atleast_1d(np.asarray(x0)) + 0.0
    args = args if isinstance(args, tuple) else (args,)
    listed = [constraints] if isinstance(constraints, dict) or hasattr(constraints, "lb") else list(constraints)
    name = method or ("SLSQP" if listed else "BFGS" if bounds is None else "L-BFGS-B")
    if name.lower() not in MINIMISERS:
        raise BadInput(f"minimize: no method {name!r}; there are {', '.join(map(repr, MINIMISERS))}")
    way = MINIMISERS[name.lower()]
    value = (lambda x, *args: fun(x, *args)[0]) if jac is True else fun
    gradient = (lambda x, *args: fun(x, *args)[1]) if jac is True else jac if callable(jac) else None
    given: list[float] = [options[k] for k in TOLERANCES if options.get(k) is not None]
    given += [] if tol is None else [tol]
    found = minimum_of(
        value,
        x0,
        *args,
        method=way,
        tol=min(given, default=1e-8),
        max_iterations=int(options.get("maxiter", 200 * len(x0) + 1000)),
        gradient=gradient,
        bounds=_sides(bounds, len(x0)),
        constraints=[_constraint(c) for c in listed] or None,
        callback=None if callback is None else (lambda result: callback(result.x)),
    )
    return _result(found, x=found.x, fun=found.value, jac=found.gradient, nit=found.iterations, njev=found.evaluations)


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    callback: Callable[..., Any] | None = None,
    workers: Any = None,
) -> Any:
    """Solve a nonlinear least-squares problem with the arguments and result fields of ``scipy.optimize.least_squares``.

    Args:
        fun: ``fun(x, *args, **kwargs)`` returns the residuals (m,).
        x0: the initial guess (n,).
        jac: the Jacobian, or a name of a difference formula, which is replaced by the derived one.
        bounds: (lower, upper), or an object with ``lb`` and ``ub``.
        method: ``"trf"``, ``"dogbox"`` or ``"lm"``; all are Levenberg-Marquardt in a trust region.
        ftol, xtol, gtol: the smallest is the tolerance.
        loss, f_scale: as SciPy's; SciPy's functions of the squared residuals too.
        jac_sparsity, tr_solver: if a sparsity is given, or ``"lsmr"``, the derived Jacobian is a sparse matrix, whose pattern is found from
            the source of ``fun``.
        x_scale, diff_step, tr_options, verbose, workers: accepted; they have no effect.
        max_nfev: the largest number of iterations.
        args, kwargs: further arguments of ``fun``.
        callback: ``callback(x)``.

    Returns:
        An ``OptimizeResult`` with ``x``, ``cost``, ``fun``, ``jac``, ``grad``, ``optimality``, ``nfev``, ``njev``, ``status``,
        ``message`` and ``success``.

    Raises:
        BadInput: an argument has the wrong type or value.

    >>> least_squares(lambda x: np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), [2.0, 2.0]).x.round(6).tolist()
    [1.0, 1.0]
    """
    if method not in ("trf", "dogbox", "lm"):
        raise BadInput(f"least_squares: method is {method!r}, expected 'trf', 'dogbox' or 'lm'")
    x0, named = np.atleast_1d(np.asarray(x0)) + 0.0, kwargs or {}
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    bounded = bool(np.any(np.isfinite(lower)) or np.any(np.isfinite(upper)))
    derived = "sparse" if jac_sparsity is not None or tr_solver == "lsmr" else None
    found = fit(
        lambda x: np.atleast_1d(fun(x, *args, **named)),
        x0,
        method=LevenbergMarquardt(),
        tol=min([t for t in (ftol, xtol, gtol) if t is not None], default=1e-8),
        max_iterations=max_nfev or 100 * len(x0),
        jacobian=(lambda x: jac(x, *args, **named)) if callable(jac) else derived,
        bounds=(lower, upper) if bounded else None,
        loss=loss,
        scale=f_scale,
        callback=None if callback is None else (lambda result: callback(result.x)),
    )
    gradient = found.jacobian.T @ found.residual
    return _result(
        found,
        x=found.x,
        cost=0.5 * found.value,
        fun=found.residual,
        jac=found.jacobian,
        grad=gradient,
        optimality=np.max(np.abs(gradient)),
        njev=found.evaluations,
    )


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve a system of equations with the arguments and result fields of ``scipy.optimize.root``.

    Args:
        fun: ``fun(x, *args)`` returns (n,), or with ``jac=True`` also the Jacobian.
        x0: the initial guess (n,).
        args: further arguments, a tuple.
        method: ``"hybr"`` and ``"lm"`` are a trust-region Newton method, ``"broyden1"`` and ``"broyden2"`` Broyden's, ``"df-sane"`` the spectral
            residual method, ``"krylov"`` and others Newton's.
        jac: the Jacobian, True, or None for the derived one.
        tol: of the residual; 1e-10 by default.
        callback: ``callback(x, f)``.
        options: ``maxiter`` or ``maxfev``.

    Returns:
        An ``OptimizeResult`` with ``x``, ``fun``, ``nfev``, ``success``, ``status`` and ``message``.

    Raises:
        BadInput: an argument has the wrong type or value.

    >>> root(lambda x: x**2 - np.array([4.0, 9.0]), np.ones(2)).x.round(6).tolist()
    [2.0, 3.0]
    """
    options = options or {}
    ways = {"hybr": "trust region", "lm": "trust region", "broyden1": "broyden", "broyden2": "broyden"}
    ways["df-sane"] = "df-sane"
    value = (lambda x, *args: fun(x, *args)[0]) if jac is True else fun
    slopes = (lambda x, *args: fun(x, *args)[1]) if jac is True else jac if callable(jac) else None
    found = root_of(
        value,
        np.asarray(x0) + 0.0,
        *(args if isinstance(args, tuple) else (args,)),
        method=ways.get(method, "newton"),
        tol=tol or 1e-10,
        max_iterations=int(options.get("maxiter", options.get("maxfev", 1000))),
        jacobian=slopes,
        callback=None if callback is None else (lambda result: callback(result.x, result.residual)),
    )
    return _result(found, x=found.x, fun=found.residual)


def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Solve one equation with the arguments and result fields of ``scipy.optimize.root_scalar``.

    Args:
        f: ``f(x, *args)`` returns a number.
        args: further arguments, a tuple.
        method: ``"bisect"``, ``"brentq"``, ``"brenth"``, ``"ridder"``, ``"toms748"``, ``"newton"``, ``"secant"`` or ``"halley"``.
        bracket: two numbers at which ``f`` has opposite signs.
        fprime, fprime2: accepted; derivatives come from the source.
        x0, x1: the guess; the second has no effect.
        xtol, rtol, maxiter: as for ``morula.optim.root_scalar``.
        options: accepted; it has no effect.

    Returns:
        An ``OptimizeResult`` with ``root``, ``converged``, ``iterations``, ``function_calls`` and ``flag``.

    Raises:
        BadInput: an argument has the wrong type or value.

    >>> round(root_scalar(lambda x: x**3 - 2.0, bracket=(0.0, 2.0)).root, 9)
    1.25992105
    """
    from scipy.optimize import OptimizeResult

    ways = {"bisect": "bisection", "brentq": "brent", "brenth": "brent", "ridder": "itp"}
    found = root_scalar_of(
        f,
        *(args if isinstance(args, tuple) else (args,)),
        bracket=bracket,
        x0=None if bracket is not None else x0,
        method="auto" if method is None else ways.get(method, method),
        xtol=2e-12 if xtol is None else xtol,
        rtol=4 * float(np.finfo(np.float64).eps) if rtol is None else rtol,
        max_iterations=100 if maxiter is None else maxiter,
    )
    return OptimizeResult(
        root=found.x,
        converged=found.converged,
        iterations=found.iterations,
        function_calls=found.evaluations,
        flag="converged" if found.converged else found.message,
    )


def fixed_point(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    """Find a fixed point with the arguments of ``scipy.optimize.fixed_point``.

    Args:
        func: ``func(x, *args)`` returns what has the shape of x.
        x0: the initial guess.
        args: further arguments, a tuple.
        xtol: the largest entry of ``func(x) - x``.
        maxiter: the largest number of iterations.
        method: ``"del2"`` (Aitken's) or ``"iteration"``.

    Returns:
        The fixed point.

    Raises:
        RuntimeError: the iteration has not converged.

    >>> fixed_point(lambda x: np.sqrt(np.array([10.0, 12.0]) / (x + np.array([3.0, 5.0]))), np.array([1.2, 1.3])).round(5).tolist()
    [1.49203, 1.37228]
    """
    found = fixed_point_of(
        func,
        np.asarray(x0) + 0.0 if np.ndim(x0) else float(x0),
        *(args if isinstance(args, tuple) else (args,)),
        method={"del2": "aitken"}.get(method, method),
        tol=xtol,
        max_iterations=maxiter,
    )
    if not found.converged:
        raise RuntimeError(f"Failed to converge after {found.iterations} iterations: {found.message}")
    return found.x


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: dict[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Solve a linear program with the arguments and result fields of ``scipy.optimize.linprog``.

    Args:
        c: the costs (n,).
        A_ub, b_ub: ``A_ub @ x <= b_ub``.
        A_eq, b_eq: ``A_eq @ x == b_eq``.
        bounds: one pair (min, max) for all unknowns, or one for each.
        method, callback, x0: accepted; they have no effect.
        options: ``maxiter``.
        integrality: has to be None or zero.

    Returns:
        An ``OptimizeResult`` with ``x``, ``fun``, ``slack``, ``con``, ``ineqlin`` and ``eqlin`` (``residual``, ``marginals``), ``nit``, ``success``,
        ``status`` (0 solved, 1 limit of iterations, 2 infeasible, 3 unbounded, 4 numerical difficulties) and ``message``.

    Raises:
        BadInput: a shape does not fit, or integers are asked for.

    >>> linprog(np.array([-1.0, 4.0]), [[-3.0, 1.0], [1.0, 2.0]], [6.0, 4.0], bounds=[(None, None), (-3.0, None)]).x.round(6).tolist()
    [10.0, -3.0]
    """
    from scipy.optimize import OptimizeResult

    if integrality is not None and np.any(np.asarray(integrality) != 0):
        raise BadInput(
            "linprog: integrality is not zero; use scipy.optimize.linprog for integers, which have no derivatives"
        )
    n = np.size(c)
    A_ub, b_ub = (np.zeros((0, n)), np.zeros(0)) if A_ub is None else (np.asarray(A_ub) + 0.0, np.asarray(b_ub) + 0.0)
    A_eq, b_eq = (np.zeros((0, n)), np.zeros(0)) if A_eq is None else (np.asarray(A_eq) + 0.0, np.asarray(b_eq) + 0.0)
    m = A_ub.shape[0]
    found = linear_program(
        np.reshape(np.asarray(c) + 0.0, -1),
        np.concatenate([A_ub, A_eq]),
        np.concatenate([np.full(m, -np.inf), np.reshape(b_eq, -1)]),
        np.concatenate([np.reshape(b_ub, -1), np.reshape(b_eq, -1)]),
        _sides(bounds, n),
        max_iterations=int((options or {}).get("maxiter", 1000)),
    )
    slack, con, y = b_ub - A_ub @ found.x, b_eq - A_eq @ found.x, found.multipliers[0]
    codes = {CONVERGED: 0, AT_ROUNDING: 0, MAX_ITERATIONS: 1, INFEASIBLE: 2, UNBOUNDED: 3}
    return OptimizeResult(
        x=found.x,
        fun=found.value,
        slack=slack,
        con=con,
        ineqlin=OptimizeResult(residual=slack, marginals=-y[:m]),
        eqlin=OptimizeResult(residual=con, marginals=-y[m:]),
        nit=found.iterations,
        status=codes.get(found.code, 4),
        success=found.converged,
        message=found.message,
    )


def _result(found: Any, **fields: Any) -> Any:
    from scipy.optimize import OptimizeResult  # loaded where it is needed: it is slow to import

    return OptimizeResult(
        nfev=found.evaluations, success=found.converged, status=found.code, message=found.message, **fields
    )


def _sides(bounds: Any, n: int) -> Any:
    """Return SciPy's bounds as a pair of arrays."""
    if bounds is None:
        return None
    if hasattr(bounds, "lb"):
        return np.zeros(n) + bounds.lb, np.zeros(n) + bounds.ub
    pairs = [bounds] * n if len(bounds) == 2 and np.ndim(bounds[0]) == 0 else list(bounds)
    if len(pairs) != n:
        raise BadInput(f"bounds has {len(pairs)} pairs for {n} unknowns, expected as many")
    lower = np.array([-np.inf if low is None else low for low, _ in pairs])
    return lower, np.array([np.inf if high is None else high for _, high in pairs])


def _constraint(given: Any) -> Constraint:
    """Return SciPy's constraint as ours."""
    if isinstance(given, dict):
        args = given.get("args", ())
        function = lambda x, *_: given["fun"](x, *args)  # noqa: E731
        if given.get("type") == "eq":
            return Constraint(function, equals=0.0)
        if given.get("type") == "ineq":
            return Constraint(function, lower=0.0)
        raise BadInput(f"minimize: a constraint has type {given.get('type')!r}, expected 'eq' or 'ineq'")
    if hasattr(given, "A"):
        return Constraint(np.atleast_2d(given.A), lower=given.lb, upper=given.ub)
    if hasattr(given, "fun"):
        return Constraint(lambda x, *_: given.fun(x), lower=given.lb, upper=given.ub)
    raise BadInput(
        f"minimize: a constraint is a {type(given).__name__}, expected a dict, LinearConstraint or NonlinearConstraint"
    )
