"""Factors of ``scipy.linalg`` and solutions with them, and what consists of several factorisations.

The trace remembers of which matrix factors were computed.  A solution with these factors is then that of the matrix, by a
kernel whose adjoint needs one more solution; the adjoint through the factors takes several products of matrices.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced import Trace
from .arguments import refuse, value
from .library import WRITTEN, call, written


def _remember(trace: Trace, factors: Any, a: Any) -> None:
    matrix, found = value(trace, a), value(trace, factors)
    if matrix.type == found.type and matrix.type.ndim == 2:
        trace.matrices[found] = matrix


def _matrix(trace: Trace, factors: Any, b: Any) -> Any:
    """Return the matrix of factors, if it is known, and if the right-hand side is a vector or a matrix of the same dtype."""
    found, right = value(trace, factors), value(trace, b)
    matrix = trace.matrices.get(found)
    if matrix is None or right.type.dtype != found.type.dtype or right.type.ndim > 2 or trace.sees(ValueError):
        return None
    return trace.wrap(matrix)


@written
def lu_factor(trace: Trace, a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    import scipy.linalg

    lu, piv = call(trace, scipy.linalg.lu_factor, (a, False, check_finite), {})
    _remember(trace, lu, a)
    return lu, piv


@written
def cho_factor(trace: Trace, a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """SciPy gives ``lower`` back beside the factor: it remains known while compiling, for ``cho_solve``."""
    import scipy.linalg

    factor, _ = call(trace, scipy.linalg.cho_factor, (a, lower, False, check_finite), {})
    _remember(trace, factor, a)
    return factor, lower


@written
def cho_solve(trace: Trace, c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    import scipy.linalg

    from ...rules.known_matrices import solved_by_cholesky

    c, lower = c_and_lower
    a = _matrix(trace, c, b)
    if a is not None:
        return call(trace, solved_by_cholesky, (a, b, c, bool(lower), check_finite), {})
    first, second = (0, 2) if lower else (2, 0)
    found = trace.call(scipy.linalg.solve_triangular, c, b, trans=first, lower=lower)
    return trace.call(scipy.linalg.solve_triangular, c, found, trans=second, lower=lower)


@written
def lu_solve(
    trace: Trace, lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    import scipy.linalg

    from ...rules.known_matrices import solved_by_lu
    from ...rules.scipy_factorisations import interchanged

    lu, piv = lu_and_piv
    if value(trace, lu).type.ndim > 2:
        return trace.calls.interpret(_lu_solve_stack, (lu, piv, b, trans), {})  # type: ignore[attr-defined]
    a = _matrix(trace, lu, b)
    if a is not None:
        return call(trace, solved_by_lu, (a, b, lu, piv, trans, check_finite), {})
    order = trace.call(interchanged, piv, value(trace, lu).type.shape[-1])
    lower = {"lower": True, "unit_diagonal": True}
    if trans == 0:
        found = trace.call(operator.getitem, trace.call(np.asarray, b), order)
        found = trace.call(scipy.linalg.solve_triangular, lu, found, **lower)
        return trace.call(scipy.linalg.solve_triangular, lu, found)
    found = trace.call(scipy.linalg.solve_triangular, lu, b, trans=trans)
    found = trace.call(scipy.linalg.solve_triangular, lu, found, trans=trans, **lower)
    return trace.call(operator.getitem, found, trace.call(np.argsort, order))


def _lu_solve_stack(lu: Any, piv: Any, b: Any, trans: int) -> Any:
    """``scipy.linalg.lu_solve`` of a stack of factors; ``b`` is a vector or a stack of matrices."""
    import scipy.linalg

    from ...rules.scipy_factorisations import interchanged, rows

    is_vector, n = np.ndim(b) == 1, np.shape(lu)[-1]
    x = np.asarray(b)[:, None] if is_vector else np.asarray(b)
    x = np.broadcast_to(x, (*np.broadcast_shapes(np.shape(lu)[:-2], np.shape(x)[:-2]), *np.shape(x)[-2:]))
    order = interchanged(piv, n)
    if trans == 0:
        x = scipy.linalg.solve_triangular(lu, rows(x, order), lower=True, unit_diagonal=True)
        x = scipy.linalg.solve_triangular(lu, x)
    else:
        x = scipy.linalg.solve_triangular(lu, x, trans=trans)
        x = scipy.linalg.solve_triangular(lu, x, trans=trans, lower=True, unit_diagonal=True)
        x = rows(x, np.argsort(order, axis=-1))
    return x[..., 0] if is_vector else x


@written
def schur(
    trace: Trace, a: Any, output: Any = "real", lwork: Any = None, overwrite_a: Any = False, sort: Any = None,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    import scipy.linalg

    from ...rules.scipy_schur import schur_with_chosen_first

    found = call(trace, scipy.linalg.schur, (a,), {"output": output, "check_finite": check_finite})
    if sort is None:
        return found
    if not callable(sort) and sort not in ("lhp", "rhp", "iuc", "ouc"):
        raise ValueError("'sort' parameter must either be 'None', or a callable, or one of ('lhp','rhp','iuc','ouc')")
    if value(trace, found[0]).type.ndim > 2:
        raise refuse("scipy.schur(sort=) of stacks of matrices", "call it for each matrix")
    is_real = found[0].dtype.kind == "f"
    return trace.calls.interpret(schur_with_chosen_first, (a, *found, sort, is_real), {})  # type: ignore[attr-defined]


@written
def solve_circulant(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """From its source, which consists of Fourier transforms."""
    import scipy.linalg

    return trace.calls.interpret(scipy.linalg.solve_circulant, args, kwargs)  # type: ignore[attr-defined]


def _of_some(name: str, option: str, by_value: Any) -> Callable[..., Any]:
    """Return what eigenvalues of SciPy do, of which an ``option`` chooses some: not by their values, so that their number is known."""

    def found(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        import scipy.linalg

        function = getattr(scipy.linalg, name)
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        if by_value(given.get(option)):
            remedy = "choose eigenvalues by their indices, or compute them outside of mo.jit"
            raise refuse(
                f"scipy.linalg.{name} of eigenvalues that lie in an interval, whose number is not known,", remedy
            )
        return call(trace, function, args, kwargs)

    return found


for _name in ("eigh", "eigvalsh"):
    WRITTEN[_name] = _of_some(_name, "subset_by_value", lambda x: x is not None)
for _name in ("eigh_tridiagonal", "eigvalsh_tridiagonal", "eig_banded", "eigvals_banded"):
    WRITTEN[_name] = _of_some(_name, "select", lambda x: x in ("v", "value", 1))


@written
def subspace_angles(trace: Trace, A: Any, B: Any) -> Any:
    for x in (A, B):
        if value(trace, x).type.ndim != 2:
            raise refuse("scipy.subspace_angles of stacks of matrices", "call it for each pair")
    return trace.calls.interpret(_subspace_angles, (A, B), {})  # type: ignore[attr-defined]


def _subspace_angles(a: Any, b: Any) -> Any:
    """``scipy.linalg.subspace_angles`` of matrices of full column rank: the number of angles is known while compiling."""
    bases = []
    for x in (a, b):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        if s[-1] <= s[0] * np.finfo(s.dtype).eps * max(x.shape):
            raise ValueError(
                "subspace_angles in compiled code takes matrices of full column rank; call it outside of mo.jit, or with mo.callback"
            )
        bases.append(u)
    qa, qb = bases
    across = np.conj(qa.T) @ qb
    cosines = np.linalg.svdvals(across)
    rest = qb - qa @ across if qa.shape[1] >= qb.shape[1] else qa - qb @ np.conj(across.T)
    is_small = cosines**2 >= 0.5
    sines = np.where(is_small, np.clip(np.linalg.svdvals(rest), -1.0, 1.0), 0.0)
    turned = np.where(is_small, 0.0, np.clip(cosines[::-1], -1.0, 1.0))
    return np.where(is_small, np.arcsin(sines), np.arccos(turned))
