"""Python functions traced into a builder's program: this puts derivative rules into typed programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.builder import Builder
from ..ir.dynamic import Value
from ..rules.connected import connected
from .program import Interpreter
from .raising import OneOf
from .traced import Trace, Traced


def trace_into(builder: Builder, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Record ``function(*args, **kwargs)`` in a builder's program, with IR values for numbers and arrays.

    Returns the function's result with IR values in place of numbers and arrays, also inside tuples and lists; anything
    else (None, say) is returned unchanged.
    """
    trace = Interpreter()
    trace.builder = builder
    trace.frames.append(builder.out)
    trace.overflow_check = False  # rules compute with indices and lengths, which are small
    # A rule is differentiated as often as the code around it.
    trace.level = max(Trace.stack[-1].level if Trace.stack else 0, builder.least_level)
    Trace.stack.append(trace)
    try:
        return _values(trace, trace.call(function, *_wrapped(trace, tuple(args)), **kwargs))
    except OneOf as error:  # a refusal of the rule: around a single call, no program ends with it
        if len(Trace.stack) > 1 or len(error.raised.errors) > 1:
            raise
        raise error.raised.errors[0] from None
    finally:
        Trace.stack.pop()


def trace_program(
    builder: Builder, program: Callable[..., Any], args: Sequence[Any], constants: dict[str, Any], target: str
) -> Any:
    """Record a program for a target from its source, also if the function is one that compiled code calls; else as ``trace_into``."""

    trace = Interpreter()
    trace.builder, trace.target, trace.overflow_check = builder, target, False
    trace.frames.append(builder.out)
    Trace.stack.append(trace)
    try:
        found: Any = trace.calls.interpret(program, _wrapped(trace, tuple(args)), constants)  # type: ignore[arg-type]
        return tuple(map(trace.value, found)) if isinstance(found, (tuple, list)) else trace.value(found)
    except OneOf as error:
        raise error.raised.errors[0] from None
    finally:
        Trace.stack.pop()


def _wrapped(trace: Interpreter, x: Any) -> Any:
    if isinstance(x, Value):
        trace.builder.integers.lengths(x.type)
        return trace.wrap(x)
    return tuple(_wrapped(trace, e) for e in x) if type(x) is tuple else x


def _values(trace: Interpreter, x: Any) -> Any:
    if isinstance(x, Traced):
        return trace.value(x)
    if isinstance(x, (tuple, list)):
        return tuple(_values(trace, e) for e in x)
    return x


connected.trace_into = trace_into
connected.trace_program = trace_program
