"""The traceback of an error in a differentiated program is Python's, with one frame of the engine."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import traceback

import numpy as np
import pytest

import morula as mo


class Model:
    def outer(self, x):
        return [inner(self, x)][0]

    def fail(self, x):
        return math.sqrt(x - 10)

    @property
    def value(self):
        raise LookupError("no value")

    def __mul__(self, other):
        raise ArithmeticError("not a number")

    def __enter__(self):
        raise RuntimeError("not now")

    def __exit__(self, *exception):
        return False

    def __iter__(self):
        yield 1.0
        raise ValueError("no more")


def inner(model, x):
    y = x * 2
    return (
        model.fail(y)  # two lines below the statement's first
        + 1
    )


def caused(x):
    try:
        return [{}["a"]]
    except KeyError as error:
        raise ValueError("no such entry") from error


def in_the_handler(x):
    try:
        return Model().value
    except LookupError:
        return [x + "a"]


def suppressed(x):
    with contextlib.suppress(KeyError):
        raise KeyError
    return [x.missing]


def several(x):
    raise ValueError(x, caused_by(x))


def caused_by(x):
    return [None + x]


FAILING = {
    "method": lambda x: Model().outer(x),
    "straight line": lambda x: math.log(x - 10) * x,
    "property": lambda x: [Model().value * x],
    "operator": lambda x: [Model() * x],
    "context manager": lambda x: enter(x),
    "iterator": lambda x: sum(y * x for y in Model()),
    "callback": lambda x: sorted([x, 2 * x], key=lambda t: 1 / 0),
    "NumPy": lambda x: np.linalg.inv(np.zeros((2, 2)) * x).sum(),
    "type": lambda x: ["a" + x],
    "attribute": lambda x: [x.missing],
    "cause": caused,
    "context": in_the_handler,
    "suppressed": suppressed,
    "arguments": lambda x: inner(x),
    "comprehension": lambda x: [a / 0 for a in [x]],
    "several": several,
}


def enter(x):
    with Model() as m:
        return m * x


def through_pullback(f):
    def pulled(x):
        return mo.pullback(f, x)

    return pulled


ENGINE = os.path.dirname(mo.core.__file__)


def frames(error):
    """(file, function, line) of each frame, and those of the errors that led to it."""
    found = [(f.filename, f.name, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    return found, [frames(e) for e in (error.__cause__, error.__context__) if e is not None]


@pytest.fixture(autouse=True)
def _for_users(monkeypatch):
    monkeypatch.delenv("MORULA_TRACEBACK", raising=False)


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("transform", [mo.grad, mo.value_and_grad, through_pullback])
def test_it_shows_the_frames_of_the_plain_call(name, transform):
    f = FAILING[name]
    with pytest.raises(Exception) as plain:  # noqa: PT011  whatever it is
        f(1.5)
    with pytest.raises(type(plain.value)) as ours:
        transform(f)(1.5)
    assert str(ours.value) == str(plain.value)
    (_, *expected), led = frames(plain.value)
    (_, *shown), ours_led = frames(ours.value)
    engine = [frame for frame in shown if frame[0].startswith(ENGINE)]
    assert len(engine) == 1
    assert [frame for frame in shown if frame not in engine and frame[1] != "pulled"] == expected
    assert ours_led == led


def test_an_error_on_the_way_back_shows_the_frames_of_the_adjoint():
    def half(x):
        return x / 2

    def refuse(dy):
        raise LookupError("on the way back")

    @mo.adjoint(half)
    def _(x):
        return half(x), lambda dy: refuse(dy)

    with pytest.raises(LookupError) as error:
        mo.grad(lambda x: [half(x)][0])(1.5)
    names = [name for _, name, _ in frames(error.value)[0]]
    assert names == [sys._getframe().f_code.co_name, "__call__", "<lambda>", "refuse"]
    _, back = mo.pullback(lambda x: [half(x)][0], 1.5)
    with pytest.raises(LookupError) as error:
        back(1.0)
    assert [name for _, name, _ in frames(error.value)[0]][1:] == ["__call__", "<lambda>", "refuse"]


def test_all_frames_are_there_on_request(monkeypatch):
    monkeypatch.setenv("MORULA_TRACEBACK", "full")
    with pytest.raises(ValueError, match="math domain error") as error:
        mo.grad(FAILING["method"])(1.5)
    assert sum("eager/recorded/" in file for file, _, _ in frames(error.value)[0]) > 1
