"""Programs of ``scipy.linalg``'s square root and logarithm of a matrix for back ends that have code for Schur forms.

Both are functions of the triangle T of the complex Schur form.  The root is found column by column (A. Bjoerck and S. Hammarling, "A
Schur method for the square root of a matrix", Linear Algebra Appl. 52/53, 1983).  The logarithm takes roots until T is
close to the identity, and then the Pade approximant of degree 7 by its partial fractions; the diagonal and the entries beside
it are computed without cancellation (A. Al-Mohy and N. Higham, "Improved inverse scaling and squaring algorithms for the matrix
logarithm", SIAM J. Sci. Comput. 34, 2012, with the bound of its table 2.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .library_programs import expands
from .products import hermitian as dagger
from .scipy_matrix_functions import logm_in_complex, sqrtm_in_complex

DEGREE, CLOSE = 7, 0.288
NODES, WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(DEGREE), (1.0, 0.0)))
MOST_ROOTS = 100


def triangular_form(a: Any) -> Any:
    """The complex Schur form of a matrix and its vectors; and, of a real one, whether a real eigenvalue is negative."""
    if np.iscomplexobj(a):
        form: Any = scipy.linalg.schur(a, output="complex", check_finite=False)
        return *form, False
    real_form: Any = scipy.linalg.schur(a, check_finite=False)
    t, z = real_form
    beside = np.concatenate([np.zeros_like(t[:1, 0]), np.diagonal(t, -1), np.zeros_like(t[:1, 0])])
    is_single = (beside[1:] == 0) & (beside[:-1] == 0)
    is_negative = np.any(is_single & (np.diagonal(t) < 0))
    dtype = np.result_type(a.dtype, np.complex64)
    return *complex_form(t.astype(dtype), z.astype(dtype)), is_negative


def complex_form(t: Any, z: Any) -> tuple[Any, Any]:
    """The complex form from the real one: rotations by eigenvectors of its blocks of two."""
    for m in range(t.shape[0] - 1, 0, -1):
        low = t[m, m - 1]
        if low != 0:
            half = 0.5 * (t[m - 1, m - 1] - t[m, m])
            mu = half + np.sqrt(half * half + t[m - 1, m] * low)
            size = np.hypot(np.abs(mu), np.abs(low))
            c, s = mu / size, low / size
            x, y = t[m - 1].copy(), t[m].copy()
            t[m - 1], t[m] = np.conj(c) * x + s * y, c * y - s * x
            x, y = t[:, m - 1].copy(), t[:, m].copy()
            t[:, m - 1], t[:, m] = c * x + s * y, np.conj(c) * y - s * x
            x, y = z[:, m - 1].copy(), z[:, m].copy()
            z[:, m - 1], z[:, m] = c * x + s * y, np.conj(c) * y - s * x
            t[m, m - 1] = 0.0
    return t, z


def triangular_root(t: Any) -> Any:
    """The root of an upper triangle; LAPACK replaces sums of roots that are zero by small numbers, too."""
    n = t.shape[0]
    r = np.zeros_like(t)
    least = np.finfo(t.dtype).tiny
    for j in range(n):
        r[j, j] = np.sqrt(t[j, j])
        for i in range(j - 1, -1, -1):
            rest = t[i, j]
            for k in range(i + 1, j):
                rest = rest - r[i, k] * r[k, j]
            total = r[i, i] + r[j, j]
            if total == 0:
                total = total + least
            r[i, j] = rest / total
    return r


def root(a: Any) -> tuple[Any, Any]:
    """The root of one matrix as a complex one, and whether it is complex."""
    if not np.all(np.isfinite(a)):
        # SciPy's text where there is no Schur form
        raise np.linalg.LinAlgError("Internal error in scipy.linalg.sqrtm: -102")
    t, z, is_negative = triangular_form(a)
    found = z @ triangular_root(t) @ dagger(z)
    if np.iscomplexobj(a):
        return found, True
    return np.where(is_negative, found, np.real(found)).astype(found.dtype), is_negative


# The logarithm


def distance(t: Any) -> Any:
    """A bound for the powers of T - 1 in the series of the logarithm."""
    e = t - np.eye(t.shape[0])
    square = e @ e
    return np.maximum(np.linalg.norm(square @ e, 1) ** (1.0 / 3.0), np.linalg.norm(square @ square, 1) ** 0.25)


def exponential_minus_one(z: Any) -> Any:
    x, y = np.real(z), np.imag(z)
    return np.expm1(x) * np.cos(y) - 2.0 * np.sin(0.5 * y) ** 2 + 1j * np.exp(x) * np.sin(y)


def half_difference(first: Any, second: Any) -> Any:
    """(log b - log a) / 2 without cancellation, where a and b are close: artanh((b - a) / (b + a)) on their branches."""
    logarithms = np.log(second) - np.log(first)
    is_close = np.abs(second - first) <= 0.5 * np.abs(first + second)
    total = np.where(is_close, first + second, 1.0)
    z = np.where(is_close, second - first, 0.0) / total
    x, y = np.real(z), np.imag(z)
    below = (1.0 - x) ** 2 + y * y
    artanh = 0.25 * np.log1p(4.0 * x / below) + 0.5j * np.arctan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    turns = np.ceil((np.imag(logarithms) - np.pi) / (2.0 * np.pi))
    return np.where(is_close, artanh + 1j * np.pi * turns, 0.5 * logarithms)


def beside_diagonal(first: Any, second: Any, entries: Any, scale: Any) -> Any:
    """The entries beside the diagonal of log(T) for a scale of zero, of T^scale otherwise."""
    difference = second - first
    is_equal = difference == 0
    safe = np.where(is_equal, 1.0, difference)
    half = half_difference(first, second)
    if scale == 0:
        return entries * np.where(is_equal, 1.0 / first, 2.0 * half / safe)
    middle = np.exp(0.5 * scale * (np.log(first) + np.log(second)))
    sinh = 0.5 * (exponential_minus_one(scale * half) - exponential_minus_one(-scale * half))
    return entries * middle * np.where(is_equal, scale / first, 2.0 * sinh / safe)


def triangular_logarithm(t: Any) -> Any:
    n = t.shape[0]
    at = np.arange(n)
    t[at, at] = np.where(np.diagonal(t) == 0, 1e-20, np.diagonal(t))  # as SciPy does
    r, count = t, 0
    while distance(r) > CLOSE and count < MOST_ROOTS:
        r = triangular_root(r)
        count += 1
    scale = 0.5**count
    diagonal, entries = np.diagonal(t), np.diagonal(t, 1)
    first, second = diagonal[:-1], diagonal[1:]
    r = r.copy()
    r[at, at] = exponential_minus_one(scale * np.log(diagonal))
    r[at[:-1], at[1:]] = beside_diagonal(first, second, entries, scale)
    total = np.zeros_like(r)
    for node, weight in zip(NODES, WEIGHTS):
        left = np.eye(n) + node * r
        total = total + weight * scipy.linalg.solve_triangular(left, r, check_finite=False)
    total = total / scale
    total[at, at] = np.log(diagonal)
    total[at[:-1], at[1:]] = beside_diagonal(first, second, entries, 0.0)
    return total


def logarithm(a: Any) -> tuple[Any, Any]:
    """The logarithm of one matrix as a complex one of double precision, and whether it is complex."""
    wide = a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)
    t, z, _ = triangular_form(wide)
    found = z @ triangular_logarithm(t.copy()) @ dagger(z)
    if np.iscomplexobj(a):
        return found, True
    is_complex = np.any(np.abs(np.imag(found)) > 1e6 * np.finfo(float).eps)
    return np.where(is_complex, found, np.real(found)).astype(np.complex128), is_complex


# Functions of stacks


def of_each(function: Any, A: Any) -> tuple[Any, Any]:
    """A function of each matrix of a stack, and whether all results are real."""
    if A.ndim == 2:
        found, is_complex = function(A)
        return found, np.logical_not(is_complex)
    given = np.reshape(A, (-1, *A.shape[-2:]))
    dtype = np.result_type(A.dtype, np.complex64) if function is root else np.complex128
    found, any_complex = np.zeros(given.shape, dtype), False
    for k in range(given.shape[0]):
        found[k], is_complex = function(given[k])
        any_complex = any_complex | is_complex
    return np.reshape(found, A.shape), np.logical_not(any_complex)


def sqrtm_by_schur(A: Any) -> Any:
    return of_each(root, A)


def logm_by_schur(A: Any) -> Any:
    return of_each(logarithm, A)


def are_square(*arrays: Any, **constants: Any) -> bool:
    (a,) = arrays
    return not constants and a.ndim >= 2 and a.shape[-1] > 1 and 0 not in a.shape and a.dtype.char in "fdFD"


def are_double(*arrays: Any, **constants: Any) -> bool:
    """Whether the logarithm is SciPy's: in single precision, rounding decides whether it is complex."""
    return are_square(*arrays, **constants) and arrays[0].dtype.char in "dD"


def are_complex(*arrays: Any, **constants: Any) -> bool:
    return are_square(*arrays, **constants) and arrays[0].dtype.kind == "c"


def are_complex_double(*arrays: Any, **constants: Any) -> bool:
    return are_square(*arrays, **constants) and arrays[0].dtype.char == "D"


expands(sqrtm_in_complex, sqrtm_by_schur, are_square)
expands(logm_in_complex, logm_by_schur, are_double)
expands(scipy.linalg.sqrtm, lambda A: of_each(root, A)[0], are_complex)
expands(scipy.linalg.logm, lambda A: of_each(logarithm, A)[0], are_complex_double)
