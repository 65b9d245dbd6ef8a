"""Loops over generators and ``itertools.count`` whose course is not known while compiling."""

from __future__ import annotations

import itertools

import pytest
from path_tester import PATHS, check_gradient, check_value

import morula as mo


def halvings(x, least):
    while x > least:
        yield x
        x = x / 2


def summed(x):
    total = 0.0
    for v in halvings(x, 0.1):
        total += v * v
    return total


def by_functions(x):
    return sum(halvings(x, 0.1)) * len(list(halvings(x * x, 0.2))) + max(halvings(x, 0.2)) - min(halvings(x, 0.2))


def left_by_break(x):
    def steps():
        n = 0
        while True:
            yield x**n / (n + 1)
            n += 1

    total = 0.0
    for v in steps():
        if v < 1e-3 or total > 20.0:
            break
        total += v * x
    else:
        total = 100.0
    return total


def left_by_return(x):
    def first_small():
        for v in halvings(x, 0.05):
            if v < 0.3:
                return v * v
        return 3.0 * x

    return first_small()


def with_an_else(x):
    total = 0.0
    for v in halvings(x, 0.1):
        total += v
        if total > 2.0:
            break
    else:
        total = total * x
    return total


def counted_without_end(x):
    total = 0.0
    for n in itertools.count(2):
        total += x**n / n + 0.3
        if total > 4.0 - x:
            break
    return total * n


def chosen_items(x):
    def chosen():
        for i in range(50):
            if x * i % 3.0 > 1.0:
                yield i * x

    total = 0.0
    for v in chosen():
        total = total * 0.5 + v
    return total


def generators_in_generators(x):
    def inner():
        for v in halvings(x, 0.2):
            yield v + 1
        yield from halvings(x * 2, 0.3)

    return max(inner()) + min(inner()) * 3 + sum(v * v for v in inner())


def several_yields(x):
    def pairs():
        for v in halvings(x, 0.2):
            yield v
            yield v * v

    total = 0.0
    for v in pairs():
        if v > 1.0:
            continue
        total += v
        if total > 1.2:
            break
    return total


def any_and_all(x):
    return any(v < 0.2 for v in halvings(x, 0.01)) * x + all(v > 0.2 for v in halvings(x, 0.1))


def raised_in_the_body(x):
    def checked():
        for v in halvings(x, 0.2):
            if v < 0.0:
                raise ValueError
            yield v

    total = 0.0
    try:
        for v in checked():
            total += v
            if total > 1.5:
                raise KeyError(total)
    except KeyError:
        total += 7 * x
    return total


def effects_in_order(x):
    log = [0.0]

    def noted():
        for v in halvings(x, 0.2):
            log[0] = log[0] * 0.5 + v
            yield v

    for v in noted():
        log[0] = log[0] * v + 1.0
    return log[0]


def cycled(x):
    total = 0.0
    for v in itertools.cycle([x, 1.0, x * x]):
        total = total * 0.9 + v
        if total > 4.0:
            break
    return total


def searched_without_end(x):
    return any(v * n > 5.0 for n, v in ((n, x) for n in itertools.count())) * x


PROGRAMS = [
    searched_without_end,
    cycled,
    summed, by_functions, left_by_break, left_by_return, with_an_else, counted_without_end, chosen_items,
    generators_in_generators, several_yields, any_and_all, raised_in_the_body, effects_in_order,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_loops(path, program):
    for x in (0.43, 1.3):
        check_gradient(path, program, x)


def taken_while(x):
    return list(itertools.takewhile(lambda v: v < 1.0, (0.1 + n * 0.2 * x for n in itertools.count())))


@pytest.mark.parametrize("path", PATHS)
def test_the_items_before_a_condition(path):
    for x in (0.43, 1.3):
        check_value(path, taken_while, x)


def test_the_generator_of_a_loop_that_may_have_been_left():
    def program(x):
        made, total = halvings(x, 0.1), 0.0
        for v in made:
            total += v
            if total > 1.0:
                break
        return total + next(made)

    with pytest.raises(mo.BadInput):
        mo.jit(program, target="native")(1.3)
