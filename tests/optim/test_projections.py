"""Projections are the nearest points of their sets, and have the derivatives of differences."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.optim import projections as onto

RANDOM = np.random.default_rng(4)
X, A = RANDOM.normal(size=5) * 2.0, RANDOM.normal(size=(2, 5))
B = np.array([0.3, -1.0])
SETS = {
    "nonnegative": (lambda x: onto.nonnegative(x), lambda z: np.all(z >= 0)),
    "box": (lambda x: onto.box(x, -0.5, 0.7), lambda z: np.all((z >= -0.5) & (z <= 0.7))),
    "simplex": (lambda x: onto.simplex(x, 1.5), lambda z: np.all(z >= 0) and np.isclose(np.sum(z), 1.5)),
    "l1 ball": (lambda x: onto.l1_ball(x, 1.5), lambda z: np.sum(abs(z)) <= 1.5 + 1e-12),
    "ball": (lambda x: onto.ball(x, 0.8, 0.1), lambda z: np.linalg.norm(z - 0.1) <= 0.8 + 1e-12),
    "half-space": (lambda x: onto.halfspace(x, A[0], -9.0), lambda z: A[0] @ z <= -9.0 + 1e-12),
    "affine": (lambda x: onto.affine(x, A, B), lambda z: np.allclose(A @ z, B)),
    "cone": (
        lambda x: np.append(*onto.second_order_cone(x[:4], x[4])),
        lambda z: np.linalg.norm(z[:4]) <= z[4] + 1e-12,
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_is_the_nearest_point_of_the_set(name):
    project, holds = SETS[name]
    nearest = project(X)
    assert holds(nearest) and np.allclose(project(nearest), nearest)
    for y in RANDOM.normal(size=(20, 5)):
        # The angle between x - p and z - p is obtuse for every z of the set: the characterisation of a projection.
        assert (X - nearest) @ (project(y) - nearest) <= 1e-9


@pytest.mark.parametrize("name", SETS)
def test_is_differentiable(name):
    weights = np.arange(1.0, 6.0)
    mo.testing.check_gradients(lambda x: weights @ SETS[name][0](x), X, order=1)


def test_points_inside_stay_and_the_polar_cone_goes_to_zero():
    small = 0.01 * X
    assert np.allclose(onto.ball(small), small) and np.allclose(onto.l1_ball(small), small)
    assert np.allclose(onto.second_order_cone(small, 1.0)[0], small)
    assert np.allclose(onto.second_order_cone(small, -1.0)[0], 0.0)


def test_the_nearest_semidefinite_matrix():
    M = RANDOM.normal(size=(4, 4))
    nearest = onto.semidefinite(M)
    assert np.min(np.linalg.eigvalsh(nearest)) > -1e-12
    rest = 0.5 * (M + M.T) - nearest
    assert np.max(np.linalg.eigvalsh(rest)) < 1e-12 and np.isclose(np.sum(rest * nearest), 0.0)
    mo.testing.check_gradients(lambda M: np.sum(np.arange(16.0).reshape(4, 4) * onto.semidefinite(M)), M, order=1)


def test_compiled_it_is_the_same():
    assert np.allclose(mo.jit(lambda x: onto.simplex(x, 1.5), target="native")(X), onto.simplex(X, 1.5))


def test_a_matrix_is_no_point_of_a_simplex():
    with pytest.raises(mo.BadInput, match=r"simplex: x has shape \(2, 5\), expected a vector"):
        onto.simplex(A)
