"""The values that stand for numbers and arrays while a program is specialised, and what they are made of.

``Scalar`` stands for a number, which cannot change; ``Array`` for an array, which can: it looks into a ``Storage``, and a
view looks into the same one through an index.  A write replaces the storage's value by a new one (typed IR has no
mutation), so that every view of it sees the change.

Both have Python's operators and NumPy's protocols, so that code which is not interpreted (a C function that calls back,
a generated ``__init__``) can handle them too; what needs a concrete number raises ``NeedsConcrete``.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

from ..errors import BadInput
from ..ir.builder import Builder
from ..ir.dynamic import Value
from ..ir.typed import ArrayType, Dim

WHOLE = "an array that is not known while compiling, read by compiled code"


class NeedsConcrete(BadInput):
    """A number has to be known while the program is compiled; ``value`` is the one that is not.

    ``leaves`` are the positions of the arguments' numbers and arrays from which it is computed; None if it comes from
    elsewhere, too.  ``is_of_c``: a function asked for it that is not interpreted.
    """

    def __init__(self, value: Value, what: str) -> None:
        super().__init__(what)
        self.value = value
        self.leaves = current().leaves_behind(value) if Trace.stack else None
        self.is_of_c = False
        if Trace.stack:
            current().asked = self


class Storage:
    """The memory of arrays: its present value, an array with C order.

    ``tied`` says why it must not be written to: it may or may not be the same memory as another.  ``is_read_only``: NumPy
    does not let it be written to, ``is_refused``: which the program tries.  ``is_viewed`` and ``is_copied``: because of
    the order in which its elements stand in memory, as NumPy's reshape does.  ``made_by`` tells the order of a new array in
    NumPy (``surface.memory_order``), ``born`` how many there were before.
    """

    __slots__ = (
        *("born", "is_copied", "is_read_only", "is_refused", "is_viewed", "made_by", "region", "tied", "value"),
    )
    count: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, value: Value, is_read_only: bool = False) -> None:
        self.value = value
        self.tied = ""
        self.is_read_only = is_read_only
        self.is_refused = False
        self.is_viewed = self.is_copied = False
        self.made_by: Any = None
        self.born = next(Storage.count)
        self.region = current().region if Trace.stack else None


class View:
    """How an array looks into a storage: the part ``spec`` of it, then transposed or reshaped.

    ``read`` gives the array's value from the storage's, ``write`` the storage's new value from the array's new value.
    """

    __slots__ = ("read", "write")
    is_read_only = False  # NumPy does not let it be written to

    def __init__(self, read: Callable[[Value], Value], write: Callable[[Value, Value], Value]) -> None:
        self.read = read
        self.write = write

    def after_run(self, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
        """The view as NumPy takes it of the storage's memory; its second argument is what holds the indices and lengths.

        ``number`` says how one of these is read.
        """
        raise NotImplementedError


class Traced:
    """A number or an array of the program that is specialised."""

    __slots__ = ()
    __hash__ = object.__hash__
    __array_priority__ = 1000
    type: ArrayType

    shape = property(lambda self: tuple(length(n) for n in self.type.shape))
    dtype = property(lambda self: self.type.dtype)
    ndim = property(lambda self: self.type.ndim)

    def __bool__(self) -> bool:
        raise NeedsConcrete(current().value(self), "the truth of a number that is not known while compiling")

    def __index__(self) -> int:
        return current().concrete(self, "an integer that is not known while compiling")

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        raise NeedsConcrete(
            current().value(self), "a number that is not known while compiling, made a float by compiled code"
        )

    __complex__ = __float__

    def __str__(self) -> str:
        raise NeedsConcrete(
            current().value(self),
            "the text of a number that is not known while compiling (an f-string of it can be printed, and be a message)",
        )

    def __format__(self, style: str) -> str:
        return str(self)

    __repr__ = __str__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsConcrete(current().value(self), WHOLE)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return current().call(function, *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return current().call(function, *args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise BadInput(
            "a number or an array that is not known while compiling cannot be pickled; return it, or use mo.callback"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return current().attribute(self, name)

    def __getitem__(self, index: Any) -> Any:
        return current().call(operator.getitem, self, index)

    def __setitem__(self, index: Any, x: Any) -> None:
        current().call(operator.setitem, self, index, x)

    def __iter__(self) -> Any:
        return current().iterate(self)

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("object of type 'float' has no len()")
        n = self.type.shape[0]
        if isinstance(n, Dim):
            raise NeedsConcrete(n.value, "the length of an array that is not known while compiling")
        return n


class Scalar(Traced):
    """A number: Python's own if its type is weak, else NumPy's."""

    __slots__ = ("ir",)

    def __new__(cls, ir: Value) -> Scalar:
        return object.__new__(_class_of(ir.type.dtype, ir.type.weak))

    def __init__(self, ir: Value) -> None:
        self.ir = ir

    @property
    def type(self) -> ArrayType:  # type: ignore[override]
        return self.ir.type


@lru_cache(maxsize=256)
def _class_of(dtype: Any, weak: bool) -> type[Scalar]:
    """A class of the name that Python's own messages have for a number."""
    one = dtype.type(0)
    kind = type(one.item()) if weak or dtype.kind == "b" else type(one)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return type(name, (Scalar,), {"__slots__": ()})


