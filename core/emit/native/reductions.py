"""Sums and other reductions, accumulations along an axis, positions of extremes.

Sums may be added up in any order, so that they vectorise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from .arrays import Array, Lazy, Memory
from .assembly import Code, is_small
from .elements import Element, convert, element, half, is_complex, literal, register, register_kinds, registers
from .elementwise import choose
from .function import PARTS, FunctionCode, emits
from .real_functions import apply

_ANY_ORDER = "reassoc nsz contract"
_VECTOR = 8  # terms along the last axis
_MOST_TERMS = 80  # of a sum that is written out
_SHORT = 32  # an axis with fewer elements
_LEAST_PARTIAL, _MOST_PARTIAL = 16, 256  # partial results of a reduction along other axes than short ones


def _least(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind in "fc" else np.iinfo(dtype).min if dtype.kind in "iu" else False


def _most(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind in "fc" else np.iinfo(dtype).max if dtype.kind in "iu" else True


def add_in_any_order(code: Code, dtype: np.dtype, a: Element, b: Element, flags: str = _ANY_ORDER) -> Element:
    """Return a + b with LLVM's fast-math ``flags``, by default those of a sum whose terms may be reordered."""
    if is_complex(dtype):
        return tuple(add_in_any_order(code, half(dtype), x, y, flags) for x, y in zip(a, b))
    if dtype.kind == "f":
        return code.value(f"fadd {flags} {register(dtype)} {a}, {b}")
    return apply(code, np.add, dtype, [a, b])


def _product(code: Code, dtype: np.dtype, a: Element, b: Element) -> Element:
    if dtype.kind == "f":
        return code.value(f"fmul {_ANY_ORDER} {register(dtype)} {a}, {b}")
    return apply(code, np.multiply, dtype, [a, b])


def _by(ufunc: np.ufunc) -> Callable[..., Element]:
    return lambda code, dtype, a, b: apply(code, ufunc, dtype, [a, b])


_REDUCTIONS: dict[Any, tuple[Callable[[np.dtype], Any], Callable[..., Element]]] = {
    np.sum: (lambda dtype: 0, add_in_any_order),
    np.prod: (lambda dtype: 1, _product),
    np.max: (_least, _by(np.maximum)),
    np.min: (_most, _by(np.minimum)),
    np.any: (lambda dtype: False, _by(np.logical_or)),
    np.all: (lambda dtype: True, _by(np.logical_and)),
}
"""For each reduction, its value for no elements, and the function that adds an element."""
_BY_ELEMENT = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_or: np.any,
    np.logical_and: np.all,
}
"""The reductions that repeat a function of two numbers."""


def identity(callee: Any, dtype: np.dtype) -> Any:
    """Return the number that a reduction, or the function that it repeats, leaves every other number unchanged with."""
    if callee in (np.greater, np.less):
        return _least(dtype) if callee is np.greater else _most(dtype)
    reduction = _BY_ELEMENT.get(callee, callee)
    return -0.0 if reduction is np.sum and dtype.kind in "fc" else _REDUCTIONS[reduction][0](dtype)


def combined(code: Code, callee: Any, dtype: np.dtype, a: list[str], b: list[str]) -> list[str]:
    """Return the registers of two partial results put together; ``np.greater`` stands for Python's ``max``, ``np.less`` for ``min``."""
    if callee in (np.greater, np.less):
        wins = apply(code, callee, dtype, [element(b, dtype), element(a, dtype)])
        return [
            code.value(f"select i1 {wins}, {kind} {y}, {kind} {x}") for kind, x, y in zip(register_kinds(dtype), a, b)
        ]
    reduction = _BY_ELEMENT.get(callee, callee)
    if reduction is np.sum:
        return registers(apply(code, np.add, dtype, [element(a, dtype), element(b, dtype)]))
    return registers(_REDUCTIONS[reduction][1](code, dtype, element(a, dtype), element(b, dtype)))


