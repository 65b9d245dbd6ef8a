"""Expressions and small functions recorded as one operation: right, in Python's order, and only while valid."""

from __future__ import annotations

import math
import operator
import threading
from math import sin as sine

import numpy as np
import pytest

import morula as mo
from morula.core.eager.recorded.tape import Tape
from morula.core.eager.structured.fused import site
from morula.core.eager.structured.fusible import call, constant, leaf
from morula.core.values.numbers import AGAIN
from morula.testing import check_gradients

X, Y = leaf(0), leaf(1)


def check_often(f, *args):
    """The ways that a run has found are taken by the next: a gradient is checked in several."""
    for _ in range(3):
        check_gradients(f, *args, order=1)
    check_gradients(f, *args, order=2)


TREES = {
    "+": call(operator.add, X, Y),
    "-": call(operator.sub, X, Y),
    "*": call(operator.mul, X, Y),
    "/": call(operator.truediv, X, Y),
    "**": call(operator.pow, X, Y),
    "%": call(operator.mod, X, Y),
    "of one": call(operator.mul, call(operator.neg, X), constant(3)),
    "of calls": call(operator.mul, call(math.sin, X), call(math.exp, call(operator.mul, constant(0.5), Y))),
    "of ufuncs": call(operator.add, call(np.cos, X), call(np.arctan2, Y, constant(2.0))),
    "of abs": call(operator.sub, call(abs, X), Y),
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize("values", [(1.5, 2.25), (np.float64(1.5), 2.25), (1.5, 2), (3, 2.25)], ids=str)
def test_a_tree_is_compiled_for_numbers(tree, values):
    functions = tuple(dict.fromkeys(f for f in (math.sin, math.exp, np.cos, np.arctan2, abs) if _holds(tree, f)))
    tape = Tape()
    y = site(tree, 2, functions)(tape, *values, *functions)
    assert y is not AGAIN
    assert y == _value(tree, values)
    assert len(tape.records) == 1


@pytest.mark.parametrize("name", ["+", "*", "/", "of ufuncs"])
def test_a_tree_is_compiled_for_arrays(name):
    functions = (np.cos, np.arctan2) if name == "of ufuncs" else ()
    values = np.array([1.5, 2.0]), 2.25
    y = site(TREES[name], 2, functions)(Tape(), *values, *functions)
    assert y is not AGAIN
    np.testing.assert_allclose(y, _value(TREES[name], values), rtol=1e-15)


def _holds(tree, function):
    return tree[0] == "call" and (tree[1] is function or any(_holds(t, function) for t in tree[2:]))


def _value(tree, values):
    if tree[0] == "leaf":
        return values[tree[1]]
    return tree[2] if tree[0] == "constant" else tree[1](*(_value(t, values) for t in tree[2:]))


# Names


def with_names_of_the_engine(p0, p1):
    y, dy = p0 * p1, p0
    if y > 0:
        table, record, tape = y * 2, dy * y, p1
    else:
        table, record, tape = y, dy, p0
    k = g = numbers = math.sin(table)
    s1, back, run, other, AGAIN = k * record, g, tape * numbers, 3, 2
    return s1 + back * run + other * AGAIN + y


def two_results(y, x):
    if abs(y) > abs(x):
        q, x, y = 2, y, x
    else:
        q = 0
    r = math.hypot(x, y)
    return y / r + q, x / r


def test_names_of_the_users_do_not_meet_those_of_the_engine():
    check_often(lambda x, y: [with_names_of_the_engine(x, y)][0] + with_names_of_the_engine(y, x), 0.7, 1.3)


@pytest.mark.parametrize("args", [(0.3, 1.7), (1.7, -0.3)])
def test_results_in_a_tuple(args):
    check_often(lambda x, y: [sum(two_results(x, y)) * x, two_results(y, x)[0] * two_results(x, y)[1]], *args)


def with_a_method(x, method=None, name="double"):
    return x * x if method is None and name == "double" else x


def test_defaults_that_are_no_numbers():
    def f(x):
        return [with_a_method(x), with_a_method(x, None, "single"), with_a_method(x, name="none"), with_a_method(x) * x]

    check_often(f, 1.3)


# Order


class Logged:
    """A number that tells when it is used."""

    def __init__(self, value, log):
        self.value, self.log = value, log

    def __mul__(self, other):
        self.log.append("mul")
        return Logged(self.value * other.value, self.log)

    def __add__(self, other):
        self.log.append("add")
        return Logged(self.value + other.value, self.log)

    @property
    def of_property(self):
        self.log.append("property")
        return self.value


def ordered(x):
    log = []
    a, b = Logged(x, log), Logged(x * x, log)

    def called(v):
        log.append("call")
        return v

    c = a * b + called(a) * called(b) + a
    z = a.of_property * called(b.value) + c.of_property * a.of_property - called(x) / called(b.value)
    return z, log


def test_python_s_order_of_evaluation():
    check_often(lambda x: ordered(x)[0], 1.3)
    seen = []
    for _ in range(3):
        mo.gradient(lambda x: _kept(x, seen), 1.3)
    assert all(log == ordered(1.3)[1] for log in seen)


def _kept(x, seen):
    z, log = ordered(x)
    seen.append(log)
    return z


def test_a_variable_that_a_call_in_the_same_expression_binds():
    def f(x):
        y = x

        def bind():
            nonlocal y
            y = x * x
            return 2.0

        items = [x]
        return y * bind() + y * items[0] + y

    check_often(f, 1.3)


# What may change


class Plain:
    def __init__(self, x):
        self.x = x

    def scaled(self, k):
        return self.x * k


def use(x):
    p = Plain(x)
    return p.x * x + p.scaled(3.0) * p.x


def test_a_class_that_changes_between_runs_is_noticed():
    assert mo.gradient(use, 2.0) == (16.0,)
    method = Plain.scaled
    try:
        Plain.scaled = lambda self, k: self.x * self.x * k
        assert mo.gradient(use, 2.0) == (40.0,)
        Plain.x = property(lambda self: self.__dict__["hidden"] * 2, lambda self, v: self.__dict__.update(hidden=v))
        check_often(use, 2.0)
    finally:
        Plain.scaled = method
        del Plain.x
    assert mo.gradient(use, 2.0) == (16.0,)


def test_a_class_that_changes_within_a_run_is_noticed():
    def f(x):
        p = Plain(x)
        before = p.x * p.scaled(2.0)
        method = Plain.scaled
        Plain.scaled = lambda self, k: self.x**3 * k
        try:
            return before + p.x * p.scaled(2.0)
        finally:
            Plain.scaled = method

    check_often(f, 1.3)


def test_an_attribute_of_the_instance_hides_the_method():
    def f(x):
        p, q = Plain(x), Plain(x)
        first = p.scaled(2.0)
        p.scaled = lambda k: x**3 * k
        return first + p.scaled(2.0) + q.scaled(5.0)

    check_often(f, 1.3)


def helper(x):
    return x * x


def of_helper(x):
    return [helper(x)][0] + sine(x) * helper(x)


def test_a_function_that_changes_is_noticed(monkeypatch):
    check_often(of_helper, 1.3)
    before = helper.__code__
    try:
        helper.__code__ = (lambda x: x**3).__code__
        check_often(of_helper, 1.3)
    finally:
        helper.__code__ = before
    monkeypatch.setitem(globals(), "helper", lambda x: 5 * x)
    check_often(of_helper, 1.3)
    monkeypatch.setitem(globals(), "sine", math.cos)
    check_often(of_helper, 1.3)


# Where it does not hold


def test_an_exception_names_the_line_of_the_user(monkeypatch):
    monkeypatch.delenv("MORULA_TRACEBACK", raising=False)

    def f(x):
        items = [x, 0.0]
        return items[0] * x + x / items[1]

    with pytest.raises(ZeroDivisionError) as caught:
        mo.gradient(f, 1.3)
    assert caught.traceback[-1].name == "f"


def test_an_infinite_slope_is_the_limit():
    def f(x):
        items = [x]
        return math.sqrt(items[0]) * 2.0 + items[0]

    for _ in range(3):
        assert mo.gradient(f, 0.0) == (math.inf,)


def test_numbers_of_all_kinds_in_one_expression():
    def f(x, z, a):
        found = []
        for v in (x, 2, True, np.float64(x), np.float32(1.5), z, a, a[:1]):
            found.append(v * x + x * 2 - v)
        return [abs(np.sum(v)) for v in found]

    check_often(f, 1.3, 0.3 + 0.4j, np.array([1.0, 2.0]))


def test_in_place_on_an_array_is_not_taken_for_a_sum():
    def f(x):
        a = np.array([1.0, 2.0]) * x
        b = a
        for v in (x, 2.0):
            a += v * x
        return a.sum() + (b * b).sum()

    check_often(f, 1.3)


def test_runs_in_several_threads_do_not_forget_for_each_other():
    def f(x):
        points = [Plain(x * k) for k in range(20)]
        return sum(p.scaled(p.x) + p.x * helper(p.x) for p in points)

    expected = mo.gradient(f, 1.3)
    found: list[object] = []

    def work():
        try:
            found.extend(mo.gradient(f, 1.3) == expected for _ in range(40))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 160
