"""Arrays of classes derived from ``ndarray``, as objects: the plain array in them, and attributes.

A program that is being specialised holds such an array as an object of the class itself that contains no numbers: a
0-dimensional array with one ``Memory``, which knows the traced array.  So the class, its methods and the object's attributes are
Python's own, and C code that is handed the object finds no numbers to compute with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput

ARRAY = "the array"
"""Under which name the plain array stands among the attributes of an object."""


class Memory:
    """The element of an array that a traced program holds: ``array`` is the traced array in its place."""

    __slots__ = ("array",)


def _refuse(*args: Any) -> Any:
    raise BadInput(
        "the elements of an array of a subclass of ndarray are read by Python's or NumPy's C code, which cannot be compiled; pass "
        "np.asarray(x), or use mo.callback"
    )


for _name in (
    *"add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul and or xor lshift rshift".split(),
    *"lt le gt ge eq ne neg pos abs invert bool int float complex index round len iter contains getitem str repr format reduce_ex".split(),
):
    setattr(Memory, f"__{_name}__", _refuse)


class _Plain(np.ndarray):
    pass


class _Slotted(np.ndarray):
    __slots__ = ()


def is_array_class(cls: type) -> bool:
    return issubclass(cls, np.ndarray) and cls is not np.ndarray


def is_subclass_array(x: Any) -> bool:
    """Whether x is an array of a class derived from ``ndarray``."""
    return is_array_class(type(x))


def as_class(array: np.ndarray, cls: type) -> Any:
    """Return a view of an array as a class derived from ``ndarray``, without running its ``__array_finalize__``."""
    made = np.ndarray.view(array, _Plain if cls.__dictoffset__ else _Slotted)
    try:
        made.__class__ = cls
    except TypeError:
        raise BadInput(
            f"{cls.__name__}, a subclass of ndarray with slots, cannot be compiled; keep its attributes in a __dict__"
        ) from None
    return made


def blank_array(cls: type) -> Any:
    """Return an object of a class derived from ``ndarray`` for a traced program; ``put`` gives it its array."""
    made = np.empty((), object)
    made[()] = Memory()
    return as_class(made, cls)


def is_traced_array(x: Any) -> bool:
    """Whether x is an object made by ``blank_array``."""
    return is_subclass_array(x) and _memory(x) is not None


def _memory(x: Any) -> Memory | None:
    if np.ndarray.ndim.__get__(x) or np.ndarray.dtype.__get__(x).kind != "O":  # type: ignore[attr-defined]
        return None
    found = np.ndarray.item(x)
    return found if type(found) is Memory else None


def array_in(x: Any) -> Any:
    """Return the plain array of an object: the traced one, or a view of a real one."""
    memory = _memory(x)
    return np.ndarray.view(x, np.ndarray) if memory is None else memory.array


def put(x: Any, name: str, value: Any) -> None:
    """Set an attribute of an array object, or its traced array, without running methods of its class."""
    if name == ARRAY:
        np.ndarray.item(x).array = value
    else:
        x.__dict__[name] = value


def array_and_attributes(x: Any) -> dict[str, Any]:
    """Return the plain array and the attributes of an array object."""
    return {ARRAY: array_in(x), **getattr(x, "__dict__", {})}


def is_inherited(cls: type, name: str) -> bool:
    """Whether a class derived from ``ndarray`` has a method or an attribute from ``ndarray``, or from ``object``."""
    return next((base for base in cls.__mro__ if name in vars(base)), object) in (np.ndarray, object)
