"""Objects: cached properties and memos, special methods called by C code, descriptors, the attribute protocol."""

from __future__ import annotations

from ..grammar import Family

CACHES = Family(
    "caches",
    settings=["ORDER = 2?"],
    prelude="""\
class Model:
    def __init__(self, w, v):
        self.w, self.v = w, v
        self.memo = {}

    @functools.cached_property
    def norm(self):
        return np.sum(self.v * self.v) + self.w

    @property
    def scale(self):
        return self.w * 0.5

    @scale.setter
    def scale(self, s):
        self.w = 2.0 * math.tanh(s)

    def lazy(self, k):
        if k not in self.memo:
            self.memo[k] = math.sin(k * self.w) + self.v[0]
        return self.memo[k]

    def __repr__(self):
        self.memo["text"] = self.w * 3.0
        return f"Model({float(self.norm):.3f})"

    def __getattr__(self, name):
        if name == "made":
            self.made = self.w * self.w
            return self.made
        raise AttributeError(name)


@functools.lru_cache(maxsize=None)
def slow(x, k=2):
    return x ** k + math.sin(x)


@functools.lru_cache(maxsize=2)
def small(x):
    return x * x + 0.3


@functools.cache
def table():
    return np.array([0.5, -0.25, 2.0])


MEMO = {}


def remembered(x, key):
    if key not in MEMO:
        MEMO[key] = math.tanh(x) * 2.0
    return MEMO[key]


def deep(n, x, seen):
    if n in seen:
        return seen[n]
    seen[n] = x if n < 2 else 0.5 * deep(n - 1, x, seen) * math.sin(deep(n - 2, x, seen)) + x
    return seen[n]

""",
    leaves=("f", "f", "v", "f"),
    arguments=("o = Model(a, c)", "f = b", "f = d", "v = c"),
    start=(),
    expressions={
        "f": [
            "{O}.norm",
            "{O}.scale",
            "{O}.lazy({n})",
            "{O}.made",
            "slow({f})",
            "slow({f}, k=3)",
            "small({f})",
            "remembered({f}, {n})",
            "remembered({f}, 'a')",
            "deep(4, {f}, {})",
            "len(repr({O})) * {f}",
            "{O}.memo.get('text', {f})",
            "{O}.memo.setdefault('x', {f})",
            "vars({O})['w']",
            "getattr({O}, 'w')",
            "(table() * {v}).sum()",
            "MEMO.get({n}, {f})",
        ]
    },
    statements=[
        "{O}.scale = {f}",
        "{O}.w = math.sin({f})",
        "{O}.v = np.tanh({v})",
        "{O}.__dict__.pop('norm', None)",
        "{+t} = repr({O})",
        "{+t} = f'{{O}.w:.2f} {{O}!r}'",
        "{=o} = Model({f}, {v})",
        "{O}.memo[{n}] = {f}",
        "{O}.memo.clear()",
        "slow.cache_clear()",
        "@functools.lru_cache\ndef {+y}(x):\n    return x * {f} + {F}\n{=f} = math.sin({1}({f}) + {1}({f}))",
        "def {+y}(s):\n    @functools.cache\n    def inner(x):\n        return x * s\n    return inner\n{=f} = math.tanh({1}({f})({f}) + {1}({f})(0.5))",
        "{=f} = slow({F}) * slow({F})",
        "setattr({O}, 'w', {f})",
    ],
    observed={"o": "({x}.w + {x}.v.sum() + sum({x}.memo.values()))"},
    length=(2, 5),
)

