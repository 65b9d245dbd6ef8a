"""Functions of NumPy and SciPy that the compiled program calls unchanged; samples give the types of their results.

The samples have the operands' dtypes and shapes.  Their square matrices are symmetric and positive definite, their
other numbers increase from 1/2 to 1, so that every such function is defined there.  The sample's result, arrays or
tuples of arrays, gives the structure and types of the call's result.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Value
from ...ir.matrix_errors import error_in, errors_of, name_of
from ...ir.traced_text import Text
from ...ir.typed import ArrayType
from ...rules import find_model, find_rule, linear_algebra as rules
from ...rules.table import AT_RUN_TIME, IN_COMPLEX
from ..choices import note_bounds
from ..scopes import Choice
from ..traced import Array, Trace, traces
from .arguments import holds_traced, is_array_like, new_array, refuse, static, value

_LINEAR_ALGEBRA = (
    *("solve", "inv", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "pinv"),
    *("cond", "matrix_rank", "tensorsolve", "tensorinv", "matrix_norm", "vector_norm"),
)
_FOURIER = (
    *("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn"),
    *("irfftn", "fftshift", "ifftshift"),
)
_NUMPY = (
    *("isin", "unravel_index", "ravel_multi_index"),
    *("convolve", "correlate", "interp", "i0", "unwrap", "polyfit"),
)
_SCIPY = ("scipy.linalg", "scipy.fft", "scipy.special", "scipy.signal", "scipy.ndimage", "scipy.spatial.distance")
_REAL_OR_COMPLEX = frozenset(("funm",))
_BY_VALUE = frozenset(("null_space", "orth", "find_peaks", "label"))


def call(trace: Trace, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Write a call of the library function into the program."""
    module = getattr(function, "__module__", None) or type(function).__name__
    name = f"{module.split('.')[0]}.{function.__name__}"
    sampled = AT_RUN_TIME.get(function)
    operands, constants, out = _operands(trace, name, function, args, kwargs, sampled is not None)
    if function.__name__ in _BY_VALUE:
        raise refuse(f"{name}, whose result's shape depends on values,", "compute it outside, or with mo.callback")
    if not any(v.type.dtype.kind == "c" for v in operands):
        if function in IN_COMPLEX:
            return _real_or_complex(trace, name, function, args, kwargs)
        if function.__name__ in _REAL_OR_COMPLEX:
            raise _unknown_kind(name)
    sample = _sampled(name, sampled or function, operands, constants)
    if isinstance(sample, tuple) and any(
        x is None for x in sample
    ):  # the call's results would be fewer than the function's
        raise refuse(f"{name}, which returns None beside arrays,", "use mo.callback")
    leaves: list[Any] = []
    build = _plan(name, sample, leaves)
    types = [_type_of(x) for x in leaves]
    is_checked = trace.sees(np.linalg.LinAlgError) and _throw_error(trace, function, operands, constants)
    made = trace.builder.call(function, operands, types, **constants)
    if is_checked:
        trace.checked.update(made)
    wrapped = [new_array(v) if isinstance(x, np.ndarray) else trace.wrap(v) for v, x in zip(made, leaves)]
    found = build(iter(wrapped))
    if out is None:
        return found
    if not isinstance(found, Array) or (found.dtype, found.shape) != (out.dtype, out.shape):
        raise refuse(f"{name}(out=) of another dtype or shape", "assign the result instead")
    trace.call(operator.setitem, out, ..., found)
    return out


def _unknown_kind(name: str) -> BadInput:
    return refuse(f"{name} of real numbers, whose result may be real or complex,", "pass x.astype(complex)")


