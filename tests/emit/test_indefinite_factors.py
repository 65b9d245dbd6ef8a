"""``scipy.linalg.ldl`` in native code: SciPy's factors for all patterns of pivots, gradients without Python."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on
from scipy import linalg
from without_python import check_without_python, refuse_python

from morula.core.rules.scipy_indefinite import ldl_by_factors

RNG = np.random.default_rng(3)
W = np.cos(np.arange(36.0)).reshape(6, 6)


def drawn(n, kind, hermitian, zeros=()):
    """A symmetric or Hermitian matrix; zeros on its diagonal lead to blocks of two."""
    a = RNG.normal(size=(n, n)) + (1j * RNG.normal(size=(n, n)) if kind in "FD" else 0.0)
    a[list(zeros), list(zeros)] = 0.0
    return (a + (np.conj(a.T) if hermitian else a.T)).astype(kind)


@pytest.mark.parametrize("kind", "fdFD")
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("hermitian", [True, False])
def test_the_program_decodes_lapacks_factors_as_scipy_does(hermitian, lower, kind):
    for n in (1, 2, 3, 7, 20):
        for zeros in ((), range(n), range(0, n, 2), range(n - 1)):
            a = drawn(n, kind, hermitian, zeros)
            for found, expected in zip(ldl_by_factors(a, lower, hermitian), linalg.ldl(a, lower, hermitian)):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["d", "D"])
@pytest.mark.parametrize("lower", [True, False])
def test_values_and_gradients_without_python(lower, kind, monkeypatch):
    start, change = drawn(6, kind, True, (0, 1, 4)), RNG.normal(size=(6, 6)).astype(kind)

    def f(change):
        a = start + 0.01 * change  # the pivots stay the same for the steps of differences
        both = np.stack([a, a + 0.2 * np.conj(a.T)])
        triangle, d, order = linalg.ldl(a, lower)
        triangles, ds, _ = linalg.ldl(both, lower)
        return np.sum(W * np.abs(triangle[order]) ** 2 + np.real(W * d)) + np.sum(
            W * np.abs(triangles) ** 2 + np.abs(ds) ** 2
        )

    check_without_python(f, change, monkeypatch=monkeypatch)


@pytest.mark.parametrize("kind", "fF")
def test_single_precision_and_symmetric_complex_matrices(kind, monkeypatch):
    refuse_python(monkeypatch)
    a = drawn(6, kind, False, (0, 2, 3))
    for found, expected in zip(
        run_on("native")(lambda a: linalg.ldl(a, hermitian=False))(a), linalg.ldl(a, hermitian=False)
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_matrix_that_is_not_finite():
    a = np.full((3, 3), np.nan)
    for ldl in (linalg.ldl, run_on("native")(linalg.ldl)):
        with pytest.raises(ValueError, match="infs or NaNs"):
            ldl(a)
    assert np.isnan(run_on("native")(lambda a: linalg.ldl(a, check_finite=False)[1])(a)[0, 0])
