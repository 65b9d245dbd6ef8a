"""NumPy programs of library functions: compiled code runs them where it would have to call the library through Python.

A back end has code for some functions, such as LAPACK's factorisations.  What a library computes with these in Python or C is written
here, once, as a program of such functions; ``passes.library_programs`` puts it in the place of the call, after differentiation.
"""

from __future__ import annotations

import math
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


# Stacks, of which a library treats one matrix after the other

OR_VECTOR = -2
"""The number of axes of an argument that is a matrix, or a vector where it has one axis."""


def own_axes(x: Any, number: int) -> int:
    return min(x.ndim, 2) if number == OR_VECTOR else number


def are_stacks(*numbers: int) -> Function:
    """Return whether arguments of LAPACK's dtypes, none of them empty, are stacks for a function of these numbers of axes."""

    def fits(*arrays: Any, **constants: Any) -> bool:
        return (
            len(arrays) == len(numbers)
            and all(x.ndim >= max(number, 1) for x, number in zip(arrays, numbers))
            and any(x.ndim > own_axes(x, number) for x, number in zip(arrays, numbers))
            and all(0 not in x.shape and x.dtype.char in "fdFD" for x in arrays)
        )

    return fits


def by_matrix(function: Function, *numbers: int) -> Function:
    """Return a program of a function for stacks: it calls the function with arguments of these numbers of axes."""

    def program(*arrays: Any, **constants: Any) -> Any:
        cores = [x.shape[x.ndim - own_axes(x, number) :] for x, number in zip(arrays, numbers)]
        stack = np.broadcast_shapes(*(x.shape[: x.ndim - len(core)] for x, core in zip(arrays, cores)))
        count = math.prod(stack)
        rows = [np.reshape(np.broadcast_to(x, (*stack, *core)), (count, *core)) for x, core in zip(arrays, cores)]
        first = function(*[x[0] for x in rows], **constants)
        is_one = not isinstance(first, tuple)
        parts = (first,) if is_one else first
        whole = [np.zeros((count, *np.shape(part)), np.result_type(part)) for part in parts]
        for k in range(count):
            found = function(*[x[k] for x in rows], **constants)
            for out, part in zip(whole, (found,) if is_one else found):
                out[k] = part
        results = [np.reshape(out, (*stack, *out.shape[1:])) for out in whole]
        return results[0] if is_one else tuple(results)

    return program


def treats_stacks(*functions: Function, axes: tuple[int, ...] = (2,)) -> None:
    """Register programs for stacks of functions for which there is code for one matrix."""
    for function in functions:
        expands(function, by_matrix(function, *axes), are_stacks(*axes))