def fold(
    code: Code,
    lengths: Sequence[str],
    step: Callable[[list[str], list[str]], list[str]],
    kinds: Sequence[str],
    initial: Sequence[str],
    is_sum: bool = False,
) -> list[str]:
    """Emit a nest of loops that carries registers; ``step(indices, carried)`` returns the next carried registers.

    With ``is_sum``, the order of the iterations does not matter: a vector of terms, which is added up at the end, is
    better than terms one by one, so the innermost loop is not unrolled if it is a whole number of vectors.
    """

    unroll = is_small(lengths)

    def level(at: int, indices: list[str], carried: list[str]) -> list[str]:
        if at == len(lengths):
            return step(indices, carried)
        inner = lambda i, *x: level(at + 1, [*indices, i], list(x))  # noqa: E731
        is_vector = is_sum and at == len(lengths) - 1 and lengths[at].isdigit() and int(lengths[at]) % _VECTOR == 0
        return code.loop(lengths[at], inner, kinds, carried, unroll and not is_vector)

    return level(0, [], list(initial))


def nothing(op: Operation) -> list[str]:
    """Return the registers of a reduction of no elements."""
    empty, _ = _REDUCTIONS[op.callee]
    dtype = op.results[0].type.dtype
    return registers(literal(empty(dtype), dtype))


def reduced(f: FunctionCode, op: Operation, array: Array, start: Sequence[str]) -> Element:
    """Emit a reduction of all elements of an array, from the registers ``start`` on."""
    code, dtype = f.code, op.results[0].type.dtype
    _, add = _REDUCTIONS[op.callee]
    if array.flat:
        lengths, get = [array.count(code)], lambda at: array.load_flat(code, at[0])
    else:
        lengths, get = array.lengths, lambda at: array.load(code, at)

    def step(at: list[str], x: list[str]) -> list[str]:
        return registers(add(code, dtype, element(x, dtype), convert(code, get(at), array.dtype, dtype)))

    kinds = register_kinds(dtype)
    if code.spread is None and (rest := _short_axes(lengths)):
        sums = Memory(code, code.slot("i8", dtype.itemsize * math.prod(map(int, rest))), dtype, rest)
        sums.fill(code, Lazy(dtype, rest, lambda at: element(nothing(op), dtype)))

        def into(at: list[str]) -> None:
            place = at[len(at) - len(rest) :]
            sums.store(code, place, element(step(at, registers(sums.load(code, place))), dtype))

        code.nest(lengths, into, independent=range(len(lengths) - len(rest), len(lengths)))
        return reduced(f, op, sums, start)
    if code.spread is None and _is_few(lengths):
        first, *others = _columns(f, op, lengths, step)
        total = add(code, dtype, element(list(start), dtype), element(first, dtype))
        for x in others:
            total = add(code, dtype, total, element(x, dtype))
        return total
    found = PARTS["fold"](f, op, lengths, step, kinds, start) if code.spread is not None else None
    return element(found or fold(code, lengths, step, kinds, start, is_sum=True), dtype)


def _is_few(lengths: Sequence[str]) -> bool:
    """Whether an array has many rows of few elements, so that each column has a register for its partial result."""
    if len(lengths) != 2:
        return False
    rows, n = lengths
    return n.isdigit() and 1 < int(n) < _LEAST_PARTIAL and (not rows.isdigit() or int(rows) >= _SHORT)


def _columns(
    f: FunctionCode, op: Operation, lengths: Sequence[str], step: Callable[[list[str], list[str]], list[str]]
) -> list[list[str]]:
    """Emit the reduction of each column of few in one loop over the rows; ``step(indices, carried)`` adds an element."""
    start, kinds = nothing(op), register_kinds(op.results[0].type.dtype)
    count, each = int(lengths[1]), len(kinds)

    def row(at: list[str], x: list[str]) -> list[str]:
        terms = [step([*at, str(j)], x[each * j : each * (j + 1)]) for j in range(count)]
        return [r for term in terms for r in term]

    found = fold(f.code, lengths[:1], row, kinds * count, start * count, is_sum=True)
    return [found[k : k + each] for k in range(0, len(found), each)]


