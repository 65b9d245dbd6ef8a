"""Large sparse systems: conjugate gradients with and without multigrid, BiCGStab, a direct solve.

The gradient is that by the stored entries and the right-hand side; by hand it costs one more solve. JAX has no multigrid: its
row solves the same equation without a preconditioner.  The calls of a race have equal matrices, so the direct solves of morula
find the factors of the first call; those by hand factorise in each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, kron
from scipy.sparse.linalg import splu

from morula import linalg
from morula.linalg.preconditioners import smoothed_aggregation

from .program import Program

RTOL = 1e-9
SIZES = (12, 24, 64, 256)


@cache
def grid(n: int, wind: float = 0.0) -> Any:
    """The five-point Laplacian on n x n points, with a wind along the rows."""
    after = eye_array(n, k=1)
    one = eye_array(n)
    line, along = 2.0 * one - after - after.T, wind * (after - after.T)
    matrix = csr_array(kron(line, one) + kron(one, line) + kron(one, along))
    matrix.eliminate_zeros()
    return matrix


@cache
def hierarchy(n: int) -> Any:
    return smoothed_aggregation(grid(n))


def side(b: Any) -> int:
    return round(b.shape[0] ** 0.5)


def inputs(wind: float = 0.0) -> Callable[[int], tuple[np.ndarray, ...]]:
    return lambda n: (grid(n, wind).data, np.cos(np.arange(float(n * n))))


def conjugate_gradients(A: Any, b: np.ndarray, M: Any = None) -> np.ndarray:
    x, r = np.zeros_like(b), b.copy()
    z = r if M is None else M @ r
    p, rz = z.copy(), r @ z
    target = RTOL * np.linalg.norm(b)
    while np.linalg.norm(r) > target:
        Ap = A @ p
        alpha = rz / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        z = r if M is None else M @ r
        rz, last = r @ z, rz
        p *= rz / last
        p += z
    return x


def stabilised(A: Any, b: np.ndarray) -> np.ndarray:
    x, r = np.zeros_like(b), b.copy()
    shadow, p, rho = r.copy(), r.copy(), r @ r
    target = RTOL * np.linalg.norm(b)
    while np.linalg.norm(r) > target:
        v = A @ p
        alpha = rho / (shadow @ v)
        s = r - alpha * v
        t = A @ s
        omega = (t @ s) / (t @ t)
        x += alpha * p + omega * s
        r = s - omega * t
        rho, last = shadow @ r, rho
        p = r + (rho / last) * (alpha / omega) * (p - omega * v)
    return x


def by_hand(solve: Callable[[Any, np.ndarray], np.ndarray], wind: float = 0.0) -> Callable[..., Any]:
    def value_and_gradient(data: np.ndarray, b: np.ndarray) -> Any:
        pattern = grid(side(b), wind)
        A = csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        x = solve(A, b)
        z = solve(A if wind == 0.0 else csr_array(A.T), 2.0 * x)
        rows = np.repeat(np.arange(len(b)), np.diff(A.indptr))
        return x @ x, (-z[rows] * x[A.indices], z)

    return value_and_gradient


def direct(data: np.ndarray, b: np.ndarray) -> Any:
    pattern = grid(side(b))
    factors = splu(csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape).tocsc())
    x = factors.solve(b)
    z = factors.solve(2.0 * x, "T")
    rows = np.repeat(np.arange(len(b)), np.diff(pattern.indptr))
    return x @ x, (-z[rows] * x[pattern.indices], z)


def of_solver(name: str, wind: float = 0.0, multigrid: bool = False) -> Callable[..., Any]:
    patterns = {n: grid(n, wind) for n in SIZES}
    hierarchies = {n: hierarchy(n) for n in SIZES} if multigrid else {}

    def loss(data: Any, b: Any) -> Any:
        pattern = patterns[side(b)]
        A = linalg.Sparse(data, pattern.indices, pattern.indptr, pattern.shape)
        M = hierarchies.get(side(b))
        x = A.solve(b) if name == "direct" else getattr(linalg, name)(A, b, preconditioner=M, rtol=RTOL).x
        return np.sum(x * x)

    return loss


def in_jax(name: str, wind: float = 0.0) -> Callable[[Any, Any], Any]:
    def make(jnp: Any, sp: Any) -> Any:
        import jax
        from jax.scipy.sparse import linalg as solvers

        def loss(data: Any, b: Any) -> Any:
            pattern = grid(side(b), wind)
            rows = np.repeat(np.arange(b.shape[0]), np.diff(pattern.indptr))

            def product(x: Any) -> Any:
                return jax.ops.segment_sum(data * x[pattern.indices], rows, b.shape[0], indices_are_sorted=True)

            x, _ = getattr(solvers, name)(product, b, tol=RTOL)
            return jnp.sum(x * x)

        return loss

    return make


PROGRAMS = [
    Program(
        "CG, Laplacian 256^2",
        in_jax("cg"),
        by_hand(conjugate_gradients),
        inputs(),
        256,
        12,
        rtol=1e-4,
        ours=lambda: of_solver("cg"),
    ),
    Program(
        "CG + multigrid, Laplacian 256^2",
        in_jax("cg"),
        by_hand(lambda A, b: conjugate_gradients(A, b, hierarchy(side(b)))),
        inputs(),
        256,
        24,
        rtol=1e-3,
        ours=lambda: of_solver("cg", multigrid=True),
    ),
    Program(
        "BiCGStab, convection-diffusion 64^2",
        in_jax("bicgstab", 0.5),
        by_hand(stabilised, 0.5),
        inputs(0.5),
        64,
        12,
        rtol=1e-4,
        ours=lambda: of_solver("bicgstab", 0.5),
    ),
    Program(
        "sparse LU, Laplacian 256^2, again",
        in_jax(""),
        direct,
        inputs(),
        256,
        12,
        in_jax=False,
        rtol=1e-6,
        ours=lambda: of_solver("direct"),
    ),
]
