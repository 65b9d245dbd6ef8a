"""Masked arrays: a Python subclass of ``ndarray`` with its own methods, attributes and operators."""

from __future__ import annotations

import numpy as np
import pytest

from morula.testing import check_gradients

A = np.array([1.0, 2.0, 3.0])
B = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.1], [0.2, 0.1, 3.0]])


def masked(a):
    return np.ma.masked_array(a, mask=[False, True, False])


def written(a):
    total = np.ma.zeros(3)
    total[0] = masked(a)[0] * 2
    total[1:] = masked(a)[1:]
    total += a
    total *= 2.0
    plain = np.zeros(3)
    plain[:] = masked(a) * 3
    return total.filled(1.0), plain


def flat(b):
    rows = np.ma.asarray(b * b).T
    rows.flat[1:4] = b[1, 1]
    turned = np.zeros((3, 3)).T
    turned.flat = b * 2
    turned.flat[[0, 4]] = b[0, :2]
    iterator = b.T.flat
    return rows.data, turned, next(iterator) * next(iterator), np.ma.ediff1d(np.ma.asarray(b).ravel())


HIDDEN = B < 0.25


ONE = {
    "arithmetic": lambda a: [
        (e).filled(0.5) for e in (masked(a) + a, a - masked(a) * 2, 1 / masked(a), masked(a) ** 2 * a, -masked(a))
    ],
    "an array on the left": lambda a: (a + np.ma.asarray(a * a)).data,
    "reductions": lambda a: [
        getattr(masked(a), n)() for n in ("sum", "mean", "std", "var", "prod", "max", "min", "ptp")
    ],
    "NumPy's reductions": lambda a: [f(masked(a)) for f in (np.sum, np.mean, np.std, np.var, np.prod, np.max, np.min)],
    "sorted": lambda a: [np.sort(masked(a)).filled(0.0), np.ma.sort(masked(a)).compressed(), np.ma.median(masked(a))],
    "in place": written,
    "functions": lambda a: [f(masked(a)).compressed() for f in (np.exp, np.sqrt, np.ma.log, np.abs, np.ma.sqrt)],
    "clip": lambda a: np.ma.clip(masked(a), 0.5, 2.5).filled(0.0),
    "choice": lambda a: np.ma.where(np.array([True, False, True]), masked(a), a * 3).filled(0.0),
    "joined": lambda a: [np.ma.concatenate([masked(a), a]).compressed(), np.ma.vstack([masked(a), a]).filled(0.0)],
    "products": lambda a: [np.dot(B, np.ma.asarray(a) - a * a), np.ma.dot(masked(a), masked(a)), B @ np.ma.asarray(a)],
    "solved": lambda a: np.linalg.solve(B, np.ma.asarray(a)).data,
}
TWO = {
    "along an axis": lambda b: [getattr(np.ma.array(b, mask=HIDDEN), n)(axis=0).filled(0.0) for n in ("sum", "min")],
    "moments along an axis": lambda b: [
        np.ma.array(b, mask=HIDDEN).mean(axis=1),
        np.ma.array(b, mask=HIDDEN).std(axis=0),
    ],
    "covariance": lambda b: [np.ma.cov(b).data, np.ma.corrcoef(b).data],
    "trace": lambda b: [np.ma.asarray(b).trace(), np.trace(np.ma.asarray(b)), np.ma.asarray(b).diagonal().data],
    "flat": flat,
}


@pytest.mark.parametrize("name", ONE)
def test_masked_vectors(name):
    check_gradients(ONE[name], A, order=1)


@pytest.mark.parametrize("name", TWO)
def test_masked_matrices(name):
    check_gradients(TWO[name], B, order=1)
