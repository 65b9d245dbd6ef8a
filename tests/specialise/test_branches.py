"""Branches on conditions that are known only at run time."""

from __future__ import annotations

import numpy as np
import pytest

A = np.array([0.5, -1.0, 1.5, 2.0])


def absolute(x):
    if x < 0:
        return -x
    return x


@pytest.mark.parametrize("x", [-1.5, 2.0])
def test_an_early_return(check, x):
    check(absolute, x)


def piecewise(x):
    if x < -1:
        y = x * x
    elif x < 1:
        y = 3 * x
    elif x < 4:
        y = np.sin(x)
        y = y * x
    else:
        y = 1 / x
    return y + x


@pytest.mark.parametrize("x", [-2.0, 0.5, 2.0, 5.0])
def test_if_elif_else(check, x):
    check(piecewise, x)


def nested(x, y):
    if x > 0:
        if y > 0:
            return x * y
        x = x + y
    else:
        if y > x:
            y = y * y
    return x * x + y


@pytest.mark.parametrize("x, y", [(1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0)])
def test_nested_branches_with_a_return_in_one(check, x, y):
    check(nested, x, y)


def expression(x, a):
    y = x if x > a.sum() else a[0] * x
    return (y if a[1] > 0 else -y) * x


@pytest.mark.parametrize("x", [1.0, 5.0])
def test_conditional_expressions(check, x):
    check(expression, x, A)


def connected(x, y):
    total = 0.0
    if x > 0 and y > 0:
        total = total + x * y
    if x > 0 or y > 0:
        total = total + x
    if not (x > y):
        total = total + y * y
    if -2 < x < y:
        total = total + 3 * x
    if (x > 0) == (y > 0):
        total = total + 5 * y
    return total


@pytest.mark.parametrize("x, y", [(1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-3.0, -2.0)])
def test_and_or_not_and_chained_comparisons(check, x, y):
    check(connected, x, y)


def guarded(x, y):
    if x != 0 and y / x > 1:
        return y / x
    return y


@pytest.mark.parametrize("x", [0.0, 1.0, 4.0])
def test_what_and_protects_is_not_evaluated(check, x):
    check(guarded, x, 2.0, argnums=(1,))


def chosen_value(x, y):
    return (x or y) * 2.0 + (x and y)


@pytest.mark.parametrize("x", [0.0, 1.5])
def test_and_and_or_give_operands(check, x):
    check(chosen_value, x, 2.5, argnums=(1,))


def int_or_float(x):
    y = 1
    if x > 0:
        y = x * 2
    return y * x


@pytest.mark.parametrize("x", [-1.5, 1.5])
def test_an_int_in_one_branch_and_a_float_in_the_other(check, x):
    check(int_or_float, x)


def arrays_of_branches(a, x):
    if x > 0:
        b = a * x
    else:
        b = np.zeros_like(a)
        b[1:] = a[:-1]
    return (b * b).sum()


@pytest.mark.parametrize("x", [-1.5, 1.5])
def test_arrays_from_branches(check, x):
    check(arrays_of_branches, A, x)


def containers_of_branches(x, y):
    state = {"a": x, "b": (y, [x, y])}
    if x > y:
        state["a"] = y * y
        state["b"][1][0] = 7.0
    else:
        state["b"] = (x * y, [x, x])
    p, (q, r) = state["b"]
    return state["a"] * p + q * r


@pytest.mark.parametrize("x", [1.0, 3.0])
def test_containers_that_branches_change(check, x):
    check(containers_of_branches, x, 2.0)


def written_in_a_branch(a, x):
    if x > 0:
        a[0] = x * a[1]
    elif x > -2:
        a[1:] *= x
    return (a * a).sum()


@pytest.mark.parametrize("x", [1.0, -1.0, -3.0])
def test_a_write_in_a_branch(check, x):
    check(written_in_a_branch, A, x)


def only_where_needed(x):
    if x > 0:
        scale = 2.0 * x
    y = x
    if x > 0:
        y = scale * x
    return y


@pytest.mark.parametrize("x", [-1.5, 1.5])
def test_a_name_that_one_branch_assigns(check, x):
    check(only_where_needed, x)


def no_nan(x):
    if x > 0:
        return np.sqrt(x)
    return 0.0 * x


def test_nothing_passes_to_the_branch_not_taken(check):
    check(no_nan, -1.0)


def results(x, n):
    if n > 2:
        return {"x": x, "n": n + 1, "big": True}
    return {"x": 2 * x, "n": n, "big": False}


@pytest.mark.parametrize("n", [1, 5])
def test_structured_results(value, n):
    value(results, 1.5, n)


def any_of(a, x):
    if (a > x).any():
        return a.max() * x
    if np.all(a < x):
        return x * x
    return x


@pytest.mark.parametrize("x", [0.7, 2.5])
def test_conditions_on_whole_arrays(check, x):
    check(any_of, A, x)


def matched(x, kind):
    match kind:
        case "square":
            y = x * x
        case ("scale", factor) if x > 0:
            y = x * factor
        case _:
            y = -x
    return y


@pytest.mark.parametrize("kind", ["square", ("scale", 3.0), "other"])
@pytest.mark.parametrize("x", [-1.5, 1.5])
def test_match_statements(check, kind, x):
    check(matched, x, kind, argnums=(0,))


def at_places(x, places, chosen):
    if chosen:
        return np.sum(x[places]) + np.sum(places)
    return np.sum(places) * 1.0 + np.sum(x)


def written_at_places(x, places, chosen):
    y = x * 1.0
    if chosen:
        y[places] = 1.0
    return np.sum(y) + 2.0


@pytest.mark.parametrize("f", [at_places, written_at_places])
def test_an_empty_array_is_indexed_on_the_other_path(check, f):
    check(f, np.zeros(0), np.array([0, 1]), False, argnums=(0,))
