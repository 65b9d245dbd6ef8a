"""Warns if a function is compiled repeatedly, and names the argument that keeps changing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..source.definitions import user_frame

MANY = 8
"""The number of compilations of one function that triggers the warning."""


@dataclass
class History:
    """The compilations of one function: for each, a description of every argument leaf by name.

    ``told`` gives the name by which the user knows an argument.
    """

    name: str
    warns: bool = True
    told: Callable[[str], str] = str
    entries: list[dict[str, str]] = field(default_factory=list)

    def add(self, names: list[str], leaves: list[Any], static: frozenset[int], fixed: dict[str, Any]) -> None:
        """Record a compilation; warn when there are ``MANY``."""
        entry = {n: _text(x, i in static) for i, (n, x) in enumerate(zip(names, leaves))}
        entry |= {n: f"{x!r:.40}" for n, x in fixed.items()}
        self.entries.append(entry)
        if self.warns and len(self.entries) == MANY:
            warnings.warn_explicit(self.text(), RuntimeWarning, *user_frame())

    def text(self) -> str:
        """Return the warning: the argument with the most variants, and a remedy."""
        names = {n: None for entry in self.entries for n in entry}
        variants = {n: list(dict.fromkeys(e.get(n, "absent") for e in self.entries)) for n in names}
        name = max(variants, key=lambda n: len(variants[n]), default=None)
        if name is None or len(variants[name]) == 1:
            what = "a global or closure variable that it reads has changed each time. Pass that value as an argument"
        else:
            shown = ", ".join(variants[name][:4]) + (", ..." if len(variants[name]) > 4 else "")
            what = f"the argument {self.told(name)} was {shown}. "
            what += _remedy(variants[name])
        return f"{self.name} was compiled {len(self.entries)} times: {what}"


def _text(x: Any, is_static: bool) -> str:
    if is_static:
        return f"{x!r} (static)"
    if isinstance(x, np.ndarray):
        return f"{x.dtype}[{', '.join(map(str, x.shape))}]"
    return type(x).__name__


def _remedy(variants: list[str]) -> str:
    if any(v.endswith("(static)") for v in variants):
        return "Its value must be known while compiling (e.g. as a shape, or an index into a list): keep it constant, or use masks"
    if all("[" in v for v in variants):
        return "Pass arrays of the same shape and dtype; pad them if necessary"
    if "absent" in variants:
        return "Pass containers with the same structure"
    return "Pass values of the same type; values other than numbers and arrays are compile-time constants"
