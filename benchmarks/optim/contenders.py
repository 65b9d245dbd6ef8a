"""The contenders, in the order of the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..racing.contender import JAX_WITH_SWITCH, MORULA, SWITCH, Call, Contender, arrived, table
from .program import Program

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _plain(field: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        f = getattr(program, field)
        if f is None:
            raise LookupError("no such method")
        return lambda: f(*args)

    return start


def _in_jax(program: Program, args: tuple[Any, ...]) -> Call:
    import jax

    if program.in_jax is None:
        raise LookupError("no such method")
    compiled = jax.jit(program.in_jax())
    on_device = [jax.device_put(a) for a in args]
    return lambda: compiled(*on_device)


def _in_torch(program: Program, args: tuple[Any, ...]) -> Call:
    import torch

    if program.in_torch is None:
        raise LookupError("no such method")
    torch.set_num_threads(1)
    f = program.in_torch()
    return lambda: f(*args)


def _compiled(target: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        import morula as mo

        compiled = mo.jit(program.ours, target=target)
        return lambda: compiled(*args)

    return start


CONTENDERS = table(
    Contender("by hand", _plain("by_hand"), environment=ONE_THREAD),
    Contender("optimistix", _in_jax, arrived, JAX_WITH_SWITCH | ONE_THREAD),
    Contender("SciPy", _plain("in_scipy"), environment=ONE_THREAD),
    Contender("PyTorch", _in_torch, environment=ONE_THREAD),
    Contender("eager", _plain("ours"), environment=MORULA | ONE_THREAD),
    Contender("native", _compiled("native"), environment=MORULA | ONE_THREAD),
    Contender("xla", _compiled("xla"), arrived, MORULA | ONE_THREAD | {"XLA_FLAGS": SWITCH}),
)
