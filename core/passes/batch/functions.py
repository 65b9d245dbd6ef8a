"""Functions of NumPy and SciPy for all samples of a batch: those that act on the last axes of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ...ir.dynamic import Operation, Value
from ...ir.typed import ArrayType
from . import structural

Written = structural.Written

OF_LAST_AXES = {
    getattr(np.linalg, name)
    for name in "inv cholesky det slogdet eigh eigvalsh svd svdvals qr pinv eig eigvals solve".split()
}
"""Functions of matrices in the last two axes."""

_ALONG = {f"{kind}{name}" for kind in ("", "i", "r", "ir", "h", "ih") for name in ("fft",)}
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
    return op.callee in structural.BATCHED or structural.by_element is batched(op)


def _of_last_axes(sweep: Any, op: Operation) -> list[Value]:
    if op.callee is np.linalg.solve:
        return [_solution(sweep, op)]
    return structural.again(sweep, op, [sweep.valid(v) for v in op.positional])


def _solution(sweep: Any, op: Operation) -> Value:
    """A right-hand side for each sample is a column of one, if the matrix is the same for all."""
    b, (a, right) = sweep.builder, op.positional
    kind = sweep.type(op.results[0].type)
    x = sweep.valid(right)
    if a in sweep.varying:
        a_all = sweep.valid(a)
        x = x if right in sweep.varying else sweep.whole(right)
        if right.type.ndim > 1:
            return b.call(np.linalg.solve, [a_all, x], [kind])[0]
        columns = b.reshape(x, (*x.type.shape, 1))
        found = b.call(np.linalg.solve, [a_all, columns], [ArrayType(kind.dtype, (*kind.shape, 1))])[0]
        return b.reshape(found, kind.shape)
    matrix = sweep.get(a)
    if right.type.ndim == 1 and a.type.ndim == 2:
        turned = ArrayType(kind.dtype, kind.shape[::-1])
        return b.transpose(b.call(np.linalg.solve, [matrix, b.transpose(x, (1, 0))], [turned])[0], (1, 0))
    return b.call(np.linalg.solve, [sweep.whole(a), x], [kind])[0]


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
