"""The families of random programs, by name.

A family has a ``name``, a method ``write(seed)`` that returns the text of a program, and ``refused``, the largest
permitted share of programs that the eager path refuses.
"""

from __future__ import annotations

from typing import Protocol

from . import (
    aliasing,
    arrays,
    flow,
    kinds,
    library,
    mixed,
    mutation,
    nested,
    numbers,
    objects,
    operators,
    raising,
    sharing,
    state,
    structured,
)


class AnyFamily(Protocol):
    name: str
    refused: float

    def write(self, seed: int) -> str: ...


MODULES = (
    structured,
    mutation,
    aliasing,
    nested,
    numbers,
    objects,
    flow,
    kinds,
    arrays,
    sharing,
    raising,
    state,
    library,
    operators,
    mixed,
)
FAMILIES: dict[str, AnyFamily] = {family.name: family for module in MODULES for family in module.FAMILIES}
