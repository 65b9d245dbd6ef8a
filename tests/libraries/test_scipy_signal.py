"""scipy.signal: filters, their design, spectra, linear systems, peaks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

import morula as mo
from morula.testing import check_gradients

T = np.arange(24) / 8.0
X = np.sin(2 * T) + 0.3 * np.cos(5 * T) + 0.1 * T
B, A = np.array([0.4, 0.3, 0.2]), np.array([1.1, -0.5, 0.25])
TAPS = np.array([0.5, 0.3, -0.2, 0.1])
SECTIONS = np.delete(signal.butter(4, 0.3, output="sos"), 3, axis=1)
AT = np.array([0.2, 0.9, 2.1])
IMAGE = np.outer(X[:5], X[3:9]) + 0.1 * np.arange(30).reshape(5, 6) ** 0.5
KERNEL = np.array([[0.2, 0.3], [0.1, -0.4], [0.5, 0.2]])
STATE = np.array([[-0.3, 0.2], [0.1, -0.7]]), np.array([[1.0], [0.5]])
OUTPUT = np.array([[0.3, 0.4]]), np.array([[0.2]])


def sections(s):
    return np.insert(s, 3, 1.0, axis=1)


CALLS = {
    "lfilter": (signal.lfilter, B, A, X),
    "lfilter fir": (lambda b, x: signal.lfilter(b, 1.0, x), B, X),
    "lfilter zi": (lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), B, A, X, np.array([0.1, 0.2])),
    "lfilter, short": (
        lambda b, a, x, z: signal.lfilter(b, a, x, zi=z), TAPS, A, X[:2], np.array([0.1, 0.2, 0.3]),
    ),
    "lfilter axis": (lambda b, a, x: signal.lfilter(b, a, x, axis=0), B, A, np.stack([X, X**2], 1)),
    "lfiltic": (signal.lfiltic, B, A, np.array([0.3, 0.2])),
    "filtfilt": (signal.filtfilt, B, A, X),
    "filtfilt gust": (lambda b, a, x: signal.filtfilt(b, a, x, method="gust"), B, A, X),
    "sosfilt": (lambda s, x: signal.sosfilt(sections(s), x), SECTIONS, X),
    "sosfilt zi": (
        lambda s, x, z: signal.sosfilt(sections(s), x, zi=z), SECTIONS, X, np.array([[0.1, 0.2], [0.3, 0.1]]),
    ),
    "sosfiltfilt": (lambda x: signal.sosfiltfilt(sections(SECTIONS), x), X),
    "butter": (lambda w: signal.butter(3, w), 0.3),
    "butter bandpass": (lambda w: signal.butter(2, w, "bandpass"), np.array([0.2, 0.5])),
    "butter sos": (lambda w: signal.butter(4, w, output="sos"), 0.3),
    "cheby1": (lambda r, w: signal.cheby1(3, r, w), 0.7, 0.3),
    "ellip": (lambda r, s, w: signal.ellip(3, r, s, w), 0.7, 20.0, 0.3),
    "bessel": (lambda w: signal.bessel(3, w), 0.3),
    "iirnotch": (signal.iirnotch, 0.3, 12.0),
    "firwin": (lambda c: signal.firwin(7, c), 0.3),
    "bilinear": (signal.bilinear, B, A, 2.0),
    "zpk2tf": (signal.zpk2tf, np.array([-0.3]), np.array([-0.4, -0.8]), 1.2),
    "tf2zpk": (signal.tf2zpk, B, A),
    "zpk2sos": (signal.zpk2sos, np.array([-0.3, 0.1]), np.array([-0.4, -0.8]), 1.2),
    "freqz": (lambda b, a, w: signal.freqz(b, a, worN=w)[1], B, A, AT),
    "freqz_sos": (lambda s: signal.freqz_sos(sections(s), worN=AT)[1], SECTIONS),
    "group_delay": (lambda b, a: signal.group_delay((b, a), w=AT)[1], B, A),
    "fftconvolve": (signal.fftconvolve, X, TAPS),
    "oaconvolve": (signal.oaconvolve, X, TAPS),
    **{
        f"{f} {mode} {method}": (
            lambda x, y, f=f, mode=mode, m=method: getattr(signal, f)(x, y, mode=mode, method=m), x, y,
        )
        for f in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for method, x, y in (("fft", X, TAPS), ("direct", IMAGE, KERNEL))
    },
    **{
        f"{f}2d {mode} {border}": (
            lambda x, k, f=f, mode=mode, b=border: getattr(signal, f"{f}2d")(x, k, mode, boundary=b), IMAGE, KERNEL,
        )
        for f in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for border in ("fill", "wrap", "symm")
    },
    "convolve2d fillvalue": (lambda x, v: signal.convolve2d(x, KERNEL, "same", fillvalue=v), IMAGE, 0.7),
    "sepfir2d": (lambda x, k: signal.sepfir2d(x, k, k**2), IMAGE, np.array([0.2, 0.5, 0.3])),
    "savgol_filter": (lambda x, d: signal.savgol_filter(x, 7, 2, deriv=1, delta=d), X, 0.3),
    "detrend": (lambda x: signal.detrend(x, bp=[9]), X),
    "welch": (lambda x, f: signal.welch(x, f, nperseg=8)[1], X, 3.0),
    "periodogram": (lambda x: signal.periodogram(x)[1], X),
    "coherence": (lambda x, y: signal.coherence(x, y, nperseg=8)[1], X, X**2),
    "stft": (lambda x: signal.stft(x, nperseg=8)[2], X),
    "istft": (lambda x: signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8)[1], X),
    "ShortTimeFFT": (lambda x: np.abs(signal.ShortTimeFFT(signal.windows.hann(8), 4, 1.0).stft(x)) ** 2, X),
    "spectrogram": (lambda x: signal.spectrogram(x, nperseg=8)[2], X),
    "lombscargle": (signal.lombscargle, T + 0.01 * T**2, X, AT),
    "hilbert": (lambda x: np.abs(signal.hilbert(x)), X),
    "resample": (lambda x: signal.resample(x, 17), X),
    "resample_poly": (lambda x: signal.resample_poly(x, 3, 2), X),
    "upfirdn": (lambda h, x: signal.upfirdn(h, x, 3, 2), TAPS, X),
    "upfirdn, extended": (lambda h, x: signal.upfirdn(h, x, 2, 1, mode="symmetric"), TAPS, X),
    "decimate": (lambda x: signal.decimate(x, 2, ftype="fir"), X),
    "chirp": (lambda f, g, p: signal.chirp(T, f, 3.0, g, phi=p, method="logarithmic"), 1.0, 2.0, 3.0),
    "gausspulse": (signal.gausspulse, T - 1, 2.0),
    "sawtooth": (signal.sawtooth, T + 0.01, 0.4),
    "lsim": (lambda a, b, u: signal.lsim((a, b, *OUTPUT), u, T)[1], *STATE, X),
    "step": (lambda b, a: signal.step((b, a), T=T)[1], B[:2], A),
    "dlsim": (lambda a, b, u: signal.dlsim((a, b, *OUTPUT, 1.0), u)[1], *STATE, X),
    "cont2discrete": (lambda a, b, h: signal.cont2discrete((a, b, *OUTPUT), h)[:2], *STATE, 0.3),
    "bode": (lambda b, a: signal.bode((b, a), w=AT)[1:], B[:2], A),
    "where peaks are": (lambda x: x[signal.find_peaks(x)[0]], X),
    "how high peaks are": (lambda x: signal.find_peaks(x, prominence=0.1)[1]["prominences"], X),
    "how wide peaks are": (lambda x: signal.peak_widths(x, signal.find_peaks(x)[0])[0], X),
    "medfilt": (lambda x: signal.medfilt(x, 5), X),
    "medfilt2d": (lambda x: signal.medfilt2d(x, 3), IMAGE),
    "wiener": (lambda x: signal.wiener(x, 5), X),
    "order_filter": (lambda x: signal.order_filter(x, np.ones(5), 1), X),
    "deconvolve": (signal.deconvolve, X[:6], TAPS[:2]),
    "residue": (lambda b, a: signal.residue(b, a)[0], B[:2], np.array([1.0, 0.9, 0.1])),
    "cspline1d": (lambda x, n: signal.cspline1d_eval(signal.cspline1d(x), n), X, np.array([3.3, 7.2])),
    "czt": (lambda x: signal.czt(x, 7), X),
    "kaiser": (lambda b: signal.get_window(("kaiser", b), 9), 2.2),
    "tukey": (lambda a: signal.windows.tukey(9, a), 0.4),
    "chebwin": (lambda a: signal.windows.chebwin(9, a), 45.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


def test_second_derivatives_of_a_recursive_filter():
    check_gradients(lambda b, a, x: signal.lfilter(b, a, x), B, A, X[:8])


def test_a_complex_signal_through_a_complex_filter():
    check_gradients(signal.lfilter, B + 0.1j, A.astype(complex) - 0.2j * np.array([0, 1, 0]), X + 1j * X**2, order=1)


def test_a_compiled_design_is_refused():
    with pytest.raises(mo.NoDerivative, match="_remez"):
        mo.gradient(lambda edge: signal.remez(7, [0, edge, 0.3, 0.5], [1, 0]).sum(), 0.2)
