"""Linear operators: application, combination, transposition, and errors on wrong shapes."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.linalg import Dense, Diagonal, FunctionOperator, Identity, LinearOperator, as_operator


def difference(x, k):
    return np.concatenate([k * (x[1:] - x[:-1]), x[:1]])


def difference_matrix(k):
    n = len(k) + 1
    matrix = np.zeros((n, n))
    for i in range(n - 1):
        matrix[i, i], matrix[i, i + 1] = -k[i], k[i]
    matrix[-1, 0] = 1.0
    return matrix


def complex_matrix(rng, m, n):
    return rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))


class TestApplication:
    def test_dense_is_its_matrix(self, rng):
        matrix, x = rng.standard_normal((3, 4)), rng.standard_normal(4)
        A = Dense(matrix)
        assert A.shape == (3, 4) and A.dtype == np.float64
        assert np.array_equal(A @ x, matrix @ x)
        assert np.array_equal(A.todense(), matrix)

    def test_diagonal_multiplies_entry_by_entry(self):
        A = Diagonal(np.array([2.0, 3.0]))
        assert (A @ np.array([1.0, -1.0])).tolist() == [2.0, -3.0]
        assert A.todense().tolist() == [[2.0, 0.0], [0.0, 3.0]]

    def test_identity_changes_nothing(self):
        x = np.arange(3.0)
        assert (Identity(3) @ x).tolist() == x.tolist()
        assert Identity(2, np.complex128).dtype == np.complex128

    def test_a_function_with_parameters(self):
        k = np.array([1.0, 2.0, 3.0])
        A = FunctionOperator(difference, (4, 4), (k,))
        assert np.array_equal(A.todense(), difference_matrix(k))

    def test_the_columns_of_an_array(self, rng):
        columns = rng.standard_normal((4, 3))
        k = np.array([1.0, 2.0, 3.0])
        for A in (Dense(difference_matrix(k)), FunctionOperator(difference, (4, 4), (k,))):
            assert np.allclose(A @ columns, difference_matrix(k) @ columns)

    def test_integers_are_promoted(self):
        assert Dense([[1, 2], [3, 4]]).dtype == np.float64
        assert Diagonal(np.array([1, 2])).dtype == np.float64

    def test_float32_stays_float32(self):
        x = np.ones(2, np.float32)
        for A in (Dense(np.eye(2, dtype=np.float32)), Diagonal(x), 2.0 * Diagonal(x), Diagonal(x) @ Diagonal(x)):
            assert A.dtype == np.float32 and (A @ x).dtype == np.float32


class TestAlgebra:
    @pytest.fixture
    def pair(self, rng):
        return complex_matrix(rng, 3, 3), complex_matrix(rng, 3, 3)

    def test_sums_products_multiples(self, pair):
        a, b = pair
        A, B = Dense(a), Dense(b)
        for combined, expected in (
            (A + B, a + b),
            (A - B, a - b),
            (A @ B, a @ b),
            ((2 - 1j) * A, (2 - 1j) * a),
            (A * 3, 3 * a),
            (A / 2, a / 2),
            (-A, -a),
            (A + b, a + b),
            (b - A, b - a),
            (2 * A @ B - 3 * Identity(3), 2 * a @ b - 3 * np.eye(3)),
        ):
            assert isinstance(combined, LinearOperator)
            assert np.allclose(combined.todense(), expected)

    def test_transposes_and_adjoints_of_combinations(self, pair):
        a, b = pair
        A, B = Dense(a), Dense(b)
        for combined, expected in (
            (A, a),
            (A + B, a + b),
            (A @ B, a @ b),
            ((2 - 1j) * A, (2 - 1j) * a),
            (Diagonal(a[0]), np.diag(a[0])),
            (A.H, a.conj().T),
            (Identity(3), np.eye(3)),
        ):
            assert np.allclose(combined.T.todense(), expected.T)
            assert np.allclose(combined.H.todense(), expected.conj().T)
            assert np.allclose(combined.H.T.todense(), expected.conj())
            assert np.allclose(combined.T.T.todense(), expected)

    def test_a_row_from_the_left(self, rng):
        matrix, row, rows = rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((2, 3))
        assert np.allclose(row @ Dense(matrix), row @ matrix)
        assert np.allclose(rows @ Dense(matrix), rows @ matrix)

    def test_a_transpose_that_is_given(self):
        A = FunctionOperator(
            lambda x: x[:2], (2, 4), transpose=lambda y: np.concatenate([y, np.zeros(2)])
        )  # fmt: skip
        assert np.array_equal(A.T.todense(), A.todense().T)
        assert np.array_equal(A.T.T.todense(), A.todense())


class TestDerivedTranspose:
    def test_of_a_real_function(self, rng):
        k = rng.standard_normal(3)
        A = FunctionOperator(difference, (4, 4), (k,))
        assert np.allclose(A.T.todense(), difference_matrix(k).T)
        assert np.allclose(A.T @ (1 + 2j * np.arange(4)), difference_matrix(k).T @ (1 + 2j * np.arange(4)))

    def test_of_a_complex_function(self, rng):
        matrix = complex_matrix(rng, 3, 3)
        A = FunctionOperator(lambda x: matrix @ x, (3, 3), dtype=np.complex128)
        assert np.allclose(A.T.todense(), matrix.T)
        assert np.allclose(A.H.todense(), matrix.conj().T)

    def test_its_gradient_reaches_the_parameters(self):
        x, w = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, -1.0, 2.0, 5.0])

        def through_transpose(k):
            return np.dot(w, FunctionOperator(difference, (4, 4), (k,)).T @ x)

        def directly(k):
            return np.dot(x, difference(w, k))

        k = np.array([1.0, 2.0, 3.0])
        assert np.isclose(through_transpose(k), directly(k))
        assert np.allclose(mo.grad(through_transpose)(k), mo.grad(directly)(k))


class TestGradients:
    def test_reach_what_an_operator_is_made_of(self):
        x = np.array([1.0, 2.0])

        def f(matrix, diagonal, factor):
            A = factor * Dense(matrix) @ Diagonal(diagonal) + Identity(2)
            return np.sum(A @ x)

        matrix, diagonal, factor = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0]), 3.0
        dmatrix, ddiagonal, dfactor = mo.gradient(f, matrix, diagonal, factor)
        assert np.allclose(dmatrix, factor * np.outer(np.ones(2), diagonal * x))
        assert np.allclose(ddiagonal, factor * matrix.sum(axis=0) * x)
        assert np.isclose(dfactor, np.sum(matrix @ (diagonal * x)))

    def test_of_an_operator_is_an_operator(self):
        dA, dx = mo.gradient(lambda A, x: np.sum(A @ x), Diagonal(np.array([2.0, 3.0])), np.array([5.0, 7.0]))
        assert isinstance(dA, Diagonal)
        assert dA.diagonal.tolist() == [5.0, 7.0]
        assert dx.tolist() == [2.0, 3.0]

    def test_to_second_order(self, rng):
        x = rng.standard_normal(3)
        mo.testing.check_gradients(lambda d: np.sum((Diagonal(d) @ Diagonal(d) @ x) ** 2), rng.standard_normal(3))


class TestBadInput:
    @pytest.mark.parametrize(
        "make, message",
        [
            (lambda: Dense(np.ones(3)), r"Dense\(matrix\): the array has shape \(3,\), expected two axes"),
            (lambda: Diagonal(np.ones((2, 2))), r"expected one axis \(n,\)"),
            (lambda: FunctionOperator(3, (2, 2)), "function is a int, expected a function of a vector"),
            (lambda: FunctionOperator(np.sin, (2,)), r"expected \(rows, columns\)"),
            (lambda: FunctionOperator(np.sin, (2, 2), np.ones(2)), "parameters is a ndarray, expected a tuple"),
            (lambda: FunctionOperator(np.sum, (2, 2)) @ np.ones(2), r"its function returned shape \(\)"),
            (lambda: Identity(3) @ np.ones(2), r"Identity of shape \(3, 3\) @ array of shape \(2,\)"),
            (lambda: np.ones(2) @ Identity(3), r"array of shape \(2,\) @ Identity"),
            (lambda: Identity(3) + Identity(2), "cannot be added"),
            (lambda: Identity(3) @ Identity(2), "cannot be multiplied"),
            (lambda: Identity(3) * np.ones(3), "use @ for products"),
            (lambda: Identity(3) + "x", "a summand is a str, expected a linear operator or a matrix"),
            (lambda: as_operator(np.sin), "wrap a function as FunctionOperator"),
        ],
    )
    def test_says_what_was_given_and_what_was_expected(self, make, message):
        with pytest.raises(mo.BadInput, match=message):
            make()
