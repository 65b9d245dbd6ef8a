"""Maps methods and attributes of arrays, and methods of ufuncs, to the functions that have rules.

``x.sum(axis=0)`` is ``np.sum(x, axis=0)``.  If a method takes its arguments in another form than the function, as
``x.reshape(2, 3)`` does, an adapter converts the array and the method's arguments to those of the function:

    function, adapt = METHODS["reshape"]
    args, kwargs = adapt(x, 2, 3)               # (x, (2, 3)), {}
    x.reshape(2, 3) == function(*args, **kwargs)

Methods that write into the array (``sort``, ``fill``, ``put``, ``partition``, ``resize``) are not included.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .reductions import UNSET, attained, restore
from .shapes import ravel_pullback
from .table import linear, vjp
from .transposes import assemble, scatter, unstack

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Adapt = Callable[..., Arguments] | None


def packed(x: Any, *shape: Any, **kwargs: Any) -> Arguments:
    """Accept several integers as one shape: ``x.reshape(2, 3)``."""
    return (x, shape[0] if len(shape) == 1 else shape), kwargs


def permuted(x: Any, *axes: Any) -> Arguments:
    """Accept several integers as one permutation; no argument, or None, reverses the axes."""
    return (x, axes[0] if len(axes) == 1 else axes or None), {}


def clipped(x: Any, min: Any = None, max: Any = None, *args: Any, **kwargs: Any) -> Arguments:
    """The method may be given one bound only."""
    return (x, min, max, *args), kwargs


def of_truth(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any, **kwargs: Any) -> Arguments:
    """The methods ``all`` and ``any`` have a ``dtype`` before ``out``."""
    return (x, axis, out, *args), kwargs if dtype is None else {**kwargs, "dtype": dtype}


def chosen_from(x: Any, *choices: Any, **kwargs: Any) -> Arguments:
    """Accept the choices as a list or as several arguments."""
    return (x, choices[0] if len(choices) == 1 else choices), kwargs


def second(x: Any, first: Any, *args: Any, **kwargs: Any) -> Arguments:
    """The array is the function's second argument: ``np.compress(condition, x)``."""
    return (first, x, *args), kwargs


def of_its_class(x: Any, order: Any = "C") -> Arguments:
    """The copy of an array of a subclass has the same class."""
    return (x, order), {"subok": True}


def of_its_layout(x: Any, memo: Any = None) -> Arguments:
    return (x, "K"), {"subok": True}


# Methods without an equivalent function


