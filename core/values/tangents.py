"""Tangents of the arguments of forward mode: matched with the arguments and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from . import tree
from .numbers import Int
from .tree import Path, spelled

Pairs = list[tuple[Path, Any, Any]]

LEAVES = {float, np.float64, np.ndarray}
"""Classes of most arguments and tangents, for which no walk over a structure is needed."""


def has_tangent(x: Any) -> bool:
    """Whether a number or an array can have a tangent: floats, complex numbers, arrays of these, and Python's ints."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex)) or type(x) in (int, Int)


def paired(primals: Any, tangents: Any) -> Pairs:
    """Return path, leaf and tangent (None: zero) for each leaf of the arguments, in the order of the structure.

    Raises:
        BadInput: the tangents have another structure than the arguments.
    """
    found: Pairs = []
    if type(primals) is tuple and type(tangents) is tuple and len(primals) == len(tangents):
        for i, (x, dx) in enumerate(zip(primals, tangents)):
            if type(x) not in LEAVES or not has_tangent(x) or dx is not None and type(dx) not in LEAVES:
                break
            found.append(((("item", i),), x, dx))
        else:
            return found
        found.clear()
    tree.rebuild(
        primals,
        lambda path, x, dx: found.append((path, x, dx)),
        tangents,
        is_leaf=has_tangent,
        is_shared=False,
        is_lenient=True,
        names=("primals", "tangents"),
    )
    return found


def once(pairs: Pairs, arrays: type | tuple[type, ...] = np.ndarray) -> Pairs:
    """Drop all places but the first of an array that occurs in several places of an argument: it is one variable.

    Raises:
        BadInput: two places have different tangents.
    """
    first: dict[tuple[Any, int], int] = {}
    kept: Pairs = []
    for path, x, dx in pairs:
        key = path[0], id(x)
        if not isinstance(x, arrays) or key not in first:
            first[key] = len(kept)
            kept.append((path, x, dx))
            continue
        before, _, dx_before = kept[first[key]]
        if dx is None or dx is dx_before:
            continue
        if dx_before is not None:
            raise BadInput(
                f"{spelled(before, 'primals')} and {spelled(path, 'primals')} are the same array, which has one tangent: put "
                "the same array into both places of tangents, or None into one of them"
            )
        kept[first[key]] = before, x, dx
    return kept


def check(path: Path, like: Any, dtype: np.dtype, shape: tuple[Any, ...]) -> None:
    """Check the dtype and shape of a tangent for a leaf; ``like`` has the leaf's, as ``dtype`` and ``shape``.

    Raises:
        BadInput: they do not fit.
    """
    name = spelled(path, "tangents")
    if dtype.kind not in "iufc":
        raise BadInput(f"{name} has dtype {dtype}: a tangent is a number or an array of numbers")
    if dtype.kind == "c" and like.dtype.kind != "c":
        raise BadInput(f"{name} is complex, but the argument is real; pass a real tangent")
    if tuple(shape) != tuple(like.shape):
        raise BadInput(f"{name} has shape {_text(shape)}, but the argument has shape {_text(like.shape)}")


def _text(shape: tuple[Any, ...]) -> str:
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def as_arguments(primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return primals and tangents as tuples, one entry for each positional argument.

    Raises:
        BadInput: they are not tuples or lists of the same length.
    """
    for name, x in (("primals", primals), ("tangents", tangents)):
        if not isinstance(x, (tuple, list)):
            raise BadInput(
                f"jvp takes {name} as a tuple with one entry for each positional argument, not {_kind(x)}; write "
                "jvp(f, (x,), (dx,))"
            )
    if len(primals) != len(tangents):
        raise BadInput(
            f"jvp was given {len(primals)} primals and {len(tangents)} tangents; pass one tangent for each argument, None where "
            "nothing varies"
        )
    return tuple(primals), tuple(tangents)


def _kind(x: Any) -> str:
    return f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
