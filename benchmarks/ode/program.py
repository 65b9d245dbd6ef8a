"""A problem to solve, and the programs that are timed: its solve and its gradient."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

GROUPS = ("problems", "batches", "held_out")
REFERENCES = Path(__file__).parent / "references.json"


@dataclass(frozen=True)
class Problem:
    """An initial-value problem.

    rate: returns f(t, y, *args), given a module with the functions of ``numpy``.
    y0: (n,); or (count, n), to be solved for each. args: numbers or arrays; or one array (count, p) of parameters, for each.
    method: of ``odesolve``; the solver in C has the same. bands: the diagonals below and above the main one, if the Jacobian has few.
    in_scipy, in_diffrax: the method there that is fastest at this accuracy.
    in_c: the formulas in C; by SymPy if empty.
    is_batch: whether each of many has steps of its own. is_lockstep: whether all y0 are one state, with common steps.
    """

    name: str
    rate: Callable[[Any], Callable[..., Any]]
    y0: np.ndarray
    span: tuple[float, float]
    args: tuple[Any, ...]
    method: str
    rtol: float = 1e-6
    atol: float = 1e-6
    bands: tuple[int, int] | None = None
    in_scipy: str = "LSODA"
    in_diffrax: str = "Tsit5"
    in_c: str = ""
    is_batch: bool = False
    is_lockstep: bool = False

    def single(self) -> Problem:
        """The first of many."""
        if self.y0.ndim == 2:
            return replace(self, y0=self.y0[0], is_batch=False)
        return replace(self, args=tuple(self.args[0][0]), is_batch=False)


@dataclass(frozen=True)
class Program:
    """The solve of a problem, or the gradient of the sum of squares of its end value."""

    problem: Problem
    is_gradient: bool

    @property
    def name(self) -> str:
        return f"{self.problem.name}, {'gradient' if self.is_gradient else 'solve'}"

    def inputs(self, size: Any) -> tuple[Any, ...]:
        return (self.problem.y0, *self.problem.args)

    def reference(self) -> Any:
        """Accurate values of the end, or of the gradient by the parameters; None if there are none."""
        found = references().get(self.problem.name, {}).get("gradient" if self.is_gradient else "end")
        return None if found is None else np.array(found)


@cache
def references() -> dict[str, Any]:
    return json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}


def problems(group: str) -> dict[str, Problem]:
    """The problems of a group by name."""
    return {p.name: p for p in importlib.import_module(f"{__package__}.{group}").PROBLEMS}


def programs(group: str) -> dict[str, Program]:
    """The programs of a group by name."""
    made = [Program(p, is_gradient) for p in problems(group).values() for is_gradient in (False, True)]
    return {p.name: p for p in made}


@cache
def find(name: str) -> Program:
    """The program of this name.

    Raises:
        KeyError: there is none.
    """
    return {n: p for group in GROUPS for n, p in programs(group).items()}[name]
