"""Functions that a program calls back at run time to run compiled code of a library, which calls the program (``driven``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.dynamic import Function
from ..rules.connected import connected
from .clocks import Clock
from .logged import Logged
from .traced import Traced
from .warned import Warned


class _Left(BaseException):
    """A function has ended the search: it has raised an exception that the program catches."""


class Driver:
    """The function that the program calls at run time."""

    def __init__(self, solver: Callable[..., Any], given: Sequence[Any], results: Sequence[Any]) -> None:
        self.solver, self.given, self.results = solver, given, results
        self.__name__ = getattr(solver, "__name__", "solver")
        self.function: Function  # the state and the values around it -> the state after a call; set once it is traced
        self.places: list[tuple[int, int]] = []  # for each function, where the state holds its argument and its result
        self.which: int | None = None  # where it holds the number of the function
        self.go = 0
        self.count = 0  # the length of the state
        self.program: Callable[..., Sequence[Any]] | None = None

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        program = self.program = self.program or connected.compiled_part(self.function)
        state = [*values[: self.count]]
        count = sum(isinstance(x, Traced) for x in self.given)
        around, operands = values[self.count : len(values) - count], iter(values[len(values) - count :])

        def called(number: int) -> Callable[[Any], Any]:
            place, result = self.places[number]

            def call(x: Any) -> Any:
                state[place] = np.array(x)
                if self.which is not None:
                    state[self.which] = number
                state[:] = program([*state, *around])
                if not state[self.go]:
                    raise _Left
                return state[result]

            return call

        given = [next(operands) if isinstance(x, Traced) else x for x in self.given]
        try:
            found = self.solver(tuple(map(called, range(len(self.places)))), *given)
        except _Left:
            found = tuple(np.zeros(kind.shape, kind.dtype) for kind in self.results)
        return (*(np.asarray(x, kind.dtype) for x, kind in zip(found, self.results, strict=True)), *state)


def is_users(function: Any) -> bool:
    """Whether a function that a program calls back is the user's, and may raise an exception that no operation shows."""
    return not isinstance(function, (Clock, Driver, Logged, Warned))
