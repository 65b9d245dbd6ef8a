"""Separable least squares by variable projection: models that are linear in some of their parameters.

G.H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413-432; Inverse Problems 19 (2003) R1-R26. The linear parameters are those that
fit best for the others, so that only the others are unknowns. The derivative of the projection comes from the source of the
linear solution, not from a formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, constant, jacobian
from ..flatten import Layout
from ..implicit import underived
from .fitting import Fit, least_squares
from .statistics import covariance_of


@dataclass
class SeparableFit(Fit):
    """The result of ``variable_projection`` for m data, k functions and n nonlinear parameters.

    ``standard_deviations``, ``covariance`` and ``degrees_of_freedom`` (m - n - k) take into account that the coefficients are
    fitted too; ``covariance`` is (n + k, n + k), the nonlinear parameters first.
    """

    coefficients: Any
    """The linear parameters, (k,), or (k, s) for data (m, s)."""
    coefficient_deviations: Any
    """Their standard deviations, in the same shape."""


def variable_projection(
    basis: Callable[..., Any], y: Any, x0: Any, *args: Any, tol: float = 1e-10, **options: Any
) -> SeparableFit:
    """Find the ``x`` and coefficients c that minimise the sum of squares of ``basis(x, *args) @ c - y``.

    Args:
        basis: ``basis(x, *args)`` returns the values of k functions at the m data, (m, k).
        y: the data, (m,), or (m, s) for s sets of data with the same x and coefficients of their own.
        x0: the initial guess of the nonlinear parameters, as for ``least_squares``; the linear ones need none.
        args: further arguments of ``basis``.
        tol: as for ``least_squares``.
        options: further options of ``least_squares``, such as ``bounds`` or ``method``.

    Returns:
        A ``SeparableFit``. Inside a differentiated function, ``x``, ``coefficients``, ``residual``, ``rss`` and ``value`` are differentiable with
        respect to everything that ``basis`` and y hold.

    Raises:
        BadInput: ``basis`` does not return a matrix with as many rows as there are data, or an option is not one of ``least_squares``.

    >>> t = np.linspace(0.0, 4.0, 30)
    >>> fit = variable_projection(
    ...     lambda rates: np.exp(-np.outer(t, rates)), 3.0 * np.exp(-t) - np.exp(-5 * t), np.array([0.5, 3.0])
    ... )
    >>> fit.x.round(6).tolist(), fit.coefficients.round(6).tolist()
    ([1.0, 5.0], [3.0, -1.0])
    """
    if "loss" in options or "scale" in options:
        raise BadInput("variable_projection: the projection is that of squares, so it takes no loss; use least_squares")
    count = np.shape(y)[0] if np.ndim(y) in (1, 2) else 0
    values = basis(Layout(x0).start, *args)
    if np.ndim(values) != 2 or np.shape(values)[0] != count:
        raise BadInput(
            f"variable_projection: basis returned shape {np.shape(values)} for data of shape {np.shape(y)}, expected (m, k) for"
            " data (m,) or (m, s)"
        )

    def misfit(x: Any) -> Any:
        values = basis(x, *args)
        return (values @ np.linalg.lstsq(values, y)[0] - y).reshape(-1)

    fit = least_squares(misfit, x0, tol=tol, **options)
    coefficients = np.linalg.lstsq(basis(fit.x, *args), y)[0]
    covariance, freedom = _statistics(basis, fit.x, coefficients, args, fit.rss)
    layout, deviations = Layout(fit.x, "x"), np.sqrt(np.diag(covariance))
    n = layout.size
    return SeparableFit(
        fit.x,
        fit.iterations,
        fit.evaluations,
        fit.code,
        fit.history,
        fit.state,
        fit.value,
        underived(layout.structure(deviations[:n]), "the standard deviations of a fit"),
        underived(covariance, "the covariance of a fit"),
        fit.rss,
        fit.residual.reshape(np.shape(y)),
        fit.jacobian,
        freedom,
        coefficients,
        underived(deviations[n:].reshape(np.shape(coefficients)), "the standard deviations of a fit"),
    )


@constant
def _statistics(basis: Any, x: Any, coefficients: Any, args: tuple[Any, ...], rss: Any) -> tuple[np.ndarray, int]:
    """Return the covariance of all parameters, from the derivative by the linear ones too, and the degrees of freedom."""
    layout = Layout(x, "x")
    values = basis(x, *args)
    nonlinear = jacobian(lambda v: (basis(layout.structure(v), *args) @ coefficients).reshape(-1))(layout.vector(x))
    m, size = nonlinear.shape[0], np.size(coefficients)
    linear = np.kron(values, np.eye(size // values.shape[1]))
    slopes = np.concatenate([nonlinear.reshape(m, -1), linear], axis=1)
    freedom = m - slopes.shape[1]
    if freedom <= 0:
        return np.full((slopes.shape[1], slopes.shape[1]), np.nan), freedom
    return covariance_of(slopes, rss / freedom), freedom
