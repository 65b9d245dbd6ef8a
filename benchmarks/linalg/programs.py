"""Factorisations, equations and functions of one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.linalg import blas, lapack

from .held_out import weighed
from .program import Program, definite, dominant, drawn


def slogdet(a: np.ndarray) -> Any:
    lu, pivots, _ = lapack.dgetrf(a.T)
    value = np.sum(np.log(np.abs(np.diagonal(lu))))
    inverse, _ = lapack.dgetri(lu, pivots, lwork=64 * len(a), overwrite_lu=1)
    return value, (inverse,)


def logdet_by_cholesky(a: np.ndarray) -> Any:
    c, _ = lapack.dpotrf(0.5 * (a + a.T), lower=1)
    value = 2.0 * np.sum(np.log(np.diagonal(c)))
    inverse, _ = lapack.dpotri(c, lower=1, overwrite_c=1)
    return value, (np.tril(inverse) + np.tril(inverse, -1).T,)


def cholesky(a: np.ndarray) -> Any:
    """The adjoint of Murray (2016), eq. 10, by products and solutions with triangles."""
    c, _ = lapack.dpotrf(0.5 * (a + a.T), lower=1, clean=1)
    w = weighed(len(a))
    phi = np.tril(blas.dtrmm(1.0, c, np.tril(w), trans_a=1, lower=1))
    phi[np.diag_indices(len(a))] *= 0.5
    g = blas.dtrsm(1.0, c, phi, trans_a=1, lower=1, overwrite_b=1)
    g = blas.dtrsm(1.0, c, g, side=1, lower=1, overwrite_b=1)
    return np.sum(w * c), (0.5 * (g + g.T),)


def gaps(s: np.ndarray) -> np.ndarray:
    f = s - s[:, None]
    np.fill_diagonal(f, np.inf)
    return 1.0 / f


def eigh(a: np.ndarray) -> Any:
    lam, v = sla.eigh(0.5 * (a + a.T), driver="evd", check_finite=False, overwrite_a=True)
    w = weighed(len(a))
    middle = gaps(lam) * (v.T @ (2.0 * w * v))
    np.fill_diagonal(middle, 2.0 * lam)
    g = v @ middle @ v.T
    return np.sum(lam**2) + np.sum(w * v**2), (0.5 * (g + g.T),)


def svd(a: np.ndarray) -> Any:
    u, s, vt = sla.svd(a, check_finite=False)
    w = weighed(len(a))
    du, dv = 2.0 * w * u, (2.0 * w * vt).T
    mu, mv = u.T @ du, vt @ dv
    mu, mv = 0.5 * (mu - mu.T), 0.5 * (mv - mv.T)
    middle = (mu + mv) * gaps(s) + (mu - mv) / (s[:, None] + s)
    np.fill_diagonal(middle, 2.0 * s)
    return np.sum(w * u**2) + np.sum(s**2) + np.sum(w * vt**2), (u @ middle @ vt,)


def expm(a: np.ndarray) -> Any:
    w = weighed(len(a))
    y, g = sla.expm_frechet(a.T, w, check_finite=False)
    return np.sum(w * y.T), (g,)


def lstsq(a: np.ndarray, b: np.ndarray) -> Any:
    """By QR with Householder reflections, which are kept."""
    n = a.shape[1]
    qr, tau, _, _ = lapack.dgeqrf(a, lwork=64 * len(a))
    c, _, _ = lapack.dormqr("L", "T", qr, tau, b[:, None], lwork=64 * len(a))
    x = lapack.dtrtrs(qr[:n], c[:n])[0][:, 0]
    t = lapack.dtrtrs(qr[:n], 2.0 * x, trans=1)[0]
    padded = np.zeros((len(a), 1))
    padded[:n, 0] = t
    z = lapack.dormqr("L", "N", qr, tau, padded, lwork=64 * len(a))[0][:, 0]  # (A^T)^+ dx
    t = lapack.dtrtrs(qr[:n], t)[0]
    return x @ x, (np.outer(b - a @ x, t) - np.outer(z, x), z)


def inv(a: np.ndarray) -> Any:
    lu, pivots, _ = lapack.dgetrf(a)
    y, _ = lapack.dgetri(lu, pivots, lwork=64 * len(a), overwrite_lu=1)
    w = weighed(len(a))
    return np.sum(w * y), (-(y.T @ w) @ y.T,)


def solve(a: np.ndarray, b: np.ndarray) -> Any:
    lu, pivots, _ = lapack.dgetrf(a)
    x, _ = lapack.dgetrs(lu, pivots, b)
    z, _ = lapack.dgetrs(lu, pivots, 2.0 * x, trans=1)
    return np.sum(x * x), (-np.outer(z, x) if x.ndim == 1 else -z @ x.T, z)


def qr(a: np.ndarray) -> Any:
    q, r = sla.qr(a, mode="economic", check_finite=False)  # type: ignore[misc]
    w = weighed(len(a))[:, : a.shape[1]]
    v = np.triu(weighed(a.shape[1]))
    m = v @ r.T - q.T @ w
    middle = np.triu(m) + np.triu(m, 1).T
    g = blas.dtrsm(1.0, r, w + q @ middle, side=1, trans_a=1)
    return np.sum(w * q) + np.sum(v * r), (g,)


def eig(a: np.ndarray) -> Any:
    lam, v = sla.eig(a, check_finite=False)  # type: ignore[misc]
    w = np.arange(1.0, len(a) + 1)[:, None]
    by_rows, squares = np.sum(w * np.abs(v) ** 2, axis=0), np.abs(lam) ** 2
    dv = 2.0 * w * squares * v
    dv = dv - v * np.sum(np.real(np.conj(v) * dv), axis=0)
    middle = np.conj(gaps(lam)) * (v.conj().T @ dv)
    np.fill_diagonal(middle, 2.0 * lam * by_rows)
    g = sla.solve(v.conj().T, middle @ v.conj().T, check_finite=False, assume_a="gen")
    return np.sum(squares * by_rows), (np.real(g),)


def of_eigh(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = np.linalg.eigh(0.5 * (a + a.T))
        return np.sum(lam**2) + np.sum(weighed(a.shape[0]) * v**2)

    return loss


def of_svd(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a)
        return np.sum(weighed(a.shape[0]) * u**2) + np.sum(s**2) + np.sum(weighed(a.shape[0]) * vt**2)

    return loss


def of_qr(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return np.sum(weighed(a.shape[0])[:, : a.shape[1]] * q) + np.sum(np.triu(weighed(a.shape[1])) * r)

    return loss


def of_eig(np: Any, sp: Any) -> Any:
    """Neither the phases of the vectors nor the order of the values matters."""

    def loss(a: Any) -> Any:
        lam, v = np.linalg.eig(a)
        w = np.arange(1.0, a.shape[0] + 1)[:, None]
        return np.sum(w * np.abs(v) ** 2 * np.abs(lam) ** 2)

    return loss


def of_eigh_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = torch.linalg.eigh(0.5 * (a + a.T))
        return torch.sum(lam**2) + torch.sum(torch.from_numpy(weighed(a.shape[0])) * v**2)

    return loss


def of_svd_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = torch.linalg.svd(a)
        w = torch.from_numpy(weighed(a.shape[0]))
        return torch.sum(w * u**2) + torch.sum(s**2) + torch.sum(w * vt**2)

    return loss


def of_qr_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        q, r = torch.linalg.qr(a)
        w, v = (torch.from_numpy(weighed(n)) for n in a.shape)
        return torch.sum(w[:, : a.shape[1]] * q) + torch.sum(torch.triu(v) * r)

    return loss


def of_eig_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = torch.linalg.eig(a)
        w = torch.arange(1.0, a.shape[0] + 1, dtype=torch.float64)[:, None]
        return torch.sum(w * torch.abs(v) ** 2 * torch.abs(lam) ** 2)

    return loss


def nonsymmetric(n: int) -> Any:
    return (drawn(n, n) / np.sqrt(n),)


PROGRAMS = (
    Program(
        "logdet 512, slogdet",
        lambda np, sp: lambda a: np.linalg.slogdet(a)[1],
        slogdet, lambda n: (dominant(n),), 512, 6, lambda torch: lambda a: torch.linalg.slogdet(a)[1],
    ),
    Program(
        "logdet 512, Cholesky",
        lambda np, sp: lambda a: 2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(0.5 * (a + a.T))))),
        logdet_by_cholesky, lambda n: (definite(n),), 512, 6,
        lambda torch: lambda a: 2.0 * torch.sum(torch.log(torch.diagonal(torch.linalg.cholesky(0.5 * (a + a.T))))),
    ),
    Program(
        "Cholesky 512",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * np.linalg.cholesky(0.5 * (a + a.T))),
        cholesky, lambda n: (definite(n),), 512, 6,
        lambda torch: lambda a: torch.sum(
            torch.from_numpy(weighed(a.shape[0])) * torch.linalg.cholesky(0.5 * (a + a.T))
        ),
    ),
    Program("eigh 256", of_eigh, eigh, lambda n: (definite(n),), 256, 6, of_eigh_in_torch),
    Program("SVD 256", of_svd, svd, lambda n: (drawn(n, n),), 256, 6, of_svd_in_torch, rtol=1e-6),
    Program(
        "expm 128",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * sp.expm(a)),
        expm, nonsymmetric, 128, 6,
        lambda torch: lambda a: torch.sum(torch.from_numpy(weighed(a.shape[0])) * torch.linalg.matrix_exp(a)),
    ),
    Program(
        "lstsq 1000x200",
        lambda np, sp: lambda a, b: np.sum(np.linalg.lstsq(a, b)[0] ** 2),
        lstsq, lambda n: (drawn(5 * n, n), drawn(5 * n)), 200, 4,
        lambda torch: lambda a, b: torch.sum(torch.linalg.lstsq(a, b[:, None])[0] ** 2),
    ),
    Program(
        "inv 256",
        lambda np, sp: lambda a: np.sum(weighed(a.shape[0]) * np.linalg.inv(a)),
        inv, lambda n: (dominant(n),), 256, 6,
        lambda torch: lambda a: torch.sum(torch.from_numpy(weighed(a.shape[0])) * torch.linalg.inv(a)),
    ),
    Program(
        "solve 512, one side",
        lambda np, sp: lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
        solve, lambda n: (dominant(n), drawn(n)), 512, 6, lambda torch: lambda a, b: torch.sum(torch.linalg.solve(a, b) ** 2),
    ),
    Program(
        "solve 256, 256 sides",
        lambda np, sp: lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
        solve, lambda n: (dominant(n), drawn(n, n)), 256, 6, lambda torch: lambda a, b: torch.sum(torch.linalg.solve(a, b) ** 2),
    ),
    Program("QR 300x100", of_qr, qr, lambda n: (drawn(3 * n, n),), 100, 4, of_qr_in_torch),
    Program("eig 128", of_eig, eig, nonsymmetric, 128, 6, of_eig_in_torch, rtol=1e-6),
)  # fmt: skip
