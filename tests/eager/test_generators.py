"""Generators: laziness, delegation, and state shared with the consumer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import morula as mo


def test_a_generator_of_active_values(check):
    def powers(x, n):
        p = 1.0
        for _ in range(n):
            p *= x
            yield p

    check(lambda x: sum(k * p for k, p in enumerate(powers(x, 5))), 0.7)


def test_an_infinite_generator_with_islice(check):
    def decay(x):
        while True:
            x = x * 0.5 + 0.1
            yield x

    check(lambda x: math.prod(itertools.islice(decay(x), 1, 5)), 1.5)


def test_next_with_default_and_stop_iteration(check):
    def one(x):
        yield x * x
        return

    def f(x):
        g = one(x)
        y = next(g) * x + next(g, x)
        try:
            next(g)
        except StopIteration:
            y *= 2
        return y

    check(f, 1.5)


def test_send(check):
    def accumulator():
        total = 0.0
        while True:
            y = yield total
            total += y * y

    def f(x):
        a = accumulator()
        next(a)
        a.send(x)
        first = a.send(x * 2)
        return first * a.send(1.0)

    check(f, 0.7)


def test_yield_from_passes_values_and_the_result(check):
    def inner(x):
        got = yield x
        yield got * x
        return x**3

    def outer(x):
        y = yield from inner(x)
        yield y
        yield from [x, x * 2]
        yield from (k * x for k in (1, 2))

    def f(x):
        g = outer(x)
        y = next(g)
        y += 2 * g.send(x + 1)
        for k, z in enumerate(g, start=3):
            y += k * z
        return y

    check(f, 1.2)


def test_a_recursive_generator_walks_a_tree(check):
    def walk(tree):
        if isinstance(tree, list):
            for t in tree:
                yield from walk(t)
        else:
            yield tree * tree

    check(lambda t: sum(k * x for k, x in enumerate(walk(t), 1)), [1.0, [2.0, [3.0, 4.0]], 5.0])


def test_a_generator_sees_what_its_consumer_writes(check):
    def watch(v):
        for i in range(len(v)):
            yield v[i] * 2
            v[i] = v[i] * 3

    def f(v):
        y = 0.0
        for i, x in enumerate(watch(v)):
            v[i] = x * x + y
            y += v[i]
        return y + sum(v)

    check(f, [0.5, 1.0, 1.5])


def test_a_generator_and_its_consumer_write_one_array_in_turn(check):
    def sweep(a):
        for i in range(1, len(a)):
            a[i] += a[i - 1] ** 2
            yield a[i : i + 1]

    def f(a):
        y = 0.0
        for view in sweep(a):
            y += view[0]
            view *= 0.5
        return y * a.sum()

    check(f, np.array([0.5, 1.0, 1.5]))


def test_two_generators_interleaved(check):
    def count(x, state):
        while True:
            state["s"] = state["s"] * x + 1
            yield state["s"]

    def f(x):
        state = {"s": x}
        a, b = count(x, state), count(x * 2, state)
        return next(a) * next(b) + next(a) * next(b) + sum(p * q for p, q in itertools.islice(zip(a, b), 2))  # noqa: B905

    check(f, 0.6)


def test_a_generator_left_unfinished_runs_no_further(check):
    def numbers(x, log):
        try:
            yield x
            log.append(x * 100)
            yield x * x
        finally:
            log.append(x)

    def f(x):
        log = []
        g = numbers(x, log)
        y = next(g)
        g.close()
        return y * len(log) + log[0]

    check(f, 1.5)


def test_throw_into_a_generator(check):
    def guarded(x):
        y = x
        while True:
            try:
                yield y
                y *= x
            except ValueError as error:
                y = error.args[0]

    def f(x):
        g = guarded(x)
        next(g)
        y = next(g)
        y += g.throw(ValueError(x * 10))
        return y * next(g)

    check(f, 1.2)


def test_a_generator_made_in_one_function_and_drained_in_another(check):
    def make(x):
        local = x * x
        return (local * k for k in range(1, 4))

    def drain(g):
        total = 0.0
        for y in g:
            total = total * 0.5 + y
        return total

    check(lambda x: drain(make(x)) + sum(make(x)), 1.5)


def test_a_generator_expression_evaluates_its_first_iterable_at_once(check):
    def f(v):
        g = (x * x for x in list(v))
        v[0] = 100.0
        return sum(g)

    assert check(f, [1.0, 2.0]) == ([2.0, 4.0],)


def test_unpacking_a_generator(check):
    def pair(x):
        yield x
        yield x * x
        yield x**3

    def f(x):
        a, b, c = pair(x)
        first, *rest = pair(a * b)
        return c * first + sum([*rest, *pair(0.5)]) + max(pair(x)) * dict(zip("abc", pair(x), strict=True))["b"]

    check(f, 1.2)


def test_a_generator_method_and_an_iter_generator(check):
    class Series:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            term = 1.0
            for k in range(1, 6):
                term *= self.x / k
                yield term

        def partial(self):
            total = 0.0
            for t in self:
                total += t
                yield total

    check(lambda x: sum(Series(x)) * list(Series(x).partial())[2], 1.3)


def test_a_generator_with_an_early_return_and_a_loop_else(check):
    def search(v, limit):
        for x in v:
            if x > limit:
                yield x * 10
                return
            yield x * limit
        else:
            yield limit

    check(lambda v, t: sum(search(v, t)) + sum(search(v[:1], t)), [1.0, 2.0, 3.0, 4.0], 2.5)


def test_a_function_that_returns_a_generator_has_no_gradient_of_its_own():
    def f(x):
        yield x

    with pytest.raises(mo.MorulaError):
        mo.gradient(f, 1.0)


def test_a_pipeline_of_generators(check):
    def source(v):
        yield from v

    def smooth(xs, a):
        y = 0.0
        for x in xs:
            y = a * x + (1 - a) * y
            yield y

    def squared(xs):
        return (x * x for x in xs)

    check(lambda v, a: sum(squared(smooth(squared(source(v)), a))), [1.0, 2.0, 0.5], 0.3)
