"""Items of lists and tuples at traced indices are read and written as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

NUMBERS = [
    lambda n: [1, 2, 3][n], lambda n: (1.5, 2.5)[n], lambda n: [True, False, True][n], lambda n: [1j, 2j][n], lambda n: [n, n * n][-n],
    lambda n: [np.float32(1), np.float32(2)][n], lambda n: [np.int8(100), np.int8(3)][n] + np.int8(100), lambda n: [1, 2][np.int8(n)],
    lambda n: [1, 2][np.array(n)], lambda n: (4, 5)[n > 1], lambda n: [7, 8, 9][n] // 2, lambda n: [][n], lambda n: ()[n],
    lambda n: [np.ones(2), np.zeros(2)][n], lambda n: [1, 0][n] / 0, lambda n: 1 // [1, 0][n], lambda n: 5 % [1.5, 0.0][n],
    lambda n: ([1, 2], [3, 4])[n > 0][n], lambda n: sum([1, 2, 3][i] for i in range(n)), lambda n: isinstance([1, 2][n], int),
]  # fmt: skip


def written(n):
    v = [1.0, 2.0, 3.0]
    v[n] = 7.5 * n
    return v


def increased(n):
    v = [1, 2, 3]
    v[n] += n
    v[-1 - n] *= 2
    return v, sum(v)


def in_a_loop(n):
    v, k = [False] * 4, 0
    for i in range(n):
        v[(i * n) % 4] = True
        k += v[i]
    return v, k


def of_nothing_known(n):
    v = [None] * 3
    v[n] = 1
    return v[0]


def of_rows(n):
    rows = [[0] * 3 for _ in range(3)]
    rows[n][n - 1] = 5
    return rows


def into_a_tuple(n):
    t = (1, 2)
    t[n] = 3
    return t


def deleted(n):
    v = [1, 2, 3]
    del v[n]
    return v


def caught(n):
    v = [1.0, 2.0]
    try:
        v[n] = 3.0
    except IndexError:
        v[0] = -1.0
    return v


def swapped(n):
    v = [1, 2, 3, 4]
    v[n], v[0] = v[0], v[n]
    other = v
    other[n - 1] = 9
    return v


def exchanged(n):
    """A dict in which lists that are written to are kept."""
    d = {"a": [1, 2], "b": [3, 4]}
    for key in d:
        d[key][n] = d["a"][0] + n
    return d


WRITES = [written, increased, in_a_loop, of_nothing_known, of_rows, into_a_tuple, deleted, caught, swapped, exchanged]


def outcome(f, n):
    try:
        return repr(f(n))
    except (IndexError, TypeError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("f", [*NUMBERS, *WRITES])
def test_items_are_pythons(f):
    compiled = mo.jit(f, target="native")
    for n in (0, 1, 2, -1, 5, -4):
        assert outcome(compiled, n) == outcome(f, n), n


@pytest.mark.parametrize("f", [written, in_a_loop, caught])
def test_on_each_target(target, f):
    compiled = mo.jit(f, target=target)
    for n in (1, -1, 5):
        assert outcome(compiled, n) == outcome(f, n), n


def test_an_int_of_a_list_does_not_wrap_around(target):
    with pytest.raises(OverflowError, match="this one needs more"):
        mo.jit(lambda n: [2**62, 2**61][n] * 4, target=target)(0)


def relaxed(w, start):
    """Dijkstra's algorithm; which vertex is next is known only when the program runs."""
    n = len(w)
    distance, done = [float("inf")] * n, [False] * n
    distance[start] = 0.0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u < 0 or distance[v] < distance[u]):
                u = v
        done[u] = True
        for v in range(n):
            distance[v] = min(distance[v], distance[u] + w[u, v])
    return distance


def test_shortest_paths(target):
    w = np.array([[0.0, 7.0, 1.0, 9.0], [7.0, 0.0, 5.0, 1.0], [1.0, 5.0, 0.0, 8.0], [9.0, 1.0, 8.0, 0.0]])
    for start in range(3):
        assert mo.jit(relaxed, target=target)(w, start) == relaxed(w, start)
    if target == "native":
        compiled = mo.jit(mo.grad(lambda w: relaxed(w, 0)[3]), target=target)
        assert compiled(w).tolist() == mo.grad(lambda w: float(relaxed(w, 0)[3]))(w).tolist()


def test_known_numbers_are_one_constant_array():
    text = mo.jit(lambda x, n: x * (2, 3.5, True)[n], target="native").lower(np.ones(3), np.int64(2)).as_text()
    assert "<float64[3]>" in text and "concatenate" not in text
