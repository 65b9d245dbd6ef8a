"""User-defined numbers, sequences and dicts that NumPy and C code read, and code created at run time."""

from __future__ import annotations

from ..grammar import Family

OPERATORS = Family(
    "operators",
    settings=["ORDER = 2?"],
    prelude="""\
import collections
import json
from collections.abc import Mapping, Sequence

LOG = []


class Quantity:
    __array_priority__ = 100
    made = 0

    def __init__(self, s, unit=1):
        self.s, self.unit = s, unit
        type(self).made += 1

    def _of(self, other):
        return other.s if isinstance(other, Quantity) else other

    def __add__(self, other):
        return Quantity(self.s + self._of(other), self.unit)

    __radd__ = __add__

    def __sub__(self, other):
        return Quantity(self.s - self._of(other), self.unit)

    def __rsub__(self, other):
        return Quantity(self._of(other) - self.s, self.unit)

    def __mul__(self, other):
        return Quantity(self.s * self._of(other), self.unit)

    def __rmul__(self, other):
        LOG.append(self.s)
        return self * other

    def __truediv__(self, other):
        return Quantity(self.s / (1.5 + self._of(other) ** 2), self.unit)

    def __pow__(self, n):
        return Quantity(self.s ** n, self.unit * n)

    def __neg__(self):
        return Quantity(-self.s, self.unit)

    def __abs__(self):
        return Quantity(abs(self.s), self.unit)

    def __matmul__(self, other):
        return self.s * self._of(other) * 0.5

    def __iadd__(self, other):
        self.s = self.s + self._of(other)
        return self

    def __imul__(self, other):
        self.s *= self._of(other)
        self.unit += 1
        return self

    def __lt__(self, other):
        return self.s < self._of(other)

    def __gt__(self, other):
        return self.s > self._of(other)

    def __float__(self):
        return float(self.s)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or kwargs:
            return NotImplemented
        LOG.append(0.5)
        return Quantity(ufunc(*[self._of(x) for x in inputs]), self.unit)

    def __array_function__(self, function, types, args, kwargs):
        return function(*[self._of(x) for x in args], **kwargs) * 2.0

    def __getitem__(self, i):
        return self.s * (i + 1)

    def __setitem__(self, i, x):
        self.s = self.s * 0.5 + x * i

    def __len__(self):
        return 3

    def __call__(self, x=1.0):
        return self.s * x


class Track(collections.UserList):
    def __getitem__(self, i):
        found = super().__getitem__(i)
        return found * 0.5 if isinstance(i, int) else found


class Items(list):
    def __getitem__(self, i):
        return super().__getitem__(i) * 2.0

    def append(self, x):
        super().append(x * 0.5)


class Row(Sequence):
    def __init__(self, s):
        self.s = s
        self.reads = 0

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if not 0 <= i < 3:
            raise IndexError(i)
        return self.s * (i + 1)


class Table(dict):
    def __missing__(self, key):
        self[key] = 0.7
        return self[key]

    def __setitem__(self, key, x):
        super().__setitem__(key, x * 1.5)


class View(Mapping):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, key):
        return self.d[key] * 0.5

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


class Meta(type):
    @property
    def scale(cls):
        return cls.factor * 0.5

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.extra = args[0] * 0.25
        return made


class Made(metaclass=Meta):
    factor = 1.5

    def __init__(self, s):
        self.s = s

    def __init_subclass__(cls, factor=2.0, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.factor = factor

    def __class_getitem__(cls, x):
        return cls(x)


class Sub(Made, factor=0.5):
    pass


class Lazy:
    def __init__(self, s):
        object.__setattr__(self, "s", s)

    def __getattr__(self, name):
        if name.startswith("times_"):
            return self.s * int(name[6:])
        raise AttributeError(name)

    def __setattr__(self, name, x):
        object.__setattr__(self, name, x * 0.5 if name == "s" else x)

    def __delattr__(self, name):
        object.__setattr__(self, "s", self.s * 2.0)


def plain(x):
    return x.s if isinstance(x, Quantity) else x

""",
    start=(
        "{=o} = Quantity({F})",
        "{=t} = Track([{F}, {F}])",
        "{=d} = Table(a={F})",
        "{=z} = Lazy({F})",
        "{=i} = Items([{F}, {F}])",
    ),
    expressions={
        "o": [
            "({o} + {o})",
            "({o} + {f})",
            "({f} + {o})",
            "({o} - {f})",
            "({f} - {o})",
            "{o} * {f}",
            "{f} * {o}",
            "{o} * {o}",
            "{o} / {f}",
            "{o} ** 2",
            "(-{o})",
            "abs({o})",
            "sum([{o}, {o}], Quantity(0.5))",
            "max({o}, {o})",
            "np.sin({o})",
            "np.multiply({o}, {f})",
            "np.float64(0.5) * {o}",
            "Quantity({f})",
            "functools.reduce(lambda p, q: p * 0.5 + q, [{o}, {o}])",
        ],
        "f": [
            "{O}.s",
            "({o} @ {f})",
            "{O}[1]",
            "{O}({f})",
            "({f} if {O} < {f} else {f})",
            "np.mean({O})",
            "plain({o})",
            "{T}[0]",
            "sum({T})",
            "sum({T}.data)",
            "{I}[0]",
            "sum({I})",
            "sum(Row({f}))",
            "Row({f})[1]",
            "list(reversed(Row({f})))[0]",
            "{D}['a']",
            "{D}['missing']",
            "sum({D}.values())",
            "View({D})['a']",
            "sum(View({D}).values())",
            "View({D}).get('zz', {f})",
            "Made({f}).extra",
            "Made({f}).s * Made.scale",
            "Sub({f}).extra * Sub.scale",
            "Made[{f}].s",
            "{Z}.times_3",
            "{Z}.s",
            "json.loads('[1.5, 2.5]')[0] * {f}",
            "sum(LOG[:3])",
            "Quantity.made * 0.1",
        ],
        "v": [
            "np.array(Row({f}))",
            "np.array([*Row({f})])",
            "np.array({T}.data + [{f}])[:3].sum() * {V}",
            "np.asarray([{T}[0], {f}, {O}.s])",
        ],
    },
    statements=[
        "{=o} = {o}",
        "{O} += {f}",
        "{O} *= {f}",
        "{O} -= {f}",
        "{O}[2] = {f}",
        "{=f} = math.tanh(plain({o}))",
        "{T}.append({f})",
        "{T}[0] = {f}",
        "{=t} = {T} + [{f}]",
        "{I}.append({f})",
        "{I}[0] = {f}",
        "{I} += [{f}]",
        "{D}['a'] = {f}",
        "{D}['b'] = {f}",
        "{D}.update(c={f})",
        "{D}.setdefault('e', {f})",
        "{Z}.s = {f}",
        "del {Z}.s",
        "class {+y}:\n    base = {f}\n\n    def __init__(self, s):\n        self.s = s * self.base\n\n    def read(self):\n        return self.s + {F}\n{=f} = math.tanh({1}({f}).read())",
        "exec('target[0] = target[0] * 0.5', {'target': {T}.data})",
        "{=f} = json.loads('[{}]', object_hook=lambda d: {f})[0]",
        "for {+f} in Row({f}):\n    {block}",
        "for {+f} in {T}:\n    {F} += math.tanh({1})",
        "{+u}, *{+w} = Row({f})\n{=f} = {1} * sum({2})",
        "if {O} > {f}:\n    {block}",
    ],
    observed={
        "o": "math.sin({x}.s)",
        "t": "math.sin(sum({x}))",
        "i": "math.sin(sum(list.__iter__({x})))",
        "d": "math.sin(sum({x}.values()))",
        "z": "math.sin({x}.s)",
    },
    common=0.2,
    length=(2, 5),
    refused=0.4,
)

FAMILIES = (OPERATORS,)
