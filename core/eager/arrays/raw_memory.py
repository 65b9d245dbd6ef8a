"""Numbers in raw memory: bytes, buffers, ctypes, addresses.

Arrays on the same memory share their cotangent (``memory``), also if a bytearray or a memory map owns the memory.  But
numbers that C code packs into bytes and unpacks again cannot be matched.  So the tape keeps the numbers given to such
code, and refuses a cotangent that reaches numbers read from raw memory that are equal to some of these.

Once the program has asked for the address of an array, C code can write into it without being given the array.  From
then on each call of C code checks whether it did.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.connected import connected
from ...source.definitions import describe
from ...values.memory import blank_memory, corresponding, is_about_memory, owner
from ...values.numbers import call_on
from ...values.reachable import reached
from ..recorded.tape import Cotangents, Tape, enclosing_tapes
from ..unrecorded.opaque import Opaque, Unrecorded, judge, note, note_given, nothing
from ..unrecorded.opaque_calls import addressed, as_view
from .records import numeric_fields

ADDRESSES = {"ctypes", "data", "__array_interface__", "__array_struct__"}
"""Attributes of an array that reveal the address of its memory."""


def expose(tape: Tape, x: Any, function: Any) -> None:
    """Note that ``function`` has revealed the address of the array ``x``."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        tape.memory.setdefault(addressed, []).append(x if type(x) is np.ndarray else x.view(np.ndarray))
        note_given(tape, function, (x,))


def shows_memory(x: Any) -> bool:
    """Whether ``x`` describes memory of its own, on which NumPy makes an array."""
    own = () if isinstance(x, type) else getattr(x, "__dict__", ())
    return any(hasattr(type(x), name) or name in own for name in _DESCRIPTIONS)


_DESCRIPTIONS = ("__array_interface__", "__array_struct__")


def array_on(tape: Tape, x: Any) -> np.ndarray:
    """Return the array on that memory: a view of an array that ``x`` holds, else noted as read from raw memory."""
    made = np.asarray(x)
    y = as_view(made, x)
    if y is made:
        note(tape, y, np.asarray, (x,))
    return y


def refuse_if_given(
    table: Cotangents,
    y: Any,
    dy: Any,
    where: tuple[str, int] | None,
    may_be: Callable[[Opaque], bool] = lambda opaque: True,
) -> None:
    """Refuse a cotangent of numbers read from raw memory if they are among those that went into raw memory.

    Args:
        table: the sweep.
        y: the numbers that were read.
        dy: their cotangent.
        where: the user's line that read them, if it is known.
        may_be: whether a call may have put them there.
    """
    read = _single([_where_not_zero(y, dy)])
    if not read.size or table.tape is None:
        return
    for tape in enclosing_tapes(table.tape):
        if np.isin(read, _all_given(tape)).any():
            found = (o for o, x in _events(tape) if may_be(o) and np.isin(read, _in_both_precisions(x)).any())
            opaque = next(found, None)
            if opaque is None:
                continue
            raise _refusal(opaque, "" if where is None else f" at {where[0]}:{where[1]}")


def refuse_bits(tape: Tape, opaque: Opaque) -> None:
    """Refuse a cotangent of integers that show the bits of numbers that depend on an input."""
    judge(tape)
    if opaque.depends:
        raise _refusal(opaque, "")


def _refusal(opaque: Opaque, back: str) -> NoDerivative:
    return NoDerivative(
        f"numbers that {describe(opaque.function)} wrote to raw memory at {opaque.where[0]}:{opaque.where[1]} "
        f"are read from bytes, a buffer or an address again{back}; no derivative passes through bytes. Use the "
        "numbers or the array itself (convert with astype(), copy with copy()), or wrap them in "
        "morula.stop_gradient before they become bytes if no derivative should pass."
    )


def _all_given(tape: Tape) -> np.ndarray:
    """Return the distinct numbers, rounded, that depend on an input and were put into raw memory."""
    found = tape.memory.get(_all_given)
    if found is None:
        judge(tape)
        found = tape.memory[_all_given] = np.unique(
            _in_both_precisions(x for _, numbers in _events(tape) for x in numbers)
        )
    return found


def _events(tape: Tape) -> Iterator[tuple[Opaque, list[Any]]]:
    """Yield the calls of C code that got numbers depending on an input, with these numbers and the bytes returned."""
    for record in tape.records:
        opaque = next((e for e in record[2:] if type(e) is Opaque), None)
        if opaque is None or not opaque.depends or type(opaque.function) is Unrecorded:
            continue
        made = record[1] if isinstance(record[1], tuple) else (record[1],)
        if record[0] is nothing or is_about_memory(opaque.function, (*opaque.inputs, *made)):
            values: list[Any] = []
            reached(opaque.inputs, set(), values=values)
            yield opaque, [*values, *made, *(x for x in opaque.inputs if not isinstance(x, (list, tuple)))]


def _single(numbers: Iterable[Any]) -> np.ndarray:
    """Return real and imaginary parts in single precision."""
    with np.errstate(all="ignore"):
        return np.concatenate([np.zeros(0, np.float32), *(_parts(x).astype(np.float32) for x in numbers)])


def _in_both_precisions(numbers: Iterable[Any]) -> np.ndarray:
    """Return real and imaginary parts rounded to single and to half precision, as bytes may have held them."""
    single = _single(numbers)
    with np.errstate(all="ignore"):
        return np.concatenate([single, single.astype(np.float16).astype(np.float32)])


