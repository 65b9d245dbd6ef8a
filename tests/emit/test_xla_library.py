"""Special functions, linear algebra and Fourier transforms by XLA: SciPy's and LAPACK's results, signs, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.special

jax = pytest.importorskip("jax")

from morula import jit  # noqa: E402
from morula.core.emit.xla import compile_function  # noqa: E402
from morula.core.emit.xla.elementwise import UFUNCS  # noqa: E402
from morula.core.ir.builder import Builder  # noqa: E402
from morula.core.ir.dynamic import Function, Value, verify  # noqa: E402
from morula.core.ir.typed import ArrayType  # noqa: E402

SPECIAL = sorted((u for u in UFUNCS if getattr(scipy.special, u.__name__, None) is u), key=lambda u: u.__name__)


def call(function: Callable[..., Any], *arguments: np.ndarray, **constants: Any) -> list[Any]:
    """What XLA makes of one call; the types of its results are those of NumPy's."""
    wanted = function(*arguments, **constants)
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    builder = Builder()
    parameters = [Value(f"x{i}", ArrayType(x.dtype, x.shape)) for i, x in enumerate(arguments)]
    types = [ArrayType(np.asarray(x).dtype, np.shape(x)) for x in wanted]
    with builder.block() as block:
        block.results = builder.call(function, parameters, types, **constants)
    program = compile_function(verify(Function("f", parameters, block)))
    assert not program.runs_python
    return program(arguments)


def agrees(function: Callable[..., Any], *arguments: np.ndarray, **constants: Any) -> None:
    wanted = function(*arguments, **constants)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for x, y in zip(call(function, *arguments, **constants), wanted, strict=True):
        assert x.dtype == y.dtype
        tolerance = 100 * np.finfo(y.dtype).eps
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(1, np.abs(y).max()))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ufunc", SPECIAL, ids=lambda u: u.__name__)
def test_a_special_function_is_scipys_to_full_accuracy(ufunc, dtype):
    one = np.array([0.0, -0.0, 1, -1, 2, -3, 0.5, 100, 1e5, 1e-10, -1e-10, 1e30, np.inf, -np.inf, np.nan])
    one = np.concatenate([one, np.linspace(-12.1, 12.1, 41), np.linspace(0.01, 0.99, 15), np.logspace(-6, 2, 17)])
    few = np.array([0.0, 1e-8, 0.3, 1, 1.0001, 2, 10.5, 1e3, -0.5, -2, np.inf, np.nan])
    xs = [one] if ufunc.nin == 1 else [x.ravel() for x in np.meshgrid(few, few)]
    xs = [x.astype(dtype) for x in xs]
    with np.errstate(all="ignore"):
        wanted = ufunc(*xs)
    (found,) = call(ufunc, *xs)
    assert found.dtype == wanted.dtype
    # Next to a zero of the function the last digits are not to be had; XLA rounds subnormal numbers to zero.
    number = np.finfo(dtype)
    zeros = (scipy.special.gammaln, scipy.special.logit, scipy.special.kl_div, scipy.special.psi)
    near = 50 * number.eps if ufunc in zeros else number.tiny
    np.testing.assert_allclose(found, wanted, rtol=1000 * number.eps, atol=near)


def test_complex_special_functions_run_in_python():
    x = np.array([1.0 + 2j])
    builder, parameter = Builder(), Value("x", ArrayType(x.dtype, x.shape))
    with builder.block() as block:
        block.results = builder.call(scipy.special.erf, [parameter], [parameter.type])
    program = compile_function(verify(Function("f", [parameter], block)))
    assert program.runs_python and program([x])[0] == scipy.special.erf(x)


