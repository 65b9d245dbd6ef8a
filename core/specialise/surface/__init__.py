"""What functions, methods, operators and indices of Python, NumPy and SciPy do on traced values.

Each file is one area; it registers what it knows in the tables of ``core/specialise/traced.py``.  A body takes the trace and then the
function's own arguments, any mix of traced values, numbers, arrays and lists; it reads their values (``arguments.value``),
writes typed IR by ``trace.builder``, and wraps the results.

    arguments         what arguments mean: numbers, axes, shapes
    operators         Python's operators
    python_numbers    built-in functions;  math_functions: math and cmath
    ufuncs            ufuncs and their methods
    elementwise       where, clip, isclose ...
    slices, indexing  a[...] and a[...] = v;  views: what shares memory with what
    masks             a[a > 0], nonzero: parts whose length is known only when the program runs
    creation, shapes, joining, reductions, order, calculus, products, contractions (einsum)
    library           any other function of NumPy or SciPy: a call of the library, its result's type found on samples
    methods           methods and attributes of arrays
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (  # noqa: F401
    calculus,
    contractions,
    creation,
    elementwise,
    indexing,
    joining,
    library,
    masks,
    math_functions,
    means,
    methods,
    operators,
    order,
    products,
    python_numbers,
    reductions,
    shapes,
    ufuncs,
)


def find(function: Any) -> Callable[..., Any] | None:
    """What a function does on traced values, if it is a ufunc, a method of one, or a function of a compiled library."""
    return ufuncs.find(function) or library.find(function)


__all__ = ["find"]
