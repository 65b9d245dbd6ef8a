"""The Python lists made, after a run, of lists of traced length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import Derived, is_known, real
from ..ir.traced_text import Text, filled
from ..ir.typed import ArrayType
from ..values.holders import blank
from ..values.items import entries_of, items_of
from .forms import NUMBERS, has_function, of_entries, of_items
from .instances import held_by_instance, hold, is_instance
from .rows import Rows, rows_of
from .scopes import Choice
from .traced import Array, Scalar


def maker(rows: Rows) -> Callable[[int, list[np.ndarray]], list[Any]]:
    """Return a function that makes the items from the length and the columns of a run."""
    if has_function(rows.item):
        raise BadInput(
            "compiled code returns a list of functions whose length is known only at run time; return numbers instead"
        )
    return lambda length, columns: _items(rows, length, columns)


def _items(rows: Rows, length: int, columns: list[np.ndarray]) -> list[Any]:
    parts = [_values(column, kind, length) for column, kind in zip(columns, rows.kinds)]
    return [_made(rows.item, iter([part[i] for part in parts])) for i in range(length)]


def _values(column: np.ndarray, kind: ArrayType, length: int) -> list[Any]:
    """Return what stands in a column's rows: Python's numbers if the type is weak, else NumPy's, or new arrays."""
    if kind.shape:
        return [column[i].copy() for i in range(length)]
    is_python = kind.weak or kind.dtype.kind == "b"
    return column[:length].tolist() if is_python else list(column[:length])


def _made(item: Any, values: Iterator[Any]) -> Any:
    """Return an item of a form around its numbers."""
    if is_known(item):
        return item
    if isinstance(item, (Scalar, Array, *NUMBERS)):
        return next(values)
    if type(item) is Text:
        return filled(item.template, [next(values) for _ in item.values])
    if type(item) is Choice:
        which = next(values) if isinstance(item.which, (Scalar, *NUMBERS)) else item.which
        return [_made(o, values) for o in item.options][int(which)]
    if type(item) is Derived:
        return real(item.cls, *(_made(e, values) for e in (item.plain, item.held)))
    rows = rows_of(item)
    if rows is not None:
        length = rows.capacity if rows.is_full else int(next(values))
        columns = [next(values) for _ in rows.columns]
        return type(item)(_items(rows, length, columns))
    if isinstance(item, (list, tuple, deque)):
        return of_items(item, [_made(e, values) for e in items_of(item)])
    if isinstance(item, dict):
        return of_entries(item, {k: _made(e, values) for k, e in entries_of(item)})
    if is_instance(item):
        made = blank(type(item))
        hold(made, {k: _made(e, values) for k, e in held_by_instance(item).items()})
        return made
    return item
