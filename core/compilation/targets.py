"""Compilation targets: the CPU by LLVM, or an accelerator or the CPU by XLA.

``choose`` returns the target and the reason; ``compile_for`` compiles.  Compiler libraries are imported on first use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from ..errors import BadInput
from ..ir.dynamic import Function, walk
from ..ir.places import numbered
from ..ir.typed import ArrayType
from . import compilation_cache

TARGETS = ("auto", "native", "xla")
LIBRARIES = {"native": "llvmlite", "xla": "jax"}
INSTALLED_WITH = {"native": "llvmlite", "xla": "'morula[xla]'"}
ACCELERATORS = (
    "jax_cuda12_plugin",
    "jax_cuda13_plugin",
    "jax_rocm60_plugin",
    "jax_rocm7_plugin",
    "jax_plugins",
    "libtpu",
)
LARGE, CORES = 1 << 22, 4
"""The fewest array elements and CPU cores for which XLA's threads pay off."""

Executable = Callable[[Sequence[Any]], list[Any]]


@lru_cache(maxsize=8)
def is_installed(target: str) -> bool:
    return find_spec(LIBRARIES[target]) is not None


def check(target: str) -> None:
    """Raise BadInput if the target is unknown or its compiler library is not installed."""
    if target not in TARGETS:
        raise BadInput(f"target must be one of {', '.join(map(repr, TARGETS))}, not {target!r}")
    wanted = ("native", "xla") if target == "auto" else (target,)
    if not any(map(is_installed, wanted)):
        names = " or ".join(LIBRARIES[t] for t in wanted)
        extras = " or ".join(f"pip install {INSTALLED_WITH[t]}" for t in wanted)
        raise BadInput(f"compiling needs {names}, which is not installed: {extras}")


@lru_cache(maxsize=1)
def accelerator() -> str | None:
    """Return the platform of JAX's default device unless it is a CPU; import JAX only if it has a plugin."""
    if not is_installed("xla"):
        return None
    if "jax" not in sys.modules and not any(map(find_spec, ACCELERATORS)):
        return None
    from ..emit.xla.client import default_platform

    platform = default_platform()
    return None if platform == "cpu" else platform


def first_choice(target: str) -> tuple[str, str]:
    """Return the target for which a program is first traced, and the reason."""
    check(target)
    if target != "auto":
        return target, "as asked"
    if not is_installed("native"):
        return "xla", "llvmlite is not installed"
    if not is_installed("xla"):
        return "native", "JAX is not installed"
    platform = accelerator()
    if platform is not None:
        return "xla", f"JAX's default device is a {platform}"
    return "native", "a program for the CPU"


def threads_of(parallel: bool | int) -> tuple[int, str]:
    """Return the number of threads of native loops, and why it is one although several are wanted; 0 without ``parallel``."""
    if not parallel:
        return 0, ""
    from ..emit.native import thread_pool

    reason = thread_pool.why_serial()
    threads = thread_pool.usable_cores() if parallel is True else min(parallel, thread_pool.MOST_THREADS)
    if not reason and threads == 1:
        reason = "this process may use one core" if parallel is True else "parallel is 1"
    return (1, reason) if reason else (threads, "")


def choose(function: Function, target: str, first: tuple[str, str], parallel: bool = False) -> tuple[str, str]:
    """Return the target of a typed program and the reason: ``first`` unless another target suits it better."""
    if target != "auto" or not (is_installed("native") and is_installed("xla")):
        return first
    has_loop, recursive, largest = False, False, 0
    for op in walk(function.block):
        has_loop |= op.kind in ("while", "range")
        recursive |= isinstance(op.callee, Function)
        for v in op.results:
            if isinstance(v.type, ArrayType):
                n = 1
                for bound in v.type.bounds:
                    n *= bound
                largest = max(largest, n)
    if recursive:
        return "native", "it calls itself on values that are not known while compiling"
    if first[0] == "xla":
        return first
    if has_loop:
        return "native", "a program for the CPU with loops"
    if largest >= LARGE and (os.cpu_count() or 1) >= CORES and not parallel:
        return (
            "xla",
            f"array operations without loops, on arrays of up to {largest:,} elements, which XLA spreads over threads",
        )
    return "native", f"array operations on the CPU, on arrays of up to {largest:,} elements"


def compile_for(
    target: str, function: Function, bounds_check: bool, parallel: bool | int = False, kept: bool = True
) -> Executable:
    """Return the compiled function, which maps a list of arrays and numbers to another.

    With ``kept``, use the cache on disk. With ``parallel``, native loops run in several threads, on all cores or in this number.
    """
    threads, _ = threads_of(parallel)
    options: dict[str, Any] = {}
    if target == "xla":
        from ..emit.xla import XlaProgram as Program, compile_function
        from ..emit.xla.client import circumstances

        made_for, compile_now = circumstances, compile_function
    else:
        from ..emit.native import NativeProgram as Program, compile_function
        from ..emit.native.machine import circumstances

        made_for = circumstances

        def compile_now(function: Function) -> Any:
            return compile_function(function, bounds_check=bounds_check, **options)

        if threads > 1:
            options["threads"] = threads

    def with_places(made: Any) -> Any:
        made.places = tuple(numbered(function))
        return made

    if not kept or compilation_cache.folder(target) is None:
        return with_places(compile_now(function))
    key = compilation_cache.fingerprint(function, target, bounds_check, threads > 1, made_for())
    data = None if key is None else compilation_cache.load(target, key)
    if data is not None:
        with suppress(Exception):  # what cannot be used any more is made again
            return with_places(Program.from_bytes(data, **options))
    made = with_places(compile_now(function))
    if key is not None:
        with suppress(BadInput):
            compilation_cache.store(target, key, made.to_bytes())
    return made
