"""Equations of second order, q'' = a(t, q), for methods that take positions and velocities apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core import BadInput
from .methods import Method, NystromTableau
from .state import layout, pack


@dataclass(frozen=True)
class SecondOrder:
    """The right-hand side of q'' = acceleration(t, q, *args), for ``odesolve`` with y0 = (q, q').

    Runge-Kutta-Nystrom methods take one evaluation of the acceleration for each stage and no arithmetic for q' = v, and fewer stages than
    methods of the same order for y' = f. Any other method solves the system (q, v)' = (v, a).

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.14.

    >>> from math import pi
    >>> from morula.ode import odesolve
    >>> q, v = odesolve(SecondOrder(lambda t, q: -q), (1.0, 0.0), [0.0, pi], method="dprkn6").y
    >>> bool(abs(q[-1] + 1) < 1e-5)
    True
    """

    acceleration: Callable[..., Any]
    """``acceleration(t, q, *args)`` returns q'' in the structure of q; it does not depend on the velocity."""


def equation_for(f: Any, method: Method, y0: Any) -> Any:
    """Return the right-hand side of a solve: f, or its system of first order if the method needs that.

    >>> from .methods import METHODS
    >>> equation_for(SecondOrder(lambda t, q: -q), METHODS["tsit5"], (1.0, 0.0))(0.0, (2.0, 3.0))
    (3.0, -2.0)
    """
    if not isinstance(f, SecondOrder):
        if isinstance(method, NystromTableau):
            raise BadInput(
                f"{method.name} solves q'' = a(t, q); give f as SecondOrder(acceleration), and y0 as the pair of q and q'"
            )
        return f
    acceleration = f.acceleration
    if not callable(acceleration):
        raise BadInput(
            f"the acceleration is {type(acceleration).__name__}; expected a function acceleration(t, q, *args)"
        )
    if not isinstance(y0, (tuple, list)) or len(y0) != 2:
        raise BadInput(
            f"y0 is {y0!r}; a SecondOrder starts from a pair: the position, and the velocity in its structure"
        )
    leaves, _ = layout(y0[0])
    pack(y0[1], leaves, "y0[1]")
    return f if isinstance(method, NystromTableau) else lambda t, y, *args: (y[1], acceleration(t, y[0], *args))
