"""``least_squares``: the front of all methods for sums of squares."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, constant, grad, nestlevel
from ..bounds import bounds_of, check_inside
from ..implicit import attached, check_adjoint, underived
from ..loop import searched
from ..optimality import held_at
from ..problem import check_limits, chosen
from ..results import Result
from .losses import chosen_loss, reweighted, total
from .methods import DoglegFit, FitSearch, GaussNewton, LeastSquaresMethod, LevenbergMarquardt
from .residuals import Residuals
from .sparse import preconditioner_of, sparse_covariance
from .statistics import covariance_of

METHODS: dict[str, Callable[[], LeastSquaresMethod]] = {
    "lm": LevenbergMarquardt,
    "dogleg": DoglegFit,
    "gauss-newton": GaussNewton,
}

STATISTICS = "use morula.optim.parameter_covariance(r, x), which has a derivative"


@dataclass
class Fit(Result):
    """The result of ``least_squares`` for m residuals and n unknowns."""

    value: Any
    """What was minimised: the sum of the squared residuals, or of their losses."""
    standard_deviations: Any
    """The square roots of the variances, in the structure of ``x0``."""
    covariance: Any
    """``value / (m - n) · (JᵀJ)⁻¹``, (n, n), in the order of the unknowns.

    An unknown that the data do not determine has an infinite variance and NaN covariances. All entries are NaN unless
    m > n. With a robust loss, J is the scaled Jacobian. If J is sparse, this is a sparse matrix that holds the entries at which
    JᵀJ has entries; all are NaN where the data do not determine all unknowns.
    """
    rss: Any
    """The sum of the squared residuals."""
    residual: Any
    """The residuals at ``x``, in the shape in which ``r`` returns them."""
    jacobian: Any
    """The derivative of the residuals at ``x``, (m, n), an array or a sparse matrix."""
    degrees_of_freedom: int
    """m - n."""

    @property
    def residual_standard_deviation(self) -> float:
        """The estimated standard deviation of one observation, ``sqrt(rss / (m - n))``; NaN unless m > n."""
        return float(np.sqrt(self.rss / self.degrees_of_freedom)) if self.degrees_of_freedom > 0 else float("nan")


def least_squares(
    r: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str | LeastSquaresMethod = "lm",
    tol: float = 1e-10,
    max_iterations: int = 1000,
    jacobian: Callable[..., Any] | str | None = None,
    bounds: Any = None,
    loss: Any = "linear",
    scale: float = 1.0,
    adjoint: str = "implicit",
    callback: Callable[[Fit], Any] | None = None,
    history: bool = False,
    progress: bool = False,
    resumable: bool = False,
    resume: Any = None,
) -> Fit:
    """Find the ``x`` that minimises the sum of squares of the residuals ``r(x, *args)``.

    Args:
        r: ``r(x, *args)`` returns an array of real residuals; differentiated from its source unless ``jacobian`` is
            given, in forward mode where there are few unknowns.
        x0: the initial guess: a number, an array, or dicts, lists, tuples and objects of them, as for ``minimize``.
        args: further arguments of ``r``.
        method: ``"lm"`` (``LevenbergMarquardt``), ``"dogleg"`` (``DoglegFit``), ``"gauss-newton"`` (``GaussNewton``), or an
            object with settings.
        tol: converged when the component of the residual in the tangent plane of the model, which the parameters could
            still remove, is at most ``tol`` times the residual. The distance to the solution is then about
            ``tol * sqrt(m - n)`` standard deviations.
        max_iterations: the largest number of steps.
        jacobian: ``jacobian(x, *args)`` replaces the derived one. It returns an array of shape ``r.shape + x.shape``,
            or (m, n) where ``x0`` is a structure of n numbers; a matrix of ``scipy.sparse`` too. ``"sparse"`` derives a sparse one
            (``morula.sparse_jacobian``), whose pattern is found from the source of ``r``, which must compile. Sparse ones serve
            thousands of unknowns of which each residual depends on a few, as in bundle adjustment; compiled programs refuse them.
        bounds: a pair (lower, upper), each a number or of the structure of ``x0``; None for no bounds.
        loss: ``"linear"``, ``"soft_l1"``, ``"huber"``, ``"cauchy"``, ``"arctan"``, ``"tukey"``, or a function ρ of an array
            of squared residuals, of which ``scale² Σ ρ((r / scale)²)`` is minimised, so that outliers count less.
        scale: the size of residual from which on ``loss`` differs from the square.
        adjoint: how the solution is differentiated: ``"implicit"``, ``"krylov"`` or ``"unrolled"``, as for ``minimize``.
        callback: called with the current ``Fit`` after every step; the search stops when it returns a true value.
        history: record value and measure of convergence at each iteration.
        progress: show a progress bar.
        resumable, resume: as for ``minimize``.

    Returns:
        A ``Fit``. A search that has not converged is no error; see ``converged`` and ``message``. Inside a
        differentiated function, ``x``, ``residual``, ``rss`` and ``value`` are differentiable with respect to everything
        that ``r`` reads, by the implicit function theorem; ``r`` must then be twice differentiable from its source. An
        unknown at a bound moves with the bound.

    Raises:
        BadInput: an argument has the wrong type or value, ``x0`` holds no number or is outside of the bounds, the bounds
            are crossed, the residuals are not real numbers or not finite at ``x0``, or the Jacobian has another shape.
        MorulaError: a derivative is taken of a fit that did not converge, or that has a singular Hessian.

    Source: Moré (1978); Bates and Watts (1981); Triggs et al. (2000) for robust losses.

    >>> t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 1.2, 0.8, 0.4])
    >>> def misfit(b):
    ...     return b[0] * np.exp(-b[1] * t) - y
    >>> fit = least_squares(misfit, np.array([1.0, 1.0]))
    >>> fit.converged, fit.x.round(3).tolist(), fit.standard_deviations.round(3).tolist()
    (True, [2.001, 0.497], [0.054, 0.029])
    """
    way = chosen("least_squares", method, METHODS, LeastSquaresMethod)
    check_limits("least_squares", tol, max_iterations)
    check_adjoint("least_squares", adjoint)
    rho = chosen_loss("least_squares", loss)
    if not scale > 0:
        raise BadInput(f"least_squares: scale is {scale!r}, expected a positive number")
    problem = (Residuals if adjoint == "unrolled" else _prepared)(r, x0, args, jacobian)
    search = search_unrolled if adjoint == "unrolled" else _search
    fit = search(problem, way, bounds, rho, scale, tol, max_iterations, callback, history, progress, resumable, resume)
    if nestlevel() == 0 or adjoint == "unrolled":
        return fit

    def half(x: Any) -> Any:
        return 0.5 * total(rho, r(x, *args), scale)

    slope = grad(half) if bounds is None else held_at(grad(half), fit.x, bounds, "least_squares")
    x = attached(fit.x, slope, fit.code, adjoint, preconditioner=_preconditioner(fit, rho, scale))
    residual = r(x, *args)
    return Fit(
        x,
        fit.iterations,
        fit.evaluations,
        fit.code,
        fit.history,
        fit.state,
        total(rho, residual, scale),
        underived(fit.standard_deviations, "the standard deviations of a fit", STATISTICS),
        underived(fit.covariance, "the covariance of a fit", STATISTICS),
        np.sum(residual**2),
        residual,
        underived(fit.jacobian, "the Jacobian of a fit"),
        fit.degrees_of_freedom,
    )


@constant
def _preconditioner(fit: Fit, loss: Any, scale: float) -> Any:
    """Return what solves nearly with the Hessian if the Jacobian is sparse, or None: then the Hessian is factorised."""
    if isinstance(fit.jacobian, np.ndarray):
        return None
    residual = np.asarray(fit.residual, np.float64).reshape(-1)
    return preconditioner_of(reweighted(loss, residual, fit.jacobian, scale)[1])


@constant
def _prepared(r: Any, x0: Any, args: Any, jacobian: Any) -> Residuals:
    return Residuals(r, x0, args, jacobian)


def search_unrolled(
    problem: Residuals,
    method: LeastSquaresMethod,
    bounds: Any,
    loss: Any,
    scale: float,
    tol: float,
    max_iterations: int,
    callback: Callable[[Fit], Any] | None,
    history: bool,
    progress: bool,
    resumable: bool,
    resume: Any,
) -> Fit:
    """Search, as a program to differentiate."""
    layout = problem.layout
    x = layout.vector(layout.start)
    lower, upper = bounds_of("least_squares", bounds, layout)
    if bounds is not None:
        check_inside("least_squares", x, lower, upper)
    if resume is None:
        search = FitSearch(method, x, problem.count, lower, upper, bounds is not None, loss, scale, tol, layout.eps)
    else:
        search = copy.deepcopy(resume)

    def found() -> Fit:
        m, n = search.slopes.shape
        freedom = m - n
        _, weighted = reweighted(loss, search.residual, search.slopes, scale)
        if not isinstance(weighted, np.ndarray):
            covariance = sparse_covariance(weighted, search.value / freedom if freedom > 0 else np.nan)
            variances = covariance.diagonal()
        else:
            covariance = covariance_of(weighted, search.value / freedom) if freedom > 0 else np.full((n, n), np.nan)
            variances = np.diag(covariance)
        return Fit(
            layout.structure(search.point),
            search.iterations,
            search.evaluations,
            search.code,
            None,
            None,
            search.value,
            layout.structure(np.sqrt(variances)),
            covariance,
            float(search.residual @ search.residual),
            search.residual.reshape(problem.shape),
            search.slopes,
            freedom,
        )

    return searched(problem, search, found, max_iterations, callback, history, progress, resumable)


_search = constant(search_unrolled)
