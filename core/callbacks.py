"""``callback``: call Python from a compiled program, for code that cannot be compiled.

In plain Python it is an ordinary call.  On a tape it is one operation, whose derivative is the ``@adjoint`` of the
function.  Compiled programs call back into Python.  Each path checks the result against ``result_like``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .eager.recorded.call import call
from .eager.recorded.tape import Tape
from .eager.unrecorded.opaque_calls import call_opaque
from .errors import BadInput
from .ir.dynamic import Function, Value
from .ir.typed import callback as operation, custom, type_of
from .rules.connected import connected
from .rules.registry import ADJOINTS, HANDLERS, handles, key_of
from .source.definitions import describe
from .source.requirements import check_function, kind_of
from .specialise.traced import EFFECTS, Array, Scalar, Trace, Traced, traces
from .values import tree
from .values.cotangents import conform
from .values.layout import build, layout_of, scan


def callback(f: Callable[..., Any], result_like: Any, *args: Any) -> Any:
    """Return ``f(*args)``, run by Python even if the caller is compiled.

    Args:
        f: any function of numbers, arrays and containers of these.  Only its ``@adjoint`` gives its derivative;
            compiled programs run that in the backward pass.
        result_like: a number, array or container with the structure, shapes and dtypes of the result; None for a function
            that returns None and is called for its effect.
        *args: the arguments of ``f``.

    Returns:
        The result of ``f``.

    Raises:
        BadInput: the result differs from ``result_like`` in structure, shape or dtype.
        NoDerivative: a cotangent reaches the result, and ``f`` has no ``@adjoint``.

    >>> callback(lambda x: [float(e) for e in sorted(x)], [0.0, 0.0], np.array([3.0, 1.0]))
    [1.0, 3.0]
    """
    check_function(f)
    y = f(*args)
    checked_leaves(f, y, result_like)
    return y


@handles(callback)
def _recorded(tape: Tape, f: Callable[..., Any], result_like: Any, *args: Any) -> Any:
    check_function(f)
    y = call(tape, f, *args) if key_of(f) in HANDLERS else call_opaque(tape, f, args, {})
    checked_leaves(f, y, result_like)
    return y


def plain(x: Any) -> Any:
    """Return a copy of a structure whose arrays are C-contiguous and own their memory."""

    def leaf(path: tree.Path, x: Any) -> Any:
        return np.array(x, order="C") if type(x) is np.ndarray else x

    return tree.rebuild(x, leaf, is_leaf=lambda x: isinstance(x, (np.ndarray, Traced)), is_shared=False)


def checked_leaves(f: Any, y: Any, like: Any) -> list[Any]:
    """Return the leaves of ``y``, a callback's result; raise BadInput if structure or types differ from ``like``."""
    (found, form), (told, expected) = scan(plain(y)), scan(plain(like))
    if form != expected:
        raise BadInput(
            f"callback: {describe(f)} returned {_text(found)}, where result_like says {_text(told)}; pass a result_like with "
            "the structure, shapes and dtypes of the function's result"
        )
    return found


def _text(leaves: Sequence[Any]) -> str:
    kinds = [f"{kind_of(x)} of shape {x.shape}" if isinstance(x, np.ndarray) else kind_of(x) for x in leaves]
    return ", ".join(kinds) or "no numbers"


def native_form(x: Any, leaf: Any) -> Any:
    """Convert a typed program's value ``x`` to the kind of ``leaf``: array, NumPy number or Python number."""
    if isinstance(leaf, np.ndarray):
        return np.asarray(x)
    x = np.asarray(x)[()]
    return x if isinstance(leaf, np.generic) else x.item()


