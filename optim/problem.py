"""The user's function as a function of a vector, with its derivatives: made once, checked at each evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import BadInput
from .flatten import Layout


class Problem:
    """What all problems share: the function, its other arguments, and the layout of its unknowns."""

    def __init__(self, solver: str, function: Callable[..., Any], x0: Any, args: tuple[Any, ...], role: str) -> None:
        if not callable(function):
            raise BadInput(f"{solver}({role}, x0): {role} is a {type(function).__name__}, expected a function of x0")
        self.solver, self.function, self.args = solver, function, args
        self.layout = Layout(x0)
        self.is_array = type(self.layout.start).__name__ == "ndarray"

    def given(self, derivative: Any, name: str) -> Callable[..., Any] | None:
        """Return a derivative that the user may have given; refuse what is not a function."""
        if derivative is not None and not callable(derivative):
            kind = type(derivative).__name__
            raise BadInput(f"{self.solver}: {name} is a {kind}, expected a function of x0 or None")
        return derivative


def check_limits(solver: str, tol: float, max_iterations: int) -> None:
    """Refuse tolerances and limits that no search can have."""
    if not tol > 0:
        raise BadInput(f"{solver}: tol is {tol!r}, expected a positive number")
    if max_iterations < 0:
        raise BadInput(f"{solver}: max_iterations is {max_iterations!r}, expected 0 or more")


def chosen(solver: str, method: Any, methods: dict[str, Any], kind: type | tuple[type, ...]) -> Any:
    """Return the method object for a name, or the object itself."""
    if isinstance(method, kind):
        return method
    if not isinstance(method, str) or method not in methods:
        names = ", ".join(map(repr, methods))
        raise BadInput(f"{solver}: no method {method!r}; there are {names}, and objects with settings of their classes")
    return methods[method]()
