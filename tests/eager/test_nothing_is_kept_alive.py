"""Classes, functions and code that a program makes at each call are freed after it: no cache holds them."""

from __future__ import annotations

import dataclasses
import functools
import gc
import linecache
import types
from collections import namedtuple

import pytest

import morula as mo


@pytest.fixture(autouse=True)
def without_what_was_there_before():
    """The collector of garbage leaves alone what the tests before have made."""
    gc.collect()
    gc.freeze()


def alive(*kinds):
    gc.collect()
    return {kind: sum(isinstance(x, kind) for x in gc.get_objects()) for kind in kinds}


def a_class(x):
    class Spring:
        stiffness = 2.0

        def __init__(self, w):
            self.w = w

        @property
        def twice(self):
            return self.w * 2

        def energy(self):
            return self.w * self.w * self.stiffness

    s = Spring(x)
    s.w = s.w * x
    return s.energy() + s.twice


def a_class_with_operators(x):
    class Number:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return Number(self.v + other.v)

        def __lt__(self, other):
            return self.v < other.v

        def __getitem__(self, i):
            return self.v * i

        def __iter__(self):
            yield self.v

        def __bool__(self):
            return self.v > 0

        def __call__(self, u):
            return self.v * u

    a = Number(x) + Number(2 * x)
    return (max(a, Number(x))[2] + sum(a)) * a(x) if a else 0.0


def a_data_class(x):
    @dataclasses.dataclass
    class Pair:
        a: float
        b: float = 2.0

    return Pair(x).a * Pair(x, x).b


def a_named_tuple(x):
    pair = namedtuple("pair", "a b")(x, x * x)
    return pair.a * pair.b


def a_metaclass(x):
    class Meta(type):
        def __call__(cls, *args):
            return super().__call__(*args)

    class Made(metaclass=Meta):
        def __init__(self, w):
            self.w = w

    return Made(x).w * x


def a_subclass_of_float(x):
    class Metres(float):
        pass

    return Metres(x) * Metres(x) + x * Metres(2.0)


def a_subclass_of_list(x):
    class Stack(list):
        def top(self):
            return self[-1]

    return Stack([x, x * x]).top()


def functions(x):
    def square(u):
        return u * u * x

    @functools.lru_cache
    def cached(n):
        return x**n

    return square(x) + (lambda u: u + x)(x) + cached(2) + mo.checkpoint(square, x) + sum(map(square, [x]))


def an_inner_derivative(x):
    def f(u):
        return [u * u * x][0]

    return mo.grad(f)(x) + mo.jacobian(lambda u: u * u)(x)


PROGRAMS = [
    a_class,
    a_class_with_operators,
    a_data_class,
    a_named_tuple,
    a_metaclass,
    a_subclass_of_float,
    a_subclass_of_list,
    functions,
    an_inner_derivative,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_run_makes(program):
    kinds = type, types.FunctionType, types.CodeType
    for _ in range(3):
        mo.grad(program)(2.0)
    before = alive(*kinds)
    for _ in range(10):
        mo.grad(program)(2.0)
        mo.vjp(program, 2.0)[1](1.0)
    assert alive(*kinds) == before


def test_what_is_made_for_each_gradient():
    def made(n):
        class Model:
            def __init__(self, w):
                self.w = w

            def __call__(self, x):
                return self.w * x * n

        return Model

    def step(n):
        cls = made(n)
        mo.grad(cls(2.0))(1.0)
        mo.grad(lambda m: m(3.0) * n)(cls(2.0))
        mo.grad(lambda x: x * n)(1.0)
        mo.hessian(lambda x: [x * x * n][0])(1.0)

    kinds = type, types.FunctionType, types.CodeType
    for n in range(3):
        step(n)
    before = alive(*kinds)
    for n in range(10):
        step(n)
    assert alive(*kinds) == before


@pytest.mark.parametrize("text", ["def f(x):\n    return x * x * {}\n", "f = lambda x: [x * {}][0]\n"])
def test_functions_of_namespaces_that_are_gone_do_not_pile_up(text):
    def step(n):
        names = {}
        exec(text.format(float(n % 7)), names)
        return mo.grad(names["f"])(2.0)

    from morula.core.values.passing import MOST_PASSING

    for n in range(MOST_PASSING + 20):
        step(n)
    before, lines = alive(types.FunctionType, types.CodeType), len(linecache.cache)
    for n in range(MOST_PASSING, MOST_PASSING + 60):
        step(n + 1000)
    after = alive(types.FunctionType, types.CodeType)
    assert all(after[kind] <= before[kind] + 30 for kind in before)
    assert len(linecache.cache) <= lines + 30


def test_a_class_that_takes_the_place_of_another_is_looked_at_anew():
    def made(k):
        class Scaled:
            if k % 2:

                def __mul__(self, other):
                    return other * 3.0

            else:

                def __mul__(self, other):
                    return other * other

        return Scaled()

    for k in range(30):
        assert mo.grad(lambda x: made(k) * x)(2.0) == (3.0 if k % 2 else 4.0)  # noqa: B023
