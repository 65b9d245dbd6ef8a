"""The entries of an array keep their derivative when C code iterates: iterators, containers, operators by name."""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict, deque

import numpy as np
import pytest
from path_tester import check_gradient


def after(container, change):
    """What is left in a container that ``change`` was applied to."""
    change(container)
    return list(container)


class Pair:
    """Iterable, and whatever else a call may take it for."""

    def __init__(self, v):
        self.v = v

    def __iter__(self):
        return iter([self.v, self.v**2])

    def __call__(self):
        return self.v

    def __index__(self):
        return 2

    def __float__(self):
        return 7.5


TAKEN = {
    "tee": lambda x: [a * b for a, b in zip(*itertools.tee(x))],
    "tee of three": lambda x: [a * b * c for t in [itertools.tee(x, 3)] for a, b, c in zip(*t)],
    "tee of a generator": lambda x: [a * b for a, b in zip(*itertools.tee(v * v for v in x))],
    "repeated array": lambda x: [np.sum(y) * x[0] for y in itertools.repeat(x, 2)],
    "repeated by name": lambda x: [np.sum(y) * x[0] for y in itertools.repeat(object=x, times=2)],
    "repeated object": lambda x: [p.v * x[1] for p in itertools.repeat(Pair(x[0]), 2)],
    "repeated endlessly": lambda x: list(map(operator.mul, x, itertools.repeat(x[0]))),
    "islice": lambda x: list(itertools.islice(x, 1, None)),
    "islice to an object": lambda x: list(itertools.islice(x, Pair(x[0]))),
    "islice of an object": lambda x: list(itertools.islice(Pair(x[0]), 1, 2)),
    "combinations": lambda x: [a * b for a, b in itertools.combinations(x, Pair(x[0]))],
    "permutations": lambda x: [a * b**2 for a, b in itertools.permutations(x, 2)],
    "combinations with replacement": lambda x: [a * b for a, b in itertools.combinations_with_replacement(x, r=2)],
    "product": lambda x: [a * b**2 for a, b in itertools.product(x, Pair(x[1]))],
    "product with itself": lambda x: [a * b**2 for a, b in itertools.product(x, repeat=2)],
    "cycle": lambda x: [a * b for a, b in zip(itertools.cycle(x), [1, 2, 3, 4, 5])],
    "pairwise": lambda x: [a * b for a, b in itertools.pairwise(x)],
    "zip_longest": lambda x: [a * b for a, b in itertools.zip_longest(x, x[:2], fillvalue=x[2])],
    "groupby": lambda x: [k * sum(group) for k, group in itertools.groupby(x)],
    "groupby with a key": lambda x: [k * sum(g) for k, g in itertools.groupby(x, lambda v: v * v)],
    "accumulate": lambda x: list(itertools.accumulate(x, operator.mul)),
    "deque": lambda x: list(deque(x, 2)),
    "deque.extendleft": lambda x: after(deque(), lambda d: d.extendleft(x)),
    "deque.__iadd__": lambda x: list(deque([1.0]).__iadd__(x)),
    "list.extend": lambda x: after([], lambda entries: entries.extend(x)),
    "list.__iadd__": lambda x: [1.0].__iadd__(x),
    "list.__setitem__": lambda x: after([1.0, 2.0], lambda entries: entries.__setitem__(slice(0, 1), x)),
    "list.__init__": lambda x: after([1.0], lambda entries: entries.__init__(x)),
    "operator.setitem": lambda x: after([1.0], lambda entries: operator.setitem(entries, slice(0, 1), x)),
    "operator.iadd": lambda x: operator.iadd([1.0], x),
    "operator.iconcat": lambda x: operator.iconcat([1.0], x),
    "dict.__ior__": lambda x: list({}.__ior__(zip("abc", x)).values()),
    "dict.update": lambda x: after({}, lambda d: d.update(zip(x, x)))[:3],
    "set.update": lambda x: sorted(after(set(), lambda s: s.update(x))),
    "defaultdict": lambda x: [defaultdict(Pair(x[0]), {"b": x[1]})["a"]],
    "reversed": lambda x: list(reversed(x)),
    "until": lambda x: list(iter(map(lambda v: v * v, [*x, 0.0]).__next__, 0.0)),
    "factorial": lambda x: [x[0] * math.factorial(Pair(x[0]))],
    "comb": lambda x: [x[0] * math.comb(4, Pair(x[0]))],
    "gcd": lambda x: [x[0] * math.gcd(Pair(x[0]), 6)],
}


@pytest.mark.parametrize("name", TAKEN)
def test_entries_that_c_code_takes_out_have_their_derivative(name):
    taken = TAKEN[name]
    check_gradient("eager", lambda x: sum((i + 1) * v * v for i, v in enumerate(taken(x))), np.array([1.3, 0.7, 2.1]))
