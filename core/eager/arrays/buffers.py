"""Handlers for bytes, byte arrays, memory views and memory maps."""

from __future__ import annotations

import io
import mmap
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...rules.registry import HANDLERS, handles
from ...values.special_methods import answer
from ..recorded.access import iterate, place, special
from ..recorded.call import call
from ..recorded.sizes import listed
from ..recorded.tape import Tape
from ..unrecorded.opaque_calls import call_opaque
from .raw_memory import FLOATS, compose, expose


@handles(memoryview)
def memoryview_(tape: Tape, x: Any) -> memoryview:
    expose(tape, x, memoryview)
    return memoryview(x)


def _bytes(cls: type) -> Any:
    def handler(tape: Tape, x: Any = b"", /, *args: Any, **kwargs: Any) -> Any:
        own = special(type(x), "__bytes__") if cls is bytes else None
        if own is not None:
            return answer(tape, own, "__bytes__", x)
        if _has_buffer(x):
            return call_opaque(tape, cls, (x, *args), kwargs)
        if isinstance(x, (int, str)) or hasattr(type(x), "__index__"):
            return cls(place(tape, x), *args, **kwargs)
        return compose(tape, cls, list(listed(tape, x)), *args, **kwargs)

    return handler


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x).release()
    except (TypeError, ValueError, BufferError):
        return False
    return True


for _cls in (bytes, bytearray):
    HANDLERS[_cls] = _bytes(_cls)


@handles(memoryview.tolist)
def tolist(tape: Tape, x: memoryview) -> list[Any]:
    return call(tape, np.ndarray.tolist, np.asarray(x)) if x.format in FLOATS else x.tolist()


@handles(memoryview.tobytes)
def tobytes(tape: Tape, x: memoryview, order: Any = "C") -> bytes:
    return call_opaque(tape, x.tobytes, (order,), {})


@handles(struct.pack)
def pack(tape: Tape, form: str | bytes, *numbers: Any) -> bytes:
    if any(type(x) is int for x in numbers):
        return compose(tape, struct.pack, form, *numbers)
    return call_opaque(tape, struct.pack, (form, *numbers), {})


@handles(struct.iter_unpack)
def iter_unpack(tape: Tape, form: Any, buffer: Any) -> Iterator[tuple[Any, ...]]:
    return iter(iterate(tape, call_opaque(tape, struct.iter_unpack, (form, buffer), {})))


@handles(struct.Struct.iter_unpack)
def iter_unpack_of(tape: Tape, form: struct.Struct, buffer: Any) -> Iterator[tuple[Any, ...]]:
    return iter_unpack(tape, form.format, buffer)


@handles(int.to_bytes)
def to_bytes(tape: Tape, x: int, *args: Any, **kwargs: Any) -> bytes:
    return compose(tape, int.to_bytes, x, *args, **kwargs)


def _opaquely(function: Any) -> Any:
    return lambda tape, *args, **kwargs: call_opaque(tape, function, args, kwargs)


for _function in (io.BytesIO, io.BytesIO.write, io.BytesIO.writelines):
    HANDLERS[_function] = _opaquely(_function)
for _kind in (io.BytesIO, io.FileIO, io.BufferedReader, io.BufferedRandom):
    for _name in ("readinto", "readinto1"):
        if hasattr(_kind, _name):  # the read overwrites the contents of an array
            HANDLERS[getattr(_kind, _name)] = _opaquely(getattr(_kind, _name))


@handles(mmap.mmap.close)
def close(tape: Tape, x: mmap.mmap) -> None:
    """Close a map; if arrays on the tape are views of it, leave that to the end of the tape."""
    try:
        x.close()
    except BufferError:
        tape.memory.setdefault(close, []).append(x)


@handles(mmap.mmap.__exit__)
def exit_(tape: Tape, x: mmap.mmap, *exception: Any) -> None:
    close(tape, x)
