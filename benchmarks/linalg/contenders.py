"""The contenders, in the order of the tables: values and gradients of a ``program.Program``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..racing.contender import JAX, MORULA, Call, Contender, arrived, table
from .program import Program

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def _by_hand(program: Program, args: tuple[Any, ...]) -> Call:
    return lambda: program.by_hand(*args)


def _in_jax(program: Program, args: tuple[Any, ...]) -> Call:
    import jax

    if not program.in_jax:
        raise LookupError("JAX lacks a function")
    f = program.make(jax.numpy, jax.scipy.linalg)
    compiled = jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(args)))))
    on_device = [jax.device_put(a) for a in args]
    return lambda: compiled(*on_device)


def _in_torch(program: Program, args: tuple[Any, ...]) -> Call:
    import torch

    if program.in_torch is None:
        raise LookupError("PyTorch lacks a function")
    torch.set_num_threads(1)
    f = program.in_torch(torch)
    tensors = [torch.from_numpy(a).requires_grad_() for a in args]

    def call() -> Any:
        value = f(*tensors)
        return value.detach(), torch.autograd.grad(value, tensors)

    return call


def _derivative(program: Program, count: int) -> Callable[..., Any]:
    import morula as mo

    return mo.value_and_grad(program.in_morula(), argnums=tuple(range(count)))


def _eager(program: Program, args: tuple[Any, ...]) -> Call:
    f = _derivative(program, len(args))
    return lambda: f(*args)


def _compiled(target: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        import morula as mo

        compiled = mo.jit(_derivative(program, len(args)), target=target)
        return lambda: compiled(*args)

    return start


CONTENDERS = table(
    Contender("by hand", _by_hand, environment=ONE_THREAD),
    Contender("JAX", _in_jax, arrived, JAX | ONE_THREAD),
    Contender("PyTorch", _in_torch, environment=ONE_THREAD),
    Contender("eager", _eager, environment=MORULA | ONE_THREAD),
    Contender("native", _compiled("native"), environment=MORULA | ONE_THREAD),
    Contender("xla", _compiled("xla"), arrived, MORULA | ONE_THREAD),
)
