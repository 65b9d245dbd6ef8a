"""How the results of calls depend on their operands, element by element; calls that have no entry here may depend on everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...ir import typed
from ...ir.dynamic import Operation
from ...rules.kept_factors import factored, inv_factored, solve_factored
from .abstract import Abstract
from .interpreter import Interpreter, depends_by
from .patterns import MOST_ENTRIES, NotSparse


@depends_by(typed.cast, np.imag, typed.complex_of)
def _as_elements(self: Interpreter, op: Operation) -> list[Any]:
    operands = [self.get(v) for v in op.positional]
    if not op.results[0].type.is_inexact or not any(x.depends for x in operands):
        return [self.evaluated(op, operands, op.callee is typed.cast)]
    shape, _ = self.shape(op.results[0].type)
    parts = [self.broadcast(x, self.shape(v.type)[0], shape) for x, v in zip(operands, op.positional)]
    return [self.total(parts)]


@depends_by(np.where)
def _where(self: Interpreter, op: Operation) -> list[Any]:
    operands = [self.get(v) for v in op.positional]
    if not any(x.depends for x in operands):
        return [self.evaluated(op, operands, is_elementwise=True)]
    shape, _ = self.shape(op.results[0].type)
    condition, x, y = (self.broadcast(x, self.shape(v.type)[0], shape) for x, v in zip(operands, op.positional))
    if condition.known is not None:
        self.consult(condition)
        holds = condition.known.astype(bool)
        x, y = self.where(x, holds), self.where(y, ~holds)
    return [self.total([x, y])]


@depends_by(typed.full, typed.broadcast_to, typed.reshape, typed.transpose, typed.concatenate)
def _moved(self: Interpreter, op: Operation) -> list[Any]:
    """The results of a function that moves elements: what it does to their numbers."""
    shape, is_exact = self.shape(op.results[0].type)
    shapes = [self.shape(v.type) for v in op.positional]
    if not (is_exact and all(exact for _, exact in shapes)) and op.callee not in (typed.full, typed.broadcast_to):
        return self.any_of_all(op)
    operands = [self.get(v) for v in op.positional]
    starts = np.cumsum([0, *(x.size for x in operands)])
    numbers = [start + np.arange(x.size).reshape(s) for start, x, (s, _) in zip(starts, operands, shapes)]
    constants = {name: v.constant for name, v in op.named.items()}
    ids = np.asarray(op.callee.body(shape, *numbers, **constants)).ravel()
    return [self.elements(self.end_to_end(operands), ids)]


@depends_by(np.sum, np.prod, np.min, np.max)
def _reduced(self: Interpreter, op: Operation) -> list[Any]:
    x = self.get(op.operands[0])
    if not x.depends or not op.results[0].type.is_inexact:
        return [self.evaluated(op, [x])]
    shape, _ = self.shape(op.operands[0].type)
    axes = op.named["axis"].constant if "axis" in op.named else None
    axes = tuple(range(len(shape))) if axes is None else axes
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    size = int(np.prod(kept))
    found = self.unions(x, np.broadcast_to(np.arange(size).reshape(kept), shape).ravel(), size)
    if op.callee is not np.sum:
        self.interact(found, found)
    return [found]


@depends_by(np.cumsum, np.cumprod)
def _cumulative(self: Interpreter, op: Operation) -> list[Any]:
    x = self.get(op.operands[0])
    if not x.depends:
        return [self.evaluated(op, [x])]
    shape, _ = self.shape(op.operands[0].type)
    axis = op.named["axis"].constant
    n = shape[axis]
    if x.size * n > MOST_ENTRIES:
        raise NotSparse("a cumulative sum depends on all earlier elements")
    numbers = np.moveaxis(np.arange(x.size).reshape(shape), axis, -1).reshape(-1, n)
    later, earlier = np.tril_indices(n)
    pairs = (numbers[:, later].ravel(), numbers[:, earlier].ravel())
    found = self.products(csr_array((np.ones(len(pairs[0]), bool), pairs), shape=(x.size, x.size)), x)
    if op.callee is np.cumprod:
        self.interact(found, found)
    return [found]


@depends_by(np.convolve)
def _convolved(self: Interpreter, op: Operation) -> list[Any]:
    """Element i of the whole convolution is the sum of products of elements j and i - j."""
    named = {name: v.constant for name, v in op.named.items()}
    given = dict(zip([name for name in ("a", "v") if name not in named], op.positional))
    a, v = (self.get(given[k]) if k in given else self.of(np.size(named[k])) for k in ("a", "v"))
    few, mode = min(a.size, v.size), named.get("mode", "full")
    first = {"full": 0, "same": (few - 1) // 2, "valid": few - 1}.get(mode)
    if first is None or not (a.depends or v.depends):
        return self.any_of_all(op)
    if a.size * v.size > MOST_ENTRIES:
        raise NotSparse("a convolution has too many products")
    size = self.size(op.results[0])
    i, j = (e.ravel() for e in np.indices((a.size, v.size)))
    self.interact(self.elements(a, i), self.elements(v, j))
    self.interact(self.elements(v, j), self.elements(a, i))
    at = i + j - first
    kept = (at >= 0) & (at < size)
    found = []
    for x, numbers in ((a, i), (v, j)):
        pairs = at[kept], numbers[kept]
        if x.depends:
            found.append(self.products(csr_array((np.ones(len(pairs[0]), bool), pairs), shape=(size, x.size)), x))
    return [self.total(found)]


@depends_by(np.sort)
def _sorted(self: Interpreter, op: Operation) -> list[Any]:
    x = self.get(op.operands[0])
    if not x.depends:
        return [self.evaluated(op, [x])]
    shape, _ = self.shape(op.operands[0].type)
    kept = list(shape)
    kept[op.named["axis"].constant] = 1
    size = int(np.prod(kept))
    groups = np.broadcast_to(np.arange(size).reshape(kept), shape).ravel()
    return [self.elements(self.unions(x, groups, size), groups)]


@depends_by(np.matmul)
def _product(self: Interpreter, op: Operation) -> list[Any]:
    a, b = (self.get(v) for v in op.positional)
    if not (a.depends or b.depends):
        return [self.evaluated(op, [a, b])]
    (shape, other), _ = zip(*(self.shape(v.type) for v in op.positional))
    if len(shape) == 1:
        shape, other = (1, *shape), (*other, 1)
    *batch, m, k = shape
    n = other[-1]
    count = int(np.prod(batch))
    numbers = np.arange(a.size).reshape(count, m, k, 1), np.arange(b.size).reshape(count, 1, k, n)
    found = [_of_factor(self, b, a, numbers[1], numbers[0], m, n), _of_factor(self, a, b, numbers[0], numbers[1], m, n)]
    if len(self.none) > 1:
        _interactions(self, a, b, (count, m, k, n), numbers)
    return [self.total(found)]


def _of_factor(
    self: Interpreter, x: Abstract, other: Abstract, numbers: np.ndarray, others: np.ndarray, m: int, n: int
) -> Abstract:
    """Return the part of a product that depends on one factor; zeros of the other one count if they are known."""
    count, _, k, _ = numbers.shape
    size = count * m * n
    results = np.arange(size).reshape(count, m, 1, n)
    if not x.depends:
        return self.of(size)
    known = other.known is not None and len(other.known) == 1
    if known and int(np.count_nonzero(other.known)) * max(m, n) <= MOST_ENTRIES:
        self.consult(other, "zeros")
        full = (count, m, k, n)
        at = _where_not_zero(other.known[0][others] != 0, full)  # type: ignore[index]
        pairs = np.broadcast_to(results, full)[at], np.broadcast_to(numbers, full)[at]
        return self.products(csr_array((np.ones(len(pairs[0]), bool), pairs), shape=(size, x.size)), x)
    kept = [s if i != 2 else 1 for i, s in enumerate(numbers.shape)]
    few = int(np.prod(kept))
    groups = np.broadcast_to(np.arange(few).reshape(kept), numbers.shape).ravel()
    return self.elements(
        self.unions(x, groups, few), np.broadcast_to(np.arange(few).reshape(kept), (count, m, 1, n)).ravel()
    )


def _where_not_zero(mask: np.ndarray, full: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return the indices in the whole product at which a mask, which has one dimension of length 1, is true."""
    short = [i for i, (a, b) in enumerate(zip(mask.shape, full)) if a != b]
    at = list(np.nonzero(mask))
    for i in short:
        times = full[i]
        at = [np.repeat(e, times) for e in at]
        at[i] = np.tile(np.arange(times), len(at[0]) // times)
    return tuple(at)


def _interactions(
    self: Interpreter, a: Abstract, b: Abstract, full: tuple[int, ...], numbers: tuple[np.ndarray, np.ndarray]
) -> None:
    """Note which elements of the factors of a product are multiplied; if there are too many, all of a sample's."""
    count, m, k, n = full
    if max(a.lanes, b.lanes) * count * m * k * n <= MOST_ENTRIES // 10:
        x, y = (self.elements(e, np.broadcast_to(i, full).ravel()) for e, i in zip((a, b), numbers))
    else:
        x, y = (self.unions(e, np.arange(e.size) // max(e.size // count, 1), count) for e in (a, b))
    self.interact(x, y)
    self.interact(y, x)


@depends_by(typed.iota)
def _iota(self: Interpreter, op: Operation) -> list[Any]:
    (n,), _ = self.shape(op.results[0].type)
    return [self.of(n, np.arange(n)[None])]


@depends_by(typed.stack_new)
def _stack_new(self: Interpreter, op: Operation) -> list[Any]:
    return [()]


@depends_by(typed.stack_push)
def _stack_push(self: Interpreter, op: Operation) -> list[Any]:
    stack, *values = op.operands
    return [(*self.fetch(stack), *map(self.get, values))]


@depends_by(typed.stack_pop)
def _stack_pop(self: Interpreter, op: Operation) -> list[Any]:
    stack, n = self.fetch(op.operands[0]), op.named["n"].constant
    return [*stack[-n:], stack[:-n]]


def _batch_of(self: Interpreter, op: Operation) -> int:
    """Return the number of matrices in a stack of them, if every operand and result is one."""
    shapes = {self.shape(v.type)[0][:-2] for v in (*op.positional, *op.results) if v.type.ndim > 2}
    is_stack = all(v.type.ndim > 2 for v in (*op.positional, *op.results))
    return int(np.prod(shapes.pop())) if is_stack and len(shapes) == 1 else 1


@depends_by(np.linalg.solve, np.linalg.inv, factored, solve_factored, inv_factored)
def _of_each_matrix(self: Interpreter, op: Operation) -> list[Any]:
    """The results of a function of matrices, for a stack of them: each depends on the whole of its own matrices."""
    count = _batch_of(self, op)
    operands = [self.get(v) for v in op.positional]
    if count <= 1 or not any(x.depends for x in operands):
        return self.any_of_all(op)
    one = self.total([self.unions(x, np.arange(x.size) // (x.size // count), count) for x in operands])
    self.interact(one, one)
    sizes = [self.size(r) for r in op.results]
    return [self.elements(one, np.arange(size) // (size // count)) for size in sizes]