CALLS_FROM_C = Family(
    "calls_from_c",
    prelude="""\
import heapq
from collections import defaultdict, UserList
from functools import cmp_to_key

LOG = []


class Key:
    def __init__(self, w, tag=0):
        self.w, self.tag = w, tag
        self.seen = 0.0

    def __lt__(self, other):
        self.seen = self.seen + self.w * 0.5
        return self.w < other.w

    def __eq__(self, other):
        if isinstance(other, Key):
            self.seen = self.w * other.w
            return self.tag == other.tag
        return NotImplemented

    def __hash__(self):
        self.hashed = self.w * 0.25
        return hash(self.tag)

    def __bool__(self):
        self.truth = self.w * self.w
        return self.w > 0.0

    def __repr__(self):
        LOG.append(self.w)
        return "key"

    def __str__(self):
        self.text = math.sin(self.w)
        return "text"

    def __format__(self, spec):
        self.form = self.w * 2.0
        return "form"

    def __index__(self):
        self.index = self.w * 1.5
        return self.tag % 3

    def __len__(self):
        return 2  # how often CPython asks for a length is not fixed

    def __contains__(self, x):
        self.asked = x * self.w
        return True

    def __iter__(self):
        yield self.w
        yield self.w * 0.5

    def __call__(self, x):
        return x * self.w

    def __getitem__(self, i):
        self.got = self.w * 0.3
        return self.w * (i + 1)

    def __float__(self):
        return float(self.w)

    def __round__(self, n=0):
        self.rounded = self.w * 1.1
        return 1

    def total(self):
        return sum(x for x in vars(self).values())


class Makes:
    def __init__(self, s):
        self.s = s

    def __call__(self):
        return self.s * 2.0


def compare(a, b):
    a.seen = a.seen + b.w * 0.1
    return -1 if a.w < b.w else 1

""",
    leaves=("f", "f", "v", "f"),
    start=("{=o} = Key({F}, 1)", "{=o} = Key({F}, 2)"),
    expressions={
        "f": [
            "{O}.total()",
            "sum({O})",
            "{O}({f})",
            "max({O}, {O}).w",
            "min([{O}, {O}]).w",
            "sorted([{O}, {O}])[0].w",
            "sorted([({n}, {O}), ({n}, {O})])[-1][1].w",
            "sum(map({O}, [{f}, {f}]))",
            "sum(LOG)",
            "max({O}, key=float)",
            "defaultdict(Makes({f}))['q']",
            "({O} and {f})",
            "next(iter({O}))",
            "[{f}, {f}, {f}][{O}]",
            "list({O})[{j}]",
            "max({f}, {f}, key=lambda q: q * {f})",
            "sum(sorted([{f}, {f}, {f}], key=lambda q: -q * {f})[:2])",
            "sum(filter({O}, [{f}, {f}]))",
            "{V}[{O}]",
        ]
    },
    statements=[
        "{=o} = Key({f}, {n})",
        "{+t} = sorted([{O}, {O}, {O}])\n{=f} = {1}[0].w * {1}[-1].seen",
        "{+t} = [{O}, {O}, {O}]\n{1}.sort()\n{=f} = {1}[0].total()",
        "{+t} = [{O}, {O}]\nheapq.heapify({1})\nheapq.heappush({1}, {O})\n{=f} = heapq.heappop({1}).w",
        "{+t} = {O} in [{O}, {O}]",
        "{+t} = {{O}: {f}, {O}: {f}}\n{=f} = {1}[{O}] if {O} in {1} else {f}",
        "{+t} = {{O}, {O}}",
        "{+t} = all([{O}, {O}])",
        "{+t} = list(filter(None, [{O}, {O}]))",
        "if {O}:\n    {block}",
        "{+t} = str({O})",
        "{+t} = repr([{O}, {O}])",
        "{+t} = format({O}, '')",
        "{+t} = '%s' % {O}",
        "{+t} = '{}'.format({O})",
        "{+t} = len({O})",
        "{+t} = {f} in {O}",
        "{+t} = [{O}, {O}, *({O} for _ in LOG)].count({O})",
        "{+t} = [{O}, {O}].count({O})",
        "{+t} = round({O})",
        "{+t} = bool({O}) or {c}",
        "{+t} = sorted([{O}, {O}], key=cmp_to_key(compare))\n{=f} = {1}[0].seen",
        "{+t} = defaultdict(Makes({f}))\n{1}['k'] += {f}\n{=f} = {1}['k']",
        "{+t} = range(5)[{O}]",
        "{+t}, {+u} = {O}\n{=f} = {1} * {2}",
        "{+t} = any({f} > 9.0 for _ in {O})",
        "{+t} = [*{O}]\n{=f} = sum({1})",
        "{=v} = np.array([{f}, *{O}])",
    ],
    observed={"o": "{x}.total()"},
    common=0.25,
    length=(2, 5),
    refused=0.5,  # values that ``__hash__`` stores when a dict or set calls it are refused
)

