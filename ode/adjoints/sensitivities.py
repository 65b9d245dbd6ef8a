"""Forward sensitivities: the derivatives S_j of the state by y0 and by the parameters, solved beside the state.

They solve S_j' = J S_j + df/dp_j. *Staggered*, they follow the steps that the state has chosen: forward mode through the steps, in
which each stage of the sensitivities is solved after that of the state. *Simultaneous*, the state and the sensitivities are one
system, and the error of both chooses the steps (``error_control="gradient"``).

Source: A. C. Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363, section 3.2 (CVODES); W. F. Feehery, J. E. Tolsma, P. I.
Barton, Efficient sensitivity analysis of large-scale differential-algebraic systems, Appl. Numer. Math. 25 (1997) 41
(staggered); T. Maly, L. R. Petzold, Numerical methods and software for sensitivity analysis of differential-algebraic
systems, Appl. Numer. Math. 20 (1996) 57 (simultaneous).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, jacfwd, stop_gradient
from ..arguments import stops_between
from ..events import Watch
from ..jacobians import DenseJacobian, GivenJacobian
from ..loop import Run, adaptive_steps
from ..problem import Problem, vector_field
from ..solution import IntegrationFailed, reason
from ..state import Leaf
from .equation import pulled_times
from .records import Record, outputs_of

if TYPE_CHECKING:
    from ..integration import Integration


class Sensitivities:
    """The sensitivities of an integration with respect to y0 and the parameters.

    integration: the solve. restore: makes ``args`` of the vector of parameters. watch: the events. is_dense: whether the
    derivative of the dense output is asked for.
    """

    is_forced, has_integral = False, True

    def __init__(
        self, integration: Integration, restore: Callable[[Any], Any], watch: Watch | None, is_dense: bool
    ) -> None:
        self.integration, self.restore, self.watch, self.is_dense = integration, restore, watch, is_dense
        self.moves_ends = watch is not None or is_dense
        """Whether the derivative by the first and the last time is found by sensitivities, too."""

    def run(self, integration: Integration, y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any]) -> Run:
        args = self.restore(theta)
        watch = None if self.watch is None else self.watch.with_args(args)
        if isinstance(integration.form, GivenJacobian):
            integration = replace(
                integration, form=GivenJacobian(integration.form.function, args, integration.form.mass)
            )
        return integration.run(y, args, times, watch, self.is_dense)

    def solve(self, y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any]) -> Record:
        """Solve for the state alone."""
        run = self.run(self.integration, y, theta, times)
        return outputs_of(run, self.is_dense), run.code, run.stats

    def outputs(self, record: Record) -> tuple[Any, ...]:
        """Return the numbers of the run that have derivatives."""
        return record[0]

    def found(self, record: Record, outputs: tuple[Any, ...]) -> Run:
        """Return the run of a record, with numbers that have derivatives."""
        rows, t, y, event_times, event_states, dense = outputs
        pieces = [tuple(part[k] for part in dense) for k in range(len(dense[0]))] if self.is_dense else []
        return Run(rows, record[2], record[1], t, y, list(event_times), list(event_states), pieces, [])

    def pulled(
        self,
        record: Record,
        y: NDArray[Any],
        theta: NDArray[Any],
        times: NDArray[Any],
        d: tuple[Any, ...],
        shape: tuple[int, ...],
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the cotangents of y0 (n,), theta (p,), times (m,) and the forcing for those of the outputs."""
        i, n, q, p = self.integration, len(y), directions(y), len(theta)
        rows, d = record[0][0], _whole(d, record[0])
        g, ends = d[0], _ends(len(times))
        if i.is_gradient_controlled and not self.moves_ends:
            g = _with_end(g, d[2])
            S = augmented(i, y, theta, self.restore, times).rows[:, n:].reshape(len(times), q + p, n)
            products = np.real(np.einsum("mn,mqn->q", np.conj(g), S))
        else:
            quiet = replace(i, tell=None)

            def product(e: NDArray[Any]) -> Any:
                at = times + np.dot(ends, e[q + p :]) if self.moves_ends else times
                run = self.run(quiet, moved(y, e), theta + e[q : q + p].astype(theta.dtype), at)
                return _product(d, outputs_of(run, self.is_dense))

            products = jacfwd(product)(np.zeros(q + p + (2 if self.moves_ends else 0)))
        dy0 = products[:q]
        if q > n:
            dy0 = products[:n] + 1j * products[n:q]
        dy0 = dy0.astype(y.dtype)
        problem = i.problem(self.restore(theta))
        if self.moves_ends:
            dts = pulled_times(problem.slope, times, np.where(np.isfinite(rows), rows, y), g, dy0)
            dts = dts * (1.0 - np.sum(ends, axis=1)) + np.dot(ends, products[q + p :])
        else:
            dts = pulled_times(problem.slope, times, rows, _with_end(g, d[2]), dy0)
            dts[-1] += d[1]
        return dy0, products[q : q + p].astype(theta.dtype), dts, np.zeros(shape, y.dtype)