def _short_axes(lengths: Sequence[str]) -> list[str]:
    """Return the lengths of the last axes if these are short, for a partial result at each of their indices.

    A loop over a short axis is a vector or two, which would be added up for each of them.
    """
    if not lengths[-1].isdigit() or int(lengths[-1]) >= _SHORT:
        return []
    count, found = 1, []
    for n in lengths[:0:-1]:
        if not n.isdigit() or not 0 < count * int(n) <= _MOST_PARTIAL:
            break
        count *= int(n)
        found.insert(0, n)
    before = lengths[: len(lengths) - len(found)]
    is_long = not all(n.isdigit() for n in before) or math.prod(map(int, before)) >= _LEAST_PARTIAL
    return found if count >= _LEAST_PARTIAL and is_long else []


@emits(*_REDUCTIONS)
def _reduce(f: FunctionCode, op: Operation) -> None:
    code, operand, result = f.code, op.operands[0], op.results[0]
    if not operand.type.shape:
        f.values[result] = convert(code, f.element(operand), operand.type.dtype, result.type.dtype)
        return
    array, axes = f.array(operand), op.named["axis"].constant
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    _, add = _REDUCTIONS[op.callee]
    dtype = result.type.dtype
    kinds, start = register_kinds(dtype), nothing(op)

    def added(carried: Element, x: Element) -> Element:
        return add(code, dtype, carried, convert(code, x, operand.type.dtype, dtype))

    if not result.type.shape:
        f.values[result] = reduced(f, op, array, start)
        return
    memory = f.values[result] = f.memory(result)
    kept = [d for d in range(len(array.lengths)) if d not in axes]
    if kept[-1] < len(array.lengths) - 1:  # the last axis is reduced: a register for each element of the result

        def one(at: list[str]) -> None:
            def step(inner: list[str], x: list[str]) -> list[str]:
                index = dict(zip(kept, at)) | dict(zip(axes, inner))
                return registers(added(element(x, dtype), array.load(code, [index[d] for d in sorted(index)])))

            found = fold(code, [array.lengths[d] for d in axes], step, kinds, start, is_sum=True)
            memory.store(code, at, element(found, dtype))

        code.nest(memory.lengths, one, independent=range(len(memory.lengths)))
        return
    if axes == (0,) and code.spread is None and _is_few(array.lengths):

        def next_of(at: list[str], x: list[str]) -> list[str]:
            return registers(added(element(x, dtype), array.load(code, at)))

        for j, x in enumerate(_columns(f, op, array.lengths, next_of)):
            memory.store(code, [str(j)], element(x, dtype))
        return
    at_once = _written_out(array, axes)
    if len(at_once) < len(axes):
        code.nest([memory.count(code)], lambda at: memory.store_flat(code, at[0], element(start, dtype)))
    looped = [d for d in range(len(array.lengths)) if d not in at_once]
    terms = list(itertools.product(*(map(str, range(int(array.lengths[d]))) for d in at_once)))

    def into(at: list[str]) -> None:
        index = dict(zip(looped, at))
        place = [index[d] for d in kept]
        total = memory.compute(code, place) if len(at_once) < len(axes) else element(start, dtype)
        for term in terms:
            index |= zip(at_once, term)
            total = added(total, array.load(code, [index[d] for d in sorted(index)]))
        memory.store(code, place, total)

    code.nest([array.lengths[d] for d in looped], into, independent=[k for k, d in enumerate(looped) if d in kept])


