"""Plans: the columns and rows that are computed together, and where each entry of the matrix stands in them.

Rows may be divided: those with many entries are computed by reverse mode, and the columns of all others by forward mode, or likewise with columns. This is a
direct cover of T. F. Coleman and A. Verma, "The efficient computation of sparse Jacobian matrices using automatic differentiation", SIAM
J. Sci. Comput. 19 (1998), made of whole rows or columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .colouring import colours_of_columns, star_colours, steps_by_columns, steps_of_star

ROW = 2.0
"""The cost of a row, by reverse mode, if that of a column is 1."""
MOST_STEPS = 3e9
"""The most steps of a colouring."""
MOST_DIVISIONS = 8
"""How many numbers of rows that are computed apart are tried."""

Pattern = Any


@dataclass
class Plan:
    """``columns`` and ``rows`` hold the colours of columns and rows, or None; -1 is that of a column or row that is not computed.

    ``places`` gives for each entry its place in the compressed columns, one after the other, followed by the compressed rows.
    """

    pattern: Pattern
    columns: np.ndarray | None
    rows: np.ndarray | None
    places: np.ndarray
    how: str

    @property
    def counts(self) -> tuple[int, int]:
        return _count(self.columns), _count(self.rows)


def _count(colours: np.ndarray | None) -> int:
    return 0 if colours is None else int(colours.max(initial=-1)) + 1


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count} groups"


def seeds_of(colours: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the direction of each group, with ones at its members."""
    return (colours == np.arange(_count(colours))[:, None]).astype(dtype)


def plan_of(pattern: Pattern, mode: str) -> Plan:
    """Return the cheapest plan for a Jacobian that is found; ``mode`` may ask for columns alone or rows alone."""
    pattern = pattern.tocsr()
    counts, rows_of = np.diff(pattern.indptr), pattern.T.tocsr()
    heights = np.diff(rows_of.indptr)
    options: list[tuple[float, int, int]] = []  # the least cost, how many rows are computed apart, how many columns
    if mode != "reverse":
        options.append((float(counts.max(initial=0)), 0, 0))
    if mode != "forward":
        options.append((ROW * float(heights.max(initial=0)), len(counts), 0))
    if mode == "auto":
        options += [(left + ROW, apart, 0) for left, apart in _divisions(counts)]
        options += [(ROW * left + 1, 0, apart) for left, apart in _divisions(heights)]
    best: tuple[float, Plan] | None = None
    for least, rows, columns in sorted(options):
        if best is not None and best[0] <= least:
            break
        is_by_row = np.zeros(pattern.shape[0], bool)
        is_by_row[np.argsort(-counts, kind="stable")[:rows]] = True
        is_by_column = np.zeros(pattern.shape[1], bool)
        is_by_column[np.argsort(-heights, kind="stable")[:columns]] = True
        by_rows = is_by_row[entries(pattern)] if not columns else ~is_by_column[pattern.indices]
        found = _divided(pattern, by_rows)
        if found is not None:
            c, r = found.counts
            if best is None or c + ROW * r < best[0]:
                best = c + ROW * r, found
    return best[1] if best is not None else _one_by_one(pattern)


def entries(pattern: Pattern) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))


def _divisions(counts: np.ndarray) -> list[tuple[float, int]]:
    """Return, for some numbers of the fullest rows, how many entries the fullest of all others has, and the number."""
    falling = np.sort(counts)[::-1]
    steps = np.flatnonzero(falling[1:] < falling[:-1]) + 1
    found = [(float(falling[k]), int(k)) for k in steps if k < len(counts)]
    return sorted(found, key=lambda pair: pair[0] + ROW * pair[1])[:MOST_DIVISIONS]


