"""Functions compiled by numba are differentiated by their Python functions."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

import morula as mo
from morula.testing import check_gradients

X = np.array([0.3, -1.0, 2.0])
Y = np.array([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]])


@numba.njit
def piece(a, b=2.0):
    return a * b if a > 0 else a * a


@numba.njit(parallel=True)
def total(x):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += piece(x[i]) ** 2
    return s


@numba.njit
def add_cubes(out, x):
    for i in range(x.size):
        out[i] += x[i] ** 3


def from_ones(x):
    out = np.ones(3)
    add_cubes(out, x)
    return out


@numba.vectorize
def branch(a, b):
    if a > b:
        return a * b
    return a - b * b


@numba.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def quotient(a, b):
    return a / b


@numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def dot(a, b, found):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    found[0] = s


@numba.guvectorize(["void(float64[:], float64, float64[:], float64[:])"], "(n),()->(n),()")
def scaled(a, s, products, norm):
    norm[0] = 0.0
    for i in range(a.shape[0]):
        products[i] = a[i] * s * s
        norm[0] += products[i] ** 2


@numba.guvectorize("(n),()->(n)")
def dynamic(a, s, found):
    for i in range(a.shape[0]):
        found[i] = a[i] * s * s


def into(ufunc):
    """The function of ``x`` and ``y`` that writes to an array which it is given."""

    def write(x, y):
        out = np.zeros((2, 3))
        assert ufunc(x, y, out=out) is out
        return out

    return write


CALLS = {
    "jit": (total, X),
    "jit_writes": (from_ones, X),
    "jit_by_name": (lambda x: piece(b=x[0], a=x[2]), X),
    "vectorize": (branch, X, Y),
    "vectorize_scalars": (lambda x: branch(x[0], x[1]), X),
    "vectorize_declared": (quotient, X, Y),
    "vectorize_out": (into(branch), X, Y),
    "guvectorize": (dot, X, Y),
    "guvectorize_one": (dot, X, X),
    "guvectorize_several": (lambda x, y: scaled(y, x[0]), X, Y),
    "guvectorize_out": (lambda x, y: into(dynamic)(y, x[1]), X, Y),
    "guvectorize_dynamic": (lambda x, y: dynamic(y, x[:2], np.zeros((2, 3))), X, Y),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_differences(name):
    function, *arguments = CALLS[name]
    check_gradients(function, *arguments, order=2)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_types_are_those_of_the_compiled_function(name):
    function, *arguments = CALLS[name]
    found, _ = mo.pullback(function, *arguments)
    expected = function(*arguments)
    for y, z in zip(found, expected) if isinstance(found, tuple) else [(found, expected)]:
        assert type(y) is type(z) or {type(y), type(z)} == {float, np.float64}
        np.testing.assert_allclose(y, z, rtol=1e-14)


def test_single_precision_stays():
    x = X.astype(np.float32)
    y, gradient = mo.value_and_grad(lambda x: np.sum(quotient(x, x + np.float32(1.5))))(x)
    assert y.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, 1.5 / (X + 1.5) ** 2, rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["jit", "jit_writes", "jit_by_name", "vectorize", "vectorize_scalars", "vectorize_declared"]
    + ["guvectorize", "guvectorize_one"],
)
def test_compiles(name):
    function, *arguments = CALLS[name]

    def loss(*args):
        return np.sum(np.sin(function(*args)))

    compiled = mo.jit(lambda *args: mo.gradient(loss, *args))(*arguments)
    for a, b in zip(compiled, mo.gradient(loss, *arguments)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: dynamic(x, 2.0), "dynamic of numba.guvectorize cannot be compiled"),
        (into(branch), "branch of numba.vectorize cannot be compiled with out= or keyword arguments"),
    ],
)
def test_what_cannot_be_compiled_says_so(function, text):
    arguments = (X, Y) if function.__code__.co_argcount == 2 else (X,)
    with pytest.raises(mo.MorulaError, match=re.escape(text)):
        mo.jit(function)(*arguments)


def test_several_results_of_a_kernel_compile():
    def loss(x, y):
        products, norms = scaled(y, x[:2])
        return np.sum(np.sin(products)) + np.sum(norms)

    found = mo.jit(mo.value_and_grad(loss, (0, 1)))(X, Y)
    expected = mo.value_and_grad(loss, (0, 1))(X, Y)
    np.testing.assert_allclose(found[0], expected[0])
    for a, b in zip(found[1], expected[1]):
        np.testing.assert_allclose(a, b)


def test_a_mask_is_refused():
    with pytest.raises(mo.NoDerivative, match="numba's branch has no derivative with the arguments where"):
        mo.gradient(lambda x: np.sum(branch(x, x, where=x > 0.0)), X)
