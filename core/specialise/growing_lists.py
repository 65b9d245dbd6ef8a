"""Lists of traced length (``rows``): made of lists of known length, read, and changed.

A list becomes one where two branches leave it with different lengths, or a loop changes its length. Within branches its
columns grow by a row for each item.  A loop carries columns of a fixed capacity; the program raises ``CapacityExceeded``
if they are too short, and is then compiled again with a larger capacity (``Trace.capacity``).

Columns hold copies of the items.  So an array, list or object in such a list is *tied*: it can no longer be changed.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Sequence as Items
from typing import Any

import numpy as np

from ..errors import BadInput, CapacityExceeded
from ..ir.builder import Builder
from ..ir.derived import Derived
from ..ir.dynamic import Value
from ..ir.typed import INT, ArrayType, Dim
from ..values.items import count_of, entries_of, items_of
from .choices import can_choose, options_of, places
from .forms import NUMBERS, containers, numbers_in, of_items, rebuilt, same_form
from .identity import forget
from .instances import held_by_instance, is_instance
from .joined_types import join
from .rows import KINDS, Rows, rows_of
from .scopes import Choice
from .sequences import Sequence
from .state import put
from .surface.arguments import weak
from .surface.slices import element, int64, slice_entry
from .traced import Array, Scalar, Storage, Traced

_TIED = (
    "an array, list or object was put into a list whose length is known only at run time, or taken from a list at an index that is, "
    "so it cannot be changed any more; copy it first"
)


_DEEPEST = 6
"""How deep the containers and objects in an item may be nested."""


class Form:
    """The form that the items of several lists have in common, and the most items of any of them."""

    def __init__(self, item: Any, kinds: tuple[ArrayType, ...], capacity: int) -> None:
        self.item = item
        self.kinds = kinds
        self.capacity = capacity


def form_of(trace: Any, lists: Items[Any]) -> Form | None:
    """Return the common form of the items of several lists (containers, or their contents); None if they have none."""
    examples: list[tuple[Any, list[Any]]] = []  # an item, and the types of its numbers
    capacity = 0
    for x in lists:
        rows = rows_of(x)
        if rows is not None:
            capacity = max(capacity, rows.capacity)
            examples.append((rows.item, list(rows.kinds)))
            continue
        capacity = max(capacity, count_of(x))
        for e in items_of(x):
            if not is_plain(e):
                return None
            examples.append((e, [trace.value(n).type for n in numbers_in(e)]))
    if not examples:
        return None
    item = examples[0][0]
    for other, _ in examples[1:]:
        item = _common(trace, item, other)
        if item is None:
            return None
    kinds: list[Any] | None = None
    for e, types in examples:
        found = [INT if isinstance(n, (int, tuple)) else n for n in fitted(item, e, types)]
        kinds = found if kinds is None else [_joined(a, b) for a, b in zip(kinds, found)]
    if kinds is None or any(kind is None or not kind.is_static for kind in kinds):
        return None
    return Form(item, tuple(kinds), capacity)


def is_plain(x: Any, around: tuple[int, ...] = ()) -> bool:
    """Whether an item is made of traced values, numbers and constants, without cycles or arrays not read from outside."""
    if isinstance(x, np.ndarray) or id(x) in around or len(around) > _DEEPEST:
        return False
    if isinstance(x, (Traced, *NUMBERS)) or type(x) is Rows:
        return True
    if type(x) is Choice:
        parts: Any = x.options
    elif type(x) is Derived:
        parts = x.plain, x.held
    elif isinstance(x, (list, tuple, deque)):
        parts = items_of(x)
    elif isinstance(x, dict) or is_instance(x):
        parts = (dict(entries_of(x)) if isinstance(x, dict) else held_by_instance(x)).values()
    else:
        return True
    around = (*around, id(x))
    return all(is_plain(e, around) for e in parts)


def _joined(a: ArrayType | None, b: ArrayType | None) -> ArrayType | None:
    return b if a is None else a if b is None else join(a, b)


def _common(trace: Any, a: Any, b: Any) -> Any:
    """Return an item of a form that both items fit."""
    if same_form(a, b) and _shapes(a) == _shapes(b):
        return a
    if type(a) is type(b) and type(a) in (tuple, list) and count_of(a) == count_of(b) and rows_of(a) is rows_of(b):
        parts = [_common(trace, x, y) for x, y in zip(a, b)]
        return None if any(p is None for p in parts) else type(a)(parts)
    if can_choose(a, b):
        options = list(options_of(a))
        places(options, options_of(b))
        return Choice(0, options)
    return None


def _shapes(x: Any) -> list[Any]:
    return [n.type.shape if isinstance(n, (Scalar, Array)) else () for n in numbers_in(x)]


def fitted(item: Any, x: Any, values: Items[Any]) -> list[Any]:
    """Return an item's ``values``, one for each of its numbers, in the order of the form of ``item``.

    In place of the values of options that x is not stands None, and in place of a position among options that is known
    an int.
    """
    given = iter(values)

    def walk(item: Any, x: Any) -> list[Any]:
        if type(item) is Choice:
            if type(x) is Choice and len(x.options) == len(item.options) and same_form(item, x):
                return [next(given) for _ in numbers_in(x)]
            table = places(list(item.options), options_of(x))
            which: Any = (next(given), table) if type(x) is Choice else table[0]
            found: dict[int, list[Any]] = {}
            for place, option in zip(table, options_of(x)):
                found[place] = walk(item.options[place], option)
            rest = [found.get(i, [None] * len(numbers_in(o))) for i, o in enumerate(item.options)]
            return [which, *(v for part in rest for v in part)]
        if type(item) in (tuple, list) and rows_of(item) is None:
            return [v for a, b in zip(item, x) for v in walk(a, b)]
        return [next(given) for _ in numbers_in(x)]

    return walk(item, x)


# Made of known items


def made_of(trace: Any, x: Any, form: Form, is_fixed: bool, read: Callable[[Any], Value] | None = None) -> Rows:
    """Return the items of a list or tuple as rows of the form's types and capacity; ``read`` reads its numbers."""
    rows = rows_of(x)
    if rows is not None:
        return reformed(trace, rows, form, is_fixed)
    builder = trace.builder
    value_of: Any = read or trace.value
    table = [
        [
            _value(trace, v, kind)
            for v, kind in zip(fitted(form.item, e, [value_of(n) for n in numbers_in(e)]), form.kinds)
        ]
        for e in items_of(x)
    ]
    columns = []
    for i, kind in enumerate(form.kinds):
        parts = [_row(builder, values[i]) for values in table]
        columns.append(Scalar(_padded(builder, parts, len(parts), form.capacity, kind)))
    return Rows(count_of(x), tuple(columns), form.item, form.kinds, form.capacity, is_fixed)


