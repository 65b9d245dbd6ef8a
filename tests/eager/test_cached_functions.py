"""A cached function is differentiated as it runs: hits, entries and evictions of its cache are Python's."""

from __future__ import annotations

import contextlib
import cProfile
import functools

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


def a_new_function_each_time(x):
    total = 0.0
    for k in (1.0, 2.0, 3.0, 4.0, 5.0):

        @functools.lru_cache
        def h(u):
            return k * u * u  # noqa: B023

        total = total + h(x) * h(x)
        del h
    return total


def made_by_a_function(x):
    def scaled(k):
        return functools.cache(lambda u: k * u * u)

    return sum(scaled(float(k))(x) for k in range(6))


def calls_itself(x):
    @functools.lru_cache(maxsize=3)
    def p(n):
        return 1.0 if n == 0 else x * p(n - 1)

    return p(6) + p(2)


def forgets(x):
    @functools.lru_cache(maxsize=2)
    def h(n):
        return x**n

    for n in (1, 2, 3, 1, 1, 3, 2):
        h(n)
    info = h.cache_info()
    return h(1) * info.misses + info.hits * x + info.currsize


def keeps_nothing(x):
    calls = []

    @functools.lru_cache(maxsize=0)
    def h(u):
        calls.append(u)
        return u * u

    return (h(x) + h(x)) * len(calls) + h.cache_info().misses * x


def takes_types_apart(x):
    @functools.lru_cache(typed=True)
    def h(n):
        return x * n if isinstance(n, int) else x**n

    return h(2) + 3 * h(2.0) + h.cache_info().misses


def does_not_take_types_apart(x):
    @functools.lru_cache
    def h(n):
        return x * n if isinstance(n, int) else x**n

    return h(2) + 3 * h(2.0) + h.cache_info().misses


def is_cleared(x):
    factor = [x]

    @functools.cache
    def h(n):
        return factor[0] ** n

    y = h(2)
    factor[0] = x * x
    z = h(2)
    h.cache_clear()
    return y + z * h(2) + h.cache_info().misses + h.cache_info().hits


def takes_keywords(x):
    @functools.cache
    def h(u, *, n=1):
        return u**n

    return h(x, n=2) * h(u=x, n=2) + h(x) + h(x, n=3)


class Model:
    def __init__(self, w):
        self.w = w

    @functools.lru_cache  # noqa: B019
    def power(self, n):
        return self.w**n

    @functools.cache  # noqa: B019
    def cube(self):
        return self.w**3

    @functools.cached_property
    def square(self):
        return self.w**2


def has_cached_methods(x):
    a, b = Model(x), Model(2 * x)
    return a.power(2) * b.power(2) + a.cube() * a.cube() + b.cube() + a.power(2) + Model.power(a, 3)


def has_cached_properties(x):
    a, b = Model(x), Model(2 * x)
    y = a.square * b.square
    a.w = 7.0
    return y + a.square


PROGRAMS = [
    a_new_function_each_time,
    made_by_a_function,
    calls_itself,
    forgets,
    keeps_nothing,
    takes_types_apart,
    does_not_take_types_apart,
    is_cleared,
    takes_keywords,
    has_cached_methods,
    has_cached_properties,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_derivative(check, program):
    for x in (1.3, 0.8, 1.3):
        check(program, x)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_second_derivative(program):
    slope = mo.grad(program)
    expected, _ = ridders(lambda h: slope(1.3 + h), 0.01)
    assert mo.grad(slope)(1.3) == pytest.approx(expected, rel=1e-6)


@functools.lru_cache(maxsize=8)
def shared(x):
    return x * x


@functools.cache
def nodes(n):
    return np.arange(1.0, n + 1)


def test_a_function_that_is_called_in_and_outside_of_runs():
    shared.cache_clear()
    assert shared(1.5) == 2.25
    for _ in range(3):
        assert mo.grad(lambda x: shared(x) * x)(1.5) == 3 * 1.5**2
        assert type(shared(1.5)) is float and shared(1.5) == 2.25
    assert mo.grad(mo.grad(lambda x: shared(x) * x))(1.5) == 6 * 1.5
    assert shared.cache_info().misses == 1  # a run has a cache of its own


class Settings:
    """An object without numbers."""

    def __init__(self, name):
        self.name, self.parts = name, {"kind": str, "names": (name, None)}


@pytest.mark.parametrize("profiled", [False, True])
@pytest.mark.parametrize("maxsize", [None, 4, 1])
def test_what_holds_no_number_is_taken_from_the_cache_of_before(profiled, maxsize):
    """As Python does: the function does not run again, not even for its effects, until the cache is cleared."""
    ran = []

    @functools.lru_cache(maxsize=maxsize)
    def settings(name="a", *, kind=None):
        ran.append(name)
        return Settings(name)

    def f(x):
        found = [settings(), settings("b"), settings(), settings(kind="c")]
        return x * x * len({id(e) for e in found}) + settings.cache_info().hits * x

    def plain(x):
        y = f(x)
        return y, ran[:], settings.cache_info()

    def recorded(x):
        info = []

        def loss(x):
            y = f(x)
            info.append(settings.cache_info())
            return y

        profiler = cProfile.Profile() if profiled else contextlib.nullcontext()
        with profiler:
            y = mo.value_and_grad(loss)(x)[0]
        return y, ran[:], info[0]

    seen = []
    for form in (plain, recorded):
        settings.cache_clear()
        first = settings()
        del ran[:]
        seen.append(form(2.0))
        assert profiled or maxsize == 1 or settings() is first
    assert profiled or seen[0] == seen[1]
    settings.cache_clear()
    del ran[:]
    mo.grad(f)(2.0)
    assert ran[0] == "a"


def test_what_holds_a_number_is_computed_in_each_run():
    model = Model(1.5)

    @functools.cache
    def weights():
        return {"w": [model.w * 2.0], "name": "a"}

    weights()

    def loss(w):
        model.w = w
        return weights()["w"][0] * w

    assert mo.grad(loss)(3.0) == 12.0


def test_a_cached_constant():
    for _ in range(2):
        assert mo.grad(lambda x: np.sum(nodes(3) * x**2))(2.0) == 24.0
    a = nodes(3)
    mo.grad(lambda x: np.sum(nodes(3) * x**2))(2.0)
    assert nodes(3) is a and a.tolist() == [1.0, 2.0, 3.0]


def test_the_parameters_of_a_cached_method():
    model = Model(1.5)
    for _ in range(2):
        assert mo.grad(lambda m: m.power(2) * m.cube())(model).w == pytest.approx(5 * 1.5**4)
        assert mo.grad(model.power, 0)(2.0) == pytest.approx(1.5**2 * np.log(1.5))


def test_an_argument_that_has_no_hash_raises_as_in_python():
    @functools.cache
    def h(x):
        return x * 2

    with pytest.raises(TypeError, match="unhashable"):
        mo.grad(lambda x: h([x])[0])(1.0)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("program", [a_new_function_each_time, made_by_a_function, takes_keywords, has_cached_methods])
def test_compiled(target, program):
    assert mo.jit(mo.grad(program), target=target)(1.3) == pytest.approx(mo.grad(program)(1.3), rel=1e-12)
