"""Stacks of small matrices, and a Kalman filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Program, drawn


def stack(count: int, n: int = 6, seed: int = 0) -> np.ndarray:
    a = drawn(count, n, n, seed=seed) / np.sqrt(n)
    return a @ np.swapaxes(a, -1, -2) + np.eye(n)


def turned(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


def solve(a: np.ndarray, b: np.ndarray) -> Any:
    x = np.linalg.solve(a, b[..., None])
    z = np.linalg.solve(turned(a), 2.0 * x)
    return np.sum(x * x), (-z * turned(x), z[..., 0])


def cholesky(a: np.ndarray) -> Any:
    c = np.linalg.cholesky(0.5 * (a + turned(a)))
    inverse = np.linalg.inv(c)
    phi = np.tril(turned(c) @ (2.0 * c))
    i = np.arange(a.shape[-1])
    phi[..., i, i] *= 0.5
    g = turned(inverse) @ phi @ inverse
    return np.sum(c * c), (0.5 * (g + turned(g)),)


def eigh(a: np.ndarray) -> Any:
    lam, v = np.linalg.eigh(0.5 * (a + turned(a)))
    i = np.arange(a.shape[-1])
    f = lam[..., None, :] - lam[..., None]
    f[..., i, i] = np.inf
    middle = turned(v) @ (4.0 * v**3) / f
    middle[..., i, i] = 2.0 * lam
    g = v @ middle @ turned(v)
    return np.sum(lam**2) + np.sum(v**4), (0.5 * (g + turned(g)),)


STEPS = 100
OBSERVED = np.random.default_rng(5).normal(size=(STEPS, 6))


def filtered(np: Any, sp: Any) -> Any:
    """The sum of squared, weighed innovations of a Kalman filter, by its transition, observation and noise."""

    def loss(f: Any, h: Any, q: Any) -> Any:
        x, p, total = np.zeros(6), np.eye(6), 0.0
        for k in range(STEPS):
            x, p = f @ x, f @ p @ f.T + q
            s = h @ p @ h.T + np.eye(6)
            e = OBSERVED[k] - h @ x
            gain = np.linalg.solve(s, h @ p).T
            total = total + e @ np.linalg.solve(s, e)
            x, p = x + gain @ e, p - gain @ h @ p
        return total

    return loss


def filtered_in_torch(torch: Any) -> Any:
    observed = torch.from_numpy(OBSERVED)

    def loss(f: Any, h: Any, q: Any) -> Any:
        unit = torch.eye(6, dtype=torch.float64)
        x, p, total = torch.zeros(6, dtype=torch.float64), unit, 0.0
        for k in range(STEPS):
            x, p = f @ x, f @ p @ f.T + q
            s = h @ p @ h.T + unit
            e = observed[k] - h @ x
            gain = torch.linalg.solve(s, h @ p).T
            total = total + e @ torch.linalg.solve(s, e)
            x, p = x + gain @ e, p - gain @ h @ p
        return total

    return loss


def filtered_by_hand(f: np.ndarray, h: np.ndarray, q: np.ndarray) -> Any:
    """The adjoint by NumPy; each step solves with its innovation covariance once, for all right-hand sides."""
    x, p, total = np.zeros(6), np.eye(6), 0.0
    unit, kept = np.eye(6), []
    for k in range(STEPS):
        x0, p0 = x, p
        fp = f @ p0
        x, p = f @ x0, fp @ f.T + q
        hp = h @ p
        inverse = np.linalg.inv(hp @ h.T + unit)
        e = OBSERVED[k] - h @ x
        gain, se = hp.T @ inverse.T, inverse @ e
        kept.append((x0, p0, fp, x, p, hp, inverse, e, gain, se))
        total += e @ se
        x, p = x + gain @ e, p - gain @ hp
    df, dh, dq = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    dx, dp = np.zeros(6), np.zeros((6, 6))
    for x0, p0, fp, x, p, hp, inverse, e, gain, se in reversed(kept):
        dgain = np.outer(dx, e) - dp @ hp.T
        de = gain.T @ dx + se + inverse.T @ e
        dhp = -gain.T @ dp
        z = inverse.T @ dgain.T  # of gain^T = S^-1 (H P)
        ds = -z @ gain - np.outer(inverse.T @ e, se)
        dhp = dhp + z + ds @ h
        dh += ds.T @ hp
        dh -= np.outer(de, x)
        dx = dx - h.T @ de
        dh += dhp @ p.T
        dp = dp + h.T @ dhp
        df += np.outer(dx, x0) + dp.T @ fp
        dq += dp
        dfp = dp @ f
        df += dfp @ p0.T
        dx, dp = f.T @ dx, f.T @ dfp
    return total, (df, dh, dq)


def of_eigh(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = np.linalg.eigh(0.5 * (a + np.swapaxes(a, -1, -2)))
        return np.sum(lam**2) + np.sum(v**4)

    return loss


def of_eigh_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = torch.linalg.eigh(0.5 * (a + torch.swapaxes(a, -1, -2)))
        return torch.sum(lam**2) + torch.sum(v**4)

    return loss


def of_filter(size: int) -> Any:
    return 0.95 * np.eye(6) + 0.05 * drawn(6, 6), np.eye(6) + 0.1 * drawn(6, 6, seed=1), 0.1 * np.eye(6)


PROGRAMS = (
    Program(
        "1,000 solves 6x6",
        lambda np, sp: lambda a, b: np.sum(np.linalg.solve(a, b[..., None]) ** 2),
        solve, lambda count: (stack(count), drawn(count, 6)), 1000, 3,
        lambda torch: lambda a, b: torch.sum(torch.linalg.solve(a, b[..., None]) ** 2),
    ),
    Program(
        "1,000 Cholesky 6x6",
        lambda np, sp: lambda a: np.sum(np.linalg.cholesky(0.5 * (a + np.swapaxes(a, -1, -2))) ** 2),
        cholesky, lambda count: (stack(count),), 1000, 3,
        lambda torch: lambda a: torch.sum(torch.linalg.cholesky(0.5 * (a + torch.swapaxes(a, -1, -2))) ** 2),
    ),
    Program("1,000 eigh 6x6", of_eigh, eigh, lambda count: (stack(count),), 1000, 3, of_eigh_in_torch),
    Program("Kalman filter 6x6, 100 steps", filtered, filtered_by_hand, of_filter, 6, 6, filtered_in_torch),
)  # fmt: skip