def _divided(pattern: Pattern, by_rows: np.ndarray) -> Plan | None:
    """Return the plan in which these entries are computed by rows and all others by columns; None if it takes too long."""
    rows, indices = entries(pattern), pattern.indices
    columns_of = _part(pattern, ~by_rows)
    rows_of = _part(pattern, by_rows).T.tocsr()
    if steps_by_columns(columns_of) + steps_by_columns(rows_of) > MOST_STEPS:
        return None
    columns = _colours(columns_of) if columns_of.nnz else None
    of_rows = _colours(rows_of) if rows_of.nnz else None
    places = np.empty(pattern.nnz, np.int64)
    start = 0
    if columns is not None:
        places[~by_rows] = columns[indices[~by_rows]] * pattern.shape[0] + rows[~by_rows]
        start = _count(columns) * pattern.shape[0]
    if of_rows is not None:
        places[by_rows] = start + of_rows[rows[by_rows]] * pattern.shape[1] + indices[by_rows]
    c, r = _count(columns), _count(of_rows)
    parts = [f"{_groups(c)} of columns by forward mode"] * bool(c) + [f"{_groups(r)} of rows by reverse mode"] * bool(r)
    return Plan(pattern, columns, of_rows, places, " and ".join(parts) or "nothing is computed")


def _colours(pattern: Pattern) -> np.ndarray:
    """Return the colours of the columns that have entries, and -1 for the others."""
    used = np.zeros(pattern.shape[1], bool)
    used[pattern.indices] = True
    colours = np.full(pattern.shape[1], -1)
    colours[used] = colours_of_columns(pattern if used.all() else pattern[:, np.flatnonzero(used)].tocsr())
    return colours


def _part(pattern: Pattern, kept: np.ndarray) -> Pattern:
    ends = np.append(0, np.cumsum(kept, dtype=np.int64))[pattern.indptr]
    return csr_array((np.ones(int(ends[-1]), bool), pattern.indices[kept], ends), shape=pattern.shape)


def _one_by_one(pattern: Pattern) -> Plan:
    """Return the plan that computes each column, or each row if there are fewer."""
    rows, indices = entries(pattern), pattern.indices
    m, n = pattern.shape
    if n <= ROW * m:
        return Plan(pattern, np.arange(n), None, indices.astype(np.int64) * m + rows, f"{n} columns by forward mode")
    return Plan(pattern, None, np.arange(m), rows.astype(np.int64) * n + indices, f"{m} rows by reverse mode")


def plan_of_symmetric(pattern: Pattern) -> Plan:
    """Return the plan for a Hessian by a star colouring: each entry is read in its own column or in that of its mirror image.

    Columns with many entries may have colours of their own: a path of four vertices through such a one has three colours at least.
    """
    n = pattern.shape[0]
    rows, indices = entries(pattern), pattern.indices
    counts = np.diff(pattern.indptr)
    best: np.ndarray | None = None
    options = [(float(counts.max(initial=0)), 0), *_divisions(counts)]
    for _, apart in sorted(options, key=lambda option: option[0] + option[1]):
        if best is not None and apart + 1 >= _count(best):
            continue
        alone = np.argsort(-counts, kind="stable")[:apart]
        is_rest = counts > 0
        is_rest[alone] = False
        rest = np.flatnonzero(is_rest)
        part = pattern[rest][:, rest].tocsr()
        if steps_of_star(part) > MOST_STEPS:
            continue
        colours = np.full(n, -1)
        if len(rest):
            colours[rest] = star_colours(part)
        colours[alone] = _count(colours) + np.arange(apart)
        best = colours if best is None or _count(colours) < _count(best) else best
    if best is None:
        return _one_by_one(pattern)
    count = _count(best)
    keys = rows * np.int64(max(count, 1)) + best[indices]
    is_alone = np.bincount(keys, minlength=1)[keys] == 1
    places = np.where(is_alone, best[indices] * np.int64(n) + rows, best[rows] * np.int64(n) + indices)
    how = (
        f"{_groups(count)} of columns, a star colouring, by forward over reverse mode"
        if count
        else "nothing is computed"
    )
    return Plan(pattern, best if count else None, None, places, how)


def in_order(parts: Sequence[np.ndarray], places: np.ndarray) -> np.ndarray:
    """Return the entries of a matrix from its compressed columns and rows."""
    flat = [np.ravel(p) for p in parts]
    return np.take(flat[0] if len(flat) == 1 else np.concatenate(flat), places, mode="clip")  # all places are there
