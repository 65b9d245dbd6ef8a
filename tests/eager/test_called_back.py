"""Code of the program that C code calls: stored values have their derivative, or an error says that they have none.

Each program creates objects of a class with one method that C calls, and then reads the value that the method stored.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import logging
import os
import sys

import pytest

import morula as mo
from morula.core.testing.differences import ridders

STORES = {
    "attribute": ("self.kept = VALUE", "sum(getattr(o, 'kept', 0.0) for o in (c, d))"),
    "cached property": ("self.energy", "c.energy + d.energy"),
    "list": ("LOG.append(VALUE)", "sum(LOG)"),
    "dict": ("TABLE['kept'] = VALUE", "TABLE.get('kept', 0.0)"),
    "nonlocal": ("nonlocal held; held = VALUE", "held"),
    "global": ("global KEPT; KEPT = VALUE", "KEPT"),
    "class attribute": ("type(self).total = VALUE", "C.total"),
    "array": ("BUFFER[0] = VALUE", "BUFFER[0]"),
    "nothing": ("pass", "c.x * d.x"),
}
"""How a method stores, and how that is read."""

TEXT = {
    "__str__": ["str(c)", "f'{c}'", "'%s' % c", "'%s %s' % (c, d)", "'{}'.format(c)", "'{0}'.format(c)", "print(c)",
                "print(c, file=io.StringIO())", "logging.getLogger('morula.none').error('%s', c)", "f'{c!s:>3}'",
                "'{!s}'.format(c)", "format(c)", "f'{c:}'", "ValueError(c).__str__()", "str(ValueError(c))"],
    "__repr__": ["repr(c)", "f'{c!r}'", "'%r' % c", "'%r' % (c,)", "'%(a)r' % {'a': c}", "'{!r}'.format(c)", "ascii(c)",
                 "f'{c!a}'", "str(c)", "str([c, d])", "print([c])", "repr((c, [d]))", "f'{[c]}'", "repr({1: c})",
                 "repr(collections.deque([c]))", "repr(Pair(c, d))", "repr(Point(c, d))", "'{}'.format([c])",
                 "pprint.pformat([c])", "repr({c})", "str(collections.OrderedDict(a=c))", "repr(np.array([c, d]))",
                 "str(types.SimpleNamespace(a=c))", "repr(functools.partial(print, c))", "'{a[0]!r}'.format(a=[c])"],
    "__format__": ["format(c)", "format(c, '>3')", "f'{c}'", "f'{c:>3}'", "'{:>3}'.format(c)", "'{0:x}'.format(c)",
                   "'{a:x}'.format_map({'a': c})"],
}  # fmt: skip
ORDER = [
    "sorted([c, d])", "min([c, d])", "max(c, d)", "[c, d].sort()", "[(1, c), (1, d)].sort()", "sorted([(1, c), (1, d)])",
    "min((1, c), (1, d))", "(1, c) < (1, d)", "[c] < [d]", "[[c]] > [[d]]", "bisect.bisect([c], d)", "bisect.insort([c], d)",
    "bisect.bisect_left([(1, c)], (1, d))", "h = [c]; heapq.heappush(h, d)", "heapq.heapify([c, d])",
    "h = [c, d]; heapq.heappop(h); heapq.heappushpop(h, c)", "h = [(1, c)]; heapq.heappush(h, (1, d))",
    "heapq.nsmallest(1, [c, d])", "heapq.nlargest(2, [c, d])", "list(heapq.merge([c], [d]))", "c < d", "operator.lt(c, d)",
    "sorted([1, 2], key=lambda i: [c, d][i - 1])", "sorted([1, 2], key=[c, d, c].__getitem__)",
    "q = queue.PriorityQueue(); q.put(c); q.put(d)", "max([(1, c), (1, d)], key=lambda p: p)", "sorted({1: c, 2: d}.values())",
    "sorted([c, d], reverse=True)", "np.sort(np.array([c, d], dtype=object))", "statistics.median_low([c, d])",
    "Point(c, d) < Point(d, c)", "collections.deque([c]) < collections.deque([d])", "max(c, d, key=None)",
]  # fmt: skip
EQUAL = [
    "c in [d]", "c in (d, 1)", "d not in [c]", "[c].index(d)", "[c].count(d)", "[c].remove(d)", "(c,).index(d)", "(c,).count(d)",
    "c in collections.deque([d])", "collections.deque([d]).count(c)", "[c] == [d]", "(1, c) == (1, d)", "{1: c} == {1: d}",
    "(c,) != (d,)", "c in {1: d}.values()", "operator.contains([c], d)", "operator.eq([c], [d])", "c == d", "c != d",
    "operator.indexOf([c], d)", "operator.countOf([c], d)", "Point(c, d) == Point(d, c)", "1 in [c]", "c in iter([d])",
    "types.SimpleNamespace(a=c) == types.SimpleNamespace(a=d)", "[c] in [[d]]", "c in Pair(d, 1)", "(1, c) in {1: d}.items()",
]  # fmt: skip
HASHED = [
    "{c: 1}", "{c}", "hash(c)", "hash((1, c))", "c in {d}", "c in {d: 1}", "{d: 1}.get(c)", "{d: 1}[c]", "s = set(); s.add(c)",
    "t = {}; t[c] = 1", "t = {d: 1}; del t[c]", "{d: 1}.pop(c)", "t = {}; t.setdefault(c, 1)", "set([c, d])", "{d} | {c}",
    "dict([(c, 1)])", "dict.fromkeys([c])", "frozenset([c])", "{d}.union([c])", "{d} & {c}", "{k: 1 for k in [c, d]}",
    "{k for k in [c, d]}", "cached(c)", "t = {}; t[1, c] = 1", "{(1, c): 2}", "{d}.discard(c)", "{d}.remove(c)",
    "collections.Counter([c, d])", "t = {d: 1.0}; t[c] += 1", "t = {}; t.update({c: 1})", "t = {}; t |= {c: 1}",
    "{c: 1} == {d: 1}", "weakref.WeakKeyDictionary()[c] = 1", "weakref.WeakSet().add(c)", "{d}.isdisjoint([c])",
    "{d} <= {c}", "t = collections.defaultdict(list); t[c].append(1)", "t = collections.OrderedDict(); t[c] = 1",
    "s = {d}; s |= {c}", "s = {d}; s.update([c])", "frozenset([d]) - {c}", "{d}.intersection([c])", "cached((1, c))",
]  # fmt: skip
TRUTH = [
    "c and 1", "c or 1", "not c", "1 if c else 2", "bool(c)", "all([c, d])", "any([c, d])", "list(filter(None, [c, d]))",
    "all(o for o in [c, d])", "any(o for o in (c, d))", "[1 for o in [c] if o]", "[1 for o in [c] if not o]", "[o and 1 for o in [c, d]]",
    "t = c or d", "t = not c", "operator.not_(c)", "operator.truth(c)", "list(itertools.compress([1, 2], [c, d]))",
    "t = (1 and c) or 2", "assert c or d or 1", "list(itertools.filterfalse(None, [c, d]))", "t = 1 if (c and d) else 2",
    "list(itertools.takewhile(lambda o: o, [c, d]))", "list(filter(lambda o: o, [c, d]))", "any(map(lambda o: o, [c, d]))",
    "[o for o in range(2) if c or d]", "any([c and d])", "t = [not o for o in [c, d]]", "next(filter(None, [c, d]), None)",
]  # fmt: skip
INDEX = [
    "[1, 2, 3][c]", "(1, 2, 3)[c]", "list(range(c))", "operator.index(c)", "[1, 2, 3][c:]", "np.arange(3)[c]", "[1] * c", "hex(c)",
    "int(c)", "np.zeros(c)", "'abc'[c]", "[1, 2].insert(c, 0)", "[1, 2].pop(c)", "t = [1, 2]; t[c] = 0", "t = [1, 2]; del t[c]",
    "'a'.center(c)", "bytes(c)", "np.array([1.0, 2.0])[c:]", "itertools.islice([1, 2], c)", "round(1.234, c)", "np.arange(1).reshape(c, c)",
    "range(5)[c]", "list(itertools.islice([1, 2], c))", "math.comb(3, c)", "chr(c)", "1 << operator.index(c)", "bin(c)",
]  # fmt: skip
LISTED = ["tuple(c)", "[*c]", "(0, *c)", "print(*c)", "[1].extend(c)", "t = [1]; t += c", "sorted(c)", "bytes(c)",
          "max(*c)", "a = [*c, *d]", "Entries(c)", "(lambda *k: 1)(*c)"]  # fmt: skip
"""Where entries become a list, which asks for their number to begin with."""
NUMERIC = {
    "__float__": ["float(c)", "math.sin(c)", "np.array([c, d], dtype=float)", "np.sin(np.array(c, dtype=float))", "'%f' % c",
                  "math.hypot(c, d)", "math.fsum([c, d])", "np.full(2, c)", "a = np.zeros(2); a[0] = c", "'%.2f' % (c,)",
                  "math.floor(c)", "np.asarray([c], float)", "math.isclose(c, d)", "statistics.fmean([c, d])", "complex(c)"],
    "__int__": ["int(c)", "'%d' % c", "'%d %d' % (c, d)", "np.array([c], dtype=int)"],
    "__complex__": ["complex(c)", "cmath.exp(c)"],
    "__array__": ["np.array(c)", "np.asarray(c)", "np.sum(c)", "np.array([c, d])", "np.concatenate([c, d])", "np.linalg.norm(c)",
                  "np.ones(2) + np.asarray(c)", "a = np.zeros(2); a[:] = c", "np.ones(2) * c", "np.stack([c, d])"],
    "__len__": ["len(c)", "bool(c)", "c and 1", "not c", "list(c)", "np.array(c)", "any([c])", "1 if c else 2", "operator.length_hint(c)",
                "reversed(c)", "random.Random(1).choice(c)", "t = [0]; t[:] = c", *LISTED],
    "__getitem__": ["c[0]", "list(c)", "1 in c", "np.array(c)", "a, b = c", "np.asarray([c, d])", "iter(c)", "sum(c)", "dict(enumerate(c))",
                    "np.sum(c)", "list(reversed(c))", "operator.getitem(c, 0)", "operator.itemgetter(0)(c)", "random.Random(1).choice(c)",
                    "list(zip(c, d))", "set(c)", "max(c)", "sorted(c)", "bisect.bisect(c, 1.0)", "np.full(2, c)", "a = np.zeros(2); a[:] = c"],
    "__iter__": ["list(c)", "1 in c", "tuple(c)", "[*c]", "a, b = c", "sum(c)", "sorted(c)", "set(c)", "max(c)", "np.array(list(c))",
                 "dict.fromkeys(c)", "print(*c)", "[1].extend(c)", "list(zip(c, d))", "list(map(abs, c))", "enumerate(c).__next__()",
                 "math.fsum(c)", "collections.deque(c)", "t = [0, 0]; t[:] = c", "frozenset(c)", "t = [1]; t += c", "all(c)",
                 "np.fromiter(c, float)", "list(itertools.chain(c, d))", "','.join(str(k) for k in c)", "statistics.mean(c)",
                 "'%s' % [*c]", "{1}.union(c)", "itertools.chain.from_iterable([c, d]).__next__()", "heapq.nlargest(1, c)", "bytes(c)",
                 "functools.reduce(max, c)", "np.stack([*c])", "{**dict.fromkeys(c)}", "list(itertools.product(c, d))", "any(c)"],
    "__next__": ["next(c)", "c.__next__()", "operator.methodcaller('__next__')(c)"],
    "__contains__": ["1 in c", "1 not in c", "operator.contains(c, 1)", "c.__contains__(1)"],
    "__reversed__": ["reversed(c)", "c.__reversed__()"],
    "__length_hint__": ["operator.length_hint(c)", "list(c)", "t = [0]; t[:] = c", *LISTED],
    "__call__": ["c()", "sorted([1, 2], key=c)", "list(map(c, [1, 2]))", "functools.reduce(c, [1, 2])", "max([1, 2], key=c)",
                 "list(filter(c, [1]))", "next(iter(c, 2))", "collections.defaultdict(c)[1]", "re.sub('a', c, 'a')", "[1, 2].sort(key=c)",
                 "sorted([1, 2], key=functools.cmp_to_key(c))", "functools.partial(c)()", "list(itertools.accumulate([1, 2], c))",
                 "np.vectorize(c)(np.arange(2))", "json.loads('{\"a\": 1}', object_hook=c)", "json.dumps(d, default=c)",
                 "json.loads('1.5', parse_float=c)", "np.frompyfunc(c, 1, 1)(np.arange(2))", "re.compile('a').sub(c, 'aa')",
                 "np.apply_along_axis(c, 0, np.ones((2, 2)))", "np.fromfunction(c, (2, 2))", "collections.defaultdict(c).__getitem__(1)",
                 "list(itertools.starmap(c, [(1,)]))", "min([1, 2], key=lambda i: c(i))",
                 "t = collections.defaultdict(c); operator.itemgetter(1)(t)", "bisect.bisect([1], 1, key=c)",
                 "list(itertools.groupby([1, 2], c))"],
    "__enter__": ["with c: pass", "contextlib.ExitStack().enter_context(c)"],
    "__getattr__": ["c.missing", "getattr(c, 'missing')", "hasattr(c, 'missing')", "operator.attrgetter('missing')(c)",
                    "getattr(c, 'missing', 1)", "object.__getattribute__(c, 'x') + c.missing"],
    "__reduce__": ["copy.copy(c)", "copy.deepcopy(c)", "pickle.dumps(c)", "copy.copy([c])", "copy.deepcopy([c])", "pickle.dumps([c])"],
    "__getstate__": ["copy.copy(c)", "copy.deepcopy(c)"],
    "__fspath__": ["os.fspath(c)", "os.path.join('a', c)"],
    "__sizeof__": ["sys.getsizeof(c)"],
    "__dir__": ["dir(c)"],
    "__bytes__": ["bytes(c)"],
    "__round__": ["round(c)"],
    "__trunc__": ["math.trunc(c)"],
    "__instancecheck__": ["c.__instancecheck__(1)"],
}  # fmt: skip
SIGNATURES = {
    "__str__": ("", "'text'"), "__repr__": ("", "'text'"), "__format__": (", spec", "'text'"),
    "__lt__": (", other", "self.x < other.x"), "__gt__": (", other", "self.x > other.x"), "__eq__": (", other", "True"),
    "__hash__": ("", "7"), "__bool__": ("", "True"), "__index__": ("", "1"), "__float__": ("", "0.5"), "__int__": ("", "1"),
    "__complex__": ("", "1j"), "__array__": (", dtype=None, copy=None", "np.array([1.0, 2.0])"), "__len__": ("", "2"),
    "__getitem__": (", i", "[1.0, 2.0][i]"), "__iter__": ("", "iter([1, 2])"), "__next__": ("", "1"),
    "__contains__": (", e", "True"), "__reversed__": ("", "iter([1])"), "__length_hint__": ("", "2"),
    "__call__": (", *args", "'text' if args and isinstance(args[0], re.Match) else 1"), "__enter__": ("", "self"),
    "__getattr__": (", name", "self.fallback(name)"), "__reduce__": ("", "(int, ())"), "__getstate__": ("", "{}"),
    "__fspath__": ("", "'text'"), "__sizeof__": ("", "64"), "__dir__": ("", "['x']"), "__bytes__": ("", "b'text'"),
    "__round__": ("", "1"), "__trunc__": ("", "1"), "__instancecheck__": (", o", "True"),
}  # fmt: skip
OTHERS = {
    "__len__": "def __getitem__(self, i): return [1, 2][i]",
    "__getitem__": "def __len__(self): return 2",
    "__next__": "def __iter__(self): return self",
    "__reversed__": "def __len__(self): return 2",
    "__length_hint__": "def __iter__(self): return iter([1, 2])",
    "__eq__": "__hash__ = None",
    "__hash__": "def __eq__(self, other): return True",
    "__enter__": "def __exit__(self, *error): return None",
    "__getattr__": "def fallback(self, name):\n            if name != 'missing': raise AttributeError(name)\n            return 1",
}  # fmt: skip
"""What else the class has."""

RECORDED = ["repr(c)", "f'{c!r}'", "'%r' % c", "'%r' % (c,)", "'%(a)r' % {'a': c}", "'{!r}'.format(c)", "ascii(c)", "f'{c!a}'", "str(c)",
            "repr(Pair(c, d))", "pprint.pformat([c])", "'{a[0]!r}'.format(a=[c])"]  # fmt: skip
"""Of the texts by ``__repr__``, those that are made on the tape."""

TABLE = [
    (method, entry)
    for method, entries in {**TEXT, "__lt__": ORDER, "__eq__": EQUAL, "__hash__": HASHED, "__bool__": TRUTH, "__index__": INDEX, **NUMERIC}.items()
    for entry in entries
]  # fmt: skip

HEADER = """
import bisect, cmath, collections, contextlib, copy, functools, heapq, io, itertools, json, logging, math, operator, os, pickle
import pprint, queue, random, re, statistics, sys, types, weakref
from dataclasses import dataclass

