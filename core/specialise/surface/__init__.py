"""Functions, methods, operators and indices of Python, NumPy and SciPy on traced values.

Each file covers one area and registers its functions in the tables of ``core/specialise/traced.py``.  A body takes the
trace and then the function's own arguments: any mix of traced values, numbers, arrays and lists.  It gets their IR
values with ``arguments.value``, writes typed IR with ``trace.builder``, and wraps the results.

    arguments         conversion of arguments: numbers, axes, shapes
    operators         Python's operators
    python_numbers    built-in functions;  math_functions: math and cmath
    ufuncs            ufuncs and their methods
    elementwise       where, clip, isclose ...
    slices, indexing  a[...] and a[...] = v;  views: arrays that share another array's memory
    segments          sums over groups: bincount, reduceat
    masks             a[a > 0], nonzero: parts whose length is known only when the program runs
    broadcasts        np.broadcast
    creation, shapes, joining, reductions, without_nan, norms, order, calculus, products, contractions (einsum)
    library           other functions of NumPy or SciPy, called at run time; samples give their result types
    factors           factors of SciPy, and solutions with them
    polynomials       roots, products of polynomials, convolve
    models            compiled functions of libraries that are written as NumPy programs in ``rules/``
    methods           methods and attributes of arrays;  flags: .flags and .strides;  dtype_views: .view(dtype)
    shared_memory     whether two arrays share memory;  windows: sliding_window_view
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (  # noqa: F401
    addresses,
    broadcasts,
    calculus,
    contractions,
    creation,
    elementwise,
    factors,
    flags,
    indexing,
    joining,
    library,
    masks,
    math_functions,
    means,
    methods,
    models,
    norms,
    operators,
    order,
    polynomials,
    products,
    python_numbers,
    reductions,
    segments,
    shapes,
    shared_memory,
    ufuncs,
    windows,
    without_nan,
)


def find(function: Any) -> Callable[..., Any] | None:
    """Return what a function does on traced values if it is a ufunc, a ufunc's method, or a library's; else None."""
    return ufuncs.find(function) or library.find(function) or models.find(function)


__all__ = ["find"]
