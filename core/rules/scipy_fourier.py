"""Derivatives of ``scipy.fft``: the Fourier transforms as in ``fourier``, and the cosine and sine transforms.

A cosine or sine transform of type I to IV, up to a factor s and weights on the first or last entry, is a matrix that is
symmetric (types I and IV) or the transpose of the other type's (II and III):

    DCT-I  = C W, C symmetric, W = diag(1, 2, ..., 2, 1)        DST-I and DST-IV, DCT-IV: symmetric
    DCT-III = DCT-II^T diag(1/2, 1, ..., 1)                     DST-III = DST-II^T diag(1, ..., 1, 1/2)

(K. Rao and P. Yip, "Discrete Cosine Transform", 1990, section 2.2; SciPy's documentation has the factors.)  The inverse
of type II is type III with the opposite norm, and so on; so one pullback serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from .fourier import (
    TURNED,
    fft_pullback,
    fftn_pullback,
    fit,
    hfft_pullback,
    ifft_pullback,
    ifftn_pullback,
    ihfft_pullback,
    in_turn,
    irfft_pullback,
    irfftn_pullback,
    rfft_pullback,
    rfftn_pullback,
)
from .table import vjp

Pullback = Callable[..., Any]


def along_one_axis(pullback: Pullback) -> Pullback:
    """Give a pullback of NumPy's the parameters of SciPy's function; options such as ``workers`` are dropped."""
    return lambda dy, y, x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, *, plan=None: pullback(
        dy, y, x, n, axis, norm
    )


def along_axes(pullback: Pullback) -> Pullback:
    return lambda dy, y, x, s=None, axes=None, norm=None, overwrite_x=False, workers=None, *, plan=None: pullback(
        dy, y, x, s, axes, norm
    )


def along_last_two(pullback: Pullback) -> Pullback:
    return lambda dy, y, x, s=None, axes=(-2, -1), norm=None, overwrite_x=False, workers=None, *, plan=None: pullback(
        dy, y, x, s, axes, norm
    )


def hfftn_pullback(dy: Any, y: Any, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return np.conj(irfftn_pullback(dy, y, x, s, axes, TURNED[norm]))


def ihfftn_pullback(dy: Any, y: Any, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    return rfftn_pullback(np.conj(dy), y, x, s, axes, TURNED[norm])


vjp(scipy.fft.fft, along_one_axis(fft_pullback))
vjp(scipy.fft.ifft, along_one_axis(ifft_pullback))
vjp(scipy.fft.rfft, along_one_axis(rfft_pullback))
vjp(scipy.fft.irfft, along_one_axis(irfft_pullback))
vjp(scipy.fft.hfft, along_one_axis(hfft_pullback))
vjp(scipy.fft.ihfft, along_one_axis(ihfft_pullback))
vjp(scipy.fft.fftn, along_axes(fftn_pullback))
vjp(scipy.fft.ifftn, along_axes(ifftn_pullback))
vjp(scipy.fft.rfftn, along_axes(rfftn_pullback))
vjp(scipy.fft.irfftn, along_axes(irfftn_pullback))
vjp(scipy.fft.hfftn, along_axes(hfftn_pullback))
vjp(scipy.fft.ihfftn, along_axes(ihfftn_pullback))
vjp(scipy.fft.fft2, along_last_two(fftn_pullback))
vjp(scipy.fft.ifft2, along_last_two(ifftn_pullback))
vjp(scipy.fft.rfft2, along_last_two(rfftn_pullback))
vjp(scipy.fft.irfft2, along_last_two(irfftn_pullback))
vjp(scipy.fft.hfft2, along_last_two(hfftn_pullback))
vjp(scipy.fft.ihfft2, along_last_two(ihfftn_pullback))
# If SciPy takes these from NumPy, ``fourier`` has their rules already.
if scipy.fft.fftshift is not np.fft.fftshift:
    vjp(scipy.fft.fftshift, lambda dy, y, x, axes=None: np.fft.ifftshift(dy, axes))
    vjp(scipy.fft.ifftshift, lambda dy, y, x, axes=None: np.fft.fftshift(dy, axes))
if scipy.fft.fftfreq is not np.fft.fftfreq:
    vjp(
        (scipy.fft.fftfreq, scipy.fft.rfftfreq),
        None,
        lambda dy, y, n, d=1.0, *, xp=None, device=None: -np.sum(dy * np.conj(y / d)),
    )


# Cosine and sine transforms

PERIOD = {
    (scipy.fft.dct, 1): lambda n: 2 * (n - 1),
    (scipy.fft.dst, 1): lambda n: 2 * (n + 1),
}
"""The period of the signal that ``n`` points extend to, by transform; 2 n unless listed."""

INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def weighted(x: Any, axis: int, first: float, last: float) -> Any:
    """``x`` with its first and its last entry along ``axis`` multiplied."""
    n = x.shape[axis]
    k = np.arange(n)
    weight = np.where(k == 0, first, 1.0) * np.where(k == n - 1, last, 1.0)
    return x * weight.reshape((-1,) + (1,) * (x.ndim - 1 - axis % x.ndim)).astype(x.real.dtype)


def orthogonal_weights(cosine: bool, type: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The factors by which ``orthogonalize`` scales the first and last entry of the argument, and of the result."""
    root = 2.0**0.5
    if type == 1 and cosine:
        return (root, root), (1 / root, 1 / root)
    if type == 2:
        return (1.0, 1.0), ((1 / root, 1.0) if cosine else (1.0, 1 / root))
    if type == 3:
        return ((root, 1.0) if cosine else (1.0, root)), (1.0, 1.0)
    return (1.0, 1.0), (1.0, 1.0)


