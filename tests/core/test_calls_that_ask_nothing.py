"""Calls of C code that run no method of the objects in them are not watched; those that run one are, or are recorded."""

from __future__ import annotations

import collections
import contextvars
import enum
import inspect
import operator
import re
import types
from contextlib import suppress

import numpy as np
import pytest

import morula as mo
from morula.core import watched
from morula.core.testing import ridders
from morula.core.unasking import runs_no_python


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


class Kind(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Answering:
    """Written in Python are methods that none of the calls asks for."""

    label = "a"

    def __repr__(self):
        raise AssertionError("shown")

    def __iter__(self):
        raise AssertionError("iterated")

    def __add__(self, other):
        raise AssertionError("added")


class Made(Answering):
    def __init__(self, x):
        super().__init__()
        self.x = x


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()

    def __new__(cls, x, y):
        return tuple.__new__(cls, (x, y))

    def __repr__(self):
        raise AssertionError("shown")


class Length(float):
    def __repr__(self):
        raise AssertionError("shown")


A, B = Answering(), Answering()
VARIABLE = contextvars.ContextVar("variable", default=None)
PATTERN = re.compile("a+")
SLOT = inspect.getattr_static(type, "__mro__")

UNWATCHED = {
    "members of an enumeration": lambda x: x * (2.0 if Unit.METRE == Unit.FOOT else 3.0),
    "members with a number": lambda x: x * (2.0 if Kind.LOW < Kind.HIGH else 3.0),
    "a member and nothing": lambda x: x * (2.0 if Unit.METRE != None else 3.0),  # noqa: E711
    "objects": lambda x: x * (2.0 if A == B else 3.0),
    "classes": lambda x: x * (2.0 if type(Unit.METRE) == Unit else 3.0),  # noqa: E721
    "dtypes": lambda x: x * (2.0 if np.asarray(x).dtype == np.float64 else 3.0),
    "a number of a derived class": lambda x: x * (2.0 if Length(2.0) == 2.0 else 3.0),
    "joined tuples": lambda x: x * len((A,) + (B,)),  # noqa: RUF005
    "a set": lambda x: x * len({A, B, A}),
    "a set of tuples": lambda x: x * len(set([(A, 1), (B, 1), (A, 1)])),
    "keys": lambda x: {A: x, B: 1.0}[A] * 2.0,
    "a key that is a member": lambda x: {Unit.METRE: x, Unit.FOOT: 1.0}[Unit.METRE] * 2.0,
    "a key that is a number of a derived class": lambda x: {Length(1.0): x}[1.0] * len({Length(1.0), Kind.LOW}),
    "a default": lambda x: {}.get((A, 1), x) * 2.0,
    "super": lambda x: Made(x).x * 2.0,
    "a named tuple": lambda x: Point(x, A).x * 2.0,
    "a descriptor": lambda x: x * len(SLOT.__get__(Unit)),
    "a view of a mapping": lambda x: x * len(types.MappingProxyType({"a": A}).values()),
    "a pattern": lambda x: x * PATTERN.match("aab").end(),
    "a context variable": lambda x: x * (2.0 if VARIABLE.get() is None else 3.0),
    "a cast": lambda x: x * (2.0 if np.can_cast(np.dtype("i4"), np.float64) else 3.0),
}


@pytest.mark.parametrize("f", UNWATCHED.values(), ids=UNWATCHED)
def test_a_call_that_asks_nothing_is_not_watched(f, monkeypatch):
    def watch(*args):
        raise AssertionError(f"watched: {args[1]}")

    monkeypatch.setattr(watched, "Watch", watch)
    value, gradient = mo.value_and_grad(f)(1.5)
    assert value == f(1.5)
    assert gradient == pytest.approx(ridders(lambda t: f(1.5 + t), 0.02)[0])


class Keeper:
    """Each of its methods stores a number that it computes."""

    def __init__(self, x):
        self.x, self.kept = x, 0.0

    def keep(self):
        self.kept = self.x**2
        return 1

    def __eq__(self, other):
        return bool(self.keep())

    def __hash__(self):
        return self.keep()

    def __lt__(self, other):
        return bool(self.keep())

    def __add__(self, other):
        return self.keep()

    def __iter__(self):
        return iter([self.keep()])

    def keys(self):
        return [self.keep()]

    def __getitem__(self, key):
        return key


class Shown(property):
    """Its getter is called by ``property.__get__`` of C."""

    def __get__(self, x, owner=None):
        return property.__get__(self, x, owner)


class Lazy:
    def __init__(self, x):
        self.x, self.kept = x, 0.0

    @Shown
    def energy(self):
        self.kept = self.x**2
        return self.x


class Dtype:
    """NumPy asks an object that is compared with a dtype for its own."""

    def __init__(self, x):
        self.x, self.kept = x, 0.0

    @property
    def dtype(self):
        self.kept = self.x**2
        return np.dtype(float)


def _called(make, use):
    def f(x):
        c = make(x)
        with suppress(TypeError, AttributeError):
            use(c)
        return c.kept * 3.0

    return f


ASKING = {
    "equality in a tuple": _called(Keeper, lambda c: (c, 1) == (A, 1)),
    "order in a list": _called(Keeper, lambda c: [c] < [A]),
    "equality with a member": _called(Keeper, lambda c: c == Unit.METRE),
    "inequality": _called(Keeper, lambda c: c != A),
    "a set": _called(Keeper, lambda c: set([c])),
    "a set of tuples": _called(Keeper, lambda c: frozenset([(1, c)])),
    "a key": _called(Keeper, lambda c: {}.get(c)),
    "a key in a tuple": _called(Keeper, lambda c: {}.get((1, c), 2)),
    "an updated dict": _called(Keeper, lambda c: {}.update({c: 1})),
    "dict of a mapping": _called(Keeper, lambda c: dict(c)),
    "an added object": _called(Keeper, lambda c: (1,) + c),
    "a tuple of an iterable": _called(Keeper, lambda c: tuple.__new__(Point, c)),
    "a property": _called(Lazy, lambda c: c.energy),
    "a dtype": _called(Dtype, lambda c: np.dtype("f8") == c),
}


@pytest.mark.parametrize("f", ASKING.values(), ids=ASKING)
def test_a_call_that_asks_is_right_or_refused(f):
    try:
        gradient = mo.grad(f)(1.5)
    except mo.NoDerivative as error:
        assert "was called by code written in C" in str(error)
    else:
        assert gradient == pytest.approx(ridders(lambda t: f(1.5 + t), 0.02)[0])


def test_a_property_of_a_derived_class_is_recorded():
    def f(x):
        c = Lazy(x)
        return c.energy * c.kept

    assert mo.grad(f)(1.5) == pytest.approx(3 * 1.5**2)


def test_a_property_that_cannot_be_read_raises_what_python_raises():
    class Hidden:
        value = Shown(None, lambda self, v: None)

    def f(x):
        try:
            return Hidden().value
        except AttributeError:
            return x**2

    assert mo.grad(f)(1.5) == pytest.approx(3.0)


@pytest.mark.parametrize(
    "function, args",
    [
        (operator.eq, (Keeper(1.0), 1)),
        (operator.eq, (np.float64(1.0), A)),
        (operator.eq, (np.dtype("f8"), Dtype)),
        (set, ([Keeper(1.0)],)),
        (dict, ([(1, Keeper(1.0))],)),
        (dict, (collections.OrderedDict({A: 1}),)),
        (super, (Made, Keeper(1.0))),
        (operator.add, ((1,), Keeper(1.0))),
        (types.MappingProxyType, (collections.UserDict(),)),
        (types.MappingProxyType(collections.Counter()).values, ()),
        (Lazy.energy.__get__, (Lazy(1.0),)),
        (list.__new__, (list, A)),
        (sorted, ([1],)),
        (len, ([1],)),
    ],
    ids=lambda x: getattr(x, "__name__", "with"),
)
def test_what_is_not_known_to_ask_nothing_is_not_taken_for_it(function, args):
    assert not runs_no_python(function, args)
