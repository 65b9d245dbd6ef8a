"""What is particular to single methods: the systems that they are made for, how they end, SciPy's own as a reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as scipy_linalg
from krylov_methods import convection_diffusion, poisson, random_matrix

import morula as mo
from morula.linalg import Diagonal, Status, bicgstab, cg, gmres, idrs, minres, symmlq


def hermitian(rng, n, dtype=np.float64):
    """Indefinite, with eigenvalues from -2 to 3."""
    q = np.linalg.qr(random_matrix(rng, n, n, dtype))[0]
    values = np.linspace(-2, 3, n)
    return (q * values) @ q.conj().T


def steps_of(solve, A, b, **options):
    """The number of iterations of SciPy's method, and its solution."""
    count = 0

    def counted(_):
        nonlocal count
        count += 1

    x, info = solve(A, b, callback=counted, **options)
    assert info == 0
    return count, x


class TestMinres:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_solves_an_indefinite_system(self, rng, dtype):
        A, b = hermitian(rng, 12, dtype), random_matrix(rng, 12, 1, dtype)[:, 0]
        found = minres(A, b)
        assert found.converged and found.iterations <= 14
        np.testing.assert_allclose(found.x, np.linalg.solve(A, b), rtol=1e-7)

    def test_the_residual_never_grows(self, rng):
        found = minres(hermitian(rng, 30), rng.standard_normal(30), rtol=1e-8)
        assert np.all(np.diff(found.history[:-1]) <= 1e-12)

    def test_takes_the_steps_of_scipys(self, rng):
        A, b = poisson(15) - 0.9 * Diagonal(np.ones(225)).todense(), rng.standard_normal(225)
        count, x = steps_of(scipy_linalg.minres, A, b, rtol=1e-10)
        found = minres(A, b)
        # Rounding, also that of several threads, decides the last steps.
        assert found.converged and abs(found.iterations - count) <= 0.2 * count
        np.testing.assert_allclose(found.x, x, rtol=1e-5, atol=1e-6)

    def test_with_a_preconditioner_the_history_is_still_that_of_the_residual(self, rng):
        A = hermitian(rng, 10)
        M = Diagonal(rng.uniform(1, 9, 10))
        b = rng.standard_normal(10)
        for steps in (1, 3, 6):
            found = minres(A, b, preconditioner=M, max_iterations=steps)
            estimated = minres(A, b, preconditioner=M).history[steps]
            assert found.residual_norm == pytest.approx(estimated, rel=1e-8)

    def test_its_gradient_for_an_indefinite_system(self, rng):
        A, b = hermitian(rng, 6), rng.standard_normal(6)
        mo.testing.check_gradients(lambda t, b: np.sum(minres(A + t * np.eye(6), b).x ** 2), 0.1, b, order=1)

    def test_a_matrix_that_is_not_hermitian_is_refused(self, rng):
        with pytest.raises(mo.MorulaError, match=r"minres: A \(or the preconditioner\) is not Hermitian"):
            minres(random_matrix(rng, 5, 5) + 3 * np.eye(5), rng.standard_normal(5))
        with pytest.raises(mo.MorulaError, match="minres: A is not Hermitian: .* is not real"):
            minres(np.eye(5) * (1 + 1j), rng.standard_normal(5))
        with pytest.raises(mo.MorulaError, match="minres: the preconditioner is not positive definite"):
            minres(np.eye(3), np.ones(3), preconditioner=-np.eye(3))

    def test_a_singular_system_without_solution(self):
        found = minres(np.diag([1.0, 2.0, 0.0]), np.ones(3))
        assert not found.converged and found.residual_norm == pytest.approx(1.0)
        assert found.x[:2] == pytest.approx([1.0, 0.5])


