"""Nonlinear least squares: Levenberg-Marquardt in a scaled trust region, with the parameters' standard deviations.

J.J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630 (1978)
105-116: the step p minimises |r + J p| subject to |D p| <= Δ. D holds the largest norm that each column of J has had,
so the units of the parameters do not matter. Instead of Moré's QR factorisations with Givens rotations, one singular
value decomposition J D⁻¹ = U S Vᵀ reduces the search for the multiplier λ to a scalar equation. It also shows which
combinations of parameters the data do not determine.

The fit has converged when the residual is orthogonal to the tangent plane of the model (D.M. Bates and D.G. Watts,
Technometrics 23 (1981) 179-183), a test that is independent of units and scale. Close to that point the sum of squares
is constant to rounding and cannot rank two points; there the orthogonality itself decides, so that the parameters are
accurate to nearly all digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import BadInput, constant, grad, jacobian as derived_jacobian, nestlevel, pullback
from .flatten import Layout, Vector
from .implicit import attached, underived


@dataclass
class Fit:
    """The result of ``least_squares`` for m residuals and n unknowns."""

    x: Any
    """The fitted parameters, in the structure of ``x0``."""
    standard_deviations: Any
    """The square roots of the variances, in the structure of ``x0``."""
    covariance: np.ndarray
    """``rss / (m - n) · (JᵀJ)⁻¹``, (n, n), in the order of the unknowns.

    An unknown that the data do not determine has an infinite variance and NaN covariances. All entries are NaN unless
    m > n.
    """
    rss: float
    """The sum of the squared residuals."""
    residual: np.ndarray
    """The residuals at ``x``, in the shape in which ``r`` returns them."""
    jacobian: np.ndarray
    """The derivative of the residuals at ``x``, (m, n)."""
    degrees_of_freedom: int
    """m - n."""
    iterations: int
    """The number of trial steps."""
    evaluations: int
    """The number of evaluations of ``r``."""
    converged: bool
    """Whether ``x`` was found to be a minimum."""
    message: str
    """Why the search stopped."""

    @property
    def residual_standard_deviation(self) -> float:
        """The estimated standard deviation of one observation, ``sqrt(rss / (m - n))``; NaN unless m > n."""
        return float(np.sqrt(self.rss / self.degrees_of_freedom)) if self.degrees_of_freedom > 0 else float("nan")


def least_squares(
    r: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "lm",
    tol: float = 1e-10,
    max_iterations: int = 1000,
    jacobian: Callable[..., Any] | None = None,
    first_radius: float = 0.1,
    callback: Callable[[Fit], Any] | None = None,
) -> Fit:
    """Find the ``x`` that minimises the sum of squares of the residuals ``r(x, *args)``.

    Args:
        r: ``r(x, *args)`` returns an array of real residuals; differentiated from its source unless ``jacobian`` is
            given.
        x0: the initial guess: a number, an array, or dicts, lists, tuples and objects of them, as for ``minimize``.
        args: further arguments of ``r``.
        method: "lm", Levenberg-Marquardt.
        tol: converged when the component of the residual in the tangent plane of the model, which the parameters could
            still remove, is at most ``tol`` times the residual. The distance to the solution is then about
            ``tol * sqrt(m - n)`` standard deviations.
        max_iterations: the largest number of trial steps.
        jacobian: ``jacobian(x, *args)`` replaces the derived one. It returns an array of shape ``r.shape + x.shape``,
            or (m, n) where ``x0`` is a structure of n numbers.
        first_radius: the radius of the first trust region relative to the scaled length of ``x0``; a larger one allows
            longer first steps.
        callback: called with the current ``Fit`` after every accepted step; the search stops when it returns a true
            value.

    Returns:
        A ``Fit``. A search that has not converged is no error; see ``converged`` and ``message``. Inside a
        differentiated function, ``x``, ``residual`` and ``rss`` are differentiable with respect to everything that
        ``r`` reads, by the implicit function theorem; ``r`` must then be twice differentiable from its source.

    Raises:
        BadInput: an argument has the wrong type or value, ``x0`` holds no number, the residuals are not real numbers or
            not finite at ``x0``, or the Jacobian has another shape.
        MorulaError: a derivative is taken of a fit that did not converge, or that has a singular Hessian.

    Source: Moré (1978); Bates and Watts (1981).

    >>> t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, 1.2, 0.8, 0.4])
    >>> def misfit(b):
    ...     return b[0] * np.exp(-b[1] * t) - y
    >>> fit = least_squares(misfit, np.array([1.0, 1.0]))
    >>> fit.converged, fit.x.round(3).tolist(), fit.standard_deviations.round(3).tolist()
    (True, [2.001, 0.497], [0.054, 0.029])
    """
    if not callable(r):
        raise BadInput(f"least_squares(r, x0): r is a {type(r).__name__}, expected a function of x0")
    if jacobian is not None and not callable(jacobian):
        raise BadInput(f"least_squares: jacobian is a {type(jacobian).__name__}, expected a function of x0 or None")
    if method != "lm":
        raise BadInput(f"least_squares: no method {method!r}; there is 'lm'")
    if not tol > 0:
        raise BadInput(f"least_squares: tol is {tol!r}, expected a positive number")
    if not first_radius > 0:
        raise BadInput(f"least_squares: first_radius is {first_radius!r}, expected a positive number")
    if max_iterations < 0:
        raise BadInput(f"least_squares: max_iterations is {max_iterations!r}, expected 0 or more")
    fit = _search(r, x0, args, method, tol, max_iterations, jacobian, first_radius, callback)
    if nestlevel() == 0:
        return fit

    def half_rss(x: Any) -> Any:
        return 0.5 * np.sum(r(x, *args) ** 2)

    x = attached(fit.x, grad(half_rss), 0 if fit.converged else 2)
    residual = r(x, *args)
    return Fit(
        x,
        underived(fit.standard_deviations, "the standard deviations of a fit"),
        underived(fit.covariance, "the covariance of a fit"),
        np.sum(residual**2),
        residual,
        underived(fit.jacobian, "the Jacobian of a fit"),
        fit.degrees_of_freedom,
        fit.iterations,
        fit.evaluations,
        fit.converged,
        fit.message,
    )


@constant
def _search(
    r: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...],
    method: str,
    tol: float,
    max_iterations: int,
    jacobian: Callable[..., Any] | None,
    first_radius: float,
    callback: Callable[[Fit], Any] | None,
) -> Fit:
    problem = _Residuals(r, jacobian, Layout(x0), args)
    x = problem.layout.vector(problem.layout.start)
    residual = problem(x)
    if not np.all(np.isfinite(residual)):
        raise BadInput("least_squares: r(x0) holds NaN or Inf; expected a start at which every residual is finite")
    slopes = problem.jacobian(x)
    if not np.all(np.isfinite(slopes)):
        raise BadInput("least_squares: the Jacobian at x0 holds NaN or Inf; expected a start at which r is smooth")
    return _levenberg_marquardt(problem, x, residual, slopes, tol, max_iterations, first_radius, callback)


class _Residuals:
    """The residuals as a function of a vector; counts the evaluations and checks the results."""

    def __init__(
        self, r: Callable[..., Any], jacobian: Callable[..., Any] | None, layout: Layout, args: tuple[Any, ...]
    ) -> None:
        self.r, self.args, self.layout = r, args, layout
        self.shape: tuple[int, ...] | None = None
        self.evaluations = 0
        x = layout.start
        if jacobian is not None:
            self.given = jacobian
        elif isinstance(x, (float, np.ndarray)) and not np.iscomplexobj(x):
            self.given = derived_jacobian(r)
        else:
            self.given = self._by_rows

    def __call__(self, x: Vector) -> Vector:
        self.evaluations += 1
        with np.errstate(all="ignore"):  # A trial step may leave the domain; its NaN or Inf is handled by the search.
            residual = self.r(self.layout.structure(x), *self.args)
        if not isinstance(residual, (np.ndarray, np.generic, float, int)) or np.iscomplexobj(residual):
            kind = "complex numbers" if np.iscomplexobj(residual) else f"a {type(residual).__name__}"
            raise BadInput(
                f"least_squares: r returned {kind}, expected an array of real residuals (np.array, np.stack)"
            )
        if self.shape is not None and np.shape(residual) != self.shape:
            raise BadInput(f"least_squares: r returned shape {np.shape(residual)}, and {self.shape} at first")
        self.shape = np.shape(residual)
        if np.size(residual) == 0:
            raise BadInput("least_squares: r returned an empty array, expected at least one residual")
        return np.array(residual, dtype=np.float64).reshape(-1)

    def jacobian(self, x: Vector) -> np.ndarray:
        with np.errstate(all="ignore"):
            slopes = np.asarray(self.given(self.layout.structure(x), *self.args))
        m = int(np.prod(self.shape or ()))
        if slopes.size != m * self.layout.size or np.iscomplexobj(slopes):
            raise BadInput(
                f"least_squares: the Jacobian has shape {slopes.shape} and dtype {slopes.dtype}, expected"
                f" real numbers for {m} residuals by {self.layout.size} unknowns"
            )
        return slopes.astype(np.float64).reshape(m, self.layout.size)

    def _by_rows(self, x: Any, *args: Any) -> np.ndarray:
        residual, back = pullback(self.r, x, *args)
        if np.ndim(residual) == 0:
            return self.layout.vector(back(1.0)[0], "the gradient")[None]
        rows = []
        for i in np.ndindex(np.shape(residual)):
            unit = np.zeros_like(residual)
            unit[i] = 1.0
            rows.append(self.layout.vector(back(unit)[0], "the gradient"))
        return np.stack(rows)


class _Tangent(NamedTuple):
    """The tangent plane of the model at one point, J D⁻¹ = U S Vᵀ, and the residual's component ``g = Uᵀ r`` in it."""

    S: Vector
    Vt: np.ndarray
    g: Vector
    determined: np.ndarray

    @property
    def offset(self) -> float:
        return float(np.linalg.norm(self.g[self.determined]))


