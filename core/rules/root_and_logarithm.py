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

from .library_programs import by_matrix, expands
from .products import hermitian as dagger
from .scipy_matrix_functions import logm_in_complex, sqrtm_in_complex
from .table import as_complex

DEGREE, CLOSE = 7, 0.288
NODES, WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(DEGREE), (1.0, 0.0)))
MOST_ROOTS = 100


def triangular_form(a: Any) -> Any:
    """The complex Schur form and its vectors; of a real matrix, whether a real eigenvalue is negative, and whether there are pairs."""
    if np.iscomplexobj(a):
        form: Any = scipy.linalg.schur(a, output="complex", check_finite=False)
        return *form, False, False
    real_form: Any = scipy.linalg.schur(a, check_finite=False)
    t, z = real_form
    beside = np.concatenate([np.zeros_like(t[:1, 0]), np.diagonal(t, -1), np.zeros_like(t[:1, 0])])
    is_single = (beside[1:] == 0) & (beside[:-1] == 0)
    is_negative = np.any(is_single & (np.diagonal(t) < 0))
    dtype = np.result_type(a.dtype, np.complex64)
    return *complex_form(t.astype(dtype), z.astype(dtype)), is_negative, np.any(beside != 0)


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
    if np.all(np.isfinite(a)):
        t, z, is_negative, _ = triangular_form(a)
        found = z @ triangular_root(t) @ dagger(z)
    elif np.all(np.tril(a, -1) == 0):
        found, is_negative = triangular_root(as_complex(a)), np.any(np.real(np.diagonal(a)) < 0)
    elif not np.any(np.isnan(a)) or (a.shape[0] == 2 and not np.iscomplexobj(a)):
        found, is_negative = np.full_like(as_complex(a), np.nan), False
    else:
        # SciPy's text where there is no Schur form
        raise np.linalg.LinAlgError("Internal error in scipy.linalg.sqrtm: -102")
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


def quotients(t: Any, of_difference: Any, at_equal: Any) -> Any:
    """Entries beside the diagonal of a function of T, by a function of (log b - log a) / 2, and its slope where a = b."""
    first, second = np.diagonal(t)[:-1], np.diagonal(t)[1:]
    difference = second - first
    is_equal = difference == 0
    of_half = of_difference(half_difference(first, second))
    return np.diagonal(t, 1) * np.where(is_equal, at_equal / first, 2.0 * of_half / np.where(is_equal, 1.0, difference))


def logarithm_beside_diagonal(t: Any) -> Any:
    return quotients(t, lambda half: half, 1.0)


def power_beside_diagonal(t: Any, exponent: Any) -> Any:
    def sinh(half: Any) -> Any:
        return 0.5 * (exponential_minus_one(exponent * half) - exponential_minus_one(-exponent * half))

    logarithms = np.log(np.diagonal(t))
    return np.exp(0.5 * exponent * (logarithms[:-1] + logarithms[1:])) * quotients(t, sinh, exponent)


def near_identity(t: Any) -> tuple[Any, Any]:
    """R = T^(1 / 2^k) - 1 and the number k of roots after which the approximants are exact to rounding."""
    r, count = t, 0
    while distance(r) > CLOSE and count < MOST_ROOTS:
        r = triangular_root(r)
        count += 1
    return with_power_of_diagonal(r, t, 0.5**count, exponential_minus_one), count


def with_power_of_diagonal(r: Any, t: Any, exponent: Any, of_logarithm: Any) -> Any:
    """R with the accurate diagonal, and entries beside it, of T^exponent; ``of_logarithm`` is exp, or exp - 1 for R = T^exponent - 1."""
    at, diagonal = np.arange(t.shape[0]), np.diagonal(t)
    r = r.copy()
    r[at, at] = of_logarithm(exponent * np.log(diagonal))
    r[at[:-1], at[1:]] = power_beside_diagonal(t, exponent)
    return r


def triangular_logarithm(t: Any) -> Any:
    n = t.shape[0]
    at = np.arange(n)
    t[at, at] = np.where(np.diagonal(t) == 0, 1e-20, np.diagonal(t))  # as SciPy does
    r, count = near_identity(t)
    total = np.zeros_like(r)
    for node, weight in zip(NODES, WEIGHTS):
        left = np.eye(n) + node * r
        total = total + weight * scipy.linalg.solve_triangular(left, r, check_finite=False)
    total = total * 2.0**count
    total[at, at] = np.log(np.diagonal(t))
    total[at[:-1], at[1:]] = logarithm_beside_diagonal(t)
    return total


def logarithm(a: Any) -> tuple[Any, Any]:
    """The logarithm of one matrix as a complex one of double precision, and whether it is complex."""
    wide = a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)
    t, z, _, _ = triangular_form(wide)
    found = z @ triangular_logarithm(t.copy()) @ dagger(z)
    if np.iscomplexobj(a):
        return found, True
    is_complex = np.any(np.abs(np.imag(found)) > 1e6 * np.finfo(float).eps)
    return np.where(is_complex, found, np.real(found)).astype(np.complex128), is_complex


# Functions of stacks


def of_each(function: Any, A: Any, *rest: Any) -> tuple[Any, Any]:
    """A function of each matrix of a stack, and whether all results are real."""
    if A.ndim == 2:
        found, is_complex = function(A, *rest)
        return found, np.logical_not(is_complex)
    found, are_complex = by_matrix(lambda a: function(a, *rest), 2)(A)
    return found, np.logical_not(np.any(are_complex))


def sqrtm_by_schur(A: Any) -> Any:
    return of_each(root, A)


def logm_by_schur(A: Any) -> Any:
    return of_each(logarithm, A)


def are_square(*arrays: Any, **constants: Any) -> bool:
    (a,) = arrays
    return not constants and a.ndim >= 2 and a.shape[-1] > 1 and 0 not in a.shape and a.dtype.char in "fdFD"


def are_known_kinds(*arrays: Any, **constants: Any) -> bool:
    """Whether the logarithm is SciPy's: that of real numbers of single precision is real or complex as rounding decides."""
    return are_square(*arrays, **constants) and arrays[0].dtype.char in "dFD"


def are_complex(*arrays: Any, **constants: Any) -> bool:
    return are_square(*arrays, **constants) and arrays[0].dtype.kind == "c"


expands(sqrtm_in_complex, sqrtm_by_schur, are_square)
expands(logm_in_complex, logm_by_schur, are_known_kinds)
expands(scipy.linalg.sqrtm, lambda A: of_each(root, A)[0], are_complex)
expands(scipy.linalg.logm, lambda A: of_each(logarithm, A)[0], are_complex)
