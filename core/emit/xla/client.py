"""The XLA client: flags that it reads once, when it starts, and 64-bit numbers for morula's programs only."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import jax

from ...errors import BadInput

# XLA on CPUs compiles a loop to one function only if it touches fewer bytes than this; otherwise it dispatches each
# operation of the body separately, at 100 times the cost of a scalar operation.
THRESHOLD = "xla_cpu_small_while_loop_byte_threshold"
_SWITCH = f"--xla_backend_extra_options={THRESHOLD}=10000000000"
_OLDEST = (0, 10)
_OPTION = "--xla_backend_extra_options="

THREADS = "NPROC"
"""The environment variable that says how many threads XLA starts on the CPU; by default, one for each usable core."""


@lru_cache(maxsize=1)
def _has_one_thread() -> bool:
    """Start the client, with two threads if this process may use one core only; return whether it has one all the same."""
    if THREADS in os.environ or not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) > 1:
        return False
    if _is_started():
        return True
    os.environ[THREADS] = "2"
    try:
        jax.devices()
    finally:
        del os.environ[THREADS]  # it is meant for no other library
    return False


def refuse_waiting(name: str) -> None:
    """Raise BadInput if a program that calls Python could wait forever.

    XLA runs a call of Python in one of its threads, which waits until another has computed the operands.
    """
    if _has_one_thread():
        raise BadInput(
            f"{name} calls Python, and could wait forever: this process may use one core, and JAX was started with one thread "
            f"before morula could start it with two. Set {THREADS}=2 in the environment, call a function compiled for XLA "
            "before JAX computes anything, or compile for target='native'"
        )


def prepare() -> None:
    """Add the loop threshold to ``XLA_FLAGS`` before the client starts, keeping the user's flags.

    From JAX ``_OLDEST`` on, XLA ignores unknown options called ``xla_...``. Before, one could end the process, so there
    the flag is not set.

    Warns:
        RuntimeWarning: the client was started without the flag: loops on the CPU are up to 50 times slower.
    """
    _set_threshold()
    _has_one_thread()


def _set_threshold() -> None:
    flags = os.environ.get("XLA_FLAGS", "")
    if THRESHOLD in flags or jax.__version_info__ < _OLDEST:
        return
    # A second --xla_backend_extra_options would replace the first: ours joins the user's.
    parts = [f"{part},{THRESHOLD}=10000000000" if part.startswith(_OPTION) else part for part in flags.split()]
    os.environ["XLA_FLAGS"] = " ".join(parts if any(p.startswith(_OPTION) for p in parts) else [*parts, _SWITCH])
    if _is_started():
        warnings.warn(
            "JAX was started before morula could set XLA_FLAGS: loops that touch more than a few kilobytes run "
            "operation by operation on the CPU, up to 50 times slower. Call a function compiled for XLA before JAX "
            f"computes anything, or start Python with XLA_FLAGS={_SWITCH}",
            RuntimeWarning,
            stacklevel=3,
        )


_forked = False


def _after_fork() -> None:
    global _forked
    _forked = _is_started()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def refuse_fork() -> None:
    """Raise BadInput in a process forked after JAX had started: a call would wait forever for JAX's threads."""
    if _forked:
        raise BadInput(
            "JAX was started before this process was forked, and does not work in a forked process; start processes with "
            "multiprocessing.get_context('spawn'), or compile for target='native'"
        )


def _is_started() -> bool:
    from jax._src import xla_bridge  # there is no public way to ask without starting it

    return bool(xla_bridge.backends_are_initialized())


def wide() -> Any:
    """Return a context in which JAX keeps 64-bit numbers, whatever the user's setting is."""
    return jax.enable_x64(True)


def default_platform() -> str:
    """Return ``"cpu"``, ``"gpu"`` or ``"tpu"``, where programs run; starts the client."""
    refuse_fork()
    prepare()
    config: Any = jax.config
    device = config.jax_default_device or jax.devices()[0]
    return device if isinstance(device, str) else device.platform


def circumstances() -> str:
    """Return the part of the cache key that describes the environment: versions, devices and flags."""
    prepare()
    device = jax.devices()[0]
    versions = f"{jax.__version__} {version('jaxlib')} {device.client.platform_version}"
    return f"{versions} {device.platform} {device.device_kind} {len(jax.devices())} {os.environ.get('XLA_FLAGS', '')}"
