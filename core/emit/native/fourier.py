"""Fourier transforms: NumPy's own, called by pointer.

In NumPy 2 a transform along one axis is a generalised ufunc, whose inner loop needs neither the interpreter nor an array
object: it gets the addresses of the signals, the factor and the spectra, their lengths and strides. The loop keeps a
transform's plan, and transforms several signals at once where they are evenly spaced. Other transforms, and lengths known
only at run time, are left to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.dynamic import Operation, Value
from ...ir.typed import ArrayType
from .arrays import Memory
from .elements import address, convert, half, is_complex, literal, store
from .function import FunctionCode, emits
from .library import library
from .ufunc_loops import Loop, address as pointer, exists

_MODULE = "numpy.fft._pocketfft_umath"
_FORWARD, _INVERSE, _REAL, _TO_REAL = np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft
_SEVERAL = {np.fft.fftn: _FORWARD, np.fft.fft2: _FORWARD, np.fft.ifftn: _INVERSE, np.fft.ifft2: _INVERSE}
_SCALED = {_INVERSE: ("backward", None), _TO_REAL: ("backward", None), _FORWARD: ("forward",), _REAL: ("forward",)}
"""For each transform the names of the normalisation that divides by its length."""


@emits(_FORWARD, _INVERSE, _REAL, _TO_REAL)
def _along_one_axis(f: FunctionCode, op: Operation) -> None:
    constants = {name: v.constant for name, v in op.named.items()}
    axis = constants.get("axis", -1)
    (source,), (result,) = op.positional, op.results
    loop = _loop(op.callee, source.type, result.type, axis, constants.get("n"))
    if loop is None or constants.get("out") is not None:
        library(f, op)
        return
    memory = f.values[result] = f.memory(result)
    _transform(
        f, op.callee, loop, (_given(f, source, loop), source.type), (memory, result.type), axis, constants.get("norm")
    )


@emits(*_SEVERAL)
def _along_several_axes(f: FunctionCode, op: Operation) -> None:
    constants = {name: v.constant for name, v in op.named.items()}
    (source,), (result,) = op.positional, op.results
    default = (-2, -1) if op.callee in (np.fft.fft2, np.fft.ifft2) else None
    axes = constants.get("axes", default)
    axes = list(range(source.type.ndim) if axes is None else axes)
    one = _SEVERAL[op.callee]
    loops: list[Any] = [_loop(one, source.type, result.type, axis, None) for axis in axes]
    if not axes or None in loops or constants.get("s") is not None or constants.get("out") is not None:
        library(f, op)
        return
    memory = f.values[result] = f.memory(result)
    given = _given(f, source, loops[-1])
    for axis, loop in zip(reversed(axes), reversed(loops)):  # as in NumPy, the last axis first
        _transform(f, one, loop, (given, source.type), (memory, result.type), axis, constants.get("norm"))
        given = memory


def _loop(transform: object, source: ArrayType, result: ArrayType, axis: int, n: int | None) -> Loop | None:
    """Return NumPy's loop for a transform; None if there is none for these types."""
    if not isinstance(source, ArrayType) or not source.ndim:
        return None
    before, after = source.shape[axis], result.shape[axis]
    if not isinstance(before, int) or not isinstance(after, int) or not before or not after:
        return None
    to, spectrum = result.dtype, np.result_type(result.dtype, np.complex64)
    wanted = half(to) if transform is _REAL else spectrum
    if source.dtype not in (wanted, half(spectrum)) or to != (half(spectrum) if transform is _TO_REAL else spectrum):
        return None
    length = before if n is None else n
    names = {_FORWARD: "fft", _INVERSE: "ifft", _TO_REAL: "irfft", _REAL: f"rfft_n_{'odd' if length % 2 else 'even'}"}
    loop = Loop(_MODULE, names[transform], f"{wanted.char}{half(spectrum).char}->{to.char}")
    return loop if exists(loop) else None


