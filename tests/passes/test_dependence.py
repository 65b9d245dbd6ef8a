"""The dependence of results on inputs: loops over many elements at once, what is consulted, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.passes.dependence import NotSparse, dependence

N = 100_000


def tangent(f, *args):
    """The typed program of the tangent of f by its first argument; its parameters are x, dx and the other arguments."""

    def push(x, dx, *others):
        return mo.jvp(lambda x: f(x, *others), (x,), (dx,))[1]

    return mo.jit(push).lower(args[0], np.array(args[0]), *args[1:]).compilation.function


def pattern(f, *args):
    others = {i: np.asarray(x) for i, x in enumerate(args[1:], 2)}
    return dependence(tangent(f, *args), 1, others)


def entries(f, *args):
    return pattern(f, *args).pattern.nnz


def by_branches(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        s = 2 * x[i]
        if i > 0:
            s -= x[i - 1]
        if i < len(x) - 1:
            s -= np.sin(x[i + 1])
        r[i] = s
    return r


def by_inner_loops(x):
    r = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(max(i - 1, 0), min(i + 2, len(x))):
            if j != i:
                r[i] += x[j] ** 2
    return r


def with_a_window(x):
    r = np.zeros(len(x))
    before = x[0]
    for i in range(1, len(x)):
        r[i] = x[i] * before
        before = x[i]
    return r


def with_scratch_space(x):
    r, t = np.zeros(len(x)), np.zeros(2)
    for i in range(len(x) - 1):
        t[0], t[1] = x[i], x[i + 1]
        r[i] = t[0] * t[1]
    return r


def with_a_counter(x):
    r, k = np.zeros(len(x)), 0
    for i in range(0, len(x), 2):
        r[k] = x[i]
        k += 1
    return r


def with_a_sum(x):
    r, s = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        s = 0.9 * s + x[i]
        r[i] = x[i] ** 2
    r[0] = s
    return r


def with_a_sum_of_rows(x):
    r, s = np.zeros(len(x)), np.zeros(2)
    for i in range(len(x) - 1):
        s = s + x[i : i + 2] ** 2
        r[i] = x[i] ** 2
    r[0] = s[0]
    return r


def steps_over_time(x):
    u = x.copy()
    for _ in range(1000):
        for i in range(len(u)):
            u[i] = u[i] + 1e-3 * (1 - u[i] ** 3)
    return u


@pytest.mark.parametrize(
    "f, per_element",
    [
        (by_branches, 3),
        (by_inner_loops, 2),
        (with_a_window, 2),
        (with_scratch_space, 2),
        (with_a_counter, 0.5),
        (with_a_sum, 2),
        (with_a_sum_of_rows, 2),
        (steps_over_time, 1),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_a_loop_over_many_elements_is_interpreted_at_once_and_exactly(f, per_element):
    assert abs(entries(f, np.ones(N)) - per_element * N) <= 3


def test_where_iterations_depend_on_each_other_they_are_interpreted_one_after_the_other():
    def sweep(x):
        u = x.copy()
        for i in range(1, len(x)):
            u[i] = u[i - 1] * x[i]
        return u

    n = 30
    assert entries(sweep, np.ones(n)) == n * (n + 1) // 2


def test_an_array_that_an_iteration_overwrites_does_not_depend_on_what_was_there():
    def f(x):
        u = x.copy()
        for i in range(len(x) - 1):
            u[i] = 2.0 * x[i + 1]
        return u

    found = pattern(f, np.ones(1000)).pattern
    assert found.nnz == 1000 and np.array_equal(found.indices, [*range(1, 1000), 999])


def test_a_write_to_a_copy_does_not_overwrite_the_array():
    def f(x):
        n, u = len(x), x.copy()
        r = np.zeros(n)
        for i in range(n):
            w = u.copy()
            w[i] = 0.0
            r[i] = w[0] + w[i]
            u[0] = 2.0 * x[i]
        return np.concatenate([r, u])

    n = 50
    found = pattern(f, np.ones(n)).pattern.toarray()
    assert np.array_equal(found[n + 1 :], np.eye(n, dtype=bool)[1:]) and found[n].all()


def test_an_array_that_an_iteration_may_overwrite_depends_on_both():
    def f(x):
        u = x.copy()
        for i in range(len(x) - 1):
            if x[i] > 0.0:
                u[i] = 2.0 * x[i + 1]
        return u

    assert entries(f, np.ones(1000)) == 1999


def test_a_while_of_unknown_length_is_a_fixed_point():
    def diffused(x):
        u = x.copy()
        while np.max(u) > 0.1:
            u[1:] = 0.5 * (u[1:] + u[:-1])
            u[0] = 0.0
        return u

    n = 12
    found = pattern(diffused, np.ones(n)).pattern.toarray()
    assert np.array_equal(found, np.tri(n, dtype=bool))


def test_indices_are_consulted_and_other_numbers_are_not():
    def f(x, places, scale, a, count):
        return scale * (a @ x[places]) + count

    args = np.ones(5), np.array([1, 1, 3]), 2.0, np.array([[1.0, 0.0, 2.0]]), np.array(3)
    found = pattern(f, *args)
    assert found.pattern.toarray().tolist() == [[False, True, False, True, False]]
    assert found.consulted == {(2, "values"), (4, "zeros")}


def test_what_is_not_known_stands_for_all():
    def f(x, places):
        return x[places]

    program = tangent(f, np.ones(5), np.array([1, 2]))
    assert dependence(program, 1, {}).pattern.toarray().all()


def test_the_second_derivative_has_no_entries_of_what_is_linear():
    def f(x):
        s = 0.0
        for i in range(len(x) - 1):
            s += 3.0 * x[i]
            if x[i] > 0.5:
                s += x[i] * x[i + 1]
        return s

    found = dependence(tangent(f, np.ones(N)), 1, {}, 0).pattern
    assert abs(found.nnz - 2 * N) <= 2 and not found.diagonal().any()


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: np.cumsum(x), "a cumulative sum depends on all earlier elements"),
        (lambda x: x / np.sum(x), "depends on too many elements \\(over 20,000,000 pairs\\)"),
    ],
)
def test_large_patterns_that_are_full_are_refused(f, text):
    with pytest.raises(NotSparse, match=text) as info:
        pattern(f, np.ones(N))
    assert info.value.line > 0


def test_a_recurrence_over_many_elements_is_refused():
    def thomas(d):
        x = d.copy()
        for i in range(1, len(d)):
            x[i] = x[i] - 0.25 * x[i - 1]
        return x

    with pytest.raises(NotSparse):
        pattern(thomas, np.ones(20_000))
