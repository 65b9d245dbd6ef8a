"""The rules of ``numpy.fft`` and ``scipy.fft``: every transform, norm, parity, padding and cut.

The transforms are linear, so a first derivative that is right at one point and linear in the cotangent is right
everywhere; the second order is tested once for each transform.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
from rule_tester import check_rule

import morula as mo
from morula.core.rules.scipy_compiled_fourier import transforms
from morula.testing import check_gradients

NORMS = pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
LIBRARY = pytest.mark.parametrize("library", [np.fft, scipy.fft], ids=["numpy", "scipy"])
OF_COMPLEX = ["fft", "ifft", "irfft", "hfft"]
OF_REAL = ["rfft", "ihfft"]


def real(*shape):
    return np.random.default_rng(shape).uniform(-1, 1, shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape, 1)[..., 0]


@LIBRARY
@NORMS
@pytest.mark.parametrize("length, n", [(4, None), (5, None), (4, 3), (5, 2), (3, 6), (4, 7)])
def test_transforms_along_one_axis(length, n, norm, library):
    for name in OF_COMPLEX:
        check_rule(getattr(library, name), complex_(length), n, norm=norm, order=0)
        check_rule(getattr(library, name), real(length), n, norm=norm, order=0)
    for name in OF_REAL:
        check_rule(getattr(library, name), real(length), n, norm=norm, order=0)


@LIBRARY
@pytest.mark.parametrize("name", OF_COMPLEX + OF_REAL)
def test_the_axis_of_a_transform(name, library):
    for axis in (0, 1, -1, -3):
        x = real(2, 2, 3) if name in OF_REAL else complex_(2, 2, 3)
        check_rule(getattr(library, name), x, 4, axis, order=0)


@LIBRARY
@pytest.mark.parametrize("name", OF_COMPLEX + OF_REAL)
def test_transforms_twice_differentiated(name, library):
    f = getattr(library, name)
    for x in (real(4), real(5)) if name in OF_REAL else (real(4), complex_(5)):
        check_gradients(lambda x, f=f: np.sum(np.abs(f(x, 6)) ** 4), x, order=2)


def several_axes(library):
    names = ["fftn", "ifftn", "rfftn", "irfftn"] + (["hfftn", "ihfftn"] if library is scipy.fft else [])
    return [(getattr(library, name), real if name in ("rfftn", "ihfftn") else complex_) for name in names]


@LIBRARY
@NORMS
@pytest.mark.parametrize("s, axes", [(None, None), ((2, 4), (0, 2)), ((3, 1), (-1, -2)), (None, (1,))], ids=str)
def test_transforms_over_several_axes(s, axes, norm, library):
    for f, draw in several_axes(library):
        check_rule(f, draw(2, 2, 3), s, axes, norm, order=0)


def test_numpy_repeats_a_transform_over_an_axis_that_is_named_twice():
    for s, axes in (((4, 3), (1, 1)), (None, (1, 1)), ((2, -1), (0, 0))):
        for f in (np.fft.fftn, np.fft.ifftn, np.fft.irfftn):
            check_rule(f, complex_(2, 4), s, axes, order=0)


@LIBRARY
@pytest.mark.parametrize("s", [None, (3, 5)], ids=str)
def test_transforms_over_the_last_two_axes(s, library):
    names = ["fft2", "ifft2", "rfft2", "irfft2"] + (["hfft2", "ihfft2"] if library is scipy.fft else [])
    for name in names:
        x = real(2, 2, 4) if name in ("rfft2", "ihfft2") else complex_(2, 2, 4)
        check_rule(getattr(library, name), x, s, order=0)
        check_rule(getattr(library, name), x[0], s, order=1)


def test_transforms_over_several_axes_twice_differentiated():
    for f, draw in several_axes(np.fft):
        check_gradients(lambda x, f=f: np.sum(np.abs(f(x, (3, 2), (0, 1))) ** 4), draw(2, 2), order=2)


@LIBRARY
def test_shifts(library):
    for f in (library.fftshift, library.ifftshift):
        check_rule(f, real(3, 4))
        check_rule(f, complex_(5), 0)
        check_rule(f, real(2, 3, 2), (0, 2))


@LIBRARY
@pytest.mark.parametrize("n", [4, 5])
def test_frequencies_depend_on_the_spacing(n, library):
    check_rule(library.fftfreq, n, 0.3)
    check_rule(library.rfftfreq, n, 0.3)
    check_rule(library.fftfreq, n, 0.3 + 0.1j)


@pytest.mark.parametrize("x", [np.float32, np.complex64], ids=str)
def test_single_precision_stays_single(x):
    for f in (np.fft.fft, np.fft.irfft, scipy.fft.fft, scipy.fft.irfft):
        check_rule(f, complex_(4).real.astype(x), order=0)
    check_rule(scipy.fft.dct, real(4).astype(np.float32), order=0)


def test_a_low_pass_filter_has_the_gradient_of_its_matrix():
    keep = np.array([1.0, 1.0, 0.0, 0.0])

    def smooth(x):
        return np.fft.irfft(np.fft.rfft(x) * keep, 6)

    matrix = np.stack([smooth(e) for e in np.eye(6)], axis=1)
    np.testing.assert_allclose(mo.jacobian(smooth)(real(6)), matrix, atol=1e-15)


# ---- cosine and sine transforms

KINDS = [(name, type) for name in ("dct", "idct", "dst", "idst") for type in (1, 2, 3, 4)]


@NORMS
@pytest.mark.parametrize("name, type", KINDS)
def test_cosine_and_sine_transforms(name, type, norm):
    f = getattr(scipy.fft, name)
    for n, orthogonalize in ((None, None), (2, True), (4, False)):
        check_rule(f, real(3), type, n, norm=norm, orthogonalize=orthogonalize, order=0)
    check_rule(f, complex_(2), type, norm=norm, order=0)
    check_rule(f, real(2, 1, 2), type, axis=0, norm=norm, order=0)


@pytest.mark.parametrize("name, type", KINDS)
def test_cosine_and_sine_transforms_over_several_axes(name, type):
    f = getattr(scipy.fft, name + "n")
    for s, axes, norm in ((None, None, None), ((3, 2), (0, 2), "ortho"), (None, (1,), "forward")):
        check_rule(f, real(2, 2, 3), type, s, axes, norm, order=0)


@pytest.mark.parametrize("name, type", KINDS)
def test_cosine_and_sine_transforms_twice_differentiated(name, type):
    f, over_axes = getattr(scipy.fft, name), getattr(scipy.fft, name + "n")
    check_gradients(lambda x: np.sum(f(x, type, norm="ortho") ** 3), real(3), order=2)
    check_gradients(lambda x: np.sum(over_axes(x, type) ** 3), real(2, 2), order=2)


@pytest.mark.parametrize("length", [4, 5])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "dct", "idct", "dst", "idst"])
def test_fftpack(name, length):
    f = getattr(scipy.fftpack, name)
    for x in (real(length, 3), complex_(length, 3)) if name in ("fft", "ifft", "dct") else (real(length, 3),):
        check_gradients(lambda x: f(x, axis=0) * f(x, n=3), x, order=1)
    if name[-3] == "d":
        for kind in (1, 2, 3, 4):
            check_gradients(lambda x: f(x, kind, norm="ortho"), real(length), order=1)


@pytest.mark.parametrize("length", [4, 5])
def test_transforms_beneath_scipy(length):
    x, z = real(3, length), complex_(3, length // 2 + 1)
    for forward in (True, False):
        for inorm in (0, 1, 2):
            check_rule(transforms.r2c, x, (0, 1), forward, inorm, order=1)
            check_rule(transforms.c2r, z, (0, 1), length, forward, inorm, order=1)
            check_rule(transforms.r2r_fftpack, x, (0, 1), forward, forward, inorm, order=1)
            check_rule(transforms.c2c, z, None, forward, inorm, order=1)
    check_rule(transforms.dct, x, 2, None, 1, order=2)
    check_rule(transforms.dst, x, 3, (0,), 2, None, 1, True, order=1)
