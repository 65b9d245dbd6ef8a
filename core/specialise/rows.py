"""Lists and tuples whose length is known only at run time: their items are the rows of columns.

Such a container holds one entry, its ``Rows``: a traced length, and a *column* for each number and array of an item, an
array whose first ``length`` rows belong to the items.  Columns have a fixed capacity.  A change of the list replaces its
``Rows``, so branches and loops save, merge and carry it like any other content.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NoReturn

from ..errors import BadInput
from ..ir.typed import ArrayType
from ..values.items import count_of, items_of
from .scopes import Conflict
from .traced import Scalar

KINDS = (list, tuple, deque)


class Rows:
    """The items of a list of traced length.

    ``item`` is an item whose numbers and arrays (``forms.numbers_in``) are of the types ``kinds``; only its form counts.
    ``columns`` holds, for each of them, the values of all items.  ``is_fixed``: a loop carries the rows, so their
    capacity cannot change.
    """

    __slots__ = ("capacity", "columns", "is_fixed", "item", "kinds", "length")

    def __init__(
        self,
        length: Any,
        columns: tuple[Scalar, ...],
        item: Any,
        kinds: tuple[ArrayType, ...],
        capacity: int,
        is_fixed: bool,
    ) -> None:
        self.length = length
        self.columns = columns
        self.item = item
        self.kinds = kinds
        self.capacity = capacity
        self.is_fixed = is_fixed

    @property
    def is_full(self) -> bool:
        """Whether the length is known, and the columns have no more rows: then it is part of the form."""
        return isinstance(self.length, int) and self.length == self.capacity

    def of(self, length: Any, columns: Any) -> Rows:
        """Return rows of the same form with another length and columns."""
        return Rows(length, tuple(columns), self.item, self.kinds, self.capacity, self.is_fixed)

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadInput(
            "a list or tuple has a length that is known only at run time, but one that is known while compiling is needed here; use its "
            "length, its items, or np.array of it"
        )

    __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __call__ = __index__ = __float__ = refuse
    __hash__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __str__ = __repr__ = __format__ = __int__ = __array__ = refuse  # type: ignore[assignment]


def unclear(text: str) -> Rows:
    """Return the content of a list that two paths have left with contents that cannot be merged: its use is refused."""
    return Rows(Conflict(text), (), None, (), 0, True)


def has_rows(x: Any) -> bool:
    """Whether the content of a list, tuple or deque is that of one of traced length."""
    return count_of(x) == 1 and type(next(iter(items_of(x)))) is Rows


def rows_of(x: Any) -> Rows | None:
    """Return the rows of a list or tuple of traced length; None of anything else."""
    return x[0] if type(x) in KINDS and len(x) == 1 and type(x[0]) is Rows else None
