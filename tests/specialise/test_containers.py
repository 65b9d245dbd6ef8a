"""The operators of Python's containers join and repeat them, in compiled code too."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from path_tester import run_on

import morula as mo

JOINED = {
    "lists": lambda a, b: a + b,
    "repeated": lambda a, b: a * 2 + 2 * b,
    "in place": lambda a, b: operator.iadd(list(a), b),
    "tuples": lambda a, b: (a[0],) + (b[0],) + tuple(b),
    "tuples repeated": lambda a, b: (a[0], b[1]) * 2,
    "nested": lambda a, b: [a] + [b],
    "parts": lambda a, b: a[:1] + b[1:],
    "summed": lambda a, b: sum([(x,) for x in a], ()),
    "dicts": lambda a, b: {"a": a} | {"b": b},
    "equal": lambda a, b: (a == b, a == list(a), (a[0], b) == (a[0], b), a != b),
    "with an array": lambda a, b: (a + np.array(b), np.array(a) * b),
    "found": lambda a, b: (a[0] in b, a[0] in a),
}


@pytest.mark.parametrize("f", JOINED.values(), ids=JOINED)
def test_operators_of_containers_are_pythons(value, f):
    value(f, [1.5, 2.0], [3.0, 4.5])


def item(items, i):
    return items[i]


@pytest.mark.parametrize(
    "items",
    [
        [1.5, 2.5],
        [[1.5, 2.5], [3.5, 4.5]],
        [np.ones(2), np.zeros(2)],
        (np.ones(2), np.zeros(3)),
        [np.ones(2, np.float32), np.ones(2)],
        [{"a": 1.5}, {"b": 2.5}],
    ],
    ids=["numbers", "lists", "arrays", "shapes", "dtypes", "dicts"],
)
def test_an_item_is_what_the_list_holds(value, items):
    value(item, items, 1)


def written_through_an_item(rows, i):
    rows[i][0] = 5.0
    return rows[0].sum()


def written_beside_an_item(rows, i):
    row = rows[i]
    rows[0][0] = 5.0
    return row.sum()


@pytest.mark.parametrize("f", [written_through_an_item, written_beside_an_item])
def test_an_array_that_may_be_any_of_a_list_is_not_written_to(path, f):
    rows = [np.ones(2), np.zeros(2)]
    if path == "eager":
        assert f(rows, 0) == 6.0
        return
    with pytest.raises(mo.BadInput, match="so neither it nor the list's arrays can be written to; copy it first"):
        run_on(path)(f)(rows, 0)
