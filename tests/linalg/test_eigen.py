"""Eigenpairs of large matrices: values, vectors, statuses, derivatives, refusals."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from krylov_methods import convection_diffusion, poisson, random_matrix
from scipy.sparse.linalg import aslinearoperator

import morula as mo
from morula.core.testing.differences import ridders
from morula.linalg import (
    Circulant,
    Dense,
    Diagonal,
    Eigenpairs,
    FunctionOperator,
    Status,
    eigs,
    eigsh,
    lobpcg,
    preconditioners,
    tridiagonal,
)

DTYPES = [("f8", 1e-10), ("c16", 1e-10), ("f4", 1e-3), ("c8", 1e-3)]


def hermitian(rng, n, dtype=np.float64):
    """Eigenvalues 1 to n."""
    q = np.linalg.qr(random_matrix(rng, n, n, dtype))[0]
    return ((q * np.arange(1.0, n + 1)) @ q.conj().T).astype(dtype)


def definite(rng, n, dtype=np.float64):
    a = random_matrix(rng, n, n, dtype) / np.sqrt(n)
    return (a @ a.conj().T + np.eye(n)).astype(dtype)


def laplacian_values(n):
    """The eigenvalues of ``poisson(n)``, ascending; those of different directions are equal."""
    line = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    return np.sort((line[:, None] + line).ravel())


def assert_pairs(A, found, values, atol, M=None):
    X = found.vectors
    assert found.converged and found.status is Status.CONVERGED and "meets the tolerance" in found.message
    np.testing.assert_allclose(found.values, values, atol=atol * np.max(np.abs(values)))
    size = np.max(np.abs(np.asarray(A))) * len(A)
    MX = X if M is None else M @ X
    np.testing.assert_allclose(A @ X, MX * found.values, atol=atol * size)
    np.testing.assert_allclose(X.conj().T @ MX, np.eye(X.shape[1]), atol=atol * 10)


class TestEigsh:
    @pytest.mark.parametrize("dtype, error", DTYPES)
    @pytest.mark.parametrize("n", [3, 60])
    def test_largest_and_smallest_in_the_dtype_given(self, rng, n, dtype, error):
        A = hermitian(rng, n, dtype)
        for which, values in (
            ("largest", [n, n - 1, n - 2]),
            ("smallest", [1, 2, 3]),
            ("magnitude", [n, n - 1, n - 2]),
        ):
            found = eigsh(A, 3, which)
            assert found.vectors.dtype == dtype and found.values.dtype == np.dtype(dtype).type(0).real.dtype
            assert_pairs(A, found, values, error)

    @pytest.mark.parametrize("n", [4, 50])
    def test_nearest_to_a_number(self, rng, n):
        A = hermitian(rng, n)
        assert_pairs(A, eigsh(A, 3, sigma=2.2), [2, 3, 1], 1e-10)
        inverse = np.linalg.inv(A - 2.2 * np.eye(n))
        assert_pairs(A, eigsh(A, 3, sigma=2.2, inverse=inverse), [2, 3, 1], 1e-10)

    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize("n, sigma", [(8, None), (50, None), (50, 1.3)])
    def test_a_generalised_problem(self, rng, n, sigma, dtype):
        A, M = hermitian(rng, n, dtype), definite(rng, n, dtype)
        values = scipy.linalg.eigh(A, M)[0]
        order = np.argsort(-values if sigma is None else np.abs(values - sigma))
        assert_pairs(A, eigsh(A, 3, M=M, sigma=sigma), values[order[:3]], 1e-9, M)

    @pytest.mark.parametrize("options", [{"which": "smallest"}, {"sigma": 0.0}])
    def test_repeated_eigenvalues_of_a_grid_are_all_found(self, options):
        found = eigsh(poisson(16), 6, **options)
        assert_pairs(poisson(16).toarray(), found, laplacian_values(16)[:6], 1e-9)

    def test_an_invariant_space_does_not_end_the_search(self):
        found = eigsh(Diagonal(np.repeat([3.0, 2.0, 1.0], [2, 2, 96])), 5)
        np.testing.assert_allclose(found.values, [3, 3, 2, 2, 1], atol=1e-12)
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-12)
        assert eigsh(Diagonal(np.zeros(40)), 2).values.tolist() == [0, 0]

    def test_every_kind_of_matrix(self):
        lower, d = np.full(39, -1.0), np.full(40, 2.0)
        matrix = np.diag(d) + np.diag(lower, 1) + np.diag(lower, -1)
        values = 2 - 2 * np.cos(np.pi * np.arange(1, 41) / 41)
        kinds = [
            matrix, scipy.sparse.csc_array(matrix), scipy.sparse.coo_array(matrix), aslinearoperator(matrix), Dense(matrix),
            tridiagonal(lower, d, lower),
            FunctionOperator(lambda u: 2 * u - np.pad(u[1:], (0, 1)) - np.pad(u[:-1], (1, 0)), (40, 40)),
        ]  # fmt: skip
        for A in kinds:
            np.testing.assert_allclose(eigsh(A, 2, vectors=False).values, values[::-1][:2], rtol=1e-10)
            np.testing.assert_allclose(eigsh(A, 2, sigma=0.0).values, values[:2], rtol=1e-7)
        ring = Circulant(np.eye(1, 40, 1)[0] + np.eye(1, 40, 39)[0])
        np.testing.assert_allclose(eigsh(ring, 3).values, 2 * np.cos(2 * np.pi * np.array([0, 1, 1]) / 40), rtol=1e-10)

    def test_too_few_cycles_are_a_status_and_its_gradient_an_error(self, rng):
        A = poisson(20)
        found = eigsh(A, 3, "smallest", max_iterations=2)
        assert found.status is Status.MAX_ITERATIONS and found.iterations == 2 and found.history.shape == (3,)
        assert np.max(found.residual_norms) == pytest.approx(found.history[-1], rel=1e-6)
        with pytest.raises(
            mo.MorulaError, match="eigsh: no gradient, since the iteration did not converge; raise max_iter"
        ):
            mo.grad(lambda A: np.sum(eigsh(A, 3, "smallest", max_iterations=2).values))(A)

    def test_the_key_decides_the_start(self, rng):
        A = hermitian(rng, 60)
        first, second = eigsh(A, 2, max_iterations=0), eigsh(A, 2, max_iterations=0, key=mo.random.Generator(5))
        assert first.history.tolist() == eigsh(A, 2, max_iterations=0, key=0).history.tolist()
        assert first.history.tolist() != second.history.tolist()


class TestEigs:
    @pytest.mark.parametrize("dtype, error", DTYPES)
    @pytest.mark.parametrize("n", [4, 60])
    def test_largest_magnitudes(self, rng, n, dtype, error):
        A = (random_matrix(rng, n, n, dtype) / np.sqrt(n) + np.diag(np.arange(n))).astype(dtype)
        values = np.linalg.eigvals(A)
        found = eigs(A, 2)
        assert found.vectors.dtype == np.result_type(dtype, "c8") and found.converged
        expected = values[np.argsort(-np.abs(values))][:2]
        np.testing.assert_allclose(found.values, expected, rtol=10 * error)
        np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, atol=error * 100 * n)
        np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=0), 1, rtol=10 * error)

    @pytest.mark.parametrize(
        "which, key",
        [
            ("largest real", lambda v: -v.real),
            ("smallest real", lambda v: v.real),
            ("largest imaginary", lambda v: -v.imag),
            ("smallest imaginary", lambda v: v.imag),
        ],
    )
    def test_by_part(self, which, key):
        A = np.diag(np.exp(2j * np.pi * np.arange(50) / 50.3) * np.linspace(1, 2, 50)) + np.diag(np.full(49, 0.1), 1)
        values = np.diagonal(A)
        np.testing.assert_allclose(eigs(A, 3, which).values, values[np.argsort(key(values))][:3], rtol=1e-9)

    def test_nearest_to_a_complex_number(self):
        A = scipy.linalg.block_diag(*[[[k, 1.0], [-1.0, k]] for k in range(30)])
        np.testing.assert_allclose(eigs(A, 2, sigma=4.2 + 0.9j).values, [4 + 1j, 5 + 1j], rtol=1e-10)
        sparse = scipy.sparse.csr_array(A)
        np.testing.assert_allclose(eigs(sparse, 2, sigma=4.2).values, [4 + 1j, 4 - 1j], rtol=1e-10)

    def test_convection_and_diffusion(self):
        A = convection_diffusion(12, 0.3)
        line = 2 - 2 * np.cos(np.pi * np.arange(1, 13) / 13)
        winded = 2 - 2 * np.sqrt(1 - 0.3**2) * np.cos(np.pi * np.arange(1, 13) / 13)
        values = np.sort((line[:, None] + winded).ravel())
        np.testing.assert_allclose(eigs(A, 3, sigma=0.0).values, values[:3], rtol=1e-9)


class TestLobpcg:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize("n", [5, 40])
    def test_generalised_problems_with_a_preconditioner(self, rng, n, dtype):
        A, M = hermitian(rng, n, dtype), definite(rng, n, dtype)
        values = scipy.linalg.eigh(A, M)[0]
        T = np.linalg.inv(A + 0.1 * np.eye(n))
        assert_pairs(A, lobpcg(A, 3, M=M, preconditioner=T), values[:3], 1e-7, M)
        assert_pairs(A, lobpcg(A, 2, "largest", M=M), values[::-1][:2], 1e-7, M)

    def test_a_preconditioner_spares_steps_and_repeated_values_are_found(self):
        A = poisson(20)
        plain, helped = lobpcg(A, 6), lobpcg(A, 6, preconditioner=preconditioners.ic0(A))
        assert helped.converged and helped.iterations < plain.iterations / 2
        np.testing.assert_allclose(helped.values, laplacian_values(20)[:6], rtol=1e-10)

    def test_a_good_start_spares_steps(self, rng):
        A = hermitian(rng, 50)
        found = lobpcg(A, 3)
        near = found.vectors + 1e-6 * rng.standard_normal((50, 3))
        assert lobpcg(A, 3, start=near).iterations < found.iterations / 2


def of_hermitian(a):
    return 0.5 * (a + np.conj(np.swapaxes(a, -1, -2)))


class TestDerivatives:
    """Compared with differences of ``numpy.linalg`` and ``scipy.linalg``."""

    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize(
        "n, solve, wanted",
        [
            (7, lambda A, M: eigsh(A, 2, M=M), [-1, -2]),
            (30, lambda A, M: eigsh(A, 2, M=M), [-1, -2]),
            (30, lambda A, M: eigsh(A, 2, M=M, sigma=0.0), [0, 1]),
            (30, lambda A, M: lobpcg(A, 2, M=M, preconditioner=np.eye(30), rtol=1e-12), [0, 1]),
        ],
        ids=["dense", "lanczos", "shift-invert", "lobpcg"],
    )
    @pytest.mark.parametrize("generalised", [False, True], ids=["", "generalised"])
    def test_of_values_and_vectors_of_hermitian_problems(self, rng, n, solve, wanted, dtype, generalised):
        A, M = hermitian(rng, n, dtype), definite(rng, n, dtype)
        weights, outer = np.array([1.0, 2.0]), of_hermitian(random_matrix(rng, n, n, dtype))

        def loss(values, X):
            quadratic = np.real(np.sum(np.conj(X) * (outer @ X), axis=0))
            return np.sum(weights * values) + np.sum(weights * quadratic) + np.sum(values * np.abs(X[0]) ** 2)

        def of(A, M):
            found = solve(of_hermitian(A), of_hermitian(M) if generalised else None)
            return loss(found.values, found.vectors)

        def reference(A, M):
            values, X = scipy.linalg.eigh(of_hermitian(A), of_hermitian(M) if generalised else None)
            return loss(values[wanted], X[:, wanted])

        directions = [random_matrix(rng, n, n, dtype) / np.sqrt(n) for _ in range(2)]
        slope = extrapolated(lambda t: reference(A + t * directions[0], M + t * directions[1]))
        gradients = mo.grad(of, argnums=(0, 1))(A, M)
        product = sum(np.sum(np.real(np.conj(g) * d)) for g, d in zip(gradients, directions))
        assert product == pytest.approx(slope, rel=1e-7)
        tangent = mo.jvp(of, (A, M), tuple(directions))[1]
        assert tangent == pytest.approx(product, rel=1e-9)

    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    @pytest.mark.parametrize(
        "n, options", [(7, {}), (40, {}), (40, {"sigma": 12.0})], ids=["dense", "arnoldi", "sigma"]
    )
    def test_of_values_and_vectors_of_general_matrices(self, rng, n, options, dtype):
        head = np.diag(np.concatenate([[12.0, 10.0, 8.0], np.zeros(n - 3)]))
        A = head + random_matrix(rng, n, n, dtype) / np.sqrt(n)

        def loss(values, X):
            return np.real(np.sum(values * np.array([1.0, 2.0j, 3.0]))) + np.sum(
                np.abs(X[:4]) ** 2 * np.arange(12.0).reshape(4, 3)
            )

        def of(A):
            found = eigs(A, 3, **options)
            return loss(found.values, found.vectors)

        def reference(A):
            values, X = np.linalg.eig(A)
            order = np.argsort(-np.abs(values))[:3]
            return loss(values[order], X[:, order])

        direction = random_matrix(rng, n, n, dtype)
        slope = extrapolated(lambda t: reference(A + t * direction))
        product = np.sum(np.real(np.conj(mo.grad(of)(A)) * direction))
        assert product == pytest.approx(slope, rel=1e-7)
        assert mo.jvp(of, (A,), (direction,))[1] == pytest.approx(product, rel=1e-8)

    def test_of_the_entries_of_a_sparse_matrix_by_first_order_perturbation(self, rng):
        A = (poisson(10) + scipy.sparse.diags_array(rng.uniform(0, 1, 100))).tocsr()
        gradient = mo.grad(lambda A: eigsh(A, 1, sigma=0.0).values[0])(A)
        x = np.linalg.eigh(A.toarray())[1][:, 0]
        places = A.tocoo()
        np.testing.assert_allclose(gradient.data, x[places.row] * x[places.col], atol=1e-10)

    def test_of_what_a_function_computes_with(self, rng):
        k, u0 = rng.uniform(1, 2, 41), np.sin(np.arange(40.0))

        def stiffness(u, k):
            return -np.diff(k * np.diff(np.concatenate([np.zeros(1), u, np.zeros(1)])))

        def loss(k, scale):
            as_parameter = FunctionOperator(stiffness, (40, 40), parameters=(k,))
            as_closure = FunctionOperator(lambda u: scale * stiffness(u, k), (40, 40))
            mode = eigsh(as_closure, 2).vectors[:, 0]
            return eigsh(as_parameter, 2).values[0] + scale * (mode @ u0) ** 2

        mo.testing.check_gradients(loss, k, 1.5, order=1)

    def test_of_an_operators_arrays(self, rng):
        d, e = np.linspace(3, 9, 40), 0.3 * np.ones(39)
        gradient = mo.grad(lambda A: eigsh(A, 1).values[0])(tridiagonal(e, d, e))
        x = scipy.linalg.eigh_tridiagonal(d, e)[1][:, -1]
        np.testing.assert_allclose(gradient.bands[1], x**2, atol=1e-10)

    def test_second_and_third_derivatives(self, rng):
        a, b, w = (random_matrix(rng, 9, 9) for _ in range(3))

        def loss(t, solve):
            values, X = solve(of_hermitian(a + t * b + t * t * w))
            return values[0] * X[3, 1] ** 2 + X[:, 0] @ w @ X[:, 0]

        def of(t):
            return loss(t, lambda A: (lambda f: (f.values, f.vectors))(eigsh(A, 2)))

        def reference(t):
            with mpmath.workdps(50):
                A = (
                    mpmath.matrix((a + a.T) / 2)
                    + t * mpmath.matrix((b + b.T) / 2)
                    + t * t * mpmath.matrix((w + w.T) / 2)
                )
                values, X = mpmath.eigsy(A)
                first, second = X[:, 8], X[:, 7]
                return values[8] * second[3] ** 2 + (first.T * mpmath.matrix(w) * first)[0]

        with mpmath.workdps(50):
            slopes = [float(mpmath.diff(reference, mpmath.mpf("0.3"), n, h=mpmath.mpf("1e-12"))) for n in (1, 2, 3)]
        first = mo.grad(of)
        second = mo.grad(first)
        assert first(0.3) == pytest.approx(slopes[0], rel=1e-9)
        assert second(0.3) == pytest.approx(slopes[1], rel=1e-8)
        assert mo.grad(second)(0.3) == pytest.approx(slopes[2], rel=1e-7)
        assert mo.jvp(first, (0.3,), (1.0,))[1] == pytest.approx(slopes[1], rel=1e-8)


def extrapolated(f, h=1e-2):
    """The derivative of f at 0 by extrapolated differences, without morula."""
    return ridders(f, h)[0]


class TestRepeatedEigenvalues:
    @pytest.fixture
    def grid(self, rng):
        """A Laplacian whose second and third eigenvalues are equal, and a symmetric change of it."""
        A = poisson(8)
        A.sort_indices()
        places = A.tocoo()
        d = of_hermitian(random_matrix(rng, 64, 64))
        return (
            A,
            scipy.sparse.csr_array((d[places.row, places.col], A.indices, A.indptr)),
            of_hermitian(random_matrix(rng, 64, 64)),
        )

    @pytest.mark.parametrize(
        "loss",
        [
            lambda f, w: np.sum(f.values) + np.sum(f.values**2),
            lambda f, w: np.sum(w * (f.vectors @ f.vectors.T)),
            lambda f, w: np.sum(w * ((f.vectors * np.exp(f.values)) @ f.vectors.T)),
        ],
        ids=["values", "projector", "function of the matrix"],
    )
    def test_functions_of_the_whole_space_have_their_gradient(self, grid, loss):
        A, d, w = grid

        def reference(t):
            values, X = np.linalg.eigh((A + t * d).toarray())
            return loss(Eigenpairs(values[:3], X[:, :3], 0, None, None, 0), w)

        gradient = mo.grad(lambda A: loss(eigsh(A, 3, sigma=0.0), w))(A)
        assert np.sum(gradient.data * d.data) == pytest.approx(extrapolated(reference), rel=1e-7)

    def test_single_vectors_are_refused(self, grid):
        A = grid[0]
        with pytest.raises(
            mo.MorulaError, match="eigsh: no gradient, since the loss depends on single vectors of a repeated"
        ):
            mo.grad(lambda A: np.sum(eigsh(A, 3, sigma=0.0).vectors[:, 1] ** 4))(A)
        simple = mo.grad(lambda A: np.sum(eigsh(A, 3, sigma=0.0).vectors[:, 0] ** 4))(A)
        assert np.all(np.isfinite(simple.data)) and np.any(simple.data)

    def test_a_space_that_is_cut_is_refused(self, grid):
        A, _, w = grid
        with pytest.raises(mo.MorulaError, match="The last of the 2 values may equal one that is left out: choose k"):
            mo.grad(lambda A: np.sum(w * eigsh(A, 2, sigma=0.0).vectors[:, 1:]))(A)

    def test_of_general_matrices(self, rng):
        A = np.diag([4.0, 4.0, 1.0, 0.5]) + np.diag([0.0, 0.7, 0.2], 1)
        gradient = mo.grad(lambda A: np.sum(np.real(eigs(A, 2).values)))(A)
        d = rng.standard_normal((4, 4))

        def reference(t):
            values = np.linalg.eigvals(A + t * d)
            return np.sum(np.real(values[np.argsort(-np.abs(values))[:2]]))

        assert np.sum(gradient * d) == pytest.approx(extrapolated(reference, 1e-3), rel=1e-6)
        with pytest.raises(
            mo.MorulaError, match="eigs: no gradient, since the loss depends on vectors of a repeated eigenval"
        ):
            mo.grad(lambda A: np.sum(np.abs(eigs(A, 2).vectors[0]) ** 2))(A)

    def test_a_defective_matrix_is_refused(self):
        A = np.diag([4.0, 4.0, 1.0]) + np.diag([1.0, 0.0], 1)
        with pytest.raises(mo.MorulaError, match="eigs: no derivative, since the eigenvectors are linearly dependent"):
            mo.grad(lambda A: np.sum(np.abs(eigs(A, 2).values)))(A)


class TestBadInput:
    @pytest.mark.parametrize("solve", [eigsh, eigs, lobpcg])
    def test_shapes_and_options(self, solve):
        name = solve.__name__
        with pytest.raises(mo.BadInput, match=rf"{name}: A has shape \(2, 3\), expected a square operator"):
            solve(np.ones((2, 3)), 1)
        with pytest.raises(
            mo.BadInput, match=f"{name}: k is 4, expected a number of eigenvalues or triplets from 1 to 3"
        ):
            solve(np.eye(3), 4)
        with pytest.raises(mo.BadInput, match=f"{name}: which is 'biggest', expected one of '"):
            solve(np.eye(3), 1, which="biggest")
        with pytest.raises(mo.BadInput, match=f"{name}: rtol is 0.0, expected a positive number"):
            solve(np.eye(3), 1, rtol=0.0)
        with pytest.raises(mo.BadInput, match=f"{name}: max_iterations is -1"):
            solve(np.eye(3), 1, max_iterations=-1)
        with pytest.raises(mo.BadInput, match=f"{name}: A is a str, expected a linear operator or a matrix"):
            solve("A", 1)

    @pytest.mark.parametrize("solve", [eigsh, lobpcg])
    def test_hermitian_problems(self, solve, rng):
        name = solve.__name__
        with pytest.raises(mo.BadInput, match=rf"{name}: M has shape \(2, 2\), expected \(3, 3\) like A"):
            solve(np.eye(3), 1, M=np.eye(2))
        for n in (3, 60):
            with pytest.raises(mo.MorulaError, match=f"{name}: A is not Hermitian: .*; use eigs"):
                solve(random_matrix(rng, n, n), 1)
            with pytest.raises(mo.MorulaError, match=f"{name}: M is not positive definite: x·Mx = -"):
                solve(np.eye(n), 1, M=-np.eye(n))

    @pytest.mark.parametrize("n", [3, 60])
    @pytest.mark.parametrize("solve", [eigsh, eigs, lobpcg])
    def test_entries_that_are_not_finite(self, solve, n):
        A = np.eye(n)
        A[1, 1] = np.nan
        with pytest.raises(mo.MorulaError, match=f"{solve.__name__}: A .* NaN or Inf"):
            solve(A, 1)

    def test_shift_invert(self):
        for A in (np.diag(np.arange(60.0)), scipy.sparse.diags_array(np.arange(60.0)).tocsr()):
            for solve in (eigsh, eigs):
                with pytest.raises(
                    mo.MorulaError, match=f"{solve.__name__}: A - sigma M is singular for sigma = 3.0: choose"
                ):
                    solve(A, 1, sigma=3.0)
        for solve in (eigsh, eigs):
            with pytest.raises(mo.BadInput, match=f"{solve.__name__}: inverse is given without sigma"):
                solve(np.eye(3), 1, inverse=np.eye(3))
            with pytest.raises(mo.BadInput, match=rf"{solve.__name__}: sigma has shape \(2,\)"):
                solve(np.eye(3), 1, sigma=np.ones(2))

    def test_lobpcg(self):
        with pytest.raises(
            mo.BadInput, match=r"lobpcg: start has shape \(3, 2\), expected \(3, 1\) for A of shape \(3, 3\)"
        ):
            lobpcg(np.eye(3), 1, start=np.ones((3, 2)))
        with pytest.raises(
            mo.BadInput, match=r"lobpcg: the preconditioner has shape \(2, 2\), expected \(3, 3\) like A"
        ):
            lobpcg(np.eye(3), 1, preconditioner=np.eye(2))
