"""Programs of ``scipy.linalg``'s equations and factors for back ends that have code for the factorisations in them.

Riccati equations by SciPy's method: a basis of the stable subspace of a pencil by a generalised Schur form (P. van Dooren, "A
generalized eigenvalue approach for solving Riccati equations", SIAM J. Sci. Stat. Comput. 2, 1981), balanced as P. Benner,
"Symplectic balancing of Hamiltonian matrices", SIAM J. Sci. Comput. 22, 2001.  Toeplitz equations by Levinson's recurrence (G. Golub and
C. Van Loan, "Matrix Computations", 4th ed., 2013, section 4.7).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .library_programs import expands, refuse_not_finite
from .products import hermitian as dagger
from .scipy_factorisations import interchanged, packed
from .scipy_matrix_functions import solve_general_toeplitz

# LU factors


def lu_by_factors(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    factors, piv = scipy.linalg.lu_factor(a, check_finite=check_finite)
    l, u = packed(factors)  # noqa: E741
    place = np.argsort(interchanged(piv, a.shape[0]), kind="stable")
    if permute_l:
        return l[place], u
    if p_indices:
        return place.astype(np.int32), l, u
    p = np.zeros((a.shape[0], a.shape[0]), np.zeros(1, a.dtype).real.dtype)
    p[np.arange(a.shape[0]), place] = 1.0
    return p, l, u


def has_rows(a: Any, **constants: Any) -> bool:
    """Whether an array is a matrix of LAPACK's dtypes with more than one entry: SciPy treats numbers in another way."""
    return a.ndim == 2 and 0 not in a.shape and a.shape != (1, 1) and a.dtype.char in "fdFD"


expands(scipy.linalg.lu, lu_by_factors, has_rows)


# Toeplitz and circulant equations


