# ruff: noqa: F821 -- names are read before the line that assigns them, as a later iteration does
"""A name that some paths of an iteration assign and later iterations read; unassigned, it raises as in Python."""

import math

import numpy as np
import pytest
from path_tester import check_gradient, run_on

import morula as mo


def by_a_while(x):
    y, i = x, 0
    while y < 20.0:
        if i > 2 and y > 4.0 * x:
            y = y + step
        else:
            step = 0.5 * y
            y = y + 1.0
        i += 1
    return y


def by_a_for(x):
    y = x
    for i in range(6):
        if y > 2.0 * x and i % 2:
            y = y * x + last
        elif i % 2 == 0:
            last = y + i
            y = y + x
    return y + last


def by_two_names(x):
    y = x
    for i in range(7):
        if i % 3 == 0:
            a = y * x
        if i % 3 == 1:
            b = a + i
            y = y + b
        if i % 3 == 2:
            y = y * 0.5 + a * b
    return y


def by_nested_loops(x):
    y = x
    for i in range(3):
        for j in range(4):
            if (i + j) % 2:
                y = y + 0.1 * held
            else:
                held = y * x
    return y


def by_an_integer(x):
    y = x * np.arange(1.0, 5.0)
    total = 0.0
    for i in range(4):
        if y[i] > 3.0 * x:
            total = total + y[i] * best
        else:
            best = i + 1
    return total


def by_del(x):
    y = x
    for i in range(5):
        if i % 2 == 0:
            step = y * x
        else:
            y = y + step
            del step
    return y


def by_an_outer_name(x):
    y = x
    if x > 1.0:
        step = x
    for i in range(4):
        if i > 1:
            step = y * 0.5
        elif x > 1.0:
            y = y + step
    return y


def unassigned(x):
    y = x
    while y < 10.0:
        if y > 5.0:
            y = y + step
        elif y > 100.0:
            step = x
        else:
            y = y + 1.0
    return y


PROGRAMS = [f for name, f in list(globals().items()) if name.startswith("by_")]
PATHS = ["eager", "native", "xla"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("x", [0.7, 1.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_name_that_an_earlier_iteration_assigned(f, x, path):
    check_gradient(path, f, x)


@pytest.mark.parametrize("path", PATHS)
def test_a_name_that_no_iteration_assigned(path):
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'step'"):
        run_on(path)(unassigned)(0.5)


def _cubic(s):
    return None if s > 2.0 else s * 1.1


def read_behind_a_test(x, n):
    i, s = 0, 0.0
    while i < n:
        if i > 0:
            a = s * 0.5 + x
        if i == 0 or a > 3.0:
            a = x
        s = s + a * a
        i += 1
    return s


def from_an_earlier_iteration(x, n):
    s = 0.0
    for k in range(n):
        if x * k < 2.0:
            y = np.array([x, x * k])
        s += y.sum()
    return s


def none_or_a_number(x, n):
    i, s = 0, 0.0
    while True:
        if i > 0:
            a = _cubic(s)
        if i == 0 or a is None or a > 3.0:
            a = x
        s = s + a
        i += 1
        if i >= n:
            break
    return s


def assigned_where_nothing_is_raised(x, n):
    s, i = 0.0, 0
    while i < n:
        i += 1
        try:
            y = [np.sqrt(x), math.sqrt(2.0 - x * i)]
        except ValueError:
            continue
        s += y[0] * y[1]
    return s


@pytest.mark.parametrize(
    "f", [read_behind_a_test, from_an_earlier_iteration, none_or_a_number, assigned_where_nothing_is_raised]
)
def test_a_name_that_earlier_iterations_may_have_assigned(path, f):
    for n in (1, 3, 6):
        check_gradient(path, f, 0.7, n, argnums=(0,))


def never_assigned(x, n):
    s = 0.0
    for k in range(n):
        if x * k > 2.0:
            y = x * k
        s += y
    return s


def test_a_name_that_no_iteration_has_assigned(target):
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'y'"):
        mo.jit(never_assigned, target=target)(0.7, 6)
