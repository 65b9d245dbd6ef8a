"""Constant arrays: small ones are written in the module, large ones are linked to it."""

from __future__ import annotations

import hashlib

import numpy as np

from .arrays import Array, Memory
from .assembly import Code
from .elements import half, in_memory, is_complex, literal
from .program_text import ProgramText

WRITTEN = 1024  # elements


def constant_array(code: Code, program: ProgramText, x: np.ndarray) -> Array:
    """Return the memory of a constant array; equal constants share it."""
    x = np.ascontiguousarray(x)
    name = "constant." + hashlib.sha256(f"{x.dtype.str}{x.shape}".encode() + x.tobytes()).hexdigest()[:24]
    if name not in program.constants:
        kind = in_memory(x.dtype)
        items = x.reshape(-1).view(half(x.dtype)) if is_complex(x.dtype) else x.reshape(-1)
        if x.dtype.kind == "b":
            items = items.view(np.uint8)
        if x.size <= WRITTEN:
            listed = ", ".join(f"{kind} {literal(item, items.dtype)}" for item in items)
            program.constants[name] = program.module.constant(f"[{len(items)} x {kind}] [{listed}]")
        else:
            program.module.globals.append(f"@{name} = external constant [{len(items)} x {kind}], align 16")
            program.module.symbols[name] = x
            program.constants[name] = f"@{name}"
    return Memory(code, program.constants[name], x.dtype, [str(n) for n in x.shape])
