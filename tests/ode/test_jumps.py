"""Equations with Poisson jumps: the distribution of the thresholds, jump times in closed form, gradients, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient
from scipy import stats

import morula as mo
from morula.core.random import Generator
from morula.ode import IntegrationFailed, Jump, jumpsolve
from morula.ode.jumps import _normals, _thresholds

SEED = 3


def thresholds_of(process, processes, number):
    """The first exponentially distributed numbers of a process, as a solve draws them."""
    return np.array(
        [_thresholds(_normals(Generator(SEED), np.full(processes, float(n))))[process] for n in range(number)]
    )


def test_thresholds_are_independent_and_exponentially_distributed():
    rows = [_thresholds(_normals(Generator(1), np.full(500, float(n)))) for n in range(20)]
    found = np.array(rows)
    assert stats.kstest(found.ravel(), "expon").pvalue > 1e-3
    assert abs(np.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]) < 5 / np.sqrt(found.size)
    assert abs(np.corrcoef(found[:, :-1].ravel(), found[:, 1:].ravel())[0, 1]) < 5 / np.sqrt(found.size)


def test_jump_times_of_a_rate_that_grows_with_time():
    shot = Jump(lambda t, y: 1.5 * (1.0 + t), lambda t, y, z: y + 1.0)
    found = jumpsolve(lambda t, y: 0.0 * y, 0.0, [0.0, 3.0], jumps=shot, seed=SEED)
    total = np.cumsum(thresholds_of(0, 1, 40)) / 1.5
    expected = np.sqrt(1.0 + 2.0 * total) - 1.0
    expected = expected[expected < 3.0]
    np.testing.assert_allclose(found.events[0].t, expected, rtol=1e-5)
    assert found.y.tolist() == [0.0, len(expected)]
    assert found.events[0].y.tolist() == list(range(len(expected)))


def test_jump_times_of_births_whose_rate_is_the_population():
    birth = Jump(lambda t, y: 1.0 * y, lambda t, y, z: y + 1.0)
    found = jumpsolve(lambda t, y: 0.0 * y, 1.0, [0.0, 2.0], jumps=birth, seed=SEED)
    expected = np.cumsum(thresholds_of(0, 1, 200) / np.arange(1, 201))
    np.testing.assert_allclose(found.events[0].t, expected[expected < 2.0], rtol=1e-6)


def test_processes_jump_on_their_own():
    jumps = [
        Jump(lambda t, y: 2.0, lambda t, y, z: y + [1.0, 0.0]),
        Jump(lambda t, y: 0.7, lambda t, y, z: y + [0.0, 1.0]),
    ]
    found = jumpsolve(lambda t, y: 0.0 * y, np.zeros(2), [0.0, 4.0], jumps=jumps, seed=SEED)
    for i, rate in enumerate((2.0, 0.7)):
        expected = np.cumsum(thresholds_of(i, 2, 40)) / rate
        np.testing.assert_allclose(found.events[i].t, expected[expected < 4.0], rtol=1e-6)
    assert found.y[-1].tolist() == [len(e.t) for e in found.events]


def decaying(size, decay, rate):
    shot = Jump(
        lambda t, y, size, decay, rate: rate * (1.0 + t),
        lambda t, y, z, size, decay, rate: {"level": y["level"] + size * z[0]},
    )
    options = {"jumps": shot, "seed": SEED, "method": "bosh3", "rtol": 1e-6, "atol": 1e-8}
    found = jumpsolve(
        lambda t, y, size, decay, rate: {"level": -decay * y["level"]},
        {"level": 1.0},
        [0.0, 0.5, 1.0],
        size,
        decay,
        rate,
        **options,
    )
    return found


def test_gradients_of_a_path_with_respect_to_sizes_drift_and_rate():
    check_gradient("eager", lambda *p: np.sum(decaying(*p).y["level"] ** 2), 0.5, 0.3, 2.5, rtol=1e-3)


def test_random_sizes_do_not_depend_on_the_tolerance():
    first = decaying(0.5, 0.3, 2.5)
    shot = Jump(lambda t, y: 2.5 * (1.0 + t), lambda t, y, z: y + 0.5 * z[0])
    second = jumpsolve(lambda t, y: -0.3 * y, 1.0, [0.0, 0.5, 1.0], jumps=shot, seed=SEED)
    np.testing.assert_allclose(second.y, first.y["level"], rtol=1e-4)


SHOT = Jump(lambda t, y: 1.0, lambda t, y, z: y)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: jumpsolve(lambda t, y: y, 1.0, [0, 1], jumps=[], seed=1), "jumps is \\[\\]; expected a Jump"),
        (lambda: jumpsolve(lambda t, y: y, 1.0, [0, 1], jumps=1.0, seed=1), "jumps is 1.0; expected a Jump"),
        (lambda: jumpsolve(1.0, 1.0, [0, 1], jumps=SHOT, seed=1), "f is float; jumpsolve needs a function"),
        (lambda: jumpsolve(lambda t, y: y, 1.0, [0, 1], jumps=SHOT, seed=1, steps=3), "jumpsolve does not take steps"),
        (lambda: jumpsolve(lambda t, y: y, 1.0, [1, 0], jumps=SHOT, seed=1), "ts must rise from its first to its last time"),
        (lambda: jumpsolve(lambda t, y: y, 1.0, [0, 1], jumps=SHOT, seed=0.5), "a seed must be an integer"),
        (lambda: mo.jit(lambda a: jumpsolve(lambda t, y: y, a, [0, 1], jumps=SHOT, seed=1).y)(1.0), "jumpsolve cannot be compiled"),
        (
            lambda: jumpsolve(lambda t, y: y, -1.0, [0, 1], jumps=Jump(lambda t, y: y, lambda t, y, z: y), seed=1),
            "the rate of jumps\\[0\\] is negative or NaN at the start",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()


def test_what_was_computed_is_on_the_exception():
    with pytest.raises(IntegrationFailed, match="max_steps = 2") as failure:
        jumpsolve(lambda t, y: y, 1.0, [0.0, 5.0], jumps=SHOT, seed=1, max_steps=2)
    assert np.isfinite(failure.value.solution.y_reached)