class TestSymmlq:
    @pytest.mark.parametrize("dtype", ["f8", "c16"])
    def test_solves_an_indefinite_system(self, rng, dtype):
        A, b = hermitian(rng, 12, dtype), random_matrix(rng, 12, 1, dtype)[:, 0]
        found = symmlq(A, b)
        assert found.converged and found.iterations <= 15
        np.testing.assert_allclose(found.x, np.linalg.solve(A, b), rtol=1e-7)

    def test_the_history_is_the_residual_of_the_point_returned(self, rng):
        A, b = hermitian(rng, 10), rng.standard_normal(10)
        M = Diagonal(rng.uniform(1, 9, 10))
        for steps in (1, 3, 6):
            for preconditioner in (None, M):
                short = symmlq(A, b, preconditioner=preconditioner, max_iterations=steps)
                full = symmlq(A, b, preconditioner=preconditioner)
                assert short.residual_norm == pytest.approx(full.history[steps], rel=1e-8)

    def test_is_conjugate_gradients_on_a_definite_matrix(self, rng):
        A, b = poisson(8), rng.standard_normal(64)
        assert abs(symmlq(A, b).iterations - cg(A, b).iterations) <= 1

    def test_its_gradient_for_an_indefinite_system(self, rng):
        A, b = hermitian(rng, 6), rng.standard_normal(6)
        mo.testing.check_gradients(lambda t, b: np.sum(symmlq(A + t * np.eye(6), b).x ** 2), 0.1, b, order=1)

    def test_a_singular_system_without_solution(self):
        found = symmlq(np.diag([1.0, 2.0, 0.0]), np.ones(3))
        assert not found.converged and np.all(np.isfinite(found.x))


