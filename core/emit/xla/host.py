"""Calls from an XLA program into Python: functions that XLA lacks, callbacks, printing.

An exception raised there sets the program's error like one of its own, and is raised after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback

from ...ir.dynamic import Operation
from ...ir.library_results import leaves, of_kind
from ...ir.typed import ArrayType, Dim, callback, debug_print, of_text
from .lengths import length
from .lower import Site, Walk, lowers


class Raised(Exception):
    """Marks the site of an exception that was raised in Python; it is never raised itself."""


_SITE = Site(Raised, "")


def _as_words(kind: ArrayType) -> tuple[int, ...] | None:
    """Return the shape of an array transferred as 32-bit words; None if it is transferred as it is.

    JAX runs callbacks in threads of XLA, in which 64-bit numbers are not enabled: it would convert them to 32 bits.
    """
    return (*kind.bounds, kind.dtype.itemsize // 4) if kind.dtype.str[1:] in ("f8", "c16", "i8", "u8") else None


def _crossing(kind: ArrayType) -> jax.ShapeDtypeStruct:
    words = _as_words(kind)
    return jax.ShapeDtypeStruct(kind.bounds, kind.dtype) if words is None else jax.ShapeDtypeStruct(words, np.uint32)


def _to_words(x: Any, kind: ArrayType) -> Any:
    if _as_words(kind) is None:
        return jnp.asarray(x)
    x = jnp.stack([jnp.real(x), jnp.imag(x)], -1) if kind.dtype.kind == "c" else jnp.asarray(x, kind.dtype)
    words = lax.bitcast_convert_type(x, jnp.uint32)
    return words.reshape(_as_words(kind))


def _from_words(words: Any, kind: ArrayType) -> Any:
    if _as_words(kind) is None:
        return words
    if kind.dtype.kind != "c":
        return lax.bitcast_convert_type(words, kind.dtype)
    parts = lax.bitcast_convert_type(words.reshape((*kind.bounds, 2, 2)), np.float64)
    return lax.complex(parts[..., 0], parts[..., 1])


def _of_words(x: Any, kind: ArrayType) -> np.ndarray:
    x = np.asarray(x)
    return x if _as_words(kind) is None else np.ascontiguousarray(x).view(kind.dtype).reshape(kind.bounds)


def _cut(arrays: Sequence[Any], lengths: Sequence[Any], types: Sequence[ArrayType]) -> list[np.ndarray]:
    """Return arrays that are padded to their bounds, cut to their lengths."""
    remaining = [int(n) for n in lengths]
    found = []
    for x, kind in zip(arrays, types):
        part = tuple(slice(remaining.pop(0)) if isinstance(n, Dim) else slice(None) for n in kind.shape)
        found.append(_of_words(x, kind)[part])
    return found


def _at_bounds(x: Any, kind: ArrayType) -> np.ndarray:
    x = np.asarray(x, kind.dtype)
    if x.shape == kind.bounds:
        return x
    held = np.zeros(kind.bounds, kind.dtype)
    held[tuple(map(slice, x.shape))] = x
    return held


def _result(x: Any, kind: ArrayType) -> np.ndarray:
    """Return a result of Python padded to its bounds and in the form in which it is transferred."""
    held, words = _at_bounds(x, kind), _as_words(kind)
    return held if words is None else np.ascontiguousarray(held).reshape(-1).view(np.uint32).reshape(words)


def _lengths(walk: Walk, types: Sequence[ArrayType]) -> list[Any]:
    return [length(walk, n) for kind in types for n in kind.shape if isinstance(n, Dim)]


def call_python(
    walk: Walk, op: Operation, function: Callable[..., Any], operands: Sequence[Any], *, is_ordered: bool
) -> list[Any]:
    """Return the traced results of calling a Python function on NumPy arrays at run time."""
    types = [v.type for v in op.positional]
    results = [v.type for v in op.results]
    raised, walk.runs_python = walk.raised, True

    def run(*values: Any) -> Any:
        arrays, lengths = values[: len(types)], values[len(types) :]
        try:
            with np.errstate(all="ignore"):
                found = function(*(x if x.ndim else x[()] for x in _cut(arrays, lengths, types)))
            found = list(leaves(found)) if results else []
            checked = [of_kind(x, kind.dtype, op.callee) for x, kind in zip(found, results, strict=True)]
            return [np.bool_(False), *map(_result, checked, results)]
        except BaseException as error:
            raised.append(error)
            return [np.bool_(True), *(np.zeros(s.shape, s.dtype) for s in shapes[1:])]

    shapes = [jax.ShapeDtypeStruct((), bool), *map(_crossing, results)]
    arguments = [*map(_to_words, operands, types), *_lengths(walk, types)]
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
    return [_from_words(x, kind) for x, kind in zip(found, results)]


@lowers(None, fails=True)
def _library_call(walk: Walk, op: Operation, *operands: Any, **constants: Any) -> list[Any]:
    return call_python(walk, op, partial(op.callee, **constants), operands, is_ordered=False)


@lowers(callback, fails=True)
def _callback(walk: Walk, op: Operation, *operands: Any, function: Callable[..., Any]) -> list[Any]:
    return call_python(walk, op, function, operands, is_ordered=True)


@lowers(debug_print, fails=True)
def _debug_print(walk: Walk, op: Operation, *operands: Any, **constants: Any) -> list[Any]:
    return call_python(walk, op, partial(debug_print.body, (), **constants), operands, is_ordered=True)


@lowers(of_text, fails=True)
def _of_text(walk: Walk, op: Operation, *operands: Any, **constants: Any) -> list[Any]:
    return call_python(walk, op, partial(of_text.body, (), **constants), operands, is_ordered=False)
