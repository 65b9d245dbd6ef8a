"""Methods of SciPy's sparse matrices whose Python reads a number of entries that a compiled program may not know."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import bsr_array, coo_array, csr_array, dia_array, dok_array
from scipy.sparse._csparsetools import lil_fancy_set, lil_insert  # type: ignore[import-not-found]
from scipy.sparse._sparsetools import csr_matmat_maxnnz  # type: ignore[import-not-found]
from scipy.sparse.linalg import splu, spsolve, spsolve_triangular

from ..errors import BadInput
from ..ir.typed import cast
from ..rules.registry import LOWERINGS
from ..rules.sparse_equations import solution as kept_solution, triangular
from ..rules.sparse_programs import diagonals_of_product, product_places, solved
from ..rules.sparse_solutions import solution_places
from ..specialise.constants import called_on_known, known_content
from ..specialise.driven import SPECIAL
from ..specialise.traced import NeedsConcrete, Traced


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


def pruned(trace: Any, matrix: Any) -> None:
    """``prune`` of compressed matrices; if the pattern is an input, its arrays must have the right length before."""
    pointers = trace.call(getattr, matrix, "indptr")
    if isinstance(trace.call(operator.getitem, pointers, -1), Traced) and _is_given(trace, trace.value(pointers)):
        trace.call(_check_length, matrix)
    else:
        trace.call(_cut, matrix)


def _is_given(trace: Any, value: Any) -> bool:
    """Whether an array is an argument of the program, or one from outside, of this type or another."""
    makers = trace.builder.makers()
    while value in makers and makers[value].callee is cast:
        value = makers[value].operands[0]
    return trace.is_parameter(value)


def _check_length(matrix: Any) -> None:
    _checked_length(matrix.data, matrix.indptr[-1])


def _cut(matrix: Any) -> None:
    stored = matrix.indptr[-1]
    matrix.indices, matrix.data = matrix.indices[:stored], matrix.data[:stored]


def of_known_patterns(function: Any) -> Any:
    """Return what a function of index arrays does while compiling: it needs to know them."""

    def of_known(trace: Any, *args: Any) -> Any:
        found = called_on_known(trace, function, args, {})
        if found is NotImplemented:
            unknown = next(x for x in args if isinstance(x, Traced) and known_content(trace, trace.value(x)) is None)
            raise NeedsConcrete(
                trace.value(unknown), "the pattern of a sparse matrix; make it of index arrays that are arguments"
            )
        return trace.uninterpreted.take_in(found)

    return of_known


def places_of_solution(trace: Any, n: int, count: int, *patterns: Any) -> Any:
    """``solution_places``: all places if a pattern is known only when the program runs."""
    found = called_on_known(trace, solution_places, (n, count, *patterns), {})
    if found is NotImplemented:
        found = tuple(np.ravel(x) for x in np.indices((n, count)))
    return trace.uninterpreted.take_in(found)


def from_diagonals(trace: Any, matrix: Any, copy: bool = False) -> Any:
    """``tocsr`` of matrices stored by diagonals, with their zeros."""
    if not isinstance(trace.call(getattr, matrix, "data"), Traced):
        return NotImplemented
    return trace.call(_rows_of_diagonals, matrix)


def _rows_of_diagonals(matrix: Any) -> Any:
    width = matrix.data.shape[1]
    values = np.ravel(matrix.data)
    (place,) = np.nonzero(np.ravel(matrix._data_mask()))
    columns = place % width
    rows = columns - matrix.offsets[place // width]
    return matrix._coo_container((values[place], (rows, columns)), shape=matrix.shape).tocsr()


def solution(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """``spsolve``; a singular matrix gives NaN for a b that is an array, and an error for a sparse one."""
    return solved(A, b, permc_spec)[0]


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


def without(kind: str, container: str) -> Callable[..., Any]:
    """Return what refuses to keep values that a compiled program computes in a matrix of Python lists or dicts."""

    def refuse(trace: Any, *args: Any) -> Any:
        if not any(isinstance(x, Traced) for x in args):
            return NotImplemented
        raise BadInput(
            f"a sparse matrix in {kind} format keeps its values in {container}, which compiled programs do not have; build it from "
            "triplets as a coo_array, or keep it in CSR format"
        )

    return refuse


def converted(refuse: Callable[..., Any]) -> Callable[..., Any]:
    """Return what refuses a conversion of a matrix whose values the program computes."""
    return lambda trace, matrix, *args, **kwargs: refuse(trace, trace.call(getattr, matrix, "data"))


without_lists, without_dict = without("LIL", "Python lists"), without("DOK", "a Python dict")
SPECIAL[csr_array.tolil] = converted(without_lists)
SPECIAL[coo_array.todok] = converted(without_dict)
for _function in (lil_insert, lil_fancy_set):
    SPECIAL[_function] = without_lists
for _function in (dok_array._set_intXint, dok_array._set_arrayXarray):  # type: ignore[attr-defined]
    SPECIAL[_function] = without_dict
SPECIAL[csr_array._getnnz] = stored_entries  # type: ignore[attr-defined]
SPECIAL[dia_array.tocsr] = from_diagonals
SPECIAL[solution_places] = places_of_solution
for _kind in (csr_array, bsr_array):
    SPECIAL[_kind.prune] = pruned  # type: ignore[attr-defined]
for _function in (csr_matmat_maxnnz, product_places, diagonals_of_product):
    SPECIAL[_function] = of_known_patterns(_function)
for _target in ("native", "xla"):
    LOWERINGS[_target, spsolve] = solution
    LOWERINGS[_target, splu] = factorised
    LOWERINGS[_target, spsolve_triangular] = triangular
