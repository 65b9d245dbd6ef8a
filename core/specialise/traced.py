"""Traced values: the numbers and arrays of a program that is being specialised.

A ``Scalar`` is an immutable number.  An ``Array`` is mutable: it looks into a ``Storage``, directly or through a view.
A write replaces the storage's value by a new one (typed IR has no mutation), so every view of the storage sees it.

Both have Python's operators and NumPy's protocols, so that code which is not interpreted (a C function that calls back,
a generated ``__init__``) can use them too; an operation that needs a concrete number raises ``NeedsConcrete``.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from ..errors import BadInput
from ..ir.affine import Interval
from ..ir.builder import Builder
from ..ir.dynamic import Value
from ..ir.typed import ArrayType, Dim

WHOLE = "the content of an array"


class NeedsConcrete(BadInput):
    """A number must be known while compiling, but the traced ``value`` is not.

    ``leaves`` are the positions of the arguments' leaves from which it is computed, or None if it also depends on
    something else. ``is_of_c``: an uninterpreted function asked for the number.
    """

    def __init__(self, value: Value, what: str) -> None:
        super().__init__(what)
        self.value = value
        self.leaves = current().leaves_behind(value) if Trace.stack else None
        self.is_of_c = False
        if Trace.stack:
            current().asked = self


class Storage:
    """The memory of arrays; ``value`` holds its current elements in C order.

    ``tied`` says why it must not be written to: it may be the same memory as another storage.  ``is_read_only``: NumPy
    does not let it be written to; ``is_asked``: the program asked whether it does.  ``is_viewed`` and ``is_copied``: its order in
    memory decided that, for example, a reshape is a view or a copy.  ``made_by`` is the call that made the array, from
    which its order in NumPy is found (``surface.memory_order``); ``born`` numbers the storages in order of creation.
    """

    __slots__ = (*("born", "is_asked", "is_copied", "is_read_only", "is_viewed", "made_by", "region", "tied", "value"),)
    count: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self, value: Value, is_read_only: bool = False) -> None:
        self.value = value
        self.tied = ""
        self.is_read_only = is_read_only
        self.is_asked = False
        self.is_viewed = self.is_copied = False
        self.made_by: Any = None
        self.born = next(Storage.count)
        self.region = current().region if Trace.stack else None


class View:
    """How an array looks into a storage: a part of it, or a transformation of its elements.

    ``read`` computes the array's value from the storage's; ``write`` computes the storage's new value from its old one
    and the array's new value.
    """

    __slots__ = ("read", "write")
    is_read_only = False  # whether NumPy refuses writes

    def __init__(self, read: Callable[[Value], Value], write: Callable[[Value, Value], Value]) -> None:
        self.read = read
        self.write = write

    def after_run(self, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
        """Return a function that makes the view in NumPy after a run, from the storage's memory and the run's numbers.

        ``number`` returns the function that reads an index or a length among these numbers.
        """
        raise NotImplementedError


class Traced:
    """A number or an array that is known only when the program runs."""

    __slots__ = ()
    __array_priority__ = 1000
    type: ArrayType

    shape = property(lambda self: tuple(length(n) for n in self.type.shape))
    dtype = property(lambda self: self.type.dtype)
    ndim = property(lambda self: self.type.ndim)

    def __bool__(self) -> bool:
        raise NeedsConcrete(current().value(self), "the truth value of a number")

    def __hash__(self) -> int:
        if Trace.stack and current().is_hashing:
            raise NeedsConcrete(current().value(self), "the hash of a number")
        return object.__hash__(self)

    def __index__(self) -> int:
        return current().concrete(self, "the value of an integer")

    def __int__(self) -> int:
        return self.__index__()

    def __float__(self) -> float:
        raise NeedsConcrete(
            current().value(self),
            "the value of a number that is converted to float or complex; use NumPy's functions, or call the function through "
            "mo.callback",
        )

    __complex__ = __float__

    def __str__(self) -> str:
        raise NeedsConcrete(
            current().value(self),
            "the text of a number; it can only be printed, or be part of an exception's message, by an f-string",
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
            raise NeedsConcrete(n.value, "the length of an array")
        return n


class Scalar(Traced):
    """A number: Python's if its type is weak, else NumPy's."""

    __slots__ = ("ir",)

    def __new__(cls, ir: Value) -> Scalar:
        return object.__new__(_class_of(ir.type.number))

    def __init__(self, ir: Value) -> None:
        self.ir = ir

    @property
    def type(self) -> ArrayType:  # type: ignore[override]
        return self.ir.type


@lru_cache(maxsize=256)
def _class_of(kind: Any) -> type[Scalar]:
    """Return a class with the name that Python's own messages use for a number of class ``kind``."""
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return type(name, (Scalar,), {"__slots__": ()})


