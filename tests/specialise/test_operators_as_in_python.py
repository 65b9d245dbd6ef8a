"""Operators and built-in functions give Python's types, and raise Python's errors with its messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo


def truths(x, a):
    """Python's bools and NumPy's."""
    return [
        bool(a[0]), bool(a[0] > x), not a[0], a[0] > 1, any(a), all(a), any([a[0], a[1]]), all([x, a[1]]), any(y > 1 for y in a),
        any(a > 1), all(a[i] > x for i in range(2)), any([x, 0.0]), any([]), x in [1.0, 2.0], x in a, a[1] in [1.0],
        a[1] not in (3.0, x), [x] == [1.5], np.isfinite(x), math.isfinite(a[0]), len(a) > 2, np.any(a), a.any(), bool(np.any(a)),
        (x > 1) ^ (x > 2), (x > 1) & (a[0] > 1), 0 < a[0] < 2, 0 < x < 2, True if a[0] > 1 else False, x.is_integer(),
        False if a[0] > 1 else True,
    ]  # fmt: skip


def numbers(x, a):
    return [
        sum(a), max(a), min(x, a[0]), sum(y > 1 for y in a), a[0] and x, a @ [1, 2, 3], [1.0, 2.0, 3.0] @ a, (1,) + a[0], () + a[:0],
        [1, 2] - a[0], [1, 2, 3] * a, x.real + x.imag, [x] == x, [x] != x, -a, +a[1], ~(a > 1),
    ]  # fmt: skip


@pytest.mark.parametrize("f", [truths, numbers])
def test_types_and_values(target, f):
    x, a = 1.5, np.arange(3.0)
    for k, (found, expected) in enumerate(zip(mo.jit(f, target=target)(x, a), f(x, a), strict=True)):
        assert type(found) is type(expected), f"result {k} of {f.__name__}: {found!r}, Python gives {expected!r}"
        assert repr(found) == repr(expected)


RAISING = [
    lambda x, a: x @ [1], lambda x, a: [1.0] @ x, lambda x, a: a[0] @ [1], lambda x, a: x @ x, lambda x, a: x @ a,
    lambda x, a: a @ a[0], lambda x, a: np.matmul(x, [1.0]),
    lambda x, a: () + x, lambda x, a: [x] + x, lambda x, a: [1, 2] * x, lambda x, a: [1, 2] < x, lambda x, a: x - [x],
    lambda x, a: {1: 2} + x, lambda x, a: "a" + x, lambda x, a: x + "a", lambda x, a: None + x, lambda x, a: a + None,
    lambda x, a: x < "a", lambda x, a: -[x], lambda x, a: ~(x, x), lambda x, a: abs([x]), lambda x, a: abs("a") + x,
    lambda x, a: x[0], lambda x, a: len(x), lambda x, a: x(), lambda x, a: iter(x), lambda x, a: a[x], lambda x, a: a["b"],
    lambda x, a: np.arange(3)[x], lambda x, a: a.foo, lambda x, a: x.foo, lambda x, a: a[0].foo, lambda x, a: a[0, 0],
    lambda x, a: np.sum(a, axis=1), lambda x, a: 1.0 if a else 2.0, lambda x, a: int("abc") + x, lambda x, a: {}["k"],
    lambda x, a: range(x), lambda x, a: a[1:0.5], lambda x, a: sum(x), lambda x, a: max(x), lambda x, a: sorted(x),
    lambda x, a: x.sum(), lambda x, a: [x].shape, lambda x, a: (x, a).nothing, lambda x, a: {'x': x}.nothing,
]  # fmt: skip


@pytest.mark.parametrize("f", RAISING)
def test_errors(target, f):
    x, a = 1.5, np.arange(3.0)
    with pytest.raises(Exception) as python:
        f(x, a)
    with pytest.raises(Exception) as compiled:
        mo.jit(f, target=target)(x, a)
    assert (compiled.type, str(compiled.value)) == (python.type, str(python.value))


@pytest.mark.parametrize("convert", [int, round, math.floor, math.ceil, math.trunc])
def test_a_float_as_an_int_raises_what_can_be_caught(target, convert):
    def f(x):
        return convert(x)

    def caught(x):
        try:
            return convert(x)
        except (OverflowError, ValueError):
            return -1

    raising, catching = mo.jit(f, target=target), mo.jit(caught, target=target)
    assert catching(2.5) == caught(2.5)
    for x in (math.inf, -math.inf, math.nan):
        assert catching(x) == -1
        with pytest.raises(Exception) as python:
            convert(x)
        with pytest.raises(Exception) as compiled:
            raising(x)
        assert (compiled.type, str(compiled.value)) == (python.type, str(python.value))


def test_a_finite_float_beyond_64_bits_is_no_error_of_pythons(target):
    def caught(x):
        try:
            return int(x)
        except OverflowError:
            return -1

    with pytest.raises(OverflowError, match="64 bits"):
        mo.jit(caught, target=target)(1e30)


class OnlyEqual:
    """A class whose ``!=`` is what Python derives from ``==``."""

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        if isinstance(other, str):
            return NotImplemented
        return self.x == (other.x if isinstance(other, OnlyEqual) else other)

    __hash__ = None


def compared(x):
    a = OnlyEqual(x)
    return a != OnlyEqual(2.0), a != 2.0, 2.0 != a, a != x, a != "text", a == "text", not a != 3.0


def test_unequal_of_a_class_that_defines_only_equal(target):
    f = mo.jit(compared, target=target)
    for x in (2.0, 3.0):
        assert f(x) == compared(x)
