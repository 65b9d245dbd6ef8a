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
"""In ``Opened``: a list is seen as rows of an array, an array without the length of its first axis."""


@dataclass(frozen=True)
class Ragged:
    """Items of one type, of a list or tuple, or of an array along its first axis, whose number differs between frames."""

    kind: type  # list, tuple or np.ndarray
    item: ArrayType


def leaves_in(seen: Sequence[Any]) -> tuple[list[int], list[ArrayType | Ragged]]:
    """Return the places and the types of the numbers and arrays that are seen."""
    found: list[Any] = []
    for x in seen:
        _flatten(x, found)
    leaves = [(i, x) for i, x in enumerate(found) if isinstance(x, (ArrayType, Ragged))]
    return [i for i, _ in leaves], [x for _, x in leaves]


def _flatten(x: Any, found: list[Any]) -> None:
    found.append(x)
    for e in x.parts if isinstance(x, Holder) else ():
        _flatten(e, found)


def is_leaf(x: Any) -> bool:
    kind = type(x)
    return kind is np.ndarray or kind in NUMBERS or kind in NUMBERS_OF_NUMPY


def looked_at(objects: Sequence[Any], opened: Sequence[Opened | None]) -> tuple[Any, list[Any]]:
    """Return the key of what is seen of objects, and everything that is seen, in order."""
    key: list[Any] = []
    found: list[Any] = []
    seen: set[int] = set()
    for x, inside in zip(objects, opened):
        _look(x, inside, key, found, seen)
    return tuple(key), found


def _look(x: Any, opened: Opened | None, key: list[Any], found: list[Any], seen: set[int]) -> None:
    found.append(x)
    kind = type(x)
    if kind in STATIC:
        key.append((kind, x))
    elif kind is Int:
        raise IntsAreDifferentiated("ints of the structure are differentiated")
    elif opened is None:
        key.append(PART)
    elif kind in NUMBERS or kind in NUMBERS_OF_NUMPY:
        key.append(kind)
    elif id(x) in seen and kind is not tuple:
        raise Unsuited(f"a {kind.__name__} stands in two places that a call looks into")
    elif opened.get(ANY_LENGTH) is not None and (item := item_of(x)) is not None:
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
            _look(e, opened.get(i), key, found, seen)


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


def item_of(x: Any) -> ArrayType | None:
    """Return the type of the items of a list, a tuple or an array; None if they are of several types, or none."""
    if type(x) is np.ndarray:
        return ArrayType(x.dtype, x.shape[1:]) if x.ndim and len(x) else None
    if type(x) not in (list, tuple) or not x or not is_leaf(x[0]):
        return None
    kind, first = type(x[0]), type_of(x[0])
    if kind is not np.ndarray:
        return first if all(type(e) is kind for e in x) else None
    dtype, shape = x[0].dtype, x[0].shape
    return first if all(type(e) is kind and e.dtype == dtype and e.shape == shape for e in x) else None


def paths_of(x: Any, opened: Opened | None, path: tuple[int, ...], found: list[tuple[int, ...]]) -> None:
    """Append the paths of what ``_look`` finds."""
    found.append(path)
    if (
        type(x) not in STATIC
        and opened is not None
        and not is_leaf(x)
        and not (ANY_LENGTH in opened and item_of(x) is not None)
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


def seen_of(x: Any, opened: Opened | None) -> Any:
    """Return what is seen of an object: the type of a leaf, a constant, ``PART``, or a container with what is seen of its entries."""
    if type(x) in STATIC:
        return Fixed(x)
    if opened is None:
        return PART
    item = item_of(x) if opened.get(ANY_LENGTH) is not None else None
    if item is not None:
        return Ragged(type(x), item)
    if is_leaf(x):
        return type_of(x)
    names, held = held_by(x)  # type: ignore[misc]
    return Holder(type(x), names, [seen_of(e, opened.get(i)) for i, e in enumerate(held)])


def count_opened(opened: Opened | None) -> int:
    return 0 if opened is None else 1 + sum(map(count_opened, opened.values()))


def ragged(values: Sequence[Any], size: int, kind: Ragged) -> list[np.ndarray]:
    """Return lists or arrays of any length as one array, filled up with zeros, and their lengths."""
    most = max(map(len, values))
    made = np.zeros((size, 1 << (most - 1).bit_length(), *kind.item.shape), kind.item.dtype)
    for row, x in zip(made, values):
        row[: len(x)] = x
    return [made, np.array([*map(len, values), *[len(values[-1])] * (size - len(values))])]


def with_path(opened: Opened | None, path: Sequence[int]) -> Opened:
    """Return what is opened with the part at a path opened too."""
    if not path:
        return {}
    made = dict(opened or {})
    made[path[0]] = with_path(made.get(path[0]), path[1:])
    return made