def _real_or_complex(trace: Any, name: str, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function whose results are real or complex, by the values of its arguments: each becomes a choice of the two."""
    in_complex, always = IN_COMPLEX[function]
    if not trace.allows("may_choose"):
        raise _unknown_kind(name)
    *found, is_real = call(trace, in_complex, args, kwargs)
    which = trace.call(int, trace.call(np.logical_not, is_real))
    choices = [Choice(which, [trace.call(np.copy, trace.call(np.real, x)), x]) for x in found[always:]]
    for choice in choices:
        note_bounds(trace, choice)
    parts = [*found[:always], *choices]
    if len(parts) == 1:
        return parts[0]
    kind = type(function(np.ones((1, 1))))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def _throw_error(trace: Trace, function: Any, operands: list[Value], constants: dict[str, Any]) -> bool:
    """Raise the error that the call would raise, where a ``try`` can catch it; return whether all its errors are known."""
    errors = errors_of(function, constants)
    if errors:
        kinds = [ArrayType(np.dtype(np.int64))] * 2
        place, number = trace.builder.call(error_in, operands, kinds, name=name_of(function), **constants)
        condition = trace.wrap(trace.builder.ufunc(np.not_equal, place, trace.builder.constant(0)))
        texts = [Text(text, [trace.wrap(number)]) if "{}" in text else text for _, text in errors]
        raised = [kind(text) for (kind, _), text in zip(errors, texts)]
        trace.throw_one_of(condition, trace.unchecked(operator.sub, trace.wrap(place), 1), raised)
    return errors is not None


def _operands(
    trace: Trace, name: str, function: Any, args: Any, kwargs: dict[str, Any], has_any_length: bool
) -> tuple[list[Value], dict[str, Any], Any]:
    """Split the arguments into arrays, passed first, compile-time constants, passed by keyword, and the argument ``out``.

    Arguments that the function may overwrite are kept: it is called without ``overwrite_...``.  If an array ``has_any_length``,
    it may be known only at run time.
    """
    signature = _signature(name, function)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    bound = {k: False if k.startswith("overwrite_") else x for k, x in bound.items()}
    kinds = {k: p.kind for k, p in signature.parameters.items()}
    if any(kinds[k] in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for k in bound):
        raise refuse(f"{name} with a variable number of arguments", "use mo.callback")
    out = bound.pop("out", None)
    last = max((i for i, x in enumerate(bound.values()) if holds_traced(x)), default=-1)
    operands, constants = [], {}
    for i, (k, x) in enumerate(bound.items()):
        if k == "output" and isinstance(x, (Array, np.ndarray)):  # the call would write into a copy
            raise refuse(f"{name}(output=)", "assign its result instead")
        if i <= last:
            if not is_array_like(x) or kinds[k] is inspect.Parameter.KEYWORD_ONLY:
                raise refuse(f"{name} with this value of {k}=", "use mo.callback")
            if isinstance(x, (list, tuple)) and any(isinstance(e, (Array, np.ndarray)) for e in x):
                raise refuse(f"{name}({k}=) of several arrays", "stack them, or use mo.callback")
            operands.append(value(trace, x) if has_any_length else static(value(trace, x), name))
        elif kinds[k] is inspect.Parameter.POSITIONAL_ONLY:
            operands.append(value(trace, x))
        else:
            constants[k] = x
    return operands, constants, out


def _signature(name: str, function: Any) -> inspect.Signature:
    """Return a function's signature; that of a compiled function without one stands in its rule."""
    try:
        return inspect.signature(function)
    except ValueError:
        rule = find_rule(function)
        pullbacks = () if rule is None else (*rule.pullbacks, rule.together)
        for pullback in pullbacks:
            if pullback is not None:
                return inspect.Signature(list(inspect.signature(pullback).parameters.values())[2:])
    raise refuse(f"{name}, whose signature is not known,", "use mo.callback")


_known: dict[Any, Any] = {}
_SAMPLES = ((1, None), (20, None), (1, 0), (1, -1))
"""Some functions are defined for larger numbers only, those of banded matrices for a dominant diagonal: a row of its own."""


def _sampled(name: str, function: Any, operands: list[Value], constants: dict[str, Any]) -> Any:
    """Return the function's result for samples of these types; cached if the constants are hashable."""
    key: Any = (function, tuple(v.type for v in operands), tuple(sorted(constants.items())))
    try:
        is_kept = not any(v.is_constant or not v.type.is_static for v in operands)
        if is_kept and key in _known:
            return _known[key]
    except TypeError:  # an unhashable constant
        is_kept = False
    found: Any = None
    for scale, row in _SAMPLES:
        samples = [v.constant if v.is_constant else sample_of(v.type, scale, row) for v in operands]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(*samples, **constants)
            break
        except (ValueError, TypeError, np.linalg.LinAlgError) as error:
            if (scale, row) == _SAMPLES[-1]:
                kinds = ", ".join(str(v.type) for v in operands)
                text = f"{name} cannot take arguments of the types {kinds}: {error}"
                raise BadInput(text, in_python=error) from error
    found = _shell(found)
    if is_kept:
        _known[key] = found
    return found


def _shell(x: Any) -> Any:
    """Replace a result's arrays by ones of the same dtype and shape that take no memory."""
    if isinstance(x, np.ndarray):
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)
    if isinstance(x, (tuple, list)):
        parts = map(_shell, x)
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def sample_of(kind: ArrayType, scale: int = 1, row: int | None = None) -> Any:
    """Return a sample of a type on which linear algebra and analysis are defined; ``scale`` multiplies its floats.

    The elements of the matrices' ``row`` are larger than the sum of the others.
    """
    shape, dtype = kind.bounds, kind.dtype
    if dtype.kind == "b":
        return np.ones(shape, bool)[()]
    if dtype.kind in "iu":
        if kind.weak or not shape:
            return np.ones(shape, dtype)[()]
        # A vector may hold indices, which LAPACK does not check: numbers beyond its end would be written out of bounds.
        first = 0 if len(shape) == 1 and scale == 1 else 1
        return np.arange(first, np.prod(shape) + first).reshape(shape).astype(dtype)
    size = int(np.prod(shape))
    found = scale * np.linspace(0.5, 1.0, size).reshape(shape) if size else np.zeros(shape)
    if len(shape) >= 2 and row is not None:
        found[..., row, :] += 4 * scale * shape[-2]
    elif len(shape) >= 2 and shape[-1] == shape[-2]:
        found = found + np.swapaxes(found, -1, -2) + 4 * shape[-1] * np.eye(shape[-1]) * (1 + np.arange(shape[-1]))
    elif len(shape) >= 2:  # of full rank, which a least-squares problem gives results of other shapes without
        found = found + 4 * max(shape[-2:]) * np.eye(*shape[-2:]) * (1 + np.arange(shape[-1]))
    found = found.astype(dtype)
    return found.item() if kind.weak else found[()]


