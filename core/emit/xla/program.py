"""A typed function as an XLA executable: traced, lowered and compiled once, called with NumPy arrays."""

from __future__ import annotations

import ctypes
import pickle
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import serialize_executable

from ...errors import BadInput
from ...ir.dynamic import Function, walk
from ...ir.places import Calls, raised_at
from ...ir.typed import STACK, Dim
from ...passes.accumulations import as_additions
from ...passes.contractions import as_products
from ...passes.ragged_loops import by_elements
from . import (  # noqa: F401  they register themselves
    arrays,
    elementwise,
    factor_kernels,
    host,
    indexing,
    kept_factors,
    library,
    overflow,
    reductions,
    scipy_linear_algebra,
    special,
)
from .client import default_platform, prepare, refuse_fork, refuse_waiting, wide
from .lower import Walk, error_at

_SMALL = 1 << 14  # bytes up to which a result is copied: cheaper than an array that shares XLA's memory


def compile_function(function: Function) -> XlaProgram:
    """Compile a typed function to one XLA executable for JAX's default device.

    Raises:
        BadInput: the function is recursive, which XLA does not support.
    """
    for op in walk(function.block):
        if isinstance(op.callee, Function):
            name = op.callee.name.removesuffix("_forward")  # added by the reverse pass; the error names the user's
            raise BadInput(
                f"{function.filename}:{op.line}: {name} calls itself to a depth that is known only when the program runs; XLA has no recursion. Compile for "
                "target='native', or write it as a loop"
            )
    return XlaProgram(as_products(by_elements(as_additions(function))))


class XlaProgram:
    """A compiled function: takes the sequence of its arguments and returns the list of its results.

    ``seconds`` holds the durations of the stages ``trace``, ``lower`` (to StableHLO) and ``compile``. ``places`` maps a
    place number to the calls and lines in the user's program.
    """

    def __init__(self, function: Function) -> None:
        self.name = function.name
        self.places: Sequence[Calls] = ()
        self._parameters = [v.type for v in function.parameters]
        self._results = [v.type for v in function.block.results]
        walk = Walk(function, on_cpu=default_platform() == "cpu")
        lengths = list({n.value: n for t in self._results if t is not STACK for n in t.shape if isinstance(n, Dim)})
        self._lengths = {value: i for i, value in enumerate(lengths)}

        def run(*arguments: Any) -> Any:
            results = walk.run(arguments)
            failure = walk.failure
            return [*results, *map(walk.array, lengths)], (failure.code, failure.bits) if failure else ()

        run.__name__ = function.name if function.name.isidentifier() else "program"
        shapes = [jax.ShapeDtypeStruct(t.bounds, t.dtype) for t in self._parameters]
        clock = [time.perf_counter()]
        with wide():
            traced = jax.jit(run, keep_unused=True).trace(*shapes)
            if walk.runs_python:
                refuse_waiting(function.name)
            clock.append(time.perf_counter())
            self._lowered = traced.lower()
            clock.append(time.perf_counter())
            self._compiled = self._lowered.compile()
            clock.append(time.perf_counter())
        self.seconds = dict(zip(("trace", "lower", "compile"), np.diff(clock).tolist()))
        walk.values.clear()  # JAX keeps ``run`` alive, and with it the walk and every tracer
        self._sites, self._raised, self._is_ordered = walk.sites, walk.raised, walk.is_ordered
        self._may_raise = walk.failure is not None
        self.runs_python = walk.runs_python
        self._is_static = not self._lengths and all(t.is_static for t in self._parameters)
        self._numbers = [None if t.shape else t.dtype.type for t in self._parameters]

    def to_bytes(self) -> bytes:
        """Return the serialised program, valid for this version of JAX and this kind of device.

        Raises:
            BadInput: the program calls Python functions of this process, or cannot be pickled.
        """
        if self.runs_python:
            raise BadInput("a program that calls Python functions (callbacks) cannot be saved")
        state = {k: v for k, v in vars(self).items() if k not in ("_lowered", "_compiled", "places")}
        try:
            return pickle.dumps((state, serialize_executable.serialize(self._compiled)))
        except (pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
            raise BadInput(f"the program cannot be saved: {error}") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> XlaProgram:
        """Load a program saved by ``to_bytes``; the bytes are unpickled, so they must come from a trusted source."""
        prepare()
        state, executable = pickle.loads(data)
        made = object.__new__(cls)
        vars(made).update(state, _lowered=None, seconds={}, places=())
        made._compiled = serialize_executable.deserialize_and_load(*executable)
        return made

    @property
    def stablehlo_text(self) -> str:
        if self._lowered is None:
            raise BadInput("a program that was loaded from a file or the cache has no StableHLO text; compile it again")
        return self._lowered.as_text()

    @property
    def hlo_text(self) -> str:
        """The program after XLA's optimisation."""
        return self._compiled.as_text() or ""

    def __call__(self, arguments: Sequence[Any], *, as_jax: bool = False) -> list[Any]:
        """Run the program; return NumPy arrays and numbers, or JAX arrays with ``as_jax``.

        Raises:
            The exceptions of the user's program, with their messages.
        """
        refuse_fork()
        values = [x if number is None else number(x) for x, number in zip(arguments, self._numbers, strict=True)]
        if not self._is_static:
            values = [host._at_bounds(x, t) for x, t in zip(values, self._parameters)]
        with wide():
            results, failure = self._compiled(*values)
        if self._may_raise:
            self._raise(failure)
        if not self._is_static:
            return self._cut(results)
        return results if as_jax else [as_numpy(x) for x in results]

    def _cut(self, results: list[Any]) -> list[Any]:
        """Return the results cut to their lengths."""
        held, lengths = results[: len(self._results)], results[len(self._results) :]
        found = []
        for x, kind in zip(held, self._results):
            part = [int(lengths[self._lengths[n.value]]) if isinstance(n, Dim) else None for n in kind.shape]
            found.append(as_numpy(x)[tuple(map(slice, part))] if part else as_numpy(x))
        return found

    def _raise(self, failure: Any) -> None:
        if self._is_ordered:
            jax.effects_barrier()
        code = int(failure[0])
        if not code:
            return
        site = self._sites[code - 1]
        if site.exception is host.Raised:
            error = self._raised[0]
            self._raised.clear()
        else:
            error = error_at(site, np.asarray(failure[1]))
        raise raised_at(error, self.places[site.place]) if 0 <= site.place < len(self.places) else error


def as_numpy(x: jax.Array) -> Any:
    """Return a result as a writable array or a NumPy number.

    Large results share XLA's memory if it is on the CPU, since nothing else refers to the array.
    """
    if not x.shape:
        return np.asarray(x)[()]
    if x.nbytes <= _SMALL or next(iter(x.devices())).platform != "cpu":
        return np.asarray(x).copy()
    x.block_until_ready()
    memory: Any = (ctypes.c_char * x.nbytes).from_address(x.unsafe_buffer_pointer())
    memory.owner = x  # keeps XLA from freeing the memory
    return np.frombuffer(memory, x.dtype).reshape(x.shape)
