"""``tree.rebuild`` while a program is recorded or compiled."""

from __future__ import annotations

import operator
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any

from .holders import Attribute, Kind, Objects, is_engines_own, kind_of
from .sparse_patterns import check_same
from .tree import Walk, is_parameter, unchanged


@dataclass
class _Recorded(Walk):
    tape: Any = None

    def __post_init__(self) -> None:
        self.leaf, self.constant = partial(self.tape.call, self.leaf), partial(self.tape.call, self.constant)
        if self.is_leaf is not is_parameter:
            self.is_leaf = partial(self.tape.call, self.is_leaf)


@dataclass
class _Compiled(Walk):
    trace: Any = None

    def __post_init__(self) -> None:
        self.leaf, self.constant = partial(self.trace.call, self.leaf), partial(self.trace.call, self.constant)
        self.is_leaf = partial(self.trace.call, self.is_leaf)

    def kind(self, x: Any) -> Kind | None:
        return None if is_engines_own(type(x)) else kind_of(type(x))

    def entries(self, kind: Kind, x: Any) -> list[tuple[Any, Any]]:
        if isinstance(x, (list, tuple, deque)):  # of a list that grows in a loop, the program knows no items
            self.trace.concrete(self.trace.call(len, x), f"the structure of a {type(x).__name__}")
        found = kind.entries(x)
        if isinstance(kind, Objects):
            return [(name, self.trace.attribute(x, name)) for name, _ in found]
        if isinstance(x, (list, dict)):
            return [(k, e if type(k) is Attribute else self.trace.call(operator.getitem, x, k)) for k, e in found]
        return found

    def new(self, made: Any) -> Any:
        return self.trace.new(made)

    def check_pattern(self, *args: Any) -> None:
        self.trace.call(check_same, *args)


def _options(
    leaf: Any,
    is_leaf: Any = is_parameter,
    constant: Any = unchanged,
    is_shared: bool = True,
    is_lenient: bool = False,
    names: tuple[str, str] = ("tree", "the other tree"),
    is_exact: bool = False,
) -> tuple[Any, ...]:
    return leaf, is_leaf, constant, is_shared, is_lenient, names, is_exact


def rebuild_recorded(tape: Any, tree: Any, leaf: Any, *others: Any, **options: Any) -> Any:
    return _Recorded(*_options(leaf, **options), tape=tape).made(tree, others)


def rebuild_traced(trace: Any, arrays: tuple[type, ...], tree: Any, leaf: Any, *others: Any, **options: Any) -> Any:
    """Run ``rebuild`` while a program is traced; instances of ``arrays`` count as arrays."""
    return _Compiled(*_options(leaf, **options), arrays=arrays, trace=trace).made(tree, others)
