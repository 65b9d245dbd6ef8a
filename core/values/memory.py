"""The memory of arrays: its owner, and the position of a view's entries in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib._stride_tricks_impl import DummyArray

from ..errors import NoDerivative


def identity(x: Any) -> int:
    """Return the key that identifies a value: the id of an array's memory owner, else the object's own id."""
    return id(owner(x)) if isinstance(x, np.ndarray) else id(x)


def owner(x: np.ndarray) -> Any:
    """Return the owner of the memory of ``x``: an array, or the object that exports the buffer."""
    base = x.base
    while base is not None:
        if isinstance(base, np.ndarray):
            x, base = base, base.base
        elif isinstance(base, DummyArray):  # as_strided puts it between a view and its array
            base = base.base
        elif isinstance(base, memoryview):
            base = exporter(base)
        elif isinstance(base, np.void) and base.base is not None:  # a row of a structured array
            base = base.base
        else:
            return x if _buffer(base) is None else base
    return x


def is_known(holder: Any) -> bool:
    """Return whether every array that aliases the memory of ``holder`` has it as its ``owner``.

    The base of an array that C code made is a capsule, which other arrays may share; with one reference, none does.
    """
    if not isinstance(holder, np.ndarray) or holder.base is None:
        return True
    return type(holder.base).__name__ == "PyCapsule" and sys.getrefcount(holder.base) <= _OF_ONE_ARRAY


_sample = np.frombuffer(bytearray(1), np.uint8)
_OF_ONE_ARRAY = sys.getrefcount(_sample.base)
"""The reference count of an object that only one array refers to, measured as in ``is_known``; it varies by version."""


def exporter(view: memoryview) -> Any:
    """Return the object whose memory a memoryview exposes; None if the view was released."""
    try:
        return view.obj
    except ValueError:
        return None


def _buffer(holder: Any) -> np.ndarray | None:
    """Return the bytes of an object as an array; None if it does not support the buffer protocol."""
    try:
        return np.frombuffer(holder, np.uint8)
    except (TypeError, ValueError, BufferError):
        return None


RAW = {"ctypes", "_ctypes", "struct", "_struct", "array", "mmap", "pickle", "_pickle", "_io"}
"""Modules whose functions and classes read or write numbers as bytes."""


def is_raw(x: Any) -> bool:
    """Return whether an object holds bytes that can be read or written as numbers."""
    kind = type(x)
    if kind.__module__ in RAW or kind in (bytes, bytearray, memoryview, np.void):
        return True
    if isinstance(x, (np.ndarray, np.generic, str, int, float, complex, tuple, list, dict, type(None))):
        return False
    return _buffer(x) is not None


def is_about_memory(function: Any, values: Iterable[Any]) -> bool:
    """Return whether a call may read or write raw memory: its arguments' bytes, or memory at an address."""
    owners = (
        function,
        type(function),
        type(getattr(function, "__self__", None)),
        getattr(function, "__objclass__", None),
    )
    return any(getattr(o, "__module__", None) in RAW for o in owners) or any(map(is_raw, values))


def pinned(y: np.ndarray) -> np.ndarray:
    """Return ``y``, made by ``np.ndarray(buffer=...)``, as a view that locks the buffer of its memory's holder.

    NumPy does not lock the buffer of the holder (an mmap, a bytearray) for such an array, so the memory could move or
    be freed.  Return ``y`` itself if its memory belongs to an array.
    """
    base = exporter(y.base) if isinstance(y.base, memoryview) else y.base
    whole = None if base is None or isinstance(base, np.ndarray) else _buffer(base)
    if whole is None or not whole.size:
        return y
    view = _laid_over(whole, y, whole)
    view.flags.writeable = y.flags.writeable
    return view