import numpy as np

Pair = collections.namedtuple("Pair", "a b")


@dataclass(order=True)
class Point:
    a: object
    b: object


class Entries(list):
    pass


LOG, TABLE, KEPT, BUFFER = [], {}, 0.0, np.zeros(1)


@functools.lru_cache
def cached(key):
    return 1


class Energetic:
    total = 0.0

    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def energy(self):
        return self.x**2
"""
PROGRAM = """

def {name}(x):
    global KEPT
    KEPT = held = 0.0
    LOG.clear()
    TABLE.clear()
    BUFFER[:] = 0.0
    cached.cache_clear()

    class C(Energetic):
        def {method}(self{parameters}):
            {store}
            return {result}

        {other}

    c, d = C(x), C(2 * x)
    {entry}
    return 3.0 * ({read})
"""


def text_of(name, method, entry, store):
    write, read = STORES[store]
    parameters, result = SIGNATURES[method]
    return PROGRAM.format(
        name=name, method=method, entry=entry, store=write.replace("VALUE", "self.x**2"), read=read, result=result,
        parameters=parameters, other=OTHERS.get(method, ""),
    )  # fmt: skip


REFUSED = {
    "__str__": ["ValueError(c).__str__()", "str(ValueError(c))"],
    "__repr__": [e for e in TEXT["__repr__"] if e not in RECORDED],
    "__lt__": ["bisect.bisect_left([(1, c)], (1, d))", "h = [(1, c)]; heapq.heappush(h, (1, d))", "list(heapq.merge([c], [d]))",
               "collections.deque([c]) < collections.deque([d])", "np.sort(np.array([c, d], dtype=object))"],
    "__eq__": ["{1: c} == {1: d}", "types.SimpleNamespace(a=c) == types.SimpleNamespace(a=d)",
               "(1, c) in {1: d}.items()"],
    "__hash__": [e for e in HASHED if e != "hash(c)"],
    "__index__": ["[1] * c", "hex(c)", "itertools.islice([1, 2], c)", "list(itertools.islice([1, 2], c))", "chr(c)", "bin(c)",
                  "np.arange(1).reshape(c, c)"],
    "__int__": ["np.array([c], dtype=int)"],
    "__getitem__": ["np.asarray([c, d])"],
    "__call__": ["re.sub('a', c, 'a')", "re.compile('a').sub(c, 'aa')", "json.loads('{\"a\": 1}', object_hook=c)",
                 "json.dumps(d, default=c)", "json.loads('1.5', parse_float=c)"],
    "__reduce__": ["pickle.dumps(c)", "pickle.dumps([c])"],
    **{name: NUMERIC[name] for name in ("__fspath__", "__sizeof__", "__dir__")},
}  # fmt: skip
"""Where C calls the method itself, and a cotangent that reaches what it has stored is refused; all others are recorded."""

TWICE = {"__float__": ["np.array([c, d], dtype=float)", "np.sin(np.array(c, dtype=float))", "math.fsum([c, d])", "np.asarray([c], float)",
                       "statistics.fmean([c, d])"],
         "__array__": ["np.array([c, d])", "np.concatenate([c, d])", "np.stack([c, d])"]}  # fmt: skip
"""Where C calls the method and the tape calls it again: what the second call stores is recorded, and the rest is refused."""

KINDS = list(STORES)
EVERY = os.environ.get("MORULA_TEST_FORMS") == "all"
PROGRAMS = [
    (*case, kind)
    for i, case in enumerate(TABLE)
    for k, kind in enumerate(KINDS)
    if EVERY or k in (i % len(KINDS), (i + 4) % len(KINDS))
]
"""Each case with two ways to store, so that every way meets every method; with ``MORULA_TEST_FORMS=all`` in the environment with every way."""


METHODS = list(dict.fromkeys(method for method, _ in TABLE))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    path = tmp_path_factory.mktemp("called_back") / "called_back_programs.py"
    texts = [text_of(f"f{i}", *program) for i, program in enumerate(PROGRAMS)]
    texts += [text_of(f"of_integers{i}", *case, KINDS[i % len(KINDS)]) for i, case in enumerate(TABLE)]
    path.write_text(HEADER + "".join(texts))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.getLogger("morula.none").addHandler(logging.StreamHandler(io.StringIO()))
    yield module
    del sys.modules[path.stem]


@pytest.mark.parametrize("i", range(len(PROGRAMS)), ids=[" | ".join(program) for program in PROGRAMS])
def test_what_a_method_called_from_c_stores_is_recorded_or_refused(programs, capsys, i):
    method, entry, store = PROGRAMS[i]
    f, x = getattr(programs, f"f{i}"), 1.3
    slope = ridders(lambda t: f(x + t), 0.02)[0]
    refused = (
        entry in REFUSED.get(method, ()) or entry in TWICE.get(method, ()) and store in ("list", "cached property")
    )
    if refused and store != "nothing":
        with pytest.raises(mo.NoDerivative, match=r"(C\.\w+ \(.*\) was called by code written in C|no Python).*"):
            mo.grad(f)(x)
    else:
        assert mo.grad(f)(x) == pytest.approx(slope)


@pytest.mark.parametrize("method", METHODS)
def test_what_it_computes_from_an_integer_is_recorded_or_refused_too(programs, capsys, method):
    """Small integers are shared objects: the one that was computed may be the one that a constant is."""
    wrong = {}
    for i, (name, entry) in enumerate(TABLE):
        if name != method:
            continue
        f = getattr(programs, f"of_integers{i}")
        slope = (f(3) - f(1)) / 2  # of a square
        try:
            g = mo.grad(f)(2)
        except mo.NoDerivative as error:
            if KINDS[i % len(KINDS)] == "nothing" or "called" not in str(error):
                wrong[entry] = str(error)
        else:
            if g != pytest.approx(slope):
                wrong[entry] = g, slope
    assert not wrong


class Kept:
    """Keeps what its ``__eq__`` has computed."""

    def __init__(self, v):
        self.v, self.kept = v, 0.0

    def __eq__(self, other):
        self.kept = self.v * other.v
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "compared",
    [
        lambda p, q: [key for key, _ in itertools.groupby([p, q])],
        lambda p, q: [list(group) for _, group in itertools.groupby([1, 2], key=lambda i: (p, q)[i - 1])],
        lambda p, q: list(iter(lambda: p, q)),
        lambda p, q: next(iter(lambda: q, p), None),
    ],
    ids=["groupby", "groupby with a key", "iter until", "next until"],
)
def test_what_an_iterator_compares_later_is_recorded(compared):
    def f(v):
        p, q = Kept(v), Kept(2 * v + 1)
        compared(p, q)
        return p.kept + q.kept

    assert mo.value_and_grad(f)(1.5) == (6.0, 7.0)