def _value(trace: Any, v: Any, kind: ArrayType) -> Value:
    """Return a value of an item in the type of its column."""
    builder = trace.builder
    if v is None:
        return builder.zeros(kind.shape, kind.dtype)
    if isinstance(v, tuple):
        v = _renumbered(trace, *v)
    return builder.cast(builder.constant(v) if isinstance(v, int) else v, kind.dtype)


def _renumbered(trace: Any, which: Value, table: list[int]) -> Value:
    if table == list(range(len(table))):
        return which
    builder = trace.builder
    found = builder.constant(table[0], np.int64)
    for i, place in enumerate(table[1:], 1):
        found = builder.where(
            builder.ufunc(np.equal, which, builder.constant(i)), builder.constant(place, np.int64), found
        )
    return found


def _row(builder: Builder, x: Value) -> Value:
    """Return a value as an array with one row."""
    return builder.reshape(x, (1, *x.type.shape)) if x.type.shape else builder.full((1,), x)


def _padded(builder: Builder, parts: list[Value], count: int, capacity: int, kind: ArrayType) -> Value:
    """Join parts of a column, and append zeros up to the capacity."""
    if count < capacity:
        parts = [*parts, builder.zeros((capacity - count, *kind.shape), kind.dtype)]
    if not parts:
        return builder.zeros((0, *kind.shape), kind.dtype)
    return parts[0] if len(parts) == 1 else builder.concatenate(parts, 0, capacity)


def reformed(trace: Any, rows: Rows, form: Form, is_fixed: bool) -> Rows:
    """Return rows in another form, types and capacity."""
    builder = trace.builder
    given = [c.ir for c in rows.columns]
    columns = []
    for v, kind in zip(fitted(form.item, rows.item, given), form.kinds):
        if isinstance(v, tuple):
            v = _renumbered(trace, *v)
        elif not isinstance(v, Value):
            v = (
                builder.full((rows.capacity,), builder.constant(v or 0, kind.dtype))
                if not kind.shape
                else (builder.zeros((rows.capacity, *kind.shape), kind.dtype))
            )
        v = builder.cast(v, kind.dtype)
        columns.append(Scalar(_padded(builder, [v], rows.capacity, form.capacity, kind)))
    return Rows(rows.length, tuple(columns), form.item, form.kinds, form.capacity, is_fixed)


def tie(trace: Any, x: Any) -> None:
    """Note that an item cannot be changed any more, since a column holds a copy of it."""
    given = [g.storage for g in trace.given_arrays]
    for a in numbers_in(x):
        if isinstance(a, Array):
            trace.copies_arguments |= any(a.storage is g for g in given)
            a.storage.tied = a.storage.tied or _TIED
    for c in containers(x, []):
        trace.copies_arguments |= id(c) in trace.given_objects or trace.outside.is_outside(c)
        trace.tied.setdefault(id(c), (c, _TIED))


