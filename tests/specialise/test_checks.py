"""Failures at run time raise Python's exceptions on every path, and never access other memory."""

from __future__ import annotations

import math
from collections import Counter, deque, namedtuple

import numpy as np
import pytest
from path_tester import gradient_of, run_on

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])
M = np.arange(6.0).reshape(2, 3)


class Diverged(Exception):
    pass


def asserted(x):
    assert x > 0, "x must be positive"
    return np.sqrt(x)


def raised(x, limit):
    if x > limit:
        raise ValueError(f"too large: {x} > {limit}")
    return x * x


def raised_in_a_loop(x, n):
    for i in range(n):
        x = x * x
        if x > 100:
            raise Diverged("diverged")
    return x


def element(a, i):
    return a[i]


def written(a, i):
    a[i] = 5.0
    return a.sum()


def of_a_row(m, i, j):
    return m[i, j]


def taken(a, i):
    return a[np.array([0, 1]) * i].sum()


def divided(i, j):
    return i // j


def remainder(i, j):
    return i % j


def float_divided(x, y):
    return x / y


def square_root(x):
    return math.sqrt(x)


def logarithm(x):
    return math.log(x)


def power_of_zero(x, y):
    return x**y


def integer_of(x):
    return int(x)


@pytest.mark.parametrize(
    "f, good, bad, error, text",
    [
        (asserted, (4.0,), (-1.0,), AssertionError, "x must be positive"),
        (raised, (1.0, 2.0), (3.0, 2.0), ValueError, r"too large: 3\.0 > 2\.0"),
        (raised_in_a_loop, (1.01, 3), (2.0, 5), Diverged, "diverged"),
        (element, (A, 3), (A, 4), IndexError, "index 4 is out of bounds for axis 0 with size 4"),
        (element, (A, -4), (A, -5), IndexError, "index -5 is out of bounds for axis 0 with size 4"),
        (written, (A, 1), (A, 9), IndexError, "index 9 is out of bounds for axis 0 with size 4"),
        (of_a_row, (M, 1, 2), (M, 0, 3), IndexError, "index 3 is out of bounds for axis 1 with size 3"),
        (taken, (A, 3), (A, 4), IndexError, "out of bounds for axis 0 with size 4"),
        (divided, (7, 2), (7, 0), ZeroDivisionError, "zero"),
        (remainder, (7, 2), (7, 0), ZeroDivisionError, "zero"),
        (float_divided, (7.0, 2.0), (7.0, 0.0), ZeroDivisionError, "zero"),
        (square_root, (4.0,), (-1.0,), ValueError, None),
        (logarithm, (4.0,), (0.0,), ValueError, None),
        (power_of_zero, (2.0, -1.0), (0.0, -1.0), ZeroDivisionError, None),
        (integer_of, (4.5,), (math.nan,), ValueError, None),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_errors_are_pythons(path, f, good, bad, error, text):
    compiled = run_on(path)(f)
    assert np.isclose(compiled(*good), f(*good))
    with pytest.raises(error, match=text):
        compiled(*bad)
    assert np.isclose(compiled(*good), f(*good))


def numpy_divided(a, b):
    return a / b, a // b, np.log(b), np.sqrt(a)


def test_numpy_gives_infinities(path):
    a, b = np.array([1.0, -1.0, 0.0]), np.zeros(3)
    with np.errstate(all="ignore"):
        expected = numpy_divided(a, b)
        found = run_on(path)(numpy_divided)(a, b)
    for x, y in zip(found, expected):
        assert np.array_equal(x, y, equal_nan=True)


def integer_arrays(a, b):
    return a // b, a % b


def test_numpy_gives_zero_for_integers_over_zero(path):
    a, b = np.array([7, -7, 3]), np.array([0, 2, 0])
    with np.errstate(all="ignore"):
        expected = integer_arrays(a, b)
        found = run_on(path)(integer_arrays)(a, b)
    for x, y in zip(found, expected):
        assert np.array_equal(x, y)


def test_errors_of_a_gradient(path):
    gradient = run_on(path)(gradient_of(raised, (0,)))
    assert gradient(1.5, 2.0)[1][0] == 3.0
    with pytest.raises(ValueError, match="too large"):
        gradient(3.0, 2.0)


def protected(a, i):
    if i < len(a) and a[i] > 0:
        return a[i]
    return -1.0


def test_what_a_condition_protects_is_not_checked(path):
    compiled = run_on(path)(protected)
    assert compiled(A, 3) == 2.0
    assert compiled(A, 100) == -1.0


def slices(a, i, j):
    return a[i:j].sum() + a[:i].sum() * 10 + a[j:].sum() * 100


@pytest.mark.parametrize("i, j", [(0, 4), (1, 3), (-3, -1), (3, 1), (2, 9), (-9, 2)])
def test_slices_are_cut_to_the_array(value, i, j):
    value(slices, A, i, j)


def different_lengths(a, i):
    return (a[:i] + a[1:3]).sum()


def test_lengths_that_differ_when_the_program_runs(path):
    compiled = run_on(path)(different_lengths)
    assert compiled(A, 2) == different_lengths(A, 2)
    with pytest.raises(ValueError, match="broadcast"):
        compiled(A, 3)


def test_singular_matrices_raise(path):
    with pytest.raises(np.linalg.LinAlgError, match="(?i)singular"):
        run_on(path)(np.linalg.inv)(np.ones((2, 2)))


def returned_from_a_try(x):
    try:
        if x > 1:
            raise ValueError("large")
        return x * x
    except ValueError:
        return -x


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_a_return_on_every_way_through_a_try(check, x):
    check(returned_from_a_try, x)


ITEMS = iter([1.0, 2.0])
Pair = namedtuple("Pair", "a b")


def test_the_next_item_of_an_iterator_from_outside(target):
    with pytest.raises(mo.BadInput, match="takes the next item of a list_iterator made outside of it"):
        mo.jit(lambda x: x + next(ITEMS), target=target)(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda it: deque(it)[0],
        lambda it: tuple.__new__(tuple, it)[0],
        lambda it: set().union(it),
        lambda it: [].extend(it),
        lambda it: Counter(it)[1.0],
        lambda it: Pair._make(it).a,
        lambda it: sorted(it)[0],
        lambda it: sum(it),
        lambda it: it.__next__(),
    ],
)
def test_no_item_of_an_iterator_from_outside_is_taken_while_compiling(f):
    it = map(float, [1, 2])
    with pytest.raises(mo.BadInput, match="takes the next item of a map made outside of it"):
        mo.jit(f)(it)
    assert list(it) == [1.0, 2.0]
