"""Generates ``dense_operations.md``: what each dense operation of linear algebra can do here, in JAX and in PyTorch.

    python docs/dense_operations.py

Every cell is tried. The cells of JAX and PyTorch need both libraries; without them they stay as they are on the page.
``tests/linalg/test_dense_operations.py`` compares the page with the code.
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
import scipy.linalg
from tried_operations import loss_of, tried

import morula as mo
from morula.testing import check_gradients

linalg: Any = scipy.linalg  # the number of results depends on the options, which type checkers do not follow

PAGE = Path(__file__).with_name("dense_operations.md")
OURS = ("VJP", "JVP", "second order", "complex", "stacks", "native", "XLA")
PEERS = ("JAX", "PyTorch")
N = 4

HEADER = """\
# Dense operations

Look up here in which ways an operation on dense matrices can be differentiated. [dense_operations.py](dense_operations.py) generates this page and
tries every cell.

| column | a `yes` means |
|---|---|
| VJP, JVP, second order | reverse mode, forward mode and reverse mode over reverse mode agree with differences |
| complex | reverse mode agrees with differences for complex matrices |
| stacks | the gradient of a stack of matrices is that of each matrix by itself; empty: NumPy or SciPy takes no stacks |
| native, XLA | the gradient compiles for this target and agrees; part of it may call the library through Python |
| JAX, PyTorch | the gradient that this library gives agrees; `wrong`: it does not; `no`: it has the operation without the derivative; empty: it lacks the operation |

