"""The programs of benchmarks/ode: the solvers in C find the accurate values, and the versions for JAX have the same rates."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.ode import batches, kinds, limits
from benchmarks.ode.program import GROUPS, problems, references

PROBLEMS = {name: p for group in GROUPS for name, p in problems(group).items()}
needs_c = pytest.mark.skipif(shutil.which("gcc") is None, reason="the solvers by hand are in C")


@needs_c
@pytest.mark.parametrize("name", ["LV", "Pleiades", "Robertson", "Brusselator 128", "rigid body", "HIRES"])
def test_the_gradient_in_c_is_that_of_the_variational_equations(name):
    expected = references()[name]
    problem = PROBLEMS[name]
    value, _, dp = limits.differentiated(replace(problem, rtol=1e-8, atol=1e-2 * problem.atol))()
    end = np.array(expected["end"])
    assert np.isclose(value, end @ end, rtol=1e-5)
    np.testing.assert_allclose(dp, expected["gradient"], atol=1e-4 * np.max(np.abs(expected["gradient"])))


@needs_c
def test_gradients_of_many_in_c_are_those_of_single_solves():
    network = replace(PROBLEMS["spiral net, 256 apart"], y0=batches.starts(256)[:2])
    ensemble = PROBLEMS["LV, 1000 parameters"]
    ensemble = replace(ensemble, args=(ensemble.args[0][:2],))
    value, dy, dp = limits.of_many(network, True)()
    values, dys, dps = zip(
        *(map(np.copy, limits.differentiated(replace(network, y0=y, is_batch=False))()) for y in network.y0)
    )
    assert np.isclose(value, sum(values), rtol=1e-12)
    np.testing.assert_allclose(dy, dys, rtol=1e-12)
    np.testing.assert_allclose(dp, np.sum(dps, axis=0), rtol=1e-9)
    singles = [replace(ensemble, args=tuple(p), is_batch=False) for p in ensemble.args[0]]
    value, dy, dp = limits.of_many(ensemble, True)()
    values, dys, dps = zip(*(map(np.copy, limits.differentiated(single)()) for single in singles))
    assert np.isclose(value, sum(values), rtol=1e-12)
    np.testing.assert_allclose(dy, np.sum(dys, axis=0), rtol=1e-12)
    np.testing.assert_allclose(dp, dps, rtol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_rates_for_jax_are_the_same(name):
    jax = pytest.importorskip("jax")
    problem = PROBLEMS[name]
    single = problem.single() if problem.is_batch or problem.is_lockstep else problem
    with jax.enable_x64(True):
        found = single.rate(jax.numpy)(0.0, jax.numpy.asarray(single.y0), *single.args)
        np.testing.assert_allclose(found, single.rate(np)(0.0, single.y0, *single.args), rtol=1e-12, atol=1e-12)


@needs_c
def test_the_contenders_of_further_kinds_agree():
    planets, delays = kinds.planets(200), kinds.delays(100.0)
    np.testing.assert_allclose(planets["morula"](), planets["C"](), rtol=1e-10)
    np.testing.assert_allclose(delays["morula"](), delays["SciPy, method of steps"](), rtol=1e-4)
    value, slopes = kinds.gradient_of_planets(200)["morula"]()
    q, v = kinds.planets_in_c(200), kinds.VELOCITIES
    assert np.isclose(value, np.sum((q[1] - q[0]) ** 2), rtol=1e-10) and slopes[1].shape == v.shape
