"""The XLA client: the switches that it reads once, when it starts, and numbers of 64 bits for our own programs only."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import version
from typing import Any

import jax

from ...errors import BadInput

# XLA on CPUs runs a loop as one compiled function only if it touches fewer bytes than this; above, it dispatches each
# operation of the body apart, at 100 times the cost of a scalar one.
THRESHOLD = "xla_cpu_small_while_loop_byte_threshold"
_SWITCH = f"--xla_backend_extra_options={THRESHOLD}=10000000000"
_OLDEST = (0, 10)
_OPTION = "--xla_backend_extra_options="


def prepare() -> None:
    """Put the switch into ``XLA_FLAGS`` before the client starts; what the user has set there is kept.

    Since the version of JAX that is named here, XLA passes over options called ``xla_...`` that it does not know; before,
    one may have ended the process, so there the switch is left off.

    Warns:
        RuntimeWarning: the client was started without the switch: loops on the CPU are up to 50 times slower.
    """
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
            stacklevel=2,
        )


_forked = False


def _after_fork() -> None:
    global _forked
    _forked = _is_started()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def refuse_fork() -> None:
    """Raise in a process that was forked from one in which JAX's threads were running: a call would wait for them forever."""
    if _forked:
        raise BadInput(
            "JAX had been started before this process was forked, and does not run in it: start processes by "
            "multiprocessing.get_context('spawn'), or compile for target='native'"
        )


def _is_started() -> bool:
    from jax._src import xla_bridge  # there is no public way to ask without starting it

    return bool(xla_bridge.backends_are_initialized())


def wide() -> Any:
    """A context in which JAX keeps 64-bit numbers, whatever the user's own setting is."""
    return jax.enable_x64(True)


def default_platform() -> str:
    """``"cpu"``, ``"gpu"`` or ``"tpu"``: where programs run.  Starts the client."""
    refuse_fork()
    prepare()
    config: Any = jax.config
    device = config.jax_default_device or jax.devices()[0]
    return device if isinstance(device, str) else device.platform


def circumstances() -> str:
    """What an executable that is kept was made for: the versions, the devices, the switches."""
    prepare()
    device = jax.devices()[0]
    versions = f"{jax.__version__} {version('jaxlib')} {device.client.platform_version}"
    return f"{versions} {device.platform} {device.device_kind} {len(jax.devices())} {os.environ.get('XLA_FLAGS', '')}"
