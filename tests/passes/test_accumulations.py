"""Which writes become additions, with equal results, and which do not."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.ir.dynamic import callee_name, verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.passes.accumulations import as_additions

X, Y = np.linspace(0.5, 2.0, 8), np.linspace(-1.0, 1.0, 8)


def writes(f, *args):
    """Return the writes of a function's program before and after the pass, after comparing its results."""
    before = mo.jit(f, target="native").lower(*args).compilation.function
    text = str(before)
    after = verify(as_additions(before))
    assert str(before) == text
    given = list(args)[: len(before.parameters)]
    for one, two in zip(evaluate(before, given), evaluate(after, given), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-14)
    names = ("setitem", "add_at")
    return [
        [callee_name(op.callee) for op in walk(g.block) if callee_name(op.callee) in names] for g in (before, after)
    ]


def added(x, y):
    x[2] += y[0]
    return x


def subtracted(x, y):
    x[3] -= y[1] * 2.0
    return x


def added_from_the_left(x, y):
    x[1:5] = y[1:5] + x[1:5]
    return x


@pytest.mark.parametrize("f", [added, subtracted, added_from_the_left])
def test_a_read_a_sum_and_a_write_become_an_addition(f):
    assert writes(f, X, Y) == [["setitem"], ["add_at"]]


def moved(x, y):
    x[2] = x[3] + y[0]
    return x


def subtracted_from(x, y):
    x[2] = y[0] - x[2]
    return x


def used_again(x, y):
    total = x[2] + y[0]
    x[2] = total
    return x, total


def of_another_version(x, y):
    before = x[2]
    x[2] = 5.0
    x[1:3] = x[1:3] * before
    return x


def of_one_element(x, y):
    x[2:6] = x[2:3] + y[2:6]
    return x


@pytest.mark.parametrize("f", [moved, subtracted_from, used_again, of_another_version, of_one_element])
def test_other_writes_stay(f):
    before, after = writes(f, X, Y)
    assert after == before


def test_integers_stay():
    before, after = writes(added, np.arange(8), np.arange(8))
    assert after == before == ["setitem"]


def test_the_adjoint_of_an_addition_leaves_the_cotangent_as_it_is():
    def f(x, y, places):
        z = np.sin(x)
        for i in range(len(x)):
            z[places[i]] += y[i] * x[i]
        return np.sum(z * z)

    before, after = writes(lambda *args: mo.grad(f, argnums=(0, 1))(*args), X, Y, np.array([2, 2, 5, 0, 1, 2, 7, 5]))
    assert before.count("setitem") > after.count("setitem") == 0


def recurrence(x, y):
    for i in range(1, len(x)):
        x[i] -= y[i] * x[i - 1] * x[i // 2]
    return np.sum(x * y)


def test_a_part_that_is_cleared_and_given_back_is_not_written_though_other_parts_are_added_to_in_between():
    def gradient(x, y):
        return mo.grad(lambda x, y: recurrence(x.copy(), y))(x, y)

    before, after = writes(gradient, X, Y)
    assert before.count("setitem") > after.count("setitem")
    assert len(after) <= len(before) - 2


def test_only_what_adjoints_clear_and_give_back_is_rewritten_where_sums_keep_their_digits():
    def f(x, y):
        x[1:5] = y[1:5] + x[1:5]
        return np.sum(x * x)

    def sums(g):
        return [callee_name(op.callee) for op in walk(g.block) if callee_name(op.callee) in ("setitem", "add_at")]

    before = mo.jit(f, target="native").lower(X, Y).compilation.function
    assert sums(as_additions(before, of_adjoints=True)) == ["setitem"]
    gradient = mo.jit(mo.grad(lambda x, y: f(x + 0.0, y)), target="native").lower(X, Y).compilation.function
    rewritten = verify(as_additions(gradient, of_adjoints=True))
    for one, two in zip(evaluate(gradient, [X, Y]), evaluate(rewritten, [X, Y]), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-14)
    assert len(sums(rewritten)) < len(sums(gradient))
