"""``curve_fit`` with the arguments and results of ``scipy.optimize.curve_fit``."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput
from .fitting import least_squares
from .statistics import covariance_of

METHODS = ("lm", "trf", "dogbox")
TOLERANCES = ("ftol", "xtol", "gtol")
LIMITS = ("maxfev", "max_nfev")
OTHERS = ("loss", "f_scale", "x_scale")


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """Fit ``f(xdata, *parameters)`` to ``ydata`` by nonlinear least squares, with SciPy's arguments and results.

    Args:
        f: the model ``f(xdata, *parameters)``; its Jacobian comes from its source.
        xdata: whatever ``f`` takes, often (m,) or (k, m).
        ydata: the data (m,).
        p0: the initial parameters (n,); by default ones, or a point inside of the bounds.
        sigma: the standard deviations of ``ydata``, a number or (m,), or their covariance matrix (m, m); ones by default.
        absolute_sigma: whether ``sigma`` is in the units of ``ydata``; otherwise the covariance is scaled so that the
            residuals have the variance that they show.
        check_finite: refuse NaN and Inf in the data; by default unless ``nan_policy`` is given.
        bounds: (lower, upper), each a number or (n,), or an object with attributes ``lb`` and ``ub``.
        method: None, ``"lm"``, ``"trf"`` or ``"dogbox"``; all are Levenberg-Marquardt in a scaled trust region, with
            projection where there are bounds.
        jac: ``jac(xdata, *parameters)`` returns (m, n) and replaces the derived Jacobian; SciPy's names of difference
            formulas are accepted, and exact derivatives used.
        full_output: return also a dict with ``"nfev"`` and ``"fvec"``, a message, and 1.
        nan_policy: None, ``"raise"`` or ``"omit"`` for NaN in the data.
        kwargs: ``ftol``, ``xtol``, ``gtol`` (the smallest is ``tol``), ``maxfev``, ``max_nfev``, ``loss``, ``f_scale``,
            ``x_scale`` (has no effect: units of the parameters do not matter).

    Returns:
        The parameters (n,) and their covariance (n, n), infinite with a warning where the data do not determine it. The
        parameters are differentiable with respect to everything that ``f`` reads, to the data and ``sigma``.

    Raises:
        BadInput: an argument has the wrong type, shape or value.
        RuntimeError: the fit has not converged.

    Source: ``scipy.optimize.curve_fit``'s documentation.

    >>> t = np.linspace(0.0, 3.0, 7)
    >>> parameters, covariance = curve_fit(lambda t, a, k: a * np.exp(-k * t), t, 2.0 * np.exp(-0.5 * t))
    >>> parameters.round(6).tolist()
    [2.0, 0.5]
    """
    if method is not None and method not in METHODS:
        raise BadInput(f"curve_fit: method is {method!r}, expected None or one of {', '.join(map(repr, METHODS))}")
    unknown = set(kwargs) - {*TOLERANCES, *LIMITS, *OTHERS}
    if unknown:
        raise BadInput(f"curve_fit: there is no argument {min(unknown)!r}")
    xdata, ydata = _array(xdata), _array(ydata)
    if np.size(ydata) == 0:
        raise BadInput("curve_fit: ydata is empty, expected one number for each observation")
    xdata, ydata, sigma = _without_nan(xdata, ydata, sigma, check_finite, nan_policy)
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    bounded = bool(np.any(np.isfinite(lower)) or np.any(np.isfinite(upper)))
    if bounded and method == "lm":
        raise BadInput("curve_fit: method 'lm' takes no bounds; leave the method out, or use 'trf'")
    start = _start(f, p0, lower, upper)
    n = len(start)
    whitened = _whitening(sigma, np.size(ydata))

    def misfit(p: Any) -> Any:
        return whitened(np.reshape(f(xdata, *[p[i] for i in range(n)]) - ydata, -1))

    def given(p: Any) -> Any:
        slopes = np.asarray(jac(xdata, *[p[i] for i in range(n)]))
        return np.stack([whitened(slopes[:, i]) for i in range(n)], axis=1)

    limits = [kwargs[k] for k in LIMITS if kwargs.get(k) is not None]
    tolerances = [kwargs[k] for k in TOLERANCES if kwargs.get(k) is not None]
    fit = least_squares(
        misfit,
        start,
        bounds=(lower, upper) if bounded else None,
        jacobian=given if callable(jac) else None,
        tol=min(tolerances, default=1e-10),
        max_iterations=min(limits, default=1000),
        loss=kwargs.get("loss", "linear"),
        scale=kwargs.get("f_scale", 1.0),
    )
    if not fit.converged:
        raise RuntimeError(f"Optimal parameters not found: {fit.message}")
    covariance = _covariance(fit, absolute_sigma)
    if full_output:
        return fit.x, covariance, {"nfev": fit.evaluations, "fvec": fit.residual}, fit.message, 1
    return fit.x, covariance


def _array(data: Any) -> Any:
    if isinstance(data, (list, tuple, np.ndarray)):
        data = np.asarray(data)
        return data.astype(np.float64) if data.dtype.kind in "iub" else data
    return data


def _start(f: Callable[..., Any], p0: Any, lower: Any, upper: Any) -> np.ndarray:
    """Return the initial parameters."""
    if p0 is not None:
        return np.atleast_1d(np.asarray(p0)).astype(np.float64)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(p.kind in kinds for p in inspect.signature(f).parameters.values()) - 1
    if n < 1:
        raise BadInput("curve_fit: the number of parameters is not known from f; give p0")
    low, high = np.broadcast_to(lower, (n,)).astype(np.float64), np.broadcast_to(upper, (n,)).astype(np.float64)
    start = np.ones(n)
    both = np.isfinite(low) & np.isfinite(high)
    start = np.where(both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), start)
    start = np.where(np.isfinite(low) & ~np.isfinite(high), low + 1.0, start)
    return np.where(~np.isfinite(low) & np.isfinite(high), high - 1.0, start)


def _without_nan(
    xdata: Any, ydata: Any, sigma: Any, check_finite: bool | None, policy: str | None
) -> tuple[Any, Any, Any]:
    if policy not in (None, "raise", "omit"):
        raise BadInput(f"curve_fit: nan_policy is {policy!r}, expected None, 'raise' or 'omit'")
    if check_finite or (check_finite is None and policy is None) or policy == "raise":
        for data, name in ((xdata, "xdata"), (ydata, "ydata")):
            if isinstance(data, np.ndarray) and not np.all(np.isfinite(data)):
                raise BadInput(f"curve_fit: {name} holds NaN or Inf; remove them, or pass nan_policy='omit'")
    if policy != "omit":
        return xdata, ydata, sigma
    keep = ~np.isnan(ydata)
    if isinstance(xdata, np.ndarray):
        keep &= ~np.any(np.isnan(xdata.reshape(-1, xdata.shape[-1])), axis=0)
        xdata = xdata[..., keep]
    if sigma is not None and np.ndim(sigma) == 1:
        sigma = np.asarray(sigma)[keep]
    elif sigma is not None and np.ndim(sigma) == 2:
        sigma = np.asarray(sigma)[keep][:, keep]
    return xdata, ydata[keep], sigma


def _whitening(sigma: Any, m: int) -> Callable[[Any], Any]:
    """Return the map of residuals to ones of variance 1."""
    if sigma is None:
        return lambda r: r
    sigma = sigma if isinstance(sigma, np.ndarray) else np.asarray(sigma, dtype=np.float64)
    if sigma.shape in ((), (1,), (m,)):
        return lambda r: r / sigma
    if sigma.shape != (m, m):
        raise BadInput(f"curve_fit: sigma has shape {sigma.shape}, expected a number, ({m},) or ({m}, {m})")
    try:
        lower = np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError:
        raise BadInput("curve_fit: sigma is not positive definite, expected a covariance matrix") from None
    return lambda r: np.linalg.solve(lower, r)


def _covariance(fit: Any, absolute_sigma: bool) -> np.ndarray:
    """Return the covariance with SciPy's conventions: infinite where it is not determined."""
    covariance, n = fit.covariance, fit.covariance.shape[0]
    if absolute_sigma and fit.degrees_of_freedom >= 0:
        covariance = covariance_of(fit.jacobian, 1.0)
    if not np.all(np.isfinite(covariance)):
        from scipy.optimize import OptimizeWarning  # loaded where it is needed: it is slow to import

        warnings.warn("Covariance of the parameters could not be estimated", category=OptimizeWarning, stacklevel=3)
        return np.full((n, n), np.inf)
    return covariance
