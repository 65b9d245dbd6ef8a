"""Control flow: generators, exceptions, ``with``, closures with state, recursion, comprehensions, unpacking."""

from __future__ import annotations

from ..grammar import Family

GENERATORS = Family(
    "generators",
    settings=["ORDER = 2?"],
    prelude="""\
import itertools


def halves(s, n=3):
    for _ in range(n):
        s = s * 0.5
        yield s


def sent(s):
    while True:
        got = yield s
        s = s * 0.5 + (0.0 if got is None else got)


def through(xs, s):
    total = yield from (x * s for x in xs)
    yield s


def returned(s):
    yield s
    return s * s


def delegating(s):
    r = yield from returned(s)
    yield r * 2.0


class Counter:
    def __init__(self, s, n):
        self.s, self.n = s, n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        self.s = math.sin(self.s) + 0.2
        return self.s


def cleaned(s, log):
    try:
        yield s
        yield s * 2.0
    finally:
        log.append(s * 3.0)

""",
    start=("{=l} = [{F}, {F}]", "{=g} = sent({f})\nnext({1})", "{=e} = iter([{f}, {f}, {f}, {f}, {f}, {f}])"),
    expressions={
        "f": [
            "sum(halves({f}))",
            "next(halves({f}))",
            "{G}.send({f})",
            "next({G})",
            "next({E}, {f})",
            "sum(x * {f} for x in {L})",
            "sum(through({L}, {f}))",
            "sum(delegating({f}))",
            "sum(Counter({f}, 3))",
            "list(itertools.accumulate({L}, lambda p, q: p * 0.5 + q))[-1]",
            "sum(p * q for p, q in zip({L}, halves({f})))",
            "sum(itertools.islice(sent({f}), 3))",
            "max(halves({f}))",
            "functools.reduce(lambda p, q: p * q + {f}, {L})",
            "sum(map(lambda p, q: p * q, {L}, {L}[::-1]))",
            "[*halves({f})][{i}]",
            "sum({p: q for p, q in enumerate({L})}.values())",
            "{L}[{j}]",
            "list(reversed({L}))[0]",
            "sum(x for row in [{L}, {L}] for x in row if x < {f})",
        ],
        "v": ["np.array(list(halves({f})))", "np.fromiter(halves({f}), float)", "np.array([x * {f} for x in {v}])"],
    },
    statements=[
        "for {+f} in halves({f}):\n    {block}",
        "for {+f} in tuple({L}):\n    {block}",
        "for {+n}, {+f} in enumerate({L}[:3]):\n    {block}",
        "for {+f} in {L}:\n    {F} += {1} * {f}",
        "for {+f}, {+u} in zip({L}, Counter({f}, 2)):\n    {block}",
        "{L}.append({f})",
        "{L}[{j}] = {f}",
        "{L}[{j}] *= {f}",
        "{=g} = sent({f})\nnext({1})",
        "{=e} = map(lambda s: s * {F}, [{f}, {f}, {f}, {f}])",
        "{+t} = zip([{f}, {f}], [{f}, {f}])\n{=e} = (p * q for p, q in {1})",
        "{=l} = [x * {f} for x in {L}]",
        "{=l} = [x for x in {L} if x > {f}] + [{f}, {f}]",
        "{=f}, *{=l} = [{f}, {f}, {f}, {f}]",
        "for {+f} in cleaned({f}, {L}):\n    break",
        "{+y} = cleaned({f}, {L})\n{=f} = next({1})\n{1}.close()",
        "while {+q} := [x for x in {L} if x > 5.0]:\n    break",
        "{=f} = math.sin({f} + (t_ := {f}) * t_)",
    ],
    observed={"l": "sum({x})", "g": "next({x})", "e": "sum({x})"},
)

