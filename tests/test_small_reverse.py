"""The engine on one page agrees with morula."""

from __future__ import annotations

import importlib.util
from math import cos, exp, log, sin
from pathlib import Path

import pytest

import morula as mo

PAGE = Path(__file__).resolve().parents[1] / "docs" / "small_reverse.py"


@pytest.fixture(scope="module")
def small():
    spec = importlib.util.spec_from_file_location("small_reverse", PAGE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def branches_in_a_loop(a, b):
    s = a
    while s < 10:
        if s > 3:
            s = s * b + sin(a) / s
        else:
            s = s + exp(-a * b) + 1
    return log(s) * -b


def nested_loops(x, n):
    total = 0
    while n > 0:
        k = n
        y = x
        while k > 1:
            y = y * cos(y)
            k -= 1
        total += y
        n -= 1
    return total


@pytest.mark.parametrize("f, args", [(power, (5, 3)), (branches_in_a_loop, (0.7, 1.3)), (nested_loops, (0.8, 4))])
def test_the_page_and_the_engine_give_the_same_gradient(small, f, args):
    assert small.gradient(f, *args) == pytest.approx(mo.gradient(f, *args), rel=1e-12, abs=1e-14)


def test_what_the_page_leaves_out_is_named_with_its_line(small):
    def f(x):
        for _ in range(3):
            x = x * x
        return x

    with pytest.raises(NotImplementedError, match="line 2: for _ in range"):
        small.gradient(f, 2.0)
