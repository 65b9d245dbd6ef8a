"""Complex numbers of two real parts: no part is touched by the other, also where one is infinite, NaN or -0.0."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from path_tester import check_gradient, run_on

import morula as mo

SPECIAL = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan)


def of_python(a, b):
    return complex(a, b)


def of_two_complex(a, b):
    return complex(complex(a, b), complex(b, a))


def of_complex_and_real(a, b):
    return complex(complex(a, b), b)


def written(a, b):
    z = np.zeros(3, complex)
    z.real = a
    z.imag[1:] = b
    return z


def written_over(a, b):
    z = np.full((2, 2), complex(b, a))
    z.imag[0] = a
    z[1].real[...] = b
    return z


def rounded(a, b):
    return np.round(np.array([complex(a, b)]), 1)


def in_a_loop(a, b):
    z = np.zeros(6, complex)
    for i in range(6):
        z[i] = complex(a, b * 1.0)
    return z


PROGRAMS = (of_python, of_two_complex, of_complex_and_real, written, written_over, rounded, in_a_loop)


def bits(z):
    """The numbers with the signs of zeros; the sign of NaN is not defined."""
    z = np.asarray(z)
    return [(str(x), x if np.isnan(x) else np.copysign(1, x)) for x in (*z.real.flat, *z.imag.flat)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_parts_are_those_that_were_given(program, path):
    for a, b in itertools.product(SPECIAL, SPECIAL):
        with np.errstate(all="ignore"):
            found, expected = run_on(path)(program)(a, b), program(a, b)
        assert str(bits(found)) == str(bits(expected)), (a, b)
        assert type(found) is type(expected)


def of_magnitude(program):
    def total(a, b):
        z = np.asarray(program(a, b))
        return np.sum(z.real * z.real * (1 + z.imag) + np.sin(z.imag))

    return total


LOSSES = {f.__name__: of_magnitude(f) for f in PROGRAMS if f is not rounded}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name, path):
    check_gradient(path, LOSSES[name], 0.7, -0.4)


def angle_of_parts(x):
    z = np.empty(x.shape[0], np.complex64)
    z.real, z.imag = x[:, 0], x[:, 1]
    return np.sum(np.angle(z)) + np.sum(np.abs(z) ** 2)


def test_gradients_in_single_precision(path):
    check_gradient(path, angle_of_parts, np.array([[1.0, 2.0], [-0.5, 0.25]], np.float32))


def test_second_derivatives(path):
    def of_both(x):
        z = complex(x[0], x[1] * x[0])
        return (z * z * z).real

    x = np.array([0.6, -1.1])
    a, b = x
    expected = np.array([[6 * a - 18 * a * b * b, -18 * a * a * b], [-18 * a * a * b, -6 * a**3]])
    np.testing.assert_allclose(run_on(path)(mo.hessian(of_both))(x), expected, rtol=1e-12)