@pytest.mark.parametrize("dtype, batch", [("f4", ()), ("f8", (3,)), ("c16", (3,))])
def test_linear_algebra(dtype, batch, rng):
    a = rng.normal(size=(*batch, 4, 4))
    a = (a + 1j * rng.normal(size=a.shape) if dtype[0] == "c" else a).astype(dtype)
    b = rng.normal(size=(*batch, 4, 2)).astype(dtype)
    positive = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(4, dtype=dtype)
    agrees(np.linalg.solve, a, b)
    agrees(np.linalg.solve, a, b.ravel()[:4])
    agrees(np.linalg.inv, a)
    agrees(np.linalg.det, a)
    agrees(np.linalg.slogdet, a)
    agrees(np.linalg.cholesky, positive)
    agrees(np.linalg.cholesky, np.triu(positive), upper=True)
    agrees(np.linalg.eigvalsh, positive)
    agrees(np.linalg.svd, a, compute_uv=False)
    agrees(np.linalg.qr, a[..., :3])
    agrees(np.linalg.qr, a[..., :3], mode="complete")


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_eigenvectors_and_singular_vectors_have_lapacks_signs(dtype, rng):
    """In double precision: in single, rounding decides where LAPACK leaves the sign open."""
    a = rng.normal(size=(2, 4, 4)).astype(dtype)
    a = a + 1j * rng.normal(size=a.shape) if dtype == "c16" else a
    agrees(np.linalg.eigh, a)
    agrees(np.linalg.eigh, a, UPLO="U")
    agrees(np.linalg.svd, a[..., :3])
    agrees(np.linalg.svd, a[..., :3], full_matrices=False)


@pytest.mark.parametrize("function", [np.linalg.solve, np.linalg.inv, np.linalg.cholesky], ids=lambda f: f.__name__)
def test_matrices_without_a_solution_raise_numpys_error(function):
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    arguments = (
        [a, np.ones(2)] if function is np.linalg.solve else [a - 5 * np.eye(2) if function is np.linalg.cholesky else a]
    )
    with pytest.raises(np.linalg.LinAlgError) as wanted:
        function(*arguments)
    builder = Builder()
    parameters = [Value("x", ArrayType(x.dtype, x.shape)) for x in arguments]
    with builder.block() as block:
        block.results = builder.call(function, parameters, [parameters[-1].type])
    program = compile_function(verify(Function("f", parameters, block)))
    with pytest.raises(np.linalg.LinAlgError, match=str(wanted.value)):
        program(arguments)


@pytest.mark.parametrize("module, norm", [(np.fft, None), (scipy.fft, "ortho")], ids=["numpy", "scipy"])
def test_fourier_transforms(module, norm, rng):
    x = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))
    for name in ("fft", "ifft", "irfft", "hfft"):
        agrees(getattr(module, name), x, norm=norm)
        agrees(getattr(module, name), x.astype(np.complex64), n=5, axis=0, norm=norm)
    for name in ("rfft", "ihfft"):
        agrees(getattr(module, name), x.real, n=8, norm=norm)
    for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"):
        agrees(getattr(module, name), x, norm=norm)
    for name in ("rfft2", "rfftn"):
        agrees(getattr(module, name), x.real.astype(np.float32), norm=norm)


@pytest.mark.parametrize("char", "?bHiQfd")
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_arrays_are_numpys(side, char, rng):
    sorted_ = np.sort((rng.normal(size=40) * 3).astype(char))
    wanted = rng.normal(size=(5, 6)) * 4
    if char in "fd":
        sorted_[-3:], wanted[0, :3] = np.nan, (np.nan, np.inf, -0.0)
    arguments = sorted_, wanted.astype(char)
    np.testing.assert_array_equal(
        call(np.searchsorted, *arguments, side=side)[0], np.searchsorted(*arguments, side=side)
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_of_successive_numbers_are_found_by_counting(side, rng):
    def search(a):
        return np.searchsorted(a, np.arange(50), side=side)

    for low, high in ((0, 50), (-90, 90), (60, 70), (-9, -5), (np.iinfo(int).min, np.iinfo(int).max)):
        a = np.sort(rng.integers(low, high, 40))
        np.testing.assert_array_equal(jit(search, target="xla")(a), search(a))


@pytest.mark.parametrize("char", "qfdD")
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod], ids=lambda f: f.__name__)
def test_running_sums_and_products_of_long_rows(function, char, rng):
    x = (1.0 + 0.1 * rng.normal(size=(3, 50, 2))).astype(char)
    for axis in (0, 1, 2):
        np.testing.assert_allclose(
            call(function, x, axis=axis)[0], function(x, axis=axis), rtol=1e-5 if char == "f" else 1e-13
        )