def _parts(x: Any) -> np.ndarray:
    """Return the floating-point numbers in ``x`` as one vector, complex ones as two numbers."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind == "V":
            return np.concatenate([np.zeros(0), *(_parts(np.asarray(field)) for field in numeric_fields(x))])
        if x.dtype.kind in "fc":
            return reals(x)
    elif isinstance(x, (float, complex, np.inexact)):
        return _parts(np.asarray(x))
    elif isinstance(x, (list, tuple)):
        return np.concatenate([np.zeros(0), *map(_parts, x)])
    else:
        return _content(x)
    return np.zeros(0)


def _content(x: Any) -> np.ndarray:
    """Return an object's bytes as numbers of its own format, or as doubles if the format is no floating-point one."""
    try:
        view = memoryview(x.getbuffer() if isinstance(x, io.BytesIO) else x)
    except (TypeError, ValueError, BufferError):
        return np.zeros(0)
    kind = view.format[-1:]
    dtype = np.dtype(kind if kind in FLOATS else "d")
    content = view.tobytes()
    return np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype)


FLOATS = ("e", "f", "d")
"""Formats of memory views that hold floating-point numbers."""


def _where_not_zero(y: Any, dy: Any) -> Any:
    """Return the numbers of ``y`` that have a nonzero cotangent."""
    if isinstance(y, np.ndarray) and isinstance(dy, np.ndarray) and dy.dtype.names is None and y.shape == dy.shape:
        return y[dy != 0]
    if isinstance(dy, np.ndarray) and dy.dtype == np.uint8:  # dy holds the bytes of the cotangents
        numbers = _content(y)
        return numbers[dy[: numbers.nbytes].reshape(numbers.size, -1).any(axis=1)]
    return y


def compose(tape: Tape, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return bytes that ``function`` makes of integers, which may come from any number that became bytes before."""
    y = call_on(tape.parent, function, *args, **kwargs)
    first, packed = tape.memory.get(compose, (0, []))
    for record in tape.records[first:]:
        opaque = next((e for e in record[2:] if type(e) is Opaque), None)
        made = record[1] if isinstance(record[1], tuple) else (record[1],)
        if opaque is not None and (record[0] is nothing or is_about_memory(opaque.function, (*opaque.inputs, *made))):
            packed = [*packed, *opaque.inputs, *made]
    note(tape, y, function, (*packed, *args))
    tape.memory[compose] = len(tape.records), [y] if packed else []
    return y


def refuse_leftovers(table: Cotangents) -> None:
    """Check, at the end of a sweep, cotangents left in raw memory: no recorded write explains these numbers."""
    for key, windows in table.windows.items():
        if key not in table.arrays:
            continue
        for x, window, _ in windows.values():
            holder = owner(x)
            is_array = isinstance(holder, np.ndarray)
            if is_array and holder.dtype.kind not in "iub" or x.dtype.kind not in "fc" or not np.any(window != 0):
                continue
            if is_array:
                _refuse_made_of_integers(table)
            else:
                refuse_if_given(table, x, window, None)


def _refuse_made_of_integers(table: Cotangents) -> None:
    """Refuse a cotangent of numbers in the memory of integers, if numbers of this run were shown as integers before."""
    for tape in enclosing_tapes(table.tape):
        judge(tape)
        opaque = next((opaque for opaque, _ in _events(tape)), None)
        if opaque is not None:
            raise _refusal(opaque, "")


def cut(table: Cotangents, x: np.ndarray, index: Any, old: Any, v: Any) -> None:
    """Undo a write into ``x``, whose dtype has no derivatives: it replaced the floating-point numbers in that memory.

    Restores ``x[index]`` to ``old``.  ``v`` was written; the last entry of ``table.redo`` holds the written contents.
    Refuses a cotangent of the replaced numbers if these may come from numbers that went into raw memory.
    """
    holder = owner(x)
    source = owner(v) if isinstance(v, np.ndarray) else None
    is_shown = isinstance(source, np.ndarray) and source.dtype.kind in "fc"
    blank = blank_memory(holder)
    marks = corresponding(x, holder, blank).view(f"V{x.itemsize}")
    marks[index] = np.void(b"\xff" * x.itemsize)
    new = table.redo[-1][2]
    table.write(x, index, new)

    def may_be(opaque: Opaque) -> bool:
        """Whether a call may be the source: it showed the memory of ``v``, or else any memory except that of ``x``."""
        return opaque.shown is None or (opaque.shown is source if is_shown else opaque.shown is not holder)

    floats = [(u, window) for u, window, _ in table.windows.get(id(holder), {}).values() if u.dtype.kind in "fc"]
    if isinstance(holder, np.ndarray) and holder.dtype.kind in "fc":
        floats.append((holder, table.window(holder)))
    found = []
    for u, window in floats:
        n = u.itemsize // 2 if u.dtype.kind == "c" else u.itemsize
        written = np.frombuffer(corresponding(u, holder, blank).tobytes(), np.uint8).reshape(-1, n) != 0
        reached = np.any(reals(window).reshape(-1, 1) != 0, axis=1)
        if np.any(reached & written.any(axis=1) & ~written.all(axis=1)):
            raise NoDerivative(
                f"a part of the bytes of numbers of dtype {u.dtype} is written through an array of dtype {x.dtype}; no "
                f"derivative passes through bytes. Write whole numbers through an array of dtype {u.dtype}; convert with astype()"
            )
        found.append((np.copy(reals(u)), np.where(written.all(axis=1), reals(window), 0)))
    table.write(x, index, old)
    if np.any(new != 0):  # zeros carry no derivative
        for numbers, reached in found:
            refuse_if_given(table, numbers, reached, None, may_be)
    table.write(table.window(x), index, np.zeros((), x.dtype))


def reals(x: np.ndarray) -> np.ndarray:
    """Return the real numbers in ``x`` as one vector, complex ones as two numbers."""
    flat: Any = np.ravel(np.asarray(x))
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


connected.refuse_bits = refuse_bits
connected.refuse_if_given = refuse_if_given
