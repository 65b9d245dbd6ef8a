"""The contenders: how each is called, and the environment of its process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .program import Program

SWITCH = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=10000000000"
"""Makes XLA compile large loops on the CPU as one function; read once, when its client starts."""

Call = Callable[[], Any]
"""Returns (value, gradients), perhaps before they are computed: see ``Contender.finish``."""


def _done(result: Any) -> Any:
    return result


def _arrived(result: Any) -> Any:
    import jax

    return jax.block_until_ready(result)


@dataclass(frozen=True)
class Contender:
    """``start`` makes a call from a program and its arguments; ``finish`` waits for its result."""

    name: str
    start: Callable[[Program, tuple[Any, ...]], Call]
    finish: Callable[[Any], Any] = _done
    environment: dict[str, str] = field(default_factory=dict)


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


_JAX = {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
_MORULA = {"MORULA_CACHE": "0", "JAX_PLATFORMS": "cpu"}

CONTENDERS = {
    c.name: c
    for c in (
        Contender("hand", _by_hand),
        Contender("JAX", _in_jax("jax_fair"), _arrived, _JAX),
        Contender(
            "JAX, switch",
            _in_jax("jax_fair"),
            _arrived,
            {**_JAX, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {SWITCH}"},
        ),
        Contender("JAX, literal", _in_jax("jax_literal"), _arrived, _JAX),
        Contender("native", _compiled("native"), _done, _MORULA),
        Contender("xla", _compiled("xla"), _arrived, _MORULA),
        Contender("eager", _eager),
    )
}
