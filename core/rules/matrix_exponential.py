"""The exponential of a matrix and its adjoint, which share the powers, the factors and the rational approximation.

Scaling and squaring with Pade approximants of degree 7 or 13; the adjoint is the Frechet derivative at A^H, by the derivative of the
same approximant (A. Al-Mohy and N. Higham, "Computing the Frechet derivative of the matrix exponential, with an application to condition
number estimation", SIAM J. Matrix Anal. Appl. 30, 2009, algorithm 6.4).  The forward sweep computes ``exponential_parts``, from which the
backward sweep needs products and one solution; computed alone, the derivative would need all of them again.

The parts are a cache, whose own derivative is zero: see ``kept_factors``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .factor_kernels import expm_frechet_pullback
from .kept_factors import factored, solve_factored
from .library_programs import are_matrices, expands
from .matrix_factorisations import SMALL_ORDER
from .products import hermitian as dagger
from .table import joint, linear, runs_compiled, zero

LARGEST_7, LARGEST_13 = 0.783, 4.74
"""The largest norms for which the approximants of these degrees and their derivatives are exact to rounding (table 6.1)."""

DEGREE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
DEGREE_13 = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)


def scaling(a: Any) -> tuple[Any, Any]:
    """Whether the degree is 7, and how often A is halved; never, if it is not finite."""
    size = np.linalg.norm(a, 1)
    is_small = size <= LARGEST_7
    return is_small, np.where(np.isfinite(size), np.ceil(np.log2(np.maximum(size / LARGEST_13, 1.0))), 0.0)


def exponential_parts(a: Any) -> tuple[Any, Any, Any]:
    """The powers 2, 4, 6 of the scaled matrix (3, n, n), the LU factors of the denominator, and the approximant."""
    n = a.shape[-1]
    unit = np.eye(n, dtype=a.dtype)
    is_small, s = scaling(a)
    x = a * (0.5**s).astype(a.real.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    b = DEGREE_13
    if is_small:
        c = DEGREE_7
        u = x @ (c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * unit)
        v = c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * unit
    else:
        u = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit)
        v = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * unit
    factors = factored(v - u)
    return np.stack((x2, x4, x6)), factors, solve_factored(v - u, v + u, factors)


def exponential_of_parts(a: Any, powers: Any, factors: Any, approximant: Any) -> Any:
    """The exponential of A, by repeated squaring."""
    y = approximant
    for _ in range(int(scaling(a)[1])):
        y = y @ y
    return y


def exponential_adjoint(a: Any, dy: Any, powers: Any, factors: Any, approximant: Any) -> Any:
    """L(A^H, dY), the Frechet derivative of the exponential at A^H."""
    unit = np.eye(a.shape[-1], dtype=a.dtype)
    is_small, s = scaling(a)
    scale = (0.5**s).astype(a.real.dtype)
    x, e = dagger(a) * scale, dy * scale
    x2, x4, x6 = dagger(powers[0]), dagger(powers[1]), dagger(powers[2])
    m2 = x @ e + e @ x
    m4 = x2 @ m2 + m2 @ x2
    m6 = x4 @ m2 + m4 @ x2
    b = DEGREE_13
    if is_small:
        c = DEGREE_7
        w = c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * unit
        lu = x @ (c[7] * m6 + c[5] * m4 + c[3] * m2) + e @ w
        lv = c[6] * m6 + c[4] * m4 + c[2] * m2
    else:
        w1 = b[13] * x6 + b[11] * x4 + b[9] * x2
        w = x6 @ w1 + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit
        lw = x6 @ (b[13] * m6 + b[11] * m4 + b[9] * m2) + m6 @ w1 + b[7] * m6 + b[5] * m4 + b[3] * m2
        lu = x @ lw + e @ w
        z1 = b[12] * x6 + b[10] * x4 + b[8] * x2
        lv = x6 @ (b[12] * m6 + b[10] * m4 + b[8] * m2) + m6 @ z1 + b[6] * m6 + b[4] * m4 + b[2] * m2
    r = dagger(approximant)
    derivative = solve_factored(a, lu + lv + (lu - lv) @ r, factors, True)
    for _ in range(int(s)):
        derivative = r @ derivative + derivative @ r
        r = r @ r
    return derivative


def exponential_of_parts_pullback(dy: Any, y: Any, a: Any, powers: Any, factors: Any, approximant: Any) -> Any:
    return exponential_adjoint(a, dy, powers, factors, approximant), None, None, None


def exponential_adjoint_pullback(
    dz: Any, z: Any, a: Any, dy: Any, powers: Any, factors: Any, approximant: Any
) -> tuple[Any, ...]:
    at, along = expm_frechet_pullback(dz, z, dagger(a), dy)
    return dagger(at), along, None, None, None


zero(exponential_parts)
joint(exponential_of_parts, exponential_of_parts_pullback)
joint(exponential_adjoint, exponential_adjoint_pullback)
linear(exponential_adjoint, 1)
runs_compiled(exponential_parts, exponential_of_parts, exponential_adjoint)
expands(
    (exponential_parts, exponential_of_parts, exponential_adjoint),
    None,
    lambda a, *rest: are_matrices(a),
    ("native", "xla"),
)


def exponential(a: Any) -> Any:
    return exponential_of_parts(a, *exponential_parts(a))


def is_large(A: Any) -> bool:
    return A.ndim == 2 and A.shape[0] > SMALL_ORDER and A.dtype.char in "dD"
