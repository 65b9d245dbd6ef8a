"""The order conditions of Runge-Kutta methods, one for each rooted tree (Hairer, Norsett, Wanner I, II.2)."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement
from math import prod

import numpy as np


@cache
def trees(order):
    """All rooted trees with ``order`` nodes; a tree is the sorted tuple of its children."""
    if order == 1:
        return ((),)
    found = set()
    for sizes in _partitions(order - 1):
        found |= {tuple(sorted(forest)) for forest in _forests(sizes)}
    return tuple(sorted(found))


def _partitions(n, largest=None):
    if n == 0:
        yield ()
    for first in range(min(n, largest or n), 0, -1):
        for rest in _partitions(n - first, first):
            yield (first, *rest)


def _forests(sizes):
    if not sizes:
        yield ()
        return
    count = sizes.count(sizes[0])
    for same in combinations_with_replacement(trees(sizes[0]), count):
        for rest in _forests(sizes[count:]):
            yield same + rest


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * prod(map(density, tree))


def defects(a, b, order):
    """b . phi(tree) - 1 / gamma(tree), for each tree with ``order`` nodes."""

    @cache
    def weight(tree):
        return prod((a @ weight(child) for child in tree), start=np.ones(len(b)))

    return np.array([b @ weight(tree) - 1 / density(tree) for tree in trees(order)])
