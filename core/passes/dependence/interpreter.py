"""Interprets typed IR on abstract values: blocks, branches and what operations have in common.

Where a condition is known, one branch is interpreted, in each lane; else both are, and a result may depend on what it depends on in either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import eye_array, kron

from ...ir.dynamic import Block, Operation, Value
from ...ir.evaluate import Evaluation
from ...ir.typed import STACK, ArrayType, Dim, Primitive
from .abstract import Abstract, Lanes, Patterns, Shared, joined, merged, shape_of
from .patterns import MOST_ENTRIES, NotSparse, Pattern, empty, gather, grouped, product, stacked, union

MOST_KNOWN = 1 << 20
"""The most numbers of a float array that are computed."""

STACKED = "a derivative of a library function stores values in a loop"

Rule = Callable[["Interpreter", Operation], "list[Any]"]
RULES: dict[Any, Rule] = {}
"""How the results of a call depend on its operands; ``calls`` and ``indexing`` register them."""


def depends_by(*callees: Any) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(callees, rule))
        return rule

    return register


class Interpreter:
    """The state of an interpretation.

    ``consulted`` are the parameters whose values the pattern depends on, with what of them: ``"values"``, or ``"zeros"``, which entries
    are zero. ``interactions`` are pairs of patterns, of the argument and of the tangent, whose rows belong together: the second
    derivative by the inputs of a row may be different from zero.
    """

    def __init__(self, kinds: int) -> None:
        self.none: Patterns = (None,) * kinds
        self.values: dict[Value, tuple[Any, Lanes]] = {}
        self.lanes = Lanes(None, np.zeros(1, np.int64))
        self.consulted: set[tuple[int, str]] = set()
        self.interactions: list[tuple[Pattern, Pattern]] = []
        self.shared: list[Shared] = []
        self.line = 0

    # Values

    def raw(self, value: Value) -> tuple[Any, Lanes]:
        """Return a value as it was defined, and the lanes of the block that defines it."""
        if value.is_constant:
            x = np.asarray(value.constant)
            return self.of(x.size, x.reshape(1, -1) if x.dtype != object else None), self.lanes
        return self.values[value]

    def fetch(self, value: Value) -> Any:
        """Return an array or number in the current lanes, a shared array or a stack."""
        x, at = self.raw(value)
        if not isinstance(x, Abstract) or at is self.lanes:
            return x
        return x.in_lanes(self.lanes.within(at))

    def get(self, value: Value) -> Abstract:
        """Return an array or number in the current lanes."""
        return self.whole(self.fetch(value))

    def whole(self, x: Any, lanes: Lanes | None = None) -> Abstract:
        """Return an array or number in these lanes, by default the current ones; all of it, if it is a shared array."""
        if isinstance(x, tuple):
            raise NotSparse(STACKED)
        return x.snapshot().in_lanes((lanes or self.lanes).within(x.lanes)) if isinstance(x, Shared) else x

    def of(self, size: int, known: np.ndarray | None = None, sources: frozenset[int] = frozenset()) -> Abstract:
        """Return a value that depends on no input."""
        return Abstract(size, known, self.none, sources)

    def consult(self, x: Abstract, what: str = "values") -> None:
        self.consulted.update((source, what) for source in x.sources)

    def lengths(self, value: Value) -> np.ndarray | None:
        """Return the lengths that a value has in the current lanes, or the one that it has in all."""
        x = self.get(value)
        if x.known is None:
            return None
        self.consult(x)
        return x.known[:, 0] if (x.known != x.known[0]).any() else x.known[0]

    def shape(self, kind: ArrayType) -> tuple[tuple[int, ...], bool]:
        return shape_of(kind, self.lengths)

    def size(self, value: Value) -> int:
        return int(np.prod(self.shape(value.type)[0]))

    # Blocks

    def block(self, block: Block, lanes: Lanes, arguments: Sequence[Any] = ()) -> list[Any]:
        """Interpret a block in these lanes, and return its results in them."""
        around, self.lanes = self.lanes, lanes
        try:
            for parameter, x in zip(block.parameters, arguments, strict=True):
                self.values[parameter] = x, lanes
            for op in block.operations:
                self.line = op.line or self.line
                found = self.operation(op)
                for result, x in zip(op.results, found, strict=True):
                    self.values[result] = x, lanes
            return [self.fetch(v) for v in block.results]
        finally:
            self.lanes = around

    def operation(self, op: Operation) -> list[Any]:
        if op.kind == "if":
            return self.branches(op)
        if op.kind in ("range", "while"):
            return self.loop(op)
        if not op.results:
            return []
        if op.callee in RULES:
            return RULES[op.callee](self, op)
        return self.elementwise(op) if isinstance(op.callee, np.ufunc) else self.any_of_all(op)

    def loop(self, op: Operation) -> list[Any]:
        raise NotImplementedError  # in ``loops``

    def branches(self, op: Operation) -> list[Any]:
        condition, here = self.get(op.operands[0]), self.lanes
        if condition.known is None:
            every = np.arange(here.count)
            found = [self.block(b, Lanes(here, every, maybe=True)) for b in op.blocks]
            return [self.either(each) for each in zip(*found)]
        self.consult(condition)
        holds = condition.known[:, 0].astype(bool)
        if holds.all() or not holds.any():
            return self.block(op.blocks[0 if holds.all() else 1], here)
        parts = [np.flatnonzero(holds), np.flatnonzero(~holds)]
        lanes = [Lanes(here, part) for part in parts]
        found = [self.block(b, at) for b, at in zip(op.blocks, lanes)]
        return [
            each[0] if _one(each) else merged([self.whole(x, at) for x, at in zip(each, lanes)], parts, here.count)
            for each in zip(*found)
        ]

    def either(self, values: Sequence[Any]) -> Any:
        if _one(values):
            return values[0]
        return joined([self.whole(x) for x in values], self.lanes.count)

    # Dependences

    def interact(self, a: Abstract, b: Abstract) -> None:
        """Note that each element of a is multiplied by that of b."""
        if len(self.none) == 1 or a.patterns[1] is None or b.patterns[0] is None:
            return
        lanes = max(a.lanes, b.lanes)
        self.interactions.append((a.filled(lanes)[1], b.filled(lanes)[0]))

    def elements(self, x: Abstract, ids: np.ndarray) -> Abstract:
        """Return the value whose elements are those of x with these numbers; -1 is an element that depends on nothing."""
        known = None if x.known is None or len(ids) and ids.min() < 0 else x.known[:, ids]
        if not x.depends:
            return Abstract(len(ids), known, x.patterns, x.sources)
        rows = ids
        if x.lanes > 1:
            rows = np.where(ids < 0, -1, np.arange(x.lanes)[:, None] * x.size + ids).ravel()
        return Abstract(len(ids), known, x.rows(rows), x.sources)

    def broadcast(self, x: Abstract, shape: tuple[int, ...], to: tuple[int, ...]) -> Abstract:
        if shape == to:
            return x
        return self.elements(x, np.broadcast_to(np.arange(x.size).reshape(shape), to).ravel())

    def unions(self, x: Abstract, groups: np.ndarray, size: int) -> Abstract:
        """Return the value whose element k depends on what those elements of x depend on whose group is k."""
        if not x.depends:
            return self.of(size)
        lanes = x.lanes
        at = groups if lanes == 1 else (np.arange(lanes)[:, None] * size + groups).ravel()
        return Abstract(size, None, tuple(None if p is None else grouped(p, at, lanes * size) for p in x.patterns))

    def products(self, members: Pattern, x: Abstract) -> Abstract:
        """Return the value whose element k depends on the elements of x that row k of ``members`` names."""
        if x.lanes > 1:
            members = kron(eye_array(x.lanes, dtype=bool), members, format="csr")
        size = members.shape[0] // x.lanes
        return Abstract(size, None, tuple(None if p is None else product(members, p) for p in x.patterns))

    def end_to_end(self, values: Sequence[Abstract]) -> Abstract:
        """Return the elements of values one after the other."""
        if len(values) == 1:
            return values[0]
        size = sum(x.size for x in values)
        known, sources = None, frozenset()
        if all(x.known is not None for x in values):
            lanes = max(len(x.known) for x in values)  # type: ignore[arg-type]
            known = np.concatenate([np.broadcast_to(x.known, (lanes, x.size)) for x in values], axis=1)  # type: ignore[arg-type]
            sources = sources.union(*(x.sources for x in values))
        if not any(x.depends for x in values):
            return self.of(size, known, sources)
        lanes = max(x.lanes for x in values)
        order = np.concatenate(
            [k + np.arange(lanes * x.size).reshape(lanes, x.size) for k, x in zip(self.starts(values, lanes), values)],
            axis=1,
        )
        found = []
        for each in zip(*(x.filled(lanes) for x in values)):
            width = next((p.shape[1] for p in each if p is not None), None)
            parts = [empty(lanes * x.size, width) if p is None else p for p, x in zip(each, values)] if width else []
            found.append(gather(stacked(parts), order.ravel()) if parts else None)
        return Abstract(size, None, tuple(found))

    def starts(self, values: Sequence[Abstract], lanes: int) -> list[int]:
        return [int(n) for n in np.cumsum([0, *(lanes * x.size for x in values)])[:-1]]

    def where(self, x: Abstract, kept: np.ndarray) -> Abstract:
        """Return a value that depends on nothing where ``kept``, an array (lanes, size), is false."""
        lanes = max(x.lanes, len(kept))
        rows = np.arange(lanes * x.size).reshape(lanes, x.size)
        patterns = x.filled(lanes)
        rows = np.where(kept, rows, -1).ravel()
        return Abstract(x.size, None, tuple(None if p is None else gather(p, rows) for p in patterns))

    def total(self, values: Sequence[Abstract]) -> Abstract:
        """Return the union of values of one size in the current lanes."""
        given = [v for v in values if v.depends]
        if not given:
            return self.of(values[0].size)
        lanes = max(v.lanes for v in given)
        return Abstract(given[0].size, None, tuple(map(union, zip(*(v.filled(lanes) for v in given)))))

    def elementwise(self, op: Operation) -> list[Any]:
        """The results of a function that acts element by element."""
        operands = [self.get(v) for v in op.positional]
        shape, _ = self.shape(op.results[0].type)
        if len(op.results) == 1 and not (op.results[0].type.is_inexact and any(x.depends for x in operands)):
            return [self.evaluated(op, operands, is_elementwise=True)]
        parts = [self.broadcast(x, self.shape(v.type)[0], shape) for x, v in zip(operands, op.positional)]
        if op.callee is np.multiply:
            for k, x in enumerate(parts):
                zero = None if x.known is None or x.sources or x.depends else x.known != 0
                if zero is not None and not zero.all():
                    parts[1 - k] = self.where(parts[1 - k], zero)
        if op.callee not in LINEAR:
            for i, a in enumerate(parts):
                for j, b in enumerate(parts):
                    if i != j or op.callee not in BILINEAR:
                        self.interact(a, b)
        found = self.total(parts)
        return [found if r.type.is_inexact else self.of(self.size(r)) for r in op.results]

    def any_of_all(self, op: Operation) -> list[Any]:
        """The results of a call of which each element may depend on every element of every operand, in the same lane."""
        fetched = [self.fetch(v) for v in op.positional]
        if any(r.type is STACK for r in op.results) or not all(isinstance(x, (Abstract, Shared)) for x in fetched):
            raise NotSparse(STACKED)
        operands = [self.whole(x) for x in fetched]
        if not any(x.depends for x in operands):
            return (
                [self.evaluated(op, operands)] if len(op.results) == 1 else [self.of(self.size(r)) for r in op.results]
            )
        one = self.total([self.unions(x, np.zeros(x.size, np.int64), 1) for x in operands if x.size])
        self.interact(one, one)
        return [
            self.elements(one, np.zeros(self.size(r), np.int64)) if r.type.is_inexact else self.of(self.size(r))
            for r in op.results
        ]

    def evaluated(self, op: Operation, operands: Sequence[Abstract], is_elementwise: bool = False) -> Abstract:
        """Return the result of a call whose operands depend on no input, with its numbers if they can be known."""
        kind = op.results[0].type
        size = self.size(op.results[0])
        sources = frozenset().union(*(x.sources for x in operands))
        is_exact = kind.dtype.kind in "iub"
        lanes = 1
        for x, v in zip(operands, op.positional):
            if x.known is None or x.sources and v.type.dtype.kind not in "iub":
                return self.of(size)
            lanes = max(lanes, len(x.known))
        effect = isinstance(op.callee, Primitive) and op.callee.effect
        most = MOST_ENTRIES if is_exact else MOST_KNOWN
        if effect or not is_exact and sources or lanes * size > most or lanes > 1 and not is_elementwise:
            return self.of(size)
        try:
            found = self.computed(op, operands, lanes)
        except Exception:  # numbers that the program itself does not compute: outside of a branch that is taken
            return self.of(size)
        return self.of(size, np.asarray(found, kind.dtype).reshape(lanes, size), sources)

    def computed(self, op: Operation, operands: Sequence[Abstract], lanes: int) -> Any:
        shapes = [self.shape(v.type)[0] for v in op.positional]
        if lanes == 1:
            run = Evaluation()
            for v, x, shape in zip(op.positional, operands, shapes):
                run.values[v] = x.known[0].reshape(shape)  # type: ignore[index]
            for n in op.results[0].type.shape:
                if isinstance(n, Dim) and not n.value.is_constant:
                    run.values[n.value] = self.get(n.value).known[0, 0]  # type: ignore[index]
            return run.run_call(op)[0]
        ndim = op.results[0].type.ndim
        arrays = [
            x.known.reshape(len(x.known), *[1] * (ndim - len(shape)), *shape)  # type: ignore[union-attr]
            for x, shape in zip(operands, shapes)
        ]
        with np.errstate(all="ignore"):
            found = op.callee(*arrays) if isinstance(op.callee, np.ufunc) or op.callee is np.where else arrays[0]
        return np.broadcast_to(found, (lanes, *self.shape(op.results[0].type)[0]))


LINEAR = {np.add, np.subtract, np.negative, np.positive, np.conjugate}
BILINEAR = {np.multiply, np.divide, np.true_divide}
"""Functions whose second derivative mixes their two operands alone, if one of them is a tangent: ``p * dx``, ``dx / p``."""


def _one(values: Sequence[Any]) -> bool:
    """Whether all are the same object, such as one shared array."""
    return all(x is values[0] for x in values)
