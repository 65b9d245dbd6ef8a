"""Code that looks at frames: ``sys._getframe``, ``locals``, ``globals``, ``dir``, ``eval``, ``sys.exc_info``."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

SCALE = 3.0


def variable(name, depth=1):
    """A variable of the caller, as libraries that evaluate texts look it up."""
    frame = sys._getframe(depth + 0)
    return frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]


def of_the_caller(x):
    y = 2.0 * x
    return variable("y") * variable("SCALE")


def of_the_callers_caller(x):
    def inner():
        return variable("x", 2)

    return inner() * x


def of_a_function_around(x):
    def inner():
        x  # noqa: B018  used here, so that it is among the variables of this function
        return variable("x")

    return inner() * len(inner.__name__)


def of_the_next_frame(x):
    return sys._getframe().f_locals["x"] * variable_of_back()


def variable_of_back():
    return inspect.currentframe().f_back.f_locals["x"]


def own_variables(x):
    y = x * x
    names = dir()
    return locals()["y"] * vars()["x"] * len(names)


def on_one_path(x):
    if x > 0:
        y = 2.0 * x
    return locals()["y"]


def own_globals(x):
    return globals()["SCALE"] * x


def text_of_an_expression(x):
    y = 2.0 * x
    return eval("np.sin(y) * SCALE") * eval("x")


def with_variables_given(x):
    return eval("x * y", {"x": x, "y": SCALE})


def name_of_the_function(x):
    return x * len(sys._getframe().f_code.co_name)


def caught(x):
    try:
        raise ValueError(SCALE)
    except ValueError:
        kind, error, _ = sys.exc_info()
        return x * error.args[0] * len(kind.__name__) * (sys.exception() is error)


@pytest.mark.parametrize(
    "f",
    [
        of_the_caller, of_the_callers_caller, of_a_function_around, of_the_next_frame, own_variables, on_one_path, own_globals,
        text_of_an_expression, with_variables_given, name_of_the_function, caught,
    ],
)  # fmt: skip
def test_the_frames_are_those_of_the_program(f):
    value, slope = mo.jit(mo.value_and_grad(f))(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-12)
    assert slope == pytest.approx(ridders(lambda h: f(0.7 + h), 1e-3)[0], rel=1e-6)


def test_a_global_that_a_frame_gives_is_guarded(monkeypatch):
    compiled = mo.jit(of_the_caller)
    assert compiled(1.0) == 6.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert compiled(1.0) == 10.0


REFUSED = {
    "the caller's frame": (lambda x: variable("x", 2), "frame of the function that called it"),
    "exec": (lambda x: exec("y = 1"), "exec in compiled code needs a dict"),
    "a comprehension": (lambda x: [variable("i") for i in range(2)], "frame of a comprehension"),
    "a function in a text": (lambda x: eval("(lambda: x)()"), "eval in compiled code takes the text of an expression"),
    "the last instruction": (lambda x: x * sys._getframe().f_lasti, "cannot read f_lasti of a frame"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_of_a_frame_is_refused(name):
    f, message = REFUSED[name]
    with pytest.raises(mo.BadInput, match=message):
        mo.jit(f)(np.float64(1.0))