def _tangent(residual: Vector, slopes: np.ndarray, D: Vector) -> _Tangent:
    Q, R = np.linalg.qr(slopes / D)  # The singular value decomposition of R (n, n) is cheaper than that of (m, n).
    U, S, Vt = np.linalg.svd(R, full_matrices=False)
    determined = np.finfo(np.float64).eps * max(slopes.shape) * S[0] < S
    return _Tangent(S, Vt, U.T @ (Q.T @ residual), determined)


def _bounded_step(tangent: _Tangent, radius: float) -> tuple[Vector, float]:
    """Return the step that minimises the linear model within ``radius``, and its multiplier λ (Moré, section 5).

    The step is D p, scaled like the radius.
    """
    S, Vt, g, determined = tangent
    q = np.divide(g, S, out=np.zeros_like(g), where=determined)
    length = np.linalg.norm(q)
    multiplier = 0.0
    if length > 1.1 * radius:
        Sg = S * g
        high = np.linalg.norm(Sg) / radius
        low = 0.0
        if determined.all():
            low = (length - radius) * length / np.sum((q / S) ** 2)
        multiplier = low if low > 0.0 else 1e-3 * high
        for _ in range(50):
            if not low <= multiplier <= high:
                multiplier = max(1e-3 * high, np.sqrt(low * high))
            q = Sg / (S**2 + multiplier)
            length = np.linalg.norm(q)
            excess = length - radius
            if abs(excess) <= 0.1 * radius:
                break
            if excess > 0.0:
                low = max(low, multiplier)
            else:
                high = multiplier
            # Newton's method for 1/length = 1/radius, which is nearly linear in the multiplier.
            multiplier += (length / radius) * excess * length / np.sum(Sg**2 / (S**2 + multiplier) ** 3)
    return -(Vt.T @ q), float(multiplier)