def astype(x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    return x.astype(dtype, order=order, casting=casting, subok=subok, copy=copy)


def flatten(x: Any, order: str = "C") -> Any:
    return x.flatten(order)


def item(x: Any, *place: Any) -> Any:
    return x.item(*place)


def tolist(x: Any) -> Any:
    return x.tolist()


def view(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x.view(*args, **kwargs)


def as_array(x: Any, dtype: Any = None, copy: Any = None) -> Any:
    return np.array(x, dtype=dtype, copy=copy)


def real_number(x: Any) -> float:
    return float(x)


def complex_number(x: Any) -> complex:
    return complex(x)


def item_pullback(dy, y, x, *place):
    shape = np.shape(x)
    if not place:
        return np.reshape(dy, shape)
    if len(place) == 1 and not isinstance(place[0], tuple):
        return np.reshape(scatter(dy, place[0], (np.size(x),), True), shape)
    return scatter(dy, place[0] if len(place) == 1 else place, shape, True)


def view_pullback(dy, y, x, *args, **kwargs):
    """A view in another dtype reads complex numbers as pairs of reals; any other reinterpretation has no derivative."""
    if y.dtype == x.dtype:
        return dy
    if x.dtype.kind == "c" and y.dtype == x.real.dtype:
        pairs = np.reshape(dy, (*np.shape(x), 2))
        return pairs[..., 0] + 1j * pairs[..., 1]
    if y.dtype.kind == "c" and x.dtype == y.real.dtype:
        return np.reshape(np.stack((np.real(dy), np.imag(dy)), axis=-1), np.shape(x))
    return None


def flatten_pullback(dy, y, x, order="C"):
    return ravel_pullback(dy, y, x, order)


def tolist_pullback(dy, y, x):
    return assemble(dy, np.shape(x))


vjp(astype, lambda dy, y, x, *args, **kwargs: dy if y.dtype.kind in "fc" else None)
vjp(flatten, flatten_pullback)
vjp(item, item_pullback)
vjp(tolist, tolist_pullback)
vjp(view, view_pullback)
vjp(as_array, lambda dy, y, x, dtype=None, copy=None: unstack(dy, x) if y.dtype.kind in "fc" else None)
vjp((real_number, complex_number), lambda dy, y, x: np.reshape(dy, np.shape(x)))


METHODS: dict[str, tuple[Callable[..., Any], Adapt]] = {
    "all": (np.all, of_truth),
    "any": (np.any, of_truth),
    "argmax": (np.argmax, None),
    "argmin": (np.argmin, None),
    "argpartition": (np.argpartition, None),
    "argsort": (np.argsort, None),
    "astype": (astype, None),
    "choose": (np.choose, chosen_from),
    "clip": (np.clip, clipped),
    "compress": (np.compress, second),
    "conj": (np.conj, None),
    "conjugate": (np.conj, None),
    "copy": (np.copy, of_its_class),
    "cumprod": (np.cumprod, None),
    "cumsum": (np.cumsum, None),
    "diagonal": (np.diagonal, None),
    "dot": (np.dot, None),
    "flatten": (flatten, None),
    "item": (item, None),
    "max": (np.max, None),
    "mean": (np.mean, None),
    "min": (np.min, None),
    "nonzero": (np.nonzero, None),
    "prod": (np.prod, None),
    "ravel": (np.ravel, None),
    "repeat": (np.repeat, None),
    "reshape": (np.reshape, packed),
    "round": (np.round, None),
    "searchsorted": (np.searchsorted, None),
    "squeeze": (np.squeeze, None),
    "std": (np.std, None),
    "sum": (np.sum, None),
    "swapaxes": (np.swapaxes, None),
    "take": (np.take, None),
    "tolist": (tolist, None),
    "trace": (np.trace, None),
    "transpose": (np.transpose, permuted),
    "var": (np.var, None),
    "view": (view, None),
    "__array__": (as_array, None),
    "__complex__": (complex_number, None),
    "__copy__": (np.copy, of_its_layout),
    "__deepcopy__": (np.copy, of_its_layout),
    "__float__": (real_number, None),
    "__getitem__": (operator.getitem, None),
    "__matmul__": (operator.matmul, None),
}
"""Methods of arrays by name: the function, and the adapter from the method's arguments to the function's."""

ATTRIBUTES: dict[str, Callable[..., Any]] = {
    "T": np.transpose,
    "mT": np.matrix_transpose,
    "real": np.real,
    "imag": np.imag,
    "flat": np.ravel,
}
"""Attributes of arrays whose values depend on the elements, as functions of the array."""


# Methods of ufuncs; by default they reduce the first axis, where the functions reduce all


def running_extremum(ufunc: Any, array: Any, axis: int = 0) -> Any:
    """The greatest (``np.maximum``) or least (``np.minimum``) element so far along ``axis``."""
    return ufunc.accumulate(array, axis)


def running_extremum_pullback(dy, y, ufunc, array, axis=0):
    """Equal extrema share the cotangent: the i-th result divides it among the elements equal to it up to the i-th."""
    x, y, dy = (np.moveaxis(np.asarray(v), axis, 0) for v in (array, y, dy))
    held = attained(y, x)
    begins = np.concatenate((np.ones_like(held[:1]), ~attained(y[1:], y[:-1])))  # a new extremum
    upto = np.cumsum(held, axis=0)
    count = upto - np.maximum.accumulate(np.where(begins, upto - held, 0), axis=0)
    sums = dy / count
    for i in range(len(x) - 2, -1, -1):
        sums[i] += np.where(begins[i + 1], 0, sums[i + 1])
    return np.moveaxis(np.where(held, sums, 0), 0, axis)


vjp(running_extremum, None, running_extremum_pullback)
vjp(
    (np.maximum.accumulate, np.minimum.accumulate),
    lambda dy, y, array, axis=0: running_extremum_pullback(dy, y, None, array, axis),
)


def hypotenuse(array: Any, axis: Any = 0, keepdims: bool = False, initial: Any = 0.0, where: Any = True) -> Any:
    """``np.hypot.reduce``: smooth wherever the result is not zero, even if the first elements are zeros."""
    return np.hypot.reduce(array, axis, keepdims=keepdims, initial=initial, where=where)


def hypotenuse_pullback(dy, y, array, axis=0, keepdims=False, initial=0.0, where=True):
    shape = np.shape(array)
    y = restore(y, shape, axis, keepdims)
    return np.where(where, restore(dy, shape, axis, keepdims) * unit(array, y), 0)


def hypotenuse_initial(dy, y, array, axis=0, keepdims=False, initial=0.0, where=True):
    return None if initial is None else np.sum(dy * unit(initial, y))


def running_hypotenuse(array: Any, axis: int = 0) -> Any:
    """``np.hypot.accumulate``; its first result is the first element, with its sign."""
    return np.hypot.accumulate(array, axis)


def running_hypotenuse_pullback(dy, y, array, axis=0):
    x, y, dy = (np.moveaxis(np.asarray(v), axis, 0) for v in (array, y, dy))
    first = np.reshape(np.arange(len(x)) == 0, (-1,) + (1,) * (x.ndim - 1))
    shares = np.where(first, 0, unit(dy, y))
    to_all = x * np.flip(np.cumsum(np.flip(shares, 0), 0), 0)
    return np.moveaxis(to_all + np.where(first, dy, 0), 0, axis)


def unit(x, y):
    """x / y, and zero where ``y`` is zero."""
    return np.where(y == 0, 0, x / np.where(y == 0, 1, y))


vjp(hypotenuse, hypotenuse_pullback, None, None, hypotenuse_initial)
vjp(running_hypotenuse, running_hypotenuse_pullback)


def fold(ufunc: Any, array: Any, axis: Any = 0, keepdims: bool = False, initial: Any = UNSET, where: Any = True) -> Any:
    """``ufunc.reduce``: the elements along ``axis`` combined from the left."""
    array = np.asarray(array)
    axes = tuple(range(array.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(i % array.ndim for i in axes)
    kept = tuple(i for i in range(array.ndim) if i not in axes)
    shape = tuple(array.shape[i] for i in kept)
    lines = np.reshape(np.transpose(array, axes + kept), (-1, *shape))
    chosen = (
        None
        if where is True
        else np.reshape(np.transpose(np.broadcast_to(where, array.shape), axes + kept), lines.shape)
    )
    begun = initial is not UNSET and initial is not None
    if chosen is not None and not begun:
        initial, begun = ufunc.identity, True
    y = np.full(shape, initial, array.dtype) if begun else lines[0]
    for i in range(0 if begun else 1, len(lines)):
        y = ufunc(y, lines[i]) if chosen is None else np.where(chosen[i], ufunc(y, lines[i]), y)
    return np.reshape(y, tuple(1 if i in axes else n for i, n in enumerate(array.shape))) if keepdims else y


def running(ufunc: Any, array: Any, axis: int = 0) -> Any:
    """``ufunc.accumulate``: the results of combining the elements along ``axis`` from the left."""
    lines = np.moveaxis(np.asarray(array), axis, 0)
    found = [lines[0]]
    for i in range(1, len(lines)):
        found.append(ufunc(found[-1], lines[i]))
    return np.moveaxis(np.stack(found), 0, axis)


def by_segments(ufunc: Any, array: Any, indices: Any, axis: int = 0) -> Any:
    """``ufunc.reduceat``: a segment runs to the next index, or holds one element if that is not beyond it."""
    lines = np.moveaxis(np.asarray(array), axis, 0)
    ends = [*indices[1:], len(lines)]
    parts = [lines[i:j] if i < j else lines[i : i + 1] for i, j in zip(indices, ends)]
    return np.moveaxis(np.stack([ufunc.reduce(part) if len(part) > 1 else part[0] for part in parts]), 0, axis)


def outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """``ufunc.outer``: every element of ``a`` with every element of ``b``."""
    return ufunc(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def add_reduceat(array: Any, indices: Any, axis: int = 0) -> Any:
    return np.add.reduceat(array, indices, axis)


def add_reduceat_pullback(dy, y, array, indices, axis=0):
    """A segment runs to the next index, or holds one element if the next index is not beyond it."""
    shape = np.shape(array)
    axis = axis % len(shape)
    starts = np.asarray(indices)
    ends = np.concatenate((starts[1:], [shape[axis]]))
    lengths = np.where(ends > starts, ends - starts, 1)
    segment = np.repeat(np.arange(len(starts)), lengths)
    places = np.arange(len(segment)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[segment]
    return scatter(np.take(dy, segment, axis=axis), (slice(None),) * axis + (places,), shape)


vjp(add_reduceat, add_reduceat_pullback)


UFUNC_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {}
"""Methods of ufuncs, by ufunc and name, as functions that have a rule or whose source can be differentiated."""

_binary = {f for f in vars(np).values() if isinstance(f, np.ufunc) and "dd->d" in f.types and f.signature is None}
for _ufunc in sorted(_binary, key=lambda f: f.__name__):  # the same order in every process
    UFUNC_METHODS[_ufunc, "reduce"] = partial(fold, _ufunc)
    UFUNC_METHODS[_ufunc, "reduceat"] = partial(by_segments, _ufunc)
    UFUNC_METHODS[_ufunc, "accumulate"] = partial(running, _ufunc)
    UFUNC_METHODS[_ufunc, "outer"] = partial(outer, _ufunc)

UFUNC_METHODS |= {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.fmax, "reduce"): np.nanmax,
    (np.fmin, "reduce"): np.nanmin,
    (np.logical_and, "reduce"): np.all,
    (np.logical_or, "reduce"): np.any,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
    (np.maximum, "accumulate"): partial(running_extremum, np.maximum),
    (np.minimum, "accumulate"): partial(running_extremum, np.minimum),
    (np.hypot, "reduce"): hypotenuse,
    (np.hypot, "accumulate"): running_hypotenuse,
    (np.add, "reduceat"): add_reduceat,
}


linear((flatten, item))
