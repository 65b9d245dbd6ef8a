"""In-place writes: their effect on values, on other names of the memory, on the caller's arrays and on gradients."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])
B = np.array([2.0, 0.25, -0.5, 1.0])
M = np.array([[0.5, 1.0, 1.5], [2.0, -0.5, 0.7]])


def element(a, i, x):
    a[i] = x * a[i - 1]
    a[i] += a[0]
    a[-i] *= x
    return (a * a * np.arange(4)).sum()


def recurrence(a):
    for i in range(1, len(a)):
        a[i] = a[i] + 0.5 * a[i - 1] * a[i]
    return (a * np.arange(4)).sum()


def prefix(a, k, x):
    a[:k] *= x
    a[k:] = a[k:] + 1.0
    return (a * a).sum() + a[:k].sum() * x


def window(a, k, x):
    a[k : k + 2] = a[k : k + 2] ** 2 * x
    a[k - 1 : k + 1] += x
    return (a * np.arange(1, 5)).sum()


def strided(a, x):
    a[::2] = x * a[1::2]
    a[::-1][0] = x
    a[-3:-1] -= a[:2]
    return (a * a).sum()


def rows(m, i, x):
    m[i] = x * m[i - 1]
    m[:, 1] += m[:, 0]
    m[i, 1:] *= x
    m[i][0] = 3.0 * x
    m[..., 2] = m[..., 0] * x
    return (m * m * np.arange(6).reshape(2, 3)).sum()


def by_view(a, x):
    front = a[:3]
    front[1] = x
    back = front[1:]
    back *= x
    a[2] += front[0]
    return (front * np.arange(1, 4)).sum() + a.sum()


def by_other_shapes(m, x):
    flat = m.reshape(-1)
    flat[4] = x * flat[0]
    turned = m.T
    turned[2] = x
    turned += m[0, 0]
    m.ravel()[1] = x * x
    return (m * m * np.arange(6).reshape(2, 3)).sum()


def two_names(a, x):
    b = a
    c = a.copy()
    b[0] = x
    b += 1.0
    b = b * 2.0
    b[1] = x
    return (a * a).sum() + (b * c).sum()


def swapped(m, i):
    m[[0, i]] = m[[i, 0]] * 2.0
    m[0], m[1] = m[1].copy(), m[0].copy()
    return (m * m * np.arange(6).reshape(2, 3)).sum()


def masked(a, x):
    a[a > x] = x * x
    a[np.array([True, False, False, True])] += x
    return (a * a * np.arange(1, 5)).sum()


def scattered(a, i, x):
    a[np.array([3, 1])] = x * a[np.array([0, 2])]
    np.add.at(a, np.array([i, i, 0]), x * B[:3])
    return (a * a * np.arange(1, 5)).sum()


def filled(x, n):
    a = np.empty(5)
    for i in range(5):
        a[i] = x**i
    b = np.zeros((5, 5))
    for i in range(n):
        b[i, :i] = a[:i]
        b[i, i] = 1.0
    return (b @ a).sum()


def matrix_loops(m, x):
    out = np.zeros((2, 2))
    for i in range(2):
        for j in range(i + 1):
            for k in range(3):
                out[i, j] += m[i, k] * m[j, k]
            out[j, i] = out[i, j] * x
    return (out * np.array([[1.0, 2.0], [3.0, 4.0]])).sum()


def outputs(a, b, x):
    np.multiply(a, x, out=b)
    np.add(b, 1.0, b)
    return (a * b).sum()


def fill_and_put(a, x):
    b = np.ones_like(a)
    b.fill(x)
    b[...] = b * a
    b[:] = b + x
    a.sort()
    return (a * b).sum()


def by_callee(a, x):
    _scale(a, x)
    _scale(a[1:3], x)
    return a.sum()


def _scale(a, x):
    a *= x
    a[0] = a[0] + 1.0


class Grid:
    def __init__(self, values):
        self.values = values
        self.steps = 0

    def step(self, x):
        self.values[1:-1] += x * (self.values[2:] - 2 * self.values[1:-1] + self.values[:-2])
        self.steps += 1


def in_objects(a, x, n):
    grid = Grid(a)
    for _ in range(n):
        grid.step(x)
    return (grid.values**2).sum() + (a * B).sum() + grid.steps


def in_containers(a, b, x):
    state = {"a": a, "list": [b, a[1:]]}
    state["list"][1][0] = x
    state["list"][0] *= state["a"]
    state["a"] = state["a"] * 2.0
    state["a"][0] = 0.0
    return (state["a"] * b).sum() + (a * a).sum()


class Field:
    def __init__(self, values):
        self.values = values

    def set(self, i, x):
        self.values[i] = x
        self.values = self.values * 2.0


def of_argument_object(field, x):
    field.set(1, x)
    field.values[0] = x
    return (field.values**2).sum()


def written_under_conditions(a, x, n):
    i = 0
    while i < n:
        if a[i] > x:
            a[i] = a[i] * x
        else:
            a[i + 1] -= a[i]
        i += 1
    return (a * a * np.arange(1, 5)).sum()


def rewritten(a, x, n):
    for _ in range(n):
        a[1:-1] = 0.5 * (a[:-2] + a[2:]) * x
    return (a * a).sum()


def triangular(m, b):
    x = np.zeros(3)
    for i in range(3):
        x[i] = (b[i] - m[i, :i] @ x[:i]) / m[i, i]
    return (x * x).sum()


PROGRAMS = [
    (element, A, 2, 1.5),
    (recurrence, A),
    (prefix, A, 2, 1.5),
    (prefix, A, 0, 1.5),
    (window, A, 1, 1.5),
    (strided, A, 1.5),
    (rows, M, 1, 1.5),
    (by_view, A, 1.5),
    (by_other_shapes, M, 1.5),
    (two_names, A, 1.5),
    (swapped, M, 1),
    (masked, A, 1.2),
    (scattered, A, 2, 1.5),
    (filled, 1.5, 4),
    (matrix_loops, M, 1.5),
    (outputs, A, B, 1.5),
    (fill_and_put, A, 1.5),
    (by_callee, A, 1.5),
    (in_objects, A, 0.2, 3),
    (in_containers, A, B, 1.5),
    (of_argument_object, Field(A), 0.2),
    (written_under_conditions, A, 1.2, 3),
    (rewritten, A, 1.1, 3),
    (triangular, np.array([[2.0, 0, 0], [1.0, 3.0, 0], [0.5, -1.0, 1.5]]), B[:3]),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_writes(check, program):
    check(*program)


def filled_with_floats(n):
    a = np.zeros(4, dtype=np.int64)
    a[1] = 2.9
    a[n] += 1
    a[2] = True
    return a


def test_what_is_written_takes_the_dtype_of_the_array(value):
    value(filled_with_floats, 3)


def no_views(a, x):
    b = a[np.array([0, 1])]
    b[0] = x
    c = a[[2, 3]]
    c *= x
    return a, b, c


def test_an_index_array_copies(value):
    value(no_views, A, 1.5)


def overlapping(a):
    a[1:] = a[:-1]
    a[:-1] += a[1:]
    return a


def test_parts_that_overlap(value):
    value(overlapping, A)


def argument_and_part(a, b):
    a[0] = 10.0
    return b.sum()


def test_two_arguments_that_are_one_array(path):
    from path_tester import run_on

    a = A.copy()
    assert run_on(path)(argument_and_part)(a, a) == 12.5
    assert a[0] == 10.0


@pytest.mark.parametrize("dtype", [float, complex, int])
@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (0,)])
@pytest.mark.parametrize("index", [0, (1, 0), (0, ...), (1, None, 0)], ids=str)
def test_an_array_written_into_one_element(index, shape, dtype):
    """It is taken, or refused, as by the NumPy that is installed; a handler catches what that raises."""
    ndim = 1 if index == 0 else 2

    def f(v, caught):
        a = np.zeros((3,) * ndim, dtype)
        try:
            a[index] = v
        except caught:
            return a - 1
        return a

    v = np.full(shape, 2, dtype)
    try:
        f(v, ())
        caught = ()
    except (TypeError, ValueError) as error:
        caught = type(error)
        with pytest.raises(caught):
            mo.jit(lambda v: f(v, ()))(v)
    assert mo.jit(lambda v: f(v, caught))(v).tolist() == f(v, caught).tolist()