def _plan(name: str, sample: Any, leaves: list[Any]) -> Callable[..., Any]:
    """Return the function that rebuilds the result's structure from its arrays, which are appended to ``leaves``."""
    if (
        isinstance(sample, (np.ndarray, np.generic, bool, int, float, complex))
        and np.asarray(sample).dtype.kind in "biufc"
    ):
        leaves.append(sample)
        return next
    if isinstance(sample, (tuple, list)):
        parts = [_plan(name, x, leaves) for x in sample]
        kind = type(sample)
        if hasattr(sample, "_fields"):
            return lambda found: kind(*[part(found) for part in parts])
        return lambda found: kind(part(found) for part in parts)
    if sample is None:
        return lambda found: None
    raise refuse(f"{name}, which returns a {type(sample).__name__},", "use mo.callback")


def _type_of(x: Any) -> ArrayType:
    array = np.asarray(x)
    is_python = type(x) in (bool, int, float, complex)
    return ArrayType(array.dtype, array.shape, is_python)


def library_trace(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a library function does on traced values: a call at run time."""
    return lambda trace, *args, **kwargs: call(trace, function, args, kwargs)


for _module, _names in (
    (np.linalg, (*_LINEAR_ALGEBRA, "eig", "eigvals")),
    (np.fft, _FOURIER),
    (np, _NUMPY),
):
    for _name in _names:
        if hasattr(_module, _name):
            traces(getattr(_module, _name))(library_trace(getattr(_module, _name)))


@traces(np.linalg.lstsq)
def lstsq(trace: Trace, a: Any, b: Any, rcond: Any = None) -> Any:
    x, residuals, rank, s = call(trace, rules.lstsq, (a, b, rcond), {})
    rows, columns = value(trace, a).type.bounds
    if rows > columns:  # residuals exist if the matrix has full rank
        is_whole = trace.call(int, trace.call(operator.eq, rank, columns))
        count = trace.call(operator.mul, residuals.type.bounds[0], is_whole)
        residuals = trace.call(operator.getitem, residuals, slice(None, count))
    return x, residuals, rank, s


@traces(np.linalg.matrix_rank)
def matrix_rank(trace: Trace, A: Any, *args: Any, **kwargs: Any) -> Any:
    kind = value(trace, A).type
    if kind.is_static or kind.ndim != 2:
        return call(trace, np.linalg.matrix_rank, (A, *args), kwargs)
    return trace.calls.interpret(_matrix_rank, (A, kind.bounds, *args), kwargs)  # type: ignore[attr-defined]


def _matrix_rank(a: Any, largest: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """``np.linalg.matrix_rank`` of a matrix whose lengths are known only at run time: zeros, of which no rank comes, fill it up."""
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    whole = np.zeros(largest, np.result_type(a, 1.0))
    whole[: a.shape[0], : a.shape[1]] = a
    values = np.linalg.svd(whole, compute_uv=False, hermitian=hermitian)
    if tol is None:
        tol = values.max() * (max(a.shape) * np.finfo(values.dtype).eps if rtol is None else rtol)
    return np.count_nonzero(values > tol)


def find(function: Any) -> Callable[..., Any] | None:
    """Return what a public function of SciPy's listed modules does on traced values; None for others."""
    module = getattr(function, "__module__", None) or ""
    if not module.startswith("scipy.") or not callable(function) or isinstance(function, type):
        return None
    name = getattr(function, "__name__", "")
    own, rule = WRITTEN.get(name), find_rule(function)
    if own is None and find_model(function) is not None:
        return None
    for public in _SCIPY:
        if module.startswith(public) and getattr(sys.modules.get(public), name, None) is function:
            if own is None and isinstance(function, FunctionType) and rule is None:
                return functools.partial(_from_source, function)
            return own if own is not None else library_trace(function)
    return None


def _from_source(function: FunctionType, trace: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a Python function that has no rule: from its source where it is differentiated, or cannot be called at run time."""
    first, second = library_trace(function), functools.partial(_interpreted, function)
    if trace.level:
        first, second = second, first
    try:
        return first(trace, *args, **kwargs)
    except BadInput as error:
        try:
            return second(trace, *args, **kwargs)
        except BadInput:
            raise error from None


def _interpreted(function: FunctionType, trace: Any, *args: Any, **kwargs: Any) -> Any:
    region = trace.run_region(lambda _: trace.calls.call_function(function, args, kwargs, always=True))
    trace.commit(region)
    return region.result


# SciPy functions written here with NumPy's functions, so that the back ends can optimise them.

WRITTEN: dict[str, Callable[..., Any]] = {}


def written(body: Callable[..., Any]) -> Callable[..., Any]:
    WRITTEN[body.__name__] = body
    return body


def scipy_lstsq(trace: Trace, a: Any, b: Any, cond: Any = None, *args: Any, **kwargs: Any) -> Any:
    import scipy.linalg

    from ...rules.scipy_linear_algebra import gelsy

    given = inspect.signature(scipy.linalg.lstsq).bind(a, b, cond, *args, **kwargs).arguments
    if given.get("lapack_driver") != "gelsy":
        return call(trace, scipy.linalg.lstsq, (a, b, cond, *args), kwargs)
    return *call(trace, gelsy, (a, b, cond), {}), None


WRITTEN["lstsq"] = scipy_lstsq


@written
def logsumexp(
    trace: Trace, a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    if return_sign or b is not None:
        raise refuse("logsumexp(b=, return_sign=)", "write the formula with np.exp, np.sum and np.log")
    call = trace.call
    largest = call(np.max, a, axis=axis, keepdims=True)
    safe = call(np.where, call(np.isfinite, largest), largest, np.zeros((), largest.dtype))
    shifted = call(np.subtract, a, safe)
    found = call(np.add, call(np.log, call(np.sum, call(np.exp, shifted), axis=axis, keepdims=True)), safe)
    return found if keepdims else trace.wrap(value(trace, call(np.squeeze, found, axis)))


@written
def softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    call = trace.call
    raised = call(np.exp, call(np.subtract, x, call(np.max, x, axis=axis, keepdims=True)))
    return call(np.true_divide, raised, call(np.sum, raised, axis=axis, keepdims=True))


@written
def log_softmax(trace: Trace, x: Any, axis: Any = None) -> Any:
    call = trace.call
    largest = call(np.max, x, axis=axis, keepdims=True)
    shifted = call(np.subtract, x, call(np.where, call(np.isfinite, largest), largest, np.zeros((), largest.dtype)))
    return call(np.subtract, shifted, call(np.log, call(np.sum, call(np.exp, shifted), axis=axis, keepdims=True)))


@written
def solve_toeplitz(trace: Trace, c_or_cr: Any, b: Any, check_finite: Any = True) -> Any:
    import scipy.linalg

    from ...rules.scipy_matrix_functions import solve_general_toeplitz

    if isinstance(c_or_cr, tuple):
        return call(trace, solve_general_toeplitz, (*c_or_cr, b), {})
    return call(trace, scipy.linalg.solve_toeplitz, (c_or_cr, b), {})


@written
def block_diag(trace: Trace, *arrs: Any) -> Any:
    if any(value(trace, x).type.ndim > 2 for x in arrs):
        raise refuse("scipy.block_diag of stacks of matrices", "call it for each matrix")
    return trace.calls.interpret(_block_diag, arrs, {})  # type: ignore[attr-defined]


def _block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(a) for a in arrs]
    found = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), np.result_type(*blocks))
    i, j = 0, 0
    for block in blocks:
        found[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return found


def _riccati(name: str) -> Callable[..., Any]:
    """Return what a solver of Riccati equations does: with ``s``, a missing ``e`` is the identity."""

    def solve(trace: Trace, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
        import scipy.linalg

        if e is None and s is not None:
            e = np.eye(static(value(trace, a), name).type.shape[-1])  # type: ignore[arg-type]
        return call(trace, getattr(scipy.linalg, name), (a, b, q, r, e, s, balanced), {})

    return solve


for _name in ("solve_continuous_are", "solve_discrete_are"):
    WRITTEN[_name] = _riccati(_name)


def _routines(name: str) -> Callable[..., Any]:
    """Return what a function that finds routines of BLAS or LAPACK does: it needs only the arrays' dtypes."""

    def found(trace: Trace, names: Any, arrays: Any = (), *args: Any, **kwargs: Any) -> Any:
        import scipy.linalg

        return getattr(scipy.linalg, name)(names, [np.empty(0, x.dtype) for x in arrays], *args, **kwargs)

    return found


for _name in ("get_blas_funcs", "get_lapack_funcs"):
    WRITTEN[_name] = _routines(_name)
