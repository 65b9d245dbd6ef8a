"""The Jacobian of the adjoint equation: that of f, transposed, beside rows of integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import pullback
from ..jacobians import BandedJacobian, DenseJacobian, Form, Solver, VectorField


class AdjointForm(Form):
    """The Jacobian -J^T of the adjoint equation, in the form that the forward solve has for J.

    form: of J. f: the right-hand side of the forward solve. state: the solution as a function of time. n: its length.
    """

    def __init__(self, form: Any, f: VectorField, state: Callable[[Any], NDArray[Any]], n: int) -> None:
        self.form, self.f, self.state = form, f, state
        self.shape = (n, n) if isinstance(form, DenseJacobian) else (-1,)
        if isinstance(form, BandedJacobian):
            self.shape = (n, form.lower + form.upper + 1)

    def entries(self, rhs: VectorField, t: Any, v: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of J."""
        return self.form.entries(self.f, t, self.state(t))

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return self.form.blank(n, dtype)

    def unfactored(self, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        return self.form.unfactored(n, dtype)

    def factors(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> tuple[NDArray[Any], ...]:
        return self.form.factors(self.f, entries, -shift, not is_transposed)

    def solved(
        self,
        rhs: VectorField,
        factors: tuple[NDArray[Any], ...],
        b: NDArray[Any],
        is_transposed: bool,
        mass: Any = None,
    ) -> NDArray[Any]:
        return -self.form.solved(self.f, factors, b, not is_transposed)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        solve = self.form.coupled(self.f, entries, -mixing, not is_transposed)
        return lambda b: -solve(b)


class WithIntegrals(Form):
    """The Jacobian of x' = A(t) x, z' = C(t) x, whose solve needs only that of A, and products with C.

    form: of A. n: the length of x. The right-hand side must be linear.
    """

    def __init__(self, form: AdjointForm, n: int) -> None:
        self.form, self.n, self.shape = form, n, form.shape

    def _inner(self, rhs: VectorField, rest: int) -> VectorField:
        return lambda t, x: rhs(t, np.concatenate([x, np.zeros(rest, x.dtype)]))[: self.n]

    def _integrals(self, rhs: VectorField, t: Any, x: NDArray[Any], rest: int) -> NDArray[Any]:
        """Return C x; x may be complex."""
        if x.dtype.kind == "c":
            real = self._integrals(rhs, t, np.real(x).copy(), rest)
            return real + 1j * self._integrals(rhs, t, np.imag(x).copy(), rest)
        return rhs(t, np.concatenate([x, np.zeros(rest, x.dtype)]))[self.n :]

    def _transposed(self, rhs: VectorField, t: Any, z: NDArray[Any]) -> NDArray[Any]:
        """Return C^T z."""
        back = pullback(lambda x: self._integrals(rhs, t, x, len(z)), np.zeros(self.n, z.dtype))[1]
        return back(z)[0]

    def entries(self, rhs: VectorField, t: Any, v: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of A, and the time."""
        n = self.n
        found = self.form.entries(self._inner(rhs, len(v) - n), t, v[:n])
        return np.append(found.reshape(-1), t)

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.append(self.form.blank(self.n, dtype).reshape(-1), 0.0)

    def unfactored(self, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        return *self.form.unfactored(self.n, dtype), np.zeros(2, dtype)

    def factors(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> tuple[NDArray[Any], ...]:
        """Return those of A, and the time and the shift."""
        inner = self.form.factors(rhs, entries[:-1].reshape(self.shape), shift, is_transposed)
        return *inner, np.stack([entries[-1] + 0.0 * shift, shift])

    def solved(
        self,
        rhs: VectorField,
        factors: tuple[NDArray[Any], ...],
        b: NDArray[Any],
        is_transposed: bool,
        mass: Any = None,
    ) -> NDArray[Any]:
        n, t, shift = self.n, factors[-1][0].real, factors[-1][1]
        rest = len(b) - n
        if is_transposed:
            z = b[n:] / shift
            x = self.form.solved(rhs, factors[:-1], b[:n] + self._transposed(rhs, t, z), True)
            return np.concatenate([x, z])
        x = self.form.solved(rhs, factors[:-1], b[:n], False)
        return np.concatenate([x, (b[n:] + self._integrals(rhs, t, x, rest)) / shift])

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        n, stages = self.n, len(entries)

        def solve(b: NDArray[Any]) -> NDArray[Any]:
            rest = b.shape[1] - n
            parts = np.stack([entries[i, :-1].reshape(self.shape) for i in range(stages)])
            inner = self.form.coupled(self._inner(rhs, rest), parts, mixing, is_transposed)
            if is_transposed:
                z = np.linalg.solve(mixing, b[:, n:])
                turned = np.stack([self._transposed(rhs, entries[i, -1], z[i]) for i in range(stages)])
                return np.concatenate([inner(b[:, :n] + turned), z], axis=1)
            x = inner(b[:, :n])
            gained = np.stack([self._integrals(rhs, entries[i, -1], x[i], rest) for i in range(stages)])
            return np.concatenate([x, np.linalg.solve(mixing, b[:, n:] + gained)], axis=1)

        return solve
