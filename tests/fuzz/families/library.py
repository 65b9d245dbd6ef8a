"""Containers, functions and context managers of the standard library that hold active numbers."""

from __future__ import annotations

from ..grammar import Family

LIBRARY = Family(
    "library",
    prelude="""\
import bisect
import collections
import contextlib
import copy
import functools
import heapq
import itertools
import operator
import queue
import statistics
import types
import typing

Point = collections.namedtuple("Point", "x y", defaults=[0.5])


class Typed(typing.NamedTuple):
    x: float
    n: int = 2

    def scaled(self, s):
        return self.x * s * self.n


@functools.singledispatch
def size(x):
    return x * 0.5


@size.register
def _(x: list):
    return sum(x)


@size.register(tuple)
def _(x):
    return x[0] - x[-1]


@functools.total_ordering
class Ranked:
    def __init__(self, s, k):
        self.s, self.k = s, k

    def __eq__(self, other):
        return self.k == other.k

    def __lt__(self, other):
        return self.k < other.k


class Stack(contextlib.ExitStack):
    pass


@contextlib.contextmanager
def noted(log, s):
    log.append(s)
    yield s * 0.5
    log[-1] = log[-1] * 2.0


class Guarded(contextlib.ContextDecorator):
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(0.5)
        return self

    def __exit__(self, *error):
        self.log[0] = self.log[0] * 0.5
        return False


def total(x):
    if isinstance(x, dict):
        return sum(total(e) for e in x.values())
    if isinstance(x, (list, tuple, collections.deque)):
        return sum(total(e) for e in x)
    return float(np.sum(x)) * 0.0 + np.sum(x)

""",
    start=(
        "{=l} = [{F}, {f}]",
        "{=d} = collections.OrderedDict(a={F}, b={F})",
        "{=q} = collections.deque([{F}, {F}], maxlen=4)",
        "{=p} = Point({F}, {f})",
        "{=s} = types.SimpleNamespace(a={F}, b={V})",
    ),
    expressions={
        "f": [
            "{L}[0]",
            "total({L})",
            "{D}['a']",
            "total({D})",
            "{Q}[0]",
            "total({Q})",
            "{P}.x",
            "{P}[1]",
            "{P}._replace(x={f}).x",
            "Point(y={f}, x={f}).y",
            "total({P})",
            "Typed({f}).scaled({f})",
            "{S}.a",
            "vars({S})['a']",
            "size({f})",
            "size([{f}, {f}])",
            "size(({f}, {f}))",
            "max(Ranked({f}, 1), Ranked({f}, 2)).s",
            "sorted([Ranked({f}, 3), Ranked({f}, 2)])[0].s",
            "collections.ChainMap({'a': {f}}, {D})['a']",
            "collections.ChainMap({}, {D})['b']",
            "collections.defaultdict(lambda: {f}, {D})['z']",
            "total(collections.Counter(a={f}, b={f}))",
            "copy.copy({S}).a",
            "copy.deepcopy({S}).b[{i}]",
            "total(copy.deepcopy({D}))",
            "total(copy.copy({L}))",
            "operator.mul({f}, {f})",
            "operator.itemgetter('a')({D})",
            "sum(operator.itemgetter(0, 1)({L}))",
            "operator.attrgetter('b')({S})[{i}]",
            "functools.reduce(operator.add, {L})",
            "functools.partial(operator.sub, {f})({f})",
            "math.fsum([{f}, {f}, {f}])",
            "math.prod([{f}, {f}])",
            "math.dist([{f}, 0.5], [{f}, 1.5])",
            "math.hypot({f}, 1.5)",
            "math.copysign({f}, {f})",
            "math.fmod({f}, 0.75)",
            "math.ldexp({f}, 1)",
            "math.atan2({f}, 2.0 + {f} ** 2)",
            "statistics.mean([{f}, {f}])",
            "statistics.fmean([{f}, {f}, 0.5])",
            "sum(itertools.starmap(operator.mul, [({f}, {f}), ({f}, 0.5)]))",
            "sum(itertools.chain({L}, {Q}))",
            "sum(itertools.chain.from_iterable([{L}, [{f}]]))",
            "sum(itertools.compress([{f}, {f}, {f}], [1, 0, 1]))",
            "sum(itertools.dropwhile(lambda e: e < {k}, [{f}, {f}, {f}]))",
            "sum(a * b for a, b in itertools.pairwise([{f}, {f}, {f}]))",
            "sum(a * b for a, b in itertools.product({L}, [{f}, 0.5]))",
            "sum(a - b for a, b in itertools.combinations([{f}, {f}, {f}], 2))",
            "sum(a or b for a, b in itertools.zip_longest([{f}], [{f}, {f}], fillvalue=0.0))",
            "sum(sum(g) * k for k, g in itertools.groupby([{f}, {f}, {f}], key=lambda e: 2))",
            "heapq.nlargest(1, [{f}, {f}, {f}])[0]",
            "list(heapq.merge([{f}], [{f}]))[0]",
            "(lambda h: heapq.heapify(h) or heapq.heappushpop(h, {f}))([{f}, {f}])",
            "bisect.bisect([0.0, 0.5, 1.0], {f}) * {f}",
            "next(iter(collections.OrderedDict(z={f}).values()))",
            "(lambda r: next(r) + next(r))(itertools.repeat({f}))",
            "sum(itertools.islice(itertools.count({f}, {f}), 3))",
            "list(itertools.accumulate([{f}, {f}, {f}], operator.mul))[-1]",
            "list(map(float, [{f}, {f}]))[0]",
            "dict(zip('ab', [{f}, {f}]))['b']",
            "max({'a': {f}, 'b': {f}}.values())",
            "{D}.setdefault('c', {f})",
        ],
        "v": [
            "{S}.b",
            "np.array({L}[:1] * 3)",
            "np.array([*{P}, {f}])",
            "np.fromiter(itertools.islice(itertools.cycle({L}), 3), float)",
        ],
    },
    statements=[
        "{L}.append({f})",
        "{L}[0] = {f}",
        "{L}.extend(({f}, {f}))",
        "{L}.insert(0, {f})",
        "bisect.insort({L}, {f}, key=lambda e: 1)",
        "heapq.heappush({L}, {f})",
        "{D}['a'] = {f}",
        "{D}.update(b={f})",
        "{D} |= {'c': {f}}",
        "{D}.move_to_end('a')",
        "{Q}.append({f})",
        "{Q}.appendleft({f})",
        "{Q}.rotate(1)",
        "{Q}.extend([{f}, {f}])",
        "{Q}[0] *= {f}",
        "{=p} = {P}._replace(y={f})",
        "{=p} = Point({f})",
        "{=f}, {=f} = {P}",
        "{S}.a = {f}",
        "{S}.b = {v}",
        "{S}.__dict__['a'] = {f}",
        "{=s} = types.SimpleNamespace(**vars({S}))",
        "{=s} = copy.copy({S})",
        "{=s} = copy.deepcopy({S})\n{1}.a = {f}",
        "{=d} = copy.copy({D})\n{1}['a'] = {f}",
        "with contextlib.ExitStack() as {+t}:\n    {=f} = {1}.enter_context(noted({L}, {f}))\n    {1}.callback({L}.append, {f})\n    {block}",
        "with noted({L}, {f}) as {+f}:\n    {block}",
        "with Guarded({L}):\n    {block}",
        "with contextlib.suppress(KeyError):\n    {F} = {D}['zz']\n    {block}",
        "with contextlib.nullcontext({f}) as {+f}:\n    {block}",
        "{+t} = queue.Queue()\n{1}.put({f})\n{1}.put({f})\n{=f} = {1}.get() * 0.5 + {1}.get()",
        "{+t} = collections.Counter()\n{1}['a'] += {f}\n{1}['a'] += {f}\n{=f} = {1}['a'] + {1}['b']",
        "{+t} = collections.defaultdict(list)\n{1}['k'].append({f})\n{1}['k'].append({f})\n{=f} = sum({1}['k'])",
        "{+t} = collections.ChainMap({}, {D})\n{1}['a'] = {f}\n{=f} = {1}['a'] * {D}['a']",
        "match {P}:\n    case (x, y) if x < {k}:\n        {=f} = y\n    case Point(x=x):\n        {=f} = x * 0.5",
        "match [{f}, {f}, {f}]:\n    case [first, *others]:\n        {F} += first * sum(others)",
        "match {'k': {f}, 'n': 1}:\n    case {'k': value, **rest}:\n        {F} += value * len(rest)",
        "{+y} = functools.partial(lambda p, q, r=0.5: p * q + r, {f}, r={f})\n{=f} = math.tanh({1}({f}))",
        "{+y} = operator.methodcaller('append', {f})\n{1}({L})",
        "del {L}[0]\n{L}.append({f})",
        "{L}[:1] = [{f}, {f}]",
        "for {+n}, {+f} in enumerate(list({D}.values())):\n    {block}",
        "for {+f} in reversed({Q}):\n    {F} += math.tanh({1})",
    ],
    observed={"l": "total({x})", "d": "total({x})", "q": "total({x})", "p": "total({x})", "s": "({x}.a + {x}.b.sum())"},
    common=0.25,
    length=(2, 6),
    refused=0.2,
)

FAMILIES = (LIBRARY,)