class Array(Traced):
    """An array, also 0-dimensional like ``np.zeros(())``, or a view of one.

    ``is_fixed``: the program has made it read-only (``setflags``), and so are views that are taken of it from then on.
    """

    __slots__ = ("is_fixed", "region", "storage", "type", "view")

    def __init__(self, storage: Storage, view: View | None = None, type: ArrayType | None = None) -> None:
        self.storage = storage
        self.view = view
        self.type = type or storage.value.type
        self.region = current().region if Trace.stack else None
        self.is_fixed = False

    def viewed(self, view: View | None, type: ArrayType) -> Array:
        """Return a view of this array."""
        made = Array(self.storage, view, type)
        made.is_fixed = self.is_fixed
        return made

    @property
    def is_read_only(self) -> bool:
        return self.is_fixed or self.storage.is_read_only or self.view is not None and self.view.is_read_only

    def check_writeable(self, text: str) -> None:
        if self.is_read_only:
            raise ValueError(text)


Array.__name__ = "numpy.ndarray"  # for Python's messages


class ArrayOfObjects:
    """An array of dtype object, whose entries may be traced: see ``object_arrays``."""

    __slots__ = ()


def length(n: int | Dim) -> Any:
    """Return a dimension's length as an int, or as a traced number."""
    return Scalar(current().builder.python_int(n.value)) if isinstance(n, Dim) else n


