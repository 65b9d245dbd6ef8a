"""The programs of benchmarks/linalg: their gradients are those written by hand, and those of differences in the degenerate cases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import morula as mo
from benchmarks.linalg import degenerate
from benchmarks.linalg.program import GROUPS, programs

PROGRAMS = [p for group in GROUPS for p in programs(group).values()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_gradient_of_a_program_is_the_one_by_hand(program):
    args = program.inputs(program.small)
    value, gradients = program.by_hand(*args)
    f = program.in_morula()
    found, computed = mo.value_and_grad(f, argnums=tuple(range(len(args))))(*args)
    iterative = 0.0 if program.ours is None else 1e-3 * program.rtol
    np.testing.assert_allclose(found, value, rtol=max(1e-12, iterative))
    for g, expected in zip(computed, gradients, strict=True):
        accuracy = 1e-11 if program.ours is None else 1e-9  # that of an iterative solve
        accuracy = max(accuracy, iterative)
        np.testing.assert_allclose(g, expected, rtol=1e-9, atol=accuracy * np.max(np.abs(expected)))


@pytest.mark.parametrize("case", degenerate.CASES[:-1], ids=lambda c: c.name)
def test_the_gradient_of_a_degenerate_case_is_that_of_differences(case):
    f = case.make(np, scipy.linalg)
    expected = degenerate.differences(f, case.a)
    np.testing.assert_allclose(mo.grad(f)(case.a), expected, atol=1e-8 * np.max(np.abs(expected)))
