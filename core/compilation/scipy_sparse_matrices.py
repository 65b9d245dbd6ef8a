"""Methods of SciPy's sparse matrices whose Python reads a number of entries that a compiled program may not know."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, dia_array, issparse
from scipy.sparse.linalg import splu, spsolve
from scipy.sparse.linalg._dsolve._superlu import gssv  # type: ignore[import-not-found]

from ..rules.registry import LOWERINGS
from ..rules.sparse import solution as kept_solution
from ..specialise.driven import SPECIAL
from ..specialise.traced import Traced


def stored_entries(trace: Any, matrix: Any, axis: Any = None) -> Any:
    """``_getnnz`` of compressed matrices: if the pattern is unknown, the length of the arrays, which must agree with it."""
    if axis is not None:
        return NotImplemented
    stored = trace.call(operator.getitem, trace.call(getattr, matrix, "indptr"), -1)
    if not isinstance(stored, Traced):
        return NotImplemented
    return trace.call(_checked_length, trace.call(getattr, matrix, "data"), stored)


def _checked_length(data: Any, stored: Any) -> Any:
    if stored != len(data):
        raise ValueError(
            f"the arrays of a sparse matrix have length {len(data)}, but indptr[-1] is {stored}; call its prune() before"
        )
    return len(data)


def pruned(matrix: Any) -> None:
    """``prune`` of compressed matrices, without its tests."""
    stored = matrix.indptr[-1]
    matrix.indices, matrix.data = matrix.indices[:stored], matrix.data[:stored]


def from_diagonals(trace: Any, matrix: Any, copy: bool = False) -> Any:
    """``tocsr`` of matrices stored by diagonals, whose kernel returns how many values are not zero."""
    if not isinstance(trace.call(getattr, matrix, "data"), Traced):
        return NotImplemented
    return trace.call(_rows_of_diagonals, matrix)


def _rows_of_diagonals(matrix: Any) -> Any:
    width = matrix.data.shape[1]
    values = np.ravel(matrix.data)
    is_stored = np.ravel(matrix._data_mask()) & (values != 0)
    (place,) = np.nonzero(is_stored)
    columns = place % width
    rows = columns - matrix.offsets[place // width]
    return matrix._coo_container((values[place], (rows, columns)), shape=matrix.shape).tocsr()


def solution(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """``spsolve`` for one or several right-hand sides in an array, without writing into A."""
    if not (issparse(A) and A.format in ("csr", "csc")) or issparse(b):
        return spsolve(A, b, permc_spec, use_umfpack)
    b = np.asarray(b)
    m, n = A.shape
    if m != n:
        raise ValueError(f"matrix must be square (has shape {(m, n)})")
    if b.shape[0] != n:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {b.shape[0]})")
    dtype = np.result_type(A.data, b, np.float32)
    options = {"ColPerm": permc_spec}
    x, _ = gssv(
        n, len(A.data), A.data.astype(dtype), A.indices, A.indptr, b.astype(dtype), int(A.format == "csc"), options
    )
    return np.ravel(x) if b.ndim == 2 and b.shape[1] == 1 else x


class Factors:
    """What ``splu`` returns in compiled code: SuperLU factorises when it first solves, and keeps the factors."""

    def __init__(self, matrix: Any, options: tuple[Any, ...]) -> None:
        self.matrix, self.options = matrix, options
        self.shape, self.nnz = matrix.shape, len(matrix.data)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r}, expected 'N', 'T' or 'H'")
        A, b = self.matrix, np.asarray(rhs)
        n = A.shape[0]
        if b.shape[0] != n:
            raise ValueError(f"b is of incompatible size: {b.shape} for factors of shape {A.shape}")
        dtype = np.result_type(A.data, np.real(b), np.float32)
        b = b.astype(np.result_type(dtype, b))
        x, info = kept_solution(
            n,
            len(A.data),
            A.data.astype(dtype),
            A.indices,
            A.indptr,
            np.conj(b) if trans == "H" else b,
            int(trans == "N"),
            self.options,
        )
        if info != 0:
            raise RuntimeError("Factor is exactly singular")
        return np.conj(x) if trans == "H" else x


def factorised(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> Factors:
    """``splu`` of a square matrix."""
    A = A.tocsc()
    if A.shape[0] != A.shape[1]:
        raise ValueError("can only factor square matrices")
    chosen = {"DiagPivotThresh": diag_pivot_thresh, "ColPerm": permc_spec, "PanelSize": panel_size, "Relax": relax}
    chosen.update(options or {})
    if chosen["ColPerm"] == "NATURAL":
        chosen["SymmetricMode"] = True
    return Factors(A, tuple(chosen.items()))


SPECIAL[csr_array._getnnz] = stored_entries  # type: ignore[attr-defined]
SPECIAL[dia_array.tocsr] = from_diagonals
for _target in ("native", "xla"):
    LOWERINGS[_target, csr_array.prune] = pruned
    LOWERINGS[_target, spsolve] = solution
    LOWERINGS[_target, splu] = factorised