ATTRIBUTES = Family(
    "attributes",
    settings=["ORDER = 2?"],
    prelude="""\
import operator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple


class Mode(Enum):
    FAST = 1
    SLOW = 2


class Checked(property):
    def __get__(self, obj, kind=None):
        if obj is None:
            return self
        value = super().__get__(obj, kind)
        obj.reads = obj.reads + value * 0.1
        return value


class Field:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return getattr(obj, self.name) * 1.5

    def __set__(self, obj, value):
        object.__setattr__(obj, self.name, math.tanh(value))


class Base:
    x = Field()

    def __init__(self, w, v):
        self.reads = 0.0
        self.w, self.v = w, v
        self.x = w

    @Checked
    def twice(self):
        return self.w * 2.0

    def __setattr__(self, name, value):
        if name == "w":
            super().__setattr__("changes", value * 0.2)
        super().__setattr__(name, value)


class Child(Base):
    mode = Mode.FAST

    def __getattribute__(self, name):
        if name == "hidden":
            return object.__getattribute__(self, "w") * 0.7
        return super().__getattribute__(name)

    def total(self):
        return self.w + self.reads + self.changes + self.v.sum() + self.x


class Slotted:
    __slots__ = ("w", "__secret", "v")

    def __init__(self, w, v):
        self.w, self.v = w, v
        self.__secret = w * 0.5

    def total(self):
        return self.w * self.__secret + self.v[0]

    def bump(self, s):
        self.__secret += s


@dataclass
class Data:
    w: float
    v: np.ndarray
    items: list = field(default_factory=list)

    def total(self):
        return self.w + sum(self.items) + (self.v * self.v).sum()


@dataclass(frozen=True)
class Frozen:
    w: float
    v: np.ndarray

    @property
    def area(self):
        return self.w * self.w

    def total(self):
        return self.area + self.v[-1]


class Named(NamedTuple):
    w: float
    v: np.ndarray

    def total(self):
        return self.w * self.v.sum()

""",
    leaves=("f", "f", "v", "f"),
    start=(
        "{=o} = Child({F}, {V})",
        "{=d} = Data({F}, {V}, [{F}])",
        "{=z} = Frozen({F}, {V})",
        "{=s} = Slotted({F}, {V})",
    ),
    expressions={
        "f": [
            "{O}.w",
            "{O}.total()",
            "{O}.twice",
            "{O}.hidden",
            "{O}.x",
            "{S}.total()",
            "{S}.w",
            "{D}.total()",
            "{D}.w",
            "{Z}.area",
            "{Z}.total()",
            "Named({f}, {v}).total()",
            "Named({f}, {v})._replace(w={f}).w",
            "operator.attrgetter('w')({O})",
            "operator.itemgetter(0)({D}.items)",
            "operator.methodcaller('total')({D})",
            "replace({Z}, w={f}).area",
            "(lambda w, *, v=None, **kw: w * sum(kw.values()))({f}, p={f}, q={f})",
            "functools.partial(lambda p, q: p * q, {f})({f})",
            "type({O}).total({O})",
        ]
    },
    statements=[
        "{O}.w = {f}",
        "{O}.x = {f}",
        "{O}.w += {f}",
        "{O}.v = {v}",
        "{S}.w = {f}",
        "{S}.bump({f})",
        "{S}.w, {O}.w = {O}.w, {S}.w",
        "{D}.items.append({f})",
        "{D}.items += [{f}, {f}]",
        "{D}.w *= {f}",
        "{=z} = replace({Z}, w={f})",
        "{=z} = Frozen({f}, {v})",
        "{=d} = Data({f}, {v})",
        "setattr({O}, 'w', {f})",
        "object.__setattr__({Z}, 'w', {f})",
        "vars({D}).update(w={f})",
        "{O}.__dict__['w'] = {f}",
        "for {+e} in {D}.items:\n    {block}",
        "{O}.v[{i}] = {f}",
        "match {Z}:\n    case Frozen(w=w) if w > 0.1:\n        {block}\n    case _:\n        {block}",
        "if {O}.mode is Mode.FAST:\n    {block}",
    ],
    observed={"o": "{x}.total()", "s": "{x}.total()", "d": "{x}.total()", "z": "{x}.total()"},
    length=(2, 5),
)
FAMILIES = (CACHES, CALLS_FROM_C, ATTRIBUTES)
