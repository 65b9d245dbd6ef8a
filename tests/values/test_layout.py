"""Nested values are split into leaves and a structure, and rebuilt from them."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from morula.core.errors import BadInput
from morula.core.values.layout import Unhashable, build, layout_of, names_of_leaves, scan

Pair = namedtuple("Pair", "a b")


@dataclass
class Model:
    w: Any
    n: int = 3
    me: Any = None

    def apply(self, x):
        return self.w * x


class Slotted:
    __slots__ = ("x",)


def nested():
    w = np.ones(3)
    model = Model(w)
    model.me = model
    return (
        [1, 2.0, w, w],
        {"model": model, "pair": Pair(1j, "s")},
        model.apply,
        functools.partial(max, 1.5, key=abs),
        OrderedDict(q=1.0),
        (True, None, np.float32(3), range(3), slice(1), {1, 2}, np.float64, 1 << 70),
    )


def test_leaves_are_numbers_and_arrays_and_each_object_is_one():
    leaves, _ = scan(nested())
    assert [type(x) for x in leaves] == [int, float, np.ndarray, int, complex, float, float, np.float32]


def test_what_is_built_is_alike_and_keeps_identities():
    x = nested()
    leaves, key = scan(x)
    y = build(layout_of(x), leaves)
    assert scan(y)[1] == key
    assert y[1]["model"].me is y[1]["model"] is y[2].__self__
    assert y[0][2] is y[0][3] is y[1]["model"].w
    assert y[1]["model"] is not x[1]["model"]
    assert y[1]["pair"].b == "s" and type(y[4]) is OrderedDict and y[3](-2.0) == -2.0


def test_slots_are_attributes():
    x = Slotted()
    x.x = 2.0
    leaves, _ = scan(x)
    assert build(layout_of(x), [3.0]).x == 3.0 and leaves == [2.0]


def test_leaves_are_named_as_a_user_would():
    names = names_of_leaves(layout_of(nested()), "x")
    assert names[:5] == ["x[0][0]", "x[0][1]", "x[0][2]", "x[1]['model'].n", "x[1]['pair'].a"]


@pytest.mark.parametrize(
    "a, b",
    [
        (1.0, 1),
        (1.0, np.float64(1)),
        (np.float64(1), np.ones(())),
        (np.ones(3), np.ones(4)),
        (np.ones(3), np.ones(3, np.float32)),
        (True, 1),
        (True, False),
        ("a", "b"),
        ([1.0], (1.0,)),
        ({"a": 1.0}, {"b": 1.0}),
        ([1.0, 1.0], [1.0]),
        (Pair(1.0, 1.0), (1.0, 1.0)),
        (Model(1.0), Model(1)),
        (slice(1), slice(2)),
        (1 << 70, 1 << 71),
    ],
)
def test_what_differs_in_more_than_numbers_has_another_key(a, b):
    assert scan(a)[1] != scan(b)[1]


@pytest.mark.parametrize("a, b", [(1.0, 2.0), (1, 2), (np.ones(3), np.zeros(3)), (Model([1.0]), Model([2.0]))])
def test_what_differs_in_numbers_alone_has_the_same_key(a, b):
    assert scan(a)[1] == scan(b)[1]


def test_an_array_given_twice_is_told_from_two():
    x = np.ones(2)
    assert scan([x, x])[1] != scan([x, x.copy()])[1]


def test_a_static_value_without_a_hash_is_refused():
    class Rule:
        __slots__ = ()
        __hash__ = None

    with pytest.raises(Unhashable, match="Rule .* is not hashable; pass a tuple"):
        scan([Rule()])


def test_arrays_that_cannot_be_compiled_are_refused():
    with pytest.raises(BadInput, match="no arrays of dtype object"):
        scan(np.array([1, None]))


def test_an_array_of_a_class_holds_a_plain_array_and_attributes():
    class Named(np.ndarray):
        pass

    x, y = np.ones(3).view(Named), np.zeros(3).view(Named)
    x.name = y.name = "a"
    leaves, key = scan(x)
    assert [type(e) for e in leaves] == [np.ndarray] and key == scan(y)[1]
    y.name = "b"
    assert key != scan(y)[1] and key != scan(np.ones(3))[1]


def test_arrays_of_the_other_byte_order_are_refused():
    with pytest.raises(BadInput, match="which is not in native byte order: pass x.astype"):
        layout_of(np.ones(2, np.dtype(float).newbyteorder()))