def _with_end(g: NDArray[Any], dy: NDArray[Any]) -> NDArray[Any]:
    """Return the cotangents of the states at the times (m, n), with that of the last state."""
    return np.concatenate([g[:-1], (g[-1] + dy)[None]])


def _ends(count: int) -> NDArray[Any]:
    """Return how ``count`` times (m, 2) move with the first and the last."""
    ends = np.zeros((count, 2))
    ends[0, 0] = 1.0
    ends[count - 1, 1] = 1.0
    return ends


def _whole(d: Any, x: Any) -> Any:
    """Return a cotangent in the structure of x, with zeros for what was not used."""
    if isinstance(x, tuple):
        return tuple(_whole(None if d is None else d[i], x[i]) for i in range(len(x)))
    return np.zeros_like(x) if d is None else d


def _product(d: Any, x: Any) -> Any:
    """Return the real inner product of a cotangent and a value of the same structure."""
    if isinstance(x, tuple):
        total = 0.0
        for i in range(len(x)):
            total = total + _product(d[i], x[i])
        return total
    return np.sum(np.real(np.conj(d) * x))


def directions(y: NDArray[Any]) -> int:
    """Return the number of real directions of a state."""
    return 2 * len(y) if y.dtype.kind == "c" else len(y)


def moved(y: NDArray[Any], e: NDArray[Any]) -> NDArray[Any]:
    """Return y moved by the first numbers of e: the real parts, and the imaginary parts of a complex state."""
    n = len(y)
    if y.dtype.kind == "c":
        return y + (e[:n] + 1j * e[n : 2 * n])
    return y + e[:n].astype(y.dtype)


def _slopes(f: Callable[[NDArray[Any]], NDArray[Any]], count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the Jacobian of f, whose result may be complex, at zero."""
    zero = np.zeros(count)
    if dtype.kind != "c":
        return jacfwd(f)(zero).astype(dtype)
    return jacfwd(lambda e: np.real(f(e)).copy())(zero) + 1j * jacfwd(lambda e: np.imag(f(e)).copy())(zero)


def augmented(
    integration: Integration,
    y: NDArray[Any],
    theta: NDArray[Any],
    restore: Callable[[Any], Any],
    times: NDArray[Any],
    is_timed: bool = False,
) -> Run:
    """Solve for the state and its sensitivities (q, n) as one system, with the error of both under control.

    A sensitivity has the state's tolerances, the absolute one divided by the size of the parameter, as in CVODES.
    """
    i, n, q = integration, len(y), directions(y)
    total = q + len(theta)

    def slope(t: Any, v: NDArray[Any]) -> NDArray[Any]:
        state, S = v[:n], v[n:].reshape(total, n)

        def along(e: NDArray[Any]) -> NDArray[Any]:
            args = restore(theta + e[q:].astype(theta.dtype))
            return vector_field(i.f, args, i.leaves, i.dtype)(t, state + np.dot(e.astype(v.dtype), S))

        turned = _slopes(along, total, v.dtype)
        own = vector_field(i.f, restore(theta), i.leaves, i.dtype)(t, state)
        return np.concatenate([own, turned.T.reshape(-1)])

    start = _slopes(lambda e: moved(y, e), total, y.dtype).T
    atol, rtol = np.broadcast_to(i.atol, (n,)), np.broadcast_to(i.rtol, (n,))
    scales = _scales(y, theta)
    absolute = np.concatenate([atol, (atol / scales[:, None]).reshape(-1)])
    relative = np.concatenate([rtol, np.broadcast_to(rtol, (total, n)).reshape(-1)])
    v = np.concatenate([y, start.reshape(-1)])
    problem = Problem(slope, (), Leaf(0, len(v), (len(v),)), v.dtype, DenseJacobian(), relative, absolute)
    run = adaptive_steps(
        i.stepper(),
        problem,
        v,
        times,
        stop_gradient(stops_between(i.tstops, stop_gradient(times))),
        i.control,
        relative,
        absolute,
        i.first_step,
        i.max_step,
        i.max_steps,
        None,
        False,
        is_timed=is_timed,
    )
    if run.code > 1:
        text = reason(run.code, i.max_steps, run.t, float(times[-1]), run.stats.last_step)
        raise IntegrationFailed(f'the sensitivities of error_control="gradient" were not solved: {text}')
    return run


@constant
def gradient_steps(
    integration: Integration,
    y: NDArray[Any],
    theta: NDArray[Any],
    restore: Callable[[Any], Any],
    times: NDArray[Any],
) -> NDArray[Any]:
    """Return the steps (k,) that keep the error of the state and of its sensitivities below the tolerances."""
    run = augmented(integration, y, theta, restore, times, is_timed=True)
    return np.array([step[2] for step in run.path])


@constant
def _scales(y: NDArray[Any], theta: NDArray[Any]) -> NDArray[Any]:
    """Return the sizes of the numbers of y0 and of the parameters; 1 for zero."""
    state = np.abs(np.concatenate([y, y]) if y.dtype.kind == "c" else y)
    sizes = np.concatenate([state, np.abs(theta)]).astype(float)
    return np.where(sizes > 0, sizes, 1.0)
