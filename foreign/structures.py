"""Arguments and results of other libraries' functions: leaves in nested dicts, lists and tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEAF = "leaf"
"""Stands for a number or an array in the form of a structure."""

_CONSTANT = (bool, str, bytes, type(None))


def split(x: Any, leaves: list[Any]) -> Any:
    """Append the numbers and arrays of a structure to ``leaves``; return its form, which can be hashed."""
    if isinstance(x, dict):
        return "dict", tuple(x), tuple([split(e, leaves) for e in x.values()])
    if isinstance(x, (list, tuple)):
        return "list" if isinstance(x, list) else "tuple", tuple([split(e, leaves) for e in x])
    if isinstance(x, _CONSTANT):
        return "constant", x
    leaves.append(x)
    return LEAF


def join(form: Any, leaves: Iterator[Any]) -> Any:
    """Return the structure of a form with these leaves."""
    if form == LEAF:
        return next(leaves)
    if form[0] == "constant":
        return form[1]
    if form[0] == "dict":
        return {key: join(part, leaves) for key, part in zip(form[1], form[2])}
    parts = [join(part, leaves) for part in form[1]]
    return parts if form[0] == "list" else tuple(parts)
