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


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_slopes_of_powers_with_exponents_known_at_run_time(path):
    """The slope is a quotient where the power has all its digits; elsewhere, at zeros, under- and overflow, a power."""

    def power(x, n):
        return x**n

    slope = mo.grad(power) if path == "eager" else mo.jit(mo.grad(power), target=path)
    for x, n in [
        (1.7, 20),
        (-1.7, 21),
        (0.0, 20),
        (0.0, 0),
        (0.0, 1),
        (1e-20, 20),
        (2.0, -12),
        (1.2, 30.5),
        (3.0, 2),
        (0.2, 60),
    ]:
        x, n = np.float64(x), type(n)(n)
        expected = n * float(x) ** (n - 1) if n else 0.0
        np.testing.assert_allclose(slope(x, n), expected, rtol=1e-13, err_msg=f"{x} ** {n}")
    with np.errstate(over="ignore"):
        assert slope(np.float64(1.5e10), 31) == pytest.approx(31 * 1.5e10**30, rel=1e-13)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_equal_arguments_of_a_maximum_of_several_numbers_share_the_cotangent(path):
    slope = mo.grad(lambda a, b, c, d: 3.0 * max(a, b, c, d), (0, 1, 2, 3))
    slope = slope if path == "eager" else mo.jit(slope, target=path)
    assert slope(1.0, 2.0, 0.5, 1.5) == (0.0, 3.0, 0.0, 0.0)
    assert slope(2.0, 2.0, 0.5, 1.5) == (1.5, 1.5, 0.0, 0.0)
    np.testing.assert_allclose(slope(2.0, 2.0, 0.5, 2.0), (1.0, 1.0, 0.0, 1.0), rtol=1e-15)
