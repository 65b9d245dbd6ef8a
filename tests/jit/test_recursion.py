"""Recursion on numbers that are known only when the program runs: native code calls itself."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on

import morula as mo


def fibonacci(n, x):
    if n < 2:
        return x
    return fibonacci(n - 1, x) * 0.5 + fibonacci(n - 2, x) * x


@pytest.mark.parametrize("n", [0, 1, 7])
def test_recursion_on_a_number_that_is_not_known(n):
    assert np.isclose(run_on("native")(fibonacci)(n, 0.9), fibonacci(n, 0.9))


def test_xla_has_no_recursion():
    with pytest.raises(mo.BadInput, match="(?s)fibonacci.*recurs.*native"):
        mo.jit(fibonacci, target="xla")(5, 0.9)
