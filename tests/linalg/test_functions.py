"""Functions of matrices: against dense results, unbiased within confidence intervals, with gradients on every path."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from krylov_methods import poisson, random_matrix
from path_tester import PATHS, run_on

import morula as mo
from morula.linalg import Dense, Diagonal, FunctionOperator, as_operator
from morula.linalg.functions import (
    arnoldi,
    expm_multiply,
    function_times_vector,
    hermitian_function,
    hutchinson,
    hutchpp,
    lanczos,
    logdet,
    trace_of_function,
    xtrace,
)

ESTIMATORS = [hutchinson, hutchpp, xtrace]
TARGETS = ["native", "xla"]


def definite(rng, n, dtype=np.float64):
    a = random_matrix(rng, n, n, dtype)
    return a @ a.conj().T / n + 0.5 * np.eye(n)


def assert_within_confidence(samples, exact):
    """The mean of independent samples differs from the exact value by at most four standard errors."""
    samples = np.asarray(samples)
    error = np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(np.mean(samples, axis=0) - exact) <= 4 * error + 1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
class TestTrace:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_is_unbiased(self, estimator, rng, dtype):
        A = random_matrix(rng, 10, 10, dtype)
        values = [estimator(A, key, 12).value for key in range(400)]
        assert_within_confidence(np.real(values), np.trace(A).real)
        assert_within_confidence(np.imag(values), np.trace(A).imag)

    def test_the_standard_error_is_that_of_the_estimates(self, estimator, rng):
        A = definite(rng, 30)
        found = [estimator(A, key, 24) for key in range(200)]
        spread = np.std([f.value for f in found])
        tolerance = 2.0 if estimator is xtrace else 1.3  # its samples share most of their subspaces
        assert spread / tolerance < np.mean([f.error for f in found]) < spread * tolerance

    def test_its_gradient_is_unbiased(self, estimator, rng):
        x = rng.uniform(0.5, 1, 8)
        base = random_matrix(rng, 8, 8)

        def loss(x, key):
            return estimator(np.outer(x, x**2) + base, key, 9).value

        gradients = [mo.grad(loss)(x, key) for key in range(1000)]
        assert_within_confidence(gradients, 3 * x**2)

    def test_forward_and_reverse_mode_agree(self, estimator, rng):
        A, E = random_matrix(rng, 8, 8), random_matrix(rng, 8, 8)

        def loss(A):
            return estimator(A, 3, 9).value ** 2

        assert mo.jvp(loss, (A,), (E,))[1] == pytest.approx(np.sum(mo.grad(loss)(A) * E), rel=1e-12)

    def test_the_key_fixes_the_estimate(self, estimator, rng):
        A = random_matrix(rng, 8, 8)
        assert estimator(A, 3).value == estimator(A, 3).value == estimator(A, mo.random.Generator(3)).value
        assert estimator(A, 3, 9).value != estimator(A, 4, 9).value
        generator = mo.random.Generator(3)
        assert estimator(A, generator, 9).value != estimator(A, generator, 9).value

    @pytest.mark.parametrize("target", TARGETS)
    def test_in_compiled_code(self, estimator, rng, target):
        A = random_matrix(rng, 6, 6)

        def loss(A):
            return estimator(A, 1, 8).value

        value, dA = mo.jit(mo.value_and_grad(loss), target=target)(A)
        expected, eA = mo.value_and_grad(loss)(A)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(dA, eA, atol=1e-12)

    def test_of_operators_and_sparse_matrices(self, estimator):
        A = poisson(4)
        exact = estimator(A.toarray(), 1).value
        assert estimator(A, 1).value == pytest.approx(exact)
        assert estimator(FunctionOperator(lambda x: A @ x, (16, 16)), 1).value == pytest.approx(exact)

    def test_float32_stays_float32(self, estimator, rng):
        found = estimator(definite(rng, 6).astype(np.float32), 1, 9)
        assert found.value.dtype == np.float32

    def test_bad_input(self, estimator):
        name = estimator.__name__
        with pytest.raises(mo.BadInput, match=rf"{name}: A has shape \(2, 3\), expected a square operator"):
            estimator(np.ones((2, 3)), 0)
        with pytest.raises(mo.BadInput, match=f"{name}: samples is 1, expected at least"):
            estimator(np.eye(3), 0, samples=1)
        with pytest.raises(mo.BadInput, match=f"{name}: samples is 8.0, expected an integer"):
            estimator(np.eye(3), 0, samples=8.0)
        with pytest.raises(mo.MorulaError, match=f"{name}: the estimate is nan: A holds NaN or Inf"):
            estimator(np.full((3, 3), np.nan), 0)

    def test_the_trace_of_an_empty_matrix_is_zero(self, estimator):
        assert estimator(np.zeros((0, 0)), 0).value == 0.0


class TestAccuracy:
    def decaying(self):
        q = np.linalg.qr(np.random.default_rng(4).standard_normal((200, 200)))[0]
        return (q * 0.8 ** np.arange(200)) @ q.T

    def test_the_order_of_the_estimators(self):
        A = self.decaying()
        errors = [np.sqrt(np.mean([(f(A, key, 36).value - np.trace(A)) ** 2 for key in range(40)])) for f in ESTIMATORS]
        assert errors[2] < 0.5 * errors[1] < 0.1 * errors[0]

    def test_small_rank_and_many_samples_are_exact(self, rng):
        u = rng.standard_normal((20, 3))
        for estimator in (hutchpp, xtrace):
            assert estimator(u @ u.T, 1, 24).value == pytest.approx(np.sum(u**2), rel=1e-9)
        A = random_matrix(rng, 5, 5)
        assert xtrace(A, 1, 40).value == pytest.approx(np.trace(A), rel=1e-12)
        (d,) = mo.gradient(lambda A: xtrace(A, 1, 40).value, A)
        np.testing.assert_allclose(d, np.eye(5), atol=1e-12)
        assert xtrace(np.zeros((4, 4)), 1, 4).value == 0.0


class TestQuadrature:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_the_log_determinant_is_unbiased_and_so_is_its_gradient(self, rng, dtype):
        A, E = definite(rng, 8, dtype), definite(rng, 8, dtype)
        found = [mo.value_and_grad(lambda t: logdet(A + t * E, key, 2, 8).value)(0.3) for key in range(150)]
        B = A + 0.3 * E
        assert_within_confidence([value for value, _ in found], np.linalg.slogdet(B)[1])
        assert_within_confidence([slope for _, slope in found], np.trace(np.linalg.solve(B, E)).real)

    def test_of_another_function_and_of_its_parameters(self, rng):
        A = definite(rng, 8)
        values, vectors = np.linalg.eigh(A)

        def estimate(p, key):
            return trace_of_function(lambda v: v**p, A, key, 2, 8).value

        found = [mo.value_and_grad(estimate)(1.5, key) for key in range(150)]
        assert_within_confidence([value for value, _ in found], np.sum(values**1.5))
        assert_within_confidence([slope for _, slope in found], np.sum(values**1.5 * np.log(values)))

    def test_the_derivative_is_that_of_the_estimate(self, rng):
        A, E = definite(rng, 7), definite(rng, 7)
        mo.testing.check_gradients(lambda t: logdet(A + t * E, 5, 3, 4).value, 0.2, order=2)

    def test_a_space_that_is_exhausted_early(self):
        A = np.diag(np.repeat([1.0, 3.0], 4))
        assert logdet(A, 2, 4).value == pytest.approx(4 * np.log(3.0))
        (d,) = mo.gradient(lambda A: logdet(A, 2, 64).value, A)
        np.testing.assert_allclose(np.diagonal(d), 1 / np.diagonal(A), rtol=1e-10)
        assert trace_of_function(np.sqrt, 4.0 * np.eye(5), 0).value == pytest.approx(10.0)

    @pytest.mark.parametrize("target", TARGETS)
    def test_in_compiled_code(self, rng, target):
        A = definite(rng, 6)

        def loss(A):
            return logdet(A, 1, 3, 5).value

        value, dA = mo.jit(mo.value_and_grad(loss), target=target)(A)
        expected, eA = mo.value_and_grad(loss)(A)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(dA, eA, rtol=1e-9, atol=1e-12)

    def test_samples_in_several_groups_are_the_same_samples(self, rng, monkeypatch):
        A = definite(rng, 6)
        whole = logdet(A, 1, 7, 4)
        monkeypatch.setattr(mo.linalg.functions.quadrature, "AT_ONCE", 50)
        assert logdet(A, 1, 7, 4).value == pytest.approx(whole.value, rel=1e-13)

    def test_steps_are_checked(self):
        with pytest.raises(mo.BadInput, match="trace_of_function: steps is 0, expected a positive number"):
            trace_of_function(np.exp, np.eye(2), 0, steps=0)

    def test_the_log_determinant_of_an_empty_matrix_is_zero(self):
        assert logdet(np.zeros((0, 0)), 0).value == 0.0

    def test_a_matrix_that_is_not_positive_definite(self):
        with pytest.raises(mo.MorulaError, match="logdet: A is not positive definite: a Ritz value is -"):
            logdet(np.diag([1.0, -2.0, 3.0]), 0)


class TestKrylovSpaces:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_bases_are_orthonormal_and_project(self, rng, dtype):
        b = random_matrix(rng, 9, 1, dtype)[:, 0]
        for process, A in ((lanczos, definite(rng, 9, dtype)), (arnoldi, random_matrix(rng, 9, 9, dtype))):
            V, T = process(A, b, 5)
            np.testing.assert_allclose(V.conj().T @ V, np.eye(5), atol=1e-13)
            np.testing.assert_allclose(V.conj().T @ A @ V, T, atol=1e-12)

    def test_the_exact_function_with_the_whole_space(self, rng):
        A, C, b = definite(rng, 7), random_matrix(rng, 7, 7), rng.standard_normal(7)
        found = function_times_vector(np.sqrt, A, b, 7)
        np.testing.assert_allclose(found, scipy.linalg.sqrtm(A) @ b, rtol=1e-9)
        found = function_times_vector(scipy.linalg.expm, C, b, 7, hermitian=False)
        np.testing.assert_allclose(found, scipy.linalg.expm(C) @ b, rtol=1e-10)

    def test_converges_with_the_steps(self, rng):
        A, b = poisson(10), rng.standard_normal(100)
        exact = scipy.linalg.expm(-A.toarray()) @ b
        errors = [np.linalg.norm(function_times_vector(lambda v: np.exp(-v), A, b, k) - exact) for k in (5, 10, 20)]
        assert errors[0] > 30 * errors[1] > 30**2 * errors[2]

    def test_gradients(self, rng):
        A, E, b = definite(rng, 5), definite(rng, 5), rng.standard_normal(5)
        mo.testing.check_gradients(
            lambda t, b: np.sum(function_times_vector(np.sqrt, A + t * E, b, 3) ** 2), 0.3, b, order=1
        )
        mo.testing.check_gradients(
            lambda t, b: np.sum(function_times_vector(scipy.linalg.expm, A + t * E, b, 3, False) ** 2), 0.3, b, order=1
        )
        assert not np.any(function_times_vector(np.sqrt, A, np.zeros(5), 3))

    @pytest.mark.parametrize("target", TARGETS)
    def test_in_compiled_code(self, rng, target):
        A, b = definite(rng, 6), rng.standard_normal(6)

        def loss(A, b):
            return np.sum(function_times_vector(np.sqrt, A, b, 4) ** 2)

        value, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A, b)
        expected, (eA, eb) = mo.value_and_grad(loss, (0, 1))(A, b)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(dA, eA, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(db, eb, rtol=1e-9, atol=1e-11)

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda: lanczos(np.ones((2, 3)), np.ones(3), 1), r"lanczos: A has shape \(2, 3\), expected a square"),
            (lambda: arnoldi(np.eye(3), np.ones(2), 1), r"arnoldi: b has shape \(2,\), expected \(3,\)"),
            (lambda: lanczos(np.eye(3), np.ones(3), 4), "lanczos: steps is 4, expected a dimension from 1 to 3"),
            (lambda: lanczos(np.eye(3), np.ones(3), 2.0), "lanczos: steps is 2.0, expected an integer"),
            (lambda: lanczos(np.eye(3), np.zeros(3), 2), "lanczos: b is zero"),
            (lambda: arnoldi(np.eye(2), np.array([1.0, np.nan]), 2), "arnoldi: b holds NaN or Inf"),
            (lambda: hermitian_function(np.exp, np.ones((2, 3))), r"hermitian_function: A has shape \(2, 3\)"),
            (lambda: hermitian_function(np.exp, np.full((2, 2), np.nan)), "hermitian_function: A holds NaN or Inf"),
        ],
    )
    def test_bad_input(self, call, message):
        with pytest.raises(mo.BadInput, match=message):
            call()

    @pytest.mark.parametrize("path", PATHS)
    def test_operators_that_are_not_hermitian_or_not_finite_are_refused(self, path):
        slanted = np.array([[4.0, 1.0, 0.0], [0.0, 4.0, 1.0], [0.0, 0.0, 4.0]])
        calls = {
            "lanczos": lambda A: function_times_vector(np.sqrt, A, np.ones(3), 3),
            "trace_of_function": lambda A: trace_of_function(np.exp, A, 0, 2).value,
            "logdet": lambda A: logdet(A, 0, 2).value,
        }
        for name, f in calls.items():
            if path != "eager" and name != "logdet":  # the same code
                continue
            run = run_on(path)(f)
            with pytest.raises(mo.MorulaError, match=f"{name}: A is not Hermitian: an entry of V.H A V"):
                run(slanted)
            with np.errstate(all="ignore"), pytest.raises(mo.MorulaError, match=f"{name}: A holds NaN or Inf"):
                run(np.diag([1.0, np.inf, 2.0]))

    def test_a_direction_that_the_operator_turns_by_a_right_angle_is_hermitian(self):
        V, T = lanczos(np.array([[0.0, 1.0], [1.0, 0.0]]) + 0j, np.array([1.0, 0.0]), 1)
        assert T.tolist() == [[0.0]]

    def test_lists_are_taken(self):
        A, b = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
        np.testing.assert_allclose(function_times_vector(np.exp, A, b, 2), scipy.linalg.expm(A) @ b)
        np.testing.assert_allclose(hermitian_function(np.exp, A), scipy.linalg.expm(A))


class TestHermitianFunction:
    @pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [2.0, 2.0, 3.0], [2.0, 2.0, 2.0], [2.0, 2.0 + 1e-9, 3.0]])
    def test_its_derivative_at_repeated_eigenvalues_is_frechets(self, rng, values):
        q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        A, E = (q * values) @ q.T, rng.standard_normal((3, 3))
        E = E + E.T
        exact = scipy.linalg.expm_frechet(A, E, compute_expm=False)
        np.testing.assert_allclose(mo.jvp(lambda A: hermitian_function(np.exp, A), (A,), (E,))[1], exact, rtol=1e-9)
        w = rng.standard_normal((3, 3))
        gradient = mo.grad(lambda A: np.sum(w * hermitian_function(np.exp, A)))(A)
        assert np.sum(gradient * E) == pytest.approx(np.sum(w * exact), rel=1e-9)

    def test_complex_and_to_second_order(self, rng):
        A, E = definite(rng, 4, "c16"), definite(rng, 4, "c16")
        mo.testing.check_gradients(lambda t: np.sum(np.abs(hermitian_function(np.sqrt, A + t * E)) ** 2), 0.2, order=2)

    def test_reaches_what_the_function_captures_to_second_order(self, rng):
        A, E = definite(rng, 3), definite(rng, 3)

        def loss(t, p):
            return np.sum(hermitian_function(lambda v: v**p, A + t * E) ** 3)

        mo.testing.check_gradients(loss, 0.2, 1.3, order=2)


class TestExponential:
    @pytest.mark.parametrize("dtype, error", [("f8", 1e-13), ("c16", 1e-13), ("f4", 1e-5), ("c8", 1e-5)])
    @pytest.mark.parametrize("scale", [0.0, 0.1, 3.0, 20.0])
    def test_agrees_with_the_dense_exponential(self, rng, dtype, error, scale):
        A, B = random_matrix(rng, 6, 6, dtype), random_matrix(rng, 6, 3, dtype)
        exact = scipy.linalg.expm(scale * A.astype(np.result_type(dtype, np.float64))) @ B
        for b, expected in ((B, exact), (B[:, 0], exact[:, 0])):
            found = expm_multiply(A, b, scale)
            assert found.dtype == dtype
            assert np.linalg.norm(found - expected) <= max(1.0, scale) * 10 * error * np.linalg.norm(expected)

    def test_of_a_stiff_matrix_to_fifty_digits(self):
        A = -40.0 * poisson(3)
        b = np.arange(1.0, 10.0)
        with mpmath.workdps(50):
            exact = np.array((mpmath.expm(mpmath.matrix(A.toarray().tolist())) * mpmath.matrix(b.tolist())).tolist())
        found = expm_multiply(A, b)
        np.testing.assert_allclose(found, exact[:, 0].astype(float), rtol=1e-10)

    @pytest.mark.parametrize("kind", ["sparse", "diagonal", "function"])
    def test_of_operators(self, rng, kind):
        A = {"sparse": poisson(3), "diagonal": Diagonal(np.linspace(-9, 2, 9)), "function": None}[kind]
        if A is None:
            matrix = 5.0 * random_matrix(rng, 9, 9)
            A = FunctionOperator(lambda x: matrix @ x, (9, 9))
        exact = scipy.linalg.expm(-0.7 * as_operator(A).todense()) @ np.ones(9)
        np.testing.assert_allclose(expm_multiply(A, np.ones(9), -0.7), exact, rtol=1e-11, atol=1e-10)

    def test_its_derivative_is_frechets(self, rng):
        A, E, b = random_matrix(rng, 6, 6), random_matrix(rng, 6, 6), rng.standard_normal(6)
        value, slope = mo.jvp(lambda A: expm_multiply(A, b, 2.0), (A,), (E,))
        exact = scipy.linalg.expm_frechet(2 * A, 2 * E, compute_expm=False) @ b
        assert np.linalg.norm(slope - exact) <= 1e-12 * np.linalg.norm(exact)
        w = rng.standard_normal(6)
        dA, db, dt = mo.gradient(lambda A, b, t: w @ expm_multiply(A, b, t), A, b, 2.0)
        assert np.sum(dA * E) == pytest.approx(w @ exact, rel=1e-11)
        np.testing.assert_allclose(db, scipy.linalg.expm(2 * A).T @ w, rtol=1e-10)
        assert dt == pytest.approx(w @ (A @ value), rel=1e-11)

    def test_to_second_order_with_respect_to_the_entries_of_a_sparse_matrix(self):
        A = poisson(2)

        def loss(s):
            return np.sum(expm_multiply(scipy.sparse.diags_array(s) @ A, np.ones(4), 0.5) ** 2)

        mo.testing.check_gradients(loss, np.array([1.0, 0.5, 2.0, 1.5]), order=2)

    @pytest.mark.parametrize("target", TARGETS)
    def test_in_compiled_code(self, rng, target):
        A, b = random_matrix(rng, 5, 5), rng.standard_normal(5)

        def loss(A, b, t):
            return np.sum(expm_multiply(A, b, t) ** 2)

        value, found = mo.jit(mo.value_and_grad(loss, (0, 1, 2)), target=target)(A, b, 1.5)
        expected, exact = mo.value_and_grad(loss, (0, 1, 2))(A, b, 1.5)
        assert value == pytest.approx(expected, rel=1e-12)
        for got, e in zip(found, exact):
            np.testing.assert_allclose(got, e, rtol=1e-11)

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (
                lambda: expm_multiply(np.ones((2, 3)), np.ones(3)),
                mo.BadInput,
                r"A has shape \(2, 3\), expected a square",
            ),
            (
                lambda: expm_multiply(np.eye(3), np.ones(2)),
                mo.BadInput,
                r"B has shape \(2,\), expected \(3,\) or \(3, k\)",
            ),
            (lambda: expm_multiply(np.eye(3), np.ones(3), np.ones(2)), mo.BadInput, r"t has shape \(2,\)"),
            (lambda: expm_multiply(np.eye(2), np.array([1.0, np.inf])), mo.BadInput, "B holds NaN or Inf"),
            (
                lambda: expm_multiply(Dense(np.full((2, 2), np.nan)), np.ones(2)),
                mo.MorulaError,
                "A or t holds NaN or Inf",
            ),
            (lambda: expm_multiply(2000.0 * np.eye(2), np.ones(2)), mo.MorulaError, "or the exponential overflows"),
        ],
    )
    def test_bad_input(self, call, error, message):
        with np.errstate(all="ignore"), pytest.raises(error, match="expm_multiply: .*" + message):
            call()