def _levenberg_marquardt(
    problem: _Residuals,
    x: Vector,
    residual: Vector,
    slopes: np.ndarray,
    tol: float,
    max_iterations: int,
    first_radius: float,
    callback: Callable[[Fit], Any] | None,
) -> Fit:
    eps = problem.layout.eps
    iterations = 0

    def fit(converged: bool, message: str) -> Fit:
        return _fit(problem, x, residual, slopes, iterations, converged, message)

    D = np.linalg.norm(slopes, axis=0)
    D[D == 0.0] = 1.0
    start = norm = float(np.linalg.norm(residual))
    tangent = _tangent(residual, slopes, D)
    radius = first_radius * float(np.linalg.norm(D * x) or norm)
    while True:
        offset = tangent.offset
        if norm <= eps * tol * start:
            return fit(True, "the residual vanishes")
        if offset <= max(tol, eps) * norm:
            return fit(True, "the residual is orthogonal to the model's tangent plane within tol")
        if iterations >= max_iterations:
            return fit(False, f"no minimum within max_iterations = {max_iterations}")
        iterations += 1
        q, multiplier = _bounded_step(tangent, radius)
        length = float(np.linalg.norm(q))
        if length <= eps * np.linalg.norm(D * x):
            return fit(*_verdict_at_rounding(x, residual, slopes, offset, eps))

        p = q / D
        there = problem(x + p)
        finite = bool(np.all(np.isfinite(there)))
        linear = float(np.sum((slopes @ p) ** 2)) / norm**2
        damped = multiplier * length**2 / norm**2
        predicted = linear + 2.0 * damped
        ahead = None
        if finite and multiplier == 0.0 and predicted <= 1e3 * eps:
            # The sums of squares agree to rounding: prefer the point closer to orthogonality.
            ahead = problem.jacobian(x + p)
            if not (np.all(np.isfinite(ahead)) and _tangent(there, ahead, D).offset < 0.95 * offset):
                return fit(True, "the residual is orthogonal to the model's tangent plane within rounding")
        else:
            with np.errstate(over="ignore"):
                actual = 1.0 - float(np.linalg.norm(there) / norm) ** 2 if finite else -np.inf
            ratio = actual / predicted
            if ratio <= 0.25:
                # Shrink to the minimiser of the parabola through both sums of squares along the step, within bounds.
                slope = -(linear + damped)
                shrink = 0.5 if actual >= 0.0 else np.clip(0.5 * slope / (slope + 0.5 * actual), 0.1, 0.5)
                radius = float(shrink) * min(radius, 10.0 * length) if finite else 0.1 * length
            elif multiplier == 0.0 or ratio >= 0.75:
                radius = 2.0 * length
            if ratio > 1e-4:
                ahead = problem.jacobian(x + p)
                if not np.all(np.isfinite(ahead)):
                    ahead, radius = None, 0.1 * length
        if ahead is None:
            continue

        x, residual, slopes = x + p, there, ahead
        norm = float(np.linalg.norm(residual))
        D = np.maximum(D, np.linalg.norm(slopes, axis=0))
        tangent = _tangent(residual, slopes, D)
        if callback is not None and callback(fit(False, "running")):
            return fit(False, "stopped by callback")