class Call:
    """The function that compiled code calls: takes the arguments' leaves as arrays, returns those of the result."""

    def __init__(self, f: Callable[..., Any], layout: Any, forms: Sequence[Any], like: Any) -> None:
        self.f, self.layout, self.forms, self.like = f, layout, forms, like
        self.__name__ = getattr(f, "__name__", type(f).__name__)

    def arguments(self, values: Sequence[Any]) -> Any:
        return build(self.layout, [native_form(np.array(x), form) for x, form in zip(values, self.forms)])

    def __call__(self, *values: Any) -> Any:
        leaves = checked_leaves(self.f, self.f(*self.arguments(values)), self.like)
        results = [np.asarray(x) for x in leaves]
        return results[0] if len(results) == 1 else tuple(results)


class PullBack(Call):
    """The pullback of an ``@adjoint`` for compiled code: takes arguments and cotangents, returns cotangents."""

    def __call__(self, *values: Any) -> Any:
        n = len(self.forms)
        args = self.arguments(values[:n])
        y, back = ADJOINTS[key_of(self.f)](*args)
        given = iter(values[n:])
        leaves = [native_form(next(given), y) if type_of(y).is_inexact else None for y in scan(self.like)[0]]
        found = back(build(layout_of(self.like), leaves))
        found = found if isinstance(found, tuple) and len(found) == len(args) else (found,)
        results: list[Any] = []
        for x, dx in zip(args, found, strict=True):
            parts = scan(x)[0]
            cotangents = [None] * len(parts) if dx is None else [dx] if len(parts) == 1 else scan(dx)[0]
            for part, cotangent in zip(parts, cotangents, strict=True):
                if type_of(part).is_inexact:
                    zero = np.zeros(np.shape(part), type_of(part).dtype)
                    results.append(zero if cotangent is None else np.asarray(conform(cotangent, part), zero.dtype))
        return results[0] if len(results) == 1 else tuple(results)


@traces(callback)
def _traced(trace: Trace, f: Callable[..., Any], result_like: Any, *args: Any) -> Any:
    from .specialise.python_functions import python_function

    check_function(f)
    f = python_function(f)
    result_like = plain(result_like)
    leaves, _ = scan(args, Traced)
    told, _ = scan(result_like, Traced)
    types = [x.type if isinstance(x, Traced) else type_of(x) for x in told]
    if not types and result_like is not None:
        raise BadInput(
            "callback: result_like contains no number or array; pass None for a function that returns None, or use "
            "morula.debug.print to print values"
        )
    operands = [trace.value(x) for x in leaves]
    forms = [_form(x) for x in leaves]
    like = build(layout_of(result_like, Traced), [_form(x) for x in told])
    function = Call(f, layout_of(args, Traced), forms, like)
    y = trace.builder.call(operation, operands, types, function=function)
    if key_of(f) in ADJOINTS and getattr(trace, "level", 0):
        y = with_pullback(trace, y, operands, PullBack(f, function.layout, forms, like))
    return build(layout_of(result_like, Traced), [trace.wrap(v) for v in y])


EFFECTS.add(callback)
connected.call_python = _traced


def _form(x: Any) -> Any:
    """Return a zero with the class, dtype and shape that a leaf will have at run time."""
    if isinstance(x, Array):
        return np.zeros(x.type.bounds, x.type.dtype)
    if isinstance(x, Scalar):
        number = x.type.dtype.type(0)
        return number.item() if x.type.weak else number
    return x


def with_pullback(trace: Trace, y: list[Value], x: list[Value], back: PullBack) -> list[Value]:
    """Return y as the results of a ``custom`` operation on x whose backward function calls ``back``."""
    parameters = [Value(v.name, v.type) for v in x]
    cotangents = [Value("dy", v.type) for v in y if v.type.is_inexact]
    types = [v.type for v in x if v.type.is_inexact]
    builder = trace.builder
    if not types or not cotangents:
        return y
    with builder.block() as block:
        block.results = builder.call(operation, [*parameters, *cotangents], types, function=back)
    backward = Function(f"{back.__name__}_backward", [*parameters, *cotangents], block)
    constants = {"n": len(y), "m": len(x), "backward": backward, "level": trace.level}
    return builder.call(custom, [*y, *x, *x], [v.type for v in y], **constants)
