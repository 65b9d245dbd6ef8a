"""Liveness: the positions at which values are defined and used, in the order in which operations are emitted.

A control structure has one position for its operands, one for the beginning and end of each block, and one for its
results. A loop's body reads an outer value in every iteration, so such a use counts at the end of the loop. The two
branches of an ``if`` exclude each other: a use in one does not make a value live in the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.dynamic import Block, Function, Operation, Value


@dataclass(frozen=True)
class Use:
    position: float
    loops: tuple[Operation, ...]  # that contain the use, from the outermost


@dataclass
class Order:
    """The positions of one function."""

    at: dict[Operation, int] = field(default_factory=dict)
    end: dict[Operation, int] = field(default_factory=dict)
    yields: dict[int, int] = field(default_factory=dict)  # of a block, by its id
    defined: dict[Value, int] = field(default_factory=dict)
    loops: dict[Value, tuple[Operation, ...]] = field(default_factory=dict)
    maker: dict[Value, Operation] = field(default_factory=dict)
    uses: dict[Value, set[Use]] = field(default_factory=dict)
    users: dict[Value, list[Operation | None]] = field(default_factory=dict)  # None: the end of a block
    excluded: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    last: int = 0

    def effective(self, use: Use, value: Value) -> float:
        """Return the position up to which a use keeps a value live."""
        outside = len(self.loops[value])
        return self.end[use.loops[outside]] if len(use.loops) > outside else use.position

    def last_use(self, value: Value) -> float:
        return max((self.effective(use, value) for use in self.uses[value]), default=self.defined[value])

    def is_live_after(self, value: Value, position: int) -> bool:
        """Return whether an operation that runs after the one at a position may use the value."""
        hidden = self.excluded.get(position, ())
        for use in self.uses[value]:
            at = self.effective(use, value)
            if at > position and not any(first <= at <= last for first, last in hidden):
                return True
        return False


def order(function: Function) -> Order:
    """Number the operations of a function."""
    found = Order()
    count = 0
    branches: list[tuple[int, int]] = []  # ranges that the branch being numbered excludes

    def next_position() -> int:
        nonlocal count
        count += 1
        if branches:
            found.excluded[count] = list(branches)
        return count

    def define(values: list[Value], position: int, loops: tuple[Operation, ...], op: Operation | None) -> None:
        for value in values:
            found.defined[value] = position
            found.loops[value] = loops
            found.uses.setdefault(value, set())
            found.users.setdefault(value, [])
            if op is not None:
                found.maker[value] = op

    def use(values: list[Value], position: int, loops: tuple[Operation, ...], op: Operation | None) -> None:
        for value in values:
            if not value.is_constant:
                found.uses[value].add(Use(position, loops))
                found.users[value].append(op)

    def block(b: Block, loops: tuple[Operation, ...]) -> None:
        define(b.parameters, next_position(), loops, None)
        for op in b.operations:
            position = found.at[op] = next_position()
            use(op.operands, position, loops, op)
            if op.kind == "if":
                one_of_two(op, loops)
            else:
                for inner in op.blocks:
                    block(inner, (*loops, op))
            found.end[op] = next_position() if op.blocks else position
            define(op.results, found.end[op], loops, op)
        position = found.yields[id(b)] = next_position()
        use(b.results, position, loops, None)

    def one_of_two(op: Operation, loops: tuple[Operation, ...]) -> None:
        """Number both branches; the positions of the second, which the first excludes, are computed beforehand."""
        then, other = op.blocks
        first = count + _length(then) + 1
        branches.append((first, first + _length(other) - 1))
        block(then, loops)
        branches.pop()
        block(other, loops)

    define(function.parameters, 0, (), None)
    block(Block([], function.block.operations, function.block.results), ())
    found.yields[id(function.block)] = found.last = count
    # The body of a while uses the carried values after its condition.
    for op in found.at:
        if op.kind == "while":
            condition = op.blocks[0]
            for value in condition.parameters:
                found.uses[value].add(Use(found.yields[id(condition)], found.loops[value]))
    return found


def _length(block: Block) -> int:
    """Return the number of positions that a block takes."""
    return 2 + sum(1 + (bool(op.blocks) and 1 + sum(map(_length, op.blocks))) for op in block.operations)
