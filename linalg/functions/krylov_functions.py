"""f(A) b from a Krylov space: the Lanczos and Arnoldi processes, and functions of the small matrices that they give.

N.J. Higham, Functions of Matrices (2008), section 13.2; Daleckii and Krein's derivative of a function of a Hermitian
matrix: theorem 3.11. The vectors are orthogonalised against all former ones, twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, adjoint, jvp
from ..operators import as_operator
from .traces import check_count


def lanczos(A: Any, b: Any, steps: int) -> tuple[Any, Any]:
    """Return an orthonormal basis V of the Krylov space and the tridiagonal matrix T = V^H A V.

    Args:
        A: Hermitian operator or matrix (n, n).
        b: the first vector (n,), not zero.
        steps: the dimension k of the space, at most n.

    Returns:
        V, (n, k), and T, (k, k), real. If the space has a smaller dimension, the other columns of V are zero, and the
        other rows of T hold T[0, 0] on the diagonal.

    Raises:
        BadInput: A is not square, b does not fit, is zero or not finite, or ``steps`` is out of range.
        MorulaError: A is found not to be Hermitian, or gives NaN or Inf.

    >>> V, T = lanczos(np.diag([1.0, 2.0, 3.0]), np.ones(3), 3)
    >>> np.linalg.eigvalsh(T).round(12).tolist()
    [1.0, 2.0, 3.0]
    """
    b = _check("lanczos", A, b, steps)
    V, T = lanczos_of_columns("lanczos", A, b[:, None], steps)
    return V[0].T, T[0]


def lanczos_of_columns(name: str, A: Any, b: Any, steps: int) -> tuple[Any, Any]:
    """Return what ``lanczos`` returns for each column of b, (n, m), side by side: V^T, (m, k, n), and T, (m, k, k).

    Raises:
        MorulaError: A is found not to be Hermitian, or gives NaN or Inf; the message names the caller.
    """
    V, H, scale = _process(name, A, b, steps)
    gap = np.max(np.abs(H - _adjoint(H)))
    if gap > np.sqrt(np.finfo(V.dtype).eps) * np.max(scale):
        raise MorulaError(
            f"{name}: A is not Hermitian: an entry of V^H A V - (V^H A V)^H is {gap:.6g}; use Arnoldi's process (arnoldi, or "
            "function_times_vector with hermitian=False)"
        )
    alpha = np.real(np.diagonal(H, 0, 1, 2))
    alpha = np.where(np.any(V != 0.0, axis=2), alpha, alpha[:, :1])
    below = np.real(np.tril(H, -1))
    T = below + np.swapaxes(below, 1, 2) + alpha[:, :, None] * np.eye(steps, dtype=alpha.dtype)
    return V, T


def arnoldi(A: Any, b: Any, steps: int) -> tuple[Any, Any]:
    """Return an orthonormal basis V of the Krylov space and the Hessenberg matrix H = V^H A V.

    Args:
        A: operator or matrix (n, n).
        b: the first vector (n,), not zero.
        steps: the dimension k of the space, at most n.

    Returns:
        V, (n, k), and H, (k, k). If the space has a smaller dimension, the other columns of V are zero, and the other
        rows of H hold H[0, 0] on the diagonal.

    Raises:
        BadInput: A is not square, b does not fit, is zero or not finite, or ``steps`` is out of range.
        MorulaError: A gives NaN or Inf.

    >>> V, H = arnoldi(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([1.0, 0.0]), 2)
    >>> H.tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    b = _check("arnoldi", A, b, steps)
    V, H, _ = _process("arnoldi", A, b[:, None], steps)
    return V[0].T, H[0] + np.diag(np.where(np.any(V[0] != 0.0, axis=1), 0.0, H[0, 0, 0]))


def _check(name: str, A: Any, b: Any, steps: int) -> Any:
    """Return b as an array.

    Raises:
        BadInput: A is not square, b does not fit, is zero or not finite, or ``steps`` is out of range.
    """
    A = as_operator(A, f"{name}: A")
    n = A.shape[1]
    if A.shape[0] != n:
        raise BadInput(f"{name}: A has shape {A.shape}, expected a square operator")
    b = b if isinstance(b, np.ndarray) else np.asarray(b)
    check_count(name, "steps", steps)
    if np.shape(b) != (n,):
        raise BadInput(f"{name}: b has shape {np.shape(b)}, expected ({n},) for A of shape {A.shape}")
    if not 1 <= steps <= n:
        raise BadInput(f"{name}: steps is {steps!r}, expected a dimension from 1 to {n}")
    size = np.max(np.abs(b))
    if not np.isfinite(size):
        raise BadInput(f"{name}: b holds NaN or Inf, expected finite numbers")
    if size == 0.0:
        raise BadInput(f"{name}: b is zero, expected a vector that spans a space")
    return b