def _verdict_at_rounding(
    x: Vector, residual: Vector, slopes: np.ndarray, offset: float, eps: float
) -> tuple[bool, str]:
    """Return whether a point is a minimum, and why, when the next step would be below the rounding of x."""
    norm = np.linalg.norm(residual)
    columns = np.linalg.norm(slopes, axis=0)
    # Compare the remaining decrease that the model predicts with the effect of the rounding of x on the residuals.
    if offset <= max(np.sqrt(1e3 * eps) * norm, 100.0 * eps * np.linalg.norm(columns * x)):
        return True, "steps are below the rounding of x"
    # For a nearly singular Jacobian the predicted decrease along its weakest direction is unreliable; the gradient is
    # reliable.
    if np.all(np.abs(slopes.T @ residual) <= 100.0 * np.sqrt(eps) * columns * norm):
        return True, "the gradient vanishes to rounding, at a nearly singular Jacobian"
    return False, (
        "steps are below the rounding of x but the residual is not orthogonal to the tangent plane:"
        " the Jacobian is wrong or nearly singular, or r is not smooth here"
    )


def _fit(
    problem: _Residuals, x: Vector, residual: Vector, slopes: np.ndarray, iterations: int, converged: bool, message: str
) -> Fit:
    rss = float(residual @ residual)
    freedom = len(residual) - len(x)
    covariance = _covariance(slopes, rss / freedom) if freedom > 0 else np.full((len(x), len(x)), np.nan)
    return Fit(
        x=problem.layout.structure(x),
        standard_deviations=problem.layout.structure(np.sqrt(np.diag(covariance))),
        covariance=covariance,
        rss=rss,
        residual=residual.reshape(problem.shape or ()),
        jacobian=slopes,
        degrees_of_freedom=freedom,
        iterations=iterations,
        evaluations=problem.evaluations,
        converged=converged,
        message=message,
    )


def _covariance(slopes: np.ndarray, variance: float) -> np.ndarray:
    """Return ``variance · (JᵀJ)⁻¹``; the columns of J are scaled to norm 1, so that units do not affect the rank."""
    norms = np.linalg.norm(slopes, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    _, S, Vt = np.linalg.svd(np.linalg.qr(slopes / norms, mode="r"), full_matrices=False)
    determined = np.finfo(np.float64).eps * max(slopes.shape) * S[0] < S
    half = Vt[determined].T / S[determined] / norms[:, None]
    covariance = variance * (half @ half.T)
    lost = np.linalg.norm(Vt[~determined], axis=0) > np.sqrt(np.finfo(np.float64).eps)
    covariance[lost, :] = covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    return covariance
