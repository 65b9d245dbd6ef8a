"""Derivatives of ``numpy.fft``: every transform is linear, and its pullback is the transform in the other direction.

The conjugate transpose of the discrete Fourier matrix is its inverse up to scale, so that the pullback of ``fft`` is
``ifft`` with the opposite normalisation ("forward" for "backward").  Zero-padding to length ``n`` is the transpose of
cutting to it.

A real transform keeps the half X_0, ..., X_h of a Hermitian spectrum.  Its pullback is the real inverse transform with
the weight 1/2 on every coefficient whose conjugate was dropped; the pullback of the inverse gives these the weight 2.
``hfft`` and ``ihfft`` are ``irfft`` and ``rfft`` of the conjugate, scaled the other way.

A transform over several axes is a sequence of one-dimensional transforms, in NumPy's order, and its pullback goes
through them in reverse.  Repeated and padded axes therefore need no special case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .table import linear, vjp

TURNED: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The normalisation under which the inverse transform is the conjugate transpose."""

Transpose = Callable[[Any, int, int, Any], Any]
"""The transpose of a one-dimensional transform, with the arguments (dy, length of the argument, axis, norm)."""


def fit(g: Any, length: int, axis: int) -> Any:
    """``g`` cut or padded with zeros to ``length`` along ``axis``."""
    n = g.shape[axis]
    if n == length:
        return g
    if n > length:
        return np.moveaxis(np.moveaxis(g, axis, 0)[:length], 0, axis)
    missing = (*g.shape[: axis % g.ndim], length - n, *g.shape[axis % g.ndim + 1 :])
    return np.concatenate([g, np.zeros(missing, g.dtype)], axis=axis)


def weigh(g: Any, n: int, axis: int, weight: float) -> Any:
    """Multiply by ``weight`` the coefficients of the half spectrum ``g`` whose conjugates it omits (signal length ``n``)."""
    k = np.arange(g.shape[axis])
    paired = (k > 0) & (2 * k < n)
    return g * np.where(paired, weight, 1.0).reshape((-1,) + (1,) * (g.ndim - 1 - axis % g.ndim)).astype(g.real.dtype)


def fft_transpose(dy: Any, length: int, axis: int, norm: Any) -> Any:
    return fit(np.fft.ifft(dy, axis=axis, norm=TURNED[norm]), length, axis)


def ifft_transpose(dy: Any, length: int, axis: int, norm: Any) -> Any:
    return fit(np.fft.fft(dy, axis=axis, norm=TURNED[norm]), length, axis)


def rfft_transpose(dy: Any, length: int, axis: int, norm: Any, n: int) -> Any:
    return fit(np.fft.irfft(weigh(dy, n, axis, 0.5), n, axis=axis, norm=TURNED[norm]), length, axis)


def irfft_transpose(dy: Any, length: int, axis: int, norm: Any) -> Any:
    n = dy.shape[axis]
    return fit(weigh(np.fft.rfft(dy, axis=axis, norm=TURNED[norm]), n, axis, 2.0), length, axis)


def length_along(x: Any, n: Any, axis: int) -> int:
    """The length of a forward transform of ``x``: ``n`` if given, else that of the axis."""
    return np.shape(x)[axis] if n is None else int(n)


def fft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return fft_transpose(dy, np.shape(a)[axis], axis, norm)


def ifft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return ifft_transpose(dy, np.shape(a)[axis], axis, norm)


def rfft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return rfft_transpose(dy, np.shape(a)[axis], axis, norm, length_along(a, n, axis))


def irfft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return irfft_transpose(dy, np.shape(a)[axis], axis, norm)


def hfft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return np.conj(irfft_transpose(dy, np.shape(a)[axis], axis, TURNED[norm]))


def ihfft_pullback(dy: Any, y: Any, a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    return rfft_transpose(np.conj(dy), np.shape(a)[axis], axis, TURNED[norm], length_along(a, n, axis))


vjp(np.fft.fft, fft_pullback)
vjp(np.fft.ifft, ifft_pullback)
vjp(np.fft.rfft, rfft_pullback)
vjp(np.fft.irfft, irfft_pullback)
vjp(np.fft.hfft, hfft_pullback)
vjp(np.fft.ihfft, ihfft_pullback)


# Several axes, one after the other

Step = tuple[int, int, int]
"""A one-dimensional transform among several: its axis, and the axis's length before and after padding or cutting."""


def in_turn(shape: tuple[int, ...], s: Any, axes: Any, last_first: bool) -> list[Step]:
    """The one-dimensional transforms of a transform over several axes, in the order of application."""
    count = len(shape) if s is None else len(s)
    axes = [axis % len(shape) for axis in (range(-count, 0) if axes is None else axes)]
    lengths = list(shape)
    steps: list[Step] = []
    for i in reversed(range(len(axes))) if last_first else range(len(axes)):
        n = None if s is None else s[i]
        after = shape[axes[i]] if n is None or n == -1 else int(n)
        steps = [*steps, (axes[i], lengths[axes[i]], after)]
        lengths[axes[i]] = after
    return steps


def back_through(dy: Any, transpose: Transpose, steps: list[Step], norm: Any) -> Any:
    for axis, length, _ in reversed(steps):
        dy = transpose(dy, length, axis, norm)
    return dy


def fftn_pullback(dy: Any, y: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return back_through(dy, fft_transpose, in_turn(np.shape(a), s, axes, True), norm)


def ifftn_pullback(dy: Any, y: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return back_through(dy, ifft_transpose, in_turn(np.shape(a), s, axes, True), norm)


def rfftn_pullback(dy: Any, y: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """``rfft`` along the last axis comes first, then ``fft`` from the last but one to the first."""
    steps = in_turn(np.shape(a), s, axes, True)
    axis, length, n = steps[0]
    return rfft_transpose(back_through(dy, fft_transpose, steps[1:], norm), length, axis, norm, n)


def irfftn_pullback(dy: Any, y: Any, a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """``ifft`` from the first axis to the last but one, then ``irfft`` along the last."""
    steps = in_turn(np.shape(a), s, axes, False)
    axis, length, _ = steps[-1]
    return back_through(irfft_transpose(dy, length, axis, norm), ifft_transpose, steps[:-1], norm)


def in_the_plane(pullback: Callable[..., Any]) -> Callable[..., Any]:
    """The pullback of a transform over two axes, by default the last two."""
    return lambda dy, y, a, s=None, axes=(-2, -1), norm=None, out=None: pullback(dy, y, a, s, axes, norm)


vjp(np.fft.fftn, fftn_pullback)
vjp(np.fft.ifftn, ifftn_pullback)
vjp(np.fft.rfftn, rfftn_pullback)
vjp(np.fft.irfftn, irfftn_pullback)
vjp(np.fft.fft2, in_the_plane(fftn_pullback))
vjp(np.fft.ifft2, in_the_plane(ifftn_pullback))
vjp(np.fft.rfft2, in_the_plane(rfftn_pullback))
vjp(np.fft.irfft2, in_the_plane(irfftn_pullback))


# Order of the frequencies, and the frequencies: k / (n d) for a sample spacing d

vjp(np.fft.fftshift, lambda dy, y, x, axes=None: np.fft.ifftshift(dy, axes))
vjp(np.fft.ifftshift, lambda dy, y, x, axes=None: np.fft.fftshift(dy, axes))
vjp((np.fft.fftfreq, np.fft.rfftfreq), None, lambda dy, y, n, d=1.0, device=None: -np.sum(dy * np.conj(y / d)))


linear((np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft))
linear((np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn, np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2))
linear((np.fft.fftshift, np.fft.ifftshift))
