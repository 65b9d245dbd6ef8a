"""Frechet derivatives of ``scipy.linalg``'s matrix functions as functions of their own, linear in the direction.

A function f of a matrix has the Frechet derivative L(A, E) in the direction E, which is the upper right block of

    f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]

(R. Mathias, "A chain rule for matrix functions and applications", SIAM J. Matrix Anal. 17, 1996).  The adjoint of E -> L(A, E) is
L(A^H, .) (N. Higham, "Functions of Matrices", 2008, section 3.2), so forward mode, which transposes a pullback, needs no block of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg._matfuncs_inv_ssq  # loaded by SciPy only once it computes a logarithm

from .factor_kernels import upper_block
from .library_programs import are_matrices, are_stacks, by_matrix, expands
from .matrix_exponential import exponential_adjoint, exponential_parts
from .products import hermitian as dagger
from .table import as_complex, linear, runs_compiled, vjp


def upper_right(function: Callable[..., Any], a: Any, e: Any, *rest: Any) -> Any:
    """L(A, E), with E scaled by a power of two to about 1, since the algorithms depend on the block's norm."""
    n = a.shape[-1]
    size = np.max(np.abs(e), initial=0.0)
    scale = (2.0 ** np.floor(np.log2(np.where(size > 0, size, 1.0)))).astype(e.real.dtype)
    found = scale * function(upper_block(a, e / scale), *rest)[..., :n, n:]
    return found if np.iscomplexobj(a) or np.iscomplexobj(e) else np.real(found)


def scaled_expm(a: Any) -> Any:
    """The exponential by squaring that of A / 2^s, of norm 1 at most: SciPy's own loses up to three digits at larger norms."""
    size = np.max(np.sum(np.abs(a), axis=-2), axis=-1, initial=0.0)
    if not np.any(size > 1.0):
        return scipy.linalg.expm(a)
    halvings = np.ceil(np.log2(np.maximum(size, 1.0)))[..., None, None]
    y = scipy.linalg.expm(a * (0.5**halvings).astype(a.real.dtype))
    for k in range(int(np.max(halvings))):
        y = np.where(k < halvings, y @ y, y)
    return y


def expm_derivative(a: Any, e: Any) -> Any:
    return upper_right(scaled_expm, a, e)


def logm_without_estimate(blocks: Any) -> Any:
    """SciPy's logarithm without its estimate of the error, which takes the exponential and overflows where derivatives are large."""
    n = blocks.shape[-1]
    found = [scipy.linalg._matfuncs_inv_ssq._logm(block) for block in np.reshape(blocks, (-1, n, n))]
    return np.reshape(np.array(found), blocks.shape)


def logm_derivative(a: Any, e: Any) -> Any:
    return upper_right(lambda block: logm_without_estimate(as_complex(block)), a, e)


def signm_derivative(a: Any, e: Any) -> Any:
    return upper_right(scipy.linalg.signm, a, e)


def power_derivative(a: Any, e: Any, t: Any) -> Any:
    return upper_right(lambda block: scipy.linalg.fractional_matrix_power(as_complex(block), t), a, e)


def power_by_exponent(dz: Any, z: Any, a: Any, e: Any, t: Any) -> Any:
    """The derivative of A^t by t is log(A) A^t, which has a Frechet derivative, too."""

    def slope(block: Any) -> Any:
        return scipy.linalg.logm(block) @ scipy.linalg.fractional_matrix_power(block, t)

    return np.sum(np.conj(upper_right(slope, as_complex(a), e)) * dz)


def is_linear_in_direction(derivative: Callable[..., Any], *further: Callable[..., Any]) -> None:
    """Register a Frechet derivative with the pullbacks of its further arguments."""

    def by_base(dz: Any, z: Any, a: Any, e: Any, *rest: Any) -> Any:
        n = a.shape[-1]
        g = derivative(dagger(upper_block(a, e)), upper_block(np.zeros_like(dz), dz), *rest)
        return g[..., :n, :n] + g[..., n:, n:]

    def by_direction(dz: Any, z: Any, a: Any, e: Any, *rest: Any) -> Any:
        return derivative(dagger(a), dz, *rest)

    vjp(derivative, by_base, by_direction, *further)
    linear(derivative, 1)
    runs_compiled(derivative, sample=lambda a, e, t=None: np.zeros(e.shape, np.result_type(a, e)))


is_linear_in_direction(expm_derivative)
is_linear_in_direction(logm_derivative)
is_linear_in_direction(signm_derivative)
is_linear_in_direction(power_derivative, power_by_exponent)


# In compiled code


def expm_derivative_by_parts(a: Any, e: Any) -> Any:
    adjoint = dagger(a)
    return exponential_adjoint(adjoint, e, *exponential_parts(adjoint))


def are_not_empty(a: Any, *rest: Any, **constants: Any) -> bool:
    return a.dtype.char in "fdFD" and 0 not in a.shape and a.ndim >= 2


expands(expm_derivative, expm_derivative_by_parts, are_matrices)
expands(expm_derivative, by_matrix(expm_derivative, 2, 2), are_stacks(2, 2))


def logm_derivative_by_logm(a: Any, e: Any) -> Any:
    return upper_right(lambda block: scipy.linalg.logm(as_complex(block)), a, e)


expands(logm_derivative, logm_derivative_by_logm, are_not_empty)
expands((signm_derivative, power_derivative), None, are_not_empty)