class Trace:
    """The state of tracing that traced values use; ``program.Interpreter`` implements the rest."""

    builder: Builder
    region: Any = None  # the region being traced: new objects belong to it
    target: str = "native"  # the back end that the program is compiled for
    overflow_check: bool = True  # whether a Python int beyond 64 bits is an error
    may_grow: bool = False  # see ``branches``
    may_unroll: bool = False  # see ``for_statements``
    wanted: set[str]  # the options that this trace lacks, and with which it would have gone on in another way
    capacity: int = 0  # of the lists that a loop makes longer: see ``growing_lists``
    has_capacity: bool = False  # whether such a list may become too long
    growing: int = 0  # in how many comprehensions that are loops the trace is
    roomy: dict[int, tuple[Any, int]]  # lists that cannot become longer than the capacity noted here, by id
    ranges: Mapping[int, Interval] = {}  # in which ints among the leaves may be assumed to lie: see ``assumed_ranges``
    assumed: set[int]  # the leaves for which that is assumed
    is_strong: bool = False  # whether backward sweeps use the products of ``strong_zero``
    asked: NeedsConcrete | None = None  # the last number that had to be known
    is_hashing: bool = False  # whether the hash of a key is being computed, which must be known
    checked: set[Value]  # the results of calls that raise nothing which a ``try`` could catch
    matrices: dict[Value, Value]  # the matrices of which factors were computed, by these: see ``surface.factors``
    known: dict[Value, Any]  # the contents of values that were needed while compiling: see ``constants``
    knows_patterns: bool  # whether contents of arrays of integers may be assumed
    patterns: set[Value]  # the parameters whose contents may be assumed: see ``know_pattern``
    consulted: set[Value]  # those of which they were
    called: list[Any]  # the functions of C code, and those that a program stands for, that are being called
    level: int = 0  # how many derivatives are taken of the traced code
    taylor_order: int = 0  # the order of the series that the innermost of them computes, if it does
    only_reverse: bool = False  # whether every derivative around is by reverse mode
    refuses: bool = False  # whether a value has no derivative by some other one: see ``no_derivative``
    by_hand: int = 0  # how many pullbacks of the user's own have been met: hooks and custom adjoints
    axes: dict[
        Any, Any
    ]  # the batches whose function is being traced: the names of their axes, with the numbers of samples
    level_of_batch: int = 0  # how many derivatives are taken around the innermost batch
    leaves_effects: bool = False  # whether what prints or logs is left to Python: see ``left_to_python``
    lowered: list[Any]  # the functions for which others stand that are being traced
    by_own_rule: list[Any]  # the functions with a rule for batches that are being traced for one sample
    batches: list[str]  # how each batch of the program is computed
    policies: list[Any]  # the memory policies of the program's checkpointed calls
    part_frame: Any = None  # the call for a part of a structure that is being traced: see ``parts``
    stack: ClassVar[list[Trace]] = []

    def allows(self, option: str) -> bool:
        """Return whether an option (``may_choose``, ``may_fork``, ``may_grow``, ``may_unroll``) is on; asked where it makes a difference."""
        if not getattr(self, option):
            self.wanted.add(option)
            return False
        return True

    def value(self, x: Any) -> Value:
        """Return the IR value of a traced value or of a constant: a number, an array, a (nested) list of these."""
        raise NotImplementedError

    def wrap(self, value: Value) -> Any:
        """Return a value as an object of the program: a new array, a traced number, or a known number."""
        raise NotImplementedError

    def write(self, array: Array, value: Value) -> None:
        """Replace an array's elements by ``value``, which has exactly the array's type."""
        raise NotImplementedError

    def concrete(self, x: Any, what: str) -> Any:
        """Return x as a Python int.

        Raises:
            NeedsConcrete: x is not known while compiling; ``what`` says what it is needed for.
        """
        raise NotImplementedError

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function: traced if an argument is traced, else at once."""
        raise NotImplementedError

    def unchecked(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call arithmetic on indices and lengths, without overflow checks."""
        before, self.overflow_check = self.overflow_check, False
        try:
            return self.call(function, *args)
        finally:
            self.overflow_check = before

    def attribute(self, x: Any, name: str) -> Any:
        raise NotImplementedError

    def iterate(self, x: Any) -> Any:
        raise NotImplementedError

    def is_parameter(self, value: Value) -> bool:
        """Whether a value is an argument of the program as it was given, or an array from outside of it."""
        return False

    def sees(self, kind: type) -> bool:
        """Whether a surrounding ``try`` sees exceptions of a class."""
        raise NotImplementedError

    def throw_one_of(self, condition: Any, which: Any, errors: list[Exception]) -> None:
        """Raise ``errors[which]`` if the condition holds, so that a ``try`` can catch it."""
        raise NotImplementedError

    def where(self) -> str:
        """Return the user's function, file and line that is being traced."""
        raise NotImplementedError

    def leaves_behind(self, value: Value) -> frozenset[int] | None:
        """Return the positions of the leaves that a value is computed from; None if it depends on anything else."""
        return None


def current() -> Trace:
    """Return the innermost trace."""
    return Trace.stack[-1]


FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Implementations of functions on traced values: ``FUNCTIONS[np.sum](trace, x, axis=0)``, with the function's own signature."""

EFFECTS: set[Any] = set()
"""Functions of ``FUNCTIONS`` that are always recorded; others run while compiling if all arguments are known."""

BY_RULE: dict[Any, Callable[..., bool]] = {}
"""Composite functions that are differentiated by their rule, since their tracing follows another convention at kinks.

``BY_RULE[np.max](x, initial=0.0)`` says whether that holds for a call with these arguments.
"""

METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of traced numbers and arrays: ``METHODS["sum"](trace, x, axis=0)``."""

ATTRIBUTES: dict[str, Callable[..., Any]] = {}
"""Attributes of traced numbers and arrays: ``ATTRIBUTES["T"](trace, x)``."""


# A callable object whose class defines ``__morula_trace__(self, trace, *args, **kwargs)`` traces its calls itself;
# derivatives and compiled functions do.


def traces(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions do on traced values, in ``FUNCTIONS``."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, body))
        return body

    return register


ALWAYS: dict[Any, Callable[..., Any]] = {}
"""Implementations of morula's own functions, used in every traced program: ``ALWAYS[pullback](trace, f, x)``."""


def always_traces(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions of morula do in a traced program, in ``ALWAYS``."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        ALWAYS.update(dict.fromkeys(functions, body))
        return body

    return register


def by_rule(*functions: Any, when: Callable[..., bool] = lambda *args, **kwargs: True) -> None:
    """Register composite functions that are differentiated by their rule where ``when`` holds for the arguments."""
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
