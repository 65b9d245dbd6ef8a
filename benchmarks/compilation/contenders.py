"""The contenders, in the order of the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..racing.contender import JAX, JAX_WITH_SWITCH, MORULA, Call, Contender, arrived, table
from .program import Program


def _by_hand(program: Program, args: tuple[Any, ...]) -> Call:
    return lambda: program.hand(*args)


def _eager(program: Program, args: tuple[Any, ...]) -> Call:
    import morula as mo

    gradient = mo.value_and_grad(program.numpy, program.argnums)
    return lambda: gradient(*args)


def _compiled(target: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        import morula as mo

        gradient = mo.jit(mo.value_and_grad(program.numpy, program.argnums), target=target)
        return lambda: gradient(*args)

    return start


def _in_jax(which: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        import jax

        static = tuple(i for i, a in enumerate(args) if isinstance(a, int))
        gradient = jax.jit(jax.value_and_grad(getattr(program, which), program.argnums), static_argnums=static)
        on_device = [jax.device_put(a) if isinstance(a, np.ndarray) else a for a in args]
        return lambda: gradient(*on_device)

    return start


CONTENDERS = table(
    Contender("hand", _by_hand),
    Contender("JAX", _in_jax("jax_fair"), arrived, JAX),
    Contender("JAX, switch", _in_jax("jax_fair"), arrived, JAX_WITH_SWITCH),
    Contender("JAX, literal", _in_jax("jax_literal"), arrived, JAX),
    Contender("native", _compiled("native"), environment=MORULA),
    Contender("xla", _compiled("xla"), arrived, MORULA),
    Contender("eager", _eager),
)
