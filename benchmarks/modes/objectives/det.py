"""A determinant by expansion in minors, and its gradient.

Source: GradBench, eval "det", from B. M. Bell's cmpad, "det_of_minor".
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def determinant_of_minor(A, m, rows, columns):
    """The determinant of the minor of size m whose rows and columns are linked lists.

    ``rows[i]`` is the row after i, ``rows[-1]`` the first one; so for columns.
    """
    first, column, before = rows[-1], columns[-1], -1
    if m == 1:
        return A[first, column]
    rows[-1] = rows[first]
    total, sign = 0.0, 1.0
    for _ in range(m):
        columns[before] = columns[column]
        total += sign * A[first, column] * determinant_of_minor(A, m - 1, rows, columns)
        columns[before] = column
        before, column, sign = column, columns[column], -sign
    rows[-1] = first
    return total


def determinant(A):
    n = len(A)
    after = np.arange(1, n + 2)
    after[n] = 0
    return determinant_of_minor(A, n, after, after.copy())


gradient = mo.grad(determinant)


def _inputs(n):
    return (np.random.default_rng(31337).uniform(size=(n, n)),)


PROGRAMS = (Derivative("det", gradient, _inputs, 8, 4),)
