"""Runs a function on traced values, without interpreting its source, and compares its typed IR with NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType
from morula.core.passes.index_proofs import without_checks
from morula.core.specialise import surface
from morula.core.specialise.traced import (
    ATTRIBUTES,
    FUNCTIONS,
    METHODS,
    Array,
    NeedsConcrete,
    Scalar,
    Storage,
    Trace,
    Traced,
)


class Straight(Trace):
    """A trace of a program without control flow, run by Python itself."""

    overflow_check = False  # which would name the user's line, and that is not known here
    may_choose = False

    def __init__(self) -> None:
        self.builder = Builder()
        self.wanted = set()
        self.matrices = {}

    def sees(self, kind: type) -> bool:
        return False

    def value(self, x: Any) -> Value:
        if isinstance(x, Scalar):
            return x.ir
        if isinstance(x, Array):
            return x.storage.value if x.view is None else x.view.read(x.storage.value)
        if isinstance(x, (list, tuple)) and surface.arguments.holds_traced(x):
            return surface.arguments.value(self, x)
        return self.builder.constant(x)

    def wrap(self, value: Value) -> Any:
        if value.type.shape:
            return Array(Storage(value))
        if value.is_constant:
            return value.constant.item() if value.type.weak else value.constant
        return Scalar(value)

    def write(self, array: Array, value: Value) -> None:
        assert value.type == array.type, (value.type, array.type)
        array.storage.value = value if array.view is None else array.view.write(array.storage.value, value)

    def concrete(self, x: Any, what: str) -> Any:
        if isinstance(x, Traced):
            v = self.value(x)
            if not v.is_constant:
                raise NeedsConcrete(v, what)
            return v.constant.item()
        return operator.index(x)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        body = FUNCTIONS.get(function) or surface.find(function)
        if body is not None:
            return body(self, *args, **kwargs)
        kwargs = {k: v for k, v in kwargs.items()}
        implementation = getattr(function, "_implementation", function)
        return implementation(*args, **kwargs)

    def attribute(self, x: Any, name: str) -> Any:
        if name in ATTRIBUTES:
            return ATTRIBUTES[name](self, x)
        if name in METHODS:
            return lambda *args, **kwargs: METHODS[name](self, x, *args, **kwargs)
        raise AttributeError(name)

    def iterate(self, x: Any) -> Iterator[Any]:
        return (self.call(operator.getitem, x, i) for i in range(len(x)))


def kind_of(x: Any) -> ArrayType:
    if type(x) in (bool, int, float, complex):
        return ArrayType(np.dtype(type(x)), (), True)
    return ArrayType(np.asarray(x).dtype, np.shape(x))


def traced(f: Callable[..., Any], *args: Any) -> tuple[Function, Any, list[Any]]:
    """The typed function, its result as traced values, and the arguments as they are traced."""
    trace = Straight()
    parameters = [Value(f"x{i}", kind_of(x)) for i, x in enumerate(args)]
    Trace.stack.append(trace)
    try:
        given = [
            Array(Storage(p)) if isinstance(x, np.ndarray) else Scalar(p) for p, x in zip(parameters, args, strict=True)
        ]
        with trace.builder.block() as block:
            result = f(*given)
            leaves: list[Any] = []
            flatten(result, leaves)
            block.results = [trace.value(x) for x in (*leaves, *(g for g in given if isinstance(g, Array)))]
    finally:
        Trace.stack.pop()
    return verify(Function(getattr(f, "__name__", "f"), parameters, block)), result, leaves


def flatten(x: Any, found: list[Any]) -> None:
    if isinstance(x, (tuple, list)):
        for e in x:
            flatten(e, found)
    elif x is not None:
        found.append(x)


def check(f: Callable[..., Any], *args: Any, rtol: float = 1e-12) -> Function:
    """f on traced values computes what it does on real ones: values, dtypes, shapes, Python's numbers, changed arguments."""
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in args]
    with np.errstate(all="ignore"):
        expected: list[Any] = []
        flatten(f(*copies), expected)
    function, _, leaves = traced(f, *args)
    count = len(leaves)
    changed = [c for c in copies if isinstance(c, np.ndarray)]
    for once_more in (function, without_checks(function)):
        found = evaluate(verify(once_more), args)
        for x, y, leaf in zip(found, [*expected, *changed], [*leaves, *changed], strict=True):
            same(x, y, leaf, rtol, function)
    assert len(expected) == count
    return function


def same(x: Any, y: Any, leaf: Any, rtol: float, function: Function) -> None:
    assert np.shape(x) == np.shape(y), f"{np.shape(x)} is not {np.shape(y)}\n{function}"
    if isinstance(leaf, Traced):
        is_python = type(y) in (bool, int, float, complex)
        assert leaf.type.weak == is_python, f"{leaf.type} for a {type(y).__name__}\n{function}"
        assert isinstance(leaf, Array) == isinstance(y, np.ndarray), f"{leaf} for {y!r}"
    assert np.asarray(x).dtype == np.asarray(y).dtype, f"{np.asarray(x).dtype} is not {np.asarray(y).dtype}\n{function}"
    np.testing.assert_allclose(x, y, rtol=rtol if np.asarray(y).dtype != np.float32 else 1e-5, atol=1e-14)


def raises_when_run(f: Callable[..., Any], *args: Any, error: type[Exception]) -> None:
    """The compiled program raises what Python does."""
    with pytest.raises(error):
        f(*args)
    function, _, _ = traced(f, *args)
    with pytest.raises(error):
        evaluate(function, args)


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Trace a call of a C function such as ``math.sin`` or ``float``."""
    return Trace.stack[-1].call(function, *args, **kwargs) if Trace.stack else function(*args, **kwargs)
