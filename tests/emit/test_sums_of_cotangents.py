"""Sums that reversed loops carry have no order (``native.sums``): they are vectorised; those of the program are in its order."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo


def line(x, centre, width, height):
    """A sum over a part of the grid that is known only at run time; three numbers get cotangents from each iteration."""
    k = np.zeros(len(x))
    for j in range(len(centre)):
        first = max(int((centre[j] - width) * len(x)), 0)
        last = min(int((centre[j] + width) * len(x)), len(x))
        for i in range(first, last):
            d = (x[i] - centre[j]) / width
            k[i] += height[j] / (1.0 + d * d)
    return np.sum(k**2)


def under_a_condition(x, y, a, b):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.3:
            total += a * x[i] * y[i]
        elif x[i] > 0.1:
            total -= b * y[i] / (1.0 + a * x[i])
    return total * a


def used_in_turn(x, a):
    """The carried cotangent of the running value is needed in each iteration: it is no sum."""
    y = 1.0
    for i in range(len(x)):
        y = y + a * np.sin(y) * x[i]
    return y


RNG = np.random.default_rng(1)
CASES = {
    "a part of the grid": (line, np.linspace(0, 1, 40), np.array([0.21, 0.52, 0.97]), 0.2, np.array([1.0, 2.0, 0.5])),
    "under a condition": (under_a_condition, RNG.uniform(size=40), RNG.normal(size=40), 0.7, 1.3),
    "in turn": (used_in_turn, RNG.normal(size=40), 0.2),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_numbers_that_all_iterations_read(path, case):
    f, *args = CASES[case]
    check_gradient(path, f, *args, argnums=tuple(range(1, len(args))))


def llvm_of(f, *args):
    return mo.jit(f, target="native").lower(*args).as_text("llvm")


def test_only_sums_of_cotangents_are_reordered():
    def scaled(x, a):
        total = 0.0
        for i in range(len(x)):
            total += a / (1.0 + x[i] * a)
        return total

    x = RNG.uniform(size=50)
    assert "fadd reassoc" not in llvm_of(scaled, x, 0.5)
    assert "fadd reassoc" in llvm_of(mo.grad(scaled, 1), x, 0.5)


def test_the_program_s_own_sum_keeps_the_order_of_its_iterations_in_the_forward_sweep():
    def total(x, a):
        s = 0.0
        for i in range(len(x)):
            s += a * x[i]
        return s

    x = np.array([1e16, 1.0, -1e16, 1.0] * 25)
    value, _ = mo.jit(mo.value_and_grad(total, 1), target="native")(x, 1.0)
    assert value == total(x, 1.0)


def test_a_range_up_to_the_least_int_has_no_iterations_in_the_backward_sweep_either():
    def empty(x, first, last):
        total = 0.0
        for i in range(first, last):
            total += x * i
        return total

    assert mo.jit(mo.grad(empty), target="native")(2.0, 0, -(2**63)) == 0.0


def test_reads_that_the_forward_sweep_proves_in_range_have_no_check_in_the_backward_sweep():
    f, *args = CASES["a part of the grid"]
    assert "out of bounds" not in llvm_of(mo.grad(f, 1), *args).split("define")[0]
    value = mo.jit(f, target="native").lower(*args).as_text("llvm")
    both = mo.jit(mo.value_and_grad(f, (1, 2, 3)), target="native").lower(*args).as_text("llvm")
    assert both.count("icmp uge i64") == value.count("icmp uge i64")
