"""Exponential integrators: y' = L y + N(t, y), where the linear part L is stiff and is solved exactly.

S. M. Cox, P. C. Matthews, Exponential time differencing for stiff systems, J. Comput. Phys. 176 (2002) 430; A.-K. Kassam, L. N.
Trefethen, Fourth-order time-stepping for stiff PDEs, SIAM J. Sci. Comput. 26 (2005) 1214.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from ..core import BadInput
from .arguments import check_steps, times_of
from .repeated import Step, repeated_states

POINTS = np.exp(1j * np.pi * (np.arange(1, 33) - 0.5) / 16)
"""The points of a circle on which the functions phi of a number are averaged: their formulas cancel near zero."""


def etdrk4(
    linear: Any, nonlinear: Callable[..., Any], y0: Any, ts: ArrayLike, *args: Any, steps: int = 1
) -> NDArray[Any]:
    """Solve y' = L y + nonlinear(t, y, *args) by equal steps of order 4, which L does not limit; it is differentiable.

    Args:
        linear: the matrix L (n, n) for a state (n,); or its diagonal, in the shape of y0, as of a spectral method. Gradients reach
            it.
        nonlinear: returns the other part of y' in the shape of y0.
        y0: the state, a real or complex array of any shape.
        ts: (m,) output times, rising or falling; the first is the time of y0.
        args: further arguments of ``nonlinear``; gradients reach them.
        steps: the number of steps between neighbouring times.

    Returns:
        The states at ``ts``, (m, ...).

    Raises:
        BadInput: shapes do not fit, a real state has a complex part, or ``ts`` or ``steps`` is not what is expected.

    Where L is that of a parabolic equation and a step is long for the fast components, the order may fall to between 2 and 3 (M.
    Hochbruck, A. Ostermann, Explicit exponential Runge-Kutta methods for semilinear parabolic problems, SIAM J. Numer. Anal. 43 (2005)
    1069); the error is small there all the same.

    Source: Cox, Matthews (2002), eq. 26 to 29; Kassam, Trefethen (2005) for the evaluation of its functions of a diagonal L.

    >>> y = etdrk4(np.array([-1000.0]), lambda t, y: 1000 * np.cos(t) + 0 * y, np.ones(1), [0.0, 1.0], steps=10)
    >>> bool(abs(y[-1, 0] - np.cos(1.0) - np.sin(1.0) / 1000) < 1e-5)
    True
    """
    if not callable(nonlinear):
        raise BadInput(f"nonlinear is {type(nonlinear).__name__}; expected a function nonlinear(t, y, *args)")
    times = times_of(ts)
    check_steps(steps)
    L, y = np.asarray(linear), 1.0 * np.asarray(y0)
    is_matrix = y.ndim == 1 and L.shape == (len(y), len(y))
    if not is_matrix and L.shape != y.shape:
        raise BadInput(
            f"linear has shape {L.shape} and y0 {y.shape}; expected the diagonal in the shape of y0, or a matrix (n, n) for y0 (n,)"
        )
    slope = np.asarray(nonlinear(float(times[0]), y, *args))
    if slope.shape != y.shape:
        raise BadInput(f"nonlinear returned shape {slope.shape} for a state of shape {y.shape}; the two must agree")
    if y.dtype.kind != "c" and "c" in (L.dtype.kind, slope.dtype.kind):
        raise BadInput("y0 is real, and linear or the result of nonlinear is complex; give y0 as complex")

    def times_state(a: Any, x: Any) -> Any:
        return np.dot(a, x) if is_matrix else a * x

    def prepare(h: float) -> Step:
        half = _phi(0.5 * h * L, is_matrix)
        whole = _phi(h * L, is_matrix)
        middle = 0.5 * h * half[1]
        first = h * (whole[1] - 3 * whole[2] + 4 * whole[3])
        second = 2 * h * (whole[2] - 2 * whole[3])
        third = h * (4 * whole[3] - whole[2])

        def step(t: float, y: Any) -> Any:
            n0 = nonlinear(t, y, *args)
            decayed = times_state(half[0], y)
            a = decayed + times_state(middle, n0)
            n1 = nonlinear(t + 0.5 * h, a, *args)
            n2 = nonlinear(t + 0.5 * h, decayed + times_state(middle, n1), *args)
            c = times_state(half[0], a) + times_state(middle, 2 * n2 - n0)
            n3 = nonlinear(t + h, c, *args)
            return (
                times_state(whole[0], y)
                + times_state(first, n0)
                + times_state(second, n1 + n2)
                + times_state(third, n3)
            )

        return step

    return np.stack(repeated_states(prepare, y, times, steps))


def _phi(z: Any, is_matrix: bool) -> tuple[Any, Any, Any, Any]:
    """Return e^z and the functions phi_1, phi_2, phi_3 of a matrix z, or of each number."""
    if is_matrix:
        n = len(z)
        one, zero = np.eye(n), np.zeros((n, n))
        rows = [
            np.concatenate([z, one, zero, zero], axis=1),
            np.concatenate([zero, zero, one, zero], axis=1),
            np.concatenate([zero, zero, zero, one], axis=1),
            np.zeros((n, 4 * n)),
        ]
        top = expm(np.concatenate(rows))[:n]
        return top[:, :n], top[:, n : 2 * n], top[:, 2 * n : 3 * n], top[:, 3 * n :]
    w = z[..., None] + POINTS
    e = np.exp(w)
    phi = (e - 1) / w, (e - 1 - w) / w**2, (e - 1 - w - w * w / 2) / w**3
    one, two, three = (np.mean(p, axis=-1) for p in phi)
    if z.dtype.kind == "c":
        return np.exp(z), one, two, three
    return np.exp(z), np.real(one), np.real(two), np.real(three)
