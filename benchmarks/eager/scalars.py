"""A loop over scalars: sine, multiplication, addition."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np

import morula as mo

from ..report import Table
from .timing import timed

ITERATIONS = 10_000
OPERATIONS = 3 * ITERATIONS


def chain(x):
    for _ in range(ITERATIONS):
        x = sin(x) * 0.9 + 0.4
    return x


def chain_by_hand(x):
    """The adjoint of ``chain``, written by hand: the forward sweep pushes on a stack, the backward sweep pops."""
    stack = []
    for _ in range(ITERATIONS):
        stack.append(x)
        x = sin(x) * 0.9 + 0.4
    dx = 1.0
    while stack:
        dx = dx * 0.9 * cos(stack.pop())
    return x, dx


def chain_in_torch(torch: Any) -> Callable[[], Any]:
    def run() -> Any:
        leaf = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        x = leaf
        for _ in range(ITERATIONS):
            x = torch.sin(x) * 0.9 + 0.4
        x.backward()
        return leaf.grad

    torch.set_num_threads(1)
    return run


def chain_in_autograd(autograd: Any) -> Callable[[], Any]:
    autograd_numpy = importlib.import_module("autograd.numpy")

    def run(x: Any) -> Any:
        for _ in range(ITERATIONS):
            x = autograd_numpy.sin(x) * 0.9 + 0.4
        return x

    gradient = autograd.grad(run)
    return lambda: gradient(0.5)


PEERS = {"PyTorch eager": ("torch", chain_in_torch), "autograd": ("autograd", chain_in_autograd)}


def scalars(repeats: int) -> Table:
    gradient = mo.value_and_grad(chain)
    assert np.allclose(gradient(0.5), chain_by_hand(0.5))
    programs: dict[str, Callable[[], Any]] = {
        "plain Python, forward only": lambda: chain(0.5),
        "adjoint by hand, with a stack": lambda: chain_by_hand(0.5),
        "morula": lambda: gradient(0.5),
    }
    missing = []
    for name, (module, program) in PEERS.items():
        try:
            library = importlib.import_module(module)
        except ImportError:
            missing.append(name)
        else:
            programs[f"{name} {getattr(library, '__version__', '')}".strip()] = program(library)
    times = timed(programs, repeats)
    rows = [["program", "ns per operation", "against morula"]]
    for name, seconds in times.items():
        rows.append([name, f"{seconds / OPERATIONS * 1e9:.1f}", f"{seconds / times['morula']:.3g} x"])
    return rows + [[name, "not installed", ""] for name in missing]
