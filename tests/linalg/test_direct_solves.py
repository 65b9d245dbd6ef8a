"""Direct solves: of positive definite matrices, and of sparse matrices that are singular."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from krylov_methods import poisson, random_matrix

import morula as mo
from morula.linalg import Dense, Sparse, solve


class TestPositiveDefinite:
    @pytest.mark.parametrize("format", ["csr", "csc", "dense"])
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_a_direct_solve_and_its_derivatives(self, rng, format, dtype):
        matrix = poisson(3).toarray() + 0.1 * random_matrix(rng, 9, 9, dtype) * (poisson(3).toarray() != 0)
        matrix = matrix @ matrix.conj().T
        A = matrix if format == "dense" else scipy.sparse.csr_array(matrix).asformat(format)
        b = random_matrix(rng, 9, 2, dtype)
        found = solve(A, b, assume="positive definite")
        assert found.method == "direct"
        np.testing.assert_allclose(found.x, np.linalg.solve(matrix, b), rtol=1e-9)

        def loss(t, b, assume):
            B = (
                Dense(t * matrix)
                if format == "dense"
                else Sparse(t * A.data, A.indices, A.indptr, A.shape, format == "csc")
            )
            return np.sum(np.abs(solve(B, b, assume=assume).x) ** 2)

        expected = mo.gradient(lambda t, b: loss(t, b, None), 1.3, b)
        for got, e in zip(mo.gradient(lambda t, b: loss(t, b, "positive definite"), 1.3, b), expected):
            np.testing.assert_allclose(got, e, rtol=1e-9)
        _, slope = mo.jvp(lambda t: loss(t, b, "positive definite"), (1.3,), (1.0,))
        assert slope == pytest.approx(expected[0], rel=1e-12)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_in_compiled_code(self, target):
        A, b = poisson(4), np.arange(16.0)

        def loss(A, b):
            return np.sum(solve(A, b, assume="positive definite").x ** 2)

        dA, db = mo.jit(mo.grad(loss, (0, 1)), target=target)(A, b)
        eA, eb = mo.grad(loss, (0, 1))(A, b)
        np.testing.assert_allclose(dA.data, eA.data, rtol=1e-10)
        np.testing.assert_allclose(db, eb, rtol=1e-10)

    def test_needs_fewer_entries_in_the_factors(self):
        from scipy.sparse.linalg import splu

        A = poisson(40).tocsc()
        symmetric = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        assert symmetric.nnz < 0.7 * splu(A).nnz

    def test_a_matrix_that_is_not(self):
        indefinite = scipy.sparse.csr_array(np.diag([1.0, -2.0]))
        with pytest.raises(
            mo.MorulaError, match=r"Sparse of shape \(2, 2\) is not positive definite: x·A x = -0.5 for"
        ):
            solve(indefinite, np.array([0.0, 1.0]), assume="positive definite")
        with pytest.raises(np.linalg.LinAlgError, match="2-th leading minor .* not positive definite"):
            solve(np.diag([1.0, -2.0]), np.ones(2), assume="positive definite")
        with pytest.raises(mo.MorulaError, match=r"Sparse of shape \(2, 2\) is singular"):
            solve(scipy.sparse.csr_array(np.array([[1.0, 0.0], [1.0, 0.0]])), np.ones(2), assume="positive definite")


SINGULAR = {
    "an entry that is not finite": ([1.0, np.nan, 2.0, 1.0], r"cannot be solved: data\[1\] is not finite"),
    "a column of zeros": ([1.0, 0.0, 2.0, 0.0], "is singular: column 1 is zero"),
    "a row of zeros": ([0.0, 0.0, 2.0, 1.0], "is singular: row 0 is zero"),
    "dependent columns": ([1.0, 2.0, 2.0, 4.0], "SuperLU found a pivot of zero, so its columns are linearly dependent"),
}


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_a_sparse_system_without_a_solution_says_why(path):
    indices, indptr = np.array([0, 1, 0, 1]), np.array([0, 2, 4])

    def solved(data, b):
        return Sparse(data, indices, indptr, (2, 2)).solve(b)

    run = solved if path == "eager" else mo.jit(solved, target=path)
    np.testing.assert_allclose(run(np.array([1.0, 2.0, 2.0, 1.0]), np.ones(2)), [1 / 3, 1 / 3])
    for data, text in SINGULAR.values():
        with pytest.raises(mo.MorulaError, match=text), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SciPy's MatrixRankWarning
            run(np.array(data), np.ones(2))
