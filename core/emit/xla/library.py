"""Linear algebra and Fourier transforms, with LAPACK's conventions and NumPy's errors; other functions run in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jax import lax

from ...ir.dynamic import Operation, Value
from ...ir.matrix_errors import NO_EIGENVALUES, NO_SVD, error_in, named
from ...ir.typed import ArrayType
from ...rules.matrix_factorisations import eig_in_complex, eigvals_in_complex
from .lower import FAILING, LOWERINGS, Failure, Site, Walk, is_lowered, lowers

SINGULAR = Site(np.linalg.LinAlgError, "Singular matrix")
_NOT_FINITE = Site(np.linalg.LinAlgError, "Array must not contain infs or NaNs")
_NO_EIGENVALUES = Site(*NO_EIGENVALUES)
_NO_SVD = Site(*NO_SVD)
_INDEFINITE = Site(np.linalg.LinAlgError, "Matrix is not positive definite")


def takes(*constants: str) -> Callable[[Operation], bool]:
    """Return a test for calls with no constants but these, on non-empty LAPACK matrices of known shapes."""
    return lambda op: (
        set(op.named) <= set(constants)
        and all(v.type.is_static and v.type.dtype.char in "fdFD" and 0 not in v.type.shape for v in op.positional)
    )


# ---- solving


def _factor(walk: Walk, a: Any) -> tuple[Any, Any]:
    """Return the LU factors and permutations of matrices; a singular one sets the program's error."""
    factors, _, permutation = lax.linalg.lu(a)
    walk.fail_if(jnp.any(jnp.diagonal(factors, axis1=-2, axis2=-1) == 0), SINGULAR)
    return factors, permutation


