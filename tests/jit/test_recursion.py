"""Recursion on numbers that are known only when the program runs: native code calls itself."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import gradient_of, run_on

import morula as mo


def fibonacci(n, x):
    if n < 2:
        return x
    return fibonacci(n - 1, x) * 0.5 + fibonacci(n - 2, x) * x


@pytest.mark.parametrize("n", [0, 1, 7])
def test_recursion_on_a_number_that_is_not_known(n):
    expected = mo.value_and_grad(fibonacci, (1,))(n, 0.9)
    value, (dx,) = run_on("native")(gradient_of(fibonacci, (1,)))(n, 0.9)
    assert np.isclose(value, expected[0]) and np.isclose(dx, expected[1][0])


def test_xla_has_no_recursion():
    with pytest.raises(mo.BadInput, match="(?s)fibonacci.*recurs.*native"):
        mo.jit(fibonacci, target="xla")(5, 0.9)