class Array(Traced):
    """An array (of no dimensions too, as ``np.zeros(())``), or a view of one."""

    __slots__ = ("storage", "view", "type", "region")

    def __init__(self, storage: Storage, view: View | None = None, type: ArrayType | None = None) -> None:
        self.storage = storage
        self.view = view
        self.type = type or storage.value.type
        self.region = current().region if Trace.stack else None

    @property
    def is_read_only(self) -> bool:
        return self.storage.is_read_only or self.view is not None and self.view.is_read_only

    def check_writeable(self, text: str) -> None:
        if self.is_read_only:
            self.storage.is_refused = True
            raise ValueError(text)


Array.__name__ = "numpy.ndarray"  # in Python's messages


def length(n: int | Dim) -> Any:
    """The length of a dimension as a Python int, or the number that stands for it."""
    return Scalar(current().builder.python_int(n.value)) if isinstance(n, Dim) else n


class Trace:
    """What is going on while a program is specialised; ``specialise.interpreter`` has the rest of it."""

    builder: Builder
    region: Any = None  # of the program, in which what is made now is new
    target: str = "native"  # what the program is compiled for
    overflow_check: bool = True  # whether a Python int that 64 bits do not hold is an error
    is_strong: bool = False  # whether backward sweeps have the products of ``strong_zero``
    asked: NeedsConcrete | None = None  # what had to be known last
    level: int = 0  # how many derivatives are taken of what is being traced
    stack: ClassVar[list[Trace]] = []

    def value(self, x: Any) -> Value:
        """The value of a traced number or array, or of a constant: a number, an array, a (nested) list of these."""
        raise NotImplementedError

    def wrap(self, value: Value) -> Any:
        """What stands for a value: a new array of its own, or a number (a constant one is itself)."""
        raise NotImplementedError

    def write(self, array: Array, value: Value) -> None:
        """Replace an array's elements; ``value`` has exactly its type."""
        raise NotImplementedError

    def concrete(self, x: Any, what: str) -> Any:
        """x as a Python int, if it is known while compiling.

        Raises:
            NeedsConcrete: it is not; ``what`` says what it was needed for.
        """
        raise NotImplementedError

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call any function from here: traced if it has arguments that are, else as it is."""
        raise NotImplementedError

    def unchecked(self, function: Callable[..., Any], *args: Any) -> Any:
        """A call of arithmetic on indices and lengths, for which no check of overflow is written."""
        before, self.overflow_check = self.overflow_check, False
        try:
            return self.call(function, *args)
        finally:
            self.overflow_check = before

    def attribute(self, x: Any, name: str) -> Any:
        raise NotImplementedError

    def iterate(self, x: Any) -> Any:
        raise NotImplementedError

    def where(self) -> str:
        """The user's function, file and line that is being traced."""
        raise NotImplementedError

    def leaves_behind(self, value: Value) -> frozenset[int] | None:
        """The positions of the arguments' leaves from which a value is computed; None if not from these alone."""
        return None


def current() -> Trace:
    """The trace that is going on."""
    return Trace.stack[-1]


FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""What a function does on traced values: ``FUNCTIONS[np.sum](trace, x, axis=0)``, with the function's own signature."""

EFFECTS: set[Any] = set()
"""Those of them that are a part of the program whatever their arguments are: others are run while compiling if all is known."""

BY_RULE: dict[Any, Callable[..., bool]] = {}
"""Composites that their rule differentiates, not the primitives that they are traced to: its convention at a kink is another.

``BY_RULE[np.max](x, initial=0.0)`` says whether that holds for a call with these arguments.
"""

METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of traced numbers and arrays: ``METHODS["sum"](trace, x, axis=0)``."""

ATTRIBUTES: dict[str, Callable[..., Any]] = {}
"""Attributes of traced numbers and arrays: ``ATTRIBUTES["T"](trace, x)``."""


# A callable object whose class has ``__morula_trace__(self, trace, *args, **kwargs)`` says itself what it does on traced
# values, as derivatives and compiled functions do.


def traces(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions do on traced values."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, body))
        return body

    return register


ALWAYS: dict[Any, Callable[..., Any]] = {}
"""What morula's own functions do in a traced program whatever their arguments are: ``ALWAYS[pullback](trace, f, x)``."""


def always_traces(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions of morula do in a traced program."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        ALWAYS.update(dict.fromkeys(functions, body))
        return body

    return register


def by_rule(*functions: Any, when: Callable[..., bool] = lambda *args, **kwargs: True) -> None:
    """Register composites that are differentiated by their rule, for the arguments for which ``when`` holds."""
    BY_RULE.update(dict.fromkeys(functions, when))


def _binary(function: Any) -> tuple[Any, Any]:
    return lambda a, b: current().call(function, a, b), lambda a, b: current().call(function, b, a)


def _unary(function: Any) -> Any:
    return lambda a: current().call(function, a)


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _function = getattr(operator, _name + "_" if _name in ("and", "or") else _name)
    _forward, _reflected = _binary(_function)
    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _reflected)
    setattr(Traced, f"__i{_name}__", _binary(getattr(operator, "i" + _name))[0])
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Traced, f"__{_name}__", _binary(getattr(operator, _name))[0])
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _unary(getattr(operator, _name)))
Traced.__hash__ = object.__hash__  # type: ignore[method-assign]
