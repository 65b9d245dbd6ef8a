"""Compiled ``np.nanmin`` and ``np.nanmax``: all arguments by position and by name, rows of NaN, ``out=``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import morula as mo

MASK = np.array([[True, False, True], [False, True, True]])
POINTS = [
    np.array([[0.3, np.nan, -0.5], [0.7, 0.1, 0.9]]),
    np.array([[np.nan, np.nan, np.nan], [0.7, 0.1, np.nan]]),
]
CALLS = {
    "all": lambda f, a: f(a),
    "an axis": lambda f, a: f(a, 1),
    "keepdims by position": lambda f, a: f(a, 1, None, True),
    "keepdims by name": lambda f, a: f(a, axis=0, keepdims=True),
    "keepdims of all": lambda f, a: f(a, keepdims=True),
    "initial": lambda f, a: f(a, 1, initial=0.3),
    "everything by position": lambda f, a: f(a, 1, None, True, 0.3, MASK),
    "out": lambda f, a: f(a, 1, a[0, :2]),
}


@pytest.mark.parametrize("f", [np.nanmin, np.nanmax], ids=lambda f: f.__name__)
@pytest.mark.parametrize("call", CALLS)
def test_it_is_as_in_numpy(f, call, target):
    run = mo.jit(lambda a: (CALLS[call](f, a), a), target=target)
    for x in POINTS:
        given = x.copy()
        found = run(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = CALLS[call](f, x := x.copy())
        assert np.shape(found[0]) == np.shape(expected)
        assert np.array_equal(found[0], expected, equal_nan=True)
        assert np.array_equal(found[1], x, equal_nan=True) and np.array_equal(given, x, equal_nan=True)
