"""A solve with the derivative that its adjoint gives."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import BadInput, adjoint, nestlevel, no_derivative, tree
from ..events import Watch
from ..integration import Integration
from ..loop import Run
from ..problem import vector_field
from ..second_order import SecondOrder
from ..split_sides import Split
from .between_events import between_events
from .equation import AdjointEquation
from .forcing import forcing, nodes
from .options import CONTINUOUS, Adjoint
from .records import Record
from .reversible import Reversal
from .sensitivities import Sensitivities
from .steps_again import checkpointed

OF_MASS = (
    'adjoint="forward" has no derivative with respect to mass: it finds those with respect to y0 and args; take adjoint="discrete" or '
    '"checkpoint"'
)


def solved(
    integration: Integration,
    y: NDArray[Any],
    args: tuple[Any, ...],
    times: NDArray[Any],
    options: Adjoint,
    watch: Watch | None = None,
    is_dense: bool = False,
) -> Run:
    """Solve with the adjoint of ``options``, which is neither "auto" nor "discrete"."""
    name = options.name
    if name == "checkpoint":
        return checkpointed(integration, y, args, times, options, watch, is_dense)
    if nestlevel() == 0 and name != "reversible":
        return integration.run(y, args, times, watch, is_dense)
    if watch is not None and name in CONTINUOUS:
        return between_events(integration, y, args, times, watch, lambda i, y, ts: solved(i, y, args, ts, options).rows)
    theta, restore = tree.flatten(args, "args")
    is_explicit = is_all_in(functions_of(integration.f, watch), args)
    if name in ("forward", "reversible") and nestlevel() > 0 and not is_explicit:
        raise BadInput(
            f"adjoint {name!r} differentiates with respect to y0 and the floats and arrays in args, and f may depend on more: it "
            "(or an event) is a closure, a method or an object, or args hold ints or functions. Write f as a function of the module "
            'and pass its parameters as args, or take adjoint="discrete"'
        )
    equation: Any
    if name == "forward":
        if integration.mass is not None:
            y = no_derivative(y, OF_MASS, integration.mass.matrix)
        equation = Sensitivities(integration, restore, watch, is_dense)
    elif name == "reversible":
        equation = Reversal(integration, restore, options)
    else:
        equation = AdjointEquation(integration, restore, options, is_explicit)
    record = _settled(y, theta, times, equation)
    shape = (0, 0, len(y))
    forced = np.zeros(shape, y.dtype)
    if equation.is_forced:
        held = args if not equation.has_integral else restore(_held(theta))
        rhs = vector_field(integration.f, held, integration.leaves, integration.dtype)
        forced = forcing(record, rhs, nodes(integration.stepper().order + 1)[0], y.dtype)
    return equation.found(record, _attached(y, theta, times, forced, record, equation))


def functions_of(f: Any, watch: Watch | None) -> list[Any]:
    """Return the user's functions that a solve calls."""
    if isinstance(f, Split):
        found = [f.stiff, f.nonstiff]
    elif isinstance(f, SecondOrder):
        found = [f.acceleration]
    else:
        found = [f]
    for event in watch.events if watch is not None else ():
        found.append(event.function)
        if event.change is not None:
            found.append(event.change)
    return found


def is_all_in(functions: list[Any], args: tuple[Any, ...]) -> bool:
    """Return whether all that the functions can depend on are the floats and arrays of ``args``."""
    for f in functions:
        if not (type(f) is FunctionType and f.__closure__ is None):
            return False
    others: list[Any] = []

    def note(path: Any, x: Any) -> Any:
        if not isinstance(x, (str, bool, type(None))):
            others.append(x)
        return x

    tree.rebuild(args, lambda _, x: x, constant=note)
    return not others


def _held(theta: NDArray[Any]) -> NDArray[Any]:
    """Return theta as a constant of the innermost derivative, and with its derivative for those around it."""
    return np.copy(theta)


@adjoint(_held)
def _held_with_pullback(theta: Any) -> tuple[Any, Any]:
    return np.copy(theta), lambda d: None


def _settled(y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any], equation: Any) -> Record:
    """Return the forward solve, as a constant of the innermost derivative and with its derivative for those around it."""
    return equation.solve(y, theta, times)


@adjoint(_settled)
def _settled_with_pullback(y: Any, theta: Any, times: Any, equation: Any) -> tuple[Any, Any]:
    return equation.solve(y, theta, times), lambda d: (None, None, None, None)


def _attached(
    y: NDArray[Any], theta: NDArray[Any], times: NDArray[Any], forced: NDArray[Any], record: Record, equation: Any
) -> Any:
    """Return the results of a solve, made to depend on y0, the parameters, the times, and f along the solution."""
    return equation.outputs(record)


@adjoint(_attached)
def _attached_with_pullback(y: Any, theta: Any, times: Any, forced: Any, record: Any, equation: Any) -> tuple[Any, Any]:
    shape = np.shape(forced)

    def back(d: NDArray[Any]) -> tuple[Any, ...]:
        dy, dtheta, dtimes, dforced = equation.pulled(record, y, theta, times, d, shape)
        return dy, dtheta, dtimes, dforced, None, None

    return equation.outputs(record), back