def plain_transpose(dy: Any, transform: Callable[..., Any], type: int, axis: int) -> Any:
    """The transpose of the transform without norm and weights."""
    cosine = transform is scipy.fft.dct
    edge = (0.5, 1.0) if cosine else (1.0, 0.5)
    if type == 2:
        return transform(weighted(dy, axis, 1 / edge[0], 1 / edge[1]), 3, axis=axis)
    if type == 3:
        return weighted(transform(dy, 2, axis=axis), axis, *edge)
    if type == 1 and cosine:
        return weighted(transform(weighted(dy, axis, 2.0, 2.0), 1, axis=axis), axis, 0.5, 0.5)
    return transform(dy, type, axis=axis)


def transform_transpose(
    dy: Any, length: int, transform: Callable[..., Any], type: int, axis: int, norm: Any, orthogonalize: Any
) -> Any:
    """The transpose of a one-dimensional cosine or sine transform of an array of ``length`` along ``axis``."""
    n = dy.shape[axis]
    period = max(PERIOD.get((transform, type), lambda n: 2 * n)(n), 1)  # of an empty array: 0
    scale = {None: 1.0, "backward": 1.0, "ortho": period**-0.5, "forward": 1.0 / period}[norm]
    into, out_of = orthogonal_weights(transform is scipy.fft.dct, type)
    if norm == "ortho" if orthogonalize is None else orthogonalize:
        g = weighted(plain_transpose(weighted(dy, axis, *out_of), transform, type, axis), axis, *into)
    else:
        g = plain_transpose(dy, transform, type, axis)
    return fit(scale * g, length, axis)


def of_one_axis(transform: Callable[..., Any], inverse: bool) -> Pullback:
    def pullback(
        dy: Any, y: Any, x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        kind, scaling = (INVERSE_TYPE[type], TURNED[norm]) if inverse else (type, norm)
        return transform_transpose(dy, np.shape(x)[axis], transform, kind, axis, scaling, orthogonalize)

    return pullback


def of_axes(transform: Callable[..., Any], inverse: bool) -> Pullback:
    def pullback(
        dy: Any, y: Any, x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, *, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        kind, scaling = (INVERSE_TYPE[type], TURNED[norm]) if inverse else (type, norm)
        for axis, length, _ in in_turn(np.shape(x), s, axes, False):
            dy = transform_transpose(dy, length, transform, kind, axis, scaling, orthogonalize)
        return dy

    return pullback


vjp(scipy.fft.dct, of_one_axis(scipy.fft.dct, False))
vjp(scipy.fft.idct, of_one_axis(scipy.fft.dct, True))
vjp(scipy.fft.dst, of_one_axis(scipy.fft.dst, False))
vjp(scipy.fft.idst, of_one_axis(scipy.fft.dst, True))
vjp(scipy.fft.dctn, of_axes(scipy.fft.dct, False))
vjp(scipy.fft.idctn, of_axes(scipy.fft.dct, True))
vjp(scipy.fft.dstn, of_axes(scipy.fft.dst, False))
vjp(scipy.fft.idstn, of_axes(scipy.fft.dst, True))
