"""Multigrid: hierarchies, the number of iterations, cycles, derivatives, compiled programs, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from krylov_methods import convection_diffusion, poisson

import morula as mo
from morula.linalg import Diagonal, Sparse, cg, gmres, richardson, solve
from morula.linalg.preconditioners import Multigrid, geometric_multigrid, smoothed_aggregation
from morula.linalg.preconditioners.multigrid.aggregation import aggregates, strong_part, tentative


def diffusion(k):
    """Finite volumes with the harmonic mean of the coefficient k (n, n) between cells, and zero at the edge."""
    n = len(k)
    number = np.arange(n * n).reshape(n, n)
    rows, columns, values = [], [], []
    for a, b in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1])):
        g = 2.0 / (1.0 / np.ravel(k)[a] + 1.0 / np.ravel(k)[b])
        for i, j, v in ((a, b, -g), (b, a, -g), (a, a, g), (b, b, g)):
            rows.append(i.ravel())
            columns.append(j.ravel())
            values.append(v.ravel())
    edge = np.unique(np.concatenate([number[0], number[-1], number[:, 0], number[:, -1]]))
    rows.append(edge)
    columns.append(edge)
    values.append(2.0 * np.ravel(k)[edge])
    place = np.concatenate(rows), np.concatenate(columns)
    return scipy.sparse.csr_array((np.concatenate(values), place), shape=(n * n, n * n))


def jumps(n):
    """A coefficient between 1e-3 and 1e3 in blocks."""
    i, j = np.meshgrid(np.arange(n) // 8, np.arange(n) // 8, indexing="ij")
    return 10.0 ** (6 * np.sin(12.9 * i + 78.2 * j) ** 2 - 3)


MAKERS = {
    "aggregation": lambda A, n, **options: smoothed_aggregation(A, **options),
    "vertices": lambda A, n, **options: geometric_multigrid(A, (n, n), **options),
    "cells": lambda A, n, **options: geometric_multigrid(A, (n, n), "cells", **options),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


class TestIterations:
    @pytest.mark.parametrize("cycle", ["V", "W", "F"])
    def test_their_number_hardly_grows_with_the_size(self, make, cycle):
        def count(n):
            A = poisson(n)
            return cg(A, np.ones(n * n), preconditioner=make(A, n, cycle=cycle, coarsest=20)).iterations

        small, large = count(24), count(96)
        assert large <= small + 4 and large <= 20

    def test_without_it_they_grow_like_the_side_of_the_grid(self):
        counts = [cg(poisson(n), np.ones(n * n)).iterations for n in (24, 96)]
        assert counts[1] > 3 * counts[0]

    def test_a_coefficient_that_jumps(self):
        A = diffusion(jumps(64))
        M = smoothed_aggregation(A)
        found = cg(A, np.ones(4096), preconditioner=M, rtol=1e-8)
        assert found.converged and found.iterations < 40 and M.operator_complexity < 2.0

    def test_an_anisotropic_problem_is_coarsened_along_its_strong_direction(self):
        line, one = poisson_line(48), scipy.sparse.eye_array(48)
        A = (scipy.sparse.kron(line, one) + 1e-3 * scipy.sparse.kron(one, line)).tocsr()
        M = smoothed_aggregation(A, coarsest=100)
        assert 48 * 9 < M.sizes[1] < 48 * 16  # aggregates of 3 to 5 points of one line
        assert cg(A, np.ones(48 * 48), preconditioner=M).iterations < 25

    def test_three_dimensions(self):
        line, one = poisson_line(15), scipy.sparse.eye_array(15)
        kron = scipy.sparse.kron
        A = (kron(kron(line, one), one) + kron(kron(one, line), one) + kron(kron(one, one), line)).tocsr()
        for M in (geometric_multigrid(A, (15, 15, 15), coarsest=100), smoothed_aggregation(A, coarsest=100)):
            assert cg(A, np.ones(15**3), preconditioner=M).iterations < 16

    def test_a_matrix_that_is_not_symmetric(self, make):
        A = convection_diffusion(40, wind=0.2)
        found = gmres(A, np.ones(1600), preconditioner=make(A, 40))
        assert found.converged and found.iterations < 25

    def test_as_a_solver(self, make):
        A, b = poisson(40), np.cos(np.arange(1600.0))
        found = solve(A, b, method="richardson", preconditioner=make(A, 40))
        assert found.converged and found.method == "richardson" and found.iterations < 40
        np.testing.assert_allclose(A @ found.x, b, atol=1e-8)

    def test_a_singular_matrix_with_a_right_hand_side_in_its_range(self):
        n = 40
        line = poisson_line(n)
        line[0, 0] = line[-1, -1] = 1.0
        line, one = scipy.sparse.csr_array(line), scipy.sparse.eye_array(n)
        A = (scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)).tocsr()
        b = np.cos(np.arange(n * n))
        b = b - np.mean(b)
        found = cg(A, b, preconditioner=smoothed_aggregation(A))
        assert found.converged and found.iterations < 30

    def test_elasticity_needs_the_rotations(self):
        A, B = plate(16)
        b = np.cos(np.arange(float(A.shape[0])))
        with_all = cg(A, b, preconditioner=smoothed_aggregation(A, B, coarsest=50))
        alone = cg(A, b, preconditioner=smoothed_aggregation(A, coarsest=50))
        assert with_all.converged and with_all.iterations < 0.7 * alone.iterations


def poisson_line(n):
    return scipy.sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()


def plate(n):
    """Bars between neighbours and diagonally, of a square of n x n joints whose left side is held, and its rigid motions."""
    x, y = [c.ravel() for c in np.meshgrid(np.arange(n), np.arange(n), indexing="ij")]
    number = np.arange(n * n).reshape(n, n)
    pairs = [(number[1:], number[:-1]), (number[:, 1:], number[:, :-1]), (number[1:, 1:], number[:-1, :-1])]
    pairs.append((number[1:, :-1], number[:-1, 1:]))
    a, b = (np.concatenate([p[k].ravel() for p in pairs]) for k in (0, 1))
    d = np.stack([x[a] - x[b], y[a] - y[b]]) / np.hypot(x[a] - x[b], y[a] - y[b])
    bar = np.tile(np.arange(len(a)), 4)
    strain = scipy.sparse.csr_array(
        (np.concatenate([d[0], d[1], -d[0], -d[1]]), (bar, np.concatenate([2 * a, 2 * a + 1, 2 * b, 2 * b + 1]))),
        shape=(len(a), 2 * n * n),
    )
    motions = np.zeros((2 * n * n, 3))
    motions[0::2, 0] = motions[1::2, 1] = 1.0
    motions[0::2, 2], motions[1::2, 2] = -y, x
    free = np.flatnonzero(np.repeat(x > 0, 2))
    return (strain.T @ strain).tocsr()[free][:, free], motions[free]


class TestHierarchy:
    def test_every_node_is_in_one_aggregate_of_neighbours(self):
        A = strong_part(poisson(30), 0.0)
        groups = aggregates(A)
        assert np.all(groups >= 0) and np.array_equal(np.unique(groups), np.arange(groups.max() + 1))
        near = (abs(A) @ abs(A)).toarray() > 0
        for g in range(groups.max() + 1):
            members = np.flatnonzero(groups == g)
            assert np.any(np.all(near[np.ix_(members, members)], axis=0))  # one member is within two edges of all

    def test_the_near_null_space_is_reproduced_with_orthonormal_columns(self, rng):
        groups = aggregates(strong_part(poisson(12), 0.0))
        for B in (np.ones((144, 1)), rng.standard_normal((144, 2)), rng.standard_normal((144, 2)) * 1j):
            P, coarse = tentative(groups, B)
            np.testing.assert_allclose(P @ coarse, B, atol=1e-13)
            np.testing.assert_allclose((P.conj().T @ P).toarray(), np.eye(P.shape[1]), atol=1e-13)

    def test_weak_entries_go_to_the_diagonal(self):
        A = scipy.sparse.csr_array(np.array([[2.0, -1.0, -0.01], [-1.0, 2.0, -1.0], [-0.01, -1.0, 2.0]]))
        kept = strong_part(A, 0.1).toarray()
        np.testing.assert_allclose(kept, [[1.99, -1, 0], [-1, 2, -1], [0, -1, 1.99]])

    def test_a_small_matrix_is_inverted(self, make):
        A = poisson(8)
        M = make(A, 8)
        assert M.sizes == [64]
        np.testing.assert_allclose(M.todense() @ A.toarray(), np.eye(64), atol=1e-12)


class TestOperator:
    @pytest.mark.parametrize("cycle", ["V", "W", "F"])
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_it_is_symmetric_and_positive(self, make, cycle, degree):
        A = poisson(10)
        M = make(A, 10, cycle=cycle, degree=degree, coarsest=10).todense()
        np.testing.assert_allclose(M, M.T, atol=1e-12)
        assert np.all(np.linalg.eigvalsh(0.5 * (M + M.T)) > 0)

    def test_its_transpose_and_adjoint(self, make):
        A = convection_diffusion(10, wind=0.3)
        M = make(A, 10, coarsest=10)
        np.testing.assert_allclose(M.T.todense(), M.todense().T, atol=1e-13)
        phases = scipy.sparse.diags_array(np.exp(1j * np.arange(100.0)))
        C = smoothed_aggregation((phases @ A @ phases.conj()).tocsr(), np.exp(1j * np.arange(100.0)), coarsest=10)
        np.testing.assert_allclose(C.H.todense(), C.todense().conj().T, atol=1e-13)
        np.testing.assert_allclose(C.T.todense(), C.todense().T, atol=1e-13)

    def test_many_columns_at_once(self, make, rng):
        M, x = make(poisson(10), 10, coarsest=10), rng.standard_normal((100, 3))
        np.testing.assert_allclose(M @ x, np.stack([M @ column for column in x.T], axis=1), rtol=1e-12)


class TestDerivatives:
    def test_with_respect_to_the_coefficient_of_the_equation(self):
        A, b = poisson(12), np.cos(np.arange(144.0))
        M = smoothed_aggregation(A, coarsest=20)

        def loss(data, b):
            return np.sum(cg(Sparse(data, A.indices, A.indptr, A.shape), b, preconditioner=M, rtol=1e-13).x ** 2)

        x = np.linalg.solve(A.toarray(), b)
        z = np.linalg.solve(A.toarray(), 2 * x)
        rows = np.repeat(np.arange(144), np.diff(A.indptr))
        dA, db = mo.gradient(loss, A.data, b)
        np.testing.assert_allclose(db, z, rtol=1e-9)
        np.testing.assert_allclose(dA, -z[rows] * x[A.indices], rtol=1e-8, atol=1e-12)

    def test_a_hierarchy_made_inside_is_constant(self):
        A, b = poisson(12), np.ones(144)

        def loss(A, make):
            return np.sum(cg(A, b, preconditioner=make(A), rtol=1e-13).x ** 2)

        inside = mo.grad(lambda A: loss(A, lambda A: smoothed_aggregation(A, coarsest=20)))(A)
        outside = mo.grad(lambda A: loss(A, lambda A: None))(A)
        np.testing.assert_allclose(inside.data, outside.data, rtol=1e-8)

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_compiled(self, target):
        A, b = poisson(12), np.cos(np.arange(144.0))
        M = smoothed_aggregation(A, coarsest=20)

        def loss(data, b):
            A_ = Sparse(data, A.indices, A.indptr, A.shape)
            return np.sum(cg(A_, b, preconditioner=M).x ** 2) + np.sum(richardson(A_, b, preconditioner=M).x)

        value, (dA, db) = mo.jit(mo.value_and_grad(loss, (0, 1)), target=target)(A.data, b)
        expected, (eA, eb) = mo.value_and_grad(loss, (0, 1))(A.data, b)
        assert value == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(dA, eA, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(db, eb, rtol=1e-6)


class TestRichardson:
    def test_it_needs_a_good_preconditioner(self, rng):
        A = rng.standard_normal((6, 6)) + 6 * np.eye(6)
        assert richardson(A, np.ones(6)).status.name == "BREAKDOWN"
        found = richardson(A, np.ones(6), preconditioner=Diagonal(1 / np.diagonal(A)), max_iterations=500)
        np.testing.assert_allclose(found.x, np.linalg.solve(A, np.ones(6)), rtol=1e-8)

    def test_its_gradient_is_that_of_the_equation(self, rng):
        A, b = 0.1 * rng.standard_normal((5, 5)) + np.eye(5), rng.standard_normal(5)
        found = mo.gradient(lambda A, b: np.sum(richardson(A, b).x ** 2), A, b)
        directly = mo.gradient(lambda A, b: np.sum(np.linalg.solve(A, b) ** 2), A, b)
        for got, expected in zip(found, directly):
            np.testing.assert_allclose(got, expected, rtol=1e-7)


class TestBadInput:
    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda A: smoothed_aggregation(A[:3]), r"smoothed_aggregation: A has shape \(3, 64\), expected a square"),
            (lambda A: smoothed_aggregation(Diagonal(np.ones(4))), "is a Diagonal, whose entries are not stored"),
            (lambda A: smoothed_aggregation(A, strength=-1), "strength is -1, expected a number from 0 to 1"),
            (lambda A: smoothed_aggregation(A, cycle="Z"), 'cycle is .Z., expected "V", "W" or "F"'),
            (lambda A: smoothed_aggregation(A, degree=0), "degree is 0, expected a positive int"),
            (
                lambda A: smoothed_aggregation(A, np.ones(3)),
                r"near_null_space has shape \(3,\), expected \(64,\) or \(64, k\)",
            ),
            (lambda A: geometric_multigrid(A, (8, 9)), r"grid \(8, 9\) has 72 unknowns, but A has shape \(64, 64\)"),
            (lambda A: geometric_multigrid(A, (8, 8), "faces"), 'unknowns is .faces., expected "vertices" or "cells"'),
        ],
    )
    def test_says_what_was_given(self, call, message):
        with pytest.raises(mo.BadInput, match=message):
            call(poisson(8))

    def test_a_matrix_without_strong_entries(self):
        with pytest.raises(
            mo.MorulaError, match="the coarsest matrix still has 5000 rows, since few entries are strong"
        ):
            smoothed_aggregation(scipy.sparse.eye_array(5000).tocsr())

    def test_the_class_is_public(self):
        assert isinstance(smoothed_aggregation(poisson(4)), Multigrid)
