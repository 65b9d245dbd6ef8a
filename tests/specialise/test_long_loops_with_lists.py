"""Loops of known length that append to a list: recorded as loops, so that compiling does not take longer for more iterations."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.ir.dynamic import walk

W = np.random.default_rng(0).normal(size=(3, 3)) / 2
XS = np.random.default_rng(1).normal(size=(150, 3))


def recurrent(w, xs):
    states, h = [], np.zeros(3)
    for t in range(len(xs)):
        h = np.tanh(w @ h + xs[t])
        states.append(h)
    total = 0.0
    for state in states:
        total += np.sum(state**2)
    return total


def triangle(w, xs):
    """The parts have different lengths, which no list of unknown length can hold."""
    parts = []
    for t in range(120):
        part = xs[: 1 + t % 3, 0] * w[0, 0]
        parts.append(part)
    return np.sum(np.concatenate(parts) ** 2)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("f", [recurrent, triangle])
def test_values_and_gradients(f, target):
    value, slopes = mo.jit(mo.value_and_grad(f, (0, 1)), target=target)(W, XS)
    expected, by_eager = mo.value_and_grad(f, (0, 1))(W, XS)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for found, slope in zip(slopes, by_eager):
        np.testing.assert_allclose(found, slope, rtol=1e-10, atol=1e-13)


def test_a_program_does_not_grow_with_the_iterations():
    def size(n):
        program = mo.jit(mo.grad(recurrent)).lower(W, XS[:n])
        return len([*walk(program.compilation.function.block)])

    assert size(150) == size(130) < 400
