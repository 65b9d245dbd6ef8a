"""Texts of traced numbers: by f-strings, ``%``, ``format``, ``str``, ``repr``, ``join`` and by objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo


class TooLarge(Exception):
    """An exception that makes its own message."""

    def __init__(self, value, limit=1.0):
        super().__init__(f"{value:.2f} is over {limit}")
        self.value = value


class Told(ValueError):
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"told: {self.value:g}"


class Coded(RuntimeError):
    def __init__(self, message, *, code=3):
        super().__init__(message, code)
        self.code = code


class Reading:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Reading({self.x:.1f})"

    def __format__(self, style):
        return format(self.x, style or ".3f")


@dataclass
class Point:
    x: float


class Computed(Exception):
    pass


TEXTS = [
    lambda x: f"{x} {x!r} {x!s:>8} {x!r:>9} {x:.3e} {[x, (x,)]} {{'k': x}}", lambda x: "%s|%r|%5.1f|%-8.2f|%+g|%e|%%" % (x, x, x, x, x, x),
    lambda x: "one %s" % x, lambda x: "%(k)s %(n).2f" % {"k": x, "n": 2 * x}, lambda x: "%*d|%5s|%-8s|%x" % (5, 3, "a", x, 255),
    lambda x: "%d %i" % (x, 7), lambda x: "%s" % [x], lambda x: "{} {:>8.2f} {!r}".format(x, x, [x]), lambda x: "{0:.1f} {0} {n}".format(x, n=x),
    lambda x: "{0[1]} {1.x:.2f} {2:{w}}".format([1, x], Reading(x), 3, w=5), lambda x: ", ".join([str(x), repr(x), format(x, ".2f"), "a"]),
    lambda x: "; ".join(f"{k}={k * x:g}" for k in range(3)), lambda x: "x: " + str(x) + " " + repr([x]), lambda x: f"{Reading(x)} {Reading(x)!r}",
    lambda x: str(Reading(x)) + repr(Reading(x)) + "%s" % Reading(x), lambda x: f"{x:{'.2f' if x is not None else ''}}",
    lambda x: f"{Told(x)} {ValueError(x)} {ValueError(x, 1)!r} {TooLarge(x)!r}", 
    lambda x: "%s %s" % (x,), lambda x: "%s" % (x, x),  # noqa: F507
    lambda x: "{} {}".format(x),  # noqa: F524
    lambda x: "{:d}".format(x), lambda x: "%d" % "a", lambda x: f"{np.float32(2) * x} {int(x)} {x > 0}",
]  # fmt: skip

ERRORS = [
    lambda x: TooLarge(x), lambda x: TooLarge(x, limit=2 * x), lambda x: Told(x), lambda x: Coded("x=%g" % x, code=7), lambda x: Coded(f"{x}"),
    lambda x: KeyError("k", x, {"a": x, "b": [x]}), lambda x: ValueError(f"{x}", x), lambda x: TooLarge,
]  # fmt: skip


def raising(make):
    def f(x):
        if x < 0:
            raise make(x)
        return x

    return f


def describe(error):
    return (
        type(error).__name__,
        str(error),
        repr(error.args),
        repr(vars(error)),
        error.__cause__ and describe(error.__cause__),
    )


def outcome(f, x):
    try:
        return f(x)
    except mo.BadInput:
        raise
    except Exception as error:
        return describe(error)


def same_text(f, target, *values):
    compiled = mo.jit(f, target=target)
    for x in values:
        assert outcome(compiled, x) == outcome(f, x)


@pytest.mark.parametrize("text", TEXTS)
def test_messages(text):
    same_text(raising(lambda x: ValueError(text(x))), "native", 1.5, -1.5, -2)


@pytest.mark.parametrize("make", ERRORS)
def test_exceptions(make):
    same_text(raising(make), "native", 1.5, -1.5)


def all_at_once(x):
    if x < -2:
        raise TooLarge(x)
    if x < -1:
        raise Coded("%s and {}" % x + "{}".format(x))
    try:
        if x < 0:
            raise Told(x)
        return x
    except Told as error:
        raise ValueError("from %s" % error) from error


def test_on_each_target(target):
    same_text(all_at_once, target, 1.0, -0.5, -1.5, -2.5)


def caught(x):
    """What an exception has kept of numbers is differentiated."""
    try:
        if x > 1:
            raise TooLarge(x * x)
        return x
    except TooLarge as error:
        return error.value * 3


def test_a_caught_exception_keeps_its_numbers(target):
    for x in (0.5, 2.0):
        assert mo.jit(caught, target=target)(x) == caught(x)
        assert mo.jit(mo.grad(caught), target=target)(x) == (1.0 if x < 1 else 6 * x)


def test_an_exception_carries_an_object_with_numbers(target):
    def f(x):
        if x < 0:
            raise ValueError("wrong", Point(x), {"at": Point(2 * x)})
        return x

    with pytest.raises(ValueError, match="wrong") as caught:
        mo.jit(f, target=target)(-1.0)
    _, point, table = caught.value.args
    assert type(point) is Point and point.x == -1.0 and table["at"].x == -2.0


def test_an_array_of_an_exception_outlives_the_programs_memory(target):
    def f(x):
        y = np.empty((5, 40))
        y[0] = np.sin(x)
        for i in range(1, 5):
            y[i] = y[i - 1] + np.cos(x)
        if y[4, 0] > 0:
            raise Computed(y)
        return y.sum()

    x = np.full(40, 0.5)
    failures = []
    for _ in range(20):
        try:
            mo.jit(f, target=target)(x)
        except Computed as error:
            failures.append(error)
    expected = np.sin(0.5) + np.arange(5.0)[:, None] * np.cos(0.5) * np.ones(40)
    assert len(failures) == 20 and all(np.allclose(e.args[0], expected, rtol=1e-14) for e in failures)


def test_numbers_in_an_object_that_holds_itself_are_refused_in_exceptions(target):
    def f(x):
        point = Point(x)
        point.x = [x, point]
        if x < 0:
            raise ValueError("wrong", point)
        return x

    with pytest.raises(
        mo.BadInput, match="an exception holds a Point containing numbers.*; pass the numbers themselves"
    ):
        mo.jit(f, target=target)(1.0)
