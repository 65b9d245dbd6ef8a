"""Solutions of sparse linear equations with sparse right-hand sides: the entries that are not zero by structure."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from .sparse import at
from .sparse_equations import minus_outer, places, solution
from .table import joint, runs_compiled, zero


def solution_places(n: int, count: int, indices: Any, indptr: Any, by_column: int, i: Any, j: Any) -> tuple[Any, Any]:
    """Return the rows and columns of the entries of A^-1 B that are not zero by structure, for B with entries at (i, j).

    A perfect matching gives each row r the unknown m(r) that it determines, by the right-hand side in row r and the other
    unknowns of that row. An entry is zero by structure if no path of such dependences leads to an entry of B: J.R. Gilbert,
    "Predicting structure in sparse matrix computations", SIAM J. Matrix Anal. Appl. 15 (1994) 62-79.
    """
    rows, columns = places(indices, indptr, by_column == 1)
    ones = np.ones(len(rows), np.int8)
    matched = maximum_bipartite_matching(csr_array((ones, (rows, columns)), shape=(n, n)), perm_type="column")
    if np.any(matched < 0):  # singular by structure
        rows, columns = np.indices((n, count))
        return rows.ravel(), columns.ravel()
    depends = csr_array((ones, (matched[rows], columns)), shape=(n, n))
    total, part = connected_components(depends, directed=True, connection="strong")
    edges = np.unique(part[matched[rows]].astype(np.int64) * total + part[columns])
    of, on = edges // total, edges % total
    of, on = of[of != on], on[of != on]
    given = np.unique(part[matched[i]].astype(np.int64) * count + j)
    begins = np.searchsorted(of, np.arange(total + 1))
    starts = np.searchsorted(given, count * np.arange(total + 1))
    found: list[Any] = [None] * total
    for p in _in_order(begins, on):
        own = given[starts[p] : starts[p + 1]] % count
        found[p] = np.unique(np.concatenate([own, *(found[q] for q in on[begins[p] : begins[p + 1]])]))
    length = np.array([len(c) for c in found], np.intp)
    i = np.repeat(np.arange(n), length[part])
    j = np.concatenate([np.empty(0, np.int64), *(found[p] for p in part)])
    order = np.argsort(j, kind="stable")
    return i[order], j[order]


def _in_order(begins: Any, on: Any) -> list[int]:
    """Return the nodes of a graph without cycles, each after those on which it depends."""
    done, order = np.zeros(len(begins) - 1, bool), []
    for root in range(len(done)):
        stack = [root]
        while stack:
            p = stack[-1]
            waiting = [] if done[p] else [q for q in on[begins[p] : begins[p + 1]] if not done[q]]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if not done[p]:
                done[p] = True
                order.append(p)
    return order


COLUMNS = 64
"""How many columns of a sparse right-hand side are solved for at once."""


def by_columns(count: int, *columns: Any) -> Any:
    """Yield the first of some columns, their number, and which entries of matrices are in them, for all entries' columns."""
    orders = [np.argsort(j, kind="stable") for j in columns]
    ends = [np.searchsorted(j[order], np.arange(0, count + COLUMNS, COLUMNS)) for j, order in zip(columns, orders)]
    for k, first in enumerate(range(0, count, COLUMNS)):
        yield first, min(COLUMNS, count - first), *(order[end[k] : end[k + 1]] for order, end in zip(orders, ends))


def dense_columns(n: int, width: int, i: Any, j: Any, x: Any) -> Any:
    """Return an array with x at the places (i, j), each of which occurs once."""
    block = np.zeros((n, width), x.dtype, order="F")
    block[i, j] = x
    return block


def solution_entries(
    n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any
) -> tuple[Any, int]:  # fmt: skip
    """Return the entries (i, j) of A^-1 B, for B (n, count) with entries b at (bi, bj); the int is not 0 if A is singular."""
    found = np.full(len(i), np.nan, b.dtype)
    for first, width, of_b, of_x in by_columns(count, bj, j):
        block = np.zeros((n, width), b.dtype, order="F")
        np.add.at(block, (bi[of_b], bj[of_b] - first), b[of_b])  # a place may occur twice
        x, info = solution(n, len(data), data, indices, indptr, block, by_column, options)
        if info != 0:
            return found, info
        found[of_x] = x[i[of_x], j[of_x] - first]
    return found, 0


def entries_back(
    n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, indices: Any, indptr: Any, x: Any, dx: Any, by_column: int, options: Any
) -> Any:  # fmt: skip
    """Return the cotangents of A's entries and of b, one after the other, for those of the entries of A^-1 B."""
    da, db = np.zeros_like(data), np.zeros(len(bi), data.dtype)
    p, q = places(indices, indptr, by_column == 1)
    for first, width, of_b, of_x in by_columns(count, bj, j):
        place = i[of_x], j[of_x] - first
        z = adjoint_solution(n, data, indices, indptr, dense_columns(n, width, *place, dx[of_x]), by_column, options)
        da += minus_outer(z, dense_columns(n, width, *place, x[of_x]), p, q)
        db[of_b] = z[bi[of_b], bj[of_b] - first]
    return np.concatenate([da, db])


def adjoint_solution(n: int, data: Any, indices: Any, indptr: Any, dx: Any, by_column: int, options: Any) -> Any:
    """Return A^-H dx."""
    return np.conj(solution(n, len(data), data, indices, indptr, np.conj(dx), 1 - by_column, options)[0])


def entries_pullback(
    dy: Any, y: Any, n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any
) -> tuple[Any, ...]:  # fmt: skip
    found = entries_back(n, count, i, j, bi, bj, data, indices, indptr, y[0], dy[0], by_column, options)
    return None, None, None, None, None, None, found[: len(data)], None, None, found[len(data) :]


def entries_back_pullback(
    dy: Any, y: Any, n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, indices: Any, indptr: Any, x: Any, dx: Any, by_column: int, options: Any
) -> tuple[Any, ...]:  # fmt: skip
    """Differentiate ``entries_back`` once more, with all columns at once."""
    u, v = dy[: len(data)], dy[len(data) :]
    p, q = places(indices, indptr, by_column == 1)
    X, given = [_scattered(n, count, i, j, values) for values in (x, dx)]
    Z = adjoint_solution(n, data, indices, indptr, given, by_column, options)
    dZ = _scattered(n, count, bi, bj, v) - at(p, u[:, None] * X[q], n)
    dX = -at(q, np.conj(u)[:, None] * Z[p], n)
    W = solution(n, len(data), data, indices, indptr, dZ, by_column, options)[0]
    return None, None, None, None, None, None, minus_outer(Z, W, p, q), None, None, dX[i, j], W[i, j]


def _scattered(n: int, count: int, i: Any, j: Any, x: Any) -> Any:
    return np.reshape(at(i * count + j, x, n * count), (n, count))


def like_entries(
    n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, *more: Any, **constant: Any
) -> tuple[Any, int]:
    return np.zeros(len(i), data.dtype), 0


def like_entries_back(
    n: int, count: int, i: Any, j: Any, bi: Any, bj: Any, data: Any, *more: Any, **constant: Any
) -> Any:
    return np.zeros(len(data) + len(bi), data.dtype)


zero(solution_places)
joint(solution_entries, entries_pullback)
joint(entries_back, entries_back_pullback)
runs_compiled(solution_entries, sample=like_entries)
runs_compiled(entries_back, sample=like_entries_back)