def _given(f: FunctionCode, source: Value, loop: Loop) -> Memory:
    """Return the signals in memory, real numbers as complex ones where the loop takes these."""
    wanted = np.dtype(loop.types[0])
    if source.type.dtype == wanted:
        return f.in_memory(source)
    array = f.array(source)
    made = Memory(f.code, f.temporary(ArrayType(wanted, source.type.shape)), wanted, array.lengths)

    def one(at: list[str]) -> None:
        made.store(f.code, at, convert(f.code, array.load(f.code, at), array.dtype, wanted))

    f.code.nest(array.lengths, one)
    return made


def _transform(
    f: FunctionCode,
    transform: object,
    loop: Loop,
    source: tuple[Memory, ArrayType],
    result: tuple[Memory, ArrayType],
    axis: int,
    norm: str | None,
) -> None:
    """Emit the transform of ``source`` along an axis to the memory of ``result``, which may be that of ``source``."""
    code, axis = f.code, axis % source[1].ndim
    (given, before), (made, after) = source, result
    real = half(made.dtype) if is_complex(made.dtype) else made.dtype
    lengths = int(before.shape[axis]), int(after.shape[axis])  # type: ignore[arg-type]
    signal = lengths[1]
    if transform is _REAL:
        signal = 2 * (lengths[1] - 1) + (loop.name == "rfft_n_odd")
    factor = code.slot("i64", 1)
    store(code, factor, literal(_factor(transform, signal, norm, real), real), real)
    leading = given.lengths[:axis]
    following = code.product(given.lengths[axis + 1 :])
    sizes = [given.dtype.itemsize, made.dtype.itemsize]
    whole = [code.multiply(following, str(n)) for n in lengths]
    if following == "1":  # one call for all signals, which follow each other
        outer, apart, steps, leading = code.product(leading), [str(n) for n in lengths], ["1", "1"], []
    else:
        outer, apart, steps = following, ["1", "1"], [following, following]
    places = code.slot("i64", 3)
    words = [code.multiply(n, str(size)) for n, size in zip(apart, sizes)]
    strides = _table(f, [words[0], "0", words[1], *(code.multiply(n, str(s)) for n, s in zip(steps, sizes))])
    counts = _table(f, [outer, *map(str, lengths)])
    name = f"loop.{loop.name}.{loop.types}".replace("->", ".")
    code.module.symbols[name] = loop
    code.module.declare(name, "void", ["ptr"] * 4, pure=False)
    data = _data(f, name, loop)

    def one(at: Sequence[str]) -> None:
        number = "0"
        for k, n in zip(at, leading):
            number = code.add(code.multiply(number, n), k)
        for i, (memory, size) in enumerate(zip((given, made), whole)):
            start = address(code, memory.pointer, code.multiply(number, size), memory.dtype)
            code.do(f"store ptr {start}, ptr {code.value(f'getelementptr i64, ptr {places}, i64 {2 * i}')}")
        code.do(f"store ptr {factor}, ptr {code.value(f'getelementptr i64, ptr {places}, i64 1')}")
        code.do(f"call void @{name}(ptr {places}, ptr {counts}, ptr {strides}, ptr {data})")

    code.nest(leading, one)


def _data(f: FunctionCode, name: str, loop: Loop) -> str:
    """Return the pointer that a loop is passed as its last argument."""
    symbol = replace(loop, is_data=True)
    if not pointer(symbol):
        return "null"
    module, text = f.program.module, f"@{name}.data = external global i8"
    module.symbols[f"{name}.data"] = symbol
    if text not in module.globals:
        module.globals.append(text)
    return f"@{name}.data"


def _factor(transform: object, length: int, norm: str | None, real: np.dtype) -> float:
    if norm == "ortho":
        return float(np.reciprocal(np.sqrt(real.type(length))))
    return float(np.reciprocal(real.type(length))) if norm in _SCALED[transform] else 1.0


def _table(f: FunctionCode, words: Sequence[str]) -> str:
    table = f.code.slot("i64", len(words))
    for i, word in enumerate(words):
        f.code.do(f"store i64 {word}, ptr {f.code.value(f'getelementptr i64, ptr {table}, i64 {i}')}")
    return table
