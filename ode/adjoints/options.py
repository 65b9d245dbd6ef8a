"""The choice of the adjoint: how the derivative of a solve is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from ..methods import Extrapolation, Method, Multistep, Taylor
from ..methods.tableau import Tableau

ADJOINTS = (
    "auto",
    "discrete",
    "checkpoint",
    "backsolve",
    "interpolating",
    "quadrature",
    "forward",
    "reversible",
)  # fmt: skip
"""The names of the adjoints."""
CONTINUOUS = ("backsolve", "interpolating", "quadrature")
STATEFUL = (Multistep, Extrapolation, Taylor)
"""The methods whose steps depend on more than the state, or choose an order."""
STORED_STEPS = 1000
"""The number of steps that "auto" reckons with: it chooses before the solve has run."""
BUDGET = 1e9
"""The bytes above which "auto" takes checkpoints."""


@dataclass(frozen=True)
class Adjoint:
    """How the derivative of ``odesolve`` is computed, with settings.

    >>> Adjoint("backsolve", rtol=1e-8).name
    'backsolve'
    """

    name: str = "auto"
    """One of "auto", "discrete", "checkpoint", "backsolve", "interpolating", "quadrature", "forward", "reversible"."""
    rtol: float | None = None
    """The relative tolerance of the adjoint equation; that of the solve by default, the least if it has several."""
    atol: float | None = None
    """The absolute tolerance of the adjoint equation, whose state is scaled to 1 at most in the cotangents of the solution;
    ``rtol`` / 1000 by default."""
    snapshots: int | None = None
    """For "checkpoint": the number of states that are held."""
    memory: Any = None
    """For "checkpoint": the number of bytes that the backward sweep may take, as a number or as in "200MB"."""
    coupling: float = 0.999
    """For "reversible": the coupling of the two states, between 0 and 1; 1 does not couple them."""


def tolerances_of(options: Adjoint, rtol: Any, atol: Any) -> tuple[float, float]:
    """Return the tolerances of the adjoint equation for those of the solve."""
    relative = float(np.min(rtol)) if options.rtol is None else options.rtol
    if relative == 0.0 and options.atol is None:
        return 0.0, float(np.min(atol))
    return relative, 1e-3 * relative if options.atol is None else options.atol


def adjoint_of(given: Any) -> Adjoint:
    """Return the options for the argument ``adjoint`` of ``odesolve``."""
    options = Adjoint(given) if isinstance(given, str) else given
    if not isinstance(options, Adjoint) or options.name not in ADJOINTS:
        shown = options.name if isinstance(options, Adjoint) else given
        raise BadInput(f"adjoint {shown!r} is not known; choose one of {', '.join(ADJOINTS)}, or give an Adjoint")
    for name in ("rtol", "atol"):
        value = getattr(options, name)
        if value is not None and not (np.ndim(value) == 0 and np.isfinite(value) and value >= 0):
            raise BadInput(f"the {name} of the adjoint is {value!r}; expected a finite number that is not negative")
        if value is not None and options.name not in CONTINUOUS:
            raise BadInput(
                f"adjoint {options.name!r} has no tolerance of its own; only {', '.join(CONTINUOUS)} solve another equation"
            )
    if (options.snapshots is not None or options.memory is not None) and options.name not in ("auto", "checkpoint"):
        raise BadInput(
            f'snapshots and memory are for adjoint "checkpoint"; adjoint {options.name!r} holds no snapshots'
        )
    if options.snapshots is not None and options.memory is not None:
        raise BadInput("the adjoint has both snapshots and memory; give one of them")
    if not 0.0 < options.coupling <= 1.0:
        raise BadInput(f"the coupling of the adjoint is {options.coupling!r}; expected a number above 0, and 1 at most")
    return options


def check_fits(options: Adjoint, method: Method, asked: str, error_control: str) -> None:
    """Refuse an adjoint or an error control that does not go with the method or with other arguments.

    asked: the name of an argument that asks for more than the states at the times, or "".
    """
    name = options.name
    if error_control not in ("solution", "gradient"):
        raise BadInput(f'error_control {error_control!r} is not known; choose "solution" or "gradient"')
    if error_control == "gradient":
        if isinstance(method, STATEFUL):
            raise BadInput(
                f'error_control "gradient" needs a one-step method, and {method.name} depends on earlier steps; take one, such as '
                "tsit5 or rodas5p"
            )
        if asked == "events":
            raise BadInput('error_control "gradient" does not go together with events; take error_control="solution"')
        if name == "reversible":
            raise BadInput(
                'error_control "gradient" does not go together with adjoint "reversible", whose steps depend on a second state; '
                'take adjoint="discrete" or "checkpoint"'
            )
    if name in ("auto", "discrete"):
        return
    if asked and name == "reversible" or asked not in ("", "events") and name in CONTINUOUS:
        raise BadInput(
            f"adjoint {name!r} gives the derivative of the states at given times only, and {asked} asks for more; "
            'take adjoint="discrete", "checkpoint" or "forward"'
        )
    if isinstance(method, (Taylor, Extrapolation)):
        raise BadInput(f'adjoint {name!r} does not go with {method.name}; take adjoint="discrete", or another method')
    if name in ("checkpoint", "reversible") and isinstance(method, Multistep):
        raise BadInput(
            f"adjoint {name!r} runs steps again from the state alone, and {method.name} depends on earlier steps; "
            'take adjoint="discrete", or a one-step method'
        )
    if name == "reversible" and not isinstance(method, Tableau):
        raise BadInput(
            f'adjoint "reversible" needs an explicit Runge-Kutta method, and {method.name} is none; take tsit5, or '
            'adjoint="discrete"'
        )


def choice(options: Adjoint, method: Method, n: int) -> tuple[str, str]:
    """Return the name of the adjoint and the reason, for a state of n numbers."""
    if options.name != "auto":
        return options.name, "as asked"
    if options.snapshots is not None or options.memory is not None:
        return "checkpoint", "snapshots or memory were given"
    stored = 16.0 * n * (method.order + 2) * STORED_STEPS
    about = f"{STORED_STEPS} steps of a state of {n} numbers take about {stored / 1e6:.3g} MB"
    if stored <= BUDGET:
        return "discrete", about
    if isinstance(method, STATEFUL):
        return "discrete", f"{about}, but checkpoints do not go with the method"
    return "checkpoint", about
