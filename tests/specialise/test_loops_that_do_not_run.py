"""A place that changes kind in a loop: right if the loop runs, and a clear error if it does not."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


class Cell:
    def __init__(self, s):
        self.s = s


def an_attribute(x, v):
    cell = Cell(x)
    while v[0] * x < 2.0:
        x = x + 1.0
        cell.s = v * 2.0
    return np.sum(cell.s) * x


def a_variable(x, v):
    s = x
    while v[0] * x < 2.0:
        x = x + 1.0
        s = v * 2.0
    return np.sum(s) * x


def none_before(x, v):
    s = None
    while v[0] * x < 2.0:
        x = x + 1.0
        s = v[..., 0]
    return 1.0 if s is None else s * x


def an_entry(x, v):
    table = {"s": x}
    while v[0] * x < 2.0:
        x = x + 1.0
        table["s"] = v * 2.0
    return np.sum(table["s"]) * x


def a_counted_loop(x, v):
    s = x
    for i in range(int(4.0 - x)):
        s = v * (i + 1.0)
    return np.sum(s) * x


def in_a_branch(x, v):
    s = x
    if v[1] > 1.0:
        while v[0] * x < 2.0:
            x = x + 1.0
            s = v * 2.0
    else:
        s = v * 3.0
    return np.sum(s) * x


def not_read(x, v):
    s = x
    while v[0] * x < 2.0:
        x = x + 1.0
        s = v * 2.0
        x = x + s[0] * 0.1
    return x


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("f", [an_attribute, a_variable, none_before, an_entry, a_counted_loop, in_a_branch, not_read])
def test_a_value_of_another_kind_is_right_or_the_error_says_that_the_loop_has_not_run(f, target):
    v = np.array([1.0, 2.0])
    compiled = mo.jit(f, target=target)
    try:
        found = compiled(0.5, v)
    except mo.BadInput as refusal:
        assert f is none_before, refusal
        return
    assert found == pytest.approx(f(0.5, v), rel=1e-12)
    if f is not_read:
        assert compiled(9.0, v) == f(9.0, v)
        return
    assert f(9.0, v) > 0.0  # Python has no trouble
    with pytest.raises(
        mo.BadInput,
        match=rf"before a loop and .* after an iteration(.|\n)*the loop ran no iteration\n  in {f.__name__} \(",
    ):
        compiled(9.0, v)
