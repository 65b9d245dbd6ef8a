"""The module ``statistics``, which computes in exact fractions, and ``random`` with differentiated parameters."""

from __future__ import annotations

import random
import statistics
from statistics import NormalDist

import numpy as np
import pytest

import morula as mo

V = [1.5, 0.7, 2.5]
X, Y = [1.0, 2.0, 4.5], [0.3, 1.9, 2.2]


def rest(v):
    """Another sample that depends on all of ``v``."""
    return [v[0] * v[1], v[2], 3.0, v[1]]


def sample(v):
    d = NormalDist.from_samples([*v, v[0] * v[1]])
    return d.mean * d.stdev


def combined(v):
    d = NormalDist(v[0], v[1]) + NormalDist(v[2], 1.0) * 2 - 3.0
    return d.mean * d.stdev + d.variance + d.median * d.mode


PROGRAMS = {
    **{
        name: lambda v, name=name: getattr(statistics, name)(rest(v))
        for name in (
            *("mean", "fmean", "geometric_mean", "harmonic_mean", "median", "median_low", "median_high"),
            *("stdev", "variance", "pstdev", "pvariance"),
        )
    },
    "weighted fmean": lambda v: statistics.fmean(rest(v), [1.0, v[0], 2.0, v[1]]),
    "weighted harmonic_mean": lambda v: statistics.harmonic_mean(rest(v), [1.0, v[0], 2.0, v[1]]),
    **{
        f"{name} about a centre": lambda v, name=name: getattr(statistics, name)(rest(v), v[0] * v[2])
        for name in ("stdev", "variance", "pstdev", "pvariance")
    },
    "centre by name": lambda v: statistics.pvariance(v, mu=v[0]) + statistics.variance(v, xbar=v[1]),
    "of a generator": lambda v: statistics.mean(x * x for x in v) + statistics.fmean(iter(v)),
    "of arrays and tuples": lambda v: statistics.mean(np.array(v)) * statistics.stdev(tuple(v)),
    "with integers": lambda v: statistics.mean([1, 2, v[0]]) * statistics.pvariance([1, v[1], 7]),
    "quantiles": lambda v: statistics.quantiles(v, n=4)[1] + statistics.quantiles(v, n=3, method="inclusive")[0],
    "mode": lambda v: statistics.mode([v[0], v[0], v[1]]) * v[2],
    "linear_regression": lambda v: np.prod(statistics.linear_regression([v[0], 2.0, v[1]], [v[2], 1.0, v[0] * v[1]])),
    "regression through zero": lambda v: statistics.linear_regression(v, Y, proportional=True).slope,
    "correlation": lambda v: statistics.correlation(v, Y) + statistics.covariance(X, v),
    "pdf": lambda v: NormalDist(v[0], v[1]).pdf(v[2]),
    "cdf": lambda v: NormalDist(v[0], v[1]).cdf(v[2]),
    "inv_cdf": lambda v: NormalDist(v[0], v[1]).inv_cdf(v[2] / 4),
    "quantiles of a distribution": lambda v: sum(x * k for k, x in enumerate(NormalDist(v[0], v[1]).quantiles(3))),
    "zscore": lambda v: NormalDist(v[0], v[1]).zscore(v[2]),
    "overlap": lambda v: NormalDist(v[0], v[1]).overlap(NormalDist(v[2], 1.0)),
    "from_samples": sample,
    "arithmetic of distributions": combined,
    "uniform": lambda v: random.Random(1).uniform(v[0], v[1]) + random.Random(2).triangular(v[1], v[2], v[0]),
    "gauss": lambda v: random.Random(1).gauss(v[0], v[1]) + random.Random(2).normalvariate(v[2], v[0]),
    "expovariate": lambda v: random.Random(1).expovariate(v[0]) + random.Random(2).weibullvariate(v[1], v[2]),
    "lognormvariate": lambda v: random.Random(1).lognormvariate(v[0], v[1]) + random.Random(2).paretovariate(v[2]),
    "choice": lambda v: random.Random(1).choice(v) * random.Random(2).sample(v, 2)[1],
    "global generator": lambda v: (random.seed(3), random.uniform(v[0], v[1]))[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_agrees_with_differences(check, name):
    check(PROGRAMS[name], V)


def test_equal_numbers_have_a_deviation_with_slope_zero():
    x, mu = [2.0, 2.0, 2.0], 2.0
    for f, *args in ((statistics.stdev, x), (statistics.pstdev, x), (statistics.pstdev, x, mu)):
        zeros = ([0.0] * 3, 0.0)[: len(args)]
        assert mo.gradient(f, *args) == zeros
        assert mo.jvp(f, args, ([1.0, 2.0, -1.0], 0.5)[: len(args)])[1] == 0.0
    assert mo.jvp(lambda x: statistics.NormalDist.from_samples(x).stdev, (x,), ([1.0, 2.0, -1.0],))[1] == 0.0
