"""Sets of inputs, as boolean sparse matrices: a row for each element of a value, a column for each input element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from ...errors import BadInput

MOST_ENTRIES = 20_000_000
"""The most entries that the pattern of one value may have."""

Pattern = Any  # csr_array of bools


class NotSparse(BadInput):
    """A value of the program depends on too many inputs, or its pattern cannot be found; ``line`` is that of the operation."""

    line = 0


def checked(pattern: Pattern) -> Pattern:
    check_entries(pattern.nnz)
    return pattern


def check_entries(entries: float) -> None:
    if entries > MOST_ENTRIES:
        raise NotSparse(f"an intermediate value depends on too many elements (over {MOST_ENTRIES:,} pairs)")


def is_full(pattern: Pattern) -> bool:
    """Whether a large pattern has more than half of all entries."""
    return pattern.nnz > 200_000 and 2 * pattern.nnz > pattern.shape[0] * pattern.shape[1] and pattern.shape[0] > 1


def union(patterns: Sequence[Pattern | None]) -> Pattern | None:
    """Return the union of patterns of one shape; None is the empty one."""
    found = None
    for p in {id(p): p for p in patterns if p is not None}.values():
        found = p if found is None else found + p
    return None if found is None else checked(found)


def gather(pattern: Pattern, rows: np.ndarray) -> Pattern:
    """Return these rows of a pattern; -1 gives an empty row."""
    indptr = pattern.indptr
    if len(rows) and rows.min() < 0:
        indptr = np.append(indptr, indptr[-1])  # the last row is empty
    counts = np.diff(indptr)[rows]
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    check_entries(total)
    if total:
        indices = pattern.indices[np.repeat(indptr[rows] - ends + counts, counts) + np.arange(total)]
    else:
        indices = pattern.indices[:0]
    return of_rows(np.append(0, ends), indices, pattern.shape[1])


def of_rows(indptr: np.ndarray, indices: np.ndarray, width: int) -> Pattern:
    found = csr_array(
        (np.ones(len(indices), bool), indices.astype(np.int32), indptr.astype(np.int32)), shape=(len(indptr) - 1, width)
    )
    found.has_sorted_indices = found.has_canonical_format = True
    return found


def empty(rows: int, width: int) -> Pattern:
    return of_rows(np.zeros(rows + 1, np.int32), np.zeros(0, np.int32), width)


def identity(n: int) -> Pattern:
    return of_rows(np.arange(n + 1), np.arange(n), n)


def grouped(pattern: Pattern, groups: np.ndarray, count: int) -> Pattern:
    """Return the unions of rows: row i belongs to group ``groups[i]``, or to none if that is -1."""
    rows = np.arange(len(groups))
    if len(groups) and groups.min() < 0:
        rows = rows[groups >= 0]
        groups = groups[rows]
    members = csr_array((np.ones(len(rows), bool), (groups, rows)), shape=(count, pattern.shape[0]))
    return product(members, pattern)


def product(members: Pattern, pattern: Pattern) -> Pattern:
    """Return the unions of the rows that each row of ``members`` names."""
    found = checked(members @ pattern)
    found.sum_duplicates()
    return found


def stacked(patterns: Sequence[Pattern]) -> Pattern:
    return checked(vstack(patterns, format="csr"))


def equal(a: Pattern | None, b: Pattern | None) -> bool:
    """Whether two patterns are equal, in canonical form; None is the empty one."""
    if a is None or b is None:
        return all(p is None or p.nnz == 0 for p in (a, b))
    return a.nnz == b.nnz and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
