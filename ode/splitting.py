"""Splitting methods: a flow that is the sum of two simpler ones is followed by taking these in turn.

For y' = f_1(y) + f_2(y), each with a flow that is known, ``split`` composes the two flows. For q'' = a(q), and for every
separable Hamiltonian, they are drifts, q += d h v, and kicks, v += k h a(q): then the method is symplectic, and the energy
of a conservative system does not drift (``symplectic``). A method is a list of coefficients, and one loop runs all methods.
Every method here except those of order 1 and 3 is symmetric, so it is reversible in time, has even order, and its energy
error stays bounded over exponentially long times.

E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd edition, Springer 2006, chapters II.4, II.5, V.3, IX.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, constant
from .arguments import check_steps
from .repeated import repeated_states

Flow = Callable[[float, Any], Any]


@dataclass(frozen=True)
class Splitting:
    """A splitting method: drifts and kicks, or the first and the second flow, alternate in a step: d_1, k_1, d_2, ..., d_n.

    >>> Splitting("leapfrog", 2, (0.5, 0.5), (1.0,)).order
    2
    """

    name: str
    order: int
    """The order of convergence."""
    drifts: tuple[float, ...]
    """(d_1, ..., d_n): the lengths of the drifts in units of the step."""
    kicks: tuple[float, ...]
    """(k_1, ..., k_(n - 1)): the lengths of the kicks in units of the step."""


def compose(name: str, order: int, base: Splitting, weights: tuple[float, ...]) -> Splitting:
    """Compose a method of steps of ``base``; neighbouring drifts are merged.

    Args:
        name, order: of the new method.
        base: the method to repeat.
        weights: the sizes of its steps in units of the new method's step.

    Returns:
        A method for ``symplectic``.

    >>> compose("twice", 2, LEAPFROG, (0.5, 0.5)).drifts
    (0.25, 0.5, 0.25)
    """
    drifts, kicks = [0.0], []
    for w in weights:
        drifts[-1] += w * base.drifts[0]
        drifts.extend(w * d for d in base.drifts[1:])
        kicks.extend(w * k for k in base.kicks)
    return Splitting(name, order, tuple(drifts), tuple(kicks))


EULER = Splitting("symplectic_euler", 1, (0.0, 1.0), (1.0,))

# C. Stoermer 1907, L. Verlet 1967, in its drift-kick-drift form.
LEAPFROG = Splitting("leapfrog", 2, (0.5, 0.5), (1.0,))

# The triple jump: E. Forest, R. D. Ruth, Physica D 43 (1990) 105; H. Yoshida, Phys. Lett. A 150 (1990) 262.
_Z1 = 1 / (2 - 2 ** (1 / 3))
YOSHIDA4 = compose("yoshida4", 4, LEAPFROG, (_Z1, 1 - 2 * _Z1, _Z1))

# Yoshida 1990, table 1, solution A.
_W = (0.784513610477560, 0.235573213359357, -1.17767998417887)
YOSHIDA6 = compose("yoshida6", 6, LEAPFROG, (*_W, 1 - 2 * sum(_W), *_W[::-1]))

# I. P. Omelyan, I. M. Mryglod, R. Folk, Comput. Phys. Commun. 146 (2002) 188: the position-extended Forest-Ruth-like
# method, whose error is about 26 times smaller than that of yoshida4 for 4 kicks instead of 3.
_XI, _LAMBDA, _CHI = 0.1786178958448091, -0.2123418310626054, -0.06626458266981849
PEFRL = Splitting(
    "pefrl",
    4,
    (_XI, _CHI, 1 - 2 * (_CHI + _XI), _CHI, _XI),
    (0.5 - _LAMBDA, _LAMBDA, _LAMBDA, 0.5 - _LAMBDA),
)

# S. Blanes, P. C. Moan, J. Comput. Appl. Math. 142 (2002) 313, table 2: S_6 of order 4, six kicks.
_A = (0.0792036964311957, 0.353172906049774, -0.0420650803577195)
_B = (0.209515106613362, -0.143851773179818)
BLANES_MOAN4 = Splitting(
    "blanes_moan4",
    4,
    (*_A, 1 - 2 * sum(_A), *_A[::-1]),
    (*_B, 0.5 - sum(_B), 0.5 - sum(_B), *_B[::-1]),
)

# R. D. Ruth, IEEE Trans. Nucl. Sci. 30 (1983) 2669.
RUTH3 = Splitting("ruth3", 3, (0.0, 2 / 3, -2 / 3, 1.0), (7 / 24, 3 / 4, -1 / 24))

# W. Kahan, R.-C. Li, Math. Comp. 66 (1997) 1089: order 6 with 9 steps of leapfrog, more accurate than yoshida6.
_K = (
    0.39216144400731413927925056,
    0.33259913678935943859974864,
    -0.70624617255763935980996482,
    0.08221359629355080023149045,
)
KAHAN_LI6 = compose("kahan_li6", 6, LEAPFROG, (*_K, 1 - 2 * sum(_K), *_K[::-1]))

# M. Suzuki, K. Umeno (1993); Hairer, Lubich, Wanner, (V.3.11).
_S = (
    0.74167036435061295344822780, -0.40910082580003159399730010, 0.19075471029623837995387626, -0.57386247111608226665638773,
    0.29906418130365592384446354, 0.33462491824529818378495798, 0.31529309239676659663205666,
)  # fmt: skip
SUZUKI_UMENO8 = compose("suzuki_umeno8", 8, LEAPFROG, (*_S, 1 - 2 * sum(_S), *_S[::-1]))

SPLITTINGS = {
    s.name: s for s in (EULER, LEAPFROG, RUTH3, YOSHIDA4, PEFRL, BLANES_MOAN4, YOSHIDA6, KAHAN_LI6, SUZUKI_UMENO8)
}


@dataclass
class Trajectory:
    """The result of ``symplectic``."""

    ts: NDArray[Any]
    """The times (m,)."""
    positions: NDArray[Any]
    """The positions (m, ...) at these times."""
    velocities: NDArray[Any]
    """The velocities (m, ...) at these times."""


def symplectic(
    acceleration: Callable[..., Any],
    position: Any,
    velocity: Any,
    ts: ArrayLike,
    *args: Any,
    rate: Callable[..., Any] | None = None,
    method: str | Splitting = "leapfrog",
    steps: int = 1,
) -> Trajectory:
    """Solve q'' = acceleration(q, *args) with equal steps of a symplectic method; it is differentiable.

    With ``rate``, the system is that of a separable Hamiltonian T(p) + V(q): q' = rate(p, *args), p' = acceleration(q, *args).

    Args:
        acceleration: takes q and returns q'', or -dV/dq, of the same shape; it must not depend on the velocity.
        position, velocity: the initial values: numbers, or arrays of one shape; with ``rate``, q and the momentum p.
        ts: (m,) output times, rising or falling; the first is the time of ``position`` and ``velocity``.
        args: further arguments of ``acceleration`` and ``rate``; gradients reach them.
        rate: takes p and returns dT/dp; by default p itself.
        method: "symplectic_euler" (order 1), "leapfrog" (2), "ruth3" (3), "yoshida4", "pefrl", "blanes_moan4"
            (4), "yoshida6", "kahan_li6" (6), "suzuki_umeno8" (8), or a ``Splitting``.
        steps: the number of steps between neighbouring times.

    Returns:
        A ``Trajectory``: times, positions and velocities.

    Raises:
        BadInput: shapes differ, the method is unknown, ``steps`` is below 1, ``ts`` holds something else than finite times,
            or ``acceleration`` does not take the position alone: a system that is not separable.

    Source: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006), II.4 and V.3.

    >>> orbit = symplectic(lambda q: -q, 1.0, 0.0, np.linspace(0, 2 * np.pi, 5), method="yoshida6", steps=10)
    >>> bool(abs(orbit.positions - [1, 0, -1, 0, 1]).max() < 1e-6)
    True
    """
    splitting, times = _checked(method, steps, ts)
    if not callable(acceleration):
        raise BadInput(f"acceleration is {type(acceleration).__name__}; expected a function acceleration(q, *args)")
    _check_separable(acceleration, position, args)
    q, v = 1.0 * position, 1.0 * velocity
    shape = np.shape(acceleration(q, *args))
    if not np.shape(q) == np.shape(v) == shape:
        raise BadInput(
            f"position has shape {np.shape(q)}, velocity {np.shape(v)} and the result of acceleration {shape}; "
            "the three must agree"
        )

    def drift(h: float, state: Any) -> Any:
        q, v = state
        return q + h * (v if rate is None else rate(v, *args)), v

    def kick(h: float, state: Any) -> Any:
        q, v = state
        return q, v + h * acceleration(q, *args)

    states = _states(splitting, drift, kick, (q, v), times, steps)
    return Trajectory(times, np.stack([q for q, _ in states]), np.stack([v for _, v in states]))


def split(
    first: Callable[..., Any],
    second: Callable[..., Any],
    y0: NDArray[Any],
    ts: ArrayLike,
    *args: Any,
    method: str | Splitting = "leapfrog",
    steps: int = 1,
) -> NDArray[Any]:
    """Solve y' = f_1(y) + f_2(y) from the flows of both parts, with equal steps; it is differentiable.

    Args:
        first, second: ``first(h, y, *args)`` returns the solution of y' = f_1(y) after the time h from y, exactly or to the
            order of the method; ``second`` that of f_2. Methods of order above 2 have steps h < 0.
        y0: the state, an array of any shape.
        ts: (m,) output times, rising or falling; the first is the time of y0.
        args: further arguments of both; gradients reach them.
        method: "leapfrog" is G. Strang's splitting (order 2), "symplectic_euler" the one of Lie and Trotter (1); the others
            are those of ``symplectic``.
        steps: the number of steps between neighbouring times.

    Returns:
        The states at ``ts``, (m, ...).

    Raises:
        BadInput: the method is unknown, ``steps`` is below 1, or ``ts`` holds something else than finite times.

    Source: G. Strang, SIAM J. Numer. Anal. 5 (1968) 506; Hairer, Lubich, Wanner (2006), II.5.

    >>> decay = lambda h, y: y * np.exp(-h)
    >>> rotation = lambda h, y: np.array([[np.cos(h), -np.sin(h)], [np.sin(h), np.cos(h)]]) @ y
    >>> split(decay, rotation, np.array([1.0, 0.0]), [0.0, np.pi], steps=2).round(5).tolist()
    [[1.0, 0.0], [-0.04321, 0.0]]
    """
    splitting, times = _checked(method, steps, ts)
    for flow, name in ((first, "first"), (second, "second")):
        if not callable(flow):
            raise BadInput(
                f"{name} is {type(flow).__name__}; expected the flow of a part, a function {name}(h, y, *args)"
            )
    return np.stack(
        _states(
            splitting,
            lambda h, y: np.array(first(h, y, *args)),
            lambda h, y: second(h, y, *args),
            1.0 * y0,
            times,
            steps,
        )
    )


def _states(splitting: Splitting, first: Flow, second: Flow, y: Any, times: NDArray[Any], steps: int) -> list[Any]:
    """Return the states at ``times``, from that at the first."""
    begin = splitting.drifts[0]

    def step(h: float, y: Any) -> Any:
        if begin:
            y = first(begin * h, y)
        for d, k in zip(splitting.drifts[1:], splitting.kicks):
            y = second(k * h, y)
            y = first(d * h, y)
        return y

    return repeated_states(lambda h: lambda t, y: step(h, y), y, times, steps)


def _checked(method: Any, steps: Any, ts: Any) -> tuple[Splitting, NDArray[np.float64]]:
    splitting = SPLITTINGS.get(method) if isinstance(method, str) else method
    if not isinstance(splitting, Splitting):
        raise BadInput(f"method {method!r} is not known; choose one of {', '.join(SPLITTINGS)}, or give a Splitting")
    check_steps(steps)
    try:
        times = ts if isinstance(ts, np.ndarray) and ts.dtype == np.float64 else np.array(ts, dtype=float)
    except (TypeError, ValueError):
        times = np.zeros(0)
    if times.ndim != 1 or not times.size or not np.isfinite(times).all():
        raise BadInput(f"ts is {ts!r}; expected a sequence of finite times, such as np.linspace(0, 1, 11)")
    return splitting, times


@constant
def _check_separable(acceleration: Callable[..., Any], position: Any, args: tuple[Any, ...]) -> None:
    try:
        inspect.signature(acceleration).bind(position, *args)
    except TypeError as error:
        raise BadInput(
            f"acceleration cannot be called as acceleration(q, *args): {error}; a symplectic method needs an acceleration that "
            "does not depend on the velocity. For other systems, use odesolve"
        ) from None
    except ValueError:
        return  # a function in C without a signature
