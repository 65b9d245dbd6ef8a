"""Tangents by the rules: of functions whose pullback needs no transposition, compared with differences."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import scipy.linalg

import morula as mo
from morula.core.eager.forward import pushes
from morula.core.rules.table import POINTWISE, REDUCES
from morula.core.testing.differences import ridders

A = np.array([[0.5, -1.2, 0.4], [0.8, 0.1, -0.6]])
DA = np.array([[0.1, -0.3, 0.7], [1.1, 0.2, -0.5]])


def check(f, x, dx, rtol=1e-7):
    y, dy = mo.jvp(f, (x,), (dx,))
    assert np.array_equal(y, f(x))
    assert np.shape(dy) == np.shape(y) and np.asarray(dy).dtype == np.asarray(y).dtype
    shape = np.shape(y)
    for i in np.ndindex(shape):
        expected = ridders(lambda t, i=i: float(np.asarray(f(x + t * dx))[i]), 1e-3)[0]
        assert np.isclose(np.asarray(dy)[i], expected, rtol=rtol, atol=1e-8)


@pytest.fixture
def untransposed(monkeypatch):
    """No pullback may be transposed."""

    def refuse(tangents, record):
        raise AssertionError(f"the pullback of {record[2].function} is transposed")

    monkeypatch.setattr(pushes, "push_transposed", refuse)


OF_ONE = sorted({f for f in REDUCES if f not in (np.amax, np.amin)}, key=lambda f: (f.__module__, f.__name__))


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}], ids=str)
@pytest.mark.parametrize("f", OF_ONE, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_a_reduction_sums_the_products_of_partial_derivatives_and_tangents(f, options, untransposed):
    check(lambda x: [f(x, **options)][0], A, DA)


@pytest.mark.parametrize("f", [np.max, np.min, np.linalg.norm, np.prod, np.std, math.fsum, math.hypot])
def test_a_number_computed_from_a_list_has_the_product_of_its_gradient_with_the_tangents(f, untransposed):
    def of_list(x):
        parts = [x * 2.0, 1.5, x * x]
        return f(*parts) if f is math.hypot else f(parts)

    check(of_list, 0.7, 1.3)


@pytest.mark.parametrize("f", sorted(POINTWISE - {math.fabs, operator.abs}, key=str), ids=lambda f: f.__name__)
def test_a_pointwise_pullback_maps_tangents(f, untransposed):
    check(lambda x: [f(x, -0.5, 0.7) if f.__name__ == "clip" else f(x)][0], A, DA)


def test_bounds_of_clip_have_tangents_of_the_shape_of_the_result(untransposed):
    check(lambda b: [np.clip(A, b, 0.7)][0], -0.5, 1.3)
    check(lambda b: [np.clip(A, b, b + 1.05)][0], np.array([-0.5, 0.2, 0.0]), np.array([1.0, 2.0, -1.0]))


def test_a_real_norm_of_complex_entries_has_a_real_tangent(untransposed):
    z, dz = A + 1j * A[::-1] ** 2, DA - 0.5j * DA
    for axis in (None, 0):
        y, dy = mo.jvp(lambda z, axis=axis: [np.linalg.norm(z, axis=axis)][0], (z,), (dz,))
        assert np.isrealobj(dy)
        assert np.allclose(dy, np.sum(np.real(np.conj(z) * dz), axis=axis) / y)


@pytest.mark.parametrize("of_vectors", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("solve", [np.linalg.solve, scipy.linalg.solve_triangular])
def test_the_solution_of_an_equation_solves_the_tangent_of_the_equation(solve, stacked, of_vectors, untransposed):
    a = np.array([[2.0, 0.0], [0.4, 1.5]])
    if stacked and solve is np.linalg.solve:
        a = np.stack([a, a.T + 0.3, a * 2])
    b = np.array([0.3, -0.8]) if of_vectors else np.array([[0.3, 1.0, 2.0], [-0.8, 0.5, 0.1]])
    options = {} if solve is np.linalg.solve else {"lower": True}

    def f(t):
        return [solve(a * (1 + t) + t * t, b * (1 - t) + np.sin(t), **options)][0]

    check(f, 0.3, 1.0)


def test_options_of_a_solver_may_be_given_by_position(untransposed):
    a, b = np.array([[2.0, 0.7], [0.4, 1.5]]), np.array([0.3, -0.8])
    for options in ((0, True), ("T", True, True), (0, False, False, False, True)):
        check(lambda t, options=options: [scipy.linalg.solve_triangular(a * (1 + t), b - t, *options)][0], 0.3, 1.0)


def test_a_solver_that_overwrites_its_operands_has_the_right_tangent():
    a, b = np.array([[2.0, 0.0], [0.4, 1.5]]), np.array([0.3, -0.8])
    for options in ((0, True, False, True), (0, True, False, True, False)):
        check(lambda t, options=options: [scipy.linalg.solve_triangular(a * (1 + t), b - t, *options)][0], 0.3, 1.0)


def test_conversions_keep_tangents_in_their_dtype(untransposed):
    check(lambda x: [np.array([x * 2.0, x[::-1]], dtype=float)][0], A, DA)
    dy = mo.jvp(lambda x: [np.asarray(x * 2.0, dtype=np.float32)][0], (A,), (DA,))[1]
    assert dy.dtype == np.float32 and np.allclose(dy, 2 * DA, rtol=1e-6)
    assert mo.jvp(lambda x: [np.array(x * 2.0, dtype=int)][0], (A,), (DA,))[1] is None


def test_broadcast_arrays_have_broadcast_tangents(untransposed):
    def f(x):
        a, b = [np.broadcast_arrays(x, np.ones((2, 2, 3)))][0]
        return a * b

    check(f, A, DA)
    assert mo.jvp(lambda x: [np.atleast_2d(x)][0], (1.5,), (2.0,))[1].tolist() == [[2.0]]
