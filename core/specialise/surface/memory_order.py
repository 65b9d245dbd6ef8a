"""The order in memory that NumPy gives a new array.

Compiled programs keep every new array in C order.  NumPy's ufuncs and copies keep the memory order of their operands,
which decides whether a later ``reshape`` is a view or a copy.  So each new array notes the call that made it.  When the
order is needed, that call is repeated in NumPy on sample arrays with the operands' memory order.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Value
from ...values.attributes import bound_to
from ..constants import known_content
from ..traced import EFFECTS, Array, Scalar, Storage, Trace, Traced
from .views import Derived, Part, Strided, View

_C_FOR_MATRICES = frozenset((operator.matmul, np.matmul, np.dot))
_KEEP = frozenset(
    (np.where, np.clip, np.copy, np.array, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.round)
)  # like ufuncs, these give C order for operands in C order
_KEEP_METHODS = frozenset(("astype", "copy", "clip", "round", "sum", "mean", "cumsum", "conj", "conjugate"))
_OTHER_OPERATORS = frozenset((operator.getitem, operator.matmul))


class UnknownOrder(Exception):
    """The memory order of an array is not known while compiling."""


class Call:
    """The call that made a new array; ``place`` is the array's position if the result is a tuple or a list."""

    __slots__ = ("args", "axes", "function", "kwargs", "place")

    def __init__(self, function: Any, args: Any, kwargs: Any, place: int | None) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.place = place
        self.axes: tuple[int, ...] | None = None  # from the slowest to the fastest, once known


def note_call(found: Any, since: int, function: Any, args: Any, kwargs: Any) -> Any:
    """Note on each array of a result created after ``since`` which call made it."""
    if isinstance(found, Array):
        if found.storage.born > since and found.storage.value.type.ndim > 1 and found.view is None:
            found.storage.made_by = Call(function, args, kwargs, None)
    elif isinstance(found, (tuple, list)):
        for i, x in enumerate(found):
            if isinstance(x, Array) and x.storage.born > since and x.view is None and x.storage.value.type.ndim > 1:
                x.storage.made_by = Call(function, args, kwargs, i)
    return found


def in_unknown_order(x: Value) -> Array:
    """Wrap a value as a new array whose memory order is unknown, since several calls may have made it."""
    made = Array(Storage(x))
    made.storage.made_by = Call(None, (), {}, None)
    return made


def in_order_of(made: Array, x: np.ndarray) -> Array:
    """Note that a new array has the memory order of an array of NumPy."""
    if not x.flags.c_contiguous:
        made.storage.made_by = Call(itself, (), {}, None)
        with suppress(UnknownOrder):
            made.storage.made_by.axes = axes_of_memory(x)
    return made


def layout(trace: Trace, array: Array) -> np.ndarray:
    """Return an array with the strides that NumPy would give this one; its elements mean nothing.

    Raises:
        UnknownOrder: they are not known while compiling.
    """
    asked = _Asked(trace)
    asked.find(array.storage)
    found = asked.array(array)
    asked.keep()
    return found


def is_known_in_c_order(trace: Trace, storage: Storage) -> bool:
    """Whether memory, possibly of lengths known only at run time, is certainly in C order."""
    asked = _Asked(trace)
    try:
        asked.find(storage)
    except UnknownOrder:
        return False
    asked.keep()
    return asked.axes[id(storage)] == tuple(range(storage.value.type.ndim))


def same_order(trace: Trace, a: Array, b: Array) -> bool:
    """Whether two arrays of one shape have the same known memory order."""
    try:
        return axes_of_memory(layout(trace, a)) == axes_of_memory(layout(trace, b))
    except UnknownOrder:
        return False


def axes_of_memory(x: np.ndarray) -> tuple[int, ...]:
    """Return the axes of an array without gaps, from the slowest to the fastest.

    Raises:
        UnknownOrder: the array has gaps.
    """
    if x.flags.c_contiguous:
        return tuple(range(x.ndim))
    axes = tuple(sorted(range(x.ndim), key=lambda i: -x.strides[i]))
    if not x.transpose(axes).flags.c_contiguous:
        raise UnknownOrder
    return axes


def note_dependence(trace: Trace, storage: Storage) -> None:
    """Note on the arguments that the memory order of a new array depends on theirs."""
    waiting = [storage]
    while waiting:
        s = waiting.pop()
        if not s.is_copied:
            s.is_copied = True
            waiting += _before(trace, s)


def refuse_other_order(trace: Trace, name: str, x: Array, last: Array) -> None:
    """Refuse a loop that changes an array's memory order, of ``x`` before it, if something depends on that order."""
    note_dependence(trace, last.storage)
    if not same_order(trace, x, last):
        raise BadInput(
            f"{name} has another memory order after an iteration of this loop than before it, which decides whether its reshape is a view; "
            "apply np.ascontiguousarray to the array that the loop assigns"
        )


