"""NumPy programs that model the compiled functions of ``scipy.signal``.

A recursive filter A y = B x is the sum B x followed by 1/A, whose transpose is the same filter run backward in time
(Oppenheim & Schafer, Discrete-Time Signal Processing, chapter 6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.signal import _peak_finding_utils, _sigtools, _sosfilt, _spline, _upfirdn_apply  # type: ignore[attr-defined]

from ..errors import NoDerivative
from .scipy_ndimage import CONSTANT, REFLECT, correlate1d, windows
from .table import joint, model, runs_compiled, zero

# Recursive filters


def all_pole(w: Any, a: Any) -> Any:
    """The y with a_0 y_n + a_1 y_{n-1} + ... = w_n, along the last axis, with zero initial state."""
    kind = np.result_type(w, a, np.float32)
    return _sigtools._linear_filter(np.ones(1, kind), np.asarray(a, kind), np.asarray(w, kind), -1)


def all_pole_pullback(dy, y, w, a):
    dw = np.conj(all_pole(np.conj(dy)[..., ::-1], a))[..., ::-1]
    n = np.shape(y)[-1]
    da = [-np.sum(dw[..., k:] * np.conj(y[..., : n - k])) if k < n else 0.0 for k in range(len(a))]
    return dw, np.stack(da)


joint(all_pole, all_pole_pullback)


def all_zero(b: Any, x: Any) -> Any:
    """The sums b_0 x_n + b_1 x_{n-1} + ..., along the last axis, with zero initial state."""
    kind = np.result_type(b, x, np.float32)
    return _sigtools._linear_filter(np.asarray(b, kind), np.ones(1, kind), np.asarray(x, kind), -1)


def all_zero_pullback(dy, y, b, x):
    n = np.shape(x)[-1]
    db = [np.sum(dy[..., k:] * np.conj(x[..., : n - k])) if k < n else 0.0 for k in range(len(b))]
    return np.stack(db), all_zero(np.conj(b), dy[..., ::-1])[..., ::-1]


joint(all_zero, all_zero_pullback)
runs_compiled(all_pole, all_zero)


def filtered(b: Any, a: Any, x: Any, zi: Any = None) -> tuple[Any, Any]:
    """The signal and the final state of the transposed direct form II; its initial state is added to the first inputs."""
    w = all_zero(b, x)
    if zi is None:
        return all_pole(w, a), None
    n, order = np.shape(x)[-1], max(len(a), len(b)) - 1
    length = min(order, n)
    rest = np.zeros((*np.shape(zi)[:-1], n - length))
    y = all_pole(w + a[0] * np.concatenate((zi[..., :length], rest), axis=-1), a)
    state = []
    for k in range(order):
        z = zi[..., k + n] if k + n < order else np.zeros(np.shape(x)[:-1])
        for i in range(k + 1, min(order, k + n) + 1):
            at = n - i + k
            z = z + (b[i] * x[..., at] / a[0] if i < len(b) else 0.0)
            z = z - (a[i] * y[..., at] / a[0] if i < len(a) else 0.0)
        state.append(z)
    return y, np.stack(state, axis=-1) if state else np.zeros((*np.shape(x)[:-1], 0))


def linear_filter(b, a, X, Dim=-1, Vi=None):
    zi = None if Vi is None else np.moveaxis(np.broadcast_to(Vi, state_shape(b, a, X, Dim)), Dim, -1)
    y, state = filtered(b, a, np.moveaxis(X, Dim, -1), zi)
    y = np.moveaxis(y, -1, Dim)
    return y if Vi is None else (y, np.moveaxis(state, -1, Dim))


def state_shape(b: Any, a: Any, x: Any, axis: int) -> tuple[int, ...]:
    shape = list(np.shape(x))
    shape[axis] = max(len(a), len(b)) - 1
    return tuple(shape)


def second_order_sections(sos, x, zi):
    states = []
    for k in range(len(sos)):
        x, state = filtered(sos[k, :3], sos[k, 3:], x, zi[:, k])
        states.append(state)
    return x, np.stack(states, axis=1)


model(_sigtools._linear_filter, linear_filter)
model(_sosfilt._sosfilt, second_order_sections, into=(1, 2), updates=True)


# Convolution

VALID, SAME, FULL = range(3)
PADDING = {4: "symmetric", 8: "wrap"}


def convolve2d(in1, in2, flip, mode, boundary, fillvalue=0.0):
    size = np.shape(in2)
    padding = [(k - 1, k - 1) for k in size]
    if boundary in PADDING:
        x = np.pad(in1, padding, mode=PADDING[boundary])
    else:
        x = np.pad(in1, padding, mode="constant") + np.reshape(fillvalue, ()) * np.pad(
            np.zeros(np.shape(in1)), padding, mode="constant", constant_values=1
        )
    kernel = in2[::-1, ::-1] if flip else in2
    # The first place, in the padded array, that the first element of the output meets.
    start = [k - 1 if mode == VALID else 0 if mode == FULL else (k - 1) // 2 if flip else k // 2 for k in size]
    grow = {VALID: -1, SAME: 0, FULL: 1}[mode]
    shape = [n + grow * (k - 1) for n, k in zip(np.shape(in1), size)]
    total = 0.0
    for i in range(size[0]):
        for j in range(size[1]):
            part = x[start[0] + i : start[0] + i + shape[0], start[1] + j : start[1] + j + shape[1]]
            total = total + kernel[i, j] * part
    return total


def correlate_nd(input, kernel, output, mode):
    """For ``full`` and ``same`` the caller has padded the input with zeros at its end."""
    size, shape = np.shape(kernel), np.shape(output)
    before = [0 if mode == VALID else k - 1 if mode == FULL else k // 2 for k in size]
    x = np.pad(input, [(b, k) for b, k in zip(before, size)], mode="constant")
    total = 0.0
    for place in np.ndindex(size):
        part = x[tuple(slice(p, p + n) for p, n in zip(place, shape))]
        total = total + np.conj(kernel[place]) * part
    return total


def upfirdn(x, h, out, up, down, axis, mode=0, cval=0.0):
    """Upsampled, filtered and downsampled; ``h`` is given by phase, each phase reversed."""
    if mode not in (0, 1, 2, 4, 5):
        raise NoDerivative("scipy.signal.upfirdn has no derivative for this mode of extension; use mode='constant'")
    x = np.moveaxis(x, axis, -1)
    n, taps = np.shape(x)[-1], len(h) // up
    phases = np.reshape(h, (up, taps))[:, ::-1]
    at = np.arange(np.shape(out)[axis]) * down
    total = 0.0
    for q in range(taps):
        places = at // up - q
        if mode == 0:
            entries = np.where((places >= 0) & (places < n), x[..., np.clip(places, 0, n - 1)], cval)
        else:
            padded = np.pad(np.arange(n), len(h) + n, mode={1: "symmetric", 2: "edge", 4: "wrap", 5: "reflect"}[mode])
            entries = x[..., padded[places + len(h) + n]]
        total = total + phases[at % up, q] * entries
    return np.moveaxis(total, -1, axis)


def medfilt2d(image, size):
    found = np.stack(windows(image, np.ones([int(k) for k in size]), CONSTANT, 0.0, (0, 0)))
    return np.sort(found, axis=0)[len(found) // 2]


def sepfir2d(input, hrow, hcol):
    rows = correlate1d(input, hrow[::-1], 1, None, REFLECT, 0.0, 0)
    return correlate1d(rows, hcol[::-1], 0, None, REFLECT, 0.0, 0)


model(_sigtools._convolve2d, convolve2d)
model(_sigtools._correlateND, correlate_nd, into=2)
model(_upfirdn_apply._apply, upfirdn, into=2)
model(_sigtools._medfilt2d, medfilt2d)
model(_spline.sepfir2d, sepfir2d)


# Peaks: their places have no derivative, their heights and widths have one


def peak_bases(x: Any, peaks: Any, wlen: Any) -> Any:
    return _peak_finding_utils._peak_prominences(x, peaks, wlen)[1:]


def peak_prominences(x, peaks, wlen):
    left, right = peak_bases(x, peaks, wlen)
    return x[peaks] - np.maximum(x[left], x[right]), left, right


def peak_widths(x, peaks, rel_height, prominences, left_bases, right_bases):
    heights, lefts, rights = [], [], []
    for k, (peak, first, last) in enumerate(zip(peaks, left_bases, right_bases)):
        height = x[peak] - prominences[k] * rel_height
        left = right = int(peak)
        while first < left and height < x[left]:
            left -= 1
        while right < last and height < x[right]:
            right += 1
        heights.append(height)
        lefts.append(left + ((height - x[left]) / (x[left + 1] - x[left]) if x[left] < height else 0.0))
        rights.append(right - ((height - x[right]) / (x[right - 1] - x[right]) if x[right] < height else 0.0))
    left, right = np.array(lefts), np.array(rights)
    return right - left, np.array(heights), left, right


zero(peak_bases)
model(_peak_finding_utils._peak_prominences, peak_prominences)
model(_peak_finding_utils._peak_widths, peak_widths)
