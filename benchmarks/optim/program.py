"""A search to measure."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GROUPS = ("programs", "held_out")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A problem, and how each contender solves it: functions of the arguments that ``inputs`` makes.

    ours: uses morula; a function to compile, or to call as it is.
    measure: what a solution makes zero: the gradient, the residuals, the difference from the exact derivative.
    by_hand, in_scipy: plain functions. in_jax, in_torch: return the function, so that the libraries are imported only where
        they are used. None where a contender has no such method.
    """

    name: str
    inputs: Callable[[int], tuple[Any, ...]]
    ours: Function
    measure: Function
    by_hand: Function | None = None
    in_scipy: Function | None = None
    in_jax: Callable[[], Function] | None = None
    in_torch: Callable[[], Function] | None = None
    accuracy: float = 1e-5
    """Up to which ``measure`` counts as solved."""


def programs(group: str) -> dict[str, Program]:
    """The programs of a group by name."""
    return {p.name: p for p in importlib.import_module(f"{__package__}.{group}").PROGRAMS}


def find(name: str) -> Program:
    """The program of this name.

    Raises:
        KeyError: there is none.
    """
    return {n: p for group in GROUPS for n, p in programs(group).items()}[name]
