"""Generators of NumPy and ``random`` with a known seed: their draws are constants, the same at each call; and clocks."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import numerical_vjp


def of_a_generator(x):
    generator = np.random.default_rng(3)
    first = generator.normal() * x
    return first + (generator.normal(size=3) * x**2).sum() + generator.integers(7) * x


def in_a_loop(x):
    generator = np.random.default_rng(3)
    total = 0.0
    for _ in range(30):
        total = total + x * generator.normal()
    return total


def in_a_loop_of_given_length(x, n):
    generator = np.random.default_rng(3)
    total = 0.0
    for i in range(n):
        total = total * x + generator.uniform(-1, 1) * i
    return total


def of_the_module(x):
    np.random.seed(1)
    noise = np.random.randn(3) * x
    return noise.sum() + np.random.uniform(1, 2) * x**2


def of_random(x):
    random.seed(1)
    y = x * random.random() + random.uniform(x, 2) + random.gauss(0, x) + random.gauss(0, x)
    return y + random.choice([x, 2 * x, 3.0]) + random.randint(1, 6) * x


def shuffled(x):
    items = [x, 2 * x, x * x]
    random.Random(5).shuffle(items)
    return items[0] * 2 + items[1]


def selected(x):
    generator = np.random.default_rng(5)
    y = np.array([x, 2 * x, x * x, 3.0])
    generator.shuffle(y)
    return y[0] * 2 + generator.permutation(y)[1] + generator.choice(y) * generator.choice(y, 2, replace=False)[0]


def on_both_paths(x):
    generator = np.random.default_rng(5)
    y = generator.normal() * x if x > 1 else generator.normal()
    return y + generator.normal() * x


def on_one_path(x):
    generator = np.random.default_rng(5)
    y = generator.normal() * x if x > 1 else generator.normal() + generator.uniform()
    return y + generator.normal() * x


def in_a_function(x):
    def draw(generator):
        return generator.standard_normal(4)[2] * x

    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5)))
    return draw(generator) + draw(generator) * x


def of_a_state(x):
    generator = np.random.RandomState(5)
    state = generator.get_state()
    first = generator.rand(2, 2)
    other = np.random.RandomState()
    other.set_state(state)
    return (first * x).sum() + other.rand() * x**2


def inner_gradient(x):
    generator = np.random.default_rng(5)
    slope = mo.grad(lambda t: t**2 * generator.normal())(x)
    return slope * generator.normal()


def after_an_exception(x):
    generator = np.random.default_rng(5)
    try:
        y = generator.normal() * x
        if y < 100.0:
            raise ValueError
    except ValueError:
        y = generator.normal() * x**2
    return y + generator.normal()


def seeded(x, seed):
    return np.random.default_rng(seed).random() * x


PROGRAMS = [
    (of_a_generator, (2.0,)),
    (in_a_loop, (2.0,)),
    (in_a_loop_of_given_length, (0.9, 40)),
    (of_the_module, (2.0,)),
    (of_random, (1.5,)),
    (shuffled, (2.0,)),
    (selected, (2.0,)),
    (on_both_paths, (2.0,)),
    (on_one_path, (2.0,)),
    (on_one_path, (0.5,)),
    (in_a_function, (2.0,)),
    (of_a_state, (2.0,)),
    (inner_gradient, (2.0,)),
    (after_an_exception, (2.0,)),
    (seeded, (2.0, 8)),
]


@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_value_and_gradient(f, args, check):
    check(f, *args, argnums=(0,))


@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_each_call_draws_the_same(f, args, target):
    compiled = run_on(target)(f)
    assert np.isclose(compiled(*args), f(*args)) and compiled(*args) == compiled(*args)


def test_a_seed_is_a_static_argument(target):
    compiled = mo.jit(seeded, target=target)
    assert [compiled(2.0, s) for s in (1, 2, 1)] == [seeded(2.0, s) for s in (1, 2, 1)]


def test_generators_outside_stay_as_they_are(target):
    random.seed(4)
    np.random.seed(4)
    before = random.getstate(), np.random.get_state()[1].tolist()
    for f in (of_the_module, of_random):
        mo.jit(f, target=target)(1.25)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_parameters_that_are_not_known(target):
    def f(mean, width):
        generator = np.random.default_rng(1)
        pair = generator.normal(np.array([mean, width]), width)
        return (
            pair.sum() + generator.normal(mean, width) + generator.uniform(mean, width) + generator.exponential(width)
        )

    assert np.isclose(mo.jit(f, target=target)(1.0, 2.0), f(1.0, 2.0))
    slopes = mo.jit(mo.grad(f, (0, 1)), target=target)(1.0, 2.0)
    assert np.allclose(slopes, numerical_vjp(f, 1.0, 1.0, 2.0)[0])
    with pytest.raises(ValueError, match="scale < 0"):
        mo.jit(f, target=target)(1.0, -2.0)


def unseeded(x):
    return x * np.random.normal()


def unseeded_after_another(x):
    np.random.default_rng(1).normal()
    return x * random.random()


def drawn_until(x):
    generator, total = np.random.default_rng(5), 0.0
    while total < x:
        total = total + generator.random()
    return total


def given(generator, x):
    return generator.normal() * x


def of_gamma(x):
    return np.random.default_rng(1).gamma(x)


@pytest.mark.parametrize(
    "f, args, text",
    [
        (unseeded, (1.0,), "has not seeded.*seed it in the function"),
        (unseeded_after_another, (1.0,), "has not seeded.*seed it in the function"),
        (lambda x: np.random.default_rng().normal() * x, (1.0,), "may return another result at each call"),
        (lambda x: np.random.default_rng(None).normal() * x, (1.0,), "may return another result at each call"),
        (drawn_until, (3.0,), "the state of a random generator .*draw all numbers into an array"),
        (lambda x: given(np.random.default_rng(1), x) + given(GENERATOR, x), (1.0,), "may return another result"),
        (of_gamma, (2.0,), "draw standard numbers"),
    ],
)
def test_refused(f, args, text, target):
    with pytest.raises(mo.BadInput, match=text) as raised:
        mo.jit(f, target=target)(*args)
    assert len(str(raised.value)) < 500


GENERATOR = np.random.default_rng(1)


def timed(x):
    start, began = time.perf_counter(), time.time_ns()
    total = 0.0
    for i in range(100):
        total = total + x * i
    try:
        spent = time.perf_counter() - start
    except OSError:
        spent = -1.0
    return total, spent >= 0.0 and time.time_ns() >= began > 1_600_000_000_000_000_000


def test_clocks_are_read_when_the_program_runs(path):
    f = run_on(path)(timed)
    assert f(2.0) == (9900.0, True)
    assert run_on(path)(mo.grad(lambda x: timed(x)[0]))(2.0) == 4950.0
    now = run_on(path)(time.time)
    first = now()
    time.sleep(0.01)
    assert first < now() < first + 60
