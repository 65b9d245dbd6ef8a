"""Handlers for data that ``scipy.sparse`` keeps inside C code: the factors of a matrix, and lists of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import _csparsetools
from scipy.sparse.linalg import SuperLU
from scipy.sparse.linalg._dsolve import _superlu

from ...rules import find_rule
from ...rules.registry import handles
from ...rules.sparse import factored_solution, solution
from ...values.numbers import NO_KEYWORDS, call_on
from ..arrays.apply import record_rule
from ..recorded.access import getitem
from ..recorded.call import call
from ..recorded.stores import setitem
from ..recorded.tape import Tape
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import call_opaque


@handles(_superlu.gstrf)
def factorise(tape: Tape, n: int, count: int, data: Any, indices: Any, indptr: Any, *more: Any, **options: Any) -> Any:
    """Factorise a matrix, and keep a copy of it on the tape."""
    factors = call_on(tape.parent, _superlu.gstrf, n, count, data, indices, indptr, *more, **options)
    complete = not options.get("ilu")
    tape.memory[factors] = (call(tape, np.copy, data), indices.copy(), indptr.copy()) if complete else None
    note(tape, factors, _superlu.gstrf, (data,))
    return factors


@handles(_superlu.gssv)
def solve(
    tape: Tape, n: int, count: int, data: Any, indices: Any, indptr: Any, b: Any, by_column: int, options: Any = None
) -> Any:
    """Factorise a matrix and solve with factors that are kept for the pullback."""
    return call(tape, solution, n, count, data, indices, indptr, b, by_column, tuple((options or {}).items()))


@handles(SuperLU.solve)
def solve_factored(tape: Tape, factors: Any, b: Any, trans: str = "N") -> Any:
    matrix = tape.memory.get(factors, (None, None, None))
    if matrix is None:  # incomplete factors belong to another, unknown matrix
        return call_opaque(tape, factors.solve, (b, trans), NO_KEYWORDS)
    y = call_on(tape.parent, factors.solve, b, trans)
    rule: Any = find_rule(factored_solution)
    return record_rule(tape, rule, y, (factors.solve, *matrix, b, trans), NO_KEYWORDS)


@handles(_csparsetools.lil_flatten_to_array)
def flatten_lists(tape: Tape, lists: Any, flat: Any) -> None:
    setitem(tape, flat, ..., [x for row in lists for x in row])


@handles(_csparsetools.lil_fancy_set)
def set_in_lists(tape: Tape, height: int, width: int, rows: Any, data: Any, i: Any, j: Any, x: Any) -> None:
    """Insert entries into the lists one by one: C code would create new numbers that are not on the tape."""
    for at in np.ndindex(x.shape):
        call(tape, _csparsetools.lil_insert, height, width, rows, data, int(i[at]), int(j[at]), getitem(tape, x, at))
