"""Generates ``sparse_operations.md``: what each operation on sparse and large matrices can do here, in JAX and in PyTorch.

    python docs/sparse_operations.py

Every cell is tried. The cells of JAX and PyTorch need both libraries. ``tests/linalg/test_sparse_operations.py`` compares the
page with the code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("MORULA_CACHE", "0")

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve, spsolve_triangular
from tried_operations import loss_of, tried

import morula as mo
from morula import linalg
from morula.core.testing.differences import numerical_vjp
from morula.linalg import functions
from morula.testing import check_gradients

PAGE = Path(__file__).with_name("sparse_operations.md")
OURS = ("VJP", "JVP", "second order", "complex", "batched", "native", "XLA")
PEERS = ("JAX", "PyTorch")
N = 24
PARAMETERS = 4

HEADER = """\
# Sparse operations

Look up here in which ways an operation on sparse or large matrices can be differentiated, by the entries of the matrix and by the vectors.
[sparse_operations.py](sparse_operations.py) generates this page and tries every cell.

| column | a `yes` means |
|---|---|
| VJP, JVP, second order | reverse mode, forward mode and reverse mode over reverse mode agree with differences |
| complex | reverse mode agrees with differences for complex matrices |
| batched | `vmap` of the gradient gives the gradient of each matrix by itself |
| native, XLA | the gradient compiles for this target and agrees; part of it may call the library through Python |
| JAX, PyTorch | the gradient that this library gives agrees; `wrong`: it does not; `no`: it has the operation without the derivative, or refuses it on the CPU; empty: it lacks the operation |

SciPy has the operations, but no derivatives. JAX's are those of `jax.experimental.sparse` (formats BCOO and BCSR) and `jax.scipy.sparse.linalg`.
On a GPU an operation runs as its XLA program does, if that does not call a library through Python; this was not tried for this page.

The pattern of a matrix is constant, and its entries are the variables. An entry that is zero has a derivative if it is stored: sums, differences and
products of matrices, conversions and assignments keep such entries in differentiated and compiled programs, where SciPy drops some of them. Only
`eliminate_zeros`, `find`, `nonzero` and a conversion of a dense array leave them out, and they are constants from there on.

"""


# A tridiagonal matrix whose entries number its values: the diagonal, what is above, what is below.
PATTERN: Any = sparse.csr_array(
    np.diag(1 + np.arange(N)) + np.diag(1 + N + np.arange(N - 1), 1) + np.diag(2 * N + np.arange(N - 1), -1)
)
PLACES, INDICES, INDPTR = PATTERN.data - 1, PATTERN.indices, PATTERN.indptr
ROWS = np.repeat(np.arange(N), np.diff(INDPTR))
TILED = np.arange(N) % PARAMETERS
SHAPE = (N, N)
B = np.cos(np.arange(float(N)))
BLOCK = np.cos(np.arange(2.0 * N)).reshape(N, 2)
POINT = np.array([0.3, -0.2, 0.5, 0.1])


def values(d: Any, skew: float) -> Any:
    """The stored values of a tridiagonal matrix made of a few parameters, Hermitian for a skew of 1."""
    off = d[TILED[1:]] - 1.0
    main = 4.0 + 0.1 * np.arange(N) + np.real(d[TILED]) ** 2
    return np.concatenate([main + 0 * d[TILED], off, skew * np.conj(off)])[PLACES]


def general(d: Any) -> Any:
    return sparse.csr_array((values(d, 0.5), INDICES, INDPTR), shape=SHAPE)


def hermitian(d: Any) -> Any:
    return sparse.csr_array((values(d, 1.0), INDICES, INDPTR), shape=SHAPE)


def tall(d: Any) -> Any:
    return general(d)[:, : N - 2]


def projector(X: Any) -> Any:
    return X @ np.conj(X.T)


EXACT: Any = {"rtol": 1e-13}


@dataclass(frozen=True)
class Operation:
    name: str
    f: Callable[[Any], Any]
    jax: str = ""
    """The operation in JAX, an expression of v (the values), A (a BCOO matrix), b, jax, jnp, and its packages of solvers."""
    torch: str = ""
    """The operation in PyTorch, an expression of v, A (a COO tensor), b and torch."""
    symmetric: bool = False
    """Whether the peers' matrix is the symmetric one."""


