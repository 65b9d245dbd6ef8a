"""The memory that arrays look into: who holds it, and where in it the entries of a view lie."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib._stride_tricks_impl import DummyArray

from ..errors import NoDerivative


def identity(x: Any) -> int:
    """By what a number, an array or an object is known: views of one memory are known by its owner."""
    return id(owner(x)) if isinstance(x, np.ndarray) else id(x)


def owner(x: np.ndarray) -> Any:
    """What holds the memory of ``x``: an array, or the object whose buffer the arrays of that memory were made on."""
    base = x.base
    while base is not None:
        if isinstance(base, np.ndarray):
            x, base = base, base.base
        elif isinstance(base, DummyArray):  # what as_strided puts between a view and its array
            base = base.base
        elif isinstance(base, memoryview):
            base = exporter(base)
        elif isinstance(base, np.void) and base.base is not None:  # a row of a structured array
            base = base.base
        else:
            return x if _buffer(base) is None else base
    return x


def is_known(holder: Any) -> bool:
    """Whether all arrays that look into the memory of ``holder`` are known to do so.

    A capsule with one reference is memory that code in C has made for one array.
    """
    if not isinstance(holder, np.ndarray) or holder.base is None:
        return True
    return type(holder.base).__name__ == "PyCapsule" and sys.getrefcount(holder.base) <= _OF_ONE_ARRAY


_sample = np.frombuffer(bytearray(1), np.uint8)
_OF_ONE_ARRAY = sys.getrefcount(_sample.base)
"""The count of an object to which only one array refers, as ``is_known`` finds it: it differs between versions of Python."""


def exporter(view: memoryview) -> Any:
    """The object whose memory a view shows; None if the view has been released."""
    try:
        return view.obj
    except ValueError:
        return None


def _buffer(holder: Any) -> np.ndarray | None:
    """The bytes of an object that is no array; None if it does not show them."""
    try:
        return np.frombuffer(holder, np.uint8)
    except (TypeError, ValueError, BufferError):
        return None


RAW = {"ctypes", "_ctypes", "struct", "_struct", "array", "mmap", "pickle", "_pickle", "_io"}
"""Modules of functions and classes that read and write numbers as bytes."""


def is_raw(x: Any) -> bool:
    """Whether an object keeps bytes that others can read or write as numbers."""
    kind = type(x)
    if kind.__module__ in RAW or kind in (bytes, bytearray, memoryview, np.void):
        return True
    if isinstance(x, (np.ndarray, np.generic, str, int, float, complex, tuple, list, dict, type(None))):
        return False
    return _buffer(x) is not None


def is_about_memory(function: Any, values: Iterable[Any]) -> bool:
    """Whether a call reads or writes raw memory: that of its arguments, or at an address."""
    owners = (
        function,
        type(function),
        type(getattr(function, "__self__", None)),
        getattr(function, "__objclass__", None),
    )
    return any(getattr(o, "__module__", None) in RAW for o in owners) or any(map(is_raw, values))


def pinned(y: np.ndarray) -> np.ndarray:
    """``y``, made by ``np.ndarray(buffer=...)``, on memory that its holder neither moves nor gives back while ``y`` lives.

    NumPy does not tell the holder, a map or a bytearray, that such an array looks into its memory.
    """
    base = exporter(y.base) if isinstance(y.base, memoryview) else y.base
    whole = None if base is None or isinstance(base, np.ndarray) else _buffer(base)
    if whole is None or not whole.size:
        return y
    view = _laid_over(whole, y, whole)
    view.flags.writeable = y.flags.writeable
    return view


def rebased(y: Any, operands: tuple[np.ndarray, ...]) -> Any:
    """What ``np.nditer`` gives, as views of the memory of its operands rather than of its own."""
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
    """Zeros in the shape, dtype and memory layout of what ``owner`` gives; bytes for a buffer."""
    if not isinstance(holder, np.ndarray):
        return np.zeros(_buffer(holder).size, np.uint8)  # type: ignore[union-attr]
    flat = np.zeros(holder.size, holder.dtype)
    return flat if holder.ndim == 1 and holder.flags.c_contiguous else _laid_over(flat, holder, holder)


def corresponding(x: np.ndarray, holder: Any, blank: np.ndarray) -> np.ndarray:
    """The view of ``blank``, made by ``blank_memory(holder)``, that lies there where ``x`` lies in the holder's memory."""
    memory = holder if isinstance(holder, np.ndarray) else _buffer(holder)
    flat: Any = blank if blank.base is None else blank.base
    same = x.dtype is flat.dtype or x.dtype.kind not in "fc" or flat.dtype.kind not in "fc"
    if not same and _component(x) != _component(flat):
        raise NoDerivative(
            f"memory of dtype {flat.dtype} is read or written as {x.dtype}, which cuts numbers into bits that have no "
            "derivative; convert with astype() instead of view()"
        )
    return _laid_over(flat, x, memory)  # type: ignore[arg-type]


def _laid_over(flat: np.ndarray, x: np.ndarray, memory: np.ndarray) -> np.ndarray:
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    offset = 0 if x is memory else _address(x) - _address(memory)
    return np.ndarray(x.shape, x.dtype, flat, offset, x.strides)


def _component(x: np.ndarray) -> int:
    """The size of one real number of ``x``; a complex one is two of them."""
    return x.itemsize // 2 if x.dtype.kind == "c" else x.itemsize


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def flat_index(x: np.flatiter, i: Any) -> Any:
    """The index of the array beneath ``x`` that means ``x[i]``; the array need not be contiguous."""
    x[i]  # raises what NumPy raises
    return np.unravel_index(np.arange(x.base.size)[i], x.base.shape)


def fields(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """The names of the fields of a structured dtype."""
    if dtype.names is None:
        raise NoDerivative(f"a write into an array of dtype {dtype} has no derivative; use a dtype with named fields")
    return dtype.names


def overlaps_itself(x: np.ndarray) -> bool:
    """Whether two entries of a view are one place in memory (broadcast views, sliding windows)."""
    if x.flags.forc:
        return False
    reach = x.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape) if n > 1):
        if stride < reach:
            return x.size > 0
        reach = stride * (n - 1) + reach
    return False


def distinct_entries(x: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Of a view that overlaps itself: the index of one entry for each place in memory, and the place of every entry."""
    offsets = np.zeros(x.shape, np.intp)
    for axis, (n, stride) in enumerate(zip(x.shape, x.strides)):
        offsets += np.arange(0, n * stride, stride).reshape(n, *[1] * (x.ndim - axis - 1)) if stride else 0
    found, first, places = np.unique(offsets, return_index=True, return_inverse=True)
    if found.size > 1 and np.diff(found).min() < x.itemsize:
        raise NoDerivative("an array whose entries overlap by a part of their bytes has no derivative")
    return np.unravel_index(first, x.shape), places.reshape(-1)


@contextmanager
def made_writeable(x: np.ndarray) -> Iterator[None]:
    """Let an array that is read-only be written to for a while, with the arrays that it is a view of."""
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
