"""Comparisons of list items: ``index``, ``count``, ``remove``, ``sort``, ``min``, ``max``, ``sorted``, ``bisect``."""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


@dataclass
class Shape:
    kind: int
    size: float

    def area(self):
        return self.kind * self.size**2


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __eq__(self, other):
        return isinstance(other, Money) and self.amount == other.amount

    def __lt__(self, other):
        return self.amount < other.amount

    __hash__ = None


def removed(x):
    v = [3.0, 1.0, x, 1.0]
    v.remove(1.0)
    v.remove(2.0)
    return v


def put_in_order(x):
    v = [3.0, x, 2.0]
    v.sort()
    w = [(x, 1), (2.0, 0), (x, 0)]
    w.sort(reverse=True)
    u = [x, -x, 1.0, -2.5]
    u.sort(key=abs)
    return v, w, u


def inserted(x):
    v = [1.0, 2.0, 3.0]
    bisect.insort(v, x)
    bisect.insort_left(v, 2.0)
    return (
        v,
        bisect.bisect(v, x),
        bisect.bisect_left(v, x, 1),
        bisect.bisect_right([(1.0,), (2.0,)], x, key=lambda e: e[0]),
    )


def queue(x):
    """A queue in which the least comes first."""
    waiting, t, total = [(x, 0), (1.0, 1), (x * x, 2)], 0.0, 0.0
    while waiting:
        first = min(waiting)
        waiting.remove(first)
        t = max(t, first[0]) + 0.5
        total += t * (first[1] + 1)
    return total


PROGRAMS = [
    lambda x: [3.0, 2.0, 1.0].index(x), lambda x: (3.0, x, 1.0).index(1.0), lambda x: [3.0, x, 1.0, x].index(x, 2),
    lambda x: [x, 1.0, 2.0, x].count(2.0), lambda x: (x, 1.0).count(x), removed, put_in_order, inserted, queue,
    lambda x: bisect.bisect([0.5, 1.0, 2.0, 3.0], x), lambda x: bisect.bisect_left(np.array([0.5, 1.0, 2.0]), x),
    lambda x: min(range(3), key=lambda i: [2.0, x, 1.5][i]), lambda x: max([(x, 1), (2.0, 0)]), lambda x: min((x, 2), (1.0, 5)),
    lambda x: max([x, -3.0, 2.5], key=abs), lambda x: min(enumerate([2.0, x, 1.0]), key=lambda t: t[1]), lambda x: max([], default=x),
    lambda x: max([Shape(1, x), Shape(2, 1.2)], key=Shape.area).size, lambda x: min(Money(x), Money(1.5)).amount,
    lambda x: [e.amount for e in sorted([Money(2.0), Money(x), Money(1.0)])], lambda x: sorted([(x, "a"), (1.5, "a")], reverse=True)[0][0],
    lambda x: sorted([3.0, x, 1.0], key=lambda v: -v), lambda x: [Money(1.0), Money(2.0)].index(Money(x)), lambda x: Money(x) in [Money(2.0)],
]  # fmt: skip


def outcome(f, x):
    try:
        return f(x)
    except (ValueError, IndexError) as error:
        if isinstance(error, mo.BadInput):
            raise
        return type(error).__name__, "not in list" in str(error)


@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python(f):
    compiled = mo.jit(f, target="native")
    for x in (2.0, 1.0, 0.25, 9.0, -1.0):
        assert outcome(compiled, x) == outcome(f, x)


def test_on_each_target(target):
    for f in (inserted, queue):
        compiled = mo.jit(f, target=target)
        for x in (2.0, 0.25):
            assert compiled(x) == f(x)
    for x in (0.25, 2.0):
        assert mo.jit(mo.grad(queue), target=target)(x) == pytest.approx(
            ridders(lambda h: queue(x + h), 1e-3)[0], rel=1e-4
        )
