"""Values of unlike shapes and kinds on two paths, and items, letters and entries at numbers known only at run time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from path_tester import check_gradient, check_value

import morula as mo

V = np.array([0.5, 1.0, 2.0, -3.0, 4.0])


class Line:
    def __init__(self, slope):
        self.slope = slope

    def at(self, x):
        return self.slope * x


class Parabola:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def at(self, x):
        return self.a * x * x + self.b


def arrays_of_two_lengths(x, v):
    a = v[:3] if x > 0.0 else v[1:] * 2.0
    for _ in range(6):
        x = x * 0.5
        b = a * x if x > 0.1 else v[:2]
        a = a + np.sum(b)
    return np.sum(a * a) + a.shape[0] * x + a[-1]


def matrices_of_two_shapes(x, v):
    a = np.outer(v[:2], v) if x > 0.5 else np.outer(v, v[:3]) if x > 0.0 else np.zeros((1, 1))
    return np.sum(a * a) + x * a[0, 0] + a.shape[0]


def masked_on_one_path(x, v):
    chosen = v[v > 0.7] if x > 0.0 else v[:1]
    return np.sum(chosen) * x


def a_number_or_an_array(x, v):
    d = 0.0
    if x > 0.0:
        d = v * x
    if x > -10.0:
        d = d * 2.0
    return np.sum(d * d) + x


def a_row_or_a_matrix(x, v):
    u = v * x if x > 0.0 else v.reshape(1, -1)
    return np.sum(u) * u.ndim


def objects_of_two_classes(x, v):
    total, t = 0.0, x
    while t < 2.0:
        f = Line(x) if t > 0.5 else Parabola(x, v[0])
        total += f.at(t)
        t += 0.4
    return total


def of_lists(x, v):
    rows = [[1.0, x], [v[0], 3.0], [x * x, v[1]]]
    i = int(abs(x) * 3.0)
    row = rows[i % 3]
    return row[0] * row[1] + rows[-(i % 3) - 1][1]


def of_unlike_items(x, v):
    items = [None, x, "a", (x, 2.0), Line(x)]
    t = items[int(abs(x) * 5.0) % 5]
    if t is None:
        return v[0]
    if t == "a":
        return 7.0 * x
    return t if isinstance(t, float) else t[1] * x if isinstance(t, tuple) else t.at(x)


def of_a_text(x, v):
    letter = "CDEFG"[int(abs(x) * 5.0) % 5]
    return x * x if letter > "E" else v[0] * x if letter in "CD" else x


def of_a_dict(x, v):
    table = {0: v[0], 1: x, 2: x * v[1], "name": 7.0}
    k = int(abs(x) * 4.0) % 4
    found = table.get(k, 3.0 * x)
    if k in table:
        table[k] = 2.0 * found
    return found + table[0] + table[1] * 2.0 + table[k % 2]


def by_a_bool(x, v):
    sums = {True: 0.0, False: 1.0}
    for e in v:
        sums[e > x] += e * e * x
    return sums[True] * sums[False]


F = [arrays_of_two_lengths, matrices_of_two_shapes, masked_on_one_path, a_number_or_an_array, a_row_or_a_matrix]
F += [objects_of_two_classes, of_lists, of_unlike_items, of_a_text, of_a_dict, by_a_bool]


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("f", F, ids=lambda f: f.__name__)
def test_values_and_gradients_are_pythons(f, path):
    for x in (0.7, 0.31, -0.47, 0.93, 0.05):
        check_gradient(path, f, x, V)


def returned(x, v):
    a = v[:3] if x > 0.0 else v[1:]
    return a * 2.0, a.shape, [e for e in a]


def itself_or_a_view(x, v):
    return v[1:] if x > 0.0 else v


@pytest.mark.parametrize("path", ["native", "xla"])
def test_an_array_chosen_by_a_path_is_pythons_own(path):
    compiled = mo.jit(itself_or_a_view, target=path)
    for x in (0.7, -0.5):
        v = V.copy()
        found, expected = compiled(x, v), itself_or_a_view(x, v)
        assert np.array_equal(found, expected) and np.shares_memory(found, v)
        assert (found is v) == (expected is v)


def written_through_one_name(x, v):
    a = v[1:] if x > 0.0 else v
    a[0] = 7.0
    v[1] += 1.0
    return np.sum(a), np.sum(v)


def missing_key(x, v):
    table = {0: 1.0, 1: x}
    return table[int(x * 3.0)] + v[0]


@pytest.mark.parametrize("path", ["native", "xla"])
def test_results_and_errors_are_pythons(path):
    for x in (0.7, -0.5):
        check_value(path, returned, x, V)
        check_value(path, written_through_one_name, x, V.copy())
    assert mo.jit(missing_key, target=path)(0.4, V) == missing_key(0.4, V)
    with pytest.raises(KeyError, match="2"):
        mo.jit(missing_key, target=path)(0.7, V)


def counts_of_python(n):
    return n % 3


def at_what_python_returns(x, v):
    table = {0: [x, "none"], 1: [2.0 * x, None], 2: [3.0 * x, ValueError]}
    return table[mo.callback(counts_of_python, 0, 7)][0] + v[0]


@pytest.mark.parametrize("path", ["native", "xla"])
def test_a_key_from_python_is_not_known_while_compiling(path):
    check_gradient(path, at_what_python_returns, 0.7, V)


class Pair:
    def __init__(self, parts):
        self.parts = parts

    def total(self):
        return sum(p() for p in self.parts)


def not_used_after_what_may_raise(x, v):
    try:
        parts = []
        first = math.sqrt(x)
        parts.append(lambda: first * x)
        second = math.log(x)
        parts.append(lambda: second)
        found = Pair(parts).total()
    except ValueError:
        return 3.0 * x
    return found + v[0] * x


def not_used_after_the_branch(x, v):
    steps = [lambda: x]
    if x > 0.0:
        steps.append(lambda: x * v[1])
        total = sum(step() for step in steps)
    else:
        total = steps[0]() * 2.0
    return total * x


@pytest.mark.parametrize("x", [1.5, -0.5])
@pytest.mark.parametrize("f", [not_used_after_what_may_raise, not_used_after_the_branch])
def test_a_list_of_two_lengths_that_is_not_used_any_more(path, f, x):
    check_gradient(path, f, x, V, argnums=(0, 1))


def used_after_the_loop(x, n):
    total = 0.0
    for i in range(n):
        steps = [lambda: x]
        if x > i:
            steps.append(lambda i=i: x * i)
        total += len(steps)
    return total


def test_one_that_is_used_is_refused(target):
    with pytest.raises(mo.BadInput, match="a container is a list of length 2 on one path and a list of length 1"):
        mo.jit(lambda x, a: used_after_the_loop(x, int(a[0])), target=target)(1.5, np.array([3, 4]))
