"""Functions of NumPy and SciPy for all samples of a batch: those that act on the last axes of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ...ir.dynamic import Operation, Value
from ...ir.typed import ArrayType, with_rule
from ...rules.kept_factors import det_factored, factored, inv_factored, slogdet_factored, solve_factored
from . import structural

Written = structural.Written

OF_LAST_AXES = {
    getattr(np.linalg, name)
    for name in "inv cholesky det slogdet eigh eigvalsh svd svdvals qr pinv eig eigvals solve".split()
}
"""Functions of matrices in the last two axes."""
OF_LAST_AXES |= {factored, solve_factored, inv_factored, slogdet_factored, det_factored}
SOLVERS = (np.linalg.solve, solve_factored)

_ALONG = {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft"}
_OVER = {f"{kind}fft{n}": n for kind in ("", "i", "r", "ir") for n in ("2", "n")}
_SHIFTS = {"fftshift", "ifftshift"}
TRANSFORMS = {getattr(module, name): name for module in (np.fft, scipy.fft) for name in (*_ALONG, *_OVER, *_SHIFTS)}
"""Fourier transforms by name."""


def batched(op: Operation) -> Written | None:
    """Return what writes a call for all samples; None if it has to be called for one after the other."""
    callee = op.callee
    if isinstance(callee, np.ufunc) and callee.signature is None:
        return structural.by_element
    if isinstance(getattr(callee, "__self__", None), np.ufunc) and callee.__name__ == "accumulate":
        return structural.along_axis
    if callee in OF_LAST_AXES:
        return _of_last_axes
    if callee in TRANSFORMS:
        return _transform
    return None


def is_total(op: Operation) -> bool:
    """Whether a call has a result for any operands: it may be computed for samples that do not use it."""
    if op.callee is with_rule:  # it may call anything
        return False
    return op.callee in structural.BATCHED or structural.by_element is batched(op)


def _of_last_axes(sweep: Any, op: Operation) -> list[Value]:
    if op.callee in SOLVERS:
        return [_solution(sweep, op)]
    return structural.again(sweep, op, [sweep.valid(v) for v in op.positional])


def _solution(sweep: Any, op: Operation) -> Value:
    """One system for each sample; right-hand sides of one matrix are columns.

    Stacks of systems broadcast against each other, so the axis of the samples has to be the first of all operands that have it:
    the matrix, the right-hand side, and the matrix's factors if they are known.
    """
    b, (a, right, *factors) = sweep.builder, op.positional
    kind = sweep.type(op.results[0].type)
    is_vector = right.type.ndim == 1
    given = [sweep.valid(v) for v in op.positional]
    matrix, x, *kept = given
    if is_vector and a.type.ndim == 2 and not any(v in sweep.varying for v in (a, *factors)):
        columns = ArrayType(kind.dtype, kind.shape[::-1])
        turned = [matrix, b.transpose(x, (1, 0)), *kept]
        return b.transpose(_again(b, op, turned, columns), (1, 0))
    if is_vector:
        given[1] = b.reshape(x, (*x.type.shape, 1))
    ndims = [v.type.ndim + (v is right and is_vector) for v in op.positional]
    given = [
        sweep.with_axes(y, max(ndims) - n) if v in sweep.varying else y for v, y, n in zip(op.positional, given, ndims)
    ]
    found = ArrayType(kind.dtype, (*kind.shape, 1) if is_vector else kind.shape)
    return b.reshape(_again(b, op, given, found), kind.shape)


def _again(builder: Any, op: Operation, operands: list[Value], kind: ArrayType) -> Value:
    constants = {name: v.constant for name, v in op.named.items()}
    return builder.call(op.callee, operands, [kind], **constants)[0]


def _transform(sweep: Any, op: Operation) -> list[Value]:
    """Axes are counted from the end, so that those of the samples do not matter."""
    (x,) = op.positional
    named = {name: v.constant for name, v in op.named.items()}
    name = TRANSFORMS[op.callee]
    ndim = x.type.ndim
    if name in _ALONG:
        changed = {"axis": _from_end(named.get("axis", -1), ndim)}
    elif name in _SHIFTS or _OVER[name] == "n":
        s, axes = named.get("s"), named.get("axes")
        if axes is None:
            axes = range(-ndim, 0) if s is None else range(-len(s), 0)
        axes = (axes,) if isinstance(axes, int) else axes
        changed = {"axes": tuple(_from_end(a, ndim) for a in axes)}
    else:
        changed = {"axes": tuple(_from_end(a, ndim) for a in named.get("axes", (-2, -1)))}
    return structural.again(sweep, op, [sweep.get(x)], **changed)


def _from_end(axis: int, ndim: int) -> int:
    return axis if axis < 0 else axis - ndim
