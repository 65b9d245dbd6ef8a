"""Finds where the Inf or NaN of a result comes from: the first operation with a result that is not finite, of finite operands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NonFinite
from ...values import tree
from ...values.memory import owner
from ..recorded.tape import Record
from .observer import Observer, Place, values_in


@dataclass(frozen=True)
class Origin:
    """Where an Inf or NaN appeared."""

    what: str
    place: Place
    is_backward: bool
    is_given: bool = False  # whether it was an operand already: a constant, or a part of an argument
    name: str = ""  # of the function

    def __str__(self) -> str:
        where = f"{self.name or 'the operation'} at {self.place}"
        if self.is_backward:
            where = f"the backward sweep of {where}"
        if self.is_given:
            return f"{self.what} comes from a constant or an argument; it is first used in {where}"
        return f"{self.what} first appears in {where}"


def name_of(x: Any) -> str | None:
    """Return "NaN" or "Inf" if a number or array holds one, of the first kind that it holds."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "fc" or np.isfinite(x).all():
            return None
        return "NaN" if np.isnan(x).any() else "Inf"
    if isinstance(x, (float, np.floating)):
        return None if math.isfinite(x) else "NaN" if x != x else "Inf"
    if isinstance(x, (complex, np.complexfloating)):
        return name_of(x.real) or name_of(x.imag)
    return None


class Origins(Observer):
    """Follows values that are not finite through a run, back to the operation that made them."""

    def __init__(self, only_nan: bool = False) -> None:
        super().__init__()
        self.only_nan = only_nan
        self.found: dict[int, tuple[Any, Origin]] = {}  # by value or owner of memory, which is kept alive
        self.firsts: list[Origin] = []

    def bad(self, x: Any) -> str | None:
        name = name_of(x)
        return None if self.only_nan and name == "Inf" else name

    def seen(self, record: Record) -> None:
        results = [(x, name) for x in values_in(record[1]) if (name := self.bad(x))]
        if not results:
            return
        own = {_key(x) for x, _ in results}
        origin = None
        is_given = False
        for x in values_in(record[2:]):
            if _key(x) not in own and self.bad(x):
                is_given = True
                if _key(x) in self.found:
                    origin = self.found[_key(x)][1]
                    break
        if origin is None:
            name = "" if self.pulled is not None or len(record) < 3 else getattr(record[2], "function", None)
            name = getattr(name, "__name__", "")
            origin = Origin(results[0][1], self.place(), self.pulled is not None, is_given, name)
            self.firsts.append(origin)
        for x, _ in results:
            self.found.setdefault(_key(x), (owner(x) if isinstance(x, np.ndarray) else x, origin))

    def origin_of(self, x: Any) -> Origin | None:
        found = self.found.get(_key(x))
        return None if found is None else found[1]

    def ended(self, results: Any) -> None:
        """Raise if a result holds an Inf or NaN.

        Raises:
            NonFinite: where it first appeared.
        """
        bad = [(path, x, name) for path, x in _leaves(results) if (name := self.bad(x))]
        if not bad:
            return
        origins = [origin for _, x, _ in bad if (origin := self.origin_of(x)) is not None]
        if not origins:  # the result was converted to another object: the last that appeared has led to it
            is_backward = [o for o in self.firsts if o.is_backward]
            origins = (is_backward or self.firsts)[:1]
        raise non_finite(bad[0][2], origins)

    def explain(self, error: BaseException) -> None:
        """Add to an exception of the program where a value that is not finite appeared before it."""
        if self.firsts and not isinstance(error, NonFinite):
            error.add_note(f"debug_nans: {self.firsts[0]}")


def non_finite(name: str, origins: list[Origin]) -> NonFinite:
    """Return the error for a result with an Inf or NaN that comes from ``origins``."""
    shown = list(dict.fromkeys(map(str, origins)))
    if not shown:
        return NonFinite(f"a result holds {name}, as an argument or a constant does, from which it was not computed")
    more = "".join(f"\n  another one: {text}" for text in shown[1:4])
    error = NonFinite(f"a result holds {name}; {shown[0]}{more}")
    error.place = origins[0].place.file, origins[0].place.line
    return error


def _leaves(x: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    tree.rebuild(
        x, lambda path, e: found.append((path, e)), is_leaf=lambda e: isinstance(e, (np.ndarray, float, complex, np.inexact))
    )  # fmt: skip
    return found


def _key(x: Any) -> int:
    return id(owner(x)) if isinstance(x, np.ndarray) else id(x)
