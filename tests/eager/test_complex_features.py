"""Complex numbers, one law per line, after Zygote's ``complex.jl``.

The gradient of a real loss by z = x + iy is dL/dx + i dL/dy.  For a holomorphic f that is the conjugate of f' for the real
part of f, and i times it for the imaginary part.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

import morula as mo

Z = 0.6 + 0.4j
A = np.array([0.6 + 0.4j, -0.3 + 0.8j, 1.1 - 0.2j])
B = np.array([0.2 - 0.7j, 0.9 + 0.1j, -0.5 + 0.5j])

HOLOMORPHIC = {
    "z": (lambda z: z, lambda z: 1),
    "z + constant": (lambda z: z + (2 + 1j), lambda z: 1),
    "constant - z": (lambda z: (2 + 1j) - z, lambda z: -1),
    "complex constant * z": (lambda z: (2 + 1j) * z, lambda z: 2 + 1j),
    "z * z": (lambda z: z * z, lambda z: 2 * z),
    "z ** 2": (lambda z: z**2, lambda z: 2 * z),
    "z ** 3": (lambda z: z**3, lambda z: 3 * z**2),
    "z ** -1": (lambda z: z**-1, lambda z: -1 / z**2),
    "z ** 0.5": (lambda z: z**0.5, lambda z: 0.5 / z**0.5),
    "z ** complex": (lambda z: z ** (1 + 0.5j), lambda z: (1 + 0.5j) * z**0.5j),
    "1 / z": (lambda z: 1 / z, lambda z: -1 / z**2),
    "z / constant": (lambda z: z / (2 - 1j), lambda z: 1 / (2 - 1j)),
    "rational": (lambda z: (z + 1) / (z - 2), lambda z: -3 / (z - 2) ** 2),
    "exp": (np.exp, np.exp),
    "log": (np.log, lambda z: 1 / z),
    "sqrt": (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda z: -np.sin(z)),
    "tan": (np.tan, lambda z: 1 + np.tan(z) ** 2),
    "sinh": (np.sinh, np.cosh),
    "cosh": (np.cosh, np.sinh),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "arcsin": (np.arcsin, lambda z: 1 / np.sqrt(1 - z**2)),
    "arctan": (np.arctan, lambda z: 1 / (1 + z**2)),
    "log1p": (np.log1p, lambda z: 1 / (1 + z)),
    "expm1": (np.expm1, np.exp),
    "square": (np.square, lambda z: 2 * z),
    "composition": (lambda z: np.exp(np.sin(z) * z), lambda z: np.exp(np.sin(z) * z) * (np.cos(z) * z + np.sin(z))),
}
CMATH = {
    "exp": (cmath.exp, cmath.exp),
    "log": (cmath.log, lambda z: 1 / z),
    "sqrt": (cmath.sqrt, lambda z: 0.5 / cmath.sqrt(z)),
    "sin": (cmath.sin, cmath.cos),
    "cosh": (cmath.cosh, cmath.sinh),
    "tanh": (cmath.tanh, lambda z: 1 - cmath.tanh(z) ** 2),
    "atan": (cmath.atan, lambda z: 1 / (1 + z**2)),
}
PARTS = {"real": (lambda w: w.real, 1), "imaginary": (lambda w: w.imag, 1j)}
REAL_VALUED = {
    "real part": (lambda z: z.real, 1),
    "imaginary part": (lambda z: z.imag, 1j),
    "modulus": (abs, Z / abs(Z)),
    "squared modulus": (lambda z: abs(z) ** 2, 2 * Z),
    "z times its conjugate": (lambda z: (z * z.conjugate()).real, 2 * Z),
    "np.abs": (np.abs, Z / abs(Z)),
    "np.real": (np.real, 1),
    "np.imag": (np.imag, 1j),
    "np.conj": (lambda z: np.conj(z).imag, -1j),
    "np.angle": (np.angle, 1j * Z / abs(Z) ** 2),
    "cmath.phase": (cmath.phase, 1j * Z / abs(Z) ** 2),
    "polar": (lambda z: math.prod(cmath.polar(z)), Z / abs(Z) * cmath.phase(Z) + 1j * Z / abs(Z)),
    "real times imaginary": (lambda z: z.real * z.imag, 0.4 + 0.6j),
    "log of the modulus": (lambda z: math.log(abs(z)), Z / abs(Z) ** 2),
    "imag of z squared": (lambda z: (z**2).imag, 1j * (2 * Z).conjugate()),
    "a branch on the real part": (lambda z: (z * z).real if z.real > 0 else 0.0, (2 * Z).conjugate()),
    "made from its parts": (lambda z: abs(complex(z.imag, z.real)), Z / abs(Z)),
    "cancelling conjugates": (lambda z: (z - z.conjugate()).imag, 2j),
    "distance": (lambda z: abs(z - (1 + 1j)), (Z - (1 + 1j)) / abs(Z - (1 + 1j))),
}
OF_ARRAYS = {
    "sum": (lambda a: np.sum(a).real, np.ones(3, complex)),
    "mean": (lambda a: np.mean(a).imag, np.full(3, 1j / 3)),
    "norm": (np.linalg.norm, A / np.linalg.norm(A)),
    "squared norm": (lambda a: np.vdot(a, a).real, 2 * A),
    "vdot": (lambda a: np.vdot(a, B).real, B),
    "vdot, second": (lambda a: np.vdot(B, a).imag, 1j * B),
    "dot": (lambda a: np.dot(a, B).real, B.conj()),
    "prod": (lambda a: np.prod(a).real, np.array([A[1] * A[2], A[0] * A[2], A[0] * A[1]]).conj()),
    "element": (lambda a: (a[1] ** 2).real, np.array([0, 2 * A[1].conjugate(), 0])),
    "real parts": (lambda a: np.sum(a.real**2), 2 * A.real + 0j),
    "imaginary parts": (lambda a: np.sum(a.imag**2), 2j * A.imag),
    "reversed": (lambda a: (a[::-1] @ B).real, B[::-1].conj()),
    "outer": (lambda a: np.outer(a, B).sum().real, np.full(3, B.sum().conjugate())),
    "where": (lambda a: np.where(a.real > 0, a * a, 0).sum().real, np.where(A.real > 0, 2 * A, 0).conj()),
    "real weights": (lambda a: (np.array([1.0, 2.0, 3.0]) * a).sum().real, np.array([1.0, 2.0, 3.0]) + 0j),
    "fft": (lambda a: np.sum(np.abs(np.fft.fft(a)) ** 2), 6 * A),
    "write": (lambda a: _written(a).real, np.array([0, (2 * A[1] + 1).conjugate(), 1])),
}


def _written(a):
    b = a.copy()
    b[0] = b[1] * b[1]
    return b.sum()


def assert_close(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_a_holomorphic_function_of_a_number(name, part):
    (f, slope), (of, factor) = HOLOMORPHIC[name], PARTS[part]
    assert_close(mo.grad(lambda z: of(f(z)))(Z), factor * np.conj(slope(Z)))


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_a_holomorphic_function_of_an_array(name):
    f, slope = HOLOMORPHIC[name]
    assert_close(mo.grad(lambda a: np.sum(f(a) * B).real)(A), np.conj(slope(A) * B))


@pytest.mark.parametrize("name", CMATH)
def test_a_function_of_cmath(name):
    f, slope = CMATH[name]
    assert_close(mo.grad(lambda z: f(z).imag)(Z), 1j * slope(Z).conjugate())


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_a_real_argument_has_a_real_gradient(name):
    f, slope = HOLOMORPHIC[name]
    found = mo.grad(lambda x: (f(x + 0.4j) * (1 - 2j)).real)(0.6)
    assert isinstance(found, float)
    assert_close(found, np.real((1 - 2j) * slope(Z)))


@pytest.mark.parametrize("name", REAL_VALUED)
def test_a_real_function_of_a_complex_number(name):
    f, expected = REAL_VALUED[name]
    found = mo.grad(f)(Z)
    assert isinstance(found, complex)
    assert_close(found, expected)


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_real_function_of_a_complex_array(name):
    f, expected = OF_ARRAYS[name]
    found = mo.grad(f)(A.copy())
    assert found.dtype == complex
    assert_close(found, expected)


def test_a_pullback_of_a_holomorphic_function_multiplies_by_the_conjugate():
    y, back = mo.pullback(lambda z: z**3, Z)
    assert_close(y, Z**3)
    assert_close(back(1 + 2j)[0], (1 + 2j) * (3 * Z**2).conjugate())


def test_the_second_derivative_of_a_squared_modulus():
    assert_close(mo.grad(lambda z: mo.grad(lambda w: abs(w) ** 2)(z).real)(Z), 2)
