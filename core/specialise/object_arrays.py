"""Arrays of dtype object: containers of a known shape, whose entries are values of the program of any kind.

The entries are in a list, which is the array's memory; an array has a place in it for each of its positions, so that views are
arrays with other places in the same list.  What NumPy does entry by entry with Python's operators is done so here.  The methods
run while compiling: they are not interpreted.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..values.items import items_of
from .array_methods_in_python import METHODS as IN_PYTHON
from .constants import known_content
from .instances import is_array_like
from .surface.operators import UFUNCS
from .traced import Array, ArrayOfObjects, NeedsConcrete, Scalar, Traced, current
from .ufunc_protocol import OF_SCALARS

OF_UFUNCS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
"""What the methods of ufuncs do, and the options that they take."""

OF_FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What other functions of NumPy do; those that are written in Python and missing here are interpreted."""


class Entries(list[Any]):
    """The memory of arrays of objects."""

    __slots__ = ()


class ObjectArray(ArrayOfObjects):
    """An array of objects: a part of ``entries``, at ``places`` in C order."""

    __array_priority__ = 0.0
    dtype = np.dtype(object)
    itemsize = dtype.itemsize

    def __init__(self, entries: Entries, places: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self._entries = entries
        self._places = places
        self._shape = shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        made = self.reshape(shape)
        current().touch(self)  # type: ignore[attr-defined]
        self._shape = made._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        return len(self._places)

    @property
    def T(self) -> Any:
        return current().call(np.transpose, self)

    @property
    def flat(self) -> Any:
        return self.reshape(-1)

    @property
    def real(self) -> Any:
        return array_of([current().attribute(e, "real") for e in entries_of(self)], self._shape)

    @property
    def imag(self) -> Any:
        return array_of([current().attribute(e, "imag") for e in entries_of(self)], self._shape)

    def __getattr__(self, name: str) -> Any:
        if name in IN_PYTHON:
            return lambda *args, **kwargs: current().calls.interpret(IN_PYTHON[name], (self, *args), kwargs)  # type: ignore[attr-defined]
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        raise BadInput(
            f".{name} of an array of objects cannot be compiled; use a list, or convert the array by astype(float)"
        )

    def strided(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return the offset in the entries, the shape and the strides in bytes of this array in NumPy."""
        places = places_of(self)
        steps = [np.diff(places, axis=d).flat[0] if n > 1 and places.size else 0 for d, n in enumerate(self._shape)]
        return int(places.flat[0]) if places.size else 0, self._shape, tuple(int(n) * self.itemsize for n in steps)

    # Entries

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    def __iter__(self) -> Any:
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return current().call(iter, [self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        trace, places = current(), places_of(self)
        at = known(index)
        if at is not None:
            found = places[at[0]]
            if not isinstance(found, np.ndarray):
                return self._entries[found]
            made = view(self, found)
            return made if np.may_share_memory(places, found) else made.copy()
        place = trace.call(operator.getitem, trace.constant_array(places), index)  # type: ignore[attr-defined]
        if not isinstance(place, Scalar):
            raise needs_known(index)
        return trace.call(operator.getitem, list(self._entries), place)

    def __setitem__(self, index: Any, x: Any) -> None:
        at = known(index)
        if at is None:
            raise needs_known(index)
        if len(set(self._places)) < self.size:
            raise ValueError("assignment destination is read-only")
        found = places_of(self)[at[0]]
        if not isinstance(found, np.ndarray):
            new = [current().call(operator.getitem, x, ()) if isinstance(x, Array) and not x.type.shape else x]
        else:
            given = as_objects(x)
            new = [given._entries[i] for i in np.broadcast_to(places_of(given), found.shape).flat]
        current().touch(self._entries)  # type: ignore[attr-defined]
        for place, e in zip(np.asarray(found).flat, new):
            self._entries[place] = e

    def __bool__(self) -> Any:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return current().call(bool, self.item())

    def __float__(self) -> Any:
        return current().call(float, self.item())

    def __int__(self) -> Any:
        return current().call(int, self.item())

    def __complex__(self) -> Any:
        return current().call(complex, self.item())

    def __contains__(self, x: Any) -> Any:
        return current().call(any, [current().call(operator.eq, e, x) for e in entries_of(self)])

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return array_of(current().call(copy.deepcopy, entries_of(self)), self._shape)

    def __repr__(self) -> str:
        raise BadInput("the text of an array of objects cannot be compiled; use the text of its entries")

    def item(self, *index: Any) -> Any:
        if index:
            return self.reshape(-1)[index[0]] if len(index) == 1 and not isinstance(index[0], tuple) else self[index]
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return entries_of(self)[0]

    def tolist(self) -> Any:
        if not self._shape:
            return self.item()
        return current().new([x.tolist() if isinstance(x, ObjectArray) else x for x in map(self.__getitem__, range(len(self)))])  # type: ignore[attr-defined]  # fmt: skip

    def fill(self, x: Any) -> None:
        for i in np.ndindex(self._shape):
            self[i] = x

    # Other arrays

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        shape = shape[0] if len(shape) == 1 else shape
        return current().call(np.reshape, self, shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return current().call(np.transpose, self, axes or None)

    def copy(self, order: Any = "C") -> Any:
        return array_of(entries_of(self), self._shape)

    def flatten(self, order: Any = "C") -> Any:
        return current().call(np.ravel, self.copy(), order)

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: Any = True
    ) -> Any:
        return (self.copy() if copy else self) if is_of_objects(dtype) else as_numbers(self, dtype)

    def dot(self, other: Any) -> Any:
        return current().call(np.dot, self, other)

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        body, accepted = OF_UFUNCS.get(method, (None, ()))
        out = options.pop("out", (None,))
        options = {k: x for k, x in options.items() if x is not None and not (k == "where" and x is True)}
        if body is None or set(options) - set(accepted):
            raise refusal(f"np.{ufunc.__name__}.{method} with these options")
        found = body(ufunc, *inputs, **options)
        if out[0] is None:
            return found
        current().call(operator.setitem, out[0], ..., found)
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in OF_FUNCTIONS:
            return OF_FUNCTIONS[function](*args, **kwargs)
        implementation: Any = function._implementation
        if hasattr(implementation, "__code__"):
            return current().calls.call_function(implementation, args, kwargs, always=True)  # type: ignore[attr-defined]
        raise refusal(f"np.{function.__name__}")


def refusal(what: str) -> BadInput:
    return BadInput(f"{what} of an array of objects cannot be compiled; write a loop over its entries")


# Making arrays


def array_of(entries: Any, shape: tuple[int, ...]) -> ObjectArray:
    """Return a new array of objects."""
    trace: Any = current()
    return trace.new(ObjectArray(trace.new(Entries(entries)), tuple(range(len(entries))), shape))


def is_of_objects(dtype: Any) -> bool:
    """Whether a dtype, as it is given to NumPy, is that of objects."""
    return dtype is not None and not isinstance(dtype, Traced) and np.dtype(dtype).kind == "O"


def as_objects(x: Any) -> ObjectArray:
    """Return ``np.array(x, dtype=object)``; an array of objects as it is."""
    if isinstance(x, ObjectArray):
        return x
    if isinstance(x, (list, tuple)):
        parts = [as_objects(e) for e in items_of(x)]
        shapes = {p._shape for p in parts}
        if len(shapes) > 1 or parts and shapes == {()}:
            if any(isinstance(e, (Array, np.ndarray, ObjectArray)) and len(e.shape) > 1 for e in x):
                raise refusal("np.array of arrays of unlike shapes as an array")
            entries = [p._entries[p._places[0]] if not p._shape else e for p, e in zip(parts, x)]
            return array_of(entries, (len(entries),))
        return array_of([e for p in parts for e in entries_of(p)], (len(parts), *next(iter(shapes), ())))
    if isinstance(x, (Array, np.ndarray)):
        if isinstance(x, Array) and not x.type.is_static:
            raise BadInput(
                "an array whose length is known only at run time cannot be made an array of objects; use a fixed length"
            )
        flat = current().call(np.ravel, x)
        return array_of([current().call(current().attribute(e, "item")) for e in current().iterate(flat)], x.shape)
    if is_array_like(x):
        return as_objects(current().call(np.asarray, x))
    return array_of([x], ())


def as_numbers(x: ObjectArray, dtype: Any = None) -> Any:
    """Return an array of the entries as numbers."""
    trace = current()
    convert = {"f": float, "c": complex, "i": int, "u": int, "b": bool}.get(np.dtype(dtype or float).kind)
    entries = []
    for e in entries_of(x):
        if isinstance(e, (Array, ObjectArray, np.ndarray, list, tuple)) and len(trace.call(np.shape, e)):
            raise ValueError("setting an array element with a sequence.")
        is_number = isinstance(e, (Scalar, bool, int, float, complex, np.generic))
        entries.append(e if is_number or convert is None else trace.call(convert, e))
    return trace.call(np.reshape, trace.call(np.array, entries, dtype), x._shape)


# Parts


def places_of(x: ObjectArray) -> np.ndarray:
    """Return the places of the entries, in an array of x's shape."""
    return np.array(x._places, np.int64).reshape(x._shape)


def entries_of(x: ObjectArray) -> list[Any]:
    return [x._entries[i] for i in x._places]


def known(index: Any) -> tuple[Any] | None:
    """Return an index for NumPy, in a tuple; None if a number in it is not known while compiling."""
    if isinstance(index, tuple):
        parts = [known(i) for i in index]
        return None if None in parts else (tuple(p[0] for p in parts if p is not None),)
    if isinstance(index, slice):
        bounds = known((index.start, index.stop, index.step))
        return None if bounds is None else (slice(*bounds[0]),)
    if isinstance(index, list):
        index = current().call(np.asarray, index)
    if isinstance(index, Traced):
        found = known_content(current(), current().value(index))
        return None if found is None else (found if found.shape else found[()],)
    return (index,)


def needs_known(index: Any) -> NeedsConcrete:
    unknown = next(i for i in (index if isinstance(index, tuple) else (index,)) if known(i) is None)
    if isinstance(unknown, slice):
        unknown = next(i for i in (unknown.start, unknown.stop, unknown.step) if known(i) is None)
    return NeedsConcrete(current().value(unknown), "an index into an array of objects")


def view(x: ObjectArray, places: np.ndarray) -> ObjectArray:
    """Return the view of x that has these places."""
    return current().new(ObjectArray(x._entries, tuple(places.ravel().tolist()), places.shape))  # type: ignore[attr-defined]


# Operators


COMPARISONS = frozenset((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))


def _decides(x: Any) -> bool:
    """Whether an array leaves an operator to the class of the other operand."""
    if isinstance(x, (ObjectArray, Traced, np.ndarray)):
        return False
    if hasattr(type(x), "__array_ufunc__"):
        return type(x).__array_ufunc__ is None
    return getattr(x, "__array_priority__", OF_SCALARS) > 0.0


def _operators(name: str, ufunc: np.ufunc) -> None:
    def forward(self: Any, x: Any) -> Any:
        return NotImplemented if _decides(x) else current().call(ufunc, self, x)

    def reflected(self: Any, x: Any) -> Any:
        return NotImplemented if _decides(x) else current().call(ufunc, x, self)

    def in_place(self: Any, x: Any) -> Any:
        self[...] = current().call(ufunc, self, x)
        return self

    setattr(ObjectArray, f"__{name}__", forward)
    if ufunc not in COMPARISONS:
        setattr(ObjectArray, f"__r{name}__", reflected)
        setattr(ObjectArray, f"__i{name}__", in_place)


def _unary(name: str, ufunc: np.ufunc) -> None:
    setattr(ObjectArray, f"__{name}__", lambda self: current().call(ufunc, self))


def _arranging(name: str) -> None:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        return current().call(getattr(np, name), self, *args, **kwargs)

    setattr(ObjectArray, name, apply)


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift lt le gt ge eq ne".split():
    _operators(_name, UFUNCS[getattr(operator, _name if _name not in ("and", "or") else f"{_name}_")])
_operators("matmul", np.matmul)
for _name, _ufunc in (("neg", np.negative), ("pos", np.positive), ("abs", np.absolute), ("invert", np.invert)):
    _unary(_name, _ufunc)
for _name in ("ravel", "squeeze", "swapaxes", "take", "repeat", "diagonal"):
    _arranging(_name)
