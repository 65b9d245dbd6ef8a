"""The user's f as a function of a time and a vector, its derivatives, and the mass matrix."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, jvp
from .jacobians import DenseJacobian, GivenJacobian, Solver, VectorField
from .mass import Mass
from .second_order import SecondOrder
from .split_sides import Split
from .state import Leaf, pack, unpack


class Problem:
    """M y' = rhs(t, y) on vectors (n,).

    f, args: the user's function and its further arguments. leaves: the layout of the state. dtype: of the vector.
    jacobian: the form of the Jacobian, for implicit methods. rtol, atol: the tolerances.
    mass: M; None for the unit matrix. Of a ``Split``, ``parts`` are the vector fields; of a ``SecondOrder``, ``acceleration`` is that of
    the positions, which are the first half of the state.
    """

    def __init__(
        self,
        f: Callable[..., Any] | Split | SecondOrder,
        args: tuple[Any, ...],
        leaves: Any,
        dtype: np.dtype[Any],
        jacobian: Any,
        rtol: Any,
        atol: Any,
        mass: Mass | None = None,
    ) -> None:
        self.parts: tuple[VectorField, VectorField] | None = None
        if isinstance(f, Split):
            stiff, nonstiff = vector_field(f.stiff, args, leaves, dtype), vector_field(f.nonstiff, args, leaves, dtype)
            self.rhs: VectorField = lambda t, y: stiff(t, y) + nonstiff(t, y)
            self.parts = (stiff, nonstiff)
        elif isinstance(f, SecondOrder):
            acceleration = vector_field(f.acceleration, args, leaves[0], dtype)
            self.acceleration = acceleration
            self.rhs = lambda t, y: np.concatenate([y[len(y) // 2 :], acceleration(t, y[: len(y) // 2])])
        else:
            self.rhs = vector_field(f, args, leaves, dtype)
        self.dtype, self.jacobian, self.rtol, self.atol, self.mass = dtype, jacobian, rtol, atol, mass
        self.matrix = None if mass is None else mass.matrix
        tightest = float(np.min(rtol))
        self.kappa = max(10 * 2e-16 / tightest, min(1e-2, sqrt(tightest))) if tightest > 0 else 1e-3
        """The error of a stage of an implicit method relative to the tolerance of the step (RADAU5's choice)."""
        self.most_iterations = 10
        """Iterations of Newton's method after which a stage has failed: a shorter step is then cheaper."""

    def without_mass(self) -> Problem:
        """Return the same equation as y' = M^-1 f, for a regular M."""
        mass, rhs, other = self.mass, self.rhs, copy(self)
        other.mass = other.matrix = None
        if mass is not None:
            other.rhs = lambda t, y: mass.undone(rhs(t, y))
            if isinstance(self.jacobian, GivenJacobian):
                other.jacobian = GivenJacobian(self.jacobian.function, self.jacobian.args, mass.matrix)
        return other

    def stiff_part(self) -> Problem:
        """Return the equation of the stiff part of a ``Split`` alone."""
        other = copy(self)
        if self.parts is not None:
            other.rhs = self.parts[0]
        return other

    def solver(self, t: float, y: NDArray[Any], shift: Any, is_transposed: bool = False) -> Solver:
        """Return the function that solves (shift M - J) x = b, with the Jacobian J of f at t and y, or its transpose."""
        return self.jacobian.solver(self.rhs, self.jacobian.entries(self.rhs, t, y), shift, is_transposed, self.matrix)

    def massed(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return M x; for x (s, n), of each row."""
        return x if self.mass is None else self.mass.times(x)

    def time_derivative(self, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return the derivative of f with respect to t at a fixed state, (n,)."""
        return jvp(lambda t: self.rhs(t, y), (t,), (1.0,))[1]

    def slope(self, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return y' (n,) at a state that satisfies the algebraic equations: (M - Q J) y' = f + Q f_t."""
        if self.mass is None:
            return self.rhs(t, y)
        drift = jvp(lambda t: self.algebraic(t, y), (t,), (1.0,))[1]
        return self.algebraic_solver(t, y)(self.rhs(t, y) + drift)

    def algebraic(self, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return Q f (n,), the residual of the algebraic equations."""
        return self.mass.algebraic(self.rhs(t, y)) if self.mass is not None else np.zeros_like(y)

    def algebraic_solver(self, t: float, y: NDArray[Any]) -> Solver:
        """Return the function that solves (M - Q J) x = b."""
        form = DenseJacobian() if isinstance(self.jacobian, GivenJacobian) else self.jacobian
        return form.solver(self.algebraic, form.entries(self.algebraic, t, y), 1.0, False, self.matrix)


def vector_field(f: Callable[..., Any], args: tuple[Any, ...], leaves: Any, dtype: np.dtype[Any]) -> VectorField:
    """Return f as a function of a time and a vector; a state that is one array or number needs no packing.

    It returns new arrays: f may fill and return one and the same array in all calls.
    """
    shape = leaves.shape if isinstance(leaves, Leaf) else None

    if shape is None:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            return _derivative(f(t, unpack(y, leaves), *args), leaves, dtype)

    elif shape == ():
        numbers = (dtype.type, {"f8": float, "c16": complex}.get(dtype.str[1:]))

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y[0], *args)
            return np.array([dy]) if type(dy) in numbers else _derivative(dy, leaves, dtype)

    elif len(shape) == 1:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y, *args)
            if type(dy) is np.ndarray and dy.shape == shape and dy.dtype == dtype:
                return dy.copy()
            return _derivative(dy, leaves, dtype)

    else:

        def rhs(t: float, y: NDArray[Any]) -> NDArray[Any]:
            dy = f(t, y.reshape(shape), *args)
            if type(dy) is np.ndarray and dy.shape == shape and dy.dtype == dtype:
                return dy.flatten()
            return _derivative(dy, leaves, dtype)

    return rhs


def _derivative(dy: Any, leaves: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    vector = pack(dy, leaves, "the derivative that f returned")
    if vector.dtype.kind == "c" and dtype.kind != "c":
        raise BadInput(f"f returned complex values for a real state; give y0 as complex to solve in {vector.dtype}")
    return vector.astype(dtype)