def _substitute(factors: Any, permutation: Any, b: Any) -> Any:
    b = jnp.take_along_axis(b, permutation[..., None], axis=-2)
    b = lax.linalg.triangular_solve(factors, b, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(factors, b, left_side=True, lower=False)


@lowers(np.linalg.solve, fails=True, when=takes())
def _solve(walk: Walk, op: Operation, a: Any, b: Any) -> Any:
    a, b = jnp.asarray(a), jnp.asarray(b)
    dtype = op.results[0].type.dtype
    a, b = a.astype(dtype), b.astype(dtype)
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    x = _substitute(*_factor(walk, a), b)
    return x[..., 0] if is_vector else x


@lowers(np.linalg.inv, fails=True, when=takes())
def _inv(walk: Walk, op: Operation, a: Any) -> Any:
    a = jnp.asarray(a)
    unit = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return _substitute(*_factor(walk, a), unit)


@lowers(np.linalg.cholesky, fails=True, when=takes("upper"))
def _cholesky(walk: Walk, op: Operation, a: Any, upper: bool = False) -> Any:
    a = jnp.asarray(a)
    a = jnp.conj(jnp.swapaxes(a, -1, -2)) if upper else a
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    walk.fail_if(jnp.any(jnp.isnan(jnp.diagonal(factor, axis1=-2, axis2=-1))), _INDEFINITE)
    return jnp.conj(jnp.swapaxes(factor, -1, -2)) if upper else factor


def _without_result(op: Operation) -> Operation:
    """Return the call of which an ``error_in`` tells whether it raises."""
    names = dict(zip(op.keywords, op.operands[len(op.positional) :]))
    function = named(names.pop("name").constant)
    kind = ArrayType(np.result_type(*(v.type.dtype for v in op.positional)), ())
    return Operation("call", function, [*op.positional, *names.values()], tuple(names), results=[Value("", kind)])


def _has_one_error(op: Operation) -> bool:
    """Whether a call has a lowering with one error: SciPy's functions have several, with numbers in their texts."""
    inner = _without_result(op)
    return is_lowered(inner) and inner.callee in FAILING and not inner.callee.__module__.startswith("scipy")


@lowers(error_in, fails=True, when=_has_one_error)
def _error_in(walk: Walk, op: Operation, *operands: Any, name: str, **constants: Any) -> Any:
    """Tell whether a function fails by its own lowering, whose errors are kept from the program."""
    before = walk.failure
    assert before is not None
    walk.failure = Failure(jnp.zeros_like(before.code), before.bits)
    LOWERINGS[named(name)](walk, _without_result(op), *operands, **constants)
    place = jnp.where(walk.failure.code != 0, 1, 0).astype(np.int64)
    walk.failure = before
    return place, jnp.zeros_like(place)


@lowers(np.linalg.det, when=takes())
def _det(walk: Walk, op: Operation, a: Any) -> Any:
    return jnp.linalg.det(jnp.asarray(a))


@lowers(np.linalg.slogdet, when=takes())
def _slogdet(walk: Walk, op: Operation, a: Any) -> Any:
    return jnp.linalg.slogdet(jnp.asarray(a))


# ---- decompositions


def _fail_for_nan(walk: Walk, a: Any, values: Any, site: Site) -> None:
    """Fail where LAPACK does not converge: XLA gives NaN there, and for infinities, for which NumPy gives NaN as well."""
    walk.fail_if(jnp.any(jnp.isnan(values)) & jnp.logical_not(jnp.any(jnp.isinf(a))), site)


@lowers(np.linalg.eigh, np.linalg.eigvalsh, fails=True, when=takes("UPLO"))
def _eigh(walk: Walk, op: Operation, a: Any, UPLO: str = "L") -> Any:
    a = jnp.asarray(a)
    vectors, values = lax.linalg.eigh(a, lower=UPLO.upper() == "L", symmetrize_input=False)
    _fail_for_nan(walk, a, values, _NO_EIGENVALUES)
    return (values, vectors) if op.callee is np.linalg.eigh else values


@lowers(np.linalg.svd, fails=True, when=lambda op: takes("full_matrices", "compute_uv")(op))
def _svd(walk: Walk, op: Operation, a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    a = jnp.asarray(a)
    found = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    _fail_for_nan(walk, a, found[1] if compute_uv else found, _NO_SVD)
    return found


@lowers(np.linalg.svdvals, fails=True, when=takes())
def _svdvals(walk: Walk, op: Operation, a: Any) -> Any:
    return _svd(walk, op, a, compute_uv=False)


def _has_factors(op: Operation) -> bool:
    return takes("mode")(op) and ("mode" not in op.named or op.named["mode"].constant in ("reduced", "complete", "r"))


@lowers(np.linalg.qr, when=_has_factors)
def _qr(walk: Walk, op: Operation, a: Any, mode: str = "reduced") -> Any:
    return jnp.linalg.qr(jnp.asarray(a), mode=mode)


def _is_on_cpu(op: Operation) -> bool:
    """Whether XLA has the function: it has general eigenvalues on the CPU alone; elsewhere they are computed in Python."""
    return jax.default_backend() == "cpu" and takes()(op)


@lowers(np.linalg.eig, eig_in_complex, np.linalg.eigvals, eigvals_in_complex, fails=True, when=_is_on_cpu)
def _eig(walk: Walk, op: Operation, a: Any) -> Any:
    a = jnp.asarray(a)
    walk.fail_if(jnp.logical_not(jnp.all(jnp.isfinite(a))), _NOT_FINITE)
    has_vectors = op.callee in (np.linalg.eig, eig_in_complex)
    values, *vectors = lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=has_vectors)
    walk.fail_if(jnp.any(jnp.isnan(values)), _NO_EIGENVALUES)
    found = [values, *vectors]
    if op.callee in (eig_in_complex, eigvals_in_complex):
        found.append(jnp.logical_not(jnp.any(jnp.imag(values) != 0)))
    return found if len(found) > 1 else values


# ---- Fourier transforms


def _transform(function: Callable[..., Any]) -> Callable[..., Any]:
    def lower(walk: Walk, op: Operation, x: Any, **constants: Any) -> Any:
        # The result's dtype decides the precision, as in NumPy; JAX computes in the precision of its argument.
        single = op.results[0].type.dtype.char in "fF"
        x = jnp.asarray(x)
        wide = {"f": np.float32, "c": np.complex64} if single else {"f": np.float64, "c": np.complex128}
        given = {name: v for name, v in constants.items() if v is not None}
        return function(x.astype(wide["c" if x.dtype.kind == "c" else "f"]), **given)

    return lower


def _is_transform(op: Operation) -> bool:
    constants = {name for name, v in op.named.items() if v.constant is not None}
    return constants <= {"n", "s", "axis", "axes", "norm"} and all(v.type.is_static for v in op.positional)


for _name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split():
    for _module in (np.fft, scipy.fft):
        lowers(getattr(_module, _name), when=_is_transform)(_transform(getattr(jnp.fft, _name)))
for _function, _shift in ((np.fft.fftshift, jnp.fft.fftshift), (np.fft.ifftshift, jnp.fft.ifftshift)):
    lowers(_function, when=_is_transform)(lambda walk, op, x, axes=None, shift=_shift: shift(jnp.asarray(x), axes))
