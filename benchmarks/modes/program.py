"""A derivative of a program, which contenders compute in the same mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..racing.contender import collected

GROUPS = ("objectives", "programs", "batches")


@dataclass(frozen=True)
class Derivative:
    """One derivative; ``in_jax``, ``in_torch`` and ``in_autograd`` have the same one, by module and name.

    name: as in the tables: the module's name, a comma, and what tells its derivatives apart.
    morula: computes the derivative of a program in plain Python and NumPy; returns an array or a tuple of arrays.
    inputs: the arguments for a size; ints among them are static for JAX.
    size, small: the size that is timed, and one for tests.
    rtol: the tolerance of results, relative to the largest number in them.
    """

    name: str
    morula: Callable[..., Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    size: Any
    small: Any
    rtol: float = 1e-9

    @property
    def module(self) -> str:
        return self.name.partition(",")[0]


def derivatives(group: str) -> dict[str, Derivative]:
    """The derivatives of a group by name."""
    return collected(f"{__package__}.{group}")


def find(name: str) -> Derivative:
    """The derivative of this name.

    Raises:
        KeyError: there is none.
    """
    return {n: d for group in GROUPS for n, d in derivatives(group).items()}[name]
