"""SciPy's solvers of banded systems, whose result's shape is found with a dominant diagonal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import morula as mo


def smoothing(n, weight):
    second = np.diff(np.eye(n), 2, axis=0)
    return np.eye(n) + weight * second.T @ second


def upper(y, weight):
    a = smoothing(len(y), weight)
    bands = np.array([np.concatenate([np.zeros(k), np.diagonal(a, k)]) for k in (2, 1, 0)])
    return (scipy.linalg.solveh_banded(bands, y) ** 2).sum()


def lower(y, weight):
    a = smoothing(len(y), weight)
    bands = np.array([np.concatenate([np.diagonal(a, k), np.zeros(k)]) for k in (0, 1, 2)])
    return (scipy.linalg.solveh_banded(bands, y, lower=True) ** 2).sum()


def general(y, weight):
    a = smoothing(len(y), weight)
    bands = np.array(
        [np.concatenate([np.zeros(max(k, 0)), np.diagonal(a, k), np.zeros(max(-k, 0))]) for k in (2, 1, 0, -1, -2)]
    )
    return (scipy.linalg.solve_banded((2, 2), bands, y) ** 2).sum()


@pytest.mark.parametrize("f", [upper, lower, general], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [6, 3])
def test_value_and_gradient(f, n, check):
    check(f, np.array([1.0, 2.0, 0.5, 3.0, 1.5, 2.5])[:n], 2.0)


@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (0, 2), (0, 0)])
@pytest.mark.parametrize("sides", [(), (2,)])
@pytest.mark.parametrize("unit", [1.0, 1j])
def test_solutions_by_native_code_are_those_of_scipy(widths, sides, unit):
    """Also a complex matrix with real right-hand sides."""
    generator = np.random.default_rng(sum(widths))
    bands = unit * generator.normal(size=(sum(widths) + 1, 5))
    b = generator.normal(size=(5, *sides))

    def solve(bands, b):
        return scipy.linalg.solve_banded(widths, bands, b)

    assert np.allclose(mo.jit(solve, target="native")(bands, b), solve(bands, b), rtol=1e-12)


@pytest.mark.parametrize("value, kind", [(0.0, np.linalg.LinAlgError), (np.nan, ValueError)])
def test_errors_are_those_of_scipy(value, kind):
    def solve(bands):
        return scipy.linalg.solve_banded((1, 2), bands, np.ones(5))

    for run in (solve, mo.jit(solve, target="native")):
        with pytest.raises(kind, match="singular matrix|infs or NaNs"):
            run(np.full((4, 5), value))