class TestGmres:
    def test_without_restart_the_residual_is_the_least_of_the_krylov_space(self, rng):
        A, b = random_matrix(rng, 10, 10), rng.standard_normal(10)
        space = [b]
        for k in range(1, 6):
            found = gmres(A, b, restart=10, max_iterations=k)
            images = A @ np.stack(space, axis=1)
            best = np.linalg.norm(b - images @ np.linalg.lstsq(images, b)[0])
            assert found.residual_norm == pytest.approx(best, rel=1e-8)
            assert found.history[k] == pytest.approx(best, rel=1e-8)
            space.append(A @ space[-1])

    @pytest.mark.parametrize("restart", [5, 20])
    def test_takes_the_steps_of_scipys(self, rng, restart):
        A, b = convection_diffusion(10), rng.standard_normal(100)
        count, x = steps_of(scipy_linalg.gmres, A, b, rtol=1e-10, restart=restart, callback_type="pr_norm")
        found = gmres(A, b, restart=restart)
        assert found.converged and abs(found.iterations - count) <= 2
        np.testing.assert_allclose(found.x, x, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("target", ["eager", "native", "xla"])
    def test_stagnation_is_a_status_and_its_gradient_an_error(self, target):
        cyclic = np.roll(np.eye(8), 1, axis=0)  # no Krylov space of fewer than 8 vectors reduces the residual
        b = np.eye(8)[0]

        def solve(b):
            return gmres(cyclic, b, restart=4)

        found = (solve if target == "eager" else mo.jit(solve, target=target))(b)
        assert found.status is Status.STAGNATED and not found.converged and found.residual_norm == 1.0
        assert found.iterations == 4 and "stopped decreasing" in found.message
        gradient = mo.grad(lambda b: np.sum(solve(b).x))
        with pytest.raises(mo.MorulaError, match=r"no gradient, since the solve did not converge \(residual norm 1\)"):
            (gradient if target == "eager" else mo.jit(gradient, target=target))(b)
        assert gmres(cyclic, b, restart=8).converged

    def test_a_singular_matrix(self):
        nilpotent = np.diag(np.ones(3), 1)
        assert gmres(np.diag([1.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0])).x.tolist() == pytest.approx([1, 1, 0])
        found = gmres(nilpotent, np.ones(4))
        assert found.status in (Status.BREAKDOWN, Status.STAGNATED) and found.residual_norm == pytest.approx(1.0)
        assert gmres(np.zeros((3, 3)), np.ones(3)).status is Status.BREAKDOWN

    def test_an_exhausted_krylov_space_ends_it(self):
        assert gmres(np.diag([1.0, 2.0, 2.0, 1.0]), np.ones(4)).iterations == 2

    def test_restart_is_checked(self):
        with pytest.raises(mo.BadInput, match="gmres: restart is 0, expected a positive number"):
            gmres(np.eye(2), np.ones(2), restart=0)


class TestShortRecurrences:
    def test_bicgstab_takes_the_steps_of_scipys(self, rng):
        A, b = convection_diffusion(12), rng.standard_normal(144)
        count, x = steps_of(scipy_linalg.bicgstab, A, b, rtol=1e-10)
        found = bicgstab(A, b)
        assert found.converged and abs(found.iterations - count) <= 0.3 * count
        np.testing.assert_allclose(found.x, x, rtol=1e-6, atol=1e-7)

    def test_bicgstab_breaks_down_on_a_skew_matrix(self):
        found = bicgstab(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.ones(2))
        assert found.status is Status.BREAKDOWN and "divided by zero" in found.message and found.x.tolist() == [0, 0]

    def test_idrs_needs_fewer_products_with_more_shadow_vectors(self, rng):
        A, b = convection_diffusion(16, wind=0.9), rng.standard_normal(256)
        counts = [idrs(A, b, s=s).iterations for s in (1, 4)]
        assert counts[1] < counts[0]
        full = gmres(A, b, restart=256).iterations
        assert full <= counts[1] <= 2.5 * full

    def test_idrs_ends_within_the_finite_number_of_products(self, rng):
        n, s = 20, 4
        found = idrs(random_matrix(rng, n, n) + 6 * np.eye(n), rng.standard_normal(n), s=s, rtol=1e-8)
        assert found.converged and found.iterations <= n + n // s + 5

    def test_s_is_checked(self):
        with pytest.raises(mo.BadInput, match="idrs: s is 0, expected a positive dimension"):
            idrs(np.eye(2), np.ones(2), s=0)


@pytest.mark.parametrize("method", [gmres, bicgstab, idrs])
def test_an_ill_conditioned_system_is_solved_to_its_residual(method):
    n = 10
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    b = hilbert @ np.ones(n)
    found = method(hilbert, b, rtol=1e-8, max_iterations=1000)
    assert found.converged and np.linalg.norm(hilbert @ found.x - b) <= 1e-8 * np.linalg.norm(b)


def test_cg_and_the_others_agree_on_a_grid(rng):
    A, b = poisson(10), rng.standard_normal(100)
    expected = cg(A, b).x
    for method in (minres, gmres, bicgstab, idrs):
        np.testing.assert_allclose(method(A, b).x, expected, atol=1e-7)


@pytest.mark.parametrize("method", [bicgstab, idrs])
def test_a_run_that_diverges_returns_what_was_before_it(method, rng):
    for seed in range(40):
        draws = np.random.default_rng(seed)
        A, b = (draws.random((7, 7)) < 0.3).astype(float), draws.standard_normal(7)
        found = method(A, b)
        assert found.converged or found.residual_norm <= 1e8 * np.linalg.norm(b)
        assert np.all(np.isfinite(found.x)) and np.isfinite(found.residual_norm)


@pytest.mark.parametrize(
    "wrapped", [lambda f: f, lambda f: scipy_linalg.LinearOperator((12, 12), matvec=f, dtype=float)]
)
@pytest.mark.parametrize("method", [cg, minres, symmlq, gmres, bicgstab, idrs])
def test_an_operator_may_fill_one_array_in_all_calls(method, wrapped, rng):
    A, b, kept = hermitian(rng, 12) + 40 * np.eye(12), rng.standard_normal(12), np.zeros(12)

    def fill(x):
        kept[:] = A @ np.ravel(x)
        return kept

    np.testing.assert_allclose(method(wrapped(fill), b, rtol=1e-10).x, np.linalg.solve(A, b), rtol=1e-8)
