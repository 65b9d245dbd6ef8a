"""What loops save where a branch, or a loop inside, reads elements of an array that changes: the elements, not the array."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.core.compilation.explain import stored_for_the_backward_sweep


def relaxed(u, order, sweeps):
    """Each element becomes a mean of a neighbour and itself, in an order that is known only at run time."""
    u = u.copy()
    for _ in range(sweeps):
        for k in order:
            if k == 0:
                beside = u[1]
            elif k == len(u) - 1:
                beside = u[k - 1]
            else:
                beside = min(u[k - 1], u[k + 1]) * u[k]
            if beside < 2.0:
                u[k] = 0.5 * (u[k] + np.sin(beside) * beside)
    return np.sum(u**2)


def climbed(parents, weights, start):
    """Follow parents from each node; the array that is read in the inner loop changes between its runs."""
    w = weights.copy()
    total = 0.0
    for node in start:
        k, product = node, 1.0
        while k > 0:
            product *= w[k]
            k = parents[k]
        w[node] = product * 0.9
        total += product**2
    return total + np.sum(w)


RNG = np.random.default_rng(0)
CASES = {
    "branch": (relaxed, RNG.uniform(0.5, 1.5, 6), RNG.permutation(6), 2),
    "inner loop": (climbed, np.array([0, 0, 1, 1, 2, 4]), RNG.uniform(0.5, 1.5, 6), np.array([5, 3, 4, 2, 5])),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_elements_that_are_read_where_the_array_has_changed(path, case):
    f, *args = CASES[case]
    check_gradient(path, f, *args)


def bytes_saved(f, argnum, *args):
    lowered = mo.jit(mo.grad(f, argnum), target="native").lower(*args)
    return [
        int(text.split()[0].replace(",", "")) for text in stored_for_the_backward_sweep(lowered.compilation.function)
    ]


def test_an_element_read_in_a_branch_is_saved_without_its_array():
    n = 1000
    assert max(bytes_saved(relaxed, 0, RNG.uniform(size=n), RNG.permutation(n), 2)) < 200


def test_an_element_read_in_an_inner_loop_is_saved_without_its_array():
    n = 1000
    assert max(bytes_saved(climbed, 1, np.zeros(n, int), RNG.uniform(size=n), np.arange(n))) < 200
