"""A few eigenpairs and singular triplets of larger matrices; JAX and PyTorch decompose the whole matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from .program import Program, drawn

RANK = 20


def of_rank_twenty(m: int) -> tuple[np.ndarray]:
    """A matrix (m, m / 4) of rank 20, with noise."""
    n = m // 4
    left, right = drawn(m, RANK), drawn(RANK, n, seed=1)
    return (left @ (np.linspace(3.0, 1.0, RANK)[:, None] * right) + drawn(m, n, seed=2),)


def weights(m: int, n: int) -> Any:
    return np.cos(np.arange(float(m)))[:, None] * np.sin(np.arange(float(n)))


def truncated(a: np.ndarray) -> Any:
    return sparse_linalg.svds(a, RANK)


def values_by_hand(a: np.ndarray) -> Any:
    u, s, vt = truncated(a)
    return np.sum(s**2), ((2.0 * u * s) @ vt,)


def triplets_by_hand(a: np.ndarray) -> Any:
    """The part of the vectors' change in the complement by conjugate gradients for all columns at once."""
    u, s, vt = truncated(a)
    v = vt.T
    w = weights(*a.shape)
    du, dv = w @ (v * s), w.T @ (u * s)
    value = np.sum(u * du)
    mu, mv = u.T @ du, vt @ dv
    diagonal = np.diagonal(mu) / s
    mu, mv = 0.5 * (mu - mu.T), 0.5 * (mv - mv.T)
    gaps = s - s[:, None]
    np.fill_diagonal(gaps, np.inf)
    middle = (mu + mv) / gaps + (mu - mv) / (s[:, None] + s)
    np.fill_diagonal(middle, diagonal)
    du, dv = du - u @ (u.T @ du), dv - v @ (vt @ dv)
    right = s * dv + a.T @ du
    r = v @ (vt @ right) - right
    y, p, rr = np.zeros_like(v), r, np.sum(r * r, axis=0)
    target = 1e-20 * rr
    while np.any(rr > target):
        ap = s**2 * p - a.T @ (a @ p)
        ap = ap - v @ (vt @ ap)
        alpha = rr / np.sum(p * ap, axis=0)
        y, r = y + alpha * p, r - alpha * ap
        former, rr = rr, np.sum(r * r, axis=0)
        p = r + (rr / former) * p
    x = (a @ y - du) / s
    return value, (np.hstack([u @ middle - x, u]) @ np.vstack([vt, -y.T]),)


def of_values(np: Any, sp: Any) -> Any:
    return lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[1][:RANK] ** 2)


def of_triplets(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return np.sum(weights(*a.shape) * ((u[:, :RANK] * s[:RANK]) @ vt[:RANK]))

    return loss


def of_triplets_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = torch.linalg.svd(a, full_matrices=False)
        return torch.sum(torch.from_numpy(weights(*a.shape)) * ((u[:, :RANK] * s[:RANK]) @ vt[:RANK]))

    return loss


def our_values() -> Any:
    from morula.linalg import svds

    return lambda a: np.sum(svds(a, RANK, vectors=False).values ** 2)


def our_triplets() -> Any:
    from morula.linalg import svds

    def loss(a: Any) -> Any:
        found = svds(a, RANK)
        return np.sum(weights(*a.shape) * ((found.U * found.values) @ found.Vh))

    return loss


STATES = 5


def laplacian(n: int) -> Any:
    off = sparse.eye_array(n, k=1)
    line = 2.0 * sparse.eye_array(n) - off - off.T
    one = sparse.eye_array(n)
    return (sparse.kron(line, one) + sparse.kron(one, line)).tocsr()


SIZES = (8, 30)
GRIDS = {n * n: laplacian(n) for n in SIZES}
ROWS = {n: np.repeat(np.arange(n), np.diff(grid.indptr)) for n, grid in GRIDS.items()}


def states_by_hand(v: np.ndarray) -> Any:
    """Each state's change by a bordered system, factorised."""
    n = len(v)
    a = (GRIDS[n] + sparse.diags_array(v)).tocsc()
    values, x = sparse_linalg.eigsh(a, STATES, sigma=0.0)
    w = np.cos(np.arange(float(n)))
    gradient = np.sum(x**2, axis=1)
    for i in range(STATES):
        border = x[:, i : i + 1]
        dx = 2.0 * w * x[:, i]
        bordered = sparse.block_array([[a - values[i] * sparse.eye_array(n), border], [border.T, None]]).tocsc()
        gradient -= (
            sparse_linalg.splu(bordered).solve(np.append(dx - border[:, 0] * (border[:, 0] @ dx), 0.0))[:n] * x[:, i]
        )
    return np.sum(values) + np.sum(w @ x**2), (gradient,)


def of_states(np: Any, sp: Any) -> Any:
    def loss(v: Any) -> Any:
        dense = GRIDS[v.shape[0]].toarray()
        values, x = np.linalg.eigh(dense + np.diag(v))
        w = np.cos(np.arange(float(v.shape[0])))
        return np.sum(values[:STATES]) + np.sum(w @ x[:, :STATES] ** 2)

    return loss


def of_states_in_torch(torch: Any) -> Any:
    def loss(v: Any) -> Any:
        dense = torch.from_numpy(GRIDS[v.shape[0]].toarray())
        values, x = torch.linalg.eigh(dense + torch.diag(v))
        w = torch.cos(torch.arange(float(v.shape[0]), dtype=torch.float64))
        return torch.sum(values[:STATES]) + torch.sum(w @ x[:, :STATES] ** 2)

    return loss


def our_states() -> Any:
    from morula.linalg import Sparse, eigsh

    def loss(v: Any) -> Any:
        n = len(v)
        grid = GRIDS[n]
        data = grid.data + np.where(ROWS[n] == grid.indices, v[ROWS[n]], 0.0)
        found = eigsh(Sparse(data, grid.indices, grid.indptr, grid.shape), STATES, sigma=0.0)
        return np.sum(found.values) + np.sum(np.cos(np.arange(float(n))) @ found.vectors**2)

    return loss


def potential(n: int) -> tuple[np.ndarray]:
    return (np.random.default_rng(0).uniform(0.0, 1.0, n * n),)


PROGRAMS = (
    Program(
        "rank-20 SVD 2000x500, values", of_values, values_by_hand, of_rank_twenty, 2000, 200,
        lambda torch: lambda a: torch.sum(torch.linalg.svdvals(a)[:RANK] ** 2), ours=our_values,
    ),
    Program(
        "rank-20 SVD 2000x500, triplets", of_triplets, triplets_by_hand, of_rank_twenty, 2000, 200, of_triplets_in_torch,
        ours=our_triplets,
    ),
    Program("5 states on a grid 30x30", of_states, states_by_hand, potential, SIZES[1], SIZES[0], of_states_in_torch, ours=our_states),
)  # fmt: skip
