"""Reductions of arrays with short rows, which have a partial result for each column (``native.reductions``): values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient

import morula as mo

SHAPES = [(40, 2), (40, 3), (33, 15), (40, 16), (20, 4, 6), (17, 5, 4), (3, 4), (32, 1), (0, 3)]
REDUCTIONS = {
    "sum": lambda x, m: np.sum(x - m),
    "sum of columns": lambda x, m: np.sum(x - m, axis=0),
    "product": lambda x, m: np.prod(1.25 + 0.0625 * (x - m)),
    "greatest": lambda x, m: np.max(x - m, initial=-9.0),
    "greatest of columns": lambda x, m: np.max(x - m, axis=0, initial=-9.0),
    "least": lambda x, m: np.min(x * m, initial=9.0),
    "any": lambda x, m: np.any(x > m + 3.2, axis=0),
    "all": lambda x, m: np.all(x < m + 3.2),
}


def arguments(shape, dtype):
    rng = np.random.default_rng(4)
    x, m = rng.normal(size=shape), rng.normal(size=shape[-1])
    return (4 * x).astype(dtype), m.astype(dtype)


@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, complex])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape, dtype):
    x, m = arguments(shape, dtype)
    names = [n for n in REDUCTIONS if dtype is not complex or n in ("sum", "sum of columns", "product")]
    found = mo.jit(lambda x, m: [REDUCTIONS[n](x, m) for n in names], target="native")(x, m)
    for name, value in zip(names, found, strict=True):
        expected = REDUCTIONS[name](x, m)
        assert np.asarray(value).dtype == np.asarray(expected).dtype, name
        np.testing.assert_allclose(value, expected, rtol=1e-5 if dtype is np.float32 else 1e-12, err_msg=name)


def test_a_nan_is_the_extremum_of_its_column():
    x, m = arguments((40, 3), float)
    x[7, 1] = np.nan
    with np.errstate(invalid="ignore"):
        columns, whole = mo.jit(lambda x, m: (np.max(x * m, axis=0), np.min(x * m)), target="native")(x, m)
        np.testing.assert_array_equal(columns, np.max(x * m, axis=0))
        assert np.isnan(whole)


@pytest.mark.parametrize("shape", [(40, 3), (36, 16), (20, 4, 6)])
def test_gradients(shape):
    def f(x, m):
        y = (x - m) ** 2
        return np.sum(np.exp(-y)) + np.max(y * m) + np.sum(np.sin(np.sum(y * m, axis=0)))

    check_gradient("native", f, *arguments(shape, float))


def test_rows_whose_number_is_known_only_at_run_time():
    def f(x, m, k):
        y = (x[:k] - m) ** 2
        return np.sum(y), np.sum(y, axis=0), np.max(y)

    x, m = arguments((50, 3), float)
    for k in (1, 31, 50):
        for found, expected in zip(mo.jit(f, target="native")(x, m, k), f(x, m, k)):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
