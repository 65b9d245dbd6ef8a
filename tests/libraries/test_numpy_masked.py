"""Masked arrays are Python on top of ``ndarray``: masked entries have no derivative, the others have theirs."""

from __future__ import annotations

import numpy as np
import numpy.ma as ma
import pytest

import morula as mo

random = np.random.default_rng(3)
V = random.uniform(0.5, 1.5, 5)
A = random.uniform(-1, 1, (3, 4))
KNOTS = np.array([0.1, 0.4, 0.8, 1.0, 1.7])
MASK = [0, 1, 0, 0, 1]


def masked(x):
    return ma.array(x, mask=MASK)


def written(x):
    y = masked(x * 1)
    y[1] = x[0] ** 2
    y[0] = ma.masked
    y[3:] *= 3
    y += x
    return y.filled(0.1)


def each(x):
    return sum(e**2 for e in masked(x) if e is not ma.masked)


CASES = {
    "filled": (lambda x: masked(x).filled(0.0) ** 2, V),
    "arithmetic": (lambda x: (masked(x) * 2 + x - abs(-masked(x)) / x[0]).filled(1.0), V),
    "power": (lambda x: (masked(x) ** 2).filled(0), V),
    "sum": (lambda x: masked(x * x).sum() + np.sum(masked(x)), V),
    "prod": (lambda x: masked(x).prod(), V),
    "mean": (lambda x: masked(x * x).mean(), V),
    "mean of rows": (lambda x: ma.array(x, mask=A > 0.3).mean(axis=0).filled(0), A),
    "std": (lambda x: masked(x * x).std(), V),
    "var": (lambda x: ma.var(masked(x * x)), V),
    "average": (lambda x: ma.average(masked(x), weights=x), V),
    "median": (lambda x: ma.median(masked(x)), V),
    "max": (lambda x: masked(x * x).max() + masked(x).min(), V),
    "ptp": (lambda x: masked(x).ptp(), V),
    "anomalies": (lambda x: masked(x).anom().filled(0), V),
    "cumsum": (lambda x: masked(x).cumsum().filled(0), V),
    "sort": (lambda x: ma.sort(masked(x)).filled(0), V),
    "clip": (lambda x: masked(x).clip(0.7, 1.2).filled(0), V),
    "minimum": (lambda x: ma.minimum(masked(x), 1.0).filled(0), V),
    "compressed": (lambda x: masked(x).compressed() ** 2, V),
    "data": (lambda x: masked(x).data ** 2, V),
    "count": (lambda x: masked(x).count() * ma.getmaskarray(masked(x)) * x, V),
    "index": (lambda x: masked(x)[::2].filled(0.0) ** 2 * masked(x)[2], V),
    "writing": (written, V),
    "iteration": (each, V),
    "reshape": (lambda x: ma.array(x, mask=A > 0.3).T.reshape(-1).filled(0), A),
    "masked_where": (lambda x: ma.masked_where(x > 1, x).sum(), V),
    "masked_greater": (lambda x: (ma.masked_greater(x, 1.0) * x).filled(0.5), V),
    "masked_invalid": (lambda x: ma.masked_invalid(np.where(x > 1, np.nan, x)).sum(), V),
    "fix_invalid": (lambda x: ma.fix_invalid(np.where(x > 1, np.nan, x)).filled(2.0), V),
    "logarithm, which masks": (lambda x: ma.log(x - 0.8).filled(0.0), V),
    "square root": (lambda x: ma.sqrt(masked(x)).sum(), V),
    "a ufunc of NumPy": (lambda x: np.sin(masked(x)).sum() + ma.exp(masked(x)).sum(), V),
    "dot": (lambda x: ma.dot(masked(x), ma.array(x)), V),
    "outer": (lambda x: ma.outer(masked(x), x).sum(), V),
    "where": (lambda x: ma.where(x > 0.9, masked(x), x * 2).filled(0), V),
    "concatenate": (lambda x: ma.concatenate([masked(x), x]).filled(0), V),
    "stack": (lambda x: ma.stack([masked(x), x]).sum(axis=0).filled(0), V),
    "diff": (lambda x: ma.diff(ma.array(x, mask=[0, 0, 1, 0, 0])).filled(0), V),
    "cov": (lambda x: ma.cov(masked(x), masked(x * x)).filled(0), V),
    "corrcoef": (lambda x: ma.corrcoef(masked(x), masked(x * x)).filled(0), V),
    "polyfit": (lambda x: ma.polyfit(ma.array(KNOTS, mask=MASK), ma.array(x), 1), V),
    "apply_along_axis": (
        lambda x: ma.apply_along_axis(lambda row: row.sum(), 1, ma.array(x, mask=A > 0.5)).filled(0),
        A,
    ),
    "tolist": (lambda x: masked(x).tolist()[0] ** 2, V),
    "copy": (lambda x: masked(x).copy().sum() + (ma.zeros(5) + x).sum(), V),
}


@pytest.mark.parametrize(("program", "x"), CASES.values(), ids=CASES)
def test_masked_arrays(program, x):
    mo.testing.check_gradients(program, x)


def test_a_masked_entry_has_no_derivative():
    assert mo.grad(lambda x: masked(x).sum())(V).tolist() == [1, 0, 1, 1, 0]
