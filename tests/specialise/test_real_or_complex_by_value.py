"""Functions of real arrays whose results are real or complex, by the arrays' values: the program is right for both."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import morula as mo

REAL = np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 0.2], [0.1, 0.3, 1.0]])
ROTATION = np.array([[0.1, 1.0, 0.0], [-1.0, 0.3, 0.2], [0.1, 0.3, 1.0]])


def radius(a):
    return np.max(np.abs(np.linalg.eigvals(a)))


def dominant_vector(a):
    w, v = np.linalg.eig(a)
    i = np.argmax(w.real)
    return np.sum(np.real(v[:, i]) ** 3) * np.real(w[i])


def kinds(a):
    w = 2 * np.linalg.eigvals(a) + 1
    total = 1.0 * np.iscomplexobj(w) + np.sum(np.sort(w.real) * np.arange(3)) + np.sum(np.imag(w) ** 2)
    for x in w:
        total = total + abs(x)
    return total


def matrix_functions(a):
    return np.sum(np.real(scipy.linalg.sqrtm(a)) ** 3) + np.sum(np.abs(scipy.linalg.logm(a)) ** 2)


@pytest.mark.parametrize("f", [radius, dominant_vector, kinds, matrix_functions], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [REAL, ROTATION], ids=["real", "complex"])
def test_value_and_gradient(f, a, check):
    check(f, a)


def several_at_once(a):
    """An array of results of which one is complex is complex."""
    both = np.array([np.linalg.eigvals(a), np.linalg.eigvals(a @ a), np.linalg.eigvals(a + a.T)])
    return np.sum(both.real**2) + np.sum(np.abs(both)) + 1.0 * np.iscomplexobj(both)


@pytest.mark.parametrize("a", [REAL, ROTATION], ids=["real", "complex"])
def test_arrays_of_results(a, check):
    check(several_at_once, a)


def test_one_program_returns_arrays_of_either_kind(target):
    f = mo.jit(lambda a: np.linalg.eigvals(a), target=target)
    for a in (REAL, ROTATION, REAL, ROTATION.astype(np.float32)):
        found, expected = f(a), np.linalg.eigvals(a)
        assert found.dtype == expected.dtype
        assert np.allclose(found, expected, 1e-5)


@pytest.mark.parametrize("p", [[1.0, -3.0, 1.0], [1.0, 1.0, 1.0], [2.0, -1.0]])
def test_roots(p, check):
    check(lambda p: np.sum(np.abs(np.roots(p)) ** 2), np.array(p))


def test_the_largest_real_root(check):
    def f(p):
        r = np.roots(p)
        return np.where(np.isreal(r), r.real, -np.inf).max()

    check(f, np.array([1.0, -3.0, 1.0, 0.5]))


def test_a_polynomial_of_lower_degree_is_refused(target):
    f = mo.jit(lambda p: np.sum(np.abs(np.roots(p))), target=target)
    with pytest.raises(mo.BadInput, match="whose first or last coefficient is zero"):
        f(np.array([0.0, 1.0, 2.0]))