OPERATIONS = (
    Operation("CSR @ vector", lambda d: general(d) @ B, "A @ b", "A @ b"),
    Operation("CSR @ block", lambda d: general(d) @ BLOCK, "A @ jnp.stack([b, b], 1)", "A @ torch.stack([b, b], 1)"),
    Operation("CSC @ vector", lambda d: general(d).tocsc() @ B),
    Operation("COO @ vector", lambda d: general(d).tocoo() @ B),
    Operation("BSR @ vector", lambda d: sparse.bsr_array((np.reshape(np.tile(d, 3), (3, 2, 2)), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(4, 4)) @ B[:4]),
    Operation("DIA @ vector", lambda d: sparse.dia_array((np.stack([d, d * d]), np.array([0, 1])), shape=(4, 4)) @ B[:4]),
    Operation("A.T @ vector", lambda d: general(d).T @ B, "A.T @ b", "A.t() @ b"),
    Operation("A @ A", lambda d: (general(d) @ hermitian(d)).toarray(), "(A @ A).todense()", "(A @ A).to_dense()"),
    Operation("A + A.T", lambda d: (general(d) + general(d).T.tocsr()).toarray(), "(A + A.T).todense()", "(A + A.t()).to_dense()"),
    Operation("A.multiply(A)", lambda d: general(d).multiply(hermitian(d)).toarray(), "(A * A).todense()", "(A * A).to_dense()"),
    Operation("A.sum(axis=0)", lambda d: general(d).sum(axis=0), "A.sum(0).todense()", "torch.sparse.sum(A, 0).to_dense()"),
    Operation("A[2:9, 1:8]", lambda d: general(d)[2:9, 1:8].toarray(), "A[2:9, 1:8].todense()"),
    Operation("A.toarray()", lambda d: general(d).toarray(), "A.todense()", "A.to_dense()"),
    Operation("A.diagonal()", lambda d: general(d).diagonal()),
    Operation("triplets, some twice", lambda d: sparse.coo_array((np.tile(d, 2), ([0, 1, 1, 2, 0, 2, 1, 2], [0, 1, 2, 2, 0, 1, 2, 0])), shape=(3, 3)).tocsr().toarray()),
    Operation("A[rows][:, columns]", lambda d: general(d)[TILED[:4]][:, [7, 0, 6]].toarray()),
    Operation("A.maximum(B)", lambda d: general(d).maximum(hermitian(d)).toarray()),
    Operation("block_array", lambda d: sparse.block_array([[general(d)[:3, :3], None], [hermitian(d)[:3, :3], general(d)[:3, 3:6]]]).toarray()),
    Operation("kron(A, B)", lambda d: sparse.kron(general(d)[:3, :3], np.ones((2, 2))).toarray()),
    Operation("spsolve", lambda d: spsolve(general(d), B), "direct.spsolve(v, indices, indptr, b)", "torch.sparse.spsolve(A.to_sparse_csr(), b)"),
    Operation("splu", lambda d: splu(general(d).tocsc()).solve(BLOCK, "T")),
    Operation("spsolve_triangular", lambda d: spsolve_triangular(sparse.tril(general(d)).tocsr(), BLOCK)),
    Operation("solve, positive definite", lambda d: linalg.solve(hermitian(d), B, assume="positive definite").x),
    Operation("cg", lambda d: linalg.cg(hermitian(d), B, **EXACT).x, "jl.cg(A, b, tol=1e-13)[0]", "", True),
    Operation("minres", lambda d: linalg.minres(hermitian(d), B, **EXACT).x),
    Operation("symmlq", lambda d: linalg.symmlq(hermitian(d), B, **EXACT).x),
    Operation("gmres", lambda d: linalg.gmres(general(d), B, **EXACT).x, "jl.gmres(A, b, tol=1e-13)[0]"),
    Operation("bicgstab", lambda d: linalg.bicgstab(general(d), B, **EXACT).x, "jl.bicgstab(A, b, tol=1e-13)[0]"),
    Operation("idrs", lambda d: linalg.idrs(general(d), B, **EXACT).x),
    Operation("lsqr", lambda d: linalg.lsqr(tall(d), B, **EXACT).x),
    Operation("lsmr", lambda d: linalg.lsmr(tall(d), B, damp=0.5, **EXACT).x),
    Operation("cg, several columns", lambda d: linalg.cg(hermitian(d), BLOCK, **EXACT).x, "jax.vmap(lambda b: jl.cg(A, b, tol=1e-13)[0])(jnp.stack([b, b]))", "", True),
    Operation("cg, through 5 iterations", lambda d: linalg.cg(hermitian(d), B, max_iterations=5, adjoint="unrolled").x),
    Operation("eigsh", lambda d: projector(linalg.eigsh(hermitian(d), 2).vectors)[0]),
    Operation("eigsh, sigma", lambda d: linalg.eigsh(hermitian(d), 2, sigma=4.0, vectors=False).values),
    Operation("eigs", lambda d: linalg.eigs(general(d), 2, vectors=False).values),
    Operation("lobpcg", lambda d: linalg.lobpcg(hermitian(d), 2, rtol=1e-11, vectors=False).values, "", "torch.lobpcg(A, 2, tol=1e-12, niter=200)[0]", True),
    Operation("svds", lambda d: linalg.svds(general(d), 2, vectors=False).values),
    Operation("expm_multiply", lambda d: functions.expm_multiply(general(d), B, t=0.1)),
    Operation("logdet, stochastic", lambda d: functions.logdet(hermitian(d), key=1, samples=4, steps=10).value),
)  # fmt: skip


def eager_cells(operation: Operation) -> dict[str, str]:
    loss, z = loss_of(operation.f), POINT * (1.0 + 0.4j)
    tolerance: Any = {"rtol": 1e-5, "atol": 1e-6}
    return {
        "VJP": tried(lambda: check_gradients(loss, POINT, order=1, mode="reverse", **tolerance)),
        "JVP": tried(lambda: check_gradients(loss, POINT, order=1, mode="forward", **tolerance)),
        "second order": tried(lambda: check_second_order(loss)),
        "complex": tried(lambda: check_gradients(loss, z, order=1, mode="reverse", **tolerance)),
    }


def check_second_order(loss: Callable[[Any], Any]) -> None:
    """Compare reverse over reverse mode with differences of the gradient."""
    gradient, direction = mo.grad(loss), np.cos(np.arange(float(PARAMETERS)))
    (found,) = mo.pullback(gradient, POINT)[1](direction)
    (expected,), _ = numerical_vjp(gradient, direction, POINT)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def compiled_cells(operation: Operation) -> dict[str, str]:
    gradient = mo.grad(loss_of(operation.f))
    many = np.stack([POINT, POINT[::-1]])
    each = np.stack([gradient(d) for d in many])

    def agrees(found: Any, expected: Any) -> None:
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)

    return {
        "batched": tried(lambda: agrees(mo.vmap(gradient)(many), each)),
        "native": tried(lambda: agrees(mo.jit(gradient, target="native")(POINT), each[0])),
        "XLA": tried(lambda: agrees(mo.jit(gradient, target="xla")(POINT), each[0])),
    }


