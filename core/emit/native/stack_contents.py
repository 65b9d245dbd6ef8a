"""Which numbers a pop from a stack returns: those of one push, since a backward sweep mirrors its forward sweep.

The contents of a stack are described by a tuple, the bottom first. Its entries are operations that push; ``Several``, which
stands for what the iterations of a loop have pushed; and ``Either``, what one of two branches has pushed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...ir.typed import STACK

Contents = tuple[Any, ...]


@dataclass(eq=False)
class Several:
    """What the iterations of a loop have pushed; each has pushed ``inner``."""

    inner: Contents


@dataclass(eq=False)
class Either:
    """What the branch that was taken has pushed."""

    inner: tuple[Contents, Contents]


def pushed(function: Function) -> dict[Value, Value]:
    """Map the results of pops to the values that were pushed, as far as they are known."""
    found = _Walk()
    found.block(function.block)
    return found.pushed


class _Walk:
    def __init__(self) -> None:
        self.pushed: dict[Value, Value] = {}
        self.contents: dict[Value, Contents] = {}  # of stacks whose contents are known

    def block(self, block: Block, branch: int | None = None) -> None:
        """Follow the operations of a block, which may be one of the two of an ``if``."""
        for op in block.operations:
            if op.callee is typed.stack_new:
                self.contents[op.results[0]] = ()
            elif op.callee is typed.stack_push and op.operands[0] in self.contents:
                self.contents[op.results[0]] = (*self.contents[op.operands[0]], op)
            elif op.callee is typed.stack_pop and op.operands[0] in self.contents:
                self.pop(op, branch)
            elif op.kind == "if":
                self.branches(op)
            elif op.kind in ("range", "while"):
                self.loop(op, branch)

    def pop(self, op: Operation, branch: int | None) -> None:
        contents = _opened(self.contents[op.operands[0]], branch)
        *values, rest = op.results
        last = contents[-1] if contents else None
        if not isinstance(last, Operation) or [v.type for v in last.operands[1:]] != [v.type for v in values]:
            return
        self.contents[rest] = contents[:-1]
        for value, source in zip(values, last.operands[1:]):
            self.pushed[value] = source
            if source in self.contents:
                self.contents[value] = self.contents[source]

    def branches(self, op: Operation) -> None:
        for number, block in enumerate(op.blocks):
            self.block(block, number)
        for result, *ends in zip(op.results, *(block.results for block in op.blocks)):
            if result.type is STACK and all(end in self.contents for end in ends):
                first, second = (_opened(self.contents[end], n, True) for n, end in enumerate(ends))
                common = 0
                while common < min(len(first), len(second)) and first[common] is second[common]:
                    common += 1
                rest = first[common:], second[common:]
                self.contents[result] = (*first[:common], *([Either(rest)] if any(rest) else []))

    def loop(self, op: Operation, branch: int | None) -> None:
        pops = any(inner.callee is typed.stack_pop for inner in walk(op.blocks[-1]))
        before: dict[Value, Contents] = {}
        for initial, first, _, _ in op.carried:
            if first.type is not STACK or initial not in self.contents:
                continue
            contents = _opened(self.contents[initial], branch)
            if pops and contents and isinstance(contents[-1], Several):
                before[first] = contents
                self.contents[first] = (*contents, *contents[-1].inner)
            else:
                before[first] = self.contents[first] = self.contents[initial]
        self.block(op.blocks[-1])
        for _, first, last, result in op.carried:
            if first not in before or last not in self.contents:
                continue
            start, end = before[first], self.contents[last]
            if self.contents[first] != start:
                if end == start:  # each iteration has popped what one has pushed
                    self.contents[result] = start[:-1]
            elif end == start:
                self.contents[result] = start
            elif end[: len(start)] == start:
                self.contents[result] = (*start, Several(end[len(start) :]))


def _opened(contents: Contents, branch: int | None, only_empty: bool = False) -> Contents:
    """Return contents whose last entry is not ``Either``: in a branch, what the mirrored one has pushed."""
    if branch is not None and contents and isinstance(contents[-1], Either):
        inner = contents[-1].inner[branch]
        if not (only_empty and inner):
            return (*contents[:-1], *inner)
    return contents
