"""Right-hand sides that are the sum of a stiff part and one that is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core import BadInput
from .methods import ADDITIVE, AdditiveTableau, Method


@dataclass(frozen=True)
class Split:
    """The right-hand side of y' = stiff(t, y, *args) + nonstiff(t, y, *args), for ``odesolve``.

    An additive Runge-Kutta method solves equations with the Jacobian of the stiff part only, which may be linear, banded
    or sparse where that of the sum is not; the other part is taken explicitly.

    Source: C. A. Kennedy, M. H. Carpenter, Appl. Numer. Math. 44 (2003) 139.

    >>> import numpy as np
    >>> from morula.ode import odesolve
    >>> f = Split(lambda t, y: -1000.0 * (y - np.cos(t)), lambda t, y: -np.sin(t))
    >>> solution = odesolve(f, 1.0, [0.0, 1.0], method="kencarp4")
    >>> bool(abs(solution.y[-1] - np.cos(1.0)) < 1e-6 and solution.stats.accepted < 100)
    True
    """

    stiff: Callable[..., Any]
    """``stiff(t, y, *args)`` returns its part of dy/dt in the structure of y; ``jacobian`` belongs to it."""
    nonstiff: Callable[..., Any]
    """``nonstiff(t, y, *args)`` returns the rest."""


def method_for(f: Any, method: Method, mass: Any) -> Method:
    """Return the method of a solve with the right-hand side f: additive if it is split.

    >>> from .methods import METHODS
    >>> type(method_for(Split(abs, abs), METHODS["kencarp3"], None)).__name__
    'AdditiveTableau'
    """
    if not isinstance(f, Split):
        if isinstance(method, AdditiveTableau):
            raise BadInput(f"{method.name} is an additive method, and f is one function; give Split(stiff, nonstiff)")
        return method
    for part, name in ((f.stiff, "stiff"), (f.nonstiff, "nonstiff")):
        if not callable(part):
            raise BadInput(f"{name} of the Split is {type(part).__name__}; expected a function {name}(t, y, *args)")
    if mass is not None:
        raise BadInput("mass does not go together with a Split; give the sum of both parts as one function")
    if isinstance(method, AdditiveTableau):
        return method
    if ADDITIVE.get(method.name) is None:
        raise BadInput(
            f"f is a Split, which {method.name} does not solve; choose one of {', '.join(ADDITIVE)}, or give the sum of both "
            "parts as one function"
        )
    return ADDITIVE[method.name]
