"""Square roots and logarithms of matrices by their programs, and in native code without Python."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg
from without_python import check_without_python, refuse_python

from morula.core.rules import root_and_logarithm

RNG = np.random.default_rng(7)
A = RNG.normal(size=(5, 5))
S = A @ A.T + np.eye(5)
W = np.cos(np.arange(25.0)).reshape(5, 5)
MATRICES = {
    "general": A,
    "definite": S,
    "negative": -S,
    "triangle": np.triu(S),
    "identity": np.eye(5),
    "signs": np.diag([-1.0, 2.0, -3.0]),
    "rotations": np.kron(np.eye(3), [[0.0, 1.0], [-1.0, 0.0]]),
    "complex": A + 1j * RNG.normal(size=(5, 5)),
    "large": RNG.normal(size=(30, 30)),
    "close to the identity": np.eye(5) + 1e-9 * A,
    "far from normal": np.array([[1.0, 1e6, 3.0], [0.0, 1.01, 1e5], [0.0, 0.0, 1.02]]),
    "equal eigenvalues": np.array([[2.0, 1.0], [0.0, 2.0]]),
    "across the cut": np.array([[-1.0 + 1e-3j, 1.0], [0.0, -1.0 - 1e-3j]]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_programs_compute_what_scipy_computes(name):
    a = MATRICES[name]
    for program, function in ((root_and_logarithm.root, linalg.sqrtm), (root_and_logarithm.logarithm, linalg.logm)):
        expected = function(a)
        found, is_complex = program(a)
        assert bool(is_complex) == np.iscomplexobj(expected)
        np.testing.assert_allclose(found, expected, atol=1e-15 + 1e-13 * np.max(np.abs(expected)))


@pytest.mark.parametrize("a", [np.diag([0.0, 0.0, 1.0]), np.zeros((3, 3))], ids=["singular", "zero"])
def test_roots_of_singular_matrices(a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(root_and_logarithm.root(a)[0], linalg.sqrtm(a))


def root(a):
    return np.sum(W * np.abs(linalg.sqrtm(a)) ** 2)


def logarithm(a):
    return np.sum(W * np.abs(linalg.logm(a)) ** 2)


@pytest.mark.parametrize("name", ["general", "definite", "complex"])
@pytest.mark.parametrize("f", [root, logarithm])
def test_values_and_gradients_without_python(f, name, monkeypatch):
    a = MATRICES[name]
    check_without_python(f, a + 3 * np.eye(5) if name == "general" else a, monkeypatch=monkeypatch)


def of_stack(a):
    return linalg.sqrtm(a), linalg.logm(a)


def test_stacks(monkeypatch):
    refuse_python(monkeypatch)
    stack = np.stack([S, S[::-1, ::-1] + 1.0])
    for found, expected in zip(run_on("native")(of_stack)(stack), of_stack(stack)):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_roots_in_single_precision(dtype, monkeypatch):
    refuse_python(monkeypatch)
    found = run_on("native")(linalg.sqrtm)(S.astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, linalg.sqrtm(S), atol=1e-4)
