"""Programs of ``scipy.linalg``'s functions of a matrix for back ends: the exponential, the functions made of it, the sign, powers.

The trigonometric and hyperbolic functions are sums of exponentials, as in SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .library_programs import by_matrix, expands
from .matrix_exponential import exponential
from .products import hermitian as dagger
from .root_and_logarithm import (
    DEGREE,
    are_square,
    near_identity,
    of_each,
    triangular_form,
    with_power_of_diagonal,
)
from .scipy_matrix_functions import fractional_matrix_power_in_complex
from .scipy_schur import parlett
from .table import as_complex

# The exponential


def expm(A: Any) -> Any:
    """Of a diagonal matrix, the exponentials of its elements."""
    unit = np.eye(A.shape[0], dtype=bool)
    of_diagonal = np.where(unit, np.exp(np.diagonal(A)), 0)
    return np.where(np.all((A == 0) | unit), of_diagonal, exponential(A)).astype(A.dtype)


def is_one(*arrays: Any, **constants: Any) -> bool:
    return are_square(*arrays, **constants) and arrays[0].ndim == 2


def are_several(*arrays: Any, **constants: Any) -> bool:
    return are_square(*arrays, **constants) and arrays[0].ndim > 2


expands(scipy.linalg.expm, expm, is_one)
expands(scipy.linalg.expm, by_matrix(scipy.linalg.expm, 2), are_several)


# Trigonometric and hyperbolic functions


def cosm(A: Any) -> Any:
    if np.iscomplexobj(A):
        return (0.5 * (scipy.linalg.expm(1j * A) + scipy.linalg.expm(-1j * A))).astype(A.dtype)
    return np.real(scipy.linalg.expm(1j * A))


def sinm(A: Any) -> Any:
    if np.iscomplexobj(A):
        return (-0.5j * (scipy.linalg.expm(1j * A) - scipy.linalg.expm(-1j * A))).astype(A.dtype)
    return np.imag(scipy.linalg.expm(1j * A))


def coshm(A: Any) -> Any:
    return 0.5 * (scipy.linalg.expm(A) + scipy.linalg.expm(-A))


def sinhm(A: Any) -> Any:
    return 0.5 * (scipy.linalg.expm(A) - scipy.linalg.expm(-A))


def tanm(A: Any) -> Any:
    return scipy.linalg.solve(scipy.linalg.cosm(A), scipy.linalg.sinm(A))


def tanhm(A: Any) -> Any:
    return scipy.linalg.solve(scipy.linalg.coshm(A), scipy.linalg.sinhm(A))


for _program in (cosm, sinm, tanm, coshm, sinhm, tanhm):
    _function = getattr(scipy.linalg, _program.__name__)
    expands(_function, _program, is_one)
    expands(_function, by_matrix(_function, 2), are_several)


# The sign


def signm(A: Any) -> Any:
    """By eigenvalues that are well apart, else by Newton's iteration after a shift, as in SciPy; real for a real matrix."""
    eps = np.finfo(A.dtype).eps
    t, z, _, _ = triangular_form(A)
    lam = np.real(np.diagonal(t))
    signs = np.sign(np.where(np.abs(lam) > 1e3 * eps * np.max(lam), lam, 0.0))
    f, least = parlett(np.diag(signs).astype(t.dtype), t, t.shape[0], np.abs(t[0, 0]))
    y = z @ f @ dagger(z)
    least = np.where(least == 0, eps, least)
    is_apart = np.maximum(1.0, np.linalg.norm(np.triu(t, 1), 1) / least) < 1e3
    if is_apart and np.all(np.isfinite(y)):
        return (y if np.iscomplexobj(A) else np.real(y)).astype(A.dtype)
    s = A + np.eye(A.shape[0]) * (0.5 / np.linalg.norm(A, 2))
    s = s.astype(A.dtype)
    before, error, count = -1.0, 1.0, 0
    while count < 100 and error >= 1e3 * eps and before != error:
        before = error
        s = (0.5 * (s + np.linalg.inv(s))).astype(A.dtype)
        projector = 0.5 * (s @ s + s)
        error = np.linalg.norm(projector @ projector - projector, 1)
        count += 1
    return s


