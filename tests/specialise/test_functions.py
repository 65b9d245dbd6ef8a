"""Functions, objects and recursion are inlined, and keep Python's meaning."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, NamedTuple

import numpy as np
import pytest
from path_tester import gradient_of, run_on

A = np.array([0.5, -1.0, 1.5, 2.0])
SCALE = 3.0
TABLE = np.array([1.0, 2.0, 4.0, 8.0])


def closure(x, y):
    def scaled(z):
        return z * x * SCALE

    factor = lambda z, k=2.0: scaled(z) * k
    return factor(y) + factor(y, k=x)


def counter(x, n):
    total = 0.0

    def add(z):
        nonlocal total
        total = total + z

    for i in range(n):
        add(x * i)
    return total * x


def twice(f, x):
    return f(f(x))


def functions_as_arguments(x):
    return twice(np.sin, x) + twice(lambda z: z * x, x) + twice(partial(np.power, 2.0), x)


def composed(x):
    steps = [np.cos, lambda z: z * z, {"last": np.exp}["last"]]
    for step in steps:
        x = step(x)
    return x


def arguments(x, *more, scale=2.0, **named):
    return x * sum(more) * scale + named["shift"] * len(more)


def many_arguments(x, y):
    pair = (x, y)
    return arguments(x, *pair, **{"shift": y}) + arguments(y, x, scale=x, shift=1.0)


def doubled(f):
    @wraps(f)
    def wrapper(*args, **kwargs):
        return 2.0 * f(*args, **kwargs)

    return wrapper


@doubled
def decorated(x, y=3.0):
    return x * y


class Spring:
    stiffness = 2.0

    def __init__(self, rest):
        self.rest = rest

    def energy(self, x):
        return 0.5 * self.stiffness * (x - self.rest) ** 2

    @property
    def double(self):
        return Spring(2 * self.rest)

    @classmethod
    def stiff(cls, rest):
        spring = cls(rest)
        spring.stiffness = 10.0
        return spring

    @staticmethod
    def square(x):
        return x * x

    def __call__(self, x):
        return self.energy(x) + 1.0


class Damped(Spring):
    def energy(self, x):
        return super().energy(x) + 0.1 * self.square(x)


def objects(x, rest):
    spring, damped = Spring(rest), Damped(rest)
    energy = damped.energy
    return spring(x) + damped(x) + energy(x) * spring.double.energy(x) + Spring.stiff(rest)(x)


@dataclass
class Particle:
    x: float
    v: float = 1.0
    trail: list = field(default_factory=list)

    def __post_init__(self):
        self.energy = 0.5 * self.v**2


def dataclasses(x):
    p = Particle(x)
    p.trail.append(p.x * 2)
    q = replace(p, v=x)
    return p.trail[0] * q.energy + p.energy * q.x


class Dual:
    def __init__(self, re, eps):
        self.re, self.eps = re, eps

    def __mul__(self, other):
        return Dual(self.re * other.re, self.re * other.eps + self.eps * other.re)

    def __add__(self, other):
        return Dual(self.re + other.re, self.eps + other.eps)

    def __getitem__(self, i):
        return (self.re, self.eps)[i]


def operators(x, n):
    y = Dual(x, 1.0)
    for _ in range(n):
        y = y * Dual(x, 1.0) + y
    return y[0] + y[1]


Point = namedtuple("Point", "x y")


def named_tuples(p):
    q = p._replace(y=p.x * p.y)
    x, y = q
    return q.x * y + x


def recursive(x, depth):
    if depth == 0:
        return x
    return recursive(x * x + 0.1, depth - 1) + x


def static_recursion(x):
    return recursive(x, 3)


def globals_of_all_kinds(x):
    return x * SCALE + (TABLE * x).sum() + TABLE[2]


def raised_and_caught(x, table):
    try:
        y = table["missing"]
    except KeyError:
        y = x * 2
    finally:
        x = x * x
    return x * y


def with_statement(x):
    with np.errstate(all="ignore"):
        y = np.sqrt(x)
    return y * x


def yields(n, x):
    for i in range(3):
        yield x * i


def generators(x):
    return sum(yields(3, x)) + sum(y * y for y in yields(3, x))


def strings(x):
    name = f"{'sq'}uare"
    return {"square": x * x}[name] * len(name)


PROGRAMS = [
    (closure, 1.5, 2.0),
    (counter, 1.5, 4),
    (functions_as_arguments, 0.7),
    (composed, 0.7),
    (many_arguments, 1.5, 2.0),
    (decorated, 1.5),
    (objects, 1.5, 0.3),
    (dataclasses, 1.5),
    (operators, 0.5, 3),
    (named_tuples, Point(1.5, 2.0)),
    (static_recursion, 0.5),
    (globals_of_all_kinds, 1.5),
    (raised_and_caught, 1.5, {}),
    (with_statement, 1.5),
    (generators, 1.5),
    (strings, 1.5),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_programs(check, program):
    check(*program)


def test_methods_and_callable_objects_are_programs(path):
    spring = Damped(0.3)
    value, (dx,) = run_on(path)(gradient_of(spring.energy, (0,)))(1.5)
    assert np.isclose(value, spring.energy(1.5)) and np.isclose(dx, 2.0 * 1.2 + 0.2 * 1.5)
    assert np.isclose(run_on(path)(spring)(1.5), spring(1.5))


def gradient_for_an_object(spring, x):
    return spring.energy(x) * spring.stiffness


def test_the_gradient_for_an_object_is_an_object(check):
    (spring, _) = check(gradient_for_an_object, Damped(0.3), 1.5)
    assert type(spring) is Damped


def keywords(x, *, y=2.0, options=None):
    return x * y * (options or {"k": 1.0})["k"]


def test_keyword_arguments(path):
    compiled = run_on(path)(keywords)
    assert compiled(3.0) == 6.0
    assert compiled(3.0, y=0.5) == 1.5
    assert compiled(x=3.0, options={"k": 4.0}) == 24.0


def static(x, mode, names):
    return x * 2 if mode == "double" else x + len(names)


def test_strings_and_other_constants_are_static(path):
    compiled = run_on(path)(static)
    assert compiled(3.0, "double", ()) == 6.0
    assert compiled(3.0, "count", ("a", "b")) == 5.0
    assert compiled(3.0, "count", ("a", "b", "c")) == 6.0


def sized(n, x):
    return np.full(n, x).sum() + np.zeros((2, n)).size


def test_an_integer_that_is_a_shape(path):
    compiled = run_on(path)(sized)
    assert compiled(3, 2.0) == 12.0
    assert compiled(4, 2.0) == 16.0


class State(NamedTuple):
    step: float
    place: Any


def taken(**options):
    return options.pop("a") * options["b"]


def replaced_in_a_loop(x, n):
    state = State(1.0, x)
    for _ in range(n):
        state = state._replace(step=state.step * 0.5, place=state.place + state.step)
        if taken(a=state.step, b=2.0) < 0.2:
            break
    return (state.place * state.place).sum() * state.step


@pytest.mark.parametrize("n", [0, 2, 6])
def test_a_dict_of_keywords_belongs_to_its_call(check, n):
    check(replaced_in_a_loop, np.array([0.5, -1.0]), n)
