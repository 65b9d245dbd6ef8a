"""Dense linear algebra in native code: loops for small matrices, LAPACK by pointer for others, never through Python."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg
from path_tester import check_gradient, check_value

import morula as mo
from morula.core.emit.native.library import PythonCall

RNG = np.random.default_rng(7)
DTYPES = [np.float64, np.float32, np.complex128, np.complex64]
ORDERS = [1, 3, 4, 5, 8, 9, 20]
"""On both sides of the orders up to which all loops are unrolled, and up to which there are loops at all."""


def matrix(n: int, dtype: type = np.float64, columns: int | None = None) -> np.ndarray:
    a = RNG.normal(size=(n, columns or n))
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * RNG.normal(size=a.shape)
    return a.astype(dtype)


def definite(n: int, dtype: type = np.float64) -> np.ndarray:
    a = matrix(n, dtype)
    return (a @ a.conj().T + n * np.eye(n)).astype(dtype)


pytestmark = pytest.mark.filterwarnings("ignore:.*was compiled 8 times:RuntimeWarning")


@cache
def native(f):
    return mo.jit(f, target="native")


def assert_like_numpy(f, *args):
    expected, found = f(*args), native(f)(*args)
    rtol = 3e-4 if np.result_type(*args).char in "fF" else 1e-10
    for x, y in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


def solve(a, b):
    return np.linalg.solve(a, b)


def inverse(a):
    return np.linalg.inv(a)


def determinant(a):
    return np.linalg.det(a)


def sign_and_logarithm(a):
    return tuple(np.linalg.slogdet(a))


def factor(a):
    return np.linalg.cholesky(a), np.linalg.cholesky(a, upper=True)


def scipy_factor(a):
    return scipy.linalg.cholesky(a), scipy.linalg.cholesky(a, lower=True)


def substituted(a, b):
    return tuple(
        scipy.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
        for lower in (False, True)
        for trans in (0, 1, "C")
        for unit in (False, True)
    )


@pytest.fixture
def no_python(monkeypatch):
    """Native code that calls a Python function fails."""

    def run(self, words):
        raise AssertionError(f"{self.function} is called in Python")

    monkeypatch.setattr(PythonCall, "run", run)


@pytest.mark.usefixtures("no_python")
class TestNoPython:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", ORDERS)
    def test_equations(self, n, dtype):
        a = matrix(n, dtype) + n * np.eye(n, dtype=dtype)
        for b in (matrix(n, dtype)[:, 0], matrix(n, dtype, 3)):
            assert_like_numpy(solve, a, b)
            assert_like_numpy(solve, a.T, b)
        assert_like_numpy(inverse, a)

    @pytest.mark.parametrize("dtype", DTYPES[:2])
    @pytest.mark.parametrize("n", ORDERS)
    def test_determinants(self, n, dtype):
        a = matrix(n, dtype)
        for x in (a, a[::-1].copy(), -a, np.zeros_like(a), a * np.arange(n, dtype=dtype)):
            assert_like_numpy(determinant, x)
            assert_like_numpy(sign_and_logarithm, x)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", ORDERS)
    def test_cholesky(self, n, dtype):
        a = definite(n, dtype)
        assert_like_numpy(factor, a)
        assert_like_numpy(scipy_factor, a)
        assert_like_numpy(factor, np.tril(a))  # the other triangle is not read for the lower factor

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("n", [3, 5, 9])
    def test_triangles(self, n, dtype):
        a = definite(n, dtype)
        assert_like_numpy(substituted, a, matrix(n, dtype)[:, 0])
        assert_like_numpy(substituted, a, matrix(n, dtype, 2))

    def test_many_right_hand_sides(self):
        assert_like_numpy(solve, definite(3), matrix(3, columns=30))

    @pytest.mark.parametrize("n", [3, 6, 12])
    def test_stacks_are_broadcast(self, n):
        stack = np.stack([definite(n), definite(n), definite(n)])
        assert_like_numpy(solve, stack, matrix(n, columns=2))
        assert_like_numpy(solve, definite(n), np.stack([matrix(n, columns=2)] * 2))
        assert_like_numpy(solve, stack[:, None], np.stack([matrix(n, columns=2)] * 2))
        assert_like_numpy(solve, stack, RNG.normal(size=n))
        for f in (inverse, determinant, sign_and_logarithm, factor):
            assert_like_numpy(f, stack)

    def test_integers_and_mixed_dtypes(self):
        a = np.array([[3, 1], [1, 2]])
        assert_like_numpy(solve, a, np.array([1, 0]))
        assert_like_numpy(solve, a, np.array([1j, 0]))
        assert_like_numpy(inverse, a)
        assert_like_numpy(determinant, a)

    def test_empty_matrices(self):
        a = np.zeros((0, 0))
        assert_like_numpy(solve, a, np.zeros((0, 2)))
        assert_like_numpy(determinant, a)
        assert_like_numpy(sign_and_logarithm, a)
        assert_like_numpy(factor, a)

    @pytest.mark.parametrize("n", [2, 6, 12])
    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_determinants_whose_product_is_out_of_range_on_the_way(self, n, scale):
        diagonal = np.where(np.arange(n) % 2, 1 / scale, scale)
        diagonal[: n // 2], diagonal[n // 2 :] = scale, 1 / scale
        assert_like_numpy(determinant, np.diag(diagonal))

    @pytest.mark.parametrize("n", [3, 6, 12])
    def test_values_that_are_not_finite(self, n):
        """Which elements remain finite depends on the order of the operations, in LAPACK, too."""
        for bad in (np.nan, np.inf):
            a = definite(n)
            a[0, 1] = bad
            assert not np.isfinite(native(determinant)(a))
            assert not np.all(np.isfinite(native(solve)(a, np.ones(n))))


@pytest.mark.parametrize("n", [2, 3, 6, 12])
class TestErrors:
    """Those of NumPy and SciPy, with their texts."""

    def fails(self, f, kind, text, *args):
        with pytest.raises(kind) as expected:
            f(*args)
        with pytest.raises(kind) as found:
            native(f)(*args)
        assert str(expected.value) == text and str(found.value).startswith(text)

    def test_singular_matrices(self, n):
        a = np.ones((n, n))
        for f, args in ((solve, (a, np.ones(n))), (solve, (a, np.ones((n, 2)))), (inverse, (a,))):
            self.fails(f, np.linalg.LinAlgError, "Singular matrix", *args)

    def test_indefinite_matrices(self, n):
        a = definite(n)
        a[1, 1] = -1.0
        self.fails(factor, np.linalg.LinAlgError, "Matrix is not positive definite", a)
        text = "2-th leading minor of the array is not positive definite"
        self.fails(scipy_factor, np.linalg.LinAlgError, text, a)

    def test_zeros_on_the_diagonal(self, n):
        a = definite(n)
        a[1, 1] = 0.0
        text = "singular matrix: resolution failed at diagonal 1"
        self.fails(substituted, np.linalg.LinAlgError, text, a, np.ones(n))

    def test_operands_that_are_not_finite(self, n):
        a, text = definite(n), "array must not contain infs or NaNs"
        a[0, 1] = np.inf
        self.fails(scipy_factor, ValueError, text, a)
        self.fails(substituted, ValueError, text, a, np.ones(n))
        self.fails(substituted, ValueError, text, definite(n), np.full(n, np.nan))

    def test_an_error_of_one_matrix_of_a_stack(self, n):
        stack = np.stack([definite(n), np.ones((n, n))])
        self.fails(inverse, np.linalg.LinAlgError, "Singular matrix", stack)


def likelihood(F, H, zs):
    """A Kalman filter: the logarithm of the likelihood of observations."""
    n = F.shape[0]
    x, P, total = np.zeros(n), np.eye(n), 0.0
    for k in range(zs.shape[0]):
        x, P = F @ x, F @ P @ F.T + 0.1 * np.eye(n)
        error, S = zs[k] - H @ x, H @ P @ H.T + np.eye(H.shape[0])
        gain = np.linalg.solve(S, H @ P).T
        x, P = x + gain @ error, P - gain @ H @ P
        total = total - 0.5 * (error @ np.linalg.solve(S, error) + np.linalg.slogdet(S)[1])
    return total


def gaussian(a, y):
    low = np.linalg.cholesky(a)
    z = scipy.linalg.solve_triangular(low, y, lower=True)
    return z @ z + 2 * np.sum(np.log(np.diag(low))) + np.linalg.det(np.linalg.inv(a))


@pytest.mark.parametrize(("states", "sensors"), [(3, 2), (6, 5)])
def test_gradient_of_a_kalman_filter(states, sensors):
    F = np.eye(states) + 0.1 * matrix(states)
    check_gradient("native", likelihood, F, matrix(sensors, columns=states), matrix(4, columns=sensors))


@pytest.mark.parametrize("n", [3, 6, 10])
def test_gradient_of_a_gaussian_likelihood(n):
    check_gradient("native", gaussian, definite(n), RNG.normal(size=n))


def solve_or_nothing(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.zeros(b.shape)


@pytest.mark.parametrize("n", [3, 12])
def test_a_caught_error(n):
    check_value("native", solve_or_nothing, np.ones((n, n)), np.ones(n))
    check_value("native", solve_or_nothing, definite(n), np.ones(n))