EXCEPTIONS = Family(
    "exceptions",
    prelude="""\
from contextlib import contextmanager, suppress


class Stop(Exception):
    def __init__(self, s, log):
        super().__init__(s)
        self.s = s
        log.append(s * 0.5)


def risky(s, log, k=0.3):
    log.append(s)
    if s > k:
        raise ValueError(s * 2.0)
    return s * s


def stops(s, log):
    raise Stop(s, log)


@contextmanager
def scaled(log, s):
    log.append(s)
    try:
        yield s * 2.0
    finally:
        log[0] = log[0] * s


class Guard:
    def __init__(self, log, s):
        self.log, self.s = log, s

    def __enter__(self):
        self.log.append(self.s)
        return self.s

    def __exit__(self, kind, error, trace):
        self.log[-1] = self.log[-1] * 0.5
        if error is not None and error.args:
            self.log.append(error.args[0])
        return kind is ValueError


def tidy(s, log):
    try:
        return risky(s, log)
    except ValueError as error:
        return error.args[0] * 0.3
    finally:
        log.append(s * 0.1)

""",
    start=("{=l} = [{F}, {f}]",),
    expressions={"f": ["tidy({f}, {L})", "{L}[0]", "{L}[-1]", "sum({L})", "({f} if {c} else tidy({f}, {L}))"]},
    statements=[
        "try:\n    {F} = risky({f}, {L})\n    {block}\nexcept ValueError as error:\n    {F} = error.args[0] * {f}\n    {block}",
        "try:\n    {F} = risky({f}, {L})\nexcept ValueError as error:\n    {F} = error.args[0] * {f}\nelse:\n    {block}\nfinally:\n    {block}",
        "try:\n    stops({f}, {L})\nexcept Stop as stop:\n    {F} = stop.s * {f}",
        "try:\n    {F} = risky({f}, {L}, {k})\nexcept (KeyError, ValueError):\n    {block}",
        "with suppress(ValueError):\n    {block}\n    {F} = risky({f}, {L})",
        "with scaled({L}, {f}) as {+f}:\n    {block}",
        "with Guard({L}, {f}) as {+f}:\n    {block}\n    {F} = risky({1}, {L})",
        "for {+n} in range(3):\n    try:\n        {F} = risky({f}, {L})\n    except ValueError:\n        continue\n    finally:\n        {F} = {F} * 0.5\n    {block}",
        "for {+n} in range(3):\n    if {c}:\n        break\n    {block}\nelse:\n    {block}",
        "{L}[5 if {c} and {c} else 0] = {f}",
        "try:\n    {F} = {L}[17]\nexcept IndexError:\n    {block}",
        "try:\n    {F} = {f} / ({F} - {F})\nexcept ZeroDivisionError:\n    {block}",
        "try:\n    try:\n        stops({f}, {L})\n    except Stop as stop:\n        raise ValueError(stop.s * {f}) from stop\nexcept ValueError as error:\n    {F} = error.args[0] + error.__cause__.s",
        "if {c}:\n    raise KeyError({f}, 'why')",
        "if {c}:\n    return {f} * {f}",
        "{+t} = {L}.pop() if len({L}) > 2 else {f}\n{=f} = math.sin({1})",
    ],
    observed={"l": "sum({x})"},
)

CLOSURES = Family(
    "closures",
    settings=["ORDER = 2?"],
    prelude="""\
STATE = {"s": 0.5, "l": [1.0]}
TOTAL = 0.0


def counter(s):
    total = 0.0

    def add(x):
        nonlocal total, s
        total = total + x * s
        s = s * 0.9
        return total

    def read():
        return total

    return add, read


def accumulate(x):
    global TOTAL
    TOTAL = TOTAL + x
    return TOTAL


def default(x, kept=[], *, memo={}):
    kept.append(x)
    memo["last"] = x
    return sum(kept) + memo["last"]


def fib(n, x):
    return x if n < 2 else fib(n - 1, x * 0.9) + fib(n - 2, x) * x


def compose(*fs):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)


def twice(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * f(*args, **kwargs)
    return inner


@twice
def squared(x, k=0.5):
    return x * k


def kept(f):
    def inner(x):
        inner.last = f(x)
        return inner.last
    inner.last = 0.0
    return inner


wave = kept(math.sin)

""",
    start=("{=add}, {=read} = counter({f})", "{=s} = [lambda q, s={F}: q * s, lambda q: q * {F}]"),
    expressions={
        "f": [
            "{ADD}({f})",
            "{READ}()",
            "accumulate({f})",
            "TOTAL",
            "default({f})",
            "fib(4, {f})",
            "compose(math.sin, lambda q: q * {f}, math.tanh)({f})",
            "squared({f})",
            "squared({f}, k={f})",
            "wave({f})",
            "wave.last",
            "{S}[{j}]({f})",
            "sum(g({f}) for g in {S})",
            "STATE['s']",
            "STATE['l'][-1]",
            "(lambda q: q * {F} + {f})({f})",
            "functools.partial(squared, k={f})({f})",
        ]
    },
    statements=[
        "STATE['s'] = {f}",
        "STATE['l'].append({f})",
        "STATE['s'] *= {f}",
        "{=add}, {=read} = counter({f})",
        "{S}.append(lambda q, k={f}: q * k)",
        "for {+n} in range(3):\n    {S}.append(lambda q: q * {F} * {1})",
        "def {+y}(q):\n    r = q * {f}\n    if r > 0.2:\n        return r * {f}\n    return math.sin(r)\n{=f} = {1}({f}) + {1}({f})",
        "def {+y}(n, q):\n    return q if n == 0 else {1}(n - 1, q * {F}) * 0.5 + {f}\n{=f} = math.tanh({1}(3, {f}))",
        "{+y} = lambda *a, **k: sum(a) * sum(k.values())\n{=f} = {1}({f}, {f}, p={f})",
        "{=f} = math.tanh(STATE.get('s', 0.0) * {f})",
        "{=f} = math.tanh(STATE.pop('q', {f}))\nSTATE['q'] = {f}",
        "{+y} = {'p': {f}, **STATE}\n{=f} = math.tanh({1}['p'] * {1}['s'])",
        "squared.__kwdefaults__ = None",
    ],
    observed={"read": "{x}()", "s": "{x}[-1](0.7)"},
)

FAMILIES = (GENERATORS, EXCEPTIONS, CLOSURES)