def peers(operation: Operation) -> dict[str, str]:
    """Compare the gradients by the stored values with those of the dense operation here."""
    skew = 1.0 if operation.symmetric else 0.5
    return {"JAX": in_jax(operation, values(POINT, skew)), "PyTorch": in_torch(operation, values(POINT, skew))}


def by_differences(value: Callable[[Any], float], v: np.ndarray) -> np.ndarray:
    """The derivative by each of the first stored values, by central differences."""
    found = []
    for i in range(PEER_ENTRIES):
        step = np.zeros_like(v)
        step[i] = 1e-5
        found.append((value(v + step) - value(v - step)) / 2e-5)
    return np.array(found)


PEER_ENTRIES = 5


def in_jax(operation: Operation, v: np.ndarray) -> str:
    import jax
    import jax.numpy as jnp
    from jax.experimental import sparse as js
    from jax.experimental.sparse import linalg as direct
    from jax.scipy.sparse import linalg as jl

    if not operation.jax:
        return ""
    with jax.enable_x64(True):
        names = {"jax": jax, "jnp": jnp, "direct": direct, "jl": jl, "b": jnp.asarray(B)}
        names |= {"indices": jnp.asarray(INDICES), "indptr": jnp.asarray(INDPTR)}

        def loss(v: Any) -> Any:
            A = js.BCOO((v, jnp.stack([jnp.asarray(ROWS), jnp.asarray(INDICES)], 1)), shape=SHAPE)
            y = eval(operation.jax, {**names, "A": A, "v": v})
            return jnp.sum(y * jnp.cos(jnp.arange(y.size).reshape(y.shape)))

        try:
            expected = by_differences(lambda v: float(loss(jnp.asarray(v))), v)
        except (AttributeError, NotImplementedError, TypeError):
            return ""
        try:
            found = np.asarray(jax.grad(loss)(jnp.asarray(v)))[:PEER_ENTRIES]
        except (NotImplementedError, ValueError, TypeError, RuntimeError):
            return "no"
        return "yes" if np.allclose(found, expected, rtol=1e-5, atol=1e-6) else "wrong"


def in_torch(operation: Operation, v: np.ndarray) -> str:
    import torch  # pyright: ignore[reportMissingImports]  it is optional

    if not operation.torch:
        return ""

    def loss(v: Any) -> Any:
        A = torch.sparse_coo_tensor(torch.tensor(np.stack([ROWS, INDICES])), v, SHAPE).coalesce()
        y = eval(operation.torch, {"torch": torch, "A": A, "v": v, "b": torch.tensor(B)})
        return torch.sum(y * torch.cos(torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape)))

    try:
        expected = by_differences(lambda v: float(loss(torch.tensor(v))), v)
        x = torch.tensor(v, requires_grad=True)
        loss(x).backward()
    except (NotImplementedError, RuntimeError, ValueError):
        return "no"
    assert x.grad is not None
    return "yes" if np.allclose(x.grad.numpy()[:PEER_ENTRIES], expected, rtol=1e-5, atol=1e-6) else "wrong"


def row(operation: Operation) -> str:
    cells = {**eager_cells(operation), **compiled_cells(operation), **peers(operation)}
    return f"| {operation.name} | " + " | ".join(cells[c] for c in (*OURS, *PEERS)) + " |"


def page() -> str:
    versions = ", ".join(
        f"{name} {version(name.lower().replace('pytorch', 'torch'))}" for name in ("NumPy", "SciPy", *PEERS)
    )
    lines = [HEADER + f"Made with {versions}; matrices of {N} rows.", ""]
    columns = (*OURS, *PEERS)
    lines += ["| operation | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for operation in OPERATIONS:
        lines.append(row(operation))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if not all(find_spec(name) for name in ("jax", "torch")):
        raise SystemExit("the columns of JAX and PyTorch need both libraries: pip install 'morula[bench]'")
    PAGE.write_text(page())
