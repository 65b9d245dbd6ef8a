"""Derivatives of ``scipy.linalg``'s matrix functions, matrix equations and matrices of a given structure.

The pullback of a function of a matrix is its Frechet derivative at A^H (``frechet_derivatives``).  It needs no eigenvalues, so
repeated ones and matrices without a basis of eigenvectors need no special case.

The solution of a linear matrix equation has a pullback that solves the conjugate-transposed equation once: Sylvester,
Lyapunov, and Riccati, where that is the Lyapunov equation of the closed loop (T.-C. Kao and G. Hennequin, "Automatic
differentiation of Sylvester, Lyapunov, and algebraic Riccati equations", arXiv:2011.11430).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .factor_kernels import expm_frechet, upper_block
from .frechet_derivatives import expm_derivative, logm_derivative, power_derivative, signm_derivative
from .kept_decompositions import (
    hermitian_equation,
    is_equation,
    lyapunov_with_schur,
    refuse_without_solution,
    schur_form,
    square_equation,
    sylvester_with_schur,
)
from .library_programs import are_matrices, expands
from .matrix_exponential import exponential, is_large
from .matrix_factorisations import SMALL_ORDER
from .products import hermitian as dagger
from .stacks import one_by_one
from .table import as_complex, instead, joint, model, real_or_complex, runs_compiled, takes_sequences, vjp

# Matrix functions


def expm_pullback(dy: Any, y: Any, A: Any) -> Any:
    if np.ndim(A) == 2 and np.shape(A)[0] > SMALL_ORDER:
        return expm_frechet(dagger(np.asarray(A)), dy)
    return expm_derivative(dagger(np.asarray(A)), dy)


def refuse_singular(a: Any, function: str, where: Any = True) -> None:
    """Refuse the derivative at a matrix that is singular to rounding, whose eigenvalue of zero has an infinite slope."""
    s = np.linalg.svd(a, compute_uv=False)
    if np.any((s <= s.shape[-1] * np.spacing(np.max(s, axis=-1, keepdims=True, initial=0.0))) & where):
        raise NoDerivative(f"scipy.linalg.{function} has no derivative at a singular matrix")


def logm_pullback(dy: Any, y: Any, A: Any) -> Any:
    refuse_singular(np.asarray(A), "logm")
    return logm_derivative(dagger(np.asarray(A)), dy)


def sqrtm_pullback(dy: Any, y: Any, A: Any) -> Any:
    """Y Y = A, so that Y dY + dY Y = dA."""
    if np.ndim(y) > 2 or dy.dtype != y.dtype or not np.size(y):
        refuse_singular(np.asarray(A), "sqrtm")
        return scipy.linalg.solve_sylvester(dagger(y), dagger(y), dy)
    form = schur_form(y)
    refuse_without_solution(form[0], np.conj(form[0]), "scipy.linalg.sqrtm")
    return square_equation(y, dy, form, True)


def signm_pullback(dy: Any, y: Any, A: Any) -> Any:
    return signm_derivative(dagger(np.asarray(A)), dy)


def fractional_matrix_power_pullback(dy: Any, y: Any, A: Any, t: Any) -> tuple[Any, Any]:
    A = np.asarray(A)
    # SciPy's algorithm for singular matrices takes no repeated eigenvalues, and those of the block are.
    refuse_singular(A, "fractional_matrix_power with an exponent that is not an integer", t != np.floor(t))
    return power_derivative(dagger(A), dy, t), np.sum(np.conj(scipy.linalg.logm(A) @ y) * dy)


def polar_pullback(dy: Any, y: Any, a: Any, side: str = "right") -> Any:
    du, dp = dy
    if side == "left":
        return dagger(right_polar_cotangent(None if du is None else dagger(du), dp, dagger(y[0]), y[1], dagger(a)))
    return right_polar_cotangent(du, dp, y[0], y[1], np.asarray(a))


def right_polar_cotangent(du: Any, dp: Any, u: Any, p: Any, a: Any) -> Any:
    """A = U P of full column rank: dU = (dA - U dP) P^-1, where P dP + dP P = A^H dA + dA^H A."""
    g, z = 0.0, 0.0
    if dp is not None:
        z = dp
    if du is not None:
        g = dagger(np.linalg.solve(p, dagger(du)))
        z = z - dagger(u) @ g
    z = 0.5 * (z + dagger(z))
    z = hermitian_equation(p, z) if np.ndim(p) == 2 else scipy.linalg.solve_sylvester(p, p, z)
    return g + 2.0 * a @ z


vjp(scipy.linalg.expm, expm_pullback)
instead(scipy.linalg.expm, exponential, is_large)
vjp(scipy.linalg.logm, logm_pullback)
vjp(scipy.linalg.sqrtm, sqrtm_pullback)
vjp(scipy.linalg.signm, signm_pullback)
joint(scipy.linalg.fractional_matrix_power, fractional_matrix_power_pullback)


def logm_in_complex(A: Any) -> Any:
    y = scipy.linalg.logm(A)
    return as_complex(y), not np.iscomplexobj(y)


def fractional_matrix_power_in_complex(A: Any, t: Any) -> Any:
    y = scipy.linalg.fractional_matrix_power(A, t)
    return as_complex(y), not np.iscomplexobj(y)


def sqrtm_in_complex(A: Any) -> Any:
    y = scipy.linalg.sqrtm(A)
    return as_complex(y), not np.iscomplexobj(y)


real_or_complex(scipy.linalg.logm, logm_in_complex, lambda dy, y, A: (logm_pullback(dy[0], y[0], np.asarray(A) + 0j),))
real_or_complex(scipy.linalg.sqrtm, sqrtm_in_complex, lambda dy, y, A: (sqrtm_pullback(dy[0], y[0], A),))
real_or_complex(
    scipy.linalg.fractional_matrix_power,
    fractional_matrix_power_in_complex,
    lambda dy, y, A, t: fractional_matrix_power_pullback(dy[0], y[0], np.asarray(A) + 0j, t),
)
vjp(scipy.linalg.polar, polar_pullback)


def expm_frechet_by_block(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """The exponential of the block matrix above."""
    n = A.shape[-1]
    both = scipy.linalg.expm(upper_block(A, E))
    return (both[..., :n, :n], both[..., :n, n:]) if compute_expm else both[..., :n, n:]


model(scipy.linalg.expm_frechet, expm_frechet_by_block)


# Matrix equations


def solve_sylvester_pullback(dy: Any, y: Any, a: Any, b: Any, q: Any) -> tuple[Any, Any, Any]:
    """A X + X B = Q."""
    z = scipy.linalg.solve_sylvester(dagger(a), dagger(b), dy)
    return -z @ dagger(y), -dagger(y) @ z, z


def solve_continuous_lyapunov_pullback(dy: Any, y: Any, a: Any, q: Any) -> tuple[Any, Any]:
    """A X + X A^H = Q."""
    z = scipy.linalg.solve_continuous_lyapunov(dagger(a), dy)
    return -z @ dagger(y) - dagger(z) @ y, z


def solve_discrete_lyapunov_pullback(dy: Any, y: Any, a: Any, q: Any, method: Any = None) -> tuple[Any, Any]:
    """A X A^H - X + Q = 0."""
    z = scipy.linalg.solve_discrete_lyapunov(dagger(a), dy, method)
    return z @ a @ dagger(y) + dagger(z) @ a @ y, z


def riccati_cotangents(
    left: Any, closed: Any, x: Any, k: Any, z: Any, e: Any, s: Any, discrete: bool
) -> tuple[Any, ...]:
    """The cotangents of A, B, Q, R, E, S from the Hermitian solution ``z`` of the closed loop's adjoint equation.

    The gain K minimises the cost, so its own change contributes nothing (the envelope theorem).
    """
    along = 2.0 * x @ left @ z
    by_e = None if e is None else -2.0 * x @ e @ z if discrete else 2.0 * x @ closed @ z
    return along, -along @ dagger(k), z, k @ z @ dagger(k), by_e, None if s is None else -2.0 * z @ dagger(k)


def refuse_unsolved(residual: Any, q: Any, x: Any, a: Any) -> None:
    """Refuse a solution that does not solve its equation, as SciPy 1.17 gives with ``e`` where it balances the matrices."""
    size = np.max(np.abs(q)) + np.max(np.abs(dagger(a) @ x)) + np.max(np.abs(dagger(a) @ x @ a))
    if np.max(np.abs(residual)) > 1e-6 * size:
        raise NoDerivative(
            "the solution that scipy.linalg gives does not solve the Riccati equation, so that it has no derivative; pass "
            "balanced=False"
        )


def descriptor(a: Any, e: Any, s: Any, b: Any) -> tuple[Any, Any]:
    return np.eye(len(a), dtype=np.result_type(a)) if e is None else e, np.zeros_like(b) if s is None else s


def solve_continuous_are_pullback(
    dy: Any, y: Any, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> tuple[Any, ...]:
    """A^H X E + E^H X A - (E^H X B + S) K + Q = 0 with the gain K = R^-1 (B^H X E + S^H).

    Q and R are Hermitian, and so are their cotangents.
    """
    e_, s_ = descriptor(a, e, s, b)
    k = np.linalg.solve(r, dagger(b) @ y @ e_ + dagger(s_))
    along = dagger(a) @ y @ e_
    refuse_unsolved(along + dagger(along) - (dagger(e_) @ y @ b + s_) @ k + q, q, y, a)
    closed, inverse = a - b @ k, np.linalg.inv(e_)
    z = scipy.linalg.solve_continuous_lyapunov(closed @ inverse, -0.5 * (dy + dagger(dy)))
    return riccati_cotangents(e_, closed, y, k, inverse @ z @ dagger(inverse), e, s, False)


def solve_discrete_are_pullback(
    dy: Any, y: Any, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> tuple[Any, ...]:
    """A^H X A - E^H X E - (A^H X B + S) K + Q = 0 with the gain K = (R + B^H X B)^-1 (B^H X A + S^H)."""
    e_, s_ = descriptor(a, e, s, b)
    k = np.linalg.solve(r + dagger(b) @ y @ b, dagger(b) @ y @ a + dagger(s_))
    refuse_unsolved(dagger(a) @ y @ a - dagger(e_) @ y @ e_ - (dagger(a) @ y @ b + s_) @ k + q, q, y, a)
    closed, inverse = a - b @ k, np.linalg.inv(e_)
    z = scipy.linalg.solve_discrete_lyapunov(closed @ inverse, 0.5 * (dy + dagger(dy)))
    return riccati_cotangents(closed, closed, y, k, inverse @ z @ dagger(inverse), e, s, True)


def polar_by_svd(a: Any, side: str = "right") -> tuple[Any, Any]:
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    u = w @ vh
    p = (dagger(vh) * s) @ vh if side == "right" else (w * s) @ dagger(w)
    return u, p


def solve_discrete_lyapunov_by_products(a: Any, q: Any, method: Any = None) -> Any:
    """SciPy's two methods: a system for all entries of X, or a bilinear transformation to a continuous equation."""
    if method.lower() == "direct" if method is not None else a.shape[0] < 10:
        left = np.kron(a, np.conj(a))
        return np.reshape(np.linalg.solve(np.eye(left.shape[0], dtype=a.dtype) - left, np.ravel(q)), q.shape)
    unit = np.eye(a.shape[0], dtype=a.dtype)
    ah = dagger(a)
    inverse = np.linalg.inv(ah + unit)
    b = (ah - unit) @ inverse
    c = 2 * (np.linalg.inv(a + unit) @ q @ inverse)
    return lyapunov_with_schur(dagger(b), -c)


