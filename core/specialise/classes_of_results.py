"""The class that NumPy gives a result of arrays of classes derived from ``ndarray``.

Each function of NumPy's C code has its own way: the class of its first array, of the one with the highest
``__array_priority__``, or none.  So the call is repeated in NumPy, on samples that note what ``__array_finalize__`` was given.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import BadInput
from ..ir.typed import ArrayType
from ..source.definitions import describe
from ..values.array_classes import array_in, is_subclass_array
from ..values.items import items_of
from .surface.arguments import NUMBERS
from .surface.library import sample_of
from .traced import Array, Scalar, Storage, Traced, View
from .ufunc_protocol import priority_of


class _Sample(np.ndarray):
    """A sample of an array of a class; ``origin`` is the array of which NumPy has made it."""

    origin: Any = None

    def __array_finalize__(self, origin: Any) -> None:
        self.origin = origin


_UNREACHED = frozenset(
    "__new__ __init__ __array_finalize__ __repr__ __str__ __format__ __reduce__ __reduce_ex__ __setstate__ __doc__ __class__ __module__ __hash__ "
    "__setattr__ __getattribute__ __delattr__ __dir__ __init_subclass__ __getstate__ __array_priority__ __dict__".split()
)
"""What a class may override without a difference for NumPy's functions, but for the class of the result."""


_reached: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def reached(cls: type) -> frozenset[str]:
    """Return what a class overrides that NumPy's functions written in Python, or its C code, may use."""
    if cls not in _reached:
        own = {name for base in cls.__mro__[: cls.__mro__.index(np.ndarray)] for name in vars(base)}
        _reached[cls] = frozenset(name for name in own - _UNREACHED if hasattr(np.ndarray, name))
    return _reached[cls]


class _Reached(BaseException):
    """NumPy's code uses what a class overrides."""


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise _Reached


@lru_cache(maxsize=256)
def _class_for(kind: type, priority: float, refused: frozenset[str]) -> type[_Sample]:
    """Return a class of samples for a class of arrays, which refuses the use of some attributes."""
    held = {name: _refuse if callable(getattr(np.ndarray, name)) else property(_refuse) for name in refused}
    return type("_Sample", (_Sample,), {**held, "__array_priority__": priority, "kind": kind})


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

    def __init__(self, of: Any, refuses: bool = False) -> None:
        self.of = of
        self.refuses = refuses  # the use of what the classes override
        self.given: dict[int, Any] = {}  # the program's arrays, by sample
        self.kept: list[Any] = []

    def sample(self, x: Any) -> Any:
        if is_subclass_array(x):
            kind = _class_for(type(x), priority_of(self.of.trace, x), reached(type(x)) if self.refuses else frozenset())
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

    def run(self, function: Any, args: Any, kwargs: Any) -> Any:
        given, named = self.sample(tuple(args)), {k: self.sample(x) for k, x in kwargs.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*given, **named)

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
    try:
        sample = asked.run(function, args, kwargs)
    except Exception as error:
        raise BadInput(
            f"{describe(function)} of an array of a subclass of ndarray cannot be compiled for these arguments ({error}); convert it with "
            "np.asarray"
        ) from None
    return asked.classified(found, sample)


def is_free_of_overrides(of: Any, function: Any, args: Any, kwargs: Any) -> bool:
    """Whether NumPy's code of a function does not use what the classes of its arguments override."""
    try:
        _Call(of, refuses=True).run(function, args, kwargs)
    except (Exception, _Reached):
        return False
    return True
