"""Writes the backward sweep of a program's blocks, and the forward sweep's code that saves residuals.

The adjoint of a block is first written as if all primal values were available. Then ``residuals`` decides, for the
values of the block that the adjoint reads, which the forward sweep saves; code that recomputes the others is put before
the adjoint. Values from outside the block are left to the enclosing block. So blocks are decided one at a time, from
the inside out; in the end ``restored`` maps every primal value that the backward sweep uses to its replacement there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, definitions
from ...ir.typed import STACK
from ..inline import Copy, copy_function, inline, last, rename, uses
from . import by_rule, equal_values, loops, structural
from .activity import active_values, may_have_cotangent
from .cotangents import Cotangents, as_type, strong, zeros
from .kept import keep as keep_factors
from .rereading import Rereading
from .reruns import gather, scatter
from .residuals import choose, discardable, running_cost, size
from .storage import Part, Slot

if TYPE_CHECKING:
    from .recursion import Called

READERS = 4
"""By how many blocks an array is taken to be read: it is saved once for all of them."""

Keep = Callable[[list[Value]], None]
"""Makes the forward sweep save values of a block, and the backward sweep restore them (where the builder writes)."""


class Sweep:
    """Writes the backward sweep of a function, and changes the function itself into the forward sweep."""

    def __init__(
        self, block: Block, parameters: Sequence[Value], active: set[Value], target: str, called: Called
    ) -> None:
        self.target = target
        self.called = called
        self.builder = Builder(called.is_differentiated)  # writes the backward sweep
        self.forward = Builder()
        self.active = active
        self.home: dict[Value, Block] = dict.fromkeys(parameters, block)
        self.producer: dict[Value, Operation] = {}
        self.restored: dict[Value, Value] = {}
        self.replaced: dict[Value, Value] = {}  # replacements in the forward sweep
        self.sharing: Counter[object] = Counter()  # by memory policy: the number of loops that have it
        self._register(block)
        self.rereading = Rereading(block)
        self.read_back: dict[Value, Operation | None] = {}
        self.block_of_function = block
        self.outside: dict[Value, float] = {}

    def _register(self, block: Block, policy: object = None) -> None:
        self.home.update(dict.fromkeys(definitions(block), block))
        for op in block.operations:
            self.producer.update(dict.fromkeys(op.results, op))
            own = op.callee if op.kind in ("range", "while") else None
            if own is not None and own is not policy:
                self.sharing[own] += 1
            for inner in op.blocks:
                self._register(inner, own or policy)

    def nested(self, function: Function, active: Sequence[bool]) -> Sweeps:
        """The sweeps of a part of the program that the backward sweep runs again; they share its stack."""
        return sweeps_of(function, active, self.target, self.called)

    # Blocks

    def whole(self, function: Function, wanted: Sequence[bool], given: Sequence[bool]) -> tuple[list[Value], Block]:
        """Write the adjoint of a function.

        Returns the cotangents of its ``given`` results, and a block that computes those of its ``wanted`` parameters.
        """
        results = [v for v, on in zip(function.block.results, given) if on]
        seeds = [Value(f"d{v.name}", strong(v.type)) for v in results]
        cotangents = Cotangents(self.builder, self.active)
        with self.builder.block() as adjoint:
            for result, seed in zip(results, seeds):
                cotangents.add(result, seed)
            self.block(function.block, cotangents)
            for p, on in zip(function.parameters, wanted):
                if on:
                    adjoint.results.append(as_type(self.builder, cotangents.filled(p), p.type))
        return seeds, adjoint

    def block(self, block: Block, cotangents: Cotangents) -> None:
        """Write the adjoints of a block's operations, last to first; ``cotangents`` has those of its results."""
        met = equal_values.following(block, self.active)
        for place, op in reversed(list(enumerate(block.operations))):
            for later in met.values():
                if later.end == place + 1:
                    later.seeds = [cotangents.get(v) for v in later.made]
            if not any(r in self.active for r in op.results) and not any(map(self._holds_active, op.blocks)):
                continue
            self.builder.line = op.line
            if op.kind == "call":
                self.call(op, block, cotangents, met.get(op))
            elif op.kind == "if":
                self.branches(op, block, cotangents)
            elif self._is_reached(op, [cotangents.get(r) for r in op.results]):
                loops.adjoint(self, op, block, cotangents)

    def _is_reached(self, op: Operation, cotangents: Sequence[Value | None]) -> bool:
        """Return whether an operation has an adjoint: the last pops from a stack have one though nothing follows them."""
        pairs = zip(op.results, cotangents)
        return any(g is not None or r.type is STACK and r in self.active for r, g in pairs)

    def _holds_active(self, block: Block) -> bool:
        return any(v in self.active for v in block.results)

    def finish(
        self,
        block: Block,
        adjoint: Block,
        weight: Callable[[Value], float],
        keep: Keep,
        cost: Callable[[Operation], float] = running_cost,
        times: float = 1.0,
    ) -> None:
        """Put before a block's adjoint the code that restores the block's values that it reads.

        ``times`` is how often the block runs each time that the enclosing block does.
        """
        written = adjoint.operations
        read = dict.fromkeys(map(self.stand_in, [*uses(written), *adjoint.results]))
        needed = [v for v in read if self.home.get(v) is block]
        if not needed:
            return
        given = {v for v in read if self.home.get(v) is not block}

        def outside(value: Value) -> float:
            return 0.0 if value in given else self.cost_outside(value) / (READERS * times)

        saved, again = choose(
            block, needed, self.home, self.source_of, self.stand_in, weight, cost, self.read_again, outside
        )
        before: list[Operation] = []
        with self.builder.writing(before):
            keep(saved)
        for op in again:
            copied = without_checks(_RunAgain(self.replaced).operation(op))
            source = self.source(op)
            if source is not None:
                copied.operands[0] = source
            before.append(copied)
            self.restored.update(zip(op.results, copied.results))
        written[:0] = self.in_order(before)

    def in_order(self, operations: list[Operation]) -> list[Operation]:
        """Sort operations by their dependences: a saved value may have a recomputed length."""
        maker = {r: op for op in operations for r in op.results}
        placed: dict[Operation, None] = {}

        def place(op: Operation) -> None:
            for value in map(self.stand_in, uses([op])):
                before = maker.get(value, op)
                if before is not op and before not in placed:
                    place(before)
            placed[op] = None

        for op in operations:
            if op not in placed:
                place(op)
        return list(placed)

    def cost_outside(self, value: Value) -> float:
        """What it costs to restore a value in its own block, for the blocks in that one.

        Arrays that change in a loop would be saved in each iteration. All others are taken to be there.
        """
        if value not in self.outside:
            self.outside[value] = 0.0
            block = self.home.get(value)
            if block is not None and block is not self.block_of_function and getattr(value.type, "shape", ()):
                op = self.source_of(value)
                cost = running_cost(op) if op is not None else inf
                if op is not None and cost < inf:
                    cost += sum(self.cost_outside(self.stand_in(v)) for v in self.read_again(op) if not v.is_constant)
                self.outside[value] = min(size(value.type), cost)
        return self.outside[value]

    def source_of(self, value: Value) -> Operation | None:
        """The operation that recomputes a value: a read of the array that holds it, or the one that produced it."""
        if value not in self.read_back:
            self.read_back[value] = self.rereading.of_written(value) or self.producer.get(value)
        return self.read_back[value]

    def source(self, op: Operation) -> Value | None:
        """The array from which a read can be repeated after its loop, or None."""
        return self.rereading.source(op) if op.callee is typed.getitem else None

    def read_again(self, op: Operation) -> list[Value]:
        """The values that an operation reads when it is recomputed."""
        source = self.source(op)
        read = [*uses([op])]
        return read if source is None else [source, *read[1:]]

    def stand_in(self, value: Value) -> Value:
        """The value's replacement in the backward sweep, if it has one yet."""
        return last(self.restored, value)

    # Operations

    def call(
        self, op: Operation, block: Block, cotangents: Cotangents, following: equal_values.Following | None
    ) -> None:
        dys = [cotangents.take(r) for r in op.results]
        if not self._is_reached(op, dys):
            return
        if op.callee is typed.custom:
            self.custom(op, block, cotangents, dys)
        elif isinstance(op.callee, Function):
            self.called.adjoint(self, op, cotangents, dys)
        elif op.callee in structural.ADJOINTS:
            structural.ADJOINTS[op.callee](self.builder, op, cotangents, dys)
        elif following is not None and equal_values.weighs_vectors(op, dys):
            equal_values.adjoint(self, op, following, cotangents, dys)
        else:
            by_rule.adjoint(self.builder, op, cotangents, dys)

    def custom(self, op: Operation, block: Block, cotangents: Cotangents, dys: Sequence[Value | None]) -> None:
        """Inline a custom derivative; it applies to this derivative only: the forward sweep uses the plain values."""
        n, m = op.named["n"].constant, op.named["m"].constant
        y, x, residuals = op.positional[:n], op.positional[n : n + m], op.positional[n + m :]
        given = [
            zeros(self.builder, r) if dy is None else dy for r, dy in zip(op.results, dys) if r.type.is_inexact
        ]  # fmt: skip
        found = inline(self.builder, op.named["backward"].constant, [*residuals, *given])
        for value, g in zip([v for v in x if v.type.is_inexact], found, strict=True):
            cotangents.add(value, g)
        self.replaced.update(zip(op.results, y))
        self.restored.update(zip(op.results, y))
        block.operations.remove(op)

    def captured(self, blocks: Sequence[Block]) -> list[Value]:
        """The active values that blocks read from outside."""
        inside = {id(b) for b in nested(blocks)}
        read = [v for b in blocks for v in [*uses(b.operations), *b.results]]
        return [v for v in dict.fromkeys(read) if v in self.active and id(self.home[v]) not in inside]

    def branches(self, op: Operation, block: Block, cotangents: Cotangents) -> None:
        seeds = [cotangents.take(r) for r in op.results]
        if not self._is_reached(op, seeds):
            return
        outside = [v for v in self.captured(op.blocks)]
        before = {v: cotangents.get(v) for v in outside}
        written, after = [], []
        for branch in op.blocks:
            inner = Cotangents(self.builder, self.active, cotangents)
            with self.builder.block() as adjoint:
                for value, g in zip(branch.results, seeds):
                    inner.add(value, g)
                self.block(branch, inner)
                after.append([inner.get(v) for v in outside])
            written.append(adjoint)
        changed = [i for i, v in enumerate(outside) if any(gs[i] is not before[v] for gs in after)]
        slots: list[Slot] = []
        for i, (branch, adjoint) in enumerate(zip(op.blocks, written)):
            with self.builder.writing(adjoint.operations):
                adjoint.results = [after[i][k] or zeros(self.builder, outside[k]) for k in changed]
            keep = partial(self._through, i, branch, slots=slots)
            self.finish(branch, adjoint, lambda v: size(v.type), keep)
        self._leave(op, block, slots)
        if changed:
            types = [strong(outside[k].type) for k in changed]
            made = self.builder.operation("if", None, [op.operands[0]], types, blocks=written)
            for k, g in zip(changed, made):
                cotangents.set(outside[k], g)

    def _through(self, branch: int, block: Block, values: list[Value], slots: list[Slot]) -> None:
        """Save values of a branch as results of the ``if``; values of the same type in both branches share a result."""
        for value in values:
            part = Part(value, lambda n: self.home.get(n) is block)
            free = (s for s in slots if branch not in s.given and s.result.type == part.whole)
            slot = next(free, None)
            if slot is None:
                slot = Slot(Value(value.name, part.whole))
                slots.append(slot)
            with self.forward.writing(block.operations):
                empty = self.forward.zeros(part.whole.shape, part.whole.dtype) if part.varies else value
                slot.given[branch] = part.written(self.forward, empty, [])
            self.restored[value] = part.read(self.builder, slot.result, [])

    def _leave(self, op: Operation, block: Block, slots: list[Slot]) -> None:
        """Add the slots to an ``if`` as results; a branch that saves nothing in a slot gives zeros."""
        for slot in slots:
            op.results.append(slot.result)
            self.home[slot.result] = block
            self.producer[slot.result] = op
            kind = slot.result.type
            for i, branch in enumerate(op.blocks):
                if i not in slot.given:
                    with self.forward.writing(branch.operations):
                        slot.given[i] = self.forward.zeros(kind.shape, kind.dtype)
                branch.results.append(slot.given[i])

    def insert(self, block: Block, before: Operation, operations: list[Operation]) -> None:
        """Insert operations before one of a block of the forward sweep."""
        at = block.operations.index(before)
        block.operations[at:at] = operations
        for op in operations:
            self.home.update(dict.fromkeys(op.results, block))
            self.producer.update(dict.fromkeys(op.results, op))

    def added_result(self, op: Operation, block: Block, like: Value) -> Value:
        """Add a result to an operation of the forward sweep."""
        made = Value(like.name, like.type)
        op.results.append(made)
        self.home[made] = block
        self.producer[made] = op
        return made


