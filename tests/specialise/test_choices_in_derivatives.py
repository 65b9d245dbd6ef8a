"""Arguments that hold one of two arrays after a differentiated function, by a condition computed in it."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


def both_new(d, s):
    if d["a"].sum() < 0.55:
        d["a"] = d["a"] * s
        d["b"] = d["b"] * s
    return d["a"].sum() + d["b"].sum() * 2


def new_otherwise(d, s):
    if d["a"].sum() < 0.55:
        s = s * 2.0
    else:
        d["a"] = d["a"] * s
        d["b"] = d["a"]
    return d["a"].sum() * s + d["b"].sum() * 2


def one_of_two(d, s):
    d["c"] = d["a"] if (d["a"] * s).sum() < 0.55 else d["b"]
    return d["c"].sum() * s


def nested_choice(d, s):
    if d["a"].sum() * s < 0.55:
        d["c"] = d["a"] if d["b"][0] > s else d["b"]
    else:
        d["c"] = d["b"] * s
    return (d["c"] * d["a"]).sum()


def exchanged(d, s):
    if d["a"][0] * s < 0.55:
        d["a"], d["b"] = d["b"], d["a"]
    return d["a"].sum() * s + d["b"].sum() * 3.0


def a_view(d, s):
    d["c"] = d["a"][1:] if d["a"][0] * s < 0.55 else d["b"][:2]
    return d["c"].sum() * s


def in_a_loop(d, s):
    for i in range(3):
        if d["a"].sum() * i < 0.55:
            d["a"] = d["a"] * s
    return d["a"].sum() + d["b"].sum()


PROGRAMS = [both_new, new_otherwise, one_of_two, nested_choice, exchanged, a_view, in_a_loop]
SHARED = {"one array": True, "two arrays": False}


def arguments(is_shared, sign):
    a = sign * np.array([0.4, -1.3, 0.7])
    return {"a": a, "b": a if is_shared else np.array([0.5, 0.25, -2.0])}


def names_of_one(d):
    return [(p, q) for p in d for q in d if p < q and np.may_share_memory(d[p], d[q])]


@pytest.mark.parametrize("is_shared", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_choice_made_in_a_differentiated_function_holds_outside(program, is_shared):
    compiled = mo.jit(mo.value_and_grad(program, (0, 1)))
    for sign in (1.0, -1.0):
        plain, given = arguments(is_shared, sign), arguments(is_shared, sign)
        expected = program(plain, 0.8)
        slopes = mo.gradient(program, arguments(is_shared, sign), 0.8)
        try:
            value, found = compiled(given, 0.8)
        except mo.BadInput as refusal:
            assert "fault of morula" not in str(refusal), refusal
            assert program in (a_view, in_a_loop), refusal
            continue
        assert value == pytest.approx(expected, rel=1e-12)
        assert found[1] == pytest.approx(slopes[1], rel=1e-9)
        for key in "ab":
            np.testing.assert_allclose(found[0][key], slopes[0][key], rtol=1e-9)
        assert given.keys() == plain.keys()
        for key, x in plain.items():
            np.testing.assert_allclose(given[key], x, rtol=1e-12)
        assert names_of_one(given) == names_of_one(plain)
