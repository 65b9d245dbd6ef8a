"""Attributes of functions from outside are variables from outside: read when the program runs, and assigned after it."""

from __future__ import annotations

import math
from types import CellType, FunctionType

import pytest
from path_tester import PATHS, check_gradient, run_on

import morula as mo


def scaled(x):
    return x


class Model:
    def method(self):
        return 1.0


MODEL = Model()

READERS = {
    "attribute": lambda x: x * scaled.k,
    "of a method": lambda x: x * MODEL.method.k,
    "of a method of a class": lambda x: x * Model.method.k,
    "getattr": lambda x: x * getattr(scaled, "k", 1.0),
    "absent before": lambda x: x * getattr(scaled, "late", 7.0),
    "hasattr": lambda x: x * (2.0 if hasattr(scaled, "late") else 3.0),
    "__dict__": lambda x: x * scaled.__dict__["k"],
    "vars": lambda x: x * sum(vars(scaled).values()),
    "in": lambda x: x * (2.0 if "late" in scaled.__dict__ else 3.0),
}


@pytest.mark.parametrize("f", READERS.values(), ids=READERS)
def test_a_new_value_is_read(f):
    for function in (scaled, Model.method):
        vars(function).clear()
        function.k = 2.0
    compiled = mo.jit(f)
    for k in (2.0, 2.0, 3.0):
        scaled.k = Model.method.k = k
        assert compiled(1.5) == f(1.5)
    scaled.late = 5.0
    assert compiled(1.5) == f(1.5)
    del scaled.late
    assert compiled(1.5) == f(1.5)


def kept(f):
    def inner(x):
        inner.last = f(x)
        inner.calls = inner.calls + 1
        return inner.last

    inner.last, inner.calls = 0.0, 0
    return inner


def test_attributes_are_assigned_when_the_program_has_run(path):
    def run(x):
        sine = kept(math.sin)
        return sine(x) + sine(2.0 * x), sine.calls + sine.last

    assert run_on(path)(run)(0.5) == pytest.approx(run(0.5))


def written(x):
    WAVE.__dict__["twice"] = 2.0 * x
    vars(WAVE).update(thrice=3.0 * x)
    return WAVE(x) + WAVE(WAVE.twice)


def deleted(x):
    y = WAVE.extra * x
    del WAVE.extra
    return y


WAVE = kept(math.sin)


def test_outside_functions_hold_what_the_program_has_assigned():
    compiled = mo.jit(written)
    for x in (0.5, 0.7):
        vars(WAVE).clear()
        WAVE.last, WAVE.calls = 0.0, 0
        expected, held = written(x), dict(vars(WAVE))
        vars(WAVE).clear()
        WAVE.last, WAVE.calls = 0.0, 0
        assert compiled(x) == pytest.approx(expected)
        assert vars(WAVE) == pytest.approx(held)
        assert {type(v) for v in vars(WAVE).values()} == {float, int}


def test_a_deleted_attribute_is_gone():
    compiled = mo.jit(deleted)
    for _ in range(2):
        WAVE.extra = 2.0
        assert compiled(3.0) == 6.0
        assert not hasattr(WAVE, "extra")


def test_a_refused_program_has_assigned_nothing():
    def f(x):
        WAVE(x)
        return x.unknown

    vars(WAVE).clear()
    WAVE.last, WAVE.calls = 0.0, 0
    with pytest.raises(AttributeError):
        mo.jit(f)(0.5)
    assert vars(WAVE) == {"last": 0.0, "calls": 0}


def test_gradients_through_attributes_of_functions(path):
    def f(x):
        sine = kept(math.sin)
        sine(x)
        return sine.last * x

    assert run_on(path)(mo.grad(f))(0.5) == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5))


def test_what_python_itself_stores_in_a_function_cannot_be_set():
    def f(x):
        scaled.__kwdefaults__ = None
        return x

    with pytest.raises(
        mo.BadInput, match=r"compiled code cannot set __kwdefaults__ of scaled \(.*a function from outside"
    ):
        mo.jit(f)(1.0)


OFFSET = 0.5


@pytest.mark.parametrize("path", PATHS)
def test_a_function_may_be_made_again_with_other_cells(path):
    def line(slope):
        return lambda x: slope * x + OFFSET

    def program(slope, x):
        first = line(0.0)
        again = FunctionType(first.__code__, first.__globals__, "again", None, (CellType(slope),))
        return again(x)

    check_gradient(path, program, 2.0, 3.0)
