"""The adjoint equation of y' = f(t, y, p): the continuous adjoints are made of it.

With g_i the cotangents of the states at the times t_i, the adjoint state l(t) solves

    l' = -J^T l,    l(T) = g_m,    l(t_i-) = l(t_i+) + g_i,    J = df/dy(t, y(t)),

from the last time to the first, where it is the cotangent of y0. That of the parameters is the integral of (df/dp)^T l, that of
t_i is g_i . f(t_i, y_i), that of the first time -l . f. The three variants differ in how y(t) and the integral are found:

    "backsolve"      y is solved backwards beside l and the integral, from its values at the times t_i
    "interpolating"  y is the dense output of the forward solve; the integral is solved beside l
    "quadrature"     y is the dense output of the forward solve; the integral is a quadrature over the dense output of l

Parameters that are not numbers in ``args`` (what f closes over, ints) are reached by the quadrature in all variants
(``forcing``).

Source: Y. Cao, S. Li, L. Petzold, R. Serban, Adjoint sensitivity analysis for differential-algebraic equations, SIAM J.
Sci. Comput. 24 (2003) 1076; R. T. Q. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud, Neural ordinary differential
equations, NeurIPS 2018; C. Rackauckas et al., A comparison of automatic differentiation and continuous sensitivity
analysis for derivatives of differential equation solutions, IEEE HPEC 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import MorulaError, constant, pullback, stop_gradient
from ..jacobians import DenseJacobian
from ..loop import Run, adaptive_steps
from ..problem import Problem, vector_field
from ..solution import IntegrationFailed, reason
from ..state import Leaf
from .forcing import pulled_forcing
from .jacobians import AdjointForm, WithIntegrals
from .options import Adjoint, tolerances_of
from .records import OfStates, Record, record_of, state_at

if TYPE_CHECKING:
    from ..integration import Integration

APART = 100.0
"""How far the state of the backward solve may be from that of the forward solve at a saved time, in tolerances."""


class AdjointEquation(OfStates):
    """The adjoint equation of an integration.

    integration: the solve. restore: makes ``args`` of the vector of parameters. options: of the adjoint.
    is_explicit: whether all parameters are in that vector.
    """

    def __init__(
        self, integration: Integration, restore: Callable[[Any], Any], options: Adjoint, is_explicit: bool
    ) -> None:
        self.integration, self.restore, self.options = integration, restore, options
        self.is_backsolve = options.name == "backsolve"
        self.has_integral = options.name != "quadrature"
        self.is_forced = not (is_explicit and self.has_integral)
        """Whether the quadrature is needed."""
        self.is_dense = self.is_forced or not self.is_backsolve
        """Whether the forward solve keeps its dense output."""

    def rhs(self, theta: NDArray[Any]) -> Callable[[Any, NDArray[Any]], NDArray[Any]]:
        """Return f as a function of t and the vector y, for a vector of parameters."""
        i = self.integration
        return vector_field(i.f, self.restore(theta), i.leaves, i.dtype)

    def solve(self, y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any]) -> Record:
        """Solve forwards."""
        run = self.integration.run(y, self.restore(theta), times, None, self.is_dense)
        return record_of(run, self.is_dense)

    def pulled(
        self,
        record: Record,
        y: NDArray[Any],
        theta: NDArray[Any],
        times: NDArray[Any],
        cotangents: NDArray[Any],
        shape: tuple[int, ...],
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the cotangents of y0 (n,), theta (p,), times (m,) and the forcing for those of the states (m, n).

        ``shape`` is that of the forcing.
        """
        rows, n = record[0], cotangents.shape[1]
        size = _size(cotangents)
        g = cotangents / size
        at_start, at_end = _groups(times)
        lam = np.dot(at_end.astype(g.dtype), g)
        saved = _Saved(self, rows, g, times)
        if self.is_backsolve:
            v = np.concatenate([rows[-1], lam, np.zeros(len(theta), g.dtype)])
        elif self.has_integral:
            v = np.concatenate([lam, np.zeros(len(theta), g.dtype)])
        else:
            v = lam
        run = self._solved(record, theta, times, v, saved)
        if self.is_backsolve:
            self.check_return(run.y[:n], rows[0], times[0])
        found = run.y[n:] if self.is_backsolve else run.y
        dy0 = found[:n] + np.dot(at_start.astype(g.dtype), g)
        dtheta = np.real(found[n:]) if self.has_integral else np.zeros(len(theta))
        dforcing = np.zeros(shape, g.dtype)
        if self.is_forced:
            skip = n if self.is_backsolve else 0
            dforcing = pulled_forcing(record, run.record, skip, n, shape)
        dts = pulled_times(self.rhs(theta), times, rows, g, dy0)
        return size * dy0, size * dtheta.astype(theta.dtype), size * dts, size * dforcing

    def check_return(self, y: NDArray[Any], saved: NDArray[Any], t: Any) -> None:
        """Raise an error if the backward solve came to another state than the one that was saved."""
        scaled = np.abs(y - saved) / (self.integration.atol + self.integration.rtol * np.abs(saved))
        apart = np.sqrt(np.mean(scaled**2))
        if not apart <= APART:
            raise MorulaError(
                f'adjoint="backsolve" is unstable here: at t = {t:.6g} the backward solve is {apart:.3g} tolerances from the '
                f'state, of which up to {APART:g} are taken for accurate; "interpolating" keeps the states'
            )

    def _solved(
        self,
        record: Record,
        theta: NDArray[Any],
        times: NDArray[Any],
        v: NDArray[Any],
        saved: _Saved,
    ) -> Run:
        """Solve the adjoint equation from the last time to the first."""
        i = self.integration
        n = saved.rows.shape[1]
        rtol, atol = tolerances_of(self.options, i.rtol, i.atol)
        scale = 1.0 / np.maximum(1.0, np.abs(theta))
        absolute = np.concatenate([np.full(n, atol), atol * stop_gradient(scale)]) if self.has_integral else atol
        form: Any = DenseJacobian()
        if not self.is_backsolve:
            form = AdjointForm(i.form, self.rhs(theta), lambda t: state_at(record, t), n)
            form = WithIntegrals(form, n) if self.has_integral else form
        if self.is_backsolve:
            absolute = np.concatenate([np.broadcast_to(i.atol, (n,)), absolute])
            relative: Any = np.concatenate([np.broadcast_to(i.rtol, (n,)), np.full(n + len(theta), rtol)])
        else:
            relative = rtol
        slope = self._backwards(record, theta, n)
        problem = Problem(slope, (), Leaf(0, len(v), (len(v),)), v.dtype, form, relative, absolute)
        run = adaptive_steps(
            i.stepper(),
            problem,
            v,
            np.stack([times[-1], times[0]]),
            saved.stops,
            i.control,
            relative,
            absolute,
            None,
            i.max_step,
            i.max_steps,
            None,
            self.is_forced,
            landing=saved,
        )
        if run.code > 1:
            text = reason(run.code, i.max_steps, run.t, float(times[0]), run.stats.last_step)
            raise IntegrationFailed(
                f'the adjoint equation (adjoint="{self.options.name}") was not solved: {text}; adjoint="discrete" does not '
                "need it"
            )
        return run

    def _backwards(self, record: Record, theta: NDArray[Any], n: int) -> Callable[[Any, Any], Any]:
        """Return the right-hand side of the adjoint equation."""

        def f(t: Any, y: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
            return self.rhs(theta)(t, y)

        def backsolve(t: Any, v: NDArray[Any]) -> NDArray[Any]:
            dy, back = pullback(lambda y, theta: f(t, y, theta), v[:n], theta)
            dlam, dtheta = back(v[n : 2 * n])
            return np.concatenate([dy, -dlam, -dtheta.astype(v.dtype)])

        def interpolating(t: Any, v: NDArray[Any]) -> NDArray[Any]:
            _, back = pullback(lambda y, theta: f(t, y, theta), state_at(record, t), theta)
            dlam, dtheta = back(v[:n])
            return -np.concatenate([dlam, dtheta.astype(v.dtype)])

        def quadrature(t: Any, v: NDArray[Any]) -> NDArray[Any]:
            _, back = pullback(lambda y: f(t, y, theta), state_at(record, t))
            return -back(v)[0]

        return backsolve if self.is_backsolve else interpolating if self.has_integral else quadrature


class _Saved:
    """The saved times as stops of the backward solve, at which the adjoint state jumps.

    Where times are equal, the first stop of them that is visited takes all their jumps.
    """

    def __init__(self, equation: AdjointEquation, rows: NDArray[Any], g: NDArray[Any], times: NDArray[Any]) -> None:
        self.equation, self.rows = equation, rows
        given = np.asarray(equation.integration.tstops, dtype=float).reshape(-1)
        order, first, inner = _order(times, given)
        stops = np.concatenate([times[1:-1], np.clip(given, np.min(times), np.max(times)), times[:1]])
        self.stops = stops[order]
        zeros = np.zeros((len(order), rows.shape[1]), rows.dtype)
        kicks = np.concatenate([g[1:-1] * inner[:, None].astype(g.dtype), zeros[: len(given) + 1]])
        saved = np.concatenate([rows[1:-1], zeros[: len(given) + 1]])
        count = np.concatenate([np.ones(len(inner)), np.zeros(len(given) + 1)])
        self.kicks, self.sums, self.counts = np.zeros_like(zeros), np.zeros_like(zeros), np.zeros(len(order))
        np.add.at(self.kicks, first, kicks[order])
        np.add.at(self.sums, first, saved[order])
        np.add.at(self.counts, first, count[order])

    def __call__(self, j: int, t: Any, v: NDArray[Any]) -> NDArray[Any]:
        n = self.rows.shape[1]
        if not self.equation.is_backsolve:
            return np.concatenate([v[:n] + self.kicks[j], v[n:]])
        saved = self.sums[j] / np.maximum(self.counts[j], 1.0)
        if self.counts[j] > 0:
            self.equation.check_return(v[:n], saved, t)
        y = np.where(self.counts[j] > 0, saved, v[:n])
        return np.concatenate([y, v[n : 2 * n] + self.kicks[j], v[2 * n :]])


def pulled_times(
    rhs: Callable[[Any, NDArray[Any]], NDArray[Any]],
    times: NDArray[Any],
    rows: NDArray[Any],
    g: NDArray[Any],
    dy0: NDArray[Any],
) -> NDArray[Any]:
    """Return the cotangents of the times (m,), for those of the states (m, n) and of y0."""
    dts = np.zeros(len(times))
    for i in range(1, len(times)):
        dts[i] = np.real(np.vdot(g[i], rhs(times[i], rows[i])))
    dts[0] = -np.real(np.vdot(dy0 - g[0], rhs(times[0], rows[0])))
    return dts


@constant
def _size(g: NDArray[Any]) -> float:
    """Return the largest number of the cotangents, by which they are divided: the tolerances are relative to it."""
    size = float(np.max(np.abs(g))) if g.size else 0.0
    return size if size > 0.0 else 1.0


@constant
def _groups(times: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return which times are the first one, and which the last one; all are the last one if the span is empty."""
    at_end = times == times[-1]
    return (times == times[0]) & ~at_end, at_end


@constant
def _order(times: NDArray[Any], given: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the order in which stops are visited, for each of them the first stop at its time, and which of the inner
    times are neither the first nor the last one."""
    sign = 1.0 if times[-1] >= times[0] else -1.0
    stops = np.concatenate([times[1:-1], np.clip(given, np.min(times), np.max(times)), times[:1]])
    order = np.argsort(-sign * stops, kind="stable")
    visited = -sign * stops[order]
    inner = (times[1:-1] != times[0]) & (times[1:-1] != times[-1])
    return order, np.searchsorted(visited, visited, side="left"), inner
