"""A function of one sample for a batch: takes samples out of the arguments, and joins the results in the structure of one.

``lanes`` calls the function for one sample after the other; in a traced program, ``specialise.batches`` makes one function for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..source.definitions import describe
from ..specialise.batches import trace_lanes
from ..specialise.traced import always_traces
from ..values import tree

Function = Callable[..., Any]
Axes = Any


class BadBatch(BadInput):
    """The arguments or results of a batch do not fit: an error on every path."""


def batched(
    f: Function, in_axes: Axes, out_axes: Axes, axis_name: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return ``f`` of all samples in the arguments."""
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise BadBatch(f"vmap: in_axes has {len(axes)} entries, but {describe(f)} was given {len(args)} arguments")
    arrays: list[Any] = []
    places: list[str] = []
    for i, (x, axis) in enumerate(zip(args, axes)):
        _collect(x, axis, f"argument {i}", arrays, places)
    _check_counts(f, arrays, places)

    def of_one(samples: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        left = iter(samples)
        y = f(*[_of_sample(x, axis, left) for x, axis in zip(args, axes)], **kwargs)
        leaves: list[Any] = []
        alike: list[Any] = []
        return leaves, alike, _sorted(y, out_axes, leaves, alike)

    axis = axis_name if axis_name is not None else of_one
    leaves, alike, y = lanes(of_one, arrays, axis, describe(f))
    return _joined(y, out_axes, iter(leaves), iter(alike))


def is_number(x: Any) -> bool:
    """Whether x is a number, a bool or an array of numbers or bools."""
    return isinstance(x, (int, float, complex)) or isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"


def _is_mapped(x: Any) -> bool:
    return isinstance(x, (float, complex)) or isinstance(x, (np.ndarray, np.generic))


def _parts(x: Any, axes: Any, what: str) -> list[tuple[Any, Any]]:
    """The parts of a container with their axes, which are given for each."""
    if isinstance(axes, dict):
        if not isinstance(x, dict) or x.keys() != axes.keys():
            raise BadBatch(
                f"vmap: the axes of {what} have the keys {sorted(map(str, axes))}; it is a {type(x).__name__} without these"
            )
        return [(x[k], a) for k, a in axes.items()]
    if not isinstance(x, (list, tuple)) or len(x) != len(axes):
        raise BadBatch(
            f"vmap: the axes of {what} are {len(axes)} entries; it is a {type(x).__name__} of another length"
        )
    return list(zip(x, axes))


def _collect(x: Any, axes: Any, what: str, arrays: list[Any], places: list[str]) -> None:
    """Append the mapped arrays of an argument, with the samples along their first axis, and their names."""
    if axes is None:
        return
    if isinstance(axes, (list, tuple, dict)):
        for part, a in _parts(x, axes, what):
            _collect(part, a, what, arrays, places)
        return

    def note(path: tree.Path, leaf: Any) -> Any:
        place = tree.spelled(path, what)
        if not -np.ndim(leaf) <= axes < np.ndim(leaf):
            kind = f"an array of shape {np.shape(leaf)}" if np.ndim(leaf) else "a number"
            raise BadBatch(
                f"vmap: {place} is {kind} and has no axis {axes}; pass an array with an axis of samples, or None in in_axes for what is "
                "the same for all samples"
            )
        places.append(f"axis {axes} of {place}")
        arrays.append(np.moveaxis(leaf, axes, 0) if axes else leaf)
        return leaf

    tree.rebuild(x, note, is_leaf=_is_mapped)


def _check_counts(f: Function, arrays: Sequence[Any], places: Sequence[str]) -> None:
    if not arrays:
        raise BadBatch(f"vmap: no argument of {describe(f)} has an array with samples; pass one, and check in_axes")
    for x, place in zip(arrays, places):
        n, first = np.shape(x)[0], np.shape(arrays[0])[0]
        if n != first:
            raise BadBatch(
                f"vmap: the numbers of samples differ: {places[0]} has length {first}, but {place} has length {n}"
            )
        if n == 0:
            raise BadBatch(f"vmap: there are no samples: {place} has length 0")


def _of_sample(x: Any, axes: Any, samples: Any) -> Any:
    """Return an argument with the arrays of one sample in the places of those of all."""
    if axes is None:
        return x
    if isinstance(axes, (list, tuple, dict)):
        return _filled(x, axes, [_of_sample(part, a, samples) for part, a in _parts(x, axes, "an argument")])
    return tree.rebuild(x, lambda path, leaf: next(samples), is_leaf=_is_mapped)


def _sorted(y: Any, axes: Any, leaves: list[Any], alike: list[Any]) -> Any:
    """Append the numbers and arrays of a result, those with an axis of samples and those without; return its structure.

    The structure has zeros in their places.
    """
    if isinstance(axes, (list, tuple, dict)):
        made = [_sorted(part, a, leaves, alike) for part, a in _parts(y, axes, "the result")]
        return _filled(y, axes, made)

    def zero(path: tree.Path, leaf: Any) -> Any:
        (alike if axes is None else leaves).append(leaf)
        return 0.0

    return tree.rebuild(y, zero, is_leaf=is_number, is_shared=False)


def _filled(x: Any, axes: Any, parts: list[Any]) -> Any:
    """Return a container like x that holds these parts, in the order of the axes."""
    if isinstance(axes, dict):
        return dict(zip(axes, parts))
    return parts if isinstance(x, list) else getattr(type(x), "_make", type(x))(parts)


def _joined(y: Any, axes: Any, leaves: Any, alike: Any) -> Any:
    """Return the structure of a result with the results of all samples."""
    if isinstance(axes, (list, tuple, dict)):
        return _filled(y, axes, [_joined(part, a, leaves, alike) for part, a in _parts(y, axes, "the result")])

    def whole(path: tree.Path, leaf: Any) -> Any:
        if axes is None:
            return next(alike)
        x = next(leaves)
        if not -np.ndim(x) <= axes < np.ndim(x):
            raise BadBatch(f"vmap: out_axes is {axes}, but the results of all samples have {np.ndim(x)} axes")
        return np.moveaxis(x, 0, axes) if axes else x

    return tree.rebuild(y, whole, is_leaf=is_number, is_shared=False)


def lanes(of_one: Function, arrays: Sequence[Any], axis: Any, name: str) -> tuple[list[Any], list[Any], Any]:
    """Call a function with each sample of the arrays, one after the other.

    It returns numbers and arrays, others that must be the same for each sample, and the structure that holds them.

    Returns:
        The first ones of all samples, joined along a new first axis; the others; and the structure of the last sample.
    """
    found: list[Any] = []
    for i in range(len(arrays[0])):
        found.append(of_one([np.array(x[i]) if np.ndim(x) > 1 else x[i] for x in arrays]))
    leaves, alike, y = found[-1]
    for other in found[:-1]:
        _check_structure(name, y, other[2])
        for a, b in zip(other, (leaves, alike)):
            if [np.shape(v) for v in a] != [np.shape(v) for v in b]:
                raise BadBatch(
                    f"vmap: {name} returned results of shapes {_shapes(a)} for one sample, and of {_shapes(b)} for another; return arrays of "
                    "one shape"
                )
        for a, b in zip(other[1], alike):
            if not np.array_equal(a, b):
                raise BadBatch(
                    f"vmap: out_axes is None for a result of {name} that differs between samples; give it an axis"
                )
    return [np.stack([e[0][k] for e in found]) for k in range(len(leaves))], alike, y


def _check_structure(name: str, y: Any, other: Any) -> None:
    """Refuse results whose structures, or whose parts that are no numbers, differ between samples."""

    def compare(path: tree.Path, a: Any, b: Any) -> None:
        if type(a) is not type(b) or not (np.array_equal(a, b) if isinstance(a, np.ndarray) else a is b or a == b):
            raise BadInput(f"{tree.spelled(path, 'the result of a sample')} is {a!r} for one, and {b!r} for another")

    names = "the result of a sample", "the result of another"
    try:
        tree.rebuild(y, compare, other, constant=compare, names=names, is_exact=True)
    except BadInput as error:
        raise BadBatch(f"vmap: {name} returns another structure for each sample: {error}") from None


def _shapes(values: Sequence[Any]) -> str:
    return ", ".join(str(np.shape(v)) for v in values)


always_traces(lanes)(trace_lanes)