SciPy has the operations, but no derivatives, apart from `expm_frechet`. What holds where eigenvalues or singular values are repeated is
in [Linear algebra](linalg.md#dense-operations). On a GPU an operation runs as its XLA program does, if XLA has it there; this was not tried for this page.

"""


def general(kind: str) -> Any:
    random = np.random.default_rng(3)
    a = random.normal(size=(N, N)) + np.diag(2.0 + 3.0 * np.arange(N))
    return a + 0.3j * random.normal(size=(N, N)) if kind == "complex" else a


def positive(kind: str) -> Any:
    a = general(kind)
    return a @ np.conj(a).T + np.eye(N)


def skewed(kind: str) -> Any:
    """A matrix that is not normal, with real eigenvalues that are far from each other if it is real."""
    return positive(kind) + np.triu(general(kind), 1)


def tall(kind: str) -> Any:
    return general(kind)[:, : N - 1]


def small(kind: str) -> Any:
    return general(kind) / 8


def dagger(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def rebuilt(pair: Any) -> Any:
    """v diag(sin(lam)) v^H, which does not depend on the phases of the vectors."""
    lam, v = pair
    return (v * np.sin(lam)[..., None, :]) @ dagger(v)


@dataclass(frozen=True)
class Operation:
    name: str
    f: Callable[[Any], Any]
    make: Callable[[str], Any] = general
    jax: str = ""
    """The operation in JAX, an expression of a, jnp and jsp (``jax.scipy.linalg``)."""
    torch: str = ""


OPERATIONS = (
    Operation("solve", lambda a: np.linalg.solve(a, a[..., :2] ** 2), general, "jnp.linalg.solve(a, a[..., :2]**2)", "L.solve(a, a[..., :2]**2)"),
    Operation("inv", np.linalg.inv, general, "jnp.linalg.inv(a)", "L.inv(a)"),
    Operation("det", np.linalg.det, general, "jnp.linalg.det(a)", "L.det(a)"),
    Operation("slogdet", lambda a: np.linalg.slogdet(a)[1], general, "jnp.linalg.slogdet(a)[1]", "L.slogdet(a)[1]"),
    Operation("lstsq", lambda a: linalg.lstsq(a, np.ones((N, 1)))[0], tall, "jnp.linalg.lstsq(a, jnp.ones((4, 1)))[0]", "L.lstsq(a, torch.ones((4, 1), dtype=a.dtype))[0]"),
    Operation("lstsq, underdetermined", lambda a: linalg.lstsq(dagger(a), np.ones((N - 1, 1)))[0], tall, "jnp.linalg.lstsq(a.T, jnp.ones((3, 1)))[0]", "L.lstsq(a.T, torch.ones((3, 1), dtype=a.dtype), driver='gelsd')[0]"),
    Operation("pinv", np.linalg.pinv, tall, "jnp.linalg.pinv(a)", "L.pinv(a)"),
    Operation("cholesky", np.linalg.cholesky, positive, "jnp.linalg.cholesky(a, symmetrize_input=False)", "L.cholesky(a)"),
    Operation("lu", lambda a: linalg.lu(a)[2], general, "jsp.lu(a)[2]", "L.lu(a)[2]"),
    Operation("lu_factor, lu_solve", lambda a: linalg.lu_solve(linalg.lu_factor(a), a[..., :2] ** 2), general, "jsp.lu_solve(jsp.lu_factor(a), a[..., :2]**2)", "L.lu_solve(*L.lu_factor(a), a[..., :2]**2)"),
    Operation("cho_factor, cho_solve", lambda a: linalg.cho_solve(linalg.cho_factor(a), np.ones((N, 2))), positive, "jsp.cho_solve(jsp.cho_factor(a), jnp.ones((4, 2)))", "torch.cholesky_solve(torch.ones((4, 2), dtype=a.dtype), L.cholesky(a, upper=True), upper=True)"),
    Operation("ldl", lambda a: linalg.ldl(a)[0], positive, "", "L.ldl_factor(a)[0]"),
    Operation("qr", lambda a: np.linalg.qr(a)[1], tall, "jnp.linalg.qr(a)[1]", "L.qr(a)[1]"),
    Operation("qr, pivoted", lambda a: linalg.qr(a, mode="economic", pivoting=True)[1], tall, "jsp.qr(a, mode='economic', pivoting=True)[1]"),
    Operation("qr, full", lambda a: np.abs(linalg.qr(a)[0][..., : N - 1]) ** 2, tall, "jnp.abs(jsp.qr(a)[0][:, :3])**2", "L.qr(a, mode='complete')[0][..., :3].abs()**2"),
    Operation("rq", lambda a: linalg.rq(a)[0]),
    Operation("polar", lambda a: linalg.polar(a)[0], general, "jsp.polar(a)[0]"),
    Operation("polar, left", lambda a: linalg.polar(a, side="left")[1], general, "jsp.polar(a, side='left')[1]"),
    Operation("hessenberg", linalg.hessenberg, general, "jsp.hessenberg(a)"),
    Operation("schur, real", lambda a: np.real(linalg.schur(a)[0]) if np.isrealobj(a) else np.abs(linalg.schur(a)[0]), skewed, "jsp.schur(a)[0]"),
    Operation("schur, complex", lambda a: np.abs(linalg.schur(a, output="complex")[0]), skewed, "jnp.abs(jsp.schur(a, output='complex')[0])"),
    Operation("schur, chosen eigenvalues first", lambda a: np.abs(linalg.schur(a - 9 * np.eye(N), output="complex", sort="lhp")[0]), skewed),
    Operation("qz", lambda a: np.abs(linalg.qz(a, a**2 + 3 * np.eye(N), output="complex")[0])),
    Operation("eigh", lambda a: rebuilt(np.linalg.eigh(a)), positive, "rebuilt(jnp.linalg.eigh(a, symmetrize_input=False))", "rebuilt(L.eigh(a))"),
    Operation("eigh of a pair", lambda a: rebuilt(linalg.eigh(a, np.diag(1.0 + np.arange(N)))), positive),
    Operation("eigh of a product of two", lambda a: linalg.eigh(a, np.diag(1.0 + np.arange(N)), type=2)[0], positive),
    Operation("eigh, a subset", lambda a: linalg.eigh(a, subset_by_index=(1, 2))[0], positive),
    Operation("eig", lambda a: rebuilt(np.linalg.eig(a)), general, "rebuilt(jnp.linalg.eig(a))", "rebuilt(L.eig(a))"),
    Operation("eig of a pair", lambda a: rebuilt(linalg.eig(a, a**2 + 3 * np.eye(N)))),
    Operation("eigvals", np.linalg.eigvals, general, "jnp.linalg.eigvals(a)", "L.eigvals(a)"),
    Operation("eig_banded", lambda a: linalg.eig_banded(a[..., :2, :], lower=True)[0]),
    Operation("eigh_tridiagonal", lambda a: linalg.eigh_tridiagonal(np.real(a[..., 0, :]), np.real(a[..., 1, 1:]))[0], general, "jsp.eigh_tridiagonal(jnp.real(a[0]), jnp.real(a[1, 1:]), eigvals_only=True)"),
    Operation("svd", lambda a: rebuilt(np.linalg.svd(a, full_matrices=False)[1::-1]), tall, "rebuilt(jnp.linalg.svd(a, full_matrices=False)[1::-1])", "rebuilt(L.svd(a, full_matrices=False)[1::-1])"),
    Operation("svdvals", np.linalg.svdvals, tall, "jnp.linalg.svdvals(a)", "L.svdvals(a)"),
    Operation("solve_triangular", lambda a: linalg.solve_triangular(a, a[..., :2] ** 2), general, "jsp.solve_triangular(a, a[..., :2]**2)", "L.solve_triangular(a, a[..., :2]**2, upper=True)"),
    Operation("solve_banded", lambda a: linalg.solve_banded((1, 1), a[..., 1:, :] + 9 * np.eye(3)[:, 1:2], np.ones((N, 2)))),
    Operation("solve_toeplitz", lambda a: linalg.solve_toeplitz((a[0] + 9 * np.eye(N)[0], a[1]), a[2])),
    Operation("solve_circulant", lambda a: linalg.solve_circulant(a[0] + 9 * np.eye(N)[0], a[2])),
    Operation("solve_sylvester", lambda a: linalg.solve_sylvester(a, a @ a, a), positive),
    Operation("solve_continuous_lyapunov", lambda a: linalg.solve_continuous_lyapunov(a, a @ a)),
    Operation("solve_discrete_lyapunov", lambda a: linalg.solve_discrete_lyapunov(a / 20, a)),
    Operation("solve_continuous_are", lambda a: linalg.solve_continuous_are(a / 3, a, np.eye(N), np.eye(N))),
    Operation("solve_discrete_are", lambda a: linalg.solve_discrete_are(a / 9, a, np.eye(N), np.eye(N))),
    Operation("solve_continuous_are, e and s", lambda a: linalg.solve_continuous_are(a / 3, a, 9 * np.eye(N), np.eye(N), a, a / 9, balanced=False)),
    Operation("solve_discrete_are, e and s", lambda a: linalg.solve_discrete_are(a / 9, a, 9 * np.eye(N), np.eye(N), a, a / 9, balanced=False)),
    Operation("expm", linalg.expm, small, "jsp.expm(a)", "L.matrix_exp(a)"),
    Operation("expm_frechet", lambda a: linalg.expm_frechet(a, a @ a)[1], small, "jsp.expm_frechet(a, a @ a)[1]"),
    Operation("expm_multiply", lambda a: mo.linalg.functions.expm_multiply(a, np.ones(N)), small),
    Operation("logm", linalg.logm, positive),
    Operation("sqrtm", linalg.sqrtm, positive, "jsp.sqrtm(a)"),
    Operation("cosm", linalg.cosm, small),
    Operation("sinm", linalg.sinm, small),
    Operation("tanhm", linalg.tanhm, small),
    Operation("signm", lambda a: linalg.signm(a - 3.5 * np.eye(N))),
    Operation("funm", lambda a: linalg.funm(a, np.exp), small, "jsp.funm(a, jnp.exp)"),
    Operation("fractional_matrix_power", lambda a: linalg.fractional_matrix_power(a, 0.3), positive),
    Operation("matrix_power", lambda a: np.linalg.matrix_power(a, 3), small, "jnp.linalg.matrix_power(a, 3)", "L.matrix_power(a, 3)"),
    Operation("norm, nuclear", lambda a: np.linalg.norm(a, "nuc"), tall, "jnp.linalg.norm(a, 'nuc')", "L.norm(a, 'nuc')"),
    Operation("norm, spectral", lambda a: np.linalg.norm(a, 2), tall, "jnp.linalg.norm(a, 2)", "L.norm(a, 2)"),
    Operation("norm of order 1", lambda a: np.linalg.norm(a, 1), tall, "jnp.linalg.norm(a, 1)", "L.norm(a, 1)"),
    Operation("norm of order inf", lambda a: np.linalg.norm(a, np.inf), tall, "jnp.linalg.norm(a, jnp.inf)", "L.norm(a, float('inf'))"),
    Operation("norm, Frobenius", np.linalg.norm, tall, "jnp.linalg.norm(a)", "L.norm(a)"),
    Operation("norm of a vector, order 3", lambda a: np.linalg.norm(a[..., 0], 3), tall, "jnp.linalg.norm(a[..., 0], 3)", "L.norm(a[..., 0], 3)"),
    Operation("cond", np.linalg.cond, general, "jnp.linalg.cond(a)", "L.cond(a)"),
    Operation("cond of order 1", lambda a: np.linalg.cond(a, 1), general, "jnp.linalg.cond(a, 1)", "L.cond(a, 1)"),
    Operation("null_space", lambda a: (lambda v: v @ dagger(v))(linalg.null_space(dagger(a))), tall),
    Operation("orth", lambda a: (lambda v: v @ dagger(v))(linalg.orth(a)), tall),
    Operation("subspace_angles", lambda a: linalg.subspace_angles(a[..., :2], a[..., 2:])),
    Operation("cossin", lambda a: linalg.cossin(linalg.expm(a - dagger(a)), 2, 1)[1]),
    Operation("kron", lambda a: np.kron(a, a), general, "jnp.kron(a, a)", "torch.kron(a, a)"),
    Operation("einsum, optimised order", lambda a: np.einsum("ij,jk,kl->il", a, a, a, optimize="optimal"), small, "jnp.einsum('ij,jk,kl->il', a, a, a, optimize='optimal')", "torch.einsum('ij,jk,kl->il', a, a, a)"),
)  # fmt: skip


def stacked(operation: Operation, a: Any) -> str:
    stack = np.stack([a, a + 0.1 * np.eye(*a.shape)])
    try:
        one, many = np.shape(operation.f(a)), np.shape(operation.f(stack))
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        return ""
    if many != (2, *one):
        return ""
    weights = np.cos(np.arange(np.prod(one, dtype=int))).reshape(one)

    def check() -> None:
        found = mo.grad(lambda a: np.sum(weights * np.real(operation.f(a))))(stack)
        np.testing.assert_allclose(
            found,
            [mo.grad(lambda a: np.sum(weights * np.real(operation.f(a))))(x) for x in stack],
            rtol=1e-6,
            atol=1e-8,
        )

    return tried(check)


def eager_cells(operation: Operation) -> dict[str, str]:
    loss, a, z = loss_of(operation.f), operation.make("real"), operation.make("complex")
    tolerance: Any = {"rtol": 1e-5, "atol": 1e-6}
    return {
        "VJP": tried(lambda: check_gradients(loss, a, order=1, mode="reverse", **tolerance)),
        "JVP": tried(lambda: check_gradients(loss, a, order=1, mode="forward", **tolerance)),
        "second order": tried(lambda: check_gradients(mo.grad(loss), a, order=1, mode="reverse", **tolerance)),
        "complex": tried(lambda: check_gradients(loss, z, order=1, mode="reverse", **tolerance)),
        "stacks": stacked(operation, a),
    }


def compiled_cell(operation: Operation, target: str) -> str:
    loss, a = loss_of(operation.f), operation.make("real")
    gradient = mo.grad(loss)
    return tried(
        lambda: np.testing.assert_allclose(mo.jit(gradient, target=target)(a), gradient(a), rtol=1e-6, atol=1e-8)
    )


def agrees(found: Any, operation: Operation, a: Any) -> str:
    ours, found = mo.grad(loss_of(operation.f))(a), np.asarray(found)
    if operation.make is positive:  # some read one triangle only, others give both halves of the gradient
        ours, found = ours + ours.T, found + found.T
    return "yes" if np.allclose(found, ours, rtol=1e-5, atol=1e-7) else "wrong"


def jax_cell(operation: Operation, a: Any) -> str:
    import jax
    import jax.numpy as jnp

    if not operation.jax:
        return ""
    with jax.enable_x64(True):
        names = {"jnp": jnp, "jsp": jax.scipy.linalg, "rebuilt": _rebuilt_by(jnp, jnp.conj)}

        def loss(a: Any) -> Any:
            y = eval(operation.jax, {**names, "a": a})
            at = jnp.arange(y.size).reshape(y.shape)
            return jnp.sum(jnp.real(y) * jnp.cos(at) + jnp.imag(y) * jnp.sin(at))

        try:
            loss(jnp.asarray(a))
        except (AttributeError, NotImplementedError):
            return ""
        try:
            return agrees(jax.grad(loss)(jnp.asarray(a)), operation, a)
        except (NotImplementedError, ValueError, TypeError, RuntimeError):
            return "no"


def torch_cell(operation: Operation, a: Any) -> str:
    import torch  # pyright: ignore[reportMissingImports]  it is optional

    if not operation.torch:
        return ""
    x = torch.tensor(a, requires_grad=True)
    names = {"torch": torch, "L": torch.linalg, "a": x, "rebuilt": _rebuilt_by(torch, torch.conj)}
    y = eval(operation.torch, names)
    at = torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape)
    imaginary = torch.imag(y) if y.is_complex() else torch.zeros_like(y)
    loss = torch.sum(torch.real(y) * torch.cos(at) + imaginary * torch.sin(at))
    try:
        loss.backward()
    except (NotImplementedError, RuntimeError):
        return "no"
    assert x.grad is not None
    return agrees(x.grad.numpy(), operation, a)


def _rebuilt_by(library: Any, conjugate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def rebuild(pair: Any) -> Any:
        lam, v = pair
        return (v * library.sin(lam)[..., None, :]) @ conjugate(library.swapaxes(v, -1, -2))

    return rebuild


def page() -> str:
    versions = ", ".join(
        f"{name} {version(name.lower().replace('pytorch', 'torch'))}" for name in ("NumPy", "SciPy", *PEERS)
    )
    lines = [HEADER + f"Made with {versions}; matrices of {N} rows.", ""]
    columns = (*OURS, *PEERS)
    lines += ["| operation | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for operation in OPERATIONS:
        cells = eager_cells(operation)
        cells.update(native=compiled_cell(operation, "native"), XLA=compiled_cell(operation, "xla"))
        a = operation.make("real")
        cells.update(JAX=jax_cell(operation, a), PyTorch=torch_cell(operation, a))
        lines.append(f"| {operation.name} | " + " | ".join(cells[c] for c in columns) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if not all(find_spec(name) for name in ("jax", "torch")):
        raise SystemExit("the columns of JAX and PyTorch need both libraries: pip install 'morula[bench]'")
    PAGE.write_text(page())
