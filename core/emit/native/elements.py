"""Elements of arrays in registers and in memory: types, literals, loads, stores, conversions.

An element is the name of a register, or a literal; a complex element is a pair of these. A bool is an i1 in a register
and a byte in memory.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ...errors import BadInput
from .assembly import Code

Element = Any

_REGISTER = {"?": "i1", "f": "float", "d": "double", "F": "float", "D": "double"}


def register(dtype: np.dtype) -> str:
    """Return the LLVM type of an element, or of each half of a complex one.

    Raises:
        BadInput: native code does not support the dtype.
    """
    if dtype.char in _REGISTER:
        return _REGISTER[dtype.char]
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    raise BadInput(f"native code does not support the dtype {dtype}; use float64, float32, complex, integers or bool")


def in_memory(dtype: np.dtype) -> str:
    return "i8" if dtype.char == "?" else register(dtype)


def is_complex(dtype: np.dtype) -> bool:
    return dtype.kind == "c"


def half(dtype: np.dtype) -> np.dtype:
    """Return the dtype of a complex number's parts."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def literal(x: Any, dtype: np.dtype) -> Element:
    """Return a constant number as an element."""
    if is_complex(dtype):
        return literal(np.real(x), half(dtype)), literal(np.imag(x), half(dtype))
    if dtype.kind == "f":
        # LLVM assembly writes a float as the bits of the double with the same value.
        with np.errstate(all="ignore"):
            return f"0x{struct.unpack('<Q', struct.pack('<d', float(dtype.type(x))))[0]:016X}"
    if dtype.kind == "b":
        return "true" if x else "false"
    return str(int(x))


def number(text: str, dtype: np.dtype) -> float | int | None:
    """Return the value of a literal, None for a register."""
    if not isinstance(text, str) or text[0] in "%@":
        return None
    if dtype.kind == "f":
        return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
    return {"true": 1, "false": 0}.get(text) if dtype.kind == "b" else int(text)


def zero(dtype: np.dtype) -> Element:
    return literal(0, dtype)


def address(code: Code, pointer: str, offset: str, dtype: np.dtype) -> str:
    """Return the address of the element ``offset`` elements after the pointer."""
    if is_complex(dtype):
        offset = code.multiply(offset, "2")
    if offset == "0":
        return pointer
    return code.value(f"getelementptr inbounds {in_memory(dtype)}, ptr {pointer}, i64 {offset}")


def load(code: Code, pointer: str, dtype: np.dtype, align: int | None = None) -> Element:
    kind, align = in_memory(dtype), align or _align(dtype)
    if is_complex(dtype):
        second = code.value(f"getelementptr inbounds {kind}, ptr {pointer}, i64 1")
        return tuple(code.value(f"load {kind}, ptr {p}, align {align}") for p in (pointer, second))
    x = code.value(f"load {kind}, ptr {pointer}, align {align}")
    return code.value(f"icmp ne i8 {x}, 0") if dtype.char == "?" else x


def store(code: Code, pointer: str, x: Element, dtype: np.dtype, align: int | None = None) -> None:
    kind, align = in_memory(dtype), align or _align(dtype)
    if is_complex(dtype):
        second = code.value(f"getelementptr inbounds {kind}, ptr {pointer}, i64 1")
        for p, part in zip((pointer, second), x):
            code.do(f"store {kind} {part}, ptr {p}, align {align}")
        return
    if dtype.char == "?":
        x = {"true": "1", "false": "0"}.get(x) or code.value(f"zext i1 {x} to i8")
    code.do(f"store {kind} {x}, ptr {pointer}, align {align}")


def _align(dtype: np.dtype) -> int:
    return half(dtype).itemsize if is_complex(dtype) else dtype.itemsize


def registers(x: Element) -> list[str]:
    """Return the registers of an element, one or two."""
    return list(x) if isinstance(x, tuple) else [x]


def register_kinds(dtype: np.dtype) -> list[str]:
    return [register(dtype)] * (2 if is_complex(dtype) else 1)


def element(parts: list[str], dtype: np.dtype) -> Element:
    """Return the element of these registers; the inverse of ``registers``."""
    return tuple(parts) if is_complex(dtype) else parts[0]


def convert(code: Code, x: Element, source: np.dtype, target: np.dtype) -> Element:
    """Convert an element like NumPy's ``astype``; from complex to real, the imaginary part is dropped."""
    if source == target:
        return x
    if is_complex(source):
        if is_complex(target):
            return tuple(convert(code, part, half(source), half(target)) for part in x)
        if target.kind == "b":
            parts = [convert(code, part, half(source), target) for part in x]
            return code.value(f"or i1 {parts[0]}, {parts[1]}")
        return convert(code, x[0], half(source), target)
    if is_complex(target):
        return convert(code, x, source, half(target)), zero(half(target))
    known = number(x, source)
    if known is not None and np.isfinite(known):
        return literal(np.asarray(known, source).astype(target)[()], target)
    a, b = register(source), register(target)
    if target.kind == "b":
        test = f"fcmp une {a} {x}, 0.0" if source.kind == "f" else f"icmp ne {a} {x}, 0"
        return code.value(test)
    if source.kind == "f":
        if target.kind == "f":
            return code.value(f"{'fptrunc' if target.itemsize < source.itemsize else 'fpext'} {a} {x} to {b}")
        return _float_to_integer(code, x, a, target)
    if target.kind == "f":
        return code.value(f"{'sitofp' if source.kind == 'i' else 'uitofp'} {a} {x} to {b}")
    if target.itemsize == source.itemsize and source.kind != "b":
        return x
    if target.itemsize < source.itemsize:
        return code.value(f"trunc {a} {x} to {b}")
    return code.value(f"{'sext' if source.kind == 'i' else 'zext'} {a} {x} to {b}")


def _float_to_integer(code: Code, x: str, kind: str, target: np.dtype) -> str:
    """Convert a float to an integer.

    NaN and numbers out of range are undefined in C. They give what the processor gives: the least int64, truncated to
    the target's size.
    """
    wide = code.value(f"call i64 @llvm.fptosi.sat.i64.{'f64' if kind == 'double' else 'f32'}({kind} {x})")
    suffix = "f64" if kind == "double" else "f32"
    code.module.declare(f"llvm.fptosi.sat.i64.{suffix}", "i64", [kind])
    bound = literal(2.0**63, np.dtype(np.float64))
    inside = code.value(f"fcmp olt {kind} {x}, {bound}")
    wide = code.value(f"select i1 {inside}, i64 {wide}, i64 {-(2**63)}")
    if target == np.uint64:
        code.module.declare(f"llvm.fptoui.sat.i64.{suffix}", "i64", [kind])
        large = code.value(f"call i64 @llvm.fptoui.sat.i64.{suffix}({kind} {x})")
        positive = code.value(f"fcmp oge {kind} {x}, {bound}")
        return code.value(f"select i1 {positive}, i64 {large}, i64 {wide}")
    b = register(target)
    return wide if b == "i64" else code.value(f"trunc i64 {wide} to {b}")
