"""Derivatives of the compiled transforms that ``scipy.fft`` wraps and ``scipy.fftpack`` calls directly.

SciPy 1.18 moved them to another module, by DUCC instead of pocketfft, with the same names and arguments.

All are linear, so a pullback is the conjugate transpose: the transform in the other direction, with the same factor
(``inorm`` 0, 1, 2: 1, 1/sqrt(n), 1/n for the length n).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from .fourier import fit
from .scipy_fourier import transform_transpose
from .table import compiled, vjp

transforms = compiled("scipy.fft", "_duccfft.pyduccfft", "_pocketfft.pypocketfft")


def c2c_pullback(dy, y, a, axes=None, forward=True, inorm=0, out=None, nthreads=1):
    return transforms.c2c(dy + 0j, axes, not forward, inorm, None, nthreads)


def r2c_pullback(dy, y, a, axes=None, forward=True, inorm=0, out=None, nthreads=1):
    """The result omits the conjugate half of the spectrum along the last axis; its cotangent is zero there."""
    axes = range(np.ndim(a)) if axes is None else axes
    full = fit(dy, np.shape(a)[axes[-1]], axes[-1])
    return np.real(transforms.c2c(full + 0j, tuple(axes), not forward, inorm, None, nthreads))


def c2r_pullback(dy, y, a, axes=None, lastsize=0, forward=True, inorm=0, out=None, nthreads=1):
    """Each entry represents its conjugate too, except the first and, for an even length, the middle one."""
    axes = range(np.ndim(a)) if axes is None else axes
    last, n = axes[-1], np.shape(y)[axes[-1]]
    half = transforms.r2c(np.real(dy), tuple(axes), not forward, inorm, None, nthreads)
    k = np.arange(n // 2 + 1)
    counted = np.where((k == 0) | (2 * k == n), 1.0, 2.0).astype(half.real.dtype)
    return fit(half * counted.reshape((-1,) + (1,) * (half.ndim - 1 - last % half.ndim)), np.shape(a)[last], last)


def packed_pullback(dy, y, a, axes, real2hermitian, forward, inorm=0, out=None, nthreads=1):
    """The half spectrum alternates real and imaginary parts; inner entries also represent their conjugates."""
    for axis in axes:
        n = np.shape(a)[axis]
        k = np.arange(n)
        inner = (k > 0) & ((k < n - 1) | (n % 2 == 1))
        weight = np.where(inner, 0.5 if real2hermitian else 2.0, 1.0).astype(np.result_type(dy))
        weight = weight.reshape((-1,) + (1,) * (np.ndim(a) - 1 - axis % np.ndim(a)))
        turned = (axis,), not real2hermitian, not forward, inorm, None, nthreads
        before, after = (weight, 1) if real2hermitian else (1, weight)
        dy = transforms.r2r_fftpack(dy * before, *turned) * after
    return dy


def real_pullback(transform: Any) -> Any:
    def pullback(dy, y, a, type, axes=None, inorm=0, out=None, nthreads=1, ortho=None):
        norm = (None, "ortho", "forward")[inorm]
        for axis in range(np.ndim(a)) if axes is None else axes:
            dy = transform_transpose(dy, np.shape(a)[axis], transform, type, axis, norm, ortho)
        return dy

    return pullback


vjp(transforms.c2c, c2c_pullback)
vjp(transforms.r2c, r2c_pullback)
vjp(transforms.c2r, c2r_pullback)
vjp(transforms.r2r_fftpack, packed_pullback)
vjp(transforms.dct, real_pullback(scipy.fft.dct))
vjp(transforms.dst, real_pullback(scipy.fft.dst))
