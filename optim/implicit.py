"""The derivative of a solution with respect to everything that the function depends on.

The search is not differentiated step by step. At the minimum x of f(x, θ) the gradient vanishes, so by the implicit
function theorem H dx = -d(∇f) at fixed x, with the Hessian H. One solve with H turns a cotangent of x into a cotangent
of ∇f. ∇f is computed once more at the minimum and differentiated like any other program, which gives the cotangents of
everything that f reads: other arguments, closed-over variables, attributes. The residual of a root takes the place of
∇f, and its Jacobian that of H; the conditions of optimality take it where there are constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import BadInput, MorulaError, adjoint, implicit, nestlevel, tree
from ..linalg import FunctionOperator, gmres
from .flatten import Layout, Vector
from .results import AT_ROUNDING, CONVERGED, Status

Slope = Callable[[Any], Any]
ADJOINTS = ("implicit", "krylov", "unrolled")
ONE_STEP = "one-step"


@dataclass(frozen=True)
class Equation:
    """The words in which the errors of a derivative speak of the equation that the solution meets."""

    found: str
    matrix: str
    remedy: str


MINIMUM = Equation("minimum", "Hessian", "add a penalty on the parameters that are not determined")
ROOT = Equation("root", "Jacobian", "check that the root is isolated")


def check_adjoint(solver: str, adjoint: str, further: tuple[str, ...] = ()) -> None:
    """Refuse an unknown way to differentiate."""
    if adjoint not in ADJOINTS + further:
        raise BadInput(f"{solver}: adjoint is {adjoint!r}, expected one of {', '.join(map(repr, ADJOINTS + further))}")


def attached(
    x: Any,
    slope: Slope,
    code: Any,
    adjoint: str = "implicit",
    equation: Equation = MINIMUM,
    weak: Any = False,
    preconditioner: Callable[[Vector], Vector] | None = None,
) -> Any:
    """Return the solution ``x`` as a differentiable function of everything that ``slope`` reads, which vanishes at x.

    ``slope`` returns the structure of x. ``code`` says how the search ended: if it failed, differentiating the result
    raises an error. ``adjoint`` is ``"implicit"``, with the matrix H computed and factorised, ``"krylov"``, with
    products only, or ``"one-step"``, where ``slope(x) = g(x) - x`` and ∂g is left out of H. ``weak`` says whether a constraint holds without force, so that only one-sided derivatives exist. A ``preconditioner`` solves nearly with H; H, which is
    large then, is not formed.
    """
    layout = Layout(x, "x")

    def slopes(vector: Vector) -> Vector:
        return layout.vector(slope(layout.structure(vector)), "the gradient")

    def dense(pull: Callable[[Vector], Vector], dx: Vector) -> Any:
        refuse(code, equation)
        if weak:
            raise MorulaError(
                "no derivative: a constraint holds at the minimum with multiplier zero, so the minimum has one-sided derivatives"
                " only; drop the constraint, or make it strict"
            )
        rows, units = np.zeros((dx.size, dx.size)), np.eye(dx.size)
        for i in range(dx.size):  # a loop over an array: compiled programs hold one product, not one for each unknown
            rows[i] = pull(units[i])
        matrix = rows.T
        if not np.linalg.cond(matrix) < 1.0 / np.finfo(np.float64).eps:
            raise MorulaError(
                f"no derivative: the {equation.matrix} is singular at the {equation.found}, so the {equation.found} is not"
                f" unique or not differentiable; {equation.remedy}"
            )
        return np.linalg.solve(matrix, dx)

    def by_products(pull: Callable[[Vector], Vector], dx: Vector) -> Any:
        refuse(code, equation)
        if weak:
            raise MorulaError(
                "no derivative: a constraint holds at the minimum with multiplier zero, so the minimum has one-sided derivatives"
                " only; drop the constraint, or make it strict"
            )
        shape = dx.size, dx.size
        near = None if preconditioner is None else FunctionOperator(preconditioner, shape)
        solution = gmres(FunctionOperator(pull, shape), dx, preconditioner=near, rtol=1e-11)
        if not solution.converged:
            raise MorulaError(
                f"no derivative: GMRES did not converge for the adjoint system (residual norm {solution.residual_norm:.3g}, of"
                f' {np.linalg.norm(dx):.3g} at the start); use adjoint="implicit", or {equation.remedy}'
            )
        return solution.x

    def one_step(pull: Callable[[Vector], Vector], dx: Vector) -> Any:
        refuse(code, equation)
        return -dx

    plain = dense if preconditioner is None else by_products
    solve = {"krylov": by_products, ONE_STEP: one_step}.get(adjoint, plain)
    return layout.structure(implicit(layout.vector(x), slopes, solve))


def refuse(code: Any, equation: Equation) -> None:
    """Raise an error if the search has not converged."""
    for status in Status:
        if status not in (CONVERGED, AT_ROUNDING) and code == int(status):
            raise MorulaError(f"the search found no {equation.found}, so there is no derivative: {status.message}")


def underived(value: Any, name: str, remedy: str = "compute it from the derivatives of your own function") -> Any:
    """Return ``value``; raise an error if a cotangent other than zero reaches it, since no derivative is implemented."""
    vector, restore = tree.flatten(value)
    return restore(_held(vector, name, remedy))


def _held(vector: Vector, name: str, remedy: str) -> Vector:
    return vector


@adjoint(_held)
def _held_with_pullback(vector: Vector, name: str, remedy: str) -> tuple[Any, Any]:
    def back(dy: Vector) -> tuple[Any, ...]:
        if np.any(dy != 0.0):
            raise MorulaError(f"{name} cannot be differentiated; {remedy}")
        return None, None, None

    return (vector if nestlevel() == 0 else _held(vector, name, remedy)), back
