"""Colourings: columns of one colour are computed together, since no row has entries in two of them.

``colours_of_columns`` is that of A. R. Curtis, M. J. D. Powell and J. K. Reid, "On the estimation of sparse Jacobian matrices", J. Inst. Maths
Applics 13 (1974), in several orders; ``star_colours`` is algorithm 4.1 of A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your
Jacobian? Graph coloring for computing derivatives", SIAM Review 47 (2005). The loops over entries are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import eye_array

from ..compiled import Checks
from ..jitted import Jitted

Pattern = Any  # csr_array of bools

PASSES = 8
"""How often columns are coloured again, by decreasing colours, which never takes more of them (J. Culberson, "Iterated greedy", 1992)."""
MOST_REMAINDERS = 4
"""How many numbers of colours are tried for which the colour is the remainder of the column's number."""
SMALL = 50_000
"""The most steps of a colouring that Python does; what takes more is compiled."""


@lru_cache(maxsize=64)
def _compiled(f: Callable[..., Any], *lengths: int) -> Jitted:
    return Jitted(f, "auto", set(), set(), Checks(bounds=False))


def _coloured(f: Callable[..., Any], steps: float, order: np.ndarray, *lists: np.ndarray) -> np.ndarray:
    """Call a colouring: by Python if there is little to do, else compiled for arrays of a power of 4 in length."""
    n = len(order)
    if steps <= SMALL:
        return np.array(f(n, *(a.tolist() for a in (order, *lists))), np.int64)
    padded = [np.zeros(4 ** math.ceil(math.log(len(a) + 1, 4)), np.int64) for a in (order, *lists)]
    for long, short in zip(padded, (order, *lists)):
        long[: len(short)] = short
    return np.asarray(_compiled(f, *map(len, padded))(n, *padded))[:n]


def colours_of_columns(pattern: Pattern) -> np.ndarray:
    """Return a colour for each column, 0, 1, ..., such that no row has two entries in columns of one colour."""
    by_column = pattern.T.tocsr()
    counts = np.diff(pattern.indptr)
    steps, given = steps_by_columns(pattern), (pattern.indptr, pattern.indices, by_column.indptr, by_column.indices)
    fewest = int(counts.max(initial=0))
    best = _remainders(pattern, fewest, fewest + MOST_REMAINDERS)
    if best is not None and best.max(initial=0) + 1 <= fewest:
        return best
    degrees = by_column.astype(np.int64) @ counts
    for order in _orders(pattern.shape[1], degrees):
        found = _coloured(_greedy, steps, order, *given)
        if best is None or found.max() < best.max():
            best = found
        if best.max() + 1 <= fewest:
            return best
    assert best is not None
    for _ in range(PASSES):
        found = _coloured(_greedy, steps, np.argsort(-best, kind="stable"), *given)
        best = found if found.max() <= best.max() else best
        if best.max() + 1 <= fewest:
            break
    return best


def star_colours(pattern: Pattern) -> np.ndarray:
    """Return a colour for each vertex such that neighbours differ, and every path of four vertices has three colours.

    In a symmetric matrix of this pattern, each entry (i, j) is then the only one of its row in columns of the colour of j, or the only
    one of row j in columns of the colour of i.
    """
    if not (pattern.indices != np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))).any():
        return np.zeros(pattern.shape[0], np.int64)
    best, steps = None, steps_of_star(pattern)
    for order in _orders(pattern.shape[0], np.diff(pattern.indptr)):
        found = _coloured(_star, steps, order, pattern.indptr, pattern.indices)
        best = found if best is None or found.max() < best.max() else best
    assert best is not None
    neighbours = (
        pattern + eye_array(pattern.shape[0], dtype=bool)
    ).tocsr()  # no two vertices with a common neighbour are alike
    simple = _remainders(neighbours, int(np.diff(neighbours.indptr).max()), int(best.max()) + 1)
    return best if simple is None else simple


def _remainders(pattern: Pattern, least: int, most: int) -> np.ndarray | None:
    """Return the remainders of the columns' numbers by the first number in this range that is a colouring of columns.

    Bands and stencils have columns of one colour at equal distances.
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    for count in range(max(least, 1), most):
        keys = np.sort(rows * np.int64(count) + pattern.indices % count)
        if (keys[1:] != keys[:-1]).all():
            return np.arange(pattern.shape[1]) % count
    return None


def steps_by_columns(pattern: Pattern) -> float:
    """Return the number of steps of ``colours_of_columns`` in one order."""
    return float(np.sum(np.diff(pattern.indptr).astype(float) ** 2))


def steps_of_star(pattern: Pattern) -> float:
    """Return the greatest number of steps of ``star_colours`` in one order."""
    degrees = np.diff(pattern.indptr).astype(float)
    return float(degrees @ (pattern.astype(float) @ degrees))


def _orders(n: int, degrees: np.ndarray) -> Iterator[np.ndarray]:
    yield np.arange(n)
    yield np.argsort(-degrees, kind="stable")  # the largest first


def _greedy(n: int, order: Any, indptr: Any, indices: Any, rows_indptr: Any, rows: Any) -> Any:
    colours = np.full(len(order), -1)
    taken = np.full(len(order) + 1, -1)
    for t in range(n):
        j = order[t]
        for p in range(rows_indptr[j], rows_indptr[j + 1]):
            i = rows[p]
            for q in range(indptr[i], indptr[i + 1]):
                c = colours[indices[q]]
                if c >= 0:
                    taken[c] = j
        c = 0
        while taken[c] == j:
            c += 1
        colours[j] = c
    return colours


def _star(n: int, order: Any, indptr: Any, indices: Any) -> Any:
    colours = np.full(len(order), -1)
    taken = np.full(len(order) + 1, -1)
    for t in range(n):
        v = order[t]
        for p in range(indptr[v], indptr[v + 1]):
            w = indices[p]
            if w != v:
                if colours[w] >= 0:
                    taken[colours[w]] = v
                for q in range(indptr[w], indptr[w + 1]):
                    x = indices[q]
                    if x != v and x != w and colours[x] >= 0:
                        if colours[w] < 0:
                            taken[colours[x]] = v
                        else:
                            for r in range(indptr[x], indptr[x + 1]):
                                y = indices[r]
                                if y != w and y != x and colours[y] == colours[w]:
                                    taken[colours[x]] = v
        c = 0
        while taken[c] == v:
            c += 1
        colours[v] = c
    return colours