class _RunAgain(Copy):
    """Copies operations of the forward sweep, whose replaced values may also occur within a copied loop."""

    def __init__(self, replaced: dict[Value, Value]) -> None:
        super().__init__()
        self.replaced = replaced

    def value(self, value: Value) -> Value:
        return super().value(last(self.replaced, value))


def nested(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks and those nested in them."""
    for block in blocks:
        yield block
        for op in block.operations:
            yield from nested(op.blocks)


def without_checks(op: Operation) -> Operation:
    """Remove checks from an operation that is recomputed: the forward sweep has made them."""
    for block in op.blocks:
        block.operations = [without_checks(inner) for inner in block.operations if not discardable(inner)]
    return op


@dataclass
class Sweeps:
    """The two sweeps of a function.

    ``forward`` takes the function's parameters and returns its results followed by the residuals. ``backward`` takes
    the residuals and a cotangent for each inexact result (``seeds`` of them), and returns one for each active
    parameter, of the parameter's type.
    """

    forward: Function
    backward: Function
    seeds: int


def sweeps_of(function: Function, active: Sequence[bool], target: str, called: Called) -> Sweeps:
    """Return the sweeps of a function, in which every push and pop still acts on ``CURRENT``."""
    made = copy_function(function)
    gather(made.block)
    varying = active_values(made, active)
    if keep_factors(made, varying, target):
        varying = active_values(made, active)
    sweep = Sweep(made.block, made.parameters, varying, target, called)
    seeds, adjoint = sweep.whole(made, active, [may_have_cotangent(v) for v in made.block.results])
    saved: list[Value] = []

    def keep(values: list[Value]) -> None:
        saved.extend(values)
        sweep.restored.update((v, Value(v.name, v.type)) for v in values)

    given = set(made.parameters)

    def weight(value: Value) -> float:
        """The cost of saving a value of the outermost block: zero for scalars and parameters, else its size in bytes."""
        return 0.0 if value in given or value.type is not STACK and not value.type.shape else size(value.type)

    sweep.finish(made.block, adjoint, weight, keep)
    parameters = [sweep.restored[v] for v in saved]
    made.block.results += saved
    rename(made.block, sweep.replaced)
    rename(adjoint, sweep.restored)
    rename(Block(parameters), sweep.restored)
    for block in (made.block, adjoint):
        scatter(block)
    backward = Function(f"{function.name}_backward", [*parameters, *seeds], adjoint, function.filename)
    forward = Function(f"{function.name}_forward", made.parameters, made.block, function.filename)
    return Sweeps(forward, backward, len(seeds))
