"""Fourier transforms and complex exponentials in native code, compared with NumPy's, without the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import morula as mo
from morula.core.emit.native import NativeProgram, compile_function
from morula.core.emit.native.rounding import decisive
from morula.core.emit.native.ufunc_loops import Loop, exists
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.typed import ArrayType
from morula.core.testing.differences import ridders

ONE = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft]
SEVERAL = [np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn]
NORMS = [None, "backward", "forward", "ortho"]
needs_loops = pytest.mark.skipif(
    not exists(Loop("numpy.fft._pocketfft_umath", "fft", "Dd->D")), reason="NumPy has no ufuncs of Fourier transforms"
)


def compiled(function, x, **constants):
    """The transform as a program of typed IR."""
    expected = function(x, **constants)
    b, value = Builder(), Value("x", ArrayType(x.dtype, x.shape))
    with b.block() as block:
        block.results = b.call(function, [value], [ArrayType(expected.dtype, expected.shape)], **constants)
    return compile_function(verify(Function("f", [value], block)))


def signal(transform, shape, single, rng):
    real = rng.normal(size=shape)
    x = real if transform is np.fft.rfft else real + 1j * rng.normal(size=shape)
    return x.astype({"d": "f", "D": "F"}[x.dtype.char] if single else x.dtype)


def agrees(run, x, expected, may_call_python=False):
    before = x.copy()
    (found,) = run([x])
    assert run.runs_python is may_call_python
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(found, expected, rtol=0, atol=16 * np.finfo(expected.dtype).eps * np.max(abs(expected)))


@needs_loops
@pytest.mark.parametrize("transform", ONE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("single", [False, True])
def test_a_transform_along_any_axis_with_padding_and_cutting(transform, single, rng):
    x = signal(transform, (4, 5, 6), single, rng)
    for axis, n in itertools.product((-1, 0, 1, -3), (None, 1, 4, 5, 9)):
        constants = {"axis": axis, **({} if n is None else {"n": n})}
        agrees(compiled(transform, x, **constants), x, transform(x, **constants))


@needs_loops
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("transform", ONE, ids=lambda f: f.__name__)
def test_a_transform_with_each_normalisation(transform, norm, rng):
    for shape in ((12,), (3, 7), (40, 16)):
        x = signal(transform, shape, False, rng)
        run = compiled(transform, x, norm=norm)
        agrees(run, x, transform(x, norm=norm))
        agrees(NativeProgram.from_bytes(run.to_bytes()), x, transform(x, norm=norm))


@needs_loops
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("transform", SEVERAL, ids=lambda f: f.__name__)
def test_a_transform_along_several_axes(transform, norm, rng):
    x = signal(transform, (3, 4, 5), False, rng)
    for axes in ((-2, -1), (0, 2), (2, 0, 1), (1,), (0, 0)):
        agrees(compiled(transform, x, norm=norm, axes=axes), x, transform(x, norm=norm, axes=axes))
    agrees(compiled(transform, x, norm=norm), x, transform(x, norm=norm))


@needs_loops
@pytest.mark.parametrize("transform", [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.fftn], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_transform_of_real_numbers(transform, dtype, rng):
    x = rng.normal(size=(4, 5)).astype(dtype)
    agrees(compiled(transform, x), x, transform(x))


@pytest.mark.parametrize(
    "case",
    [
        (np.fft.rfft, np.arange(5), {}),
        (np.fft.hfft, np.ones(5) + 1j, {}),
        (np.fft.fftn, np.ones((3, 4)) + 1j, {"s": (2, 6), "axes": (0, 1)}),
        (np.fft.rfftn, np.ones((3, 4)), {}),
    ],
    ids=lambda case: case[0].__name__,
)
def test_other_transforms_are_called_in_python(case):
    transform, x, constants = case
    agrees(compiled(transform, x, **constants), x, transform(x, **constants), True)


@pytest.mark.parametrize("transform", [np.fft.fft, np.fft.ifft], ids=lambda f: f.__name__)
def test_a_gradient_through_transforms_is_that_of_differences(transform, rng):
    w = rng.normal(size=(6, 8))

    def loss(x):
        y = transform(x * np.exp(1j * x), axis=0)
        return np.sum(w * (y.real**2 + np.fft.irfft(np.fft.rfft(x, axis=1) * 2.0, axis=1) ** 2))

    x = rng.normal(size=(6, 8))
    gradient = mo.jit(mo.grad(loss), target="native")(x)
    along = rng.normal(size=x.shape)
    slope, error = ridders(lambda h: float(loss(x + h * along)), 1e-2)
    assert abs(np.sum(gradient * along) - slope) <= 1e-9 * abs(slope) + 100 * error
    np.testing.assert_allclose(gradient, mo.grad(loss)(x), rtol=1e-10, atol=1e-12)


SPECIAL = [0.0, -0.0, 1.5, -2.0, 100.0, 709.5, 710.5, -710.0, 1400.0, -1450.0, np.inf, -np.inf, np.nan, 1e-320, 1e300]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_exponential_has_the_special_values_of_c(dtype):
    with np.errstate(all="ignore"):
        z = np.array([complex(x, y) for x in SPECIAL for y in SPECIAL]).astype(dtype)
        expected = np.exp(z)
    b, value = Builder(), Value("x", ArrayType(z.dtype, z.shape))
    with b.block() as block:
        block.results = [b.ufunc(np.exp, value)]
    (found,) = compile_function(verify(Function("f", [value], block)))([z])
    for part in ("real", "imag"):
        x, y = getattr(found, part), getattr(expected, part)
        # C leaves the sign of the real part open where the angle is not finite.
        is_open = ~np.isfinite(z.imag) & np.isinf(z.real)
        np.testing.assert_array_equal(np.signbit(x)[(y == 0) & ~is_open], np.signbit(y)[(y == 0) & ~is_open])
        x, y = (np.where(is_open, abs(a), a) for a in (x, y))
        np.testing.assert_allclose(x, y, rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)


def test_the_sign_of_a_complex_number_needs_no_exact_rounding_and_that_of_a_real_number_does():
    for dtype, is_decisive in ((np.complex128, False), (np.float64, True)):
        b, value = Builder(), Value("x", ArrayType(np.dtype(dtype), (4,)))
        with b.block() as block:
            product = b.ufunc(np.multiply, value, value)
            block.results = [b.ufunc(np.sign, product)]
        assert (product in decisive(verify(Function("f", [value], block)))) is is_decisive
