"""Programs that were written before their speed was looked at, and on which nothing is tuned."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.linalg import blas, lapack

from .program import Program, definite, dominant, drawn

W = {n: drawn(n, n, seed=9) for n in (6, 64, 96, 128, 200, 256)}


def weighed(n: int) -> np.ndarray:
    return W.setdefault(n, drawn(n, n, seed=9))


def polar(a: np.ndarray) -> Any:
    u, p = sla.polar(a)
    w = weighed(len(a))
    g = sla.solve(p, w.T, assume_a="pos").T
    z = -u.T @ g
    lam, v = sla.eigh(p)
    z = v @ (v.T @ (0.5 * (z + z.T)) @ v / (lam[:, None] + lam)) @ v.T
    return np.sum(w * u), (g + 2.0 * a @ z,)


def pinv_of_full_rank(a: np.ndarray) -> Any:
    """sum(P^2) = tr((A^T A)^-1) for a matrix of full column rank: the gradient is -2 A (A^T A)^-2."""
    p = np.linalg.pinv(a)
    return np.sum(p * p), (-2.0 * (p.T @ p) @ p.T,)


def sylvester(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> Any:
    r, u = sla.schur(a)  # type: ignore[misc]
    s, v = sla.schur(b)  # type: ignore[misc]

    def solved(q: np.ndarray, adjoint: bool) -> np.ndarray:
        letter = "C" if adjoint else "N"
        f, scale, _ = lapack.dtrsyl(r, s, u.T @ q @ v, trana=letter, tranb=letter)
        return u @ (f / scale) @ v.T

    x = solved(q, False)
    z = solved(2.0 * x, True)
    return np.sum(x * x), (-z @ x.T, -x.T @ z, z)


def lu_solve(a: np.ndarray, b: np.ndarray) -> Any:
    factors = sla.lu_factor(a, check_finite=False)
    x = sla.lu_solve(factors, b, check_finite=False)
    z = sla.lu_solve(factors, 2.0 * x, trans=1, check_finite=False)
    return np.sum(x * x), (-z @ x.T, z)


def triangular(a: np.ndarray, b: np.ndarray) -> Any:
    x = blas.dtrsm(1.0, a, b, lower=1)
    z = blas.dtrsm(1.0, a, 2.0 * x, lower=1, trans_a=1)
    return np.sum(x * x), (np.tril(-z @ x.T), z)


def cond(a: np.ndarray) -> Any:
    u, s, vt = sla.svd(a, check_finite=False)
    y = s[0] / s[-1]
    return y, (np.outer(u[:, 0], vt[0] / s[-1]) - np.outer(u[:, -1], vt[-1] * (y / s[-1])),)


def power(a: np.ndarray) -> Any:
    """The seventh power: A^2 A^4 A."""
    a2 = a @ a
    a3 = a2 @ a
    w = weighed(len(a))
    y = a2 @ a2 @ a3
    g4 = w @ a3.T
    g3 = (a2 @ a2).T @ w
    g2 = a2.T @ g4 + g4 @ a2.T + g3 @ a.T
    return np.sum(w * y), (a2.T @ g3 + a.T @ g2 + g2 @ a.T,)


def nuclear(a: np.ndarray) -> Any:
    u, s, vt = sla.svd(a, full_matrices=False, check_finite=False)
    return np.sum(s), (u @ vt,)


def determinant(a: np.ndarray) -> Any:
    lu, pivots, _ = lapack.dgetrf(a.T)
    y = np.prod(np.diagonal(lu)) * (-1.0) ** np.count_nonzero(pivots != np.arange(len(a)))
    inverse, _ = lapack.dgetri(lu, pivots, lwork=64 * len(a), overwrite_lu=1)
    return y, (y * inverse,)


def symmetrised_values(a: np.ndarray) -> Any:
    w, v = sla.eigh(0.5 * (a + a.T), driver="evd", check_finite=False)
    return np.sum(np.tanh(w)), ((v * (1.0 - np.tanh(w) ** 2)) @ v.T,)


def sqrtm(a: np.ndarray) -> Any:
    y = np.real(sla.sqrtm(a))
    w = weighed(len(a))
    return np.sum(w * y), (sla.solve_sylvester(y.T, y.T, w),)


def lyapunov(a: np.ndarray, q: np.ndarray) -> Any:
    r, u = sla.schur(a)  # type: ignore[misc]

    def solved(q: np.ndarray, adjoint: bool) -> np.ndarray:
        first, second = ("C", "N") if adjoint else ("N", "C")
        f, scale, _ = lapack.dtrsyl(r, r, u.T @ q @ u, trana=first, tranb=second)
        return u @ (f / scale) @ u.T

    x = solved(q, False)
    z = solved(2.0 * x, True)
    return np.sum(x * x), (-z @ x.T - z.T @ x, z)


def gaussian(k: np.ndarray, y: np.ndarray) -> Any:
    """The negative logarithm of a Gaussian density, but for constants."""
    c, _ = lapack.dpotrf(0.5 * (k + k.T), lower=1)
    x, _ = lapack.dpotrs(c, y, lower=1)
    inverse, _ = lapack.dpotri(c, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return 0.5 * y @ x + np.sum(np.log(np.diagonal(c))), (0.5 * (inverse - np.outer(x, x)), x)


def spectral_norm(a: np.ndarray) -> Any:
    u, s, vt = sla.svd(a, full_matrices=False, check_finite=False)
    return s[0], (np.outer(u[:, 0], vt[0]),)


def in_jax_and_numpy_gaussian(np: Any, sp: Any) -> Any:
    def loss(k: Any, y: Any) -> Any:
        c = np.linalg.cholesky(0.5 * (k + k.T))
        x = sp.cho_solve((c, True), y)
        return 0.5 * y @ x + np.sum(np.log(np.diagonal(c)))

    return loss


def in_torch_gaussian(torch: Any) -> Any:
    def loss(k: Any, y: Any) -> Any:
        c = torch.linalg.cholesky(0.5 * (k + k.T))
        x = torch.cholesky_solve(y[:, None], c)[:, 0]
        return 0.5 * y @ x + torch.sum(torch.log(torch.diagonal(c)))

    return loss


def square(n: int) -> Any:
    return (dominant(n),)


def solved(np: Any, sp: Any) -> Any:
    return lambda a, b: np.sum(sp.lu_solve(sp.lu_factor(a), b) ** 2)


def in_torch_lu(torch: Any) -> Any:
    return lambda a, b: torch.sum(torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b) ** 2)


PROGRAMS = (
    Program(
        "polar",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * sp.polar(a)[0]),
        polar, square, 128, 6,
    ),
    Program(
        "pinv 300x100",
        lambda np, sp: lambda a: np.sum(np.linalg.pinv(a) ** 2),
        pinv_of_full_rank, lambda n: (drawn(3 * n, n),), 100, 4,
        lambda torch: lambda a: torch.sum(torch.linalg.pinv(a) ** 2),
    ),
    Program(
        "Sylvester",
        lambda np, sp: lambda a, b, q: np.sum(sp.solve_sylvester(a, b, q) ** 2),
        sylvester, lambda n: (dominant(n), dominant(n, 1), drawn(n, n, seed=2)), 128, 6, in_jax=False,
    ),
    Program(
        "lu_factor, lu_solve, 64 sides", solved, lu_solve, lambda n: (dominant(n), drawn(n, max(n // 4, 2))), 256, 6, in_torch_lu
    ),
    Program(
        "triangular solve, 256 sides",
        lambda np, sp: lambda a, b: np.sum(sp.solve_triangular(a, b, lower=True) ** 2),
        triangular, lambda n: (np.tril(dominant(n)), drawn(n, n)), 256, 6,
        lambda torch: lambda a, b: torch.sum(torch.linalg.solve_triangular(a, b, upper=False) ** 2),
    ),
    Program(
        "cond", lambda np, sp: lambda a: np.linalg.cond(a), cond, square, 200, 6, lambda torch: lambda a: torch.linalg.cond(a)
    ),
    Program(
        "matrix_power 7",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * np.linalg.matrix_power(a, 7)),
        power, lambda n: (drawn(n, n) / np.sqrt(n),), 256, 6,
        lambda torch: lambda a: torch.sum(torch.from_numpy(weighed(a.shape[0])) * torch.linalg.matrix_power(a, 7)),
    ),
    Program(
        "nuclear norm 300x200",
        lambda np, sp: lambda a: np.linalg.norm(a, "nuc"),
        nuclear, lambda n: (drawn(3 * n // 2, n),), 200, 6, lambda torch: lambda a: torch.linalg.matrix_norm(a, "nuc"),
    ),
    Program(
        "det", lambda np, sp: lambda a: np.linalg.det(a), determinant,
        lambda n: (0.5 * dominant(n),), 200, 6, lambda torch: lambda a: torch.linalg.det(a),
    ),
    Program(
        "eigvalsh",
        lambda np, sp: lambda a: np.sum(np.tanh(np.linalg.eigvalsh(0.5 * (a + a.T)))),
        symmetrised_values, lambda n: (definite(n) + 0.1 * drawn(n, n),), 200, 6,
        lambda torch: lambda a: torch.sum(torch.tanh(torch.linalg.eigvalsh(0.5 * (a + a.T)))),
    ),
    Program(
        "sqrtm",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * np.real(sp.sqrtm(a))),
        sqrtm, square, 96, 6, in_jax=False,
    ),
    Program(
        "Lyapunov",
        lambda np, sp: lambda a, q: np.sum(sp.solve_continuous_lyapunov(a, q) ** 2),
        lyapunov, lambda n: (dominant(n), drawn(n, n, seed=2)), 128, 6, in_jax=False,
    ),
    Program(
        "Gaussian log-density", in_jax_and_numpy_gaussian, gaussian,
        lambda n: (definite(n), drawn(n)), 256, 6, in_torch_gaussian,
    ),
    Program(
        "spectral norm", lambda np, sp: lambda a: np.linalg.norm(a, 2), spectral_norm,
        square, 200, 6, lambda torch: lambda a: torch.linalg.matrix_norm(a, 2),
    ),
)  # fmt: skip