expands(scipy.linalg.signm, signm, is_one)
expands(scipy.linalg.signm, by_matrix(scipy.linalg.signm, 2), are_several)


# Powers


def power_by_pade(r: Any, t: Any) -> Any:
    """(1 - R)^t for an upper triangle R close to zero: the approximant of degree 7 as a continued fraction, from its end."""
    unit = np.eye(r.shape[0])
    y = r * (t - DEGREE) / (2 * (2 * DEGREE - 1))
    for k in range(DEGREE - 1, 0, -1):
        y = scipy.linalg.solve_triangular(unit + y, r * ((-k - t) / (2 * (2 * k + 1))), check_finite=False)
        y = scipy.linalg.solve_triangular(unit + y, r * ((-k + t) / (2 * (2 * k - 1))), check_finite=False)
    return unit + scipy.linalg.solve_triangular(unit + y, -t * r, check_finite=False)


def triangular_power(t: Any, exponent: Any) -> Any:
    """T^exponent for a triangle T without zeros in the diagonal, and an exponent between -1 and 1."""
    r, count = near_identity(t)
    u = with_power_of_diagonal(power_by_pade(-r, exponent), t, exponent * 0.5**count, np.exp)
    for _ in range(count):
        u = u @ u
    return u


def integer_power(a: Any, exponent: Any) -> Any:
    """A^exponent for a whole number of any dtype."""
    factor = np.linalg.inv(a) if exponent < 0 else a
    y, left = np.eye(a.shape[0], dtype=a.dtype), np.abs(exponent)
    while left > 0:
        if left % 2 == 1:
            y = y @ factor
        factor = factor @ factor
        left = left // 2
    return y


def power(a: Any, exponent: Any) -> tuple[Any, Any]:
    """The power of a matrix as a complex one, and whether it is complex.

    As in SciPy, the exponent is split into a whole number and the remainder that is better conditioned; a singular matrix
    has the power of the functions of its eigenvalues.
    """
    whole = np.floor(exponent)
    above = exponent - whole
    is_real = not np.iscomplexobj(a)
    if above == 0:
        return as_complex(integer_power(a, whole)), not is_real
    t, z, is_negative, has_pairs = triangular_form(a)
    s = np.linalg.svd(a, compute_uv=False)
    if s[-1] == 0 or np.any(np.diagonal(t) == 0):
        if exponent < 0:
            return as_complex(np.full_like(a, np.nan)), not is_real
        f = parlett(np.diag(np.diagonal(t) ** above), t, t.shape[0], np.abs(t[0, 0]))[0]
        y = z @ f @ dagger(z)
        is_complex = not is_real or np.any(np.abs(np.imag(y)) > 1e6 * np.finfo(float).eps)
        return as_complex(integer_power(a, whole)) @ np.where(is_complex, y, np.real(y)), is_complex
    condition = s[0] / s[-1]
    is_below = above * condition ** (1 - above) <= (1 - above) * condition
    whole, rest = np.where(is_below, whole, whole + 1), np.where(is_below, above, above - 1)
    y = integer_power(a, whole) @ (z @ triangular_power(t, rest) @ dagger(z))
    is_complex = not is_real or is_negative or has_pairs
    return np.where(is_complex, y, np.real(y)).astype(y.dtype), is_complex


def are_double(a: Any, *exponents: Any, **constants: Any) -> bool:
    """Whether a call is for matrices of double precision: of others, SciPy's dtype depends on the exponent."""
    return are_square(a) and a.dtype.char in "dD" and all(t.dtype.kind in "fi" and t.ndim == 0 for t in exponents)


def are_complex_double(a: Any, *exponents: Any, **constants: Any) -> bool:
    return are_double(a, *exponents) and a.dtype.kind == "c"


expands(fractional_matrix_power_in_complex, lambda A, t: of_each(power, A, t), are_double)
expands(scipy.linalg.fractional_matrix_power, lambda A, t: of_each(power, A, t)[0], are_complex_double)
