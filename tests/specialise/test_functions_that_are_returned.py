"""Functions that compiled code defines and returns are Python functions: with its globals, cells, defaults and attributes."""

from __future__ import annotations

import functools

import pytest

import morula as mo

SCALE = 2.0


def scaled(x):
    def inner(y, z=2.0, *rest, k=3.0, **others):
        "Scaled."
        return y * SCALE * k + z + sum(rest) + sum(others.values())

    inner.tag = "kept"
    return inner


def test_a_returned_function_is_a_python_function(monkeypatch):
    f, plain = mo.jit(scaled)(1.0), scaled(1.0)
    for args, kwargs in (((1.0,), {}), ((1.0, 5.0, 6.0), {"k": 7.0, "m": 8.0})):
        assert f(*args, **kwargs) == plain(*args, **kwargs)
    assert (f.__name__, f.__qualname__, f.__module__, f.__doc__, f.tag) == (
        plain.__name__,
        plain.__qualname__,
        plain.__module__,
        plain.__doc__,
        plain.tag,
    )
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert f(1.0) == plain(1.0) == 32.0


def test_it_shares_the_variables_of_the_functions_around():
    def around():
        c = 1.0

        def put(value):
            nonlocal c
            c = value

        return mo.jit(lambda x: lambda y: c * y), put

    make, put = around()
    f = make(0.0)
    put(5.0)
    assert f(2.0) == 10.0


def test_functions_that_call_themselves_each_other_or_stand_on_one_line():
    def several(x):
        def factorial(n):
            return 1 if n == 0 else n * factorial(n - 1)

        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        double, triple = (lambda y: 2 * y), (lambda y: 3 * y)
        return factorial, even, double, triple

    factorial, even, double, triple = mo.jit(several)(1.0)
    assert (factorial(5), even(10), even(7), double(1), triple(1)) == (120, True, False, 2, 3)


def test_decorated_functions_and_private_names():
    def plus_one(f):
        @functools.wraps(f)
        def inner(*args):
            return f(*args) + 1

        return inner

    class Secret:
        def __value(self):
            return 4

        @mo.jit
        def reader(self, x):
            return lambda other: other.__value()

    def decorated(x):
        @plus_one
        def square(y):
            "The square."
            return y * y

        return square

    square = mo.jit(decorated)(1.0)
    assert (square(3), square.__name__, square.__doc__, square.__wrapped__(3)) == (10, "square", "The square.", 9)
    assert Secret().reader(1.0)(Secret()) == 4


@pytest.mark.parametrize("make", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}], ids=["number", "list", "dict"])
def test_a_function_that_reads_what_is_not_known_is_refused(make):
    def f(x):
        held = make(x)
        return lambda: held

    with pytest.raises(
        mo.BadInput, match="a function that compiled code returns or stores reads held, which is not known"
    ):
        mo.jit(f)(2.0)


def test_gradients_through_returned_functions_in_parts():
    def inner(x):
        def scale(y):
            return x * y

        return scale

    def f(x):
        total = 0.0
        for i in range(20):
            total += inner(x)(float(i))
        return total * inner(x)(2.0)

    part = mo.jit(f, partial=True)
    assert mo.grad(part)(3.0) == pytest.approx(mo.grad(f)(3.0))
