"""Functions that fill and return one and the same array in all calls: solvers hold no views of it."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient

import morula as mo
from morula.ode import METHODS, NystromTableau, SecondOrder, odesolve, split
from morula.ode.boundary import bvpsolve
from morula.ode.stochastic import METHODS as STOCHASTIC, sdesolve

MATRIX = np.array([[-2.0, 1.0, 0.0], [0.5, -3.0, 0.2], [0.0, 1.0, -1.0]])
START = np.ones(3)


def decay(t, y):
    return MATRIX @ y - 0.1 * y * y


def filled(f, shape=3):
    """Return f with its results in one array."""
    kept = np.zeros(shape)

    def fill(*args):
        kept[...] = f(*args)
        return kept

    return fill


def solved(f, start, method, shape):
    steps = None if adapts(method) else 8
    y = start.reshape(shape)
    if isinstance(METHODS[method], NystromTableau):
        f, y = SecondOrder(f), (y, 0.5 * y)
    found = odesolve(f, y, [0.0, 0.3, 1.0], method=method, steps=steps, rtol=1e-3, atol=1e-4).y
    return np.stack(found)


def adapts(method):
    return not hasattr(METHODS[method], "error") or len(METHODS[method].error) > 0


@pytest.mark.parametrize("method", METHODS)
def test_solutions_and_gradients(method):
    np.testing.assert_array_equal(solved(filled(decay), START, method, 3), solved(decay, START, method, 3))
    found, expected = (
        mo.grad(lambda start, f=f: np.sum(solved(f, start, method, 3)))(START) for f in (filled(decay), decay)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3)])
def test_states_of_two_axes(shape):
    def f(t, y):
        return decay(t, y.reshape(3)).reshape(shape)

    fill = filled(f, shape)
    np.testing.assert_array_equal(solved(fill, START, "radau5", shape), solved(f, START, "radau5", shape))


def test_a_number_in_a_structure():
    kept = {"x": np.zeros(3)}

    def fill(t, y):
        kept["x"][:] = decay(t, y["x"])
        return kept

    found = odesolve(fill, {"x": START}, [0.0, 1.0], method="radau5").y["x"]
    np.testing.assert_array_equal(found, odesolve(decay, START, [0.0, 1.0], method="radau5").y)


@pytest.mark.parametrize("method", STOCHASTIC)
def test_stochastic_equations(method):
    def noise(t, y):
        return 0.1 * np.ones(3) if STOCHASTIC[method].is_additive else 0.2 * y

    found, expected = (
        sdesolve(f, g, START, [0.0, 1.0], path=3, method=method, steps=8).y
        for f, g in ((filled(decay), filled(noise)), (decay, noise))
    )
    np.testing.assert_array_equal(found, expected)


def test_general_noise():
    def noise(t, y):
        return np.outer(y, [0.1, 0.3])

    found, expected = (
        sdesolve(decay, g, START, [0.0, 1.0], path=3, noise="general", method="heun", steps=8).y
        for g in (filled(noise, (3, 2)), noise)
    )
    np.testing.assert_array_equal(found, expected)


def test_flows_and_boundary_values():
    flows = (lambda h, y: y * np.exp(-h)), (lambda h, y: y + h)
    found, expected = (split(*pair, START, [0.0, 0.5, 1.0], steps=2) for pair in (tuple(map(filled, flows)), flows))
    np.testing.assert_array_equal(found, expected)
    kept = np.zeros((2, 1000))

    def bent(t, y):
        return np.stack([y[1], np.exp(y[0])])

    def fill(t, y):
        kept[:, : len(t)] = bent(t, y)
        return kept[:, : len(t)]

    def fixed(left, right):
        return np.array([left[0], right[0]])

    nodes = np.linspace(0.0, 1.0, 5)
    found, expected = (bvpsolve(f, fixed, nodes, np.zeros((5, 2))).y for f in (fill, bent))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_compiled(path):
    def loss(start):
        kept = np.zeros(3)

        def fill(t, y):
            kept[:] = decay(t, y)
            return kept

        return np.sum(odesolve(fill, start, [0.0, 0.5], method="rk4", steps=3).y)

    check_gradient(path, loss, START)
