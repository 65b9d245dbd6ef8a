"""A contender: how it is called, and the environment of its process."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SWITCH = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=10000000000"
"""Makes XLA compile large loops on the CPU as one function; read once, when its client starts."""

JAX = {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
JAX_WITH_SWITCH = {**JAX, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {SWITCH}"}
MORULA = {"MORULA_CACHE": "0", "JAX_PLATFORMS": "cpu"}
"""Environments."""

Call = Callable[[], Any]
"""Returns the results, perhaps before they are computed: see ``Contender.finish``."""


def as_it_is(result: Any) -> Any:
    return result


def arrived(result: Any) -> Any:
    """Wait for results of JAX."""
    import jax

    return jax.block_until_ready(result)


@dataclass(frozen=True)
class Contender:
    """``start`` makes a call from a program and its arguments; ``finish`` waits for its result."""

    name: str
    start: Callable[[Any, tuple[Any, ...]], Call]
    finish: Callable[[Any], Any] = as_it_is
    environment: dict[str, str] = field(default_factory=dict)


def table(*contenders: Contender) -> dict[str, Contender]:
    return {c.name: c for c in contenders}


def collected(package: str) -> dict[str, Any]:
    """The programs of a package by name, in the order of its modules' names: the iterables PROGRAMS."""
    modules = sorted(m.name for m in pkgutil.iter_modules(importlib.import_module(package).__path__))
    groups: list[Iterable[Any]] = [getattr(importlib.import_module(f"{package}.{m}"), "PROGRAMS", ()) for m in modules]
    return {program.name: program for group in groups for program in group}
