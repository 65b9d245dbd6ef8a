"""Methods and attributes of traced numbers and arrays."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.typed import ArrayType
from ..constants import known_content
from ..traced import ATTRIBUTES, METHODS, Array, Scalar, Trace, Traced, length
from .arguments import is_number, number_of, refuse, total, value, weak
from .dtype_views import as_dtype
from .elementwise import part
from .shapes import astype, flatten, reshape as np_reshape, stands_in_order

_SAME = (
    *("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod"),
    *("clip", "round", "ravel", "squeeze", "swapaxes", "diagonal", "trace", "repeat", "take", "put"),
    *("searchsorted", "argsort", "dot", "choose", "argpartition", "nonzero"),
)


def _function(name: str) -> Any:
    function = getattr(np, name)
    return lambda trace, x, *args, **kwargs: trace.call(function, x, *args, **kwargs)


for _name in _SAME:
    METHODS[_name] = _function(_name)


def _special(function: Any, reflected: bool = False) -> Any:
    """Return what the operator does, for a special method called by its name, as in ``a.__setitem__(i, x)``."""

    def apply(trace: Trace, x: Any, *operands: Any) -> Any:
        if isinstance(x, Scalar) and x.type.weak and operands:
            operands = tuple(_of_python(trace, x, y) for y in operands)
            if NotImplemented in operands:
                return NotImplemented
        return trace.call(function, *reversed((x, *operands))) if reflected else trace.call(function, x, *operands)

    return apply


def _of_python(trace: Trace, x: Scalar, y: Any) -> Any:
    """Return the operand of a method of a Python number; ``NotImplemented`` if the method does not accept it."""
    if not is_number(y):
        return NotImplemented
    kind: Any = trace.value(y).type
    size, accepted = "biufc".index(kind.dtype.kind), "biufc".index(x.type.dtype.kind)
    if not kind.weak and kind.dtype.char not in "dD" or size > max(accepted, 1):
        return NotImplemented
    return y if kind.weak else trace.call(complex if kind.dtype.kind == "c" else float, y)


_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
for _name in _ARITHMETIC:
    _operator = getattr(operator, f"__{_name}__")
    METHODS[f"__{_name}__"], METHODS[f"__r{_name}__"] = _special(_operator), _special(_operator, reflected=True)
    METHODS[f"__i{_name}__"] = _special(getattr(operator, f"__i{_name}__"))
for _name in "getitem setitem lt le gt ge eq ne neg pos abs invert contains".split():
    METHODS[f"__{_name}__"] = _special(getattr(operator, f"__{_name}__"))
for _called in (len, float, bool, int, complex, round, math.floor, math.ceil, math.trunc, divmod, operator.index):
    METHODS[f"__{_called.__name__}__"] = _special(_called)
METHODS["__rdivmod__"] = _special(divmod, reflected=True)
METHODS["compress"] = lambda trace, x, condition, *args, **kwargs: trace.call(
    np.compress, condition, x, *args, **kwargs
)
METHODS["astype"] = astype
METHODS["flatten"] = flatten


def method(body: Any) -> Any:
    METHODS[body.__name__] = body
    return body


def attribute(body: Any) -> Any:
    ATTRIBUTES[body.__name__] = body
    return body


@method
def reshape(trace: Trace, x: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return np_reshape(trace, x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@method
def transpose(trace: Trace, x: Any, *axes: Any) -> Any:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        (axes,) = axes
    return trace.call(np.transpose, x, axes or None)


@method
def conjugate(trace: Trace, x: Any, out: Any = None) -> Any:
    if isinstance(x, Array) and x.type.dtype.kind != "c" and out is None:
        return x
    if out is not None:
        return trace.call(np.conjugate, x, out=out)
    if x.type.weak:
        return trace.wrap(trace.builder.ufunc(np.conjugate, trace.value(x))) if x.type.dtype.kind == "c" else x
    return trace.call(np.conjugate, x)


METHODS["conj"] = conjugate
METHODS["__copy__"] = lambda trace, x: trace.call(np.copy, x)
METHODS["__deepcopy__"] = lambda trace, x, memo: trace.call(np.copy, x)
METHODS["__iter__"] = lambda trace, x: trace.call(iter, x)
METHODS["__array_namespace__"] = lambda trace, x, *, api_version=None: np.empty(0).__array_namespace__(
    api_version=api_version
)
METHODS["to_device"] = lambda trace, x, device, /, *, stream=None: (np.empty(0).to_device(device, stream=stream), x)[1]
ATTRIBUTES["device"] = lambda trace, x: "cpu"
ATTRIBUTES["__array_priority__"] = lambda trace, x: (
    (np.empty(0) if isinstance(x, Array) else np.float64()).__array_priority__
)


@method
def copy(trace: Trace, x: Any, order: str = "C") -> Any:
    return trace.call(np.copy, x)


@method
def sort(trace: Trace, x: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    _own(x, "sort")
    x.check_writeable("sort array is read-only")
    trace.write(x, value(trace, trace.call(np.sort, x, axis)))


@method
def partition(trace: Trace, x: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> None:
    _own(x, "partition")
    x.check_writeable("partition array is read-only")
    trace.write(x, value(trace, trace.call(np.partition, x, kth, axis)))


@method
def fill(trace: Trace, x: Any, v: Any) -> None:
    _own(x, "fill")
    trace.call(operator.setitem, x, ..., v)


def _own(x: Any, name: str) -> None:
    if not isinstance(x, Array):
        raise AttributeError(f"a number has no method {name}")


@method
def item(trace: Trace, x: Any, *args: Any) -> Any:
    if args:
        index = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if len(index) == 1 and value(trace, x).type.ndim != 1:
            x = trace.call(np.ravel, x)
        x = trace.call(operator.getitem, x, tuple(index))
    v = number_of(trace.builder, value(trace, x))
    dtype = {"b": bool, "i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}[v.type.dtype.kind]
    return trace.wrap(weak(trace.builder, v, dtype))


@method
def tolist(trace: Trace, x: Any) -> Any:
    if isinstance(x, np.generic):  # an element that is known while compiling
        return x.item()
    known = known_content(trace, trace.value(x))  # type: ignore[arg-type]
    if known is not None:
        return known.tolist()
    if not x.type.shape:
        return item(trace, x)
    return [tolist(trace, e) for e in trace.iterate(x)]


@method
def view(trace: Trace, x: Any, dtype: Any = None, type: Any = None) -> Any:
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        return trace.arrays.inherited(x, "view", (dtype, type), {})  # type: ignore[attr-defined]
    if dtype is None or np.dtype(dtype) == x.type.dtype:
        return trace.call(operator.getitem, x, ...)
    if not isinstance(x, Array):
        raise refuse("a view of a number as another dtype", "use astype")
    return as_dtype(trace, x, np.dtype(dtype))


@method
def __array__(trace: Trace, x: Any, dtype: Any = None, /, *, copy: Any = None) -> Any:
    if x.type.weak:
        raise AttributeError(f"{str(x.type)!r} object has no attribute '__array__'")
    if copy is False and dtype is not None and np.dtype(dtype) != x.type.dtype:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return trace.call(np.asarray, x, dtype, copy=copy or None)


@method
def itemset(trace: Trace, x: Any, *args: Any) -> None:
    raise refuse("itemset", "write a[i] = x")


@method
def is_integer(trace: Trace, x: Any) -> Any:
    v = value(trace, x)
    if v.type.dtype.kind in "iub":
        return True
    finite = trace.call(operator.eq, x, trace.call(np.floor, x))
    return trace.call(bool, trace.call(operator.and_, finite, trace.call(np.isfinite, x)))


@method
def bit_length(trace: Trace, x: Any) -> Any:
    raise refuse("bit_length of an int that is not known while compiling", "compare it with powers of two")


# Attributes


@attribute
def T(trace: Trace, x: Any) -> Any:
    return x if isinstance(x, Scalar) else trace.call(np.transpose, x)


@attribute
def mT(trace: Trace, x: Any) -> Any:
    return trace.call(np.swapaxes, x, -1, -2)


@attribute
def real(trace: Trace, x: Any) -> Any:
    return part(trace, x, False)


@attribute
def imag(trace: Trace, x: Any) -> Any:
    return part(trace, x, True)


@attribute
def size(trace: Trace, x: Any) -> Any:
    return length(total(trace.builder, x.type.shape))


@attribute
def shape(trace: Trace, x: Any) -> Any:
    _no_python(x, "shape")
    return tuple(map(length, x.type.shape))


@attribute
def ndim(trace: Trace, x: Any) -> int:
    _no_python(x, "ndim")
    return x.type.ndim


@attribute
def dtype(trace: Trace, x: Any) -> np.dtype:
    _no_python(x, "dtype")
    return x.type.dtype


def _no_python(x: Traced, name: str) -> None:
    if x.type.weak:
        raise AttributeError(f"{str(x.type)!r} object has no attribute {name!r}")


@attribute
def itemsize(trace: Trace, x: Any) -> int:
    return x.type.dtype.itemsize


@attribute
def nbytes(trace: Trace, x: Any) -> Any:
    return trace.call(operator.mul, size(trace, x), itemsize(trace, x))


class Flat:
    """``a.flat``: the elements in C order; ``elements`` are an array of them."""

    elements = property(lambda self: self.trace.call(np.ravel, self.array))

    def __init__(self, trace: Trace, array: Array) -> None:
        self.trace = trace
        self.array = array

    def __getitem__(self, index: Any) -> Any:
        return self.trace.call(operator.getitem, self.elements, index)

    def __eq__(self, other: Any) -> Any:
        return self.trace.call(operator.eq, self.elements, other)

    def __ne__(self, other: Any) -> Any:
        return self.trace.call(operator.ne, self.elements, other)

    __hash__ = None  # type: ignore[assignment]

    def __setitem__(self, index: Any, x: Any) -> None:
        if not stands_in_order(self.trace, self.array):
            raise BadInput(
                "a write through .flat of an array that is not C-contiguous cannot be compiled; write to the array itself"
            )
        self.trace.call(operator.setitem, self.elements, index, x)

    def __iter__(self) -> Any:
        return self.trace.call(iter, self.elements)

    def __len__(self) -> int:
        return int(np.prod(self.array.type.shape))  # type: ignore[arg-type]


@attribute
def flat(trace: Trace, x: Any) -> Flat:
    return Flat(trace, x)


@attribute
def base(trace: Trace, x: Any) -> Any:
    if x.is_fixed:
        raise refuse(".base of an array that the program has made read-only", "keep the array itself")
    return None if x.view is None else Array(x.storage, None, ArrayType(x.type.dtype, x.storage.value.type.shape))