def is_in_growing_list(trace: Any, x: Any) -> bool:
    """Whether a storage, array, container or object was put into a list of traced length."""
    if isinstance(x, (Array, Storage)):
        return (x.storage if isinstance(x, Array) else x).tied is _TIED
    return trace.tied.get(id(x), (x, ""))[1] is _TIED


def make_growing(trace: Any, x: Any, others: Items[Any], is_fixed: bool = False, capacity: int = 0) -> bool:
    """Turn a list or deque into one of traced length that can hold the items of ``others`` too; False if it cannot."""
    form = form_of(trace, [x, *others])
    if form is None:
        return False
    form.capacity = max(form.capacity, capacity)
    rows = made_of(trace, x, form, is_fixed)
    for e in () if rows_of(x) is not None else items_of(x):
        tie(trace, e)
    trace.save(x)
    put(x, [rows])
    return True


# Read


def length_value(trace: Any, rows: Rows) -> Value:
    return int64(trace.builder, trace.value(rows.length))


def item_at(trace: Any, x: Any, index: Any) -> Any:
    """``x[index]`` of a list of traced length."""
    rows: Any = rows_of(x)
    builder = trace.builder
    n = length_value(trace, rows)
    size = int(n.constant) if n.is_constant else Dim(n, rows.capacity)
    i = element(builder, trace.value(index), size, None, f"{type(x).__name__} index out of range")
    return _item(trace, rows, i)


def spread(trace: Any, x: Any) -> Any:
    """Return an argument of a function that knows nothing of rows: lists and tuples in it hold their items one by one.

    A list keeps its identity. One whose length is known only at run time is refused.
    """
    if isinstance(x, dict):
        for e in dict.values(x):
            spread(trace, e)
        return x
    if type(x) not in KINDS or not any(type(e) in KINDS or type(e) is Rows for e in x):
        return x
    rows = rows_of(x)
    if rows is not None and not rows.is_full:
        rows.refuse()
    items = x if rows is None else [item_at(trace, x, i) for i in range(rows.capacity)]
    found = [spread(trace, e) for e in items]
    if all(a is b for a, b in zip(found, x)) and len(found) == len(x):
        return x
    if isinstance(x, tuple):
        return of_items(x, found)
    trace.touch(x)
    put(x, found)
    return x


def _item(trace: Any, rows: Rows, i: Value) -> Any:
    builder = trace.builder
    parts: list[Any] = []
    for column, kind in zip(rows.columns, rows.kinds):
        spec = ("i", *[":"] * len(kind.shape))
        found = builder.getitem(column.ir, [i], spec, [])
        parts.append(weak(builder, found, kind.dtype) if kind.weak else found)
    return as_item(trace, rows, parts)


def as_item(trace: Any, rows: Rows, values: list[Value]) -> Any:
    """Return an item made of values of the types of the columns' rows."""
    arrays = iter(numbers_in(rows.item))
    new = [Array(Storage(v)) if isinstance(x, Array) else Scalar(v) for v, x in zip(values, arrays)]
    made = rebuilt(rows.item, iter(new), trace.new)
    for x in (*new, *containers(made, [])):
        if not isinstance(x, Scalar):
            forget(trace, x)
    tie(trace, made)
    for c in containers(made, []):
        trace.tied[id(c)] = c, _TIED
    return made


def sequence(trace: Any, x: Any) -> Sequence:
    """Return the items as a sequence for a loop, which must not change the list."""
    rows: Any = rows_of(x)

    def item(i: Any) -> Any:
        if rows_of(x) is not rows:
            raise BadInput(
                "a list whose length is known only at run time changes while a loop runs through it; loop over a copy of it"
            )
        return item_at(trace, x, i)

    return Sequence(rows.length, item)


def part(trace: Any, x: Any, s: slice) -> Any:
    """``x[a:b:c]``."""
    rows: Any = rows_of(x)
    builder = trace.builder
    n = length_value(trace, rows)
    entry = slice_entry(trace, s, int(n.constant) if n.is_constant else Dim(n, rows.capacity))
    if entry == ":":
        return trace.new(of_items(x, [rows])) if not isinstance(x, tuple) else x
    _, start, step, count = entry
    columns = rows.columns
    if not (start.is_constant and int(start.constant) == 0 and step == 1):
        at = builder.ufunc(np.multiply, builder.iota(rows.capacity), builder.constant(step, np.int64))
        at = builder.ufunc(np.add, at, int64(builder, start))
        last = builder.constant(max(rows.capacity - 1, 0), np.int64)
        at = builder.ufunc(np.minimum, builder.ufunc(np.maximum, at, builder.constant(0, np.int64)), last)
        columns = [
            Scalar(builder.getitem(c.ir, [at], ("a", *[":"] * len(kind.shape)), []))
            for c, kind in zip(columns, rows.kinds)
        ]
    size: Any = count if isinstance(count, int) else Scalar(builder.python_int(count.value))
    made = of_items(x, [rows.of(size, columns)])
    return made if isinstance(x, tuple) else trace.new(made)


