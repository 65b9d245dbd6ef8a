"""A function call with its first and second derivatives, on every path that needs no compiler."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import morula as mo
from morula.core.eager.structured import functions as structured

_written = itertools.count()


def program_of(f: Any, args: Sequence[Any], kwargs: dict[str, Any], active: Sequence[int]) -> FunctionType:
    """A function of ``args[i]`` for ``i`` in ``active`` that calls ``f``, the others being constants of it.

    It is written out as Python source, with a parameter for each, because the structured tier reads no starred call.
    """
    names = [f"x{i}" if i in active else f"c{i}" for i in range(len(args))]
    given = [*names, *(f"{k}={k}_" for k in kwargs)]
    parameters = ", ".join(f"x{i}" for i in active)
    number = next(_written)
    text = f"def program_{number}({parameters}):\n    return f({', '.join(given)})\n"  # a name, and code, of its own
    file = f"<program {number} of a rule>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {"f": f, **{n: x for n, x in zip(names, args)}, **{f"{k}_": x for k, x in kwargs.items()}}
    exec(compile(text, file, "exec"), namespace)
    return namespace[f"program_{number}"]


@contextmanager
def recorded(*programs: Any) -> Iterator[None]:
    """Within it these programs are recorded on a tape; the structured tier does not take them."""
    codes = [p.__code__ for p in programs]
    structured._unstructured.update(dict.fromkeys(codes, "the test records it"))
    try:
        yield
    finally:
        for code in codes:
            structured._unstructured.pop(code, None)


def is_structured(program: FunctionType, point: Sequence[Any]) -> bool:
    """Whether the structured tier takes the program at these arguments."""
    return structured.compiled_for(program, tuple(point), (True,) * len(point)) is not None


def first_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(dy, *xs)`` -> the value and the cotangents of ``xs``."""

    def first(dy: Any, *xs: Any) -> Any:
        y, back = mo.pullback(program, *xs)
        return y, back(dy)

    return first


def pushed_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(txs, *xs)`` -> the value and its tangent for the tangents ``txs`` of ``xs``."""
    return lambda txs, *xs: mo.jvp(program, xs, txs)


def series_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(txs, *xs)`` -> the value and the coefficients of t and t^2 at xs + t txs."""
    return lambda txs, *xs: mo.taylor(program, xs, 2, tuple([t] for t in txs))


def forward_over_reverse_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(dy, txs, *xs)`` -> the tangents of the cotangents of ``xs`` for the tangents ``txs``."""
    return lambda dy, txs, *xs: mo.jvp(lambda *xs: mo.pullback(program, *xs)[1](dy), xs, txs)[1]


def second_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(dy, dg, *xs)`` -> the cotangents of ``xs`` from those, ``dg``, of the first derivative."""

    def second(dy: Any, dg: Any, *xs: Any) -> Any:
        return mo.pullback(lambda *xs: mo.pullback(program, *xs)[1](dy), *xs)[1](dg)

    return second


def all_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """``(dy, dg, *xs)`` -> the value, the first and the second derivative."""
    first, second = first_of(program), second_of(program)
    return lambda dy, dg, *xs: (*first(dy, *xs), second(dy, dg, *xs))
