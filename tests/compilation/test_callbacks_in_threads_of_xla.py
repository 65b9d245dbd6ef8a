"""64-bit numbers reach Python unchanged from programs so large that XLA calls Python in its own threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import morula as mo

LARGE = np.random.default_rng(0).normal(size=(200, 200))
STEPS = range(8)


def is_just_above_one(x):
    return np.asarray(x > 1.0)


def calls(x, z, n, large):
    total, found = 0.0, []
    for k in STEPS:
        w = (large * (k + 1.0)) @ large
        total = total + np.sum(scipy.linalg.expm(x * (0.1 * k))) * 1e-3 + np.sum(np.sin(w @ w))
        found.append(mo.callback(is_just_above_one, np.zeros((), bool), x[0, 0] + k * 1e-13))
        total = total + np.sum(np.abs(scipy.linalg.expm(z * (0.1 * k))))
        found.append(mo.callback(np.negative, np.zeros(2, np.int64), n + k))
    return total, found


@pytest.fixture(scope="module")
def compiled():
    return mo.jit(calls, target="xla")


@pytest.mark.parametrize("shift", [0.0, 1e-3])
def test_64_bit_numbers_cross_whole(compiled, shift):
    x, n = np.eye(3) + shift, np.array([2**40 + 1, -3])
    z = x * (1 + 0.5j)
    total, found = compiled(x, z, n, LARGE)
    expected_total, expected = calls(x, z, n, LARGE)
    np.testing.assert_allclose(total, expected_total, rtol=1e-12)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
