"""Large sparse systems: conjugate gradients with and without multigrid, BiCGStab, GMRES with ILU(0), a direct solve.

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
from scipy.sparse.linalg import LinearOperator, gmres, splu

from morula import linalg
from morula.linalg.preconditioners import ilu0, smoothed_aggregation

from .program import Program

RTOL = 1e-9
SIZES = (12, 24, 64, 256)
CUBES = (8, 64)


@cache
def grid(n: int, wind: float = 0.0, axes: int = 2) -> Any:
    """The five- or seven-point Laplacian on n points along each of two or three axes, with a wind along the last one."""
    after = eye_array(n, k=1)
    one = eye_array(n)
    line, along = 2.0 * one - after - after.T, wind * (after - after.T)
    matrix, identity = line, one
    for _ in range(axes - 2):
        matrix, identity = kron(matrix, one) + kron(identity, line), kron(identity, one)
    matrix = csr_array(kron(matrix, one) + kron(identity, line + along))
    matrix.eliminate_zeros()
    return matrix


@cache
def hierarchy(n: int, axes: int = 2) -> Any:
    return smoothed_aggregation(grid(n, axes=axes))


@cache
def incomplete(n: int, wind: float) -> Any:
    return ilu0(grid(n, wind))


def side(b: Any, axes: int = 2) -> int:
    return round(b.shape[0] ** (1 / axes))


def inputs(wind: float = 0.0, axes: int = 2) -> Callable[[int], tuple[np.ndarray, ...]]:
    return lambda n: (grid(n, wind, axes).data, np.cos(np.arange(float(n**axes))))


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


def minimal_residuals(A: Any, b: np.ndarray, wind: float) -> np.ndarray:
    """SciPy's GMRES(30) with ILU(0); A may be the transpose."""
    n = side(b)
    M = incomplete(n, wind)
    M = M if np.array_equal(A.data, grid(n, wind).data) else M.T
    scipys: Any = LinearOperator
    return gmres(A, b, rtol=RTOL, restart=30, M=scipys(A.shape, matvec=lambda v: M @ v))[0]


def by_hand(solve: Callable[[Any, np.ndarray], np.ndarray], wind: float = 0.0, axes: int = 2) -> Callable[..., Any]:
    def value_and_gradient(data: np.ndarray, b: np.ndarray) -> Any:
        pattern = grid(side(b, axes), wind, axes)
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


def of_solver(
    name: str,
    wind: float = 0.0,
    preconditioner: Callable[[int], Any] | None = None,
    axes: int = 2,
    sizes: tuple[int, ...] = SIZES,
) -> Callable[..., Any]:
    patterns = {n: grid(n, wind, axes) for n in sizes}
    preconditioners = {} if preconditioner is None else {n: preconditioner(n) for n in sizes}

    def loss(data: Any, b: Any) -> Any:
        n = side(b, axes)
        pattern = patterns[n]
        A = linalg.Sparse(data, pattern.indices, pattern.indptr, pattern.shape)
        M = preconditioners.get(n)
        x = A.solve(b) if name == "direct" else getattr(linalg, name)(A, b, preconditioner=M, rtol=RTOL).x
        return np.sum(x * x)

    return loss


def in_jax(name: str, wind: float = 0.0, axes: int = 2) -> Callable[[Any, Any], Any]:
    def make(jnp: Any, sp: Any) -> Any:
        import jax
        from jax.scipy.sparse import linalg as solvers

        def loss(data: Any, b: Any) -> Any:
            pattern = grid(side(b, axes), wind, axes)
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
        ours=lambda: of_solver("cg", preconditioner=hierarchy),
    ),
    Program(
        "CG + multigrid, Laplacian 512^2",
        in_jax("cg"),
        by_hand(lambda A, b: conjugate_gradients(A, b, hierarchy(side(b)))),
        inputs(),
        512,
        24,
        rtol=1e-3,
        ours=lambda: of_solver("cg", preconditioner=hierarchy, sizes=(24, 512)),
    ),
    Program(
        "CG + multigrid, Laplacian 64^3",
        in_jax("cg", axes=3),
        by_hand(lambda A, b: conjugate_gradients(A, b, hierarchy(side(b, 3), 3)), axes=3),
        inputs(axes=3),
        64,
        8,
        rtol=1e-3,
        ours=lambda: of_solver("cg", preconditioner=lambda n: hierarchy(n, 3), axes=3, sizes=CUBES),
    ),
    Program(
        "GMRES + ILU(0), convection-diffusion 64^2",
        in_jax("gmres", 0.5),
        by_hand(lambda A, b: minimal_residuals(A, b, 0.5), 0.5),
        inputs(0.5),
        64,
        12,
        rtol=1e-4,
        ours=lambda: of_solver("gmres", 0.5, lambda n: incomplete(n, 0.5)),
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
