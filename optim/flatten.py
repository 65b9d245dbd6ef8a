"""Conversion of a structure of numbers and arrays to one vector of reals, and back.

The methods of this package work on a vector. The user's unknowns may be a number, an array, or dicts, lists, tuples and
objects of them. Integers are promoted to floats; a complex number counts as two unknowns, its real and imaginary parts;
other leaves (strings, bools, None, functions) are kept unchanged. An array or object that occurs in two places is one
block of unknowns, and remains shared.

>>> layout = Layout({"rate": 2, "state": np.array([1.0, 1j])})
>>> layout.vector(layout.start).tolist()
[2.0, 1.0, 0.0, 0.0, 1.0]
>>> layout.structure(np.arange(5.0))
{'rate': 0.0, 'state': array([1.+2.j, 3.+4.j])}
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, tree

Vector = NDArray[np.float64]


class Layout:
    """The places of a structure's numbers in the vector.

    ``start`` is the original structure with integers promoted, ``size`` the length of the vector, ``eps`` the relative
    rounding error of the least precise number.
    """

    def __init__(self, structure: Any, name: str = "x0") -> None:
        def refuse(path: tree.Path, x: Any) -> Any:
            if isinstance(x, np.ndarray) and x.dtype.kind == "O":
                raise BadInput(f"{tree.spelled(path, name)} is an array of Python objects: expected an array of floats")
            if isinstance(x, Number) and not isinstance(x, (bool, np.bool_)):
                raise BadInput(f"{tree.spelled(path, name)} is a {type(x).__name__}: expected a float, int or complex")
            return x

        self.name = name
        self.start = tree.rebuild(structure, lambda _, x: _promoted(x), is_leaf=_is_number, constant=refuse)
        self.leaves: list[Any] = []
        tree.rebuild(self.start, lambda _, x: self.leaves.append(x), is_leaf=_is_number)
        self.size = sum(_reals(leaf) for leaf in self.leaves)
        if self.size == 0:
            raise BadInput(
                f"{name} holds no number to vary: expected a float, an array of floats, or a structure of them"
            )
        self.eps = max(float(np.finfo(np.asarray(leaf).dtype).eps) for leaf in self.leaves)
        if not np.all(np.isfinite(self.vector(self.start))):
            raise BadInput(f"{name} holds NaN or Inf: expected finite numbers to start from")

    def vector(self, structure: Any, name: str | None = None) -> Vector:
        """Return the numbers of ``structure`` as a vector; None in place of a leaf means zeros."""
        name = name or self.name
        if type(self.start) is np.ndarray and type(structure) is np.ndarray:
            return _real_parts(self.start, structure, (), name)
        parts: list[Vector] = []
        tree.rebuild(
            self.start,
            lambda path, x, y: parts.append(_real_parts(x, y, path, name)),
            structure,
            is_leaf=_is_number,
            is_lenient=True,
            names=("x0", name),
        )
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def structure(self, vector: Vector) -> Any:
        """Return the numbers of ``vector`` in the structure and dtypes of ``start``."""
        if type(self.start) is np.ndarray:
            return _in_form_of(self.start, vector)
        values, at = [], 0
        for leaf in self.leaves:
            end = at + _reals(leaf)
            values.append(_in_form_of(leaf, vector[at:end]))
            at = end
        remaining = iter(values)
        return tree.rebuild(self.start, lambda *_: next(remaining), is_leaf=_is_number)


def _is_number(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "iufc"
    return isinstance(x, (int, float, complex)) and not isinstance(x, bool)


def _promoted(x: Any) -> Any:
    """Return ``x`` with integers converted to floats."""
    if isinstance(x, np.ndarray):
        return x.astype(np.float64) if x.dtype.kind in "iu" else x
    if isinstance(x, np.generic):
        return np.float64(x) if x.dtype.kind in "iu" else x  # type: ignore[arg-type]
    return float(x) if isinstance(x, int) else x


def _reals(leaf: Any) -> int:
    return int(np.size(leaf)) * (2 if np.iscomplexobj(leaf) else 1)


def _real_parts(like: Any, value: Any, path: tree.Path, name: str) -> Vector:
    if value is None:
        return np.zeros(_reals(like))
    value = np.asarray(value)
    if value.shape != np.shape(like):
        raise BadInput(f"{tree.spelled(path, name)} has shape {value.shape}: expected {np.shape(like)}, like x0")
    if not np.iscomplexobj(like):
        if value.dtype.kind not in "iuf":
            raise BadInput(f"{tree.spelled(path, name)} is of dtype {value.dtype}: expected real numbers, like x0")
        return value.astype(np.float64).reshape(-1)
    return np.stack([value.real, value.imag], axis=-1).astype(np.float64).reshape(-1)


def _in_form_of(like: Any, part: Any) -> Any:
    """Return the reals ``part`` as a number or an array of the shape and dtype of ``like``."""
    if np.iscomplexobj(like):
        z = np.zeros(len(part) // 2, np.complex128)
        z.real, z.imag = part[0::2], part[1::2]
        part = z
    if isinstance(like, np.ndarray):
        return part.astype(like.dtype).reshape(like.shape)
    return type(like)(part[0])
