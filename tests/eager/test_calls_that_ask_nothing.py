"""C calls that run no method of their arguments are not watched; those that do are watched or recorded."""

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
from morula.core.eager.unrecorded import watched
from morula.core.eager.unrecorded.keys import hash_of
from morula.core.eager.unrecorded.unasking import runs_no_python
from morula.core.testing.differences import ridders


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


class Named:
    """A key whose hash is an attribute, and whose equality asks for the name."""

    def __init__(self, name, number):
        self.name, self.number = name, number

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        raise AssertionError("compared")


class Unique:
    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        raise AssertionError("compared")


class Distinct(Unique):
    def __hash__(self):
        return hash(id(self))


NUMBERS = (1, -1, 2**62, 2**63 - 1, 2**63, 2**100, -(2**63), -(2**70))
KEYS = [Named("a", n) for n in NUMBERS[:5]], [Unique(), Unique()], [Distinct(), "a", Unit.FOOT], [Named("b", 3), 4, A]
PATTERN = re.compile("a+")
SLOT = inspect.getattr_static(type, "__mro__")


def _stored(x, keys):
    found = collections.defaultdict(float, {})
    plain, entered = {}, set()
    for i, key in enumerate(keys):
        found[key] += x * i
        plain[key] = found[key]
        entered.add(key)
    return sum([plain[key] * plain.get(key, 0.0) for key in keys if key in entered])


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
    **{f"keys {i}": lambda x, keys=keys: _stored(x, keys) for i, keys in enumerate(KEYS)},
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


class Alike:
    """All have one hash, so that C asks whether they are equal, and ``kept`` is stored."""

    number = 7

    def __init__(self, x):
        self.x, self.kept, self.number = x, 0.0, 7

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        self.kept = self.x**2
        return self is other


class Changing(Alike):
    """The hash is an attribute by its name, which a property computes and stores."""

    @property
    def number(self):
        self.kept = self.x**2
        return 7

    @number.setter
    def number(self, value):
        pass


class Looking(Alike):
    def __hash__(self):
        return self.number

    def __getattribute__(self, name):
        if name == "number":
            self.kept = self.x**2
        return object.__getattribute__(self, name)


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
    "a key with the hash of another": _called(Alike, lambda c: {Alike(1.0): 1, c: 2}),
    "a key that computes its hash": _called(Changing, lambda c: {}.get(c)),
    "a key that stores where its hash is read": _called(Looking, lambda c: c in {"a": 1}),
    "a key among many": _called(Keeper, lambda c: {**dict.fromkeys(range(20)), c: 1}),
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


@pytest.mark.parametrize("number", NUMBERS)
def test_the_hash_of_a_key_is_that_of_python(number):
    for key in (Named("a", number), Unique(), Distinct(), Unit.METRE, Length(2.0), "a", A):
        assert hash_of(key) == hash(key)


@pytest.mark.parametrize("key", [Named("a", 1.0), Named("a", True), Keeper(1.0), Changing(1.0), Looking(1.0), (1, A)])
def test_a_hash_that_code_of_the_class_computes_is_not_known(key):
    assert hash_of(key) is None
