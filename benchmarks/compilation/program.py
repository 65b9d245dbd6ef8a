"""A program to differentiate and compile, with the reference implementations of its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..racing.contender import collected

TUNED, HELD_OUT = ("loops", "arrays"), ("held_out_loops", "held_out_arrays")
"""The groups whose programs are looked at when morula is tuned, and those that never are."""

RACES = (*TUNED, *HELD_OUT)
"""The groups that are timed against each other."""

GROUPS = (*RACES, "compiling", "keeping")


@dataclass(frozen=True)
class Program:
    """One program.  All functions take the arguments that ``inputs`` returns.

    name: as in the tables.
    numpy: plain NumPy; returns the loss, a number.  It may not change its arguments.
    inputs: the arguments for a size; ints among them are static for JAX.
    size, small: the size that is timed (1 to 50 ms by hand), and one at which differences and the eager path are fast.
    argnums: the arguments to differentiate.
    hand: the best hand-written adjoint: returns the loss, and a tuple with the gradient for each of ``argnums``.
    jax_fair: the loss in jax.numpy as an expert would rewrite it for JAX.
    jax_literal: the same, translated statement by statement, where this is of interest.
    iterations: the number of innermost iterations for a size, for programs that are judged by the time of one.
    rtol: the tolerance of results, relative to the largest number in them.
    """

    name: str
    numpy: Callable[..., Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    size: Any
    small: Any
    argnums: tuple[int, ...]
    hand: Callable[..., tuple[Any, tuple[Any, ...]]]
    jax_fair: Callable[..., Any]
    jax_literal: Callable[..., Any] | None = None
    iterations: Callable[[Any], int] | None = None
    rtol: float = 1e-9


def programs(group: str) -> dict[str, Program]:
    """The programs of a group by name."""
    return collected(f"{__package__}.{group}")


def find(name: str) -> Program:
    """The program of this name.

    Raises:
        KeyError: there is none.
    """
    return {n: p for group in GROUPS for n, p in programs(group).items()}[name]