def _written_out(array: Array, axes: Sequence[int]) -> list[int]:
    """Return the reduced axes whose terms are written one after the other in the loop over the last axis, which is kept.

    The partial sums then stay in registers; they would be loaded and stored for each term.
    """
    count, found = 1, []
    for d in sorted(axes, reverse=True):
        n = array.lengths[d]
        if not n.isdigit() or not 0 < count * int(n) <= _MOST_TERMS:
            break
        count *= int(n)
        found.append(d)
    return sorted(found)


@emits(np.argmax, np.argmin)
def _position(f: FunctionCode, op: Operation) -> None:
    """Emit the index of the first extremum; a NaN counts as one."""
    code, operand, result = f.code, op.operands[0], op.results[0]
    array, axis, dtype = f.array(operand), op.named["axis"].constant, operand.type.dtype
    better = np.greater if op.callee is np.argmax else np.less
    if dtype.kind == "b":
        better = np.logical_and
    kinds = [*register_kinds(dtype), "i64"]
    rest = [d for d in range(len(array.lengths)) if d != axis]

    def along(at: Sequence[str]) -> str:
        def get(i: str) -> Element:
            index = dict(zip(rest, at)) | {axis: i}
            return array.load(code, [index[d] for d in sorted(index)])

        def step(inner: list[str], carried: list[str]) -> list[str]:
            i = code.add(inner[0], "1")
            *parts, best = carried
            old, x = element(parts, dtype), get(i)
            if dtype.kind == "b":
                flipped = code.value(f"xor i1 {old}, true") if op.callee is np.argmax else old
                wins = code.value(
                    f"and i1 {flipped}, {x if op.callee is np.argmax else code.value(f'xor i1 {x}, true')}"
                )
            else:
                wins = apply(code, better, dtype, [x, old])
                if dtype.kind in "fc":
                    wins = code.value(f"or i1 {wins}, {apply(code, np.isnan, dtype, [x])}")
                    kept = apply(code, np.isnan, dtype, [old])
                    wins = code.value(f"and i1 {wins}, {code.value(f'xor i1 {kept}, true')}")
            chosen = choose(f, wins, x, old, register(dtype))
            return [*registers(chosen), code.value(f"select i1 {wins}, i64 {i}, i64 {best}")]

        count = code.subtract(array.lengths[axis], "1")
        return fold(code, [count], step, kinds, [*registers(get("0")), "0"])[-1]

    if not result.type.shape:
        f.values[result] = along([])
        return
    memory = f.values[result] = f.memory(result)
    code.nest(memory.lengths, lambda at: memory.store(code, at, along(at)))


_ACCUMULATIONS = {
    np.cumsum: np.add,
    np.cumprod: np.multiply,
    **{getattr(np, name).accumulate: getattr(np, name) for name in "add multiply maximum minimum".split()},
}


@emits(*_ACCUMULATIONS)
def _accumulate(f: FunctionCode, op: Operation) -> None:
    code, result, axis = f.code, op.results[0], op.named["axis"].constant
    source: Array = f.array(op.operands[0])
    memory = f.values[result] = f.memory(result)
    dtype, ufunc = result.type.dtype, _ACCUMULATIONS[op.callee]
    rest = [d for d in range(len(memory.lengths)) if d != axis]

    def along(at: list[str]) -> None:
        def place(i: str) -> list[str]:
            index = dict(zip(rest, at)) | {axis: i}
            return [index[d] for d in sorted(index)]

        def step(inner: list[str], carried: list[str]) -> list[str]:
            x = convert(code, source.load(code, place(inner[0])), source.dtype, dtype)
            found = apply(code, ufunc, dtype, [element(carried, dtype), x])
            memory.store(code, place(inner[0]), found)
            return registers(found)

        empty = {np.add: 0, np.multiply: 1, np.maximum: _least(dtype), np.minimum: _most(dtype)}[ufunc]
        fold(code, [memory.lengths[axis]], step, register_kinds(dtype), registers(literal(empty, dtype)))

    code.nest([memory.lengths[d] for d in rest], along)