def has_order(trace: Trace, storage: Storage) -> bool:
    """Whether a storage's order has to be found; otherwise it is C order, or an argument's own (``Strided``)."""
    return storage.made_by is not None or storage.value.type.ndim > 1 and bool(_origins(trace, storage))


def _before(trace: Trace, storage: Storage) -> list[Storage]:
    """Return the storages on whose order this one's depends."""
    if storage.made_by is not None:
        if storage.made_by.function is np.ascontiguousarray:
            return []
        return [x.storage for x in _arrays((storage.made_by.args, storage.made_by.kwargs), [])]
    return [x.storage for x in _origins(trace, storage)]


def _origins(trace: Trace, storage: Storage) -> list[Array]:
    """Return the arrays that a merged array may be: those of a branch's two paths, or of a loop's iterations."""
    numbers = getattr(trace, "numbers", None)
    whole = None if numbers is None else numbers.wholes.get(id(storage))
    return [] if numbers is None or whole is None else numbers.origins[id(whole)][1]


def _arrays(x: Any, found: list[Array]) -> list[Array]:
    if isinstance(x, Array):
        if x.type.ndim > 1:
            found.append(x)
    elif isinstance(x, (tuple, list)):
        for e in x:
            _arrays(e, found)
    elif isinstance(x, dict):
        _arrays([*x.values()], found)
    return found


class _Asked:
    """One query of memory orders: the axes found so far, by storage."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.axes: dict[int, tuple[int, ...]] = {}
        self.storages: dict[int, Storage] = {}

    def find(self, storage: Storage) -> None:
        """Find the axes of a storage and of all that it depends on; iterative, since a program may be long."""
        waiting, opened = [storage], set[int]()
        joined: list[tuple[Storage, list[Array]]] = []
        while waiting or joined:
            if not waiting:
                waiting += [o.storage for _, others in joined for o in others if id(o.storage) not in self.axes]
                if not waiting:
                    for made, others in joined:
                        if any(self.order_of(o) != self.axes[id(made)] for o in others):
                            raise UnknownOrder
                    return
            s = waiting[-1]
            if id(s) in self.axes:
                waiting.pop()
                continue
            self.storages[id(s)] = s
            origins = [] if s.made_by is not None else _origins(self.trace, s)
            if origins:  # assume the first origin's order; the others are compared below
                needed = [origins[0].storage]
            else:
                needed = _before(self.trace, s) if s.made_by is None or s.made_by.axes is None else []
            missing = [n for n in needed if id(n) not in self.axes]
            if missing:
                if any(id(n) in opened for n in missing):  # it depends on itself
                    raise UnknownOrder
                opened.add(id(s))
                waiting += missing
                continue
            waiting.pop()
            if origins:
                joined.append((s, origins))
                self.axes[id(s)] = self.order_of(origins[0])
            else:
                self.axes[id(s)] = self.of_storage(s)

    def keep(self) -> None:
        for key, storage in self.storages.items():
            if storage.made_by is not None:
                storage.made_by.axes = self.axes[key]

    def of_storage(self, storage: Storage) -> tuple[int, ...]:
        made_by, kind = storage.made_by, storage.value.type
        in_order = tuple(range(kind.ndim))
        if made_by is None:
            return in_order
        if made_by.axes is not None:
            return made_by.axes
        function, given = made_by.function, (made_by.args, made_by.kwargs)
        if function is np.ascontiguousarray or kind.ndim == 2 and function in _C_FOR_MATRICES:
            return in_order
        arrays = _arrays(given, [])
        is_row = function is operator.getitem and not isinstance(made_by.args[1], tuple)
        if "order" not in made_by.kwargs and (is_row or _keeps_c_order(function)):
            if all(map(self.is_c_array, arrays)):
                return in_order
        if not kind.is_static or not _is_library(function):
            raise UnknownOrder
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                args, kwargs = self.sample(given)
                found = function(*args, **kwargs)
            found = found if made_by.place is None else found[made_by.place]
        except Exception as error:  # zeros may be singular, or an index out of bounds: no answer
            if kind.ndim in (2, 3) and (getattr(function, "__module__", None) or "").startswith("numpy.linalg"):
                return in_order  # these are gufuncs, which return matrices, and a row of matrices, in C order
            raise UnknownOrder from error
        if not isinstance(found, np.ndarray) or found.shape != kind.shape:
            raise UnknownOrder
        return axes_of_memory(found)

    def sample(self, x: Any) -> Any:
        if isinstance(x, Array):
            return self.array(x)
        if isinstance(x, Scalar):
            one = x.type.dtype.type(1)
            return one.item() if x.type.weak else one
        if type(x) in (tuple, list):
            return type(x)(self.sample(e) for e in x)
        if type(x) is dict:
            return {k: self.sample(e) for k, e in x.items()}
        if type(x) is slice and any(isinstance(e, Traced) for e in (x.start, x.stop, x.step)):
            raise UnknownOrder
        if callable(x) and not isinstance(x, (type, np.dtype)):
            raise UnknownOrder
        return x

    def order_of(self, x: Array) -> tuple[int, ...]:
        return tuple(range(x.type.ndim)) if self.is_c_array(x) else axes_of_memory(self.array(x))

    def is_c_array(self, x: Array) -> bool:
        axes = self.axes.get(id(x.storage)) or tuple(range(x.storage.value.type.ndim))
        if is_contiguous(x.view) and axes == tuple(range(len(axes))):
            return True
        return x.type.is_static and bool(self.array(x).flags.c_contiguous)

    def array(self, x: Array) -> np.ndarray:
        storage = x.storage
        axes = self.axes.get(id(storage)) or tuple(range(storage.value.type.ndim))
        return looked_at(self.trace, storage, x.view, axes)


def looked_at(trace: Trace, storage: Storage, view: View | None, axes: tuple[int, ...]) -> np.ndarray:
    """Return a NumPy array that looks through the view into memory whose axes have this order.

    It holds the elements that are known while compiling, else zeros.
    """
    if isinstance(view, Strided):
        found = view.given.view()
        found.flags.writeable = False
        return found
    if view is None:
        kind = storage.value.type
        if not kind.is_static:
            raise UnknownOrder
        made = np.zeros([kind.shape[i] for i in axes], kind.dtype).transpose(np.argsort(axes))  # type: ignore[arg-type]
        known = known_content(trace, storage.value)
        if known is not None:
            made[...] = known
        return made
    outer = looked_at(trace, storage, view.outer, axes)  # type: ignore[attr-defined]
    if isinstance(view, Derived):
        return view.in_numpy(outer, view.bounds)
    assert isinstance(view, Part)
    if not all(e == ":" or e[0] == "i" or isinstance(e[3], int) for e in view.entries):
        raise UnknownOrder
    dims = [d for d in view.dims if d is not None]
    kept = [d for d, e in enumerate(view.entries) if e == ":" or e[0] == "s"]
    found = outer[tuple(map(_place, view.entries, outer.shape))].transpose([kept.index(d) for d in dims])
    return found[tuple(None if d is None else slice(None) for d in view.dims)]


def _place(entry: Any, n: int) -> Any:
    """Return a concrete index with the same step and length as a part's entry."""
    if entry == ":":
        return slice(None)
    if entry[0] == "i":
        return 0
    step, count = entry[2:]
    if step > 0:
        return slice(None, count * step, step)
    return slice(None, None if count * -step >= n else n - 1 + count * step, step)


