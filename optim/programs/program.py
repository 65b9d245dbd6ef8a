"""A convex quadratic program, and what its methods share."""

from __future__ import annotations

import numpy as np

from ..flatten import Vector
from ..loop import Search
from ..optimality import at_sides
from .primal_dual import Box, NewtonSystem


class Program:
    """``x·P x / 2 + q·x`` to minimise, with ``limits[0] <= A x <= limits[1]`` and ``bounds[0] <= x <= bounds[1]``."""

    def __init__(
        self, P: np.ndarray, q: Vector, A: np.ndarray, limits: tuple[Vector, Vector], bounds: tuple[Vector, Vector]
    ) -> None:
        self.P, self.q, self.A, self.limits, self.bounds = P, q, A, limits, bounds
        self.lower, self.upper = np.concatenate([bounds[0], limits[0]]), np.concatenate([bounds[1], limits[1]])

    def __call__(self, x: Vector) -> tuple[Vector, Vector]:
        """Return the products P x and A x."""
        return self.P @ x, self.A @ x


class ProgramSearch(Search):
    """A search for the solution of a program."""

    multipliers: Vector
    """Of the constraints: P x + q + Aᵀ multipliers + bound_multipliers = 0."""
    bound_multipliers: Vector
    """Of the bounds; negative at a lower bound."""
    values: Vector
    """A x."""


def proves_infeasible(program: Program, y: Vector, z: Vector, tol: float) -> bool:
    """Whether multipliers (of constraints and bounds) prove that no x meets the constraints (lemma of Farkas).

    With ``Aᵀ y + z = 0``, every x has ``y·A x + z·x = 0``; that is impossible if the largest value of this sum within the limits is negative.
    """
    v = np.concatenate([z, y])
    side = np.where(v > 0.0, program.upper, program.lower)
    finite = np.isfinite(side)
    # An infinite side stands for a multiplier that is zero, up to rounding.
    support = float(np.sum(np.where(finite, v * np.where(finite, side, 0.0), 0.0)))
    stray = float(np.sum(np.where(finite, 0.0, np.abs(v))))
    off = float(np.sum(np.abs(program.A.T @ y + z))) + stray
    return support < 0.0 and off <= tol * -support


def proves_unbounded(program: Program, x: Vector, tol: float) -> bool:
    """Whether the objective falls along ``x`` without end."""
    fall = -float(program.q @ x)
    w = np.concatenate([x, program.A @ x])
    down, up = (
        np.where(np.isfinite(program.lower), np.maximum(-w, 0.0), 0.0),
        np.where(np.isfinite(program.upper), np.maximum(w, 0.0), 0.0),
    )
    off = float(np.sum(np.abs(program.P @ x)) + np.sum(down) + np.sum(up))
    return fall > 0.0 and off <= tol * fall


def polished(program: Program, w: Vector, forces: Vector) -> tuple[Vector, Vector, float]:
    """Return x and all multipliers from the equations of the limits that hold at an approximate solution, and their error.

    The error is the largest violation of limits, signs of multipliers, and the gradient of the Lagrangian, relative to the
    numbers of the program.
    """
    n = len(program.q)
    at_lower, at_upper = at_sides(w, forces, program.lower, program.upper)
    active = at_lower | at_upper
    value = np.where(at_lower, np.where(at_lower, program.lower, 0.0), np.where(at_upper, program.upper, 0.0))
    held = Box(np.where(active, value, -np.inf), np.where(active, value, np.inf))
    size = max(1.0, float(np.max(np.abs(program.P))))
    system = NewtonSystem(program.P, program.A, np.zeros(len(w)), held, 1e-9 * size, 1e-9)
    base = np.where(active[:n], value[:n], 0.0)
    x, y = system.refined(-program.q - program.P @ base, value[n:] - program.A @ base)
    x, y = np.where(active[:n], base, x), np.where(active[n:], y, 0.0)
    slope = program.P @ x + program.q + program.A.T @ y
    forces = np.concatenate([np.where(active[:n], -slope, 0.0), y])
    w = np.concatenate([x, program.A @ x])
    wrong = np.where(at_lower, np.maximum(forces, 0.0), np.maximum(-forces, 0.0))
    wrong = np.where(program.lower == program.upper, 0.0, wrong)
    outside = np.maximum(np.maximum(program.lower - w, w - program.upper), 0.0)
    dual = max(float(np.max(wrong)), float(np.max(np.abs(np.where(active[:n], 0.0, slope)))))
    largest = max(1.0, float(np.max(np.abs(program.q))), float(np.max(np.abs(forces))))
    return x, forces, max(float(np.max(outside)) / max(1.0, float(np.max(np.abs(w)))), dual / largest)
