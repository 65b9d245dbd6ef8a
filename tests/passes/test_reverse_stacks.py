"""Gradients of gradients of loops: what one loop stores has a derivative, what another one stores has none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo
from morula.core.ir.evaluate import evaluate


def after_a_maximum(x):
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - top)
    return math.log(total) * top


def after_a_search(x):
    k = 0
    y = x[0]
    while y < 1.0 and k < len(x):
        y = max(y, x[k] * x[k])
        k += 1
    total = 1.0
    for i in range(len(x)):
        total = math.sin(total * x[i])
    return total * y


def after_a_maximum_of_each_row(x):
    total = 0.0
    for i in range(3):
        top = x[i]
        for j in range(i, len(x)):
            top = max(top, x[j])
        for j in range(len(x)):
            total = total * 0.5 + math.exp(x[j] * top)
    return total


def under_a_branch(x):
    top = x[0]
    if x[1] > 0.0:
        for i in range(len(x)):
            top = max(top, x[i])
    total = 1.0
    for i in range(len(x)):
        total = math.sin(total + x[i] * top)
    return total


@pytest.mark.parametrize("f", [after_a_maximum, after_a_search, after_a_maximum_of_each_row, under_a_branch])
def test_what_has_no_derivative_is_stored_beside_what_has_one(monkeypatch, f):
    monkeypatch.setenv("MORULA_CACHE", "0")
    x, v = np.random.default_rng(3).uniform(0.1, 1.0, (2, 7))

    def along(x):
        return np.sum(mo.grad(f)(x) * v)

    second = mo.grad(along)
    wanted = second(x)
    program = mo.jit(second, target="native")
    np.testing.assert_allclose(program(x), wanted, 1e-10, 1e-12)
    made = program.compilation((x,), {})[0]  # the interpreter refuses to pop from an empty stack
    found = evaluate(made.function, [x, *(hidden.read() for hidden in made.program.hidden)])
    np.testing.assert_allclose(found[0], wanted, 1e-10, 1e-12)
