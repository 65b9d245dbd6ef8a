# ruff: noqa: F821 -- names are read before the line that assigns them, as a later iteration does
"""A name that some paths of an iteration assign and later iterations read; unassigned, it raises as in Python."""

import numpy as np
import pytest
from path_tester import check_gradient, run_on


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
