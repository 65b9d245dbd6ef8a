"""What was made for the functions that a transformation was applied to last, so that it may be written where it is called: ``vmap(f)(x)``."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Generic, TypeVar

from ..api import Transformed

T = TypeVar("T")

MOST = 64
"""The most functions that are remembered."""


class Recent(Generic[T]):
    """Programs by function: one with the same code that closes over the same objects is the same function."""

    def __init__(self) -> None:
        self.kept: dict[Any, tuple[Any, T]] = {}

    def find(self, f: Any, options: tuple[Any, ...], own: T) -> T:
        """Return the programs that are kept for this function and these options; keep ``own`` if there are none."""
        identity = _identity(f)  # of now: closures may be given other contents
        key = (identity, *map(repr, options))
        other, found = self.kept.get(key, (None, own))
        if found is not own and _identity(other) == identity:
            return found
        self.kept.pop(key, None)
        self.kept[key] = f, own  # the last one was used last
        while len(self.kept) > MOST:
            del self.kept[next(iter(self.kept))]
        return own


def _identity(f: Any) -> Any:
    """Return what tells a function apart: its code and what it closes over, its transformation and the function in it."""
    if isinstance(f, Transformed):
        transform, inner, *options = f.made
        return transform, _identity(inner), repr(options)
    if type(f) is not FunctionType:
        return _Same(f)
    held = [f.__globals__, f.__defaults__, f.__kwdefaults__, *(_content(cell) for cell in f.__closure__ or ())]
    return f.__code__, *map(_Same, held)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is assigned later
        return cell


class _Same:
    """An object as a key that is equal to the same object only."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __hash__(self) -> int:
        return id(self.x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.x is other.x
