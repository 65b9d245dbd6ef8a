"""Errors of gradients where eigenvalues or singular values are equal, and of operations whose derivative others lack.

The references are differences of NumPy's and SciPy's values, extrapolated by Ridders' method.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

import morula as mo
from morula.core.testing.differences import numerical_vjp

from ..report import Table, markdown
from .program import definite, dominant, drawn

N = 6
Make = Callable[[Any, Any], Callable[[Any], Any]]


@dataclass(frozen=True)
class Case:
    """A loss of a matrix at ``a``; ``make`` and ``in_torch`` as in ``Program``; None where a system lacks a function."""

    name: str
    make: Make
    a: np.ndarray
    in_jax: Make | None
    in_torch: Callable[[Any], Callable[[Any], Any]] | None = None


W = drawn(N, N, seed=3)
Q = np.linalg.qr(drawn(N, N, seed=4))[0]
R = np.linalg.qr(drawn(N, N, seed=7))[0]
TALL = np.linalg.qr(drawn(N, 3, seed=5))[0]
B = drawn(N, seed=6)


def with_values(*values: float) -> np.ndarray:
    return (Q * values) @ Q.T


def spectral(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = np.linalg.eigh(0.5 * (a + a.T))
        return np.sum(W * ((v * np.exp(lam)) @ v.T))

    return loss


def spectral_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        lam, v = torch.linalg.eigh(0.5 * (a + a.T))
        return torch.sum(torch.from_numpy(W) * ((v * torch.exp(lam)) @ v.T))

    return loss


def projector(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        _, v = np.linalg.eigh(0.5 * (a + a.T))
        return np.sum(W * (v[:, :3] @ v[:, :3].T))

    return loss


def projector_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        _, v = torch.linalg.eigh(0.5 * (a + a.T))
        return torch.sum(torch.from_numpy(W) * (v[:, :3] @ v[:, :3].T))

    return loss


def unitary_factor(np: Any, sp: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a)
        return np.sum(W * (u @ vt))

    return loss


def unitary_factor_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        u, _, vt = torch.linalg.svd(a)
        return torch.sum(torch.from_numpy(W) * (u @ vt))

    return loss


def shrunk(np: Any, sp: Any) -> Any:
    """Singular values s become s^2 / (1 + s), as in low-rank estimation."""

    def loss(a: Any) -> Any:
        u, s, vt = np.linalg.svd(a)
        return np.sum(W * ((u * (s**2 / (1.0 + s))) @ vt))

    return loss


def shrunk_in_torch(torch: Any) -> Any:
    def loss(a: Any) -> Any:
        u, s, vt = torch.linalg.svd(a)
        return torch.sum(torch.from_numpy(W) * ((u * (s**2 / (1.0 + s))) @ vt))

    return loss


def fitted(np: Any, sp: Any) -> Any:
    return lambda a: np.sum(np.linalg.lstsq(a, B)[0] ** 2)


def fitted_in_torch(torch: Any) -> Any:
    return lambda a: torch.sum(torch.linalg.lstsq(a, torch.from_numpy(B)[:, None])[0] ** 2)


def weighed_function(name: str, *more: Any) -> Make:
    return lambda np, sp: lambda a: np.sum(W * np.real(getattr(sp, name)(a, *more)))


def schur_form(np: Any, sp: Any) -> Any:
    """The strictly upper triangle of the Schur form in absolute values: signs of the vectors do not matter."""
    return lambda a: np.sum(np.abs(W * sp.schur(a)[0]) ** 2)


def pair_values(np: Any, sp: Any) -> Any:
    return lambda a: np.sum(np.abs(sp.eigvals(a, PAIRED)) * B)


def pair_form(np: Any, sp: Any) -> Any:
    return lambda a: np.sum(np.abs(W * sp.qz(a, PAIRED, output="complex")[0]) ** 2)


PAIRED = np.diag(1.0 + np.arange(N)) + np.kron(np.eye(N // 2), [[0.0, 3.0], [-2.0, 0.0]]) + 0.1 * W
TWICE = with_values(1.0, 1.0, 1.0, 2.0, 2.0, 3.0)
NORMAL = Q @ np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) @ Q.T + np.triu(0.1 * W)
CASES = (
    Case("V exp(Λ) Vᵀ by eigh, eigenvalues 1, 1, 1, 2, 2, 3", spectral, TWICE, spectral, spectral_in_torch),
    Case("the same at the unit matrix", spectral, np.eye(N), spectral, spectral_in_torch),
    Case("projector on a space with equal eigenvalues, by eigh", projector, TWICE, projector, projector_in_torch),
    Case(
        "U Vᵀ by SVD, singular values 2, 2, 2, 2, 1, 1",
        unitary_factor, (Q * [2.0, 2, 2, 2, 1, 1]) @ R.T,
        unitary_factor, unitary_factor_in_torch,
    ),
    Case("U f(S) Vᵀ by SVD, orthogonal matrix", shrunk, Q, shrunk, shrunk_in_torch),
    Case("lstsq, orthonormal columns", fitted, TALL, fitted, fitted_in_torch),
    Case("sqrtm", weighed_function("sqrtm"), dominant(N), weighed_function("sqrtm")),
    Case("sqrtm, equal eigenvalues", weighed_function("sqrtm"), TWICE, weighed_function("sqrtm")),
    Case("logm", weighed_function("logm"), definite(N), None),
    Case("solve_sylvester", weighed_function("solve_sylvester", dominant(N, 1), W), dominant(N), weighed_function("solve_sylvester", dominant(N, 1), W)),
    Case("schur, real eigenvalues", schur_form, NORMAL, schur_form),
    Case("schur, pairs of complex eigenvalues", schur_form, PAIRED, schur_form),
    Case("hessenberg", weighed_function("hessenberg"), NORMAL, weighed_function("hessenberg")),
    Case("funm, sin", weighed_function("funm", np.sin), NORMAL, None),
    Case("eigenvalues of a pair", pair_values, NORMAL, None),
    Case("generalised Schur form", pair_form, NORMAL, None),
)  # fmt: skip


def differences(f: Callable[[Any], Any], a: np.ndarray) -> np.ndarray:
    """The gradient by extrapolated differences."""
    return numerical_vjp(f, 1.0, a)[0][0]


def outcome(gradient: Callable[[], Any], reference: np.ndarray) -> str:
    """The largest error relative to the largest entry, or the name of the error that was raised."""
    try:
        g = np.asarray(gradient())
    except Exception as error:
        return f"error: {type(error).__name__}"
    if not np.all(np.isfinite(g)):
        return "**NaN or Inf**"
    error = np.max(np.abs(g - reference)) / np.max(np.abs(reference))
    return f"{error:.0e}" if error < 1e-6 else f"**{100 * error:.0f} %**" if error > 5e-3 else f"**{error:.0e}**"


def row(case: Case) -> list[str]:
    f = case.make(np, scipy.linalg)
    reference = differences(f, case.a)
    cells = [case.name, outcome(lambda: mo.grad(f)(case.a), reference)]
    cells += [outcome(lambda t=t: mo.jit(mo.grad(f), target=t)(case.a), reference) for t in ("native", "xla")]
    if importlib.util.find_spec("jax"):
        import jax

        with jax.enable_x64(True):
            in_jax = case.in_jax and case.in_jax(jax.numpy, jax.scipy.linalg)
            cells.append("absent" if in_jax is None else outcome(lambda: jax.grad(in_jax)(case.a), reference))
    if importlib.util.find_spec("torch"):
        import torch

        def in_torch() -> Any:
            a = torch.from_numpy(case.a).requires_grad_()
            return torch.autograd.grad(case.in_torch(torch)(a), a)[0]  # type: ignore[misc]

        cells.append("absent" if case.in_torch is None else outcome(in_torch, reference))
    return cells


def report() -> list[str]:
    """Return the sections of the report."""
    titles = ["gradient", "eager", "native", "xla"]
    titles += [name for name, module in (("JAX", "jax"), ("PyTorch", "torch")) if importlib.util.find_spec(module)]
    table: Table = [titles, *map(row, CASES)]
    text = "Errors relative to the largest entry of the gradient by differences, whose own error is about 1e-12. `NoDerivative` is morula's refusal."
    return ["## Degenerate and missing derivatives", text, markdown(table)]
