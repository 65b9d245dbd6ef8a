"""The threads that run the chunks of parallel loops: how many there are, and the pool (``thread_pool_code``) of this process."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from threading import main_thread

from . import machine
from .assembly import Module
from .interrupts import check_for_signals
from .thread_pool_code import IS_LINUX, IS_MACOS, text_of_pool

MOST_CHUNKS = 128
MOST_THREADS = 64
SLOTS = 2 * MOST_CHUNKS


def why_serial() -> str:
    """Return why this system has no threads for native code; "" if it has."""
    return "" if IS_LINUX or IS_MACOS else f"native code has no threads on {sys.platform}"


def usable_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1  # type: ignore[attr-defined]
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool() -> int:
    """Load the pool's code and return the address of ``parallel.run``."""
    module = Module(machine.host())
    check_for_signals(module)
    loaded = machine.Loaded(machine.object_code(module.text() + text_of_pool(), machine.host()), {})
    ctypes.c_int64.from_address(loaded.variable("main_thread")).value = main_thread().ident or 0
    reset = ctypes.CFUNCTYPE(None)(loaded.address("parallel.reset"))
    reset()
    os.register_at_fork(after_in_child=reset)
    address = loaded.address("parallel.run")
    loaded.stay()  # the workers wait in this code
    return address


def connect(loaded: machine.Loaded, threads: int) -> None:
    """Give a program the address of the pool's ``parallel.run`` and its number of threads."""
    ctypes.c_void_p.from_address(loaded.variable("parallel.run")).value = _pool()
    ctypes.c_int64.from_address(loaded.variable("parallel.threads")).value = min(threads, MOST_THREADS)