expands(scipy.linalg.polar, polar_by_svd, are_matrices, ("native", "xla"))
expands(scipy.linalg.solve_sylvester, sylvester_with_schur, are_matrices)
expands((scipy.linalg.solve_continuous_lyapunov, scipy.linalg.solve_lyapunov), lyapunov_with_schur, are_matrices)
expands(scipy.linalg.solve_discrete_lyapunov, solve_discrete_lyapunov_by_products, are_matrices)
joint(scipy.linalg.solve_sylvester, solve_sylvester_pullback)
instead(scipy.linalg.solve_sylvester, sylvester_with_schur, is_equation, is_exact=True)
for _lyapunov in {scipy.linalg.solve_continuous_lyapunov, scipy.linalg.solve_lyapunov}:
    joint(_lyapunov, solve_continuous_lyapunov_pullback)
    instead(_lyapunov, lyapunov_with_schur, is_equation, is_exact=True)


def solution_like(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """An array of the type of a Riccati equation's solution, which not all samples have."""
    given = [x for x in (a, b, q, r, e, s) if x is not None]
    stack = np.broadcast_shapes(*(x.shape[:-2] for x in given))
    return np.zeros((*stack, *a.shape[-2:]), np.result_type(float, *given))


joint(scipy.linalg.solve_discrete_lyapunov, solve_discrete_lyapunov_pullback)
for _are, _pullback in (
    (scipy.linalg.solve_continuous_are, solve_continuous_are_pullback),
    (scipy.linalg.solve_discrete_are, solve_discrete_are_pullback),
):
    joint(_are, one_by_one(_pullback, 2, 2, 2, 2, 2, 2))
    runs_compiled(_are, sample=solution_like)


# Matrices made from a column and a row: every entry's cotangent is a sum along a diagonal


def diagonal_sums(g: Any, offsets: range) -> Any:
    """The sums along the diagonals of the matrices ``g`` (..., m, n): (..., len(offsets))."""
    if not offsets:
        return np.zeros((*g.shape[:-2], 0), g.dtype)
    return np.stack([np.trace(g, k, -2, -1) for k in offsets], axis=-1)


def behind_zero(g: Any) -> Any:
    """``g`` without its first entry, which is not read."""
    return np.where(np.arange(g.shape[-1]) == 0, 0.0, g)


def toeplitz_cotangents(g: Any, with_row: bool) -> tuple[Any, Any]:
    """The cotangents of the first column, and of the first row, which is the column's conjugate if it is not given."""
    m, n = g.shape[-2:]
    column = diagonal_sums(g, range(0, -m, -1))
    row = behind_zero(diagonal_sums(g, range(n)))
    return (column, row) if with_row else (column + np.conj(row), None)


def toeplitz_pullback(dy: Any, y: Any, c: Any, r: Any = None) -> tuple[Any, Any]:
    return toeplitz_cotangents(dy, r is not None)


def hankel_pullback(dy: Any, y: Any, c: Any, r: Any = None) -> tuple[Any, Any]:
    m, n = dy.shape[-2:]
    sums = diagonal_sums(dy[..., ::-1], range(n - 1, -m, -1))
    return sums[..., :m], None if r is None else behind_zero(sums[..., m - 1 :])


def circulant_pullback(dy: Any, y: Any, c: Any) -> Any:
    n = dy.shape[-1]
    wrapped = behind_zero(diagonal_sums(dy, range(n, 0, -1)))
    return diagonal_sums(dy, range(0, -n, -1)) + wrapped


def block_diag_pullback(dy: Any, y: Any, *arrs: Any) -> tuple[Any, ...]:
    gradients, i, j = [], 0, 0
    for block in arrs:
        m, n = ((1, 1) + np.shape(block))[-2:]
        gradients = [*gradients, np.reshape(dy[..., i : i + m, j : j + n], np.shape(block))]
        i, j = i + m, j + n
    return tuple(gradients)


def solve_toeplitz_pullback(dy: Any, y: Any, c_or_cr: Any, b: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The adjoint of a Toeplitz matrix is one, with the conjugate row for its column."""
    with_row = isinstance(c_or_cr, tuple)
    c = np.asarray(c_or_cr[0] if with_row else c_or_cr)
    r = np.asarray(c_or_cr[1]) if with_row else np.conj(c)
    if c.ndim != 1 or r.ndim != 1:
        raise NoDerivative(f"solve_toeplitz has a derivative for one matrix, not for a stack of shape {c.shape}")
    z = scipy.linalg.solve_toeplitz((np.conj(np.concatenate([c[:1], r[1:]])), np.conj(c)), dy)
    g = -z[:, None] * np.conj(y) if np.ndim(b) == 1 else -z @ dagger(y)
    column, row = toeplitz_cotangents(g, with_row)
    return (column, row) if with_row else column, z


def solve_general_toeplitz(c: Any, r: Any, b: Any) -> Any:
    """``solve_toeplitz`` of a column and a row as arguments of their own."""
    return scipy.linalg.solve_toeplitz((c, r), b)


def solve_general_toeplitz_pullback(dy: Any, y: Any, c: Any, r: Any, b: Any) -> tuple[Any, Any, Any]:
    (column, row), right = solve_toeplitz_pullback(dy, y, (c, r), b)
    return column, row, right


joint(scipy.linalg.toeplitz, toeplitz_pullback)
joint(scipy.linalg.hankel, hankel_pullback)
vjp(scipy.linalg.circulant, circulant_pullback)
joint(scipy.linalg.block_diag, block_diag_pullback)
joint(scipy.linalg.solve_toeplitz, solve_toeplitz_pullback)
takes_sequences(scipy.linalg.solve_toeplitz)
joint(solve_general_toeplitz, solve_general_toeplitz_pullback)
runs_compiled(solve_general_toeplitz, sample=lambda c, r, b: np.zeros_like(b + c[0] + r[0]))
