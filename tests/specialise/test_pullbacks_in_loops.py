"""Pullbacks of rules and of ``mo.adjoint`` in nested loops, whose iterations are recomputed."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient

import morula as mo


def cube(u):
    return u * u * u


@mo.adjoint(cube)
def _(u):
    return u * u * u, lambda dy: (dy * 3 * u * u,)


def given_by_hand(x):
    s = 0.0
    for i in range(len(x)):
        t = s
        for j in range(i):
            t = t * 0.5 + cube(np.sin(x[i] * x[j] + t))
        s = s * 0.5 + t
    return s


def norms(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += 1 / (1 + np.linalg.norm([x[i], x[j], s]))
    return s


def in_while(x):
    s, i = 0.0, 0
    while i < len(x):
        j, t = 0, s
        while j < i:
            t = max(t * 0.5, np.sin(x[i] * x[j]) + t)
            j += 1
        s = s * 0.5 + max(t, s)
        i += 1
    return s


def in_branches(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            for j in range(i):
                if x[j] > 0:
                    s = max(s * 0.5, np.sin(x[i] * x[j]) + s)
                else:
                    s = s + np.linalg.norm([s, x[j]])
        else:
            s = s * 0.9 + np.clip(s, 0.1, 0.2)
    return s


@pytest.mark.parametrize("f", [given_by_hand, norms, in_while, in_branches])
def test_a_pullback_in_a_loop_that_is_run_again(f, check):
    check(f, np.random.default_rng(0).normal(size=5))


def test_the_gradient_of_such_a_gradient(target):
    x = np.random.default_rng(0).normal(size=4)
    length = mo.grad(lambda x: np.sum(mo.grad(norms)(x) ** 2))
    np.testing.assert_allclose(mo.jit(length, target=target)(x), length(x), rtol=1e-9)


def masked_until_large(x, y):
    """The length that a mask gives is read from the mask, which the loop saves beside the arrays of this length."""
    small = x < 5
    while np.any(small):
        u = x[small]
        v = u[u * 0.5 > 1]
        x = x.copy()
        x[small] = u * u * y[small] + np.sum(v * np.sin(v))
        small[small] = x[small] < 5
    return np.sum(x * x)


def test_masks_of_masks_in_a_loop(path):
    check_gradient(path, masked_until_large, np.array([1.5, 1.2, 3.0]), np.array([1.5, 2.0, 1.1]))