def itself(x: Any) -> Any:
    """The identity; it stands for the call that makes an array in an argument's memory order."""
    return x


def is_contiguous(view: Any) -> bool:
    """Whether a view's elements are contiguous, provided that the memory it looks into is."""
    if view is None:
        return True
    if isinstance(view, Derived):
        return view.is_reshape and is_contiguous(view.outer)
    if not isinstance(view, Part) or not is_contiguous(view.outer):
        return False
    order = [d for d in view.dims if d is not None]
    if order != sorted(order):
        return False
    rest = list(view.entries)
    while rest and rest[0] != ":" and rest[0][0] == "i":
        rest.pop(0)
    if rest and rest[0] != ":" and rest[0][0] == "s" and rest[0][2] == 1:
        rest.pop(0)
    return all(e == ":" for e in rest)


def elementwise(*operands: Any) -> np.ndarray:
    """Return an array in the memory order that a ufunc of these operands would give."""
    flags = [*[["readonly"]] * len(operands), ["writeonly", "allocate"]]
    dtypes = [*[None] * len(operands), np.float64]
    return np.nditer([*operands, None], ["zerosize_ok"], flags, op_dtypes=dtypes).operands[-1]


@cache
def _keeps_c_order(function: Any) -> bool:
    """Whether a function gives arrays in C order for operands in C order."""
    if isinstance(function, np.ufunc):
        return function.signature is None
    if isinstance(function, Method):
        return function.name in _KEEP_METHODS
    is_operator = getattr(function, "__module__", None) == "_operator" and function not in _OTHER_OPERATORS
    return function is elementwise or function in _KEEP or is_operator or isinstance(bound_to(function), np.ufunc)


@cache
def _is_library(function: Any) -> bool:
    """Whether a function can be called again: it computes its result and has no effects."""
    module = (getattr(function, "__module__", None) or "").partition(".")[0]
    known = isinstance(function, (np.ufunc, Method)) or isinstance(bound_to(function), np.ufunc)
    return (
        function in (itself, elementwise)
        or function not in EFFECTS
        and (known or module in ("numpy", "scipy", "_operator", "operator", "builtins"))
    )


class Method:
    """A method of arrays as a function of the array and the method's arguments."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, self.name)(*args, **kwargs)


@cache
def method_named(name: str) -> Callable[..., Any]:
    """Return the unique ``Method`` object of this name."""
    return Method(name)
