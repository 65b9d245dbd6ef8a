"""The class that NumPy gives a result of arrays of classes derived from ``ndarray``.

Each function of NumPy's C code has its own way: the class of its first array, of the one with the highest
``__array_priority__``, or none.  So the call is repeated in NumPy, on samples that note what ``__array_finalize__`` was given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.typed import ArrayType
from ..source.definitions import describe
from ..values.array_classes import array_in, is_subclass_array
from ..values.items import items_of
from .surface.arguments import NUMBERS
from .surface.library import sample_of
from .traced import Array, Scalar, Storage, Traced, View


class _Sample(np.ndarray):
    """A sample of an array of a class; ``origin`` is the array of which NumPy has made it."""

    origin: Any = None

    def __array_finalize__(self, origin: Any) -> None:
        self.origin = origin


_samples: dict[tuple[type, float], type[_Sample]] = {}


def _class_for(kind: type, priority: float) -> type[_Sample]:
    """Return a class of samples for a class of arrays."""
    key = kind, priority
    if key not in _samples:
        _samples[key] = type("_Sample", (_Sample,), {"__array_priority__": priority, "kind": kind})
    return _samples[key]


def flattened(x: Any) -> Iterator[Any]:
    """Yield what a nested list, tuple or dict holds."""
    if isinstance(x, (list, tuple)):
        for e in items_of(x):
            yield from flattened(e)
    elif isinstance(x, dict):
        for e in x.values():
            yield from flattened(e)
    else:
        yield x


class _Call:
    """One call on samples."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.given: dict[int, Any] = {}  # the program's arrays, by sample
        self.kept: list[Any] = []

    def sample(self, x: Any) -> Any:
        if is_subclass_array(x):
            from .ufunc_protocol import priority_of

            kind = _class_for(type(x), priority_of(self.of.trace, x))
            return self.keep(self.values(array_in(x).type).view(kind), x)
        if isinstance(x, Array):
            return self.keep(self.values(x.type), x)
        if isinstance(x, Scalar):
            kind = x.type
            return kind.dtype.type(1).item() if kind.weak else kind.dtype.type(1)
        if isinstance(x, (list, tuple)):
            items = [self.sample(e) for e in items_of(x)]
            return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
        if isinstance(x, slice):
            return slice(*map(self.sample, (x.start, x.stop, x.step)))
        return x

    def values(self, kind: ArrayType) -> np.ndarray:
        """Return numbers on which most functions are defined; whole ones are valid indices."""
        if kind.dtype.kind in "iu":
            return np.zeros(kind.bounds, kind.dtype)
        return np.array(sample_of(kind))

    def keep(self, sample: Any, x: Any) -> Any:
        self.kept.append(sample)
        self.given[id(sample)] = x
        return sample

    def classified(self, found: Any, sample: Any) -> Any:
        """Return a result with the classes of the sample's."""
        if isinstance(found, (tuple, list)) and isinstance(sample, (tuple, list)):
            parts = [self.classified(x, y) for x, y in zip(found, sample)]
            return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
        if isinstance(sample, _Sample) and isinstance(found, (Traced, *NUMBERS)):
            return self.of_sample(sample, self.of.as_array(found))
        return found

    def of_sample(self, sample: _Sample, array: Array | None) -> Any:
        """Return the program's object for a sample: one that was given, or a new one with this array."""
        if id(sample) in self.given:
            return self.given[id(sample)]
        origin = sample.origin
        if isinstance(origin, _Sample):
            origin = self.of_sample(origin, None)
        elif isinstance(origin, np.ndarray):
            origin = self.given[id(origin)] if id(origin) in self.given else _unknown(origin)
        made = self.of.made(sample.kind, _unknown(sample) if array is None else array, origin)  # type: ignore[attr-defined]
        self.keep(sample, made)
        return made


def _unknown(sample: np.ndarray) -> Array:
    """Return an array between two steps of NumPy's code, of which only dtype and shape are known."""

    def refuse(*values: Any) -> Any:
        raise BadInput(
            "__array_finalize__ reads the elements of an array inside NumPy's code, which compiled code does not have; use mo.callback"
        )

    kind = ArrayType(sample.dtype, sample.shape)
    return Array(Storage(None), View(refuse, refuse), kind)  # type: ignore[arg-type]


def classified(of: Any, found: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """Return the plain result ``found`` of a function of NumPy with the classes that NumPy gives it."""
    asked = _Call(of)
    given, named = asked.sample(tuple(args)), {k: asked.sample(x) for k, x in kwargs.items()}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = function(*given, **named)
    except Exception as error:
        raise BadInput(
            f"{describe(function)} of an array of a subclass of ndarray cannot be compiled for these arguments ({error}); convert it with "
            "np.asarray"
        ) from None
    return asked.classified(found, sample)
