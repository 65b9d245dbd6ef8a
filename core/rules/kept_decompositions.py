"""Decompositions that the backward sweep uses again, for functions whose adjoints would decompose the matrix a second time.

Eigenvalues and singular values have the vectors in their adjoints, so compiled code computes the vectors with the values.  A
linear equation in matrices is solved by the Schur forms of its matrices, and so is the adjoint equation.

A kernel's derivative is that of its function of the matrices: the Schur forms are a cache, whose own derivative is zero.
See ``kept_factors``, which does the same with LU factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NoDerivative
from .library_programs import are_matrices, expands
from .products import hermitian as dagger
from .table import instead, joint, linear, runs_compiled, zero

EQUAL_EIGENVALUES = (
    "a Schur form has no derivative here: two eigenvalues are equal to rounding, so that their vectors are not "
    "determined. For a function of a matrix use scipy.linalg.expm, logm or sqrtm, or, of a Hermitian one, eigh"
)
EQUAL_PAIRS = (
    "a generalised Schur form has no derivative here: two generalised eigenvalues are equal to rounding, so that their "
    "vectors are not determined"
)

# Eigenvalues and singular values


def is_matrix(a: Any, *rest: Any, **options: Any) -> bool:
    return a.ndim >= 2 and a.dtype.char in "fdFD" and a.shape[-1] > 0


def eigvalsh_with_vectors(a: Any, UPLO: Any = "L") -> Any:
    return np.linalg.eigh(a, UPLO)[0]


def svdvals_with_vectors(x: Any) -> Any:
    return np.linalg.svd(x, full_matrices=False)[1]


def values_with_vectors(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    return np.linalg.svd(a, full_matrices=False)[1]


def is_of_values(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> bool:
    return is_matrix(a) and not compute_uv and not hermitian


def cond_with_vectors(x: Any, p: Any = None) -> Any:
    s = np.linalg.svd(x, full_matrices=False)[1]
    first, last = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
    return np.where((first == 0) & (last == 0), np.inf, first / last)


def is_of_singular_values(x: Any, p: Any = None) -> bool:
    return is_matrix(x) and 0 not in x.shape and (p is None or p in (2, -2))


def cond_by_values(x: Any, p: Any = None) -> Any:
    s = np.linalg.svdvals(x)
    first, last = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
    return np.where((first == 0) & (last == 0), np.inf, first / last)[()]


expands(np.linalg.cond, cond_by_values, is_of_singular_values)
instead(np.linalg.cond, cond_with_vectors, is_of_singular_values)
instead(np.linalg.eigvalsh, eigvalsh_with_vectors, is_matrix)
instead(np.linalg.svdvals, svdvals_with_vectors, is_matrix)
instead(np.linalg.svd, values_with_vectors, is_of_values)


# Equations A X + X B = Q and A X + X A^H = Q


def schur_form(a: Any) -> Any:
    """The Schur form T and the vectors Z of A = Z T Z^H, as one array (2, n, n); a matrix of real numbers has the real form."""
    import scipy.linalg

    is_real = not np.any(np.imag(a))
    return np.stack(scipy.linalg.schur(np.real(a) if is_real else a)).astype(a.dtype)


def triangular_equation(t: Any, s: Any, q: Any, turn_t: str = "N", turn_s: str = "N") -> Any:
    """The solution of op(T) Y + Y op(S) = Q for Schur forms; op is "N", or "C" for the adjoint."""
    import scipy.linalg

    if np.iscomplexobj(t) and not (np.any(np.imag(t)) or np.any(np.imag(s))):  # real forms, which may have blocks
        t, s = np.real(t), np.real(s)
        found = triangular_equation(t, s, np.real(q), turn_t, turn_s)
        return found + 1j * (triangular_equation(t, s, np.imag(q), turn_t, turn_s) if np.any(np.imag(q)) else 0.0)
    y, scale, _ = scipy.linalg.get_lapack_funcs(("trsyl",), (t, s, q))[0](t, s, q, trana=turn_t, tranb=turn_s)
    return scale * y


def triangular_equation_pullback(
    dy: Any, y: Any, t: Any, s: Any, q: Any, turn_t: str = "N", turn_s: str = "N"
) -> tuple[Any, Any, Any]:
    """Entries below the blocks of the forms are not read."""
    z = triangular_equation(t, s, dy, "N" if turn_t == "C" else "C", "N" if turn_s == "C" else "C")
    dt, ds = -z @ dagger(y), -dagger(y) @ z
    dt, ds = dagger(dt) if turn_t == "C" else dt, dagger(ds) if turn_s == "C" else ds
    return np.where(below_blocks(t), 0.0, dt), np.where(below_blocks(s), 0.0, ds), z


def below_blocks(t: Any) -> Any:
    """A mask of the entries below the diagonal blocks of the (quasi-)triangular ``t`` (..., n, n)."""
    low = np.tri(t.shape[-1], k=-1, dtype=bool)
    return low & ((t == 0) | np.tri(t.shape[-1], k=-2, dtype=bool))


def eigenvalues_of_form(t: Any) -> Any:
    """The eigenvalues of a Schur form; a block of the real form has equal entries on its diagonal."""
    if t.shape[-1] == 1 or np.iscomplexobj(t) and np.any(np.imag(t)):
        return np.diagonal(t) + 0j
    return eigenvalues_of_real_form(t)


def eigenvalues_of_real_form(t: Any) -> Any:
    size = np.sqrt(np.abs(np.diagonal(t, 1) * np.diagonal(t, -1)))
    none = np.zeros_like(size[:1])
    return np.diagonal(t) + 1j * (np.concatenate([size, none]) - np.concatenate([none, size]))


def refuse_without_solution(t: Any, s: Any, name: str) -> None:
    """Refuse the derivative of the solution of T Y + Y S^H = Q if it has none for every Q: LAPACK solves a nearby equation."""
    a, b = eigenvalues_of_form(t), eigenvalues_of_form(s)
    size = np.max(np.abs(a)) + np.max(np.abs(b))
    if np.any(np.abs(a[:, None] + np.conj(b)) <= len(a) * np.spacing(size)):
        raise NoDerivative(
            f"{name} has no derivative here: the equation is singular, as an eigenvalue of the one matrix is the negative of one of the "
            "other to rounding"
        )


# The operations are those of SciPy, in its order, so that results are the same to the last digit.


def sylvester_by_schur(a: Any, b: Any, q: Any, f: Any, g: Any, adjoint: bool = False) -> Any:
    """The solution of A X + X B = Q, or of the adjoint A^H X + X B^H = Q, by the Schur forms of A and of B^H."""
    (t, u), (s, v) = f, g
    turns = ("C", "N") if adjoint else ("N", "C")
    return u @ triangular_equation(t, s, dagger(u) @ q @ v, *turns) @ dagger(v)


def sylvester_by_schur_pullback(
    dy: Any, y: Any, a: Any, b: Any, q: Any, f: Any, g: Any, adjoint: bool = False
) -> tuple[Any, ...]:
    refuse_without_solution(f[0], g[0], "scipy.linalg.solve_sylvester")
    z = sylvester_by_schur(a, b, dy, f, g, not adjoint)
    if adjoint:
        return -y @ dagger(z), -dagger(z) @ y, z, None, None
    return -z @ dagger(y), -dagger(y) @ z, z, None, None


def lyapunov_by_schur(a: Any, q: Any, f: Any, adjoint: bool = False) -> Any:
    """The solution of A X + X A^H = Q, or of the adjoint A^H X + X A = Q, by the Schur form of A."""
    t, u = f
    turns = ("C", "N") if adjoint else ("N", "C")
    return u @ triangular_equation(t, t, dagger(u) @ (q @ u), *turns) @ dagger(u)


def lyapunov_by_schur_pullback(dy: Any, y: Any, a: Any, q: Any, f: Any, adjoint: bool = False) -> tuple[Any, ...]:
    refuse_without_solution(f[0], f[0], "scipy.linalg.solve_continuous_lyapunov")
    z = lyapunov_by_schur(a, dy, f, not adjoint)
    if adjoint:
        return -y @ dagger(z) - dagger(y) @ z, z, None
    return -z @ dagger(y) - dagger(z) @ y, z, None


def square_equation(a: Any, q: Any, f: Any, adjoint: bool = False) -> Any:
    """The solution of A X + X A = Q, or of the adjoint, by the Schur form of A."""
    t, u = f
    turn = "C" if adjoint else "N"
    return u @ triangular_equation(t, t, dagger(u) @ q @ u, turn, turn) @ dagger(u)


def square_equation_pullback(dy: Any, y: Any, a: Any, q: Any, f: Any, adjoint: bool = False) -> tuple[Any, ...]:
    z = square_equation(a, dy, f, not adjoint)
    if adjoint:
        return -y @ dagger(z) - dagger(z) @ y, z, None
    return -z @ dagger(y) - dagger(y) @ z, z, None


zero(schur_form)
joint(triangular_equation, triangular_equation_pullback)
linear(triangular_equation, 2)
joint(sylvester_by_schur, sylvester_by_schur_pullback)
joint(lyapunov_by_schur, lyapunov_by_schur_pullback)
linear(sylvester_by_schur, 2)
linear(lyapunov_by_schur, 1)
joint(square_equation, square_equation_pullback)
linear(square_equation, 1)
runs_compiled(schur_form, triangular_equation, sylvester_by_schur, lyapunov_by_schur, square_equation)


def schur_form_by_columns(a: Any) -> Any:
    import scipy.linalg

    return np.stack(scipy.linalg.schur(a))


def are_forms(*arrays: Any, **constants: Any) -> bool:
    """Whether arrays are matrices, or their Schur forms."""
    return arrays[0].ndim == 2 and 0 not in arrays[0].shape and all(x.dtype == arrays[0].dtype for x in arrays)


expands(schur_form, schur_form_by_columns, are_matrices)
expands((sylvester_by_schur, lyapunov_by_schur, square_equation), None, are_forms)


def is_equation(*arrays: Any) -> bool:
    """Whether the coefficients of an equation are square and the right-hand side, given last, has the shape of the solution."""
    *coefficients, right = arrays
    if not are_matrices(*arrays) or any(x.shape[0] != x.shape[1] for x in coefficients):
        return False
    return right.shape == (coefficients[0].shape[0], coefficients[-1].shape[0])


def sylvester_with_schur(a: Any, b: Any, q: Any) -> Any:
    return sylvester_by_schur(a, b, q, schur_form(a), schur_form(dagger(b)))


def lyapunov_with_schur(a: Any, q: Any) -> Any:
    return lyapunov_by_schur(a, q, schur_form(a))


# P X + X P = Q for a Hermitian matrix


def hermitian_equation(p: Any, q: Any) -> Any:
    """The solution of P X + X P = Q for one Hermitian positive definite P, by its eigenvalues.

    Raises:
        LinAlgError: P is singular.
    """
    lam, v = np.linalg.eigh(p)
    if np.any(lam <= 0):
        raise np.linalg.LinAlgError("Singular matrix")
    return v @ ((dagger(v) @ q @ v) / (lam[:, None] + lam)) @ dagger(v)


def hermitian_equation_pullback(dy: Any, y: Any, p: Any, q: Any) -> tuple[Any, Any]:
    z = hermitian_equation(p, dy)
    return -z @ dagger(y) - dagger(y) @ z, z


joint(hermitian_equation, hermitian_equation_pullback)
linear(hermitian_equation, 1)
runs_compiled(hermitian_equation)
expands(hermitian_equation, None, are_matrices, ("native", "xla"))
