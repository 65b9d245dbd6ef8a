"""Steps on matrix groups and on the spaces that they act on: Y' = A Y stays on the group to rounding, since a step is a product of exponentials.

``magnus`` solves linear equations Y' = A(t) Y by one exponential for a step, of Magnus' series; ``lie_steps`` solves Y' = A(t, Y) Y by
commutator-free methods, which compose several exponentials of sums of the A at the stages.

S. Blanes, F. Casas, J. A. Oteo, J. Ros, The Magnus expansion and some of its applications, Phys. Rep. 470 (2009) 151; A. Iserles, H. Z.
Munthe-Kaas, S. P. Norsett, A. Zanna, Lie-group methods, Acta Numerica 9 (2000) 215; E. Celledoni, A. Marthinsen, B. Owren,
Commutator-free Lie group methods, Future Gener. Comput. Syst. 19 (2003) 341.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from ..core import BadInput
from .arguments import check_steps, times_of
from .repeated import repeated_states

ORDERS = (2, 4, 6)
"""The orders of ``magnus``."""


def magnus(
    generator: Callable[..., Any], y0: Any, ts: ArrayLike, *args: Any, order: int = 4, steps: int = 1
) -> NDArray[Any]:
    """Solve Y' = A(t) Y by equal steps of a Magnus integrator; it is differentiable.

    Y stays unitary if A is anti-Hermitian, and the steps may be long where A oscillates slowly, however fast Y turns.

    Args:
        generator: ``generator(t, *args)`` returns the matrix A (n, n), real or complex.
        y0: the state, (n,) or (n, m).
        ts: (m,) output times, rising or falling; the first is the time of y0.
        args: further arguments of ``generator``; gradients reach them.
        order: 2, 4 or 6; a step takes 1, 2 or 3 evaluations of A and one exponential.
        steps: the number of steps between neighbouring times.

    Returns:
        The states at ``ts``, (m, ...).

    Raises:
        BadInput: shapes do not fit, a real state has a complex generator, or an option is not what is expected.

    Source: Blanes, Casas, Oteo, Ros (2009), section 5, with Gauss-Legendre points.

    >>> y = magnus(lambda t: np.array([[0.0, -2 * t], [2 * t, 0.0]]), np.array([1.0, 0.0]), [0.0, 1.0], steps=4)
    >>> bool(abs(y[-1] - [np.cos(1.0), np.sin(1.0)]).max() < 1e-12)
    True
    """
    if order not in ORDERS:
        raise BadInput(f"order = {order!r}; expected 2, 4 or 6")
    times, y = _checked(generator, y0, ts, steps)
    _check_matrix(generator(float(times[0]), *args), y)

    def step(t: float, h: float, y: NDArray[Any]) -> NDArray[Any]:
        return np.dot(expm(_exponent(generator, t, h, order, args)), y)

    return np.stack(repeated_states(lambda h: lambda t, y: step(t, h, y), y, times, steps))


def _exponent(generator: Callable[..., Any], t: float, h: float, order: int, args: tuple[Any, ...]) -> NDArray[Any]:
    if order == 2:
        return h * generator(t + 0.5 * h, *args)
    if order == 4:
        first, second = (generator(t + (0.5 + s * sqrt(3) / 6) * h, *args) for s in (-1, 1))
        return 0.5 * h * (first + second) + (sqrt(3) / 12) * h * h * _commutator(second, first)
    first, middle, last = (generator(t + (0.5 + s * sqrt(15) / 10) * h, *args) for s in (-1, 0, 1))
    a, b, c = h * middle, (sqrt(15) / 3) * h * (last - first), (10 / 3) * h * (last - 2 * middle + first)
    inner = _commutator(a, b)
    outer = -_commutator(a, 2 * c + inner) / 60
    return a + c / 12 + _commutator(-20 * a - c + inner, b + outer) / 240


def _commutator(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.dot(a, b) - np.dot(b, a)


@dataclass(frozen=True)
class CommutatorFree:
    """A commutator-free method: a stage or the step is a product of exponentials of h sum_j w_j A_j, the last row acting last."""

    name: str
    order: int
    c: tuple[float, ...]
    """The times of the stages in units of the step; the first is 0."""
    stages: tuple[tuple[tuple[float, ...], ...], ...]
    """For each stage after the first, the rows w of its exponentials, which act on the state at the start of the step."""
    step: tuple[tuple[float, ...], ...]
    """The rows w of the exponentials of the step."""


# cf3 and cf4: Celledoni, Marthinsen, Owren (2003).
COMMUTATOR_FREE = {
    method.name: method
    for method in (
        CommutatorFree("lie_euler", 1, (0.0,), (), ((1.0,),)),
        CommutatorFree("lie_midpoint", 2, (0.0, 0.5), (((0.5,),),), ((0.0, 1.0),)),
        CommutatorFree(
            "cf3",
            3,
            (0.0, 1 / 3, 2 / 3),
            (((1 / 3,),), ((0.0, 2 / 3),)),
            ((1 / 3, 0.0, 0.0), (-1 / 12, 0.0, 3 / 4)),
        ),
        CommutatorFree(
            "cf4",
            4,
            (0.0, 0.5, 0.5, 1.0),
            (((0.5,),), ((0.0, 0.5),), ((0.5, 0.0, 0.0), (-0.5, 0.0, 1.0))),
            ((1 / 4, 1 / 6, 1 / 6, -1 / 12), (-1 / 12, 1 / 6, 1 / 6, 1 / 4)),
        ),
    )
}
"""The name of a commutator-free method -> its coefficients."""


def lie_steps(
    generator: Callable[..., Any],
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    method: str | CommutatorFree = "cf4",
    steps: int = 1,
    exponential: Callable[[Any], Any] = expm,
) -> NDArray[Any]:
    """Solve Y' = A(t, Y) Y by equal steps that stay on the group of the exponentials of A, or on its orbit; it is differentiable.

    Args:
        generator: ``generator(t, Y, *args)`` returns A: a matrix (n, n), or what ``exponential`` takes.
        y0: the state, (n,) or (n, m).
        ts: (m,) output times, rising or falling; the first is the time of y0.
        args: further arguments of ``generator``; gradients reach them.
        method: "lie_euler" (order 1), "lie_midpoint" (2), "cf3" (3), "cf4" (4), or a ``CommutatorFree``.
        steps: the number of steps between neighbouring times.
        exponential: returns the matrix (n, n) of an element; ``rotation`` takes angular velocities (3,).

    Returns:
        The states at ``ts``, (m, ...).

    Raises:
        BadInput: shapes do not fit, a real state has a complex generator, or an option is not what is expected.

    Source: Celledoni, Marthinsen, Owren (2003).

    >>> inertia = np.array([1.0, 2.0, 3.0])
    >>> spin = lie_steps(lambda t, m: -m / inertia, np.array([0.6, 0.0, 0.8]), [0.0, 9.0], exponential=rotation, steps=20)
    >>> bool(abs(np.linalg.norm(spin[-1]) - 1) < 1e-14)
    True
    """
    found = COMMUTATOR_FREE.get(method) if isinstance(method, str) else method
    if not isinstance(found, CommutatorFree):
        raise BadInput(
            f"method {method!r} is not known; choose one of {', '.join(COMMUTATOR_FREE)}, or give a CommutatorFree"
        )
    times, y = _checked(generator, y0, ts, steps)
    _check_matrix(exponential(np.asarray(generator(float(times[0]), y, *args))), y)

    def moved(h: float, rows: Any, slopes: list[Any], y: NDArray[Any]) -> NDArray[Any]:
        for row in rows:
            exponent = sum((h * w) * a for w, a in zip(row, slopes) if w)
            y = np.dot(exponential(exponent), y)
        return y

    def step(t: float, h: float, y: NDArray[Any]) -> NDArray[Any]:
        slopes = [generator(t, y, *args)]
        for c, rows in zip(found.c[1:], found.stages):
            slopes.append(generator(t + c * h, moved(h, rows, slopes, y), *args))
        return moved(h, found.step, slopes, y)

    return np.stack(repeated_states(lambda h: lambda t, y: step(t, h, y), y, times, steps))


def rotation(w: Any) -> NDArray[Any]:
    """Return the rotation (3, 3) by the angle |w| about w (3,): the exponential of v -> w x v, by Rodrigues' formula.

    Args:
        w: (3,) a real vector; its derivative at zero is right, too.

    Raises:
        BadInput: w is not of shape (3,).

    >>> rotation(np.array([0.0, 0.0, np.pi / 2])).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if np.shape(w) != (3,):
        raise BadInput(f"w has shape {np.shape(w)}; expected (3,), an axis times an angle")
    square = np.sum(w * w)
    if square > 1e-3:
        angle = np.sqrt(square)
        first, second = np.sin(angle) / angle, 2 * np.sin(0.5 * angle) ** 2 / square
    else:  # the first terms of their series; the next one is below rounding
        first = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
        second = 0.5 - square / 24 * (1 - square / 30 * (1 - square / 56 * (1 - square / 90)))
    zero = 0.0 * w[0]
    cross = np.stack([np.stack([zero, -w[2], w[1]]), np.stack([w[2], zero, -w[0]]), np.stack([-w[1], w[0], zero])])
    return np.eye(3) + first * cross + second * np.dot(cross, cross)


def _checked(generator: Any, y0: Any, ts: Any, steps: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    if not callable(generator):
        raise BadInput(f"generator is {type(generator).__name__}; expected a function that returns the matrix A")
    times = times_of(ts)
    check_steps(steps)
    y = 1.0 * np.asarray(y0)
    if y.ndim not in (1, 2):
        raise BadInput(f"y0 has shape {y.shape}; expected a vector (n,) or a matrix (n, m)")
    return times, y


def _check_matrix(matrix: Any, y: NDArray[Any]) -> None:
    shape = np.shape(matrix)
    if shape != (len(y), len(y)):
        raise BadInput(f"A has shape {shape} and y0 {y.shape}; for this y0, A must have shape {(len(y), len(y))}")
    if np.asarray(matrix).dtype.kind == "c" and y.dtype.kind != "c":
        raise BadInput("y0 is real and A is complex; give y0 as complex")