# Changed


def append(trace: Any, x: Any, new: Any) -> None:
    """``x.append(new)``."""
    builder = trace.builder
    trace.touch(x)
    rows: Any = rows_of(x)
    if not (same_form(rows.item, new) and _types(trace, new) == list(rows.kinds)):
        rows = _fit_for(trace, x, new)
    n = length_value(trace, rows)
    if not rows.is_fixed:
        rows = reformed(trace, rows, Form(rows.item, rows.kinds, rows.capacity + 1), False)
    elif id(x) not in trace.roomy:
        is_full = builder.ufunc(np.greater_equal, n, builder.constant(rows.capacity, np.int64))
        builder.end_if(is_full, CapacityExceeded, "a list grew longer than the room that was compiled for it")
        trace.has_capacity = True
    columns = _written(trace, rows, n, new)
    tie(trace, new)
    longer = trace.unchecked(operator.add, rows.length, 1)
    if isinstance(longer, Scalar):
        builder.integers.atom(longer.ir, (), (), (0, rows.capacity))
    put(x, [rows.of(longer, columns)])


def _fit_for(trace: Any, x: Any, new: Any) -> Rows:
    """Return the rows of a list in a form that an item fits too."""
    rows: Any = rows_of(x)
    length_value(trace, rows)  # refuses one whose content is not known
    form = form_of(trace, [x, [new]])
    if form is None:
        raise BadInput(
            "a list whose length is known only at run time has items of different kinds or shapes; give its items one kind and shape"
        )
    form.capacity = rows.capacity
    return reformed(trace, rows, form, rows.is_fixed)


def _types(trace: Any, x: Any) -> list[ArrayType]:
    return [trace.value(n).type for n in numbers_in(x)] if is_plain(x) else []


def _written(trace: Any, rows: Rows, i: Value, new: Any) -> list[Scalar]:
    """Return the columns with an item written at an index."""
    builder = trace.builder
    values = fitted(rows.item, new, [trace.value(n) for n in numbers_in(new)])
    return [
        Scalar(builder.setitem(c.ir, [i], _value(trace, v, kind), ("i", *[":"] * len(kind.shape))))
        for c, v, kind in zip(rows.columns, values, rows.kinds)
    ]


def put_at(trace: Any, x: Any, index: Any, new: Any) -> None:
    """``x[index] = new``."""
    trace.touch(x)
    rows = _fit_for(trace, x, new)
    n = length_value(trace, rows)
    size = int(n.constant) if n.is_constant else Dim(n, rows.capacity)
    i = element(trace.builder, trace.value(index), size, None, "list assignment index out of range")
    tie(trace, new)
    put(x, [rows.of(rows.length, _written(trace, rows, i, new))])


def pop(trace: Any, x: Any) -> Any:
    """``x.pop()``."""
    builder = trace.builder
    trace.touch(x)
    rows: Any = rows_of(x)
    n = length_value(trace, rows)
    text = "pop from an empty deque" if not isinstance(x, list) else "pop from empty list"
    builder.raise_if(builder.ufunc(np.equal, n, builder.constant(0, np.int64)), IndexError, text)
    shorter = trace.unchecked(operator.sub, rows.length, 1)
    if isinstance(shorter, Scalar):
        builder.integers.atom(shorter.ir, (), (), (0, max(rows.capacity - 1, 0)))
    found = _item(trace, rows, int64(builder, trace.value(shorter)))
    put(x, [rows.of(shorter, rows.columns)])
    return found


def clear(trace: Any, x: Any) -> None:
    trace.touch(x)
    rows: Any = rows_of(x)
    put(x, [rows.of(0, rows.columns)])


def cut(trace: Any, x: Any, count: Any) -> None:
    """``del x[count:]``, where 0 <= count."""
    trace.touch(x)
    rows: Any = rows_of(x)
    put(x, [rows.of(trace.call(min, rows.length, count), rows.columns)])


def put_into(trace: Any, x: Any, index: Any, new: Any) -> None:
    """``x[index] = new``, or ``x[:] = new``."""
    if not isinstance(index, slice):
        return put_at(trace, x, index, new)
    if index.start not in (None, 0) or index.stop is not None or index.step not in (None, 1):
        raise BadInput(
            "a write to a slice of a list whose length is known only at run time cannot be compiled; write item by item"
        )
    found = new if type(new) in KINDS else trace.call(list, new)
    trace.touch(x)
    put(x, list(found))
    return None
