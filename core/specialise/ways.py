"""Forks: the rest of a body is interpreted once for each branch of a condition, if the branches cannot be merged.

After ``if x > 0: items.append(x)`` the length of ``items`` depends on a traced condition, and so does the position of
an iterator that was advanced in a branch.  Within each branch both are known.  A program that is refused for such a
reason is traced once more, and then the body of its outermost function (or of a function that is differentiated)
*forks* there: the rest of the body becomes part of both branches.

The condition may be deep inside a statement, in a loop or in a called function.  So the statement is interpreted up to
the condition, its changes are undone, and it is interpreted again in both branches, with that condition decided. At the
end of the body the branches are merged.  Differences that are then visible from outside are refused.
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
from .clocks import Clock
from .drivers import Driver
from .state import After
from .traced import Trace

MOST = 24
"""The most forks of one trace; each may double the rest of the program."""

_OPAQUE = (type, ModuleType, ast.AST, Trace, Value, Operation, Block, np.ndarray, np.generic)

_OF_IMPORTS = ("__loader__", "__spec__", "__builtins__")
"""Names that the import system sets in a module; a loader may refer to everything that a test runner or notebook holds."""


class Fork(BaseException):
    """The rest of a body must be interpreted once for each branch of a condition."""

    def __init__(self, place: int, condition: Value) -> None:
        self.place = place
        self.condition = condition


@dataclass
class Ways:
    """The conditions of one statement of a body; ``decided`` maps their positions in order to the branches taken.

    Only conditions in the statement's own operations ``out`` have a position; those inside a branch get one once that
    branch is decided.
    """

    out: list[Operation]
    decided: dict[int, bool]
    count: int = 0
    open: tuple[int, Value] | None = field(default=None)  # the condition whose branches are being interpreted

    def take(self, condition: Value, known: bool | None) -> bool | None:
        """Return the branch to take at the next condition; None if it is undecided and both are interpreted.

        A condition that is ``known`` has a position too: where it is interpreted again, more may be known than before.
        """
        place = self.count
        self.count += 1
        if place in self.decided:
            return self.decided[place]
        if known is None:
            self.open = place, condition
        return known


def shows(block: Block) -> bool:
    """Whether a block has visible effects, which must not be repeated."""
    return any(
        op.callee is debug_print
        or op.callee is callback
        and _is_shown(op.named["function"].constant)
        or isinstance(op.callee, Function)
        and shows(op.callee.block)
        for op in walk(block)
    )


def _is_shown(function: Any) -> bool:
    return shows(function.function.block) if isinstance(function, Driver) else not isinstance(function, Clock)


def reachable(roots: Iterable[Any], afters: list[After]) -> set[int]:
    """Return the ids of all objects reachable from the roots, in their present state or as regions have left them."""
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
        if type(x) is dict and "__loader__" in x:  # a module's namespace
            waiting += [e for key, e in x.items() if key not in _OF_IMPORTS]
        else:
            waiting += gc.get_referents(x)
        waiting += [after[id(x)][1] for after in afters if id(x) in after]
    return set(seen)
