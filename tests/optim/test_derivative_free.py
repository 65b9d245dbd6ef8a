"""Minimisation by values alone, and global searches: known minima, SciPy's, resuming, compiled, refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.optim import (
    CMAES,
    BasinHopping,
    DifferentialEvolution,
    Direct,
    MultiStart,
    NelderMead,
    ParticleSwarm,
    Status,
    global_minimize,
    minimize,
)

from .more_garbow_hillstrom import PROBLEMS

LOCAL = ("nelder-mead", "powell")
GLOBAL = ("differential evolution", "cma-es", "particle swarm", "direct", "basin hopping", "multistart")
SMALL = {
    "rosenbrock",
    "freudenstein roth",
    "beale",
    "helical valley",
    "bard",
    "powell singular",
    "wood",
    "brown dennis",
}


@pytest.mark.parametrize("method", LOCAL)
@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.name in SMALL], ids=lambda p: p.name)
def test_reaches_a_minimum_of_the_more_garbow_hillstrom_problem(problem, method):
    result = minimize(lambda x: np.sum(problem.residuals(x) ** 2), problem.start, method=method, max_iterations=5000)
    assert result.converged, result.message
    assert any(np.isclose(result.value, least, rtol=1e-6, atol=1e-10) for least in problem.minima)


@pytest.mark.parametrize("method", LOCAL)
def test_minimises_what_has_no_derivative_and_stays_within_bounds(method):
    def f(x):
        return abs(x[0] - 1.0) + abs(x[1] + 0.5) + (0.0 if x[0] > -9.0 else math.nan)

    assert np.allclose(minimize(f, np.array([-3.0, 2.0]), method=method).x, [1.0, -0.5], atol=1e-5)
    bounded = minimize(f, np.array([-3.0, 2.0]), method=method, bounds=(-4.0, np.array([0.5, 9.0])))
    assert np.allclose(bounded.x, [0.5, -0.5], atol=1e-5) and bounded.x[0] <= 0.5


def test_the_simplex_needs_about_as_many_evaluations_as_scipys():
    problem = next(p for p in PROBLEMS if p.name == "rosenbrock")
    f = lambda x: float(np.sum(problem.residuals(x) ** 2))  # noqa: E731
    expected = scipy.optimize.minimize(f, problem.start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8})
    assert minimize(f, problem.start, method="nelder-mead").evaluations < 1.2 * expected.nfev


@pytest.mark.parametrize("method", LOCAL)
def test_a_resumed_search_takes_the_same_path(method):
    f, x = (lambda x: np.sum((x - 1.0) ** 4) + x[0] * x[1]), np.array([2.0, 3.0])
    part = minimize(f, x, method=method, max_iterations=3, resumable=True)
    rest = minimize(f, x, method=method, resume=pickle.loads(pickle.dumps(part.state)))
    assert np.array_equal(rest.x, minimize(f, x, method=method).x)


@pytest.mark.parametrize("method", LOCAL)
def test_the_derivative_and_the_compiled_search(method):
    def x(a):
        return minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), method=method).x

    assert np.allclose(mo.jacobian(x)(np.array([1.0, 2.0])), np.eye(2))
    assert np.allclose(mo.jit(x, target="native")(np.array([1.0, 2.0])), [1.0, 2.0], atol=1e-7)


def rastrigin(x):
    return np.sum(x**2 - 10 * np.cos(2 * np.pi * x)) + 10 * len(x)


def branin(x):
    valley = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10


def camel(x):
    return (4 - 2.1 * x[0] ** 2 + x[0] ** 4 / 3) * x[0] ** 2 + x[0] * x[1] + (4 * x[1] ** 2 - 4) * x[1] ** 2


CASES = {
    "branin": (branin, ([-5.0, 0.0], [10.0, 15.0]), 0.39788735772973816),
    "six-hump camel": (camel, ([-3.0, -2.0], [3.0, 2.5]), -1.0316284534898774),
}


@pytest.mark.parametrize("method", GLOBAL)
@pytest.mark.parametrize("name", CASES)
def test_finds_the_least_of_several_minima(name, method):
    f, bounds, least = CASES[name]
    found = global_minimize(f, tuple(np.array(b) for b in bounds), method=method, max_iterations=80)
    assert found.converged and np.isclose(found.value, least, rtol=1e-9)


@pytest.mark.parametrize(
    "method", [DifferentialEvolution(), ParticleSwarm(members=15), CMAES(members=60), BasinHopping(patience=80)]
)
def test_finds_one_of_a_thousand_minima(method):
    found = global_minimize(rastrigin, (-5.12 * np.ones(3), 4.0 * np.ones(3)), method=method, max_iterations=150)
    assert np.allclose(found.x, 0.0, atol=1e-6)


def lennard_jones(x):
    p = x.reshape(-1, 3)
    i, j = np.triu_indices(len(p), 1)
    inverse = np.sum((p[i] - p[j]) ** 2, axis=1) ** -3.0
    return 4.0 * np.sum(inverse**2 - inverse)


def test_basin_hopping_finds_the_cluster_of_seven_atoms():
    def energy(seed):
        box = (np.full(21, -1.2), np.full(21, 1.2))
        return global_minimize(lennard_jones, box, method=BasinHopping(patience=30), seed=seed).value

    # D.J. Wales and J.P.K. Doye (1997), table 1
    compiled = mo.jit(energy)
    assert all(np.isclose(compiled(seed), -16.505384, rtol=1e-7) for seed in (1, 2, 3))


def test_many_starts_end_after_the_last_and_skip_what_is_not_finite():
    def f(x):
        return np.sum(np.sqrt(x - 0.5) + (x - 0.8) ** 2)  # NaN below 0.5

    found = global_minimize(f, (np.zeros(1), np.ones(1)), method=MultiStart(starts=4), polish=False, seed=1)
    assert found.converged and found.iterations == 4 and found.x[0] > 0.5


def test_direct_is_deterministic_and_covers_the_box():
    points = []

    def f(x):
        points.append(x.copy())
        return np.sum((x - 0.3) ** 2)

    found = global_minimize(f, (np.zeros(2), np.ones(2)), method=Direct(), polish=False, seed=5)
    assert found.status == Status.CONVERGED and np.allclose(found.x, 0.3, atol=1e-3)
    assert np.allclose(points[0], 0.5) and len({tuple(p) for p in points}) == len(points)


@pytest.mark.parametrize("method", GLOBAL)
def test_the_same_seed_gives_the_same_search_also_resumed(method):
    box, f = (-np.ones(2), 2.0 * np.ones(2)), lambda x: np.sum(np.cos(5 * x) + x**2)
    whole = global_minimize(f, box, method=method, max_iterations=12, polish=False, seed=3)
    part = global_minimize(f, box, method=method, max_iterations=5, polish=False, seed=3, resumable=True)
    rest = global_minimize(
        f, box, method=method, max_iterations=12, polish=False, resume=pickle.loads(pickle.dumps(part.state))
    )
    assert np.array_equal(rest.x, whole.x) and rest.evaluations == whole.evaluations


def test_a_global_minimum_moves_with_its_parameters():
    def x(a):
        return global_minimize(
            lambda p: (p["u"] - a) ** 2 * (1 + 0.1 * np.cos(p["u"])), ({"u": -5.0}, {"u": 5.0}), max_iterations=30
        ).x["u"]

    assert np.isclose(mo.grad(x)(2.0), 1.0)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: global_minimize(rastrigin, (0.0, np.inf)), "a bound is infinite; expected a finite box"),
        (lambda: MultiStart(starts=0), "starts is 0, expected 1 or more"),
        (lambda: BasinHopping(patience=0), "expected a positive step and patience"),
        (lambda: global_minimize(rastrigin, 3.0), r"bounds is a float, expected a pair \(lower, upper\)"),
        (lambda: global_minimize(rastrigin, (np.ones(2), np.zeros(2))), "the bounds are crossed"),
        (
            lambda: global_minimize(rastrigin, (np.zeros(2), np.ones(2)), method="annealing"),
            "no method 'annealing'; there are",
        ),
        (
            lambda: mo.grad(lambda a: global_minimize(lambda x: (x - a) ** 2, (0.0, 1.0), polish=False).x)(0.5),
            "only a polished",
        ),
        (lambda: minimize(lambda x: x, np.ones(2), method=NelderMead()), r"f returned an array of shape \(2,\)"),
        (
            lambda: minimize(rastrigin, np.ones(2), bounds=(2.0, 3.0), method="powell"),
            "x0 is infeasible: unknown 0 is 1",
        ),
    ],
)
def test_refuses(call, message):
    with pytest.raises(mo.MorulaError, match=message):
        call()
