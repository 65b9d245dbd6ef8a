"""Arguments may hold every kind of leaf and constant, in every kind of container and object."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import math
import pathlib
import re
import threading
import types
import typing
import weakref
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest
from scipy import spatial, stats

import morula as mo


class Colour(enum.Enum):
    RED = 1.5


class Level(enum.IntEnum):
    LOW = 1


class Flags(enum.Flag):
    A = 1


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self, x):
        return x


class Slotted:
    __slots__ = ("__hidden", "x")

    def __init__(self, x):
        self.x = x
        self.__hidden = x

    def total(self):
        return self.x + self.__hidden


class Guarded:
    """Reads and writes go through methods of its own."""

    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __setattr__(self, name, value):
        raise AttributeError(name)


class NeedsArguments:
    def __new__(cls, x):
        return object.__new__(cls)

    def __init__(self, x):
        self.x = x


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    name: str = "frozen"


@dataclasses.dataclass(slots=True)
class WithSlots:
    x: object


@dataclasses.dataclass
class WithInitVar:
    x: object
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.scaled = scale


Pair = collections.namedtuple("Pair", "x name")


class Typed(typing.NamedTuple):
    x: object
    y: object = None


class OwnList(list):
    pass


class OwnDict(dict):
    pass


def twice(x):
    return 2 * x


def generator():
    yield 1.0


CONSTANTS = {
    "enum": lambda: Colour.RED,
    "int enum": lambda: Level.LOW,
    "flag": lambda: Flags.A,
    "bool": lambda: True,
    "none": lambda: None,
    "text": lambda: "text",
    "bytes": lambda: b"bytes",
    "bytearray": lambda: bytearray(b"bytes"),
    "ellipsis": lambda: ...,
    "partial": lambda: functools.partial(pow, "a"),
    "method": lambda: Thing().method,
    "builtin method": lambda: [].append,
    "cached": lambda: functools.cache(twice),
    "jit": lambda: mo.jit(twice),
    "grad": lambda: mo.grad(twice),
    "alias": lambda: list[int],
    "typing alias": lambda: typing.Union[int, str],
    "type variable": lambda: typing.TypeVar("T"),
    "class": lambda: Thing,
    "function": lambda: twice,
    "builtin": lambda: len,
    "ufunc": lambda: np.exp,
    "module": lambda: math,
    "lock": threading.Lock,
    "event": threading.Event,
    "condition": threading.Condition,
    "thread": lambda: threading.Thread(target=twice),
    "local": threading.local,
    "generator": generator,
    "iterator": lambda: iter([1.0]),
    "itertools": lambda: itertools.count(1.0),
    "pattern": lambda: re.compile("a"),
    "match": lambda: re.match("a", "a"),
    "date": lambda: datetime.date(2020, 1, 1),
    "datetime": lambda: datetime.datetime(2020, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "path": lambda: pathlib.Path("a"),
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 2),
    "weakref": lambda: weakref.ref(Thing),
    "weak dict": lambda: weakref.WeakKeyDictionary({Thing: 1.0}),
    "file": lambda: io.StringIO("a"),
    "slice": lambda: slice(1, 2),
    "range": lambda: range(3),
    "set": lambda: {1.0},
    "frozenset": lambda: frozenset({1.0}),
    "memoryview": lambda: memoryview(b"a"),
    "random": lambda: np.random.default_rng(0),
    "random state": lambda: np.random.RandomState(0),
    "dtype": lambda: np.dtype(float),
    "integers": lambda: np.arange(3),
    "texts": lambda: np.array(["a"]),
    "times": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "object": object,
    "exception": lambda: ValueError("a"),
    "code": lambda: twice.__code__,
    "property": lambda: property(twice),
    "empty object": Thing,
    "object of text": lambda: Thing(name="a"),
}

HOLDERS = {
    "list": (lambda x, c: [x, c], lambda h: (h[0], h[1])),
    "tuple": (lambda x, c: (x, c), lambda h: (h[0], h[1])),
    "dict": (lambda x, c: {"x": x, 1: c}, lambda h: (h["x"], h[1])),
    "object": (lambda x, c: Thing(x=x, c=c), lambda h: (h.x, h.c)),
    "nested": (lambda x, c: [{"t": (Thing(x=x), [c])}], lambda h: (h[0]["t"][0].x, h[0]["t"][1][0])),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_what_holds_no_differentiable_leaf_is_a_constant_whose_gradient_is_none(constant, holder):
    make, parts = HOLDERS[holder]
    c = CONSTANTS[constant]()
    argument = make(3.0, c)
    seen = []

    def square(h):
        x, inside = parts(h)
        seen.append(inside is c)
        return x * x

    g = mo.grad(square)(argument)
    x, none = parts(g)
    assert (x, none) == (6.0, None) and type(g) is type(argument)
    assert seen == [True] and parts(argument)[1] is c


DIFFERENTIABLE = {
    "list": (lambda x: [x], lambda h: h[0]),
    "tuple": (lambda x: (x,), lambda h: h[0]),
    "dict": (lambda x: {"x": x}, lambda h: h["x"]),
    "ordered dict": (lambda x: OrderedDict([("b", 1.0), ("x", x)]), lambda h: h["x"]),
    "default dict": (lambda x: defaultdict(list, x=x), lambda h: h["x"]),
    "own list": (lambda x: OwnList([x]), lambda h: h[0]),
    "own dict": (lambda x: OwnDict(x=x), lambda h: h["x"]),
    "deque": (lambda x: deque([1.0, x], maxlen=2), lambda h: h[1]),
    "user list": (lambda x: collections.UserList([x]), lambda h: h.data[0]),
    "user dict": (lambda x: collections.UserDict(x=x), lambda h: h.data["x"]),
    "named tuple": (lambda x: Pair(x, "a"), lambda h: h.x),
    "typed tuple": (lambda x: Typed(x), lambda h: h.x),
    "namespace": (lambda x: types.SimpleNamespace(x=x), lambda h: h.x),
    "object": (lambda x: Thing(x=x), lambda h: h.x),
    "slots": (Slotted, lambda h: h.x),
    "guarded": (Guarded, lambda h: h.x),
    "needs arguments": (NeedsArguments, lambda h: h.x),
    "frozen": (Frozen, lambda h: h.x),
    "dataclass with slots": (WithSlots, lambda h: h.x),
    "dataclass with InitVar": (WithInitVar, lambda h: h.x),
    "partial": (lambda x: functools.partial(pow, x), lambda h: h.args[0]),
    "partial by name": (lambda x: functools.partial(Thing, x=x), lambda h: h.keywords["x"]),
    "bound method": (lambda x: Thing(x=x).method, lambda h: h.__self__.x),
    "mapping proxy": (lambda x: types.MappingProxyType({"x": x}), lambda h: h["x"]),
}
LEAVES = {
    "float": 3.0,
    "int": 3,
    "complex": 3.0 + 0j,
    "float32": np.float32(3.0),
    "float64": np.float64(3.0),
    "array": np.full(2, 3.0),
    "scalar array": np.array(3.0),
    "float32 array": np.full((1, 2), 3.0, np.float32),
    "complex array": np.full(2, 3.0 + 0j),
}


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("holder", DIFFERENTIABLE)
def test_a_gradient_is_of_the_kind_of_its_argument(holder, leaf):
    make, read = DIFFERENTIABLE[holder]
    x = LEAVES[leaf]
    argument = make(x)

    def loss(h):
        return np.sum(np.real(read(h) * np.conj(read(h))))

    for g in (mo.grad(loss)(argument), mo.value_and_grad(loss)(argument)[1], mo.pullback(loss, argument)[1](1.0)[0]):
        assert type(g) is type(argument)
        assert np.array_equal(read(g), 2 * np.asarray(x)) and np.shape(read(g)) == np.shape(x)
        assert type(x) is int or np.asarray(read(g)).dtype == np.asarray(x).dtype
    assert read(argument) is x


def test_a_default_dict_keeps_its_factory_and_a_deque_its_length():
    g = mo.grad(lambda d: d["x"] ** 2)(defaultdict(list, x=3.0))
    assert g.default_factory is list
    assert mo.grad(lambda d: d[0] * d[1])(deque([1.0, 2.0], maxlen=2)).maxlen == 2


def test_attributes_of_a_container_of_a_class_of_its_own_are_differentiated():
    x = OwnList([2.0])
    x.scale = 3.0
    g = mo.grad(lambda v: v[0] * v.scale)(x)
    assert list(g) == [3.0] and g.scale == 2.0 and x.scale == 3.0
    assert mo.grad(lambda v: v.total())(Slotted(2.0)).total() == 2.0


def test_a_partial_or_a_method_is_differentiated_in_what_it_holds_when_it_is_called():
    def scaled(w, x, shift=0.0):
        return w * x + shift

    g = mo.grad(lambda f: f(3.0) ** 2)(functools.partial(scaled, 2.0, shift=1.0))
    assert g.args == (42.0,) and g.keywords == {"shift": 14.0} and g.func is scaled
    scaler = Scaler(2.0)
    assert mo.grad(lambda f: f(3.0) ** 2)(scaler.times).__self__.w == 36.0 and scaler.w == 2.0


class Scaler:
    def __init__(self, w):
        self.w = w

    def times(self, x):
        return self.w * x


def test_polynomials_and_frozen_distributions():
    assert mo.grad(lambda p: p(2.0))(np.poly1d([1.0, 3.0, 5.0])).coeffs.tolist() == [4.0, 2.0, 1.0]
    frozen = stats.norm(loc=1.0, scale=2.0)
    g = mo.grad(lambda d: d["d"].kwds["scale"] * d["x"])({"d": frozen, "x": 3.0})
    assert g["x"] == 2.0 and g["d"].kwds == {"loc": 0.0, "scale": 3.0}
    assert frozen.kwds == {"loc": 1.0, "scale": 2.0} and frozen.mean() == 1.0


def test_an_object_that_keeps_its_values_in_c_is_a_constant_or_refused():
    points = Thing(tree=spatial.cKDTree(np.eye(2)), name="points")
    assert mo.grad(lambda d: d["x"] ** 2 + d["p"].tree.n)({"x": 3.0, "p": points}) == {"x": 6.0, "p": None}
    with pytest.raises(mo.BadInput, match="argument 0 of .* is a Thing, which has no derivative; differentiate with"):
        mo.grad(lambda p: p.tree.maxes.sum())(points)


def _list(depth):
    x = [2.0]
    for _ in range(depth):
        x = [x]
    return x, lambda h: h[0]


def _linked(depth):
    x = Thing(next=2.0)
    for _ in range(depth):
        x = Thing(next=x)
    return x, lambda h: h.next


def _tuples(depth):
    x = (2.0,)
    for _ in range(depth):
        x = (x, "a")
    return x, lambda h: h[0]


def _dicts(depth):
    x = {"x": 2.0}
    for _ in range(depth):
        x = {"x": x}
    return x, lambda h: h["x"]


@pytest.mark.parametrize("make", [_list, _linked, _tuples, _dicts])
def test_an_argument_may_be_nested_3000_deep(make):
    argument, inner = make(3000)

    def loss(h):
        while not isinstance(h, float):
            h = inner(h)
        return h * h

    for g in (mo.grad(loss)(argument), mo.pullback(loss, argument)[1](1.0)[0]):
        for _ in range(3001):
            g = inner(g)
        assert g == 4.0
    for _ in range(3001):
        argument = inner(argument)
    assert argument == 2.0 and type(argument) is float


def test_cycles_and_back_references_keep_their_shape():
    parent = Thing(w=2.0)
    parent.child = Thing(parent=parent, w=3.0, own=(parent, [parent]))
    g = mo.grad(lambda p: p.w * p.child.w * p.child.parent.w)(parent)
    assert (g.w, g.child.w) == (12.0, 4.0)
    assert g.child.parent is g and g.child.own[0] is g and g.child.own[1][0] is g


def test_an_object_that_only_leads_back_to_leaves_has_a_gradient_too():
    parent = Thing(w=2.0)
    child = Thing(parent=parent)
    parent.child = child
    g = mo.grad(lambda c: c.parent.w**2)(child)
    assert g.parent.w == 4.0 and g.parent.child is g
