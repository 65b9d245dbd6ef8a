"""Items of lists and tuples at a traced index: one operation for all items; entries of dicts that may be missing."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.builder import Builder
from ..ir.derived import is_known
from ..ir.dynamic import Value
from ..ir.typed import ArrayType
from ..passes.simplify import is_pure, is_total
from ..values.items import count_of, items_of
from .forms import NUMBERS, of_items
from .growing_lists import tie
from .identity import forget
from .joined_types import join
from .scopes import Late
from .surface.arguments import weak
from .surface.slices import element, int64
from .traced import Array, NeedsConcrete, Scalar


def is_index(x: Any) -> bool:
    """Whether a value is an integer or a Python bool."""
    return isinstance(x, Scalar) and (x.type.dtype.kind in "iu" or x.type.dtype.kind == "b" and x.type.weak)


def item_at(trace: Any, x: Any, index: Scalar) -> Any:
    """``x[index]`` of alike items: numbers, arrays of one type, tuples of such; a bool chooses between any two."""
    i = trace.value(index)
    if i.type.dtype.kind == "b" and count_of(x) == 2:
        return trace.branch(i, lambda: trace.call(operator.getitem, x, 1), lambda: trace.call(operator.getitem, x, 0))
    trace.outside.read_whole(x)
    items = (
        [trace.outside.read(trace, x, k, e) for k, e in enumerate(items_of(x))]
        if trace.outside.is_outside(x)
        else list(items_of(x))
    )
    is_alike = bool(items) and are_alike(items)
    if not is_alike:
        if not items or would_be_known(trace, i) or not trace.allows("may_grow"):
            raise NeedsConcrete(i, f"an index into a {kind_of(x)}")
        is_alike = are_alike(items, (tuple, list))
        for e in items if is_alike and isinstance(items[0], list) else ():
            trace.outside.read_whole(e, is_deep=True)
            tie(trace, e)
    kind = "string" if isinstance(x, str) else "index" if isinstance(x, bytes) else type(x).__name__
    i = element(
        trace.builder, i, len(items), None, "index out of range" if kind == "index" else f"{kind} index out of range"
    )
    return _one_of(trace, items, i) if is_alike else _branched(trace, items, Scalar(i))


def would_be_known(trace: Any, index: Value) -> bool:
    """Whether an index would be known if the loops around, whose trips are known, were unrolled."""
    made_by = trace.builder.makers()
    waiting, seen = [index], set[Value]()
    while waiting:
        v = waiting.pop()
        if v in seen or v.is_constant or v in trace.unrollable:
            continue
        seen.add(v)
        op = made_by.get(v)
        if op is None or op.blocks or not (is_pure(op) and is_total(op)):
            return False
        waiting += op.operands
    return True


def _branched(trace: Any, items: list[Any], i: Scalar) -> Any:
    """Return the item at an index from 0 to ``len(items) - 1``, found by halving."""

    def between(low: int, high: int) -> Any:
        if low + 1 == high:
            return items[low]
        middle = (low + high) // 2
        test = trace.value(trace.call(operator.lt, i, middle))
        return trace.branch(test, lambda: between(low, middle), lambda: between(middle, high))

    return between(0, len(items))


def _one_of(trace: Any, items: list[Any], i: Value) -> Any:
    if _are_numbers(items):
        return _number_at(trace, items, i)
    if type(items[0]) is list:
        made = trace.new([_one_of(trace, list(column), i) for column in zip(*items)])
        tie(trace, made)
        forget(trace, made)
        return made
    if isinstance(items[0], tuple):
        parts = [_one_of(trace, list(column), i) for column in zip(*items)]
        return of_items(items[0], parts)
    return _array_at(trace, items, Scalar(i))


def _are_numbers(items: list[Any]) -> bool:
    return all(isinstance(e, (Scalar, *NUMBERS)) and not is_known(e) for e in items)


def are_alike(items: list[Any], kinds: tuple[type, ...] = (tuple,)) -> bool:
    """Whether items are numbers, arrays of one type, or tuples of such, so that the choice can be made at run time."""
    if _are_numbers(items):
        return True
    if isinstance(items[0], tuple) or list in kinds and type(items[0]) is list:
        is_one_kind = len({(type(e), len(e) if isinstance(e, (tuple, list)) else -1) for e in items}) == 1
        return is_one_kind and all(are_alike(list(column), kinds) for column in zip(*items))
    if not all(isinstance(e, (Array, np.ndarray)) for e in items):
        return False
    return len({(e.dtype, e.type.shape if isinstance(e, Array) else e.shape) for e in items}) == 1


def _number_at(trace: Any, items: list[Any], i: Value) -> Scalar:
    """Return the number at an index, in the items' common type."""
    builder = trace.builder
    parts = [trace.value(e) for e in items]
    kind = reduce(join, (p.type for p in parts))  # type: ignore[arg-type]
    numbers = [builder.cast(p, kind.dtype) for p in parts]
    if all(n.is_constant for n in numbers):
        row = builder.constant(np.array([n.constant for n in numbers], kind.dtype))
    else:
        row = builder.concatenate([builder.full((1,), n) for n in numbers], 0, len(numbers))
    return Scalar(_of_kind(builder, builder.getitem(row, [i], ("i",), []), kind))


