"""Operators and ufuncs between NumPy's numbers or arrays and pandas objects."""

from __future__ import annotations

import operator

import numpy as np
import pandas as pd
import pytest
from pandas._libs.ops_dispatch import maybe_dispatch_ufunc_to_dunder_op

import morula as mo
from morula.core.rules.registry import HANDLERS
from morula.core.testing import check_gradients

A = np.array([1.5, 2.0, 0.7])
B = np.array([0.5, 1.2, 2.0])
MADE = {"series": pd.Series, "frame": lambda a: pd.DataFrame({"u": a, "v": a * 2.0})}
OPERATIONS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    np.multiply,
    np.subtract,
    np.power,
]


def others(made):
    return {"number": np.float64(1.7), "array": B if made == "series" else np.stack([B, B], axis=1)}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["number", "array"])
@pytest.mark.parametrize("reflected", [False, True])
def test_the_derivative(made, operation, kind, reflected):
    other = others(made)[kind]

    def f(a):
        x = MADE[made](a)
        y = operation(other, x) if reflected else operation(x, other)
        return y.to_numpy().sum()

    check_gradients(f, A)


@pytest.mark.parametrize("made", MADE)
def test_unary_and_comparing(made):
    def f(a):
        x = MADE[made](a)
        kept = np.less(np.float64(1.0), x).to_numpy() * 1.0
        return (kept * np.absolute(np.negative(x)).to_numpy()).sum()

    check_gradients(f, A)


@pytest.mark.parametrize("made", MADE)
def test_refused_where_the_dispatch_is_not_known(made, monkeypatch):
    """What Cython code computes by itself, and keeps, is no constant."""
    mo.grad(lambda a: MADE[made](a).to_numpy().sum())(A)
    monkeypatch.delitem(HANDLERS, maybe_dispatch_ufunc_to_dunder_op)
    with pytest.raises(mo.NoDerivative):
        mo.grad(lambda a: (np.float64(2.0) * MADE[made](a)).to_numpy().sum())(A)


def test_an_attribute_that_c_computes_is_refused():
    def grouped(x):
        return pd.Series(x * 2.0, index=x).groupby(level=0).mean().to_numpy().sum()

    with pytest.raises(mo.BadInput, match="the attribute _engine of a .*Index is computed by code written in C"):
        mo.jit(grouped)(np.array([1.0, 2.0, 1.0]))