def _process(name: str, A: Any, b: Any, steps: int) -> tuple[Any, Any, Any]:
    """Return the bases (m, k, n) and projected matrices (m, k, k) of the m columns of b, and the largest products' norms (m,).

    Only the diagonal below the main one is Lanczos' or Arnoldi's beta; what follows it is zero.
    """
    A = as_operator(A)
    n, m = b.shape
    dtype = np.result_type(A.dtype, b.dtype, np.float32)
    V, H = np.zeros((m, steps, n), dtype), np.zeros((m, steps + 1, steps), dtype)
    V[:, 0] = (b / np.linalg.norm(b, axis=0)).T
    scale = np.zeros(m, np.finfo(dtype).dtype)
    for j in range(steps):
        w = (A @ V[:, j].T).T
        scale = np.maximum(scale, np.linalg.norm(w, axis=1))
        first = np.conj(V) @ w[:, :, None]
        w = w - (np.swapaxes(first, 1, 2) @ V)[:, 0]
        second = np.conj(V) @ w[:, :, None]
        w = w - (np.swapaxes(second, 1, 2) @ V)[:, 0]
        H[:, :steps, j] = (first + second)[:, :, 0]
        if j + 1 < steps:
            below = np.linalg.norm(w, axis=1)
            goes_on = below > 10.0 * np.finfo(dtype).eps * scale
            H[:, j + 1, j] = np.where(goes_on, below, 0.0)
            V[:, j + 1] = w * np.where(goes_on, 1.0 / np.where(goes_on, below, 1.0), 0.0)[:, None]
    if not np.all(np.isfinite(scale)):
        raise MorulaError(f"{name}: A holds NaN or Inf, or its products give it")
    return V, H[:, :steps], scale


def function_times_vector(f: Callable[[Any], Any], A: Any, b: Any, steps: int, hermitian: bool = True) -> Any:
    """Return an approximation to f(A) b from the Krylov space of the given dimension.

    Args:
        f: a function of numbers, applied to an array of eigenvalues entry by entry; for ``hermitian=False`` a function
            of a square matrix, such as ``scipy.linalg.expm``.
        A: operator or matrix (n, n).
        b: vector (n,).
        steps: the dimension of the space, at most n; with n the result is exact.
        hermitian: whether A is Hermitian: Lanczos, else Arnoldi.

    Returns:
        The vector (n,). Its derivative, with respect to b and the arrays that define A, is that of the approximation.

    Raises:
        BadInput: A is not square, b does not fit or is not finite, or ``steps`` is out of range.
        MorulaError: A is not Hermitian although ``hermitian`` says so, or gives NaN or Inf.

    Source: Higham (2008), section 13.2.1.

    >>> function_times_vector(np.sqrt, np.diag([1.0, 4.0]), np.array([1.0, 1.0]), 2).round(12).tolist()
    [1.0, 2.0]
    """
    b = b if isinstance(b, np.ndarray) else np.asarray(b)
    if not np.any(b):
        return 0.0 * (as_operator(A) @ b)
    V, T = (lanczos if hermitian else arnoldi)(A, b, steps)
    values = hermitian_function(f, T) if hermitian else f(T)
    return np.linalg.norm(b) * (V @ values[:, 0])


def hermitian_function(f: Callable[[Any], Any], A: Any) -> Any:
    """Return f(A) of a Hermitian matrix; its first derivative is right for repeated eigenvalues, too.

    Args:
        f: a differentiable function of numbers, applied to arrays entry by entry; gradients reach variables it captures.
        A: Hermitian matrix (n, n), or a stack of them (..., n, n); the lower triangle is used.

    Returns:
        The matrix f(A), (..., n, n).

    Raises:
        BadInput: A is not square, or holds NaN or Inf.

    Source: Daleckii and Krein; Higham (2008), theorem 3.11.

    >>> hermitian_function(np.exp, np.zeros((2, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    A = A if isinstance(A, np.ndarray) else np.asarray(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise BadInput(f"hermitian_function: A has shape {A.shape}, expected square matrices (..., n, n)")
    if not np.all(np.isfinite(A)):
        raise BadInput("hermitian_function: A holds NaN or Inf, expected finite numbers")
    values, Q = np.linalg.eigh(_held(A))
    return (Q * f(values)[..., None, :]) @ _adjoint(Q) + _variation(f, A)


def _held(A: Any) -> Any:
    """Return A as a constant of the innermost derivative; enclosing derivatives see A."""
    return np.copy(A)


@adjoint(_held)
def _held_with_pullback(A: Any) -> tuple[Any, Any]:
    return np.copy(A), lambda dy: (None,)


def _variation(f: Callable[[Any], Any], A: Any) -> Any:
    """Return zeros whose derivative is that of f(A) for a fixed f, by Daleckii and Krein's theorem.

    It is apart from the value, so that variables that f captures keep the derivative that they have there.
    """
    return np.zeros_like(A)


@adjoint(_variation)
def _variation_with_pullback(f: Callable[[Any], Any], A: Any) -> tuple[Any, Any]:
    def back(dy: Any) -> tuple[Any, Any]:
        values, Q = np.linalg.eigh(A)
        inner = _adjoint(Q) @ dy @ Q
        symmetric = 0.5 * (inner + _adjoint(inner))
        return None, Q @ (_divided_differences(f, values) * symmetric) @ _adjoint(Q)

    return np.zeros_like(A), back


def _adjoint(A: Any) -> Any:
    return np.conj(np.swapaxes(A, -1, -2))


def _divided_differences(f: Callable[[Any], Any], values: Any) -> Any:
    """Return (f(x) - f(y)) / (x - y) for all pairs; the derivative in between for pairs that nearly agree."""
    x, y = values[..., :, None], values[..., None, :]
    near = (
        np.abs(x - y) <= np.finfo(values.dtype).eps ** (1 / 3) * (np.abs(x) + np.abs(y)) + np.finfo(values.dtype).tiny
    )
    middle = 0.5 * (x + y)
    slopes = jvp(f, (middle,), (np.ones_like(middle),))[1]
    fx = f(values)
    return np.where(near, slopes, (fx[..., :, None] - fx[..., None, :]) / np.where(near, 1.0, x - y))
