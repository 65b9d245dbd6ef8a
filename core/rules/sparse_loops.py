"""Products of sparse matrices as loops over rows or columns, for native code, which keeps nothing but the vectors.

An index of 32 bits is read as unsigned: whether it is negative needs no test then, and a negative one is out of bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def unsigned(indices: Any) -> Any:
    """Return the type in which the loops read an index of this array."""
    return np.uint32 if indices.dtype.itemsize <= 4 else np.int64


def csr_matvec(n_row: int, n_col: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    index = unsigned(Aj)
    y = np.copy(Yx)
    for i in range(n_row):
        total = y[i]
        for k in range(index(Ap[i]), min(index(Ap[i + 1]), len(Ax))):
            total += Ax[k] * Xx[index(Aj[k])]
        y[i] = total
    return y


def csc_matvec(n_row: int, n_col: int, Ap: Any, Ai: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    index = unsigned(Ai)
    y = np.copy(Yx)
    for j in range(n_col):
        factor = Xx[j]
        for k in range(index(Ap[j]), min(index(Ap[j + 1]), len(Ax))):
            y[index(Ai[k])] += Ax[k] * factor
    return y


def csr_matvecs(n_row: int, n_col: int, n_vecs: int, Ap: Any, Aj: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    index = unsigned(Aj)
    x, y = np.reshape(Xx, (n_col, n_vecs)), np.copy(np.reshape(Yx, (n_row, n_vecs)))
    for i in range(n_row):
        for k in range(index(Ap[i]), min(index(Ap[i + 1]), len(Ax))):
            j, factor = index(Aj[k]), Ax[k]
            for c in range(n_vecs):
                y[i, c] += factor * x[j, c]
    return np.reshape(y, np.shape(Yx))


def csc_matvecs(n_row: int, n_col: int, n_vecs: int, Ap: Any, Ai: Any, Ax: Any, Xx: Any, Yx: Any) -> Any:
    index = unsigned(Ai)
    x, y = np.reshape(Xx, (n_col, n_vecs)), np.copy(np.reshape(Yx, (n_row, n_vecs)))
    for j in range(n_col):
        for k in range(index(Ap[j]), min(index(Ap[j + 1]), len(Ax))):
            i, factor = index(Ai[k]), Ax[k]
            for c in range(n_vecs):
                y[i, c] += factor * x[j, c]
    return np.reshape(y, np.shape(Yx))
