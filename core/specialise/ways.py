"""What follows a condition, interpreted once for each way, where the two ways leave behind what cannot be one object.

After ``if x > 0: items.append(x)`` the length of ``items`` depends on a traced condition, and so does the position of an iterator that was
advanced in a branch.  On each way both are known.  A program that is refused for such a reason is traced once more, and then the body of
its outermost function (or of a function that is differentiated) *forks* there: the rest of the body becomes part of both branches.

The branch may stand deep inside of a statement, in a loop or in a function that it calls.  So the statement is interpreted up to the
condition, its changes are taken back, and it is interpreted again in both branches, where that condition is decided.
At the end of the body the branches are merged.  What differs then and can still be reached from outside of it is refused.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..ir.dynamic import Block, Function, Operation, Value, walk
from ..ir.typed import callback, debug_print
from ..values.numbers import PROXIES
from .state import After
from .traced import Trace

MOST = 24
"""So many times a trace forks; each time may double the rest of the program."""

_OPAQUE = (type, ModuleType, ast.AST, Trace, Value, Operation, Block, np.ndarray, np.generic)


class Fork(BaseException):
    """The rest of a body has to be interpreted once for each way of a condition."""

    def __init__(self, place: int, condition: Value) -> None:
        self.place = place
        self.condition = condition


@dataclass
class Ways:
    """The conditions of one statement of a body: of those that are decided, which way is taken, by their places in order.

    Only conditions that stand in the statement's own operations ``out`` have a place; those inside of a branch come into it once
    that branch is decided.
    """

    out: list[Operation]
    decided: dict[int, bool]
    count: int = 0
    open: tuple[int, Value] | None = field(default=None)  # the condition whose branches are being interpreted

    def take(self, condition: Value) -> bool | None:
        """The way that is taken at the next condition; None if it is not decided, and both are interpreted."""
        place = self.count
        self.count += 1
        if place in self.decided:
            return self.decided[place]
        self.open = place, condition
        return None


def shows(block: Block) -> bool:
    """Whether a block does what must not be done twice."""
    return any(
        op.callee in (callback, debug_print) or isinstance(op.callee, Function) and shows(op.callee.block)
        for op in walk(block)
    )


def reachable(roots: Iterable[Any], afters: list[After]) -> set[int]:
    """The objects that are reached from others, as they are and as regions have left them, by their identities."""
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        x = waiting.pop()
        if id(x) in seen or type(x) in PROXIES or isinstance(x, _OPAQUE):
            continue
        seen[id(x)] = x
        if isinstance(x, FunctionType):
            waiting += [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
            continue
        waiting += gc.get_referents(x)
        waiting += [after[id(x)][1] for after in afters if id(x) in after]
    return set(seen)
