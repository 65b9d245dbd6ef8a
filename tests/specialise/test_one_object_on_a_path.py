"""Two names for one object on one path of a branch: a change through one is seen through the other only there."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


class Box:
    def __init__(self, v):
        self.v = v


def lists(x):
    if x > 0:
        r = [0.0]
        m = [r, r]
    else:
        m = [[1.0], [2.0]]
    m[0][0] = 5.0 * x
    return m[1][0]


def in_a_tuple(x):
    if x > 0:
        r = Box(x)
        m = (r, r)
    else:
        m = (Box(1.0), Box(2.0))
    m[0].v = 5.0 * x
    return m[1].v * x


def arrays(x):
    if x > 0:
        r = np.zeros(2)
        m = (r, r)
    else:
        m = (np.ones(2), np.ones(2))
    m[0][0] = 5.0 * x
    return m[1][0]


def names(x):
    if x > 0:
        a = b = Box(x)
    else:
        a, b = Box(1.0), Box(2.0)
    a.v += 10
    return b.v + (a is b)


def dicts(x):
    if x > 0:
        a = b = {"k": x}
    else:
        a, b = {"k": 1.0}, {"k": 2.0}
    a["k"] = 3.0 * x
    return b["k"]


def grown(x):
    if x > 0:
        a = b = [x]
    else:
        a, b = [1.0], [2.0]
    a.append(3.0)
    return len(b) * x


def made_on_one_path(x):
    a = None
    if x > 0:
        a = b = Box(x)
    if a is not None and x > 0:
        a.v = 2 * x
        return b.v
    return x


@pytest.mark.parametrize("f", [lists, in_a_tuple, arrays, names, dicts, grown, made_on_one_path])
def test_a_change_by_one_name_is_seen_by_the_other(target, f):
    compiled = mo.jit(f, target=target)
    derivative = mo.jit(mo.grad(f), target=target)
    for x in (3.0, -1.0):
        assert compiled(x) == f(x)
        assert derivative(x) == pytest.approx((f(x + 0.5) - f(x - 0.5)))


def in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        if i % 2:
            a = b = Box(x)
        else:
            a, b = Box(1.0), Box(2.0)
        a.v += 10
        s += b.v
    return s


def test_in_a_loop_it_is_refused(target):
    with pytest.raises(
        mo.BadInput, match="may be one of two objects, .* so none of them can be changed; copy it first"
    ):
        mo.jit(in_a_loop, target=target)(1.0, 3)


def one_or_two(x):
    if x > 0:
        r = [0.0]
        return [r, r]
    return [[1.0], [2.0]]


def with_an_argument(x, o):
    q = o if x > 0 else Box(x)
    return [q, o]


@pytest.mark.parametrize(("f", "args"), [(one_or_two, ()), (with_an_argument, (Box(1.0),))])
def test_what_is_returned_is_not_one_object_on_a_path_alone(target, f, args):
    with pytest.raises(
        mo.BadInput,
        match="is the same object as an argument, or as another part of the result, on one path only; return a copy",
    ):
        mo.jit(f, target=target)(1.0, *args)


def copied(x, o):
    q = Box(o.v) if x > 0 else Box(x)
    return [q, o]


def test_a_copy_is_returned(target):
    o = Box(1.0)
    q, p = mo.jit(copied, target=target)(1.0, o)
    assert p is o and q is not o and q.v == 1.0
