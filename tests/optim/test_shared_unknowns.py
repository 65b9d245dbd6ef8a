"""An array in two places of the unknowns is one block of unknowns, also in the solution."""

from __future__ import annotations

import numpy as np
import pytest
from private_slots import Private

import morula as mo
from morula.optim import least_squares, minimize

TARGET = np.array([1.0, 4.0])


def tied(w):
    return {"a": w, "b": [w]}, lambda p: (p["a"], p["b"][0])


def private(w):
    return Private(w, w), lambda p: p.parts()


@pytest.mark.parametrize("make", [tied, private])
def test_least_squares(make):
    x0, parts = make(np.array([0.7, 1.5]))

    def residuals(p):
        a, b = parts(p)
        return a * b - TARGET

    solution = least_squares(residuals, x0)
    a, b = parts(solution.x)
    assert a is b and np.allclose(a, np.sqrt(TARGET))


@pytest.mark.parametrize("method", ["bfgs", "lbfgs"])
@pytest.mark.parametrize("make", [tied, private])
def test_minimize(make, method):
    x0, parts = make(np.array([0.7, 1.5]))

    def f(p):
        a, b = parts(p)
        return np.sum((a * b - TARGET) ** 2) + np.sum((a + b) ** 2) / 8

    solution = minimize(f, x0, method=method)
    a, b = parts(solution.x)
    expected = np.sqrt(TARGET - 1 / 4)  # d/dw ((w² - t)² + w²/2) = 0
    assert a is b and np.allclose(a, expected, atol=1e-5)


def test_the_solution_is_differentiated():
    def root(t):
        w = np.array([0.7, 1.5])
        p = least_squares(lambda p: p["a"] * p["b"] - t, {"a": w, "b": w}).x
        return np.sum(p["a"] + 2 * p["b"])

    assert np.allclose(mo.grad(root)(TARGET), 3 / 2 / np.sqrt(TARGET), rtol=1e-4)


def test_numbers_are_unknowns_of_their_own():
    x = 1.0
    solution = least_squares(lambda p: np.array([p["a"] - 2.0, p["b"] - 3.0]), {"a": x, "b": x})
    assert np.isclose(solution.x["a"], 2.0) and np.isclose(solution.x["b"], 3.0)
