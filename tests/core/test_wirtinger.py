"""``wirtinger`` on every path: the pair of derivatives by z and by its conjugate, against SymPy and differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sympy
from path_tester import PATHS, run_on

import morula as mo

Z, W = sympy.symbols("z w")  # w stands for the conjugate of z
FUNCTIONS = {
    "holomorphic": (lambda z: np.sin(z) * np.exp(z), sympy.sin(Z) * sympy.exp(Z)),
    "anti-holomorphic": (lambda z: np.conj(z) ** 3, W**3),
    "mixed": (lambda z: z**2 * np.conj(z) + z.real, Z**2 * W + (Z + W) / 2),
    "real": (lambda z: abs(z) ** 4 + z.imag, (Z * W) ** 2 + (Z - W) / (2 * sympy.I)),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_pair_agrees_with_sympy(name, path):
    f, expression = FUNCTIONS[name]
    z = 0.7 - 0.4j
    expected = [complex(sympy.diff(expression, v).subs({Z: z, W: z.conjugate()})) for v in (Z, W)]
    np.testing.assert_allclose(run_on(path)(lambda z: mo.wirtinger(f, z))(z), expected, rtol=1e-12, atol=1e-15)


@dataclass
class Filter:
    gains: np.ndarray
    scale: float
    name: str = "filter"


@pytest.mark.parametrize("path", PATHS)
def test_structures_with_complex_and_real_numbers(path):
    def response(p):
        return p["filter"].scale * np.sum(p["filter"].gains ** 2 * np.conj(p["input"]))

    gains, scale, x = np.array([1 + 2j, -0.5j]), 1.5, np.array([0.3 - 1j, 2.0 + 0.5j])
    by_z, by_conjugate = run_on(path)(lambda p: mo.wirtinger(response, p))({"filter": Filter(gains, scale), "input": x})
    np.testing.assert_allclose(by_z["filter"].gains, 2 * scale * gains * np.conj(x))
    np.testing.assert_allclose(by_conjugate["filter"].gains, [0, 0])
    np.testing.assert_allclose(by_z["input"], [0, 0])
    np.testing.assert_allclose(by_conjugate["input"], scale * gains**2)
    np.testing.assert_allclose(by_z["filter"].scale, np.sum(gains**2 * np.conj(x)))
    assert by_conjugate["filter"].scale == 0 and by_z["filter"].name is None


@pytest.mark.parametrize("path", PATHS)
def test_it_can_be_differentiated_and_is_half_the_gradient_of_a_real_function(path):
    def size_of_derivative(z):
        return np.abs(mo.wirtinger(lambda z: z**3, z)[0]) ** 2

    z = 1 + 2j
    assert run_on(path)(mo.grad(size_of_derivative))(z) == pytest.approx(36 * abs(z) ** 2 * z)
    x = np.array([1 + 2j, 0.3j])
    gradient = run_on(path)(lambda x: mo.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x))(x)
    pair = run_on(path)(lambda x: mo.wirtinger(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), x))(x)
    np.testing.assert_allclose(pair, [np.conj(gradient) / 2, gradient / 2])


def test_bad_input():
    with pytest.raises(mo.BadInput, match="wirtinger takes a function that returns a number, but it returned ndarray"):
        mo.wirtinger(lambda z: z * np.ones(2), 1j)
    with pytest.raises(mo.BadInput, match="returned NoneType"):
        mo.wirtinger(lambda z: None, 1j)
    with pytest.raises(mo.BadInput, match="expected a function"):
        mo.wirtinger(3, 1j)  # pyright: ignore[reportArgumentType]
