"""Calls into Python: NumPy and SciPy functions without native code, callbacks, prints; and run-time errors.

A C callback receives the number of the call and a table of words: the pointers of the operands and results, and the
lengths known only at run time. An exception in Python ends the program and is raised after it.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir import typed
from ...ir.dynamic import Operation, callee_name
from ...ir.exceptions import exception_of
from ...ir.library_results import leaves, of_kind
from ...ir.typed import STACK, ArrayType, Dim
from .elements import load, store
from .function import FunctionCode, emits

MOST_KNOWN = 64  # arrays that a call keeps
PENDING = -1  # the error number when a Python exception is to be raised


@dataclass
class Layout:
    """An array in the table; in its shape, -1 - n stands for a length known only at run time, in word n."""

    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass
class PythonCall:
    """A Python function that the C callback calls; ``copies``: it may keep or change its operands, so copy them."""

    function: Any
    constants: dict[str, Any]
    operands: list[Layout]
    results: list[Layout]
    words: int
    """The length of the table."""
    copies: bool = False
    known: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    """Arrays made before, by their place in the table and their address: a loop passes the same memory each time."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "known": {}}

    def run(self, words: Any) -> None:
        """Call the function on the arrays of a table, which is indexed by words, and store the results."""
        count = len(self.operands)
        arrays = [self.view(words, k, layout) for k, layout in enumerate(self.operands)]
        if self.copies:
            arrays = [a.copy() for a in arrays]
        with np.errstate(all="ignore"):
            found = self.function(*(a if a.ndim else a[()] for a in arrays), **self.constants)
        if not self.results:
            return
        for k, (layout, part) in enumerate(zip(self.results, leaves(found), strict=True)):
            target = self.view(words, count + k, layout)
            part = of_kind(part, layout.dtype, self.function)
            if part.shape != target.shape:
                raise BadInput(
                    f"{callee_name(self.function)} returned an array of shape {part.shape} in compiled code, "
                    f"but {target.shape} was expected"
                )
            target[...] = part

    def view(self, words: Any, k: int, layout: Layout) -> np.ndarray:
        """Return the array at a place of the table."""
        key = k, words[k]
        found = self.known.get(key)
        if found is None:
            found = _view(words, k, layout)
            if min(layout.shape, default=0) >= 0:
                if len(self.known) >= MOST_KNOWN:
                    self.known.clear()
                self.known[key] = found
        return found


def _view(words: Any, k: int, layout: Layout) -> np.ndarray:
    shape = tuple(n if n >= 0 else words[-1 - n] for n in layout.shape)
    size = math.prod(shape) * layout.dtype.itemsize
    if not size:
        return np.empty(shape, layout.dtype)
    memory: Any = (ctypes.c_char * size).from_address(words[k])
    return np.frombuffer(memory, layout.dtype).reshape(shape)


def raised(*values: Any, exception: Any, text: str) -> None:
    # The views end with the program's memory; the exception outlives it.
    raise exception_of(exception, text, [x.copy() if isinstance(x, np.ndarray) else x for x in values])


@emits("library", typed.callback, typed.debug_print, typed.of_text)
def library(f: FunctionCode, op: Operation) -> None:
    """Emit a call of a Python function on arrays in memory."""
    if op.kind != "call" or not callable(op.callee) and not isinstance(op.callee, typed.Primitive):
        raise f.refuse(f"native code has no {op.kind} {callee_name(op.callee)}")
    constants = {name: v.constant for name, v in op.named.items()}
    function, copies = op.callee, False
    if op.callee is typed.callback:
        function, copies = constants.pop("function"), True
    elif op.callee is typed.debug_print or op.callee is typed.of_text:
        function = partial(op.callee.body, ())  # type: ignore[attr-defined]
    elif isinstance(op.callee, typed.Primitive):
        raise f.refuse(f"native code has no operation {op.callee.name}")
    call_python(f, op, function, constants, copies)


def call_python(f: FunctionCode, op: Operation, function: Any, constants: dict[str, Any], copies: bool = False) -> None:
    code = f.code
    words: list[tuple[str, str]] = []
    dims: list[Dim] = []
    places = []

    def layout(kind: ArrayType) -> Layout:
        dims.extend(n for n in kind.shape if isinstance(n, Dim) and n not in dims)
        total = len(op.positional) + len(op.results)
        return Layout(kind.dtype, tuple(-1 - total - dims.index(n) if isinstance(n, Dim) else n for n in kind.shape))

    for operand in op.positional:
        if operand.type is STACK:
            raise f.refuse(f"a stack is passed to {callee_name(function)}")
        if operand.type.shape:
            words.append(("ptr", f.in_memory(operand).pointer))
        else:
            pointer = code.slot("i8", 16)
            store(code, pointer, f.element(operand), operand.type.dtype)
            words.append(("ptr", pointer))
    for result in op.results:
        if result.type.shape:
            memory = f.values[result] = f.memory(result)
            places.append(memory.pointer)
        else:
            places.append(code.slot("i8", 16))
        words.append(("ptr", places[-1]))
    operands = [layout(v.type) for v in op.positional]
    results = [layout(v.type) for v in op.results]
    words += [("i64", f.length(n)) for n in dims]
    f.program.callbacks.append(PythonCall(function, constants, operands, results, len(words), copies))
    f.program.places_of_callbacks.append(f.program.place_of(op))
    table = code.slot("i64", max(len(words), 1))
    for i, (kind, word) in enumerate(words):
        code.do(f"store {kind} {word}, ptr {code.value(f'getelementptr i64, ptr {table}, i64 {i}')}")
    if "callback" not in f.program.constants:
        f.program.constants["callback"] = "@callback"
        f.program.module.globals.append("@callback = global ptr null")
    address = code.value("load ptr, ptr @callback")
    status = code.value(f"call i32 {address}(i64 {len(f.program.callbacks) - 1}, ptr {table})")
    f.fail_if(code.value(f"icmp ne i32 {status}, 0"), RuntimeError, "", number=PENDING)
    for result, pointer in zip(op.results, places):
        if not result.type.shape:
            f.values[result] = load(code, pointer, result.type.dtype)


@emits(typed.raise_if)
def _raise_if(f: FunctionCode, op: Operation) -> None:
    condition, *values = op.positional
    exception, text = (op.named[name].constant for name in ("exception", "text"))
    if len(values) <= f.program.MOST_VALUES and not any(v.type.shape for v in values):
        f.fail_if(f.element(condition), exception, text, [(f.element(v), v.type.dtype) for v in values])
        return
    code = f.code
    bad, after = code.new("bad"), code.new("on")
    code.branch(f.element(condition), bad, after)
    code.start(bad)
    with code.scope():
        reported = Operation("call", op.callee, values, line=op.line)
        call_python(f, reported, raised, {"exception": exception, "text": text})
    code.jump(after)
    code.start(after)
