"""Powers with constant exponents have NumPy's values at zeros, infinities and negative numbers."""

import numpy as np
import pytest

import morula as mo

POINTS = np.array([-np.inf, -2.0, -0.0, 0.0, 0.25, 4.0, np.inf, np.nan])


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("exponent", [-2.0, -1.5, -0.5, 1.5, 2.5, 3.0, 7.5, 0.3])
def test_powers(exponent, target):
    with np.errstate(all="ignore"):
        expected = POINTS**exponent
    found = mo.jit(lambda x: x**exponent, target=target)(POINTS)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[known]), np.signbit(expected[known]))


def test_powers_in_single_precision():
    points = np.array([0.0, 0.25, 1.7, 3.0, np.inf], np.float32)
    exponents = (-2.5, -1.0, 0.0, 0.5, 4.0)

    def powers(x):
        return [x**e for e in exponents]

    with np.errstate(all="ignore"):
        expected = powers(points)
    for found, wanted in zip(mo.jit(powers, target="xla")(points), expected, strict=True):
        assert found.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=5e-7)
