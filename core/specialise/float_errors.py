"""``np.errstate``: where it asks for ``raise``, each operation of NumPy is followed by a check of its operands and results.

So it is where a warning filter of the program turns NumPy's warnings into errors.

NumPy reads the flags of the processor, which compiled code does not set in the same way.  The flags of an operation follow
from its operands and its result: a NaN of operands that are none is an invalid operation, an infinity of finite operands
a division by zero or an overflow.  Operations whose flags are not known in this way are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir import typed
from ..ir.builder import Builder
from ..ir.dynamic import Value
from .filters import action, own_filters
from .traced import EFFECTS, traces

_ERRORS = ("divide", "over", "under", "invalid")
_TEXTS = {"divide": "divide by zero", "over": "overflow", "under": "underflow", "invalid": "invalid value"}

_SILENT = frozenset(
    (
        np.negative,
        np.positive,
        np.absolute,
        np.fabs,
        np.sign,
        np.copysign,
        np.floor,
        np.ceil,
        np.trunc,
        np.rint,
        np.where,
    )
    + (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.maximum, np.minimum, np.fmax)
    + (np.fmin, np.isnan, np.isinf, np.isfinite, np.signbit, np.conjugate, np.max, np.min, np.argmax, np.argmin, np.any)
    + (np.all, typed.full, typed.broadcast_to, typed.reshape, typed.transpose, typed.iota, typed.concatenate)
    + (typed.getitem, typed.setitem, typed.raise_if, typed.callback, typed.debug_print)
)
"""Operations that set no flags."""

_CHECKED: dict[Any, tuple[str, ...]] = {
    np.matmul: ("over", "under", "invalid"),
    np.add: ("over", "invalid"),
    np.subtract: ("over", "invalid"),
    np.multiply: ("over", "under", "invalid"),
    np.true_divide: _ERRORS,
    np.reciprocal: _ERRORS,
    np.power: _ERRORS,
    np.square: ("over", "under"),
    np.sqrt: ("invalid",),
    np.exp: ("over", "under"),
    np.expm1: ("over", "under"),
    np.log: ("divide", "invalid"),
    np.log2: ("divide", "invalid"),
    np.log10: ("divide", "invalid"),
    np.log1p: ("divide", "under", "invalid"),
    np.sin: ("under", "invalid"),
    np.cos: ("invalid",),
    np.tan: ("under", "invalid"),
    np.arcsin: ("under", "invalid"),
    np.arccos: ("invalid",),
}
"""The flags that an operation on real numbers may set."""

_OF_SCALARS = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.true_divide: "divide",
    np.power: "power",
    np.square: "power",  # x ** 2
}
"""What NumPy calls the operators on numbers: ``scalar divide``."""

_INTEGER = frozenset(
    (np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.power, np.negative, np.absolute, np.square)
)


_UNCLEAR = (
    "whether this product of matrices overflows, as np.errstate(...='raise') asks, depends on the order of its sums, since some numbers "
    "are not finite; test them with np.isfinite"
)


class Watch:
    """Adds the checks to a program, as ``watch`` of its builder."""

    def __init__(self, trace: Any) -> None:
        self.trace, self.builder = trace, trace.builder
        self.modes, self.filters = np.geterr(), own_filters(trace)
        self.names: dict[Any, str] = {}  # what NumPy calls operations that are written for another function

    def exception(self, error: str, text: str) -> type[Exception] | None:
        """Return what is raised for an error: by NumPy, or by a filter that turns its warning into an error."""
        if self.modes[error] != "warn":
            return FloatingPointError if self.modes[error] == "raise" else None
        module = self.trace.scopes[-1].globals.get("__name__", "") if self.trace.scopes else ""
        how = action(self.filters, RuntimeWarning, text, module, int(self.builder.line))
        return RuntimeWarning if how == "error" else None

    @property
    def is_needed(self) -> bool:
        is_error = (how == "error" and issubclass(RuntimeWarning, kind) for how, _, kind, *_ in self.filters)
        return "raise" in self.modes.values() or "warn" in self.modes.values() and any(is_error)

    def __call__(self, callee: Any, operands: Sequence[Value], results: Sequence[Value]) -> None:
        if callee in _SILENT or all(v.type.weak for v in results):
            return
        kinds = {v.type.dtype.kind for v in (*operands, *results) if v.type is not None}
        if not kinds & {"f", "c"} or callee is typed.cast and _is_silent_cast(operands[0], results[0]):
            return
        flags = _CHECKED.get(callee)
        if flags is None or "c" in kinds:
            self.refuse(getattr(callee, "__name__", str(callee)))
        name = "divide" if callee is np.true_divide else self.names.get(callee, callee.__name__)
        if callee in _OF_SCALARS and not results[0].type.shape:
            name = f"scalar {_OF_SCALARS[callee]}"
        self.builder.watch = None  # the checks themselves are not watched
        try:
            for error in flags or ():
                text = f"{_TEXTS[error]} encountered in {name}"
                exception = self.exception(error, text)
                if exception is not None and error == "under":
                    self.refuse(name, "underflow of ")
                if exception is not None:
                    self.builder.raise_if(self.holds(error, callee, operands, results[0]), exception, text)
        finally:
            self.builder.watch = self

    def refuse(self, name: str, what: str = "") -> None:
        raise BadInput(
            f"compiled code cannot raise NumPy's floating-point errors of {what}{name}, as np.errstate(...='raise') or a warning filter "
            "'error' asks; test the values with np.isfinite, or leave out under='raise' (also in all='raise')"
        )

    def refuse_integers(self, ufunc: np.ufunc, kinds: str) -> None:
        """Refuse an operation on NumPy's integers that may overflow or divide by zero."""
        if ufunc in _INTEGER and set(kinds) <= set("iub"):
            self.refuse(f"{ufunc.__name__} of integers")

    def holds(self, error: str, callee: Any, operands: Sequence[Value], y: Value) -> Value:
        """Return whether an operation sets a flag."""
        write = self.builder.ufunc

        def all_of(first: Value, *rest: Value) -> Value:
            for x in rest:
                first = write(np.logical_and, first, x)
            return first

        if callee is np.matmul:
            holds = self.in_product(error, operands, y)
        elif error == "invalid":
            holds = all_of(write(np.isnan, y), *(write(np.logical_not, write(np.isnan, x)) for x in operands))
        else:
            pole = self.pole(callee, operands)
            holds = all_of(write(np.isinf, y), *(write(np.isfinite, x) for x in operands))
            if error == "divide":
                assert pole is not None
                holds = all_of(holds, pole)
            elif pole is not None:
                holds = all_of(holds, write(np.logical_not, pole))
        return self.builder.reduce(np.any, holds, range(holds.type.ndim)) if holds.type.shape else holds

    def in_product(self, error: str, operands: Sequence[Value], y: Value) -> Value:
        """Return where a product of matrices sets a flag.

        Of an element made of numbers that are not all finite, the order of the sum may decide about overflow: the program ends there.
        """
        builder, write = self.builder, self.builder.ufunc

        def product_of(test: Any) -> Value:
            """Return the number of operands that meet a test, for each element."""
            one = [builder.broadcast_to(builder.constant(1.0, x.type.dtype), x.type.shape) for x in operands]
            zero = builder.constant(0.0, y.type.dtype)
            met = [builder.where(write(test, x), o, zero) for x, o in zip(operands, one)]
            return write(np.add, builder.matmul(met[0], one[1]), builder.matmul(one[0], met[1]))

        none = write(np.equal, product_of(np.isnan), builder.constant(0.0))
        if error == "invalid":
            return write(np.logical_and, write(np.isnan, y), none)
        finite = write(np.logical_and, none, write(np.equal, product_of(np.isinf), builder.constant(0.0)))
        kept = [builder.where(write(np.isfinite, x), x, builder.constant(0.0, x.type.dtype)) for x in operands]
        overflows = write(np.logical_not, write(np.isfinite, builder.matmul(*kept)))
        unclear = write(np.logical_and, overflows, write(np.logical_not, finite))
        if unclear.type.shape:
            unclear = builder.reduce(np.any, unclear, range(unclear.type.ndim))
        builder.end_if(unclear, BadInput, _UNCLEAR)
        return write(np.logical_and, overflows, finite)

    def pole(self, callee: Any, operands: Sequence[Value]) -> Value | None:
        """Return where finite operands give an exact infinity; None if an operation has no such place."""
        write, zero = self.builder.ufunc, self.builder.constant(0.0)
        if callee is np.power:
            return write(np.logical_and, write(np.equal, operands[0], zero), write(np.less, operands[1], zero))
        if callee in (np.true_divide, np.reciprocal):
            return write(np.equal, operands[-1], zero)
        if "divide" in _CHECKED[callee]:
            return write(np.isfinite, operands[0])
        return None


