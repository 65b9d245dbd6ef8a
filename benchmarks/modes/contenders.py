"""The contenders, in the order of the tables; see ``program.Derivative``."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from ..racing.contender import JAX, JAX_WITH_SWITCH, MORULA, Call, Contender, arrived, table
from .program import Derivative


def _peer(library: str, derivative: Derivative) -> Callable[..., Any]:
    """The same derivative by a peer.

    Raises:
        LookupError: the peer has no such mode, or the program is not written for it.
    """
    found = {}
    if importlib.util.find_spec(f"{__package__}.in_{library}.{derivative.module}"):
        found = importlib.import_module(f"{__package__}.in_{library}.{derivative.module}").DERIVATIVES
    if derivative.name not in found:
        raise LookupError(f"not written for {library}")
    return found[derivative.name]


def _static(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions of the integers, which all compilers are told: JAX differentiates loops of a known length only."""
    return tuple(i for i, a in enumerate(args) if isinstance(a, int))


def _in_jax(derivative: Derivative, args: tuple[Any, ...]) -> Call:
    import jax

    compiled = jax.jit(_peer("jax", derivative), static_argnums=_static(args))
    on_device = [jax.device_put(a) if isinstance(a, np.ndarray) else a for a in args]
    return lambda: compiled(*on_device)


def _in_torch(derivative: Derivative, args: tuple[Any, ...]) -> Call:
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    f = _peer("torch", derivative)
    tensors = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
    return lambda: f(*tensors)


def _in_autograd(derivative: Derivative, args: tuple[Any, ...]) -> Call:
    f = _peer("autograd", derivative)
    return lambda: f(*args)


def _in_c(derivative: Derivative, args: tuple[Any, ...]) -> Call:
    f = _peer("c", derivative)
    return lambda: f(*args)


def _eager(derivative: Derivative, args: tuple[Any, ...]) -> Call:
    return lambda: derivative.morula(*args)


def _compiled(target: str) -> Callable[[Derivative, tuple[Any, ...]], Call]:
    def start(derivative: Derivative, args: tuple[Any, ...]) -> Call:
        import morula as mo

        compiled = mo.jit(derivative.morula, target=target, static_argnums=_static(args))
        return lambda: compiled(*args)

    return start


BY_HAND = "C"
"""Loops in C, with the adjoint written by hand: no peer, but what can be reached."""
CONTENDERS = table(
    Contender("JAX", _in_jax, arrived, JAX),
    Contender("JAX, switch", _in_jax, arrived, JAX_WITH_SWITCH),
    Contender("PyTorch", _in_torch),
    Contender("autograd", _in_autograd),
    Contender(BY_HAND, _in_c),
    Contender("eager", _eager),
    Contender("native", _compiled("native"), environment=MORULA),
    Contender("xla", _compiled("xla"), arrived, MORULA),
)
PEERS = ("JAX", "JAX, switch", "PyTorch", "autograd")
