"""Counts made in code that C calls are constants, also where integers are differentiated and others are refused."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


class Key:
    calls = 0
    log = []

    def __init__(self, n):
        self.n = n
        self.asked = 0
        self.counts = np.zeros(2, int)
        self.by_name = {"hash": 0}

    def __hash__(self):
        self.asked += 1
        Key.calls += 1
        self.counts[self.asked % 2] += 1
        self.by_name["hash"] += 1
        Key.log.append(len(Key.log) + 1)
        return 7

    def __eq__(self, other):
        return self is other


def counted(n):
    Key.calls = 0
    Key.log.clear()
    key = Key(n)
    table = {key: 1.0}
    y = table[key] + table.get(key)
    return y * n * n * (key.asked + Key.calls + key.by_name["hash"] + int(key.counts.sum()) + Key.log[-1])


@pytest.mark.parametrize("n", [3, 3.0])
def test_counts_are_constants(n):
    expected = 2 * 2 * 3.0 * 15
    assert counted(3.0) == 270
    assert mo.grad(counted)(n) == pytest.approx(expected)
    assert mo.grad(lambda x: x * mo.grad(lambda k: x * counted(k))(n))(2.0) == pytest.approx(2 * 2 * expected)


class OfNumPy:
    def __init__(self, n, kind):
        self.n, self.kind = n, kind

    def __hash__(self):
        self.kept = self.kind(self.n) * 2
        return 7


@pytest.mark.parametrize("kind", [np.int64, lambda n: np.array([n]), lambda n: np.array([[n, 1]])])
def test_integers_of_numpy_that_it_computes_are_refused(kind):
    def f(n):
        key = OfNumPy(n, kind)
        hash(("a tuple", key))
        return np.sum(key.kept * 2.0)

    line = OfNumPy.__hash__.__code__.co_firstlineno
    with pytest.raises(
        mo.NoDerivative, match=rf"OfNumPy.__hash__ \(.*test_counts_behind_the_program.py:{line}\).*pass a float"
    ):
        mo.grad(f)(3)


def test_arithmetic_of_differentiated_integers_gives_what_python_gives():
    """Also in code that is not recorded, as here in a key."""
    seen = []

    class Computes(Key):
        def __hash__(self):
            n = self.n
            seen[:] = [
                n + 1,
                1 + n,
                n - 1,
                1 - n,
                n * 2,
                2 * n,
                n**2,
                2**n,
                n**-1,
                n % 2,
                7 % n,
                -n,
                +n,
                abs(n),
                n / 2,
                n // 2,
            ]
            seen.extend(
                [divmod(n, 2), divmod(7, n), pow(n, 2, 5), n & 1, n << 1, n == 3, n * [0], n * 0.5, n * 1j, "%d" % n]
            )
            seen.extend(
                [
                    sum([n, n]),
                    n.real,
                    n.numerator,
                    n.conjugate(),
                    round(n),
                    int(n),
                    f"{n * n}",
                    repr(n + n),
                    hash(n * n),
                ]
            )
            return 7

    def f(n):
        return {Computes(n): n * 2.0}.popitem()[1]

    f(3)
    plain = list(seen)
    assert mo.grad(f)(3) == 2
    assert seen == plain
    assert all(isinstance(a, type(b)) for a, b in zip(seen, plain))
