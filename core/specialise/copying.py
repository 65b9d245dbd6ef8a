"""``copy.copy`` and ``copy.deepcopy`` of the program's containers and objects."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np

from ..ir.derived import Derived
from ..ir.traced_text import Text
from ..values.array_classes import is_traced_array
from ..values.holders import blank
from ..values.items import entries_of, items_of
from .forms import of_entries, of_items
from .instances import held_by_instance, hold, is_instance, special
from .scopes import Choice
from .traced import Array, Traced


def shallow(trace: Any, x: Any) -> Any:
    return copied(trace, x, lambda e: e, "__copy__")


def deep(trace: Any, x: Any, memo: dict[int, Any] | None = None) -> Any:
    memo = {} if memo is None else memo
    if id(x) not in memo:
        memo[id(x)] = copied(trace, x, lambda e: deep(trace, e, memo), "__deepcopy__", memo)
    return memo[id(x)]


def copied(trace: Any, x: Any, part: Any, hook: str, *memo: Any) -> Any:
    """Return a copy of x whose parts are mapped by ``part``."""
    if isinstance(x, (Traced, Text)):
        return trace.call(np.copy, x) if isinstance(x, Array) else x
    own = special(x, hook)
    if own is not None:
        return trace.call(own, *memo)
    if type(x) is Derived:
        return Derived(x.cls, x.plain, trace.new({k: part(e) for k, e in x.held.items()}))
    if is_traced_array(x):
        return trace.call(getattr(x, hook), *memo)
    if type(x) is Choice:
        return Choice(x.which, [part(o) for o in x.options])
    if isinstance(x, tuple):
        parts = [part(e) for e in items_of(x)]
        if all(a is b for a, b in zip(parts, x)):
            return x
        return of_items(x, parts)
    if isinstance(x, (list, deque)):
        return trace.new(of_items(x, [part(e) for e in items_of(x)]))
    if isinstance(x, dict):
        trace.refuse_unknown_entries(x)
        return trace.new(of_entries(x, {k: part(e) for k, e in entries_of(x)}))
    if is_instance(x) and not isinstance(x, set):
        made = blank(type(x))
        hold(made, {k: part(e) for k, e in held_by_instance(x).items()})
        return trace.new(made)
    return trace.uninterpreted.call_real(copy.copy if hook == "__copy__" else copy.deepcopy, (x,), {})
