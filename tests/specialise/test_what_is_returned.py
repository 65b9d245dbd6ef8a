"""Any object that holds numbers and arrays can be returned from compiled code, or is refused."""

import collections
import operator
import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import morula as mo


class Point(NamedTuple):
    x: float
    name: str


@dataclass
class Record:
    a: float


class OwnList(list):
    pass


class OwnDict(dict):
    pass


RETURNED: dict[str, Any] = {
    "deque": lambda x: collections.deque([x * 2], maxlen=3),
    "set": lambda x: {x * 2},
    "slice": lambda x: slice(x * 2),
    "OrderedDict": lambda x: collections.OrderedDict(a=x * 2),
    "defaultdict": lambda x: collections.defaultdict(list, a=x * 2),
    "Counter": lambda x: collections.Counter(a=x * 2),
    "ChainMap": lambda x: collections.ChainMap({"a": x * 2}),
    "UserList": lambda x: collections.UserList([x * 2]),
    "named tuple": lambda x: Point(x * 2, "p"),
    "dataclass": lambda x: Record(x * 2),
    "namespace": lambda x: types.SimpleNamespace(a=x * 2, inner=types.SimpleNamespace(b=[x])),
    "list of its own class": lambda x: OwnList([x * 2]),
    "dict of its own class": lambda x: OwnDict(a=x * 2),
}


@pytest.mark.parametrize("kind", RETURNED)
def test_containers_and_objects(kind):
    f = RETURNED[kind]
    found, expected = mo.jit(f, target="native")(1.5), f(1.5)
    assert type(found) is type(expected) and found == expected
    assert repr(found) == repr(expected)


@dataclass
class Found:
    x: Any
    value: float


def halved_until_small(a):
    count = 0.0
    while True:
        if a[0] < 0.1:
            return Found(a, count)
        if count >= 20.0:
            return Found(-a, count)
        a = a * 0.5
        count += 1.0


def test_an_object_returned_from_a_loop_without_another_way_out(target):
    found = mo.jit(halved_until_small, target=target)(np.ones(2))
    assert type(found) is Found and found.x.tolist() == [0.0625, 0.0625] and found.value == 4.0


HOLDING: dict[str, Any] = {
    "view of a dict": lambda x: {"a": x * 2}.values(),
    "mapping proxy": lambda x: types.MappingProxyType({"a": x * 2}),
    "method of a list": lambda x: [x * 2].append,
    "method of an object": lambda x: Record(x * 2).__repr__,
    "item getter": lambda x: operator.itemgetter(x),
    "cell": lambda x: types.CellType(x * 2),
    "exception": lambda x: ValueError(x * 2),
    "iterator": lambda x: iter([x * 2]),
}


@pytest.mark.parametrize("kind", HOLDING)
def test_what_cannot_be_made_of_numbers_is_refused(kind):
    with pytest.raises(mo.BadInput, match="compiled code returns an? "):
        mo.jit(HOLDING[kind], target="native")(1.5)


@pytest.mark.parametrize("dtype", [[("a", float)], "M8[s]", "U3"], ids=str)
@pytest.mark.parametrize(
    "make", [np.zeros, np.ones, lambda n, dtype: np.arange(n).astype(dtype)], ids=["zeros", "ones", "astype"]
)
def test_arrays_of_other_dtypes_are_refused(make, dtype):
    with pytest.raises(mo.BadInput, match="compiled code has no arrays of dtype"):
        mo.jit(lambda x: make(2, dtype=dtype), target="native")(1.5)
