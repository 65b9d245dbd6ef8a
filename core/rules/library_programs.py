"""NumPy programs of library functions: compiled code runs them where it would have to call the library through Python.

A back end has code for some functions, such as LAPACK's factorisations.  What a library computes with these in Python or C is written
here, once, as a program of such functions; ``passes.library_programs`` puts it in the place of the call, after differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class LibraryProgram:
    """``program`` returns what the function returns, for arguments of the types that it ``fits``, with these constants."""

    program: Function
    fits: Function
    targets: tuple[str, ...]


PROGRAMS: dict[Any, list[LibraryProgram]] = {}
"""A function -> its programs, for arguments of different kinds."""


def expands(
    functions: Function | Sequence[Function],
    program: Function | None,
    fits: Function,
    targets: tuple[str, ...] = ("native",),
) -> None:
    """Register a program of functions, beside those for other arguments; None: the function's own source.

    ``fits(*types, **constants)`` gets the types of the arrays (``dtype``, ``ndim``, ``shape``) and the other arguments.
    """
    for function in functions if isinstance(functions, (tuple, list, set)) else (functions,):
        of_function = PROGRAMS.setdefault(function, [])
        of_function.append(LibraryProgram(program or function, fits, targets))  # type: ignore[arg-type]


def are_matrices(*arrays: Any, **constants: Any) -> bool:
    """Whether arrays are matrices of one dtype of LAPACK's, none of them empty."""
    return all(
        x.ndim == 2 and 0 not in x.shape and x.dtype == arrays[0].dtype and x.dtype.char in "fdFD" for x in arrays
    )


def refuse_not_finite(check_finite: bool, *arrays: Any) -> None:
    """Raise SciPy's error for NaN or Inf, if it is asked for."""
    for x in arrays:
        if check_finite and not np.all(np.isfinite(x)):
            raise ValueError("array must not contain infs or NaNs")