def toeplitz_by_levinson(c: Any, r: Any, b: Any) -> Any:
    """The solution for all right-hand sides, one leading principal submatrix after the other.

    Raises:
        LinAlgError: a leading principal submatrix is singular.
    """
    n, dtype = b.shape[0], np.result_type(c, r, b)
    a = np.concatenate((r[:0:-1], c)).astype(dtype)
    sides = np.reshape(b, (n, -1)).astype(dtype)
    x = np.zeros(sides.shape, dtype)
    g, h = np.zeros(n, dtype), np.zeros(n, dtype)
    if a[n - 1] == 0:
        raise np.linalg.LinAlgError("Singular principal minor")
    x[0] = sides[0] / a[n - 1]
    if n > 1:
        g[0], h[0] = a[n - 2] / a[n - 1], a[n] / a[n - 1]
    for m in range(1, n):
        numerator, denominator = -sides[m], -a[n - 1]
        for j in range(m):
            numerator = numerator + a[n + m - j - 1] * x[j]
            denominator = denominator + a[n + m - j - 1] * g[m - j - 1]
        if denominator == 0:
            raise np.linalg.LinAlgError("Singular principal minor")
        last = numerator / denominator
        x[m] = last
        for j in range(m):
            x[j] = x[j] - last * g[m - j - 1]
        if m < n - 1:
            of_g, of_h, under_g, under_h = -a[n - m - 2], -a[n + m], -a[n - 1], -a[n - 1]
            for j in range(m):
                of_g = of_g + a[n + j - m - 1] * g[j]
                of_h = of_h + a[n + m - j - 1] * h[j]
                under_g = under_g + a[n + j - m - 1] * h[m - j - 1]
                under_h = under_h + a[n + m - j - 1] * g[m - j - 1]
            if under_g == 0 or under_h == 0:
                raise np.linalg.LinAlgError("Singular principal minor")
            p, q = of_g / under_g, of_h / under_h
            g[m], h[m] = p, q
            for j in range((m + 1) // 2):
                k = m - 1 - j
                gj, gk, hj, hk = g[j], g[k], h[j], h[k]
                g[j], g[k] = gj - p * hk, gk - p * hj
                h[j], h[k] = hj - q * gk, hk - q * gj
    return np.reshape(x, b.shape)


def hermitian_toeplitz_by_levinson(c: Any, b: Any, check_finite: bool = True) -> Any:
    refuse_not_finite(check_finite, c, b)
    return toeplitz_by_levinson(c, np.conj(c), b)


def are_sequences(*arrays: Any, **constants: Any) -> bool:
    *vectors, b = arrays
    return all(
        x.ndim == 1 and len(x.shape) and x.shape == b.shape[:1] and x.dtype.char in "fdFD" for x in vectors
    ) and (b.ndim in (1, 2) and 0 not in b.shape and b.dtype.char in "dD")


expands(solve_general_toeplitz, toeplitz_by_levinson, are_sequences)
expands(scipy.linalg.solve_toeplitz, hermitian_toeplitz_by_levinson, are_sequences)


# Riccati equations


def refuse_weights(weight: Any, name: str) -> None:
    if np.linalg.norm(weight - dagger(weight), 1) > np.spacing(np.linalg.norm(weight, 1)) * 100:
        raise ValueError(f"Matrix {name} should be symmetric/hermitian.")


def refuse_singular(a: Any, name: str) -> None:
    least = np.linalg.svdvals(a)[-1]
    if least == 0.0 or least < np.spacing(1.0) * np.linalg.norm(a, 1):
        raise ValueError(f"Matrix {name} is numerically singular.")


def balancing(h: Any, j: Any, m: int) -> Any:
    """Powers of two that balance the pencil and keep its structure."""
    size = np.abs(h) + np.abs(j)
    size = np.where(np.eye(len(h), dtype=bool), 0.0, size)
    scale = scipy.linalg.matrix_balance(size, separate=True, permute=False)[1][0]
    powers = np.log2(scale)
    s = np.round((powers[m : 2 * m] - powers[:m]) / 2)
    whole = 2.0 ** np.concatenate((s, -s, powers[2 * m :]))
    return np.where(np.all(np.abs(scale - 1.0) <= 1e-8 + 1e-5), 1.0, whole)


def riccati(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True, discrete: bool = False
) -> Any:
    refuse_not_finite(True, *[x for x in (a, b, q, r, e, s) if x is not None])
    refuse_weights(q, "q")
    refuse_weights(r, "r")
    if not discrete:
        refuse_singular(r, "r")
    if e is not None:
        refuse_singular(e, "e")
    (m, n), dtype = b.shape, np.result_type(a, b, q, r, float)
    unit = np.eye(m) if e is None else e
    across = np.zeros((m, n)) if s is None else s
    none, corner = np.zeros((m, m)), np.zeros((n, n))
    if discrete:
        h = np.block([[a, none, b], [-q, dagger(unit), -across], [dagger(across), np.zeros((n, m)), r]]).astype(dtype)
        j = np.block(
            [
                [unit, none, np.zeros((m, n))],
                [none, dagger(a), np.zeros((m, n))],
                [np.zeros((n, m)), -dagger(b), corner],
            ]
        ).astype(dtype)
    else:
        h = np.block([[a, none, b], [-q, -dagger(a), -across], [dagger(across), dagger(b), r]]).astype(dtype)
        j = np.block(
            [[unit, none, np.zeros((m, n))], [none, dagger(unit), np.zeros((m, n))], [np.zeros((n, 2 * m)), corner]]
        ).astype(dtype)
    scale = np.ones(2 * m + n)
    if balanced:
        scale = balancing(h, j, m)
        h, j = h * (scale[:, None] / scale), j * (scale[:, None] / scale)
    z = scipy.linalg.qr(h[:, 2 * m :])[0][:, n:]
    h, j = dagger(z) @ h[:, : 2 * m], dagger(z) @ j[:, : 2 * m]
    output, sort = "real" if dtype.kind == "f" else "complex", "iuc" if discrete else "lhp"
    u = scipy.linalg.ordqz(h, j, sort=sort, output=output, check_finite=False)[5]
    if e is not None:
        u = scipy.linalg.qr(np.concatenate((e @ u[:m, :m], u[m:, :m])))[0]
    top, bottom = u[:m, :m], u[m:, :m]
    if 1.0 / np.linalg.cond(top) < np.spacing(1.0):
        raise np.linalg.LinAlgError("Failed to find a finite solution.")
    x = dagger(np.linalg.solve(dagger(top), dagger(bottom)))
    x = x * (scale[:m, None] * scale[:m])
    product = dagger(top) @ bottom
    limit = np.maximum(np.spacing(1000.0), 0.1 * np.linalg.norm(product, 1))
    if np.linalg.norm(product - dagger(product), 1) > limit:
        raise np.linalg.LinAlgError(ON_THE_CIRCLE if discrete else ON_THE_AXIS)
    return 0.5 * (x + dagger(x))


ON_THE_AXIS = "The associated Hamiltonian pencil has eigenvalues too close to the imaginary axis"
ON_THE_CIRCLE = "The associated symplectic pencil has eigenvalues too close to the unit circle"


def continuous(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    return riccati(a, b, q, r, e, s, balanced, False)


def discrete(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    return riccati(a, b, q, r, e, s, balanced, True)


def are_double(*arrays: Any, **constants: Any) -> bool:
    return all(x.ndim == 2 and 0 not in x.shape and x.dtype.char in "dD" for x in arrays)


expands(scipy.linalg.solve_continuous_are, continuous, are_double)
expands(scipy.linalg.solve_discrete_are, discrete, are_double)