def rebased(y: Any, operands: tuple[np.ndarray, ...]) -> Any:
    """Return the arrays that ``np.nditer`` yields as views of its operands' memory, so that they alias the operands."""
    if isinstance(y, tuple):
        return tuple(rebased(e, operands) for e in y)
    for x in operands:
        holder = owner(x)
        if isinstance(holder, np.ndarray) and np.may_share_memory(x, y):
            view = _laid_over(holder, y, holder)
            view.flags.writeable = y.flags.writeable
            return view
    return y


def blank_memory(holder: Any) -> np.ndarray:
    """Return zeros in the shape, dtype and layout of ``holder``, a memory owner; bytes for a buffer."""
    if not isinstance(holder, np.ndarray):
        return np.zeros(_buffer(holder).size, np.uint8)  # type: ignore[union-attr]
    flat = np.zeros(holder.size, holder.dtype)
    return flat if holder.ndim == 1 and holder.flags.c_contiguous else _laid_over(flat, holder, holder)


def corresponding(x: np.ndarray, holder: Any, blank: np.ndarray) -> np.ndarray:
    """Return the view of ``blank = blank_memory(holder)`` at the position of ``x`` in the holder's memory."""
    memory = holder if isinstance(holder, np.ndarray) else _buffer(holder)
    flat: Any = blank if blank.base is None else blank.base
    same = x.dtype is flat.dtype or x.dtype.kind not in "fc" or flat.dtype.kind not in "fc"
    if not same and _component(x) != _component(flat):
        raise NoDerivative(
            f"memory of dtype {flat.dtype} is read or written as {x.dtype}; no derivative passes through the bits of "
            "numbers. Convert with astype() instead of view()"
        )
    return _laid_over(flat, x, memory)  # type: ignore[arg-type]


def _laid_over(flat: np.ndarray, x: np.ndarray, memory: np.ndarray) -> np.ndarray:
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    offset = 0 if x is memory else _address(x) - _address(memory)
    return np.ndarray(x.shape, x.dtype, flat, offset, x.strides)


def _component(x: np.ndarray) -> int:
    """Return the size in bytes of one real component of ``x``."""
    return x.itemsize // 2 if x.dtype.kind == "c" else x.itemsize


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def flat_index(x: np.flatiter, i: Any) -> Any:
    """Return the index into ``x.base`` equivalent to ``x[i]``; the array need not be contiguous."""
    x[i]  # raises what NumPy raises
    return np.unravel_index(np.arange(x.base.size)[i], x.base.shape)


def fields(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Return the names of the fields of a structured dtype."""
    if dtype.names is None:
        raise NoDerivative(f"a write into an array of dtype {dtype} has no derivative; use a dtype with named fields")
    return dtype.names


def overlaps_itself(x: np.ndarray) -> bool:
    """Return whether entries of a view alias each other (broadcast views, sliding windows)."""
    if x.flags.forc:
        return False
    reach = x.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape) if n > 1):
        if stride < reach:
            return x.size > 0
        reach = stride * (n - 1) + reach
    return False


def distinct_entries(x: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return, for a self-overlapping view, the index of one entry per memory location, and each entry's location."""
    offsets = np.zeros(x.shape, np.intp)
    for axis, (n, stride) in enumerate(zip(x.shape, x.strides)):
        offsets += np.arange(0, n * stride, stride).reshape(n, *[1] * (x.ndim - axis - 1)) if stride else 0
    found, first, places = np.unique(offsets, return_index=True, return_inverse=True)
    if found.size > 1 and np.diff(found).min() < x.itemsize:
        raise NoDerivative("an array whose entries partly overlap in memory has no derivative; copy it first")
    return np.unravel_index(first, x.shape), places.reshape(-1)


@contextmanager
def made_writeable(x: np.ndarray) -> Iterator[None]:
    """Make a read-only array, and the arrays that it is a view of, writeable for the duration of the block."""
    chain = []
    a: Any = x
    while isinstance(a, np.ndarray):
        if not a.flags.writeable:
            chain.append(a)
        a = a.base
    try:
        for a in reversed(chain):
            a.flags.writeable = True
        yield
    finally:
        for a in chain:
            a.flags.writeable = False