def _of_kind(builder: Builder, x: Value, kind: ArrayType) -> Value:
    """Convert a number to a type's dtype, and to a Python number if the type is weak."""
    return weak(builder, x, kind.dtype) if kind.weak else x


def _array_at(trace: Any, items: list[Any], i: Scalar) -> Array:
    found = trace.call(operator.getitem, trace.call(np.array, items), i)
    text = (
        "an array was taken from a list by an index that is not known while compiling, so neither it nor the list's arrays can "
        "be written to; copy it first"
    )
    for x in (found, *items):
        if isinstance(x, Array):
            x.storage.tied = text
    return found


def put_at(trace: Any, x: Any, index: Any, new: Any) -> None:
    """Write ``x[index] = new`` into a list of numbers: each item becomes a choice of the new and the old number."""
    if type(x) is not list or not is_index(index) or not _are_numbers((*x, new)):
        what = f"the index or key of a write to a {kind_of(x)}; use an array instead"
        raise NeedsConcrete(trace.value(index), what)
    builder = trace.builder
    i = element(builder, trace.value(index), len(x), None, "list assignment index out of range")
    trace.touch(x)  # saved here, since a check opens a region of its own
    given = trace.value(new)
    for k, old in enumerate(x):
        parts = [given, trace.value(old)]
        kind: Any = join(parts[0].type, parts[1].type)
        is_here = builder.ufunc(np.equal, int64(builder, i), builder.constant(k))
        x[k] = Scalar(_of_kind(builder, builder.where(is_here, *(builder.cast(p, kind.dtype) for p in parts)), kind))


def insert_missing(trace: Any, x: Any, index: Any) -> None:
    """Insert the entry that a defaultdict makes for a key that it does not have."""
    if hasattr(type(x), "__missing__"):
        trace.touch(x)
        factory = getattr(x, "default_factory", None)
        if factory is None and id(x) in trace.given_objects:
            raise BadInput(
                f"the key {index!r} is missing from a {type(x).__name__} that is an argument; insert it before the call"
            )
        if factory is None:
            raise KeyError(index)
        dict.__setitem__(x, index, trace.call(factory))


def present_or_missing(trace: Any, x: Any, index: Any, late: Late) -> Any:
    """Read an entry that is there on some paths only, of a dict that gives or makes another where it is not."""

    def missing() -> Any:
        trace.touch(x)
        dict.__delitem__(x, index)
        return trace.call(operator.getitem, x, index)

    def present() -> Any:
        trace.touch(x)
        dict.__setitem__(x, index, late.x)
        return late.x

    return trace.branch(trace.value(late.absent), missing, present)
