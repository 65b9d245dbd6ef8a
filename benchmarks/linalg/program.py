"""A program of dense linear algebra to measure."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

GROUPS = ("programs", "small", "large", "sparse_systems", "held_out")
Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A loss of the arguments that ``inputs`` draws for a size; its gradient is that by all of them.

    make: returns the loss, given modules with the functions of ``numpy`` and of ``scipy.linalg``.
    by_hand: returns the value and the gradients, a tuple; the adjoint is written by hand.
    in_torch: the loss by PyTorch, given its module; None if it is that of ``make`` or if PyTorch lacks a function.
    size, small: the size that is timed, and one for tests.
    in_jax: whether JAX has all functions.
    ours: returns the loss for morula where that is not the one of ``make``.
    """

    name: str
    make: Callable[[Any, Any], Function]
    by_hand: Function
    inputs: Callable[[int], tuple[np.ndarray, ...]]
    size: int
    small: int
    in_torch: Callable[[Any], Function] | None = None
    in_jax: bool = True
    rtol: float = 1e-7
    ours: Callable[[], Function] | None = None

    def in_morula(self) -> Function:
        """The loss for morula."""
        return self.make(np, scipy.linalg) if self.ours is None else self.ours()


def programs(group: str) -> dict[str, Program]:
    """The programs of a group by name."""
    return {p.name: p for p in importlib.import_module(f"{__package__}.{group}").PROGRAMS}


def find(name: str) -> Program:
    """The program of this name.

    Raises:
        KeyError: there is none.
    """
    return {n: p for group in GROUPS for n, p in programs(group).items()}[name]


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def dominant(n: int, seed: int = 0) -> np.ndarray:
    """A matrix that is far from singular."""
    return drawn(n, n, seed=seed) / np.sqrt(n) + 2.0 * np.eye(n)


def definite(n: int, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with eigenvalues from about 1 to 5."""
    a = drawn(n, n, seed=seed) / np.sqrt(n)
    return a @ a.T + np.eye(n)