@contextmanager
def named(builder: Builder, callee: Any, name: str) -> Iterator[None]:
    """Let errors of an operation tell another name in the block."""
    watch = builder.watch
    if not isinstance(watch, Watch):
        yield
        return
    watch.names[callee] = name
    try:
        yield
    finally:
        del watch.names[callee]


def _is_silent_cast(x: Value, y: Value) -> bool:
    return np.can_cast(x.type.dtype, y.type.dtype) or x.type.dtype.kind in "iub" and y.type.dtype.kind in "fc"


def follow(trace: Any) -> None:
    """Let what is written from now on do what the state of NumPy's errors, and the program's warning filters, ask for."""
    if not set(np.geterr().values()) <= {"ignore", "warn", "raise"}:
        raise BadInput(
            "compiled code does not print, log or call functions for NumPy's floating-point errors (np.errstate); test the values "
            "with np.isfinite"
        )
    watch = Watch(trace)
    trace.builder.watch = watch if watch.is_needed else None


@contextmanager
def unchanged(builder: Builder) -> Iterator[None]:
    """Restore what is followed at the end of the block."""
    before = builder.watch
    try:
        yield
    finally:
        builder.watch = before


def around_a_program() -> np.errstate:
    """Return the state for compiling: what the caller asks to raise or report has no effect on compiled code."""
    return np.errstate(**{error: how if how == "ignore" else "warn" for error, how in np.geterr().items()})


@traces(np.seterr)
def seterr(trace: Any, **how: Any) -> Any:
    if not set(how.values()) <= {"ignore", "warn", None}:
        raise BadInput(
            "compiled code cannot change by np.seterr what NumPy raises or reports; use `with np.errstate(...)`"
        )
    return np.seterr(**how)


EFFECTS.add(np.seterr)
