"""What is seen of a structure, as far as it is opened: its key, the places in order, the types of numbers and arrays."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ir.typed import ArrayType, type_of
from ..specialise.instances import is_of_python
from ..specialise.parts import IntsAreDifferentiated, Unsuited
from ..values.layout import NUMBERS, NUMBERS_OF_NUMPY, STATIC, VALUES, Fixed, Holder, callable_of_morula, held_by
from ..values.numbers import Int

Opened = dict[Any, Any]
"""Which entries of a container are opened, by number, and which of theirs."""

PART = object()
ANY_LENGTH = "any length"
"""In ``Opened``: a list is seen as rows of arrays, an array without the length of its first axis."""
ITEM = "item"
"""In ``Opened[ANY_LENGTH]``: what is opened of each item."""
CLOSED = frozenset({*STATIC, Int})
"""Classes that are never parts."""


@dataclass(frozen=True)
class Ragged:
    """Items that look alike, of a list or tuple, or of an array along its first axis, whose number differs between frames.

    ``item``: the type of an item, or what is seen of it.  ``columns``: the types of its numbers and arrays.  ``places``: where they are in an item.
    """

    kind: type  # list, tuple or np.ndarray
    item: Any
    columns: tuple[ArrayType, ...]
    places: tuple[int, ...]
    opened: Opened | None = None

    @property
    def count(self) -> int:
        """The number of arrays, apart from that of the lengths (see ``ragged``)."""
        return len(self.columns) + (not isinstance(self.item, ArrayType))

    def columns_of(self, x: Any) -> tuple[int, list[Any]]:
        """Return the number of items, and for each number and array of an item those of all items."""
        if isinstance(self.item, ArrayType):
            return len(x), [x]
        found = self.items_of(x) if self.places else []
        return len(x), [[e[i] for e in found] for i in self.places]

    def items_of(self, x: Any) -> list[list[Any]]:
        """Return what is seen of each item, in order."""
        return [[e] if self.opened is None else looked_at([e], [self.opened], True)[1] for e in x]


def leaves_in(seen: Sequence[Any]) -> tuple[list[int], list[ArrayType | Ragged]]:
    """Return the places and the types of the numbers and arrays that are seen."""
    leaves = [(i, x) for i, x in enumerate(places_in(seen)) if isinstance(x, (ArrayType, Ragged))]
    return [i for i, _ in leaves], [x for _, x in leaves]


def places_in(seen: Sequence[Any]) -> list[Any]:
    """Return what is seen at each place."""
    found: list[Any] = []
    for x in seen:
        _flatten(x, found)
    return found


def _flatten(x: Any, found: list[Any]) -> None:
    found.append(x)
    for e in x.parts if isinstance(x, Holder) else ():
        _flatten(e, found)


def is_leaf(x: Any) -> bool:
    kind = type(x)
    return kind is np.ndarray or kind in NUMBERS or kind in NUMBERS_OF_NUMPY


def looked_at(
    objects: Sequence[Any], opened: Sequence[Opened | None], are_items: bool = False
) -> tuple[Any, list[Any]]:
    """Return the key of what is seen of objects, and everything that is seen, in order; in the items of a list, bools are numbers."""
    key: list[Any] = []
    found: list[Any] = []
    seen: set[int] = set()
    for x, inside in zip(objects, opened):
        _look(x, inside, key, found, seen, are_items)
    return tuple(key), found


def _look(x: Any, opened: Opened | None, key: list[Any], found: list[Any], seen: set[int], is_item: bool) -> None:
    found.append(x)
    kind = type(x)
    if is_item and kind is bool:
        key.append(kind)
    elif kind in STATIC:
        key.append((kind, x))
    elif kind is Int:
        raise IntsAreDifferentiated("ints of the structure are differentiated")
    elif opened is None:
        key.append(PART)
    elif kind in NUMBERS or kind in NUMBERS_OF_NUMPY:
        key.append(kind)
    elif id(x) in seen and kind is not tuple:
        raise Unsuited(f"a {kind.__name__} stands in two places that a call looks into")
    elif opened.get(ANY_LENGTH) is not None and (item := item_of(x, opened[ANY_LENGTH].get(ITEM))) is not None:
        seen.add(id(x))
        key.append((ANY_LENGTH, kind, item))
    elif kind is np.ndarray:
        seen.add(id(x))
        key.append((kind, x.dtype, x.shape))
    else:
        seen.add(id(x))
        held = (x.__dict__.keys(), x.__dict__.values()) if is_plain(kind) else held_by(x)
        if held is None:
            raise Unsuited(
                f"the structure contains a {kind.__name__}; it may consist of lists, tuples, dicts, objects, arrays, numbers and strings"
            )
        key.append((kind, held[0] if type(held[0]) is int else (*held[0],)))
        for i, e in enumerate(held[1]):
            _look(e, opened.get(i), key, found, seen, is_item)


@functools.cache
def is_plain(kind: type) -> bool:
    """Whether the objects of a class are their ``__dict__``, so that there is no need to ask ``held_by``."""
    is_container = issubclass(kind, (list, tuple, dict, BaseException, np.ndarray)) or not is_of_python(kind)
    return not (
        is_container
        or any(vars(c).get("__slots__") for c in kind.__mro__)
        or callable_of_morula(kind)
        or issubclass(kind, (*VALUES, type, enum.Enum))
    )


def item_of(x: Any, opened: Opened | None) -> Any:
    """Return the type of the items of a list, a tuple or an array, or the key of what is seen of each; None if they differ or there are none."""
    if type(x) is np.ndarray:
        return ArrayType(x.dtype, x.shape[1:]) if x.ndim and len(x) else None
    if type(x) not in (list, tuple) or not x:
        return None
    first, kind = x[0], type(x[0])
    if is_leaf(first) and opened is None:
        if kind is not np.ndarray:
            alike = all(type(e) is kind for e in x)
        else:
            alike = all(type(e) is kind and e.dtype == first.dtype and e.shape == first.shape for e in x)
        if alike:
            return type_of(first)
    if opened is None:
        return (PART,) if CLOSED.isdisjoint(map(type, x)) else None
    key = looked_at([first], [opened], True)[0]
    return key if all(looked_at([e], [opened], True)[0] == key for e in x[1:]) else None


def paths_of(x: Any, opened: Opened | None, path: tuple[int, ...], found: list[tuple[int, ...]]) -> None:
    """Append the paths of what ``_look`` finds."""
    found.append(path)
    if (
        type(x) not in STATIC
        and opened is not None
        and not is_leaf(x)
        and not (opened.get(ANY_LENGTH) is not None and item_of(x, opened[ANY_LENGTH].get(ITEM)) is not None)
    ):
        for i, e in enumerate(held_by(x)[1]):  # type: ignore[index]
            paths_of(e, opened.get(i), (*path, i), found)


def of_known_length(opened: Opened | None) -> Opened | None:
    """Return what is opened, with lists of any length as lists of a known length."""
    if opened is None:
        return None
    return {key: None if key == ANY_LENGTH else of_known_length(x) for key, x in opened.items()}


def is_of_known_length(opened: Opened | None, path: Sequence[int]) -> bool:
    """Whether a program that does not know the length of the list or array at a path has been refused."""
    for i in path:
        opened = (opened or {}).get(i)
    return opened is not None and opened.get(ANY_LENGTH, {}) is None


def seen_of(x: Any, opened: Opened | None, is_item: bool = False) -> Any:
    """Return what is seen of an object: the type of a leaf, a constant, ``PART``, or a container with what is seen of its entries."""
    if is_item and type(x) is bool:
        return type_of(x)
    if type(x) in STATIC:
        return Fixed(x)
    if opened is None:
        return PART
    inside: Any = opened.get(ANY_LENGTH)
    item = None if inside is None else item_of(x, inside.get(ITEM))
    if isinstance(item, ArrayType):
        return Ragged(type(x), item, (item,), (0,))
    if inside is not None and item is not None:
        seen = seen_of(x[0], inside.get(ITEM), True)
        places, types = leaves_in([seen])
        return Ragged(type(x), seen, tuple(types), tuple(places), inside.get(ITEM))  # type: ignore[arg-type]
    if is_leaf(x):
        return type_of(x)
    names, held = held_by(x)  # type: ignore[misc]
    return Holder(type(x), names, [seen_of(e, opened.get(i), is_item) for i, e in enumerate(held)])


def count_opened(opened: Opened | None) -> int:
    return 0 if opened is None else 1 + sum(map(count_opened, opened.values()))


def ragged(values: Sequence[tuple[int, list[Any]]], size: int, kind: Ragged) -> list[np.ndarray]:
    """Return the columns of lists or arrays of any length as one array each, filled up with zeros, and their lengths.

    Where items are structures, their numbers are a column, too.
    """
    capacity = capacity_of(values)
    found = []
    for i, of_item in enumerate(kind.columns):
        made = np.zeros((size, capacity, *of_item.shape), of_item.dtype)
        for row, (length, columns) in zip(made, values):
            row[:length] = columns[i]
        found.append(made)
    if not isinstance(kind.item, ArrayType):  # the numbers of the items
        found.append(np.tile(np.arange(capacity), (size, 1)))
    lengths = [length for length, _ in values]
    return [*found, np.array([*lengths, *[lengths[-1]] * (size - len(values))])]


def capacity_of(values: Sequence[tuple[int, list[Any]]]) -> int:
    """Return the number of items for which a program has places."""
    return max(4, 1 << (max(length for length, _ in values) - 1).bit_length())


def with_path(opened: Opened | None, path: Sequence[int]) -> Opened:
    """Return what is opened with the part at a path opened too."""
    if not path:
        return {}
    made = dict(opened or {})
    made[path[0]] = with_path(made.get(path[0]), path[1:])
    return made
