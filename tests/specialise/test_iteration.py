"""Loops over arrays and containers: rows, `zip`, `enumerate`, `reversed`, comprehensions."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import pytest

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])
B = np.array([2.0, 0.25, -0.5, 1.0])
M = np.array([[0.5, 1.0, 1.5], [2.0, -0.5, 0.7]])


def over_elements(a):
    total = 1.0
    for x in a:
        total = total * x + x
    return total


def over_rows(m):
    total = np.zeros(m.shape[1])
    for row in m:
        total = total * 0.5 + row * row
    return total.sum()


def over_zip(a, b):
    total = 0.0
    for x, y in zip(a, b[1:]):
        total += x * y * total + x
    return total


def over_enumerate(a):
    total = 0.0
    for i, x in enumerate(a, start=1):
        total = total * x + i * x
    return total


def over_reversed(a):
    total = 0.0
    for x in reversed(a):
        total = total * 0.5 + x
    for i in reversed(range(len(a))):
        total = total * 0.5 + a[i] * i
    for x in a[::-1]:
        total = total * 0.5 + x
    return total


def over_enumerated_pairs(a, m):
    total = 0.0
    for i, (x, row) in enumerate(zip(a, m)):
        total += x * row[i] + row.sum() * x
    return total


def over_columns(m):
    total = 0.0
    for column in m.T:
        total = total * column[0] + column[1]
    return total


def comprehension(a, x):
    return sum([y * x for y in a]) + max([y * y for y in a if True])


def array_of_comprehension(a, x):
    squares = np.array([y * y * x for y in a])
    table = np.array([[x * i + j for j in range(3)] for i in range(2)])
    return (squares * a).sum() + (table**2).sum()


def generator(a):
    return sum(y * y for y in a) + sum(a[i] * i for i in range(len(a)))


def dict_comprehension(a):
    named = {f"x{i}": y for i, y in enumerate(a)}
    return named["x1"] * named["x3"] + sum(named.values())


def unpacked(a, m):
    x, y, *rest = a
    (p, q, r), second = m
    return x * y + rest[0] * rest[1] + p * q * r + second.sum()


def collected(a):
    values = []
    for i in range(len(a)):
        values.append(a[i] * i)
    values.extend([a[0], a[1]])
    last = values.pop()
    return sum(values) * last


def mapped(a, b):
    return sum(map(lambda x, y: x * y, a, b)) + reduce(lambda s, x: s * x + 1, list(a), 1.0)


def of_products(a):
    return sum(a[i] * a[j] * (i - j) ** 2 for i, j in product(range(3), repeat=2))


def over_dict(a, x):
    weights = {"first": a[0], "second": a[1] * x}
    total = x
    for name, w in weights.items():
        total = total * w + len(name)
    for w in sorted(weights):
        total = total + weights[w]
    return total


def with_break(a, limit):
    total = 0.0
    for i, x in enumerate(a):
        if x > limit:
            break
        total += x * i
    else:
        total = total * 2
    return total


def rows_that_are_written(m, x):
    for row in m:
        row[0] = row[0] * x
        row += 1.0
    return (m * m).sum()


PROGRAMS = [
    (over_elements, A),
    (over_rows, M),
    (over_zip, A, B),
    (over_enumerate, A),
    (over_reversed, A),
    (over_enumerated_pairs, A, M),
    (over_columns, M),
    (comprehension, A, 1.5),
    (array_of_comprehension, A, 1.5),
    (generator, A),
    (dict_comprehension, A),
    (unpacked, A, M),
    (collected, A),
    (mapped, A, B),
    (of_products, A),
    (over_dict, A, 1.5),
    (with_break, A, 1.0),
    (with_break, A, 9.0),
    (rows_that_are_written, M, 1.5),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_iteration(check, program):
    check(*program)


def nothing(a):
    total = 1.0
    for x in a:
        total = total * x
    return total


def test_an_empty_array(value):
    value(nothing, np.zeros(0))


def summed(n):
    return sum(i * i for i in range(n))


def test_a_sum_to_a_bound_that_is_not_known(value):
    value(summed, 5)


def any_and_all(a, x):
    return any(y > x for y in a), all(y < x for y in a), min(a), max(a)


def test_any_all_min_max(value):
    value(any_and_all, A, 1.7)


def test_a_list_that_grows_without_an_end_on_a_path_that_does_not_run_is_refused():
    def f(x):
        items = [x, x]
        if x > 0.3:
            return x
        for q in items:
            items.append(q * 2)
        return sum(items)

    assert f(0.5) == 0.5
    with pytest.raises(mo.BadInput, match=r"found no end within(.|\n)*test_iteration"):
        mo.jit(f)(0.5)


def test_a_list_that_grows_to_an_end_is_gone_over():
    def f(x):
        items = [x, x]
        for q in items:
            if len(items) < 50:
                items.append(q * 1.25)
        return items[-1] + len(items)

    assert mo.jit(f)(0.5) == f(0.5)


@pytest.mark.parametrize("make", [np.array, np.asarray])
def test_an_array_of_a_range(make, target):
    def f(x, n):
        return (make(range(n)) * x).sum() + make(range(1, n, 2), dtype=float).sum() * x

    for n in (4, 7):
        assert np.isclose(mo.jit(f, target=target)(0.5, n), f(0.5, n))
    with pytest.raises(mo.BadInput, match="length of np.arange"):
        mo.jit(lambda x: make(range(int(x) * 3)).sum(), target=target)(2.0)
