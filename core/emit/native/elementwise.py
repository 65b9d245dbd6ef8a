"""Elementwise operations; and parts, permutations and broadcasts of arrays, which are read in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Operation, Value
from .arrays import Array, Lazy, Memory, Part, broadcast_indices, widened
from .elements import Element, convert, is_complex, register, registers
from .function import PARTS, FunctionCode, emits
from .fusion import is_outer
from .integers import overflows
from .real_functions import apply, emitter_of, instruction

_ROUNDED = {
    np.add: ("fadd", "fadd contract"),
    np.subtract: ("fsub", "fsub contract"),
    np.multiply: ("fmul", "fmul contract"),
    np.divide: ("fdiv", "fdiv arcp"),
}
"""The instructions for decisive values (``rounding``), and for others."""
_UNORDERED = {np.add: "fadd reassoc nsz contract", np.subtract: "fsub reassoc nsz contract"}
"""Those for sums of cotangents."""
_OWN_IN_NUMPY = {np.tanh}
"""Functions that NumPy does not take from the C library: its last digits differ from those of any version there."""
_I64 = np.dtype(np.int64)


def elementwise(f: FunctionCode, op: Operation) -> bool:
    """Emit a ufunc, ``np.where``, a cast or parts of complex numbers; return whether native code has the operation."""
    compute = element_function(f, op)
    if compute is None:
        return False
    several = len(op.results) > 1
    operands = [v if not v.type.shape else f.array(v) for v in op.positional]
    ready = [o if isinstance(o, Array) else f.element(o) for o in operands]
    if not op.results[0].type.shape:
        found = compute(ready)
        for result, x in zip(op.results, found if several else [found]):
            f.values[result] = x
        return True
    for k, result in enumerate(op.results):
        one = (lambda x, k=k: compute(x)[k]) if several else compute
        f.set_array(result, _lazily(f, result, op.positional, ready, one))
    return True


@emits(typed.overflows)
def _overflows(f: FunctionCode, op: Operation) -> None:
    a, b = (f.element(v) for v in op.positional)
    f.values[op.results[0]] = overflows(f.code, op.named["function"].constant, a, b)


def element_function(f: FunctionCode, op: Operation) -> Callable[[Sequence[Element]], Any] | None:
    """Return a function from the operands' elements to the result's; None if native code has none."""
    code = f.code
    if op.callee is np.where:
        kinds = register(op.results[0].type.dtype)
        return lambda x: choose(f, x[0], x[1], x[2], kinds)
    if op.callee is typed.cast:
        source, target = op.operands[0].type.dtype, np.dtype(op.named["dtype"].constant)
        return lambda x: convert(code, x[0], source, target)
    if op.callee is typed.complex_of:
        return lambda x: (x[0], x[1])
    if op.callee is typed.apart:
        return lambda x: x[0]
    if is_outer(op):
        return lambda x: apply(code, np.multiply, op.results[0].type.dtype, list(x))
    if op.callee in (np.real, np.imag):
        dtype, i = op.operands[0].type.dtype, int(op.callee is np.imag)
        if is_complex(dtype):
            return lambda x: x[0][i]
        return lambda x: convert(code, "false", np.dtype(bool), dtype) if i else x[0]
    emit = emitter_of(op)
    if emit is None:
        return None
    dtype = op.operands[0].type.dtype
    if dtype.kind == "f" and op.callee in _ROUNDED:
        is_plain = f.is_entry and op.results[0] not in f.decisive
        in_order = _ROUNDED[op.callee][is_plain]
        emit = instruction(_UNORDERED[op.callee] if is_plain and op.results[0] in f.unordered else in_order)
    result = op.results[0]
    is_computed_once = op.callee in _OWN_IN_NUMPY and result not in f.lazy
    if (
        result.type.shape and dtype.kind in "fc" and (not f.is_entry or result in f.decisive) and not is_computed_once
    ):  # written into each loop that reads it

        def reproducible(x: Sequence[Element]) -> Any:
            with code.reproducible():
                return emit(code, dtype, *x)

        return reproducible
    return lambda x: emit(code, dtype, *x)


def choose(f: FunctionCode, condition: str, x: Element, y: Element, kind: str) -> Element:
    parts = [
        a if a == b else f.code.value(f"select i1 {condition}, {kind} {a}, {kind} {b}")
        for a, b in zip(registers(x), registers(y))
    ]
    return tuple(parts) if isinstance(x, tuple) else parts[0]


def _lazily(
    f: FunctionCode, result: Value, operands: Sequence[Value], ready: Sequence[Any], compute: Callable[..., Any]
) -> Lazy:
    code, shape = f.code, result.type.shape

    def at(indices: Sequence[str]) -> Element:
        x = [a.load(code, broadcast_indices(a, indices)) if isinstance(a, Array) else a for a in ready]
        return compute(x)

    def at_flat(i: str) -> Element:
        return compute([a.load_flat(code, i) if isinstance(a, Array) else a for a in ready])

    is_flat = all(not v.type.shape or v.type.shape == shape and a.flat for v, a in zip(operands, ready))
    return Lazy(result.type.dtype, f.lengths(result.type), at, at_flat if is_flat else None)


@emits(typed.full)
def _full(f: FunctionCode, op: Operation) -> None:
    x, result = f.element(op.operands[0]), op.results[0]
    if not result.type.shape:
        f.values[result] = x
        return
    f.set_array(result, Lazy(result.type.dtype, f.lengths(result.type), lambda indices: x, lambda i: x))


@emits(typed.iota)
def _iota(f: FunctionCode, op: Operation) -> None:
    result = op.results[0]
    f.set_array(result, Lazy(result.type.dtype, f.lengths(result.type), lambda indices: indices[0], lambda i: i))


@emits(typed.broadcast_to)
def _broadcast_to(f: FunctionCode, op: Operation) -> None:
    result = op.results[0]
    if not result.type.shape or not op.operands[0].type.shape:
        _full(f, op)
        return
    array = f.array(op.operands[0])
    at = lambda indices: array.load(f.code, broadcast_indices(array, indices))  # noqa: E731
    only = ["0"] * len(array.lengths)
    at_flat = (lambda i: array.load(f.code, only)) if all(n == "1" for n in array.lengths) else None
    f.set_array(result, Lazy(result.type.dtype, f.lengths(result.type), at, at_flat))


@emits(typed.transpose)
def _transpose(f: FunctionCode, op: Operation) -> None:
    result, array, axes = op.results[0], f.array(op.operands[0]), op.named["axes"].constant
    lengths = f.lengths(result.type)
    if isinstance(array, Memory):
        moved = Memory(f.code, array.pointer, array.dtype, lengths, [array.strides[a] for a in axes])
        f.set_array(result, moved)
        return
    places = [axes.index(d) for d in range(len(axes))]
    at = lambda indices: array.load(f.code, [indices[k] for k in places])  # noqa: E731
    f.set_array(result, Lazy(array.dtype, lengths, at))


@emits(typed.reshape)
def _reshape(f: FunctionCode, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if not source.type.shape:
        _full(f, op)
    elif not result.type.shape:
        array = f.array(source)
        f.values[result] = array.load(f.code, ["0"] * len(array.lengths))
    elif source.is_constant:
        lengths, array = f.lengths(result.type), f.array(source)
        assert isinstance(array, Memory)
        f.set_array(result, Memory(f.code, array.pointer, array.dtype, lengths))
    else:  # both have the same buffer
        f.values[result] = f.memory(result)


@emits(typed.getitem)
def _getitem(f: FunctionCode, op: Operation) -> None:
    result, array, part = op.results[0], f.array(op.operands[0]), index_part(f, op)
    if not result.type.shape:
        f.values[result] = array.load(f.code, part.indices(f.code, []))
        return
    lengths = f.lengths(result.type)
    if isinstance(array, Memory) and not part.is_gather:
        f.set_array(result, part.of_memory(f.code, array, lengths))
        return
    at = lambda indices: array.load(f.code, part.indices(f.code, indices))  # noqa: E731
    f.set_array(result, Lazy(array.dtype, lengths, at))


def index_part(f: FunctionCode, op: Operation) -> Part:
    """Return the part that a ``getitem``, ``setitem`` or ``add_at`` accesses."""
    spec = op.named["spec"].constant
    operands = op.positional[1 : 1 + sum(e != ":" for e in spec)]
    part = Part(spec, [f.array(v) if v.type.shape else f.element(v) for v in operands])
    if f.program.bounds_check and op not in f.proofs.in_range:
        _check(f, op, part)
    return part


def _check(f: FunctionCode, op: Operation, part: Part) -> None:
    """Emit a check that ends the program with IndexError unless indices are in range; a negative one is not."""
    code = f.code
    whole = f.lengths(op.operands[0].type)
    of_part = f.lengths(op.positional[-1].type if op.callee is not typed.getitem else op.results[0].type)
    operands = list(part.operands)

    def within(i: str, axis: int, some: str = "true") -> None:
        bad = code.value(f"icmp uge i64 {i}, {whole[axis]}")
        bad = bad if some == "true" else code.value(f"and i1 {some}, {bad}")
        text = f"index {{}} is out of bounds for axis {axis} with size {{}}"
        f.fail_if(bad, IndexError, text, [(i, _I64), (whole[axis], _I64)])

    for axis, entry in enumerate(part.spec):
        if entry == ":":
            continue
        operand = operands.pop(0)
        if isinstance(operand, Array):

            def element_within(at: Sequence[str], operand: Array = operand, axis: int = axis) -> None:
                within(widened(code, operand.load(code, at), operand.dtype), axis)

            code.nest(operand.lengths, element_within)
        elif isinstance(entry, tuple):
            length = of_part[part.places[axis]]
            last = code.add(operand, code.multiply(code.subtract(length, "1"), str(entry[1])))
            if length != "0":
                some = code.value(f"icmp ne i64 {length}, 0") if length[0] == "%" else "true"
                within(operand, axis, some)
                within(last, axis, some)
        else:
            within(operand, axis)


PARTS.update(elementwise=elementwise)
