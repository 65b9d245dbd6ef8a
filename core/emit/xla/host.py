"""What runs in Python while the program does: calls that XLA lacks, callbacks, printing.

An exception raised there stops the program as one of its own does, and is raised after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from ...ir import Operation
from ...typed import ArrayType, Dim, callback, debug_print
from .lengths import length
from .lower import Site, Walk, lowers


class Raised(Exception):
    """What a site stands for whose exception was raised in Python; never raised itself."""


_SITE = Site(Raised, "")


def _cut(arrays: Sequence[Any], lengths: Sequence[Any], types: Sequence[ArrayType]) -> list[np.ndarray]:
    """Arrays held at their bounds, cut to their lengths."""
    remaining = [int(n) for n in lengths]
    found = []
    for x, kind in zip(arrays, types):
        part = tuple(slice(remaining.pop(0)) if isinstance(n, Dim) else slice(None) for n in kind.shape)
        found.append(np.asarray(x)[part])
    return found


def _at_bounds(x: Any, kind: ArrayType) -> np.ndarray:
    x = np.asarray(x, kind.dtype)
    if x.shape == kind.bounds:
        return x
    held = np.zeros(kind.bounds, kind.dtype)
    held[tuple(map(slice, x.shape))] = x
    return held


def _leaves(found: Any) -> Iterator[Any]:
    """The arrays in a result: tuples in it are gone through, None is nothing."""
    if isinstance(found, (tuple, list)):
        for x in found:
            yield from _leaves(x)
    elif found is not None:
        yield found


def _lengths(walk: Walk, types: Sequence[ArrayType]) -> list[Any]:
    return [length(walk, n) for kind in types for n in kind.shape if isinstance(n, Dim)]


def call_python(
    walk: Walk, op: Operation, function: Callable[..., Any], operands: Sequence[Any], *, is_ordered: bool
) -> list[Any]:
    """The results of a Python function of NumPy arrays."""
    types = [v.type for v in op.positional]
    results = [v.type for v in op.results]
    raised, walk.runs_python = walk.raised, True

    def run(*values: Any) -> Any:
        arrays, lengths = values[: len(types)], values[len(types) :]
        try:
            with np.errstate(all="ignore"):
                found = function(*(x if x.ndim else x[()] for x in _cut(arrays, lengths, types)))
            found = list(_leaves(found)) if results else []
            return [np.bool_(False), *map(_at_bounds, found, results)]
        except BaseException as error:
            raised.append(error)
            return [np.bool_(True), *(np.zeros(t.bounds, t.dtype) for t in results)]

    shapes = [jax.ShapeDtypeStruct((), bool), *(jax.ShapeDtypeStruct(t.bounds, t.dtype) for t in results)]
    arguments = [*map(jnp.asarray, operands), *_lengths(walk, types)]
    if is_ordered:
        walk.is_ordered = True

        def execute() -> Any:
            return io_callback(run, shapes, *arguments, ordered=True)

        def skip() -> Any:
            return [jnp.zeros(s.shape, s.dtype) for s in shapes]

        unfailed = walk.unfailed()
        failed, *found = execute() if unfailed is None else lax.cond(unfailed, execute, skip)
    else:
        failed, *found = jax.pure_callback(run, shapes, *arguments, vmap_method="sequential")
    walk.fail_if(failed, _SITE)
    return found


@lowers(None, fails=True)
def _library_call(walk: Walk, op: Operation, *operands: Any, **constants: Any) -> list[Any]:
    return call_python(walk, op, partial(op.callee, **constants), operands, is_ordered=False)


@lowers(callback, fails=True)
def _callback(walk: Walk, op: Operation, *operands: Any, function: Callable[..., Any]) -> list[Any]:
    return call_python(walk, op, function, operands, is_ordered=True)


@lowers(debug_print, fails=True)
def _debug_print(walk: Walk, op: Operation, *operands: Any, text: str) -> list[Any]:
    return call_python(walk, op, lambda *values: print(text.format(*values)), operands, is_ordered=True)
