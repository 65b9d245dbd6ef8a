"""The standard library and NumPy's helpers in ordinary programs, with and without active values."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import inspect
import io
import json
import logging
import math
import os
import random
import re
import sys
import time
import types
import typing
import warnings
import weakref
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

V = [1.5, 0.7, 2.5]


@dataclasses.dataclass
class Config:
    rate: float
    inner: list


class Holder:
    def __init__(self, x):
        self.x = x


def captured_print(x):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(x, "text")
    return x * len(out.getvalue().split())


def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, x * x)
        y = stack.enter_context(contextlib.nullcontext(x * 2))
    return y * log[0]


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn(f"x is {x}", stacklevel=1)
        return x * x


def timed(x):
    start = time.perf_counter()
    time.sleep(0)
    return x * x * (time.perf_counter() >= start)


def weakly(x):
    holder = Holder(x)
    return weakref.ref(holder)().x * holder.x


def progress(x):
    from tqdm import tqdm

    y = x
    for _ in tqdm(range(3), disable=True):
        y = y * x
    with tqdm(total=2, disable=True) as bar:
        bar.update(1)
        bar.set_postfix(loss=y)
    return y


PASSING = {
    "dataclasses.asdict": lambda v: dataclasses.asdict(Config(v[0], [v[1]]))["inner"][0] * v[0],
    "dataclasses.astuple": lambda v: dataclasses.astuple(Config(v[0], [v[1]]))[0] * v[0],
    "dataclasses.fields": lambda v: sum(getattr(Config(v[0], v), f.name) for f in dataclasses.fields(Config)[:1]),
    "contextlib.redirect": lambda v: captured_print(v[0]),
    "contextlib.ExitStack": lambda v: exit_stack(v[0]),
    "warnings": lambda v: warned(v[0]),
    "time": lambda v: timed(v[0]),
    "weakref": lambda v: weakly(v[0]),
    "tqdm": lambda v: progress(v[0]),
    "logging": lambda v: (logging.getLogger("quiet").debug("x %s", v[0]), v[0] * v[1])[1],
    "json": lambda v: v[0] * json.loads(json.dumps({"k": [2.5]}))["k"][0],
    "re": lambda v: v[0] * float(re.match(r"(\d+)", "12x").group(1)) * len(re.findall("a", "banana")),
    "os": lambda v: v[0] * len(os.path.join("a", "b")) * (os.environ.get("NOT_THERE") is None),
    "sys": lambda v: v[0] * (sys.version_info >= (3, 11)) * (sys.maxsize > 2),
    "datetime": lambda v: v[0] * datetime.date(2024, 1, 31).day,
    "random": lambda v: v[0] * random.Random(3).random() + v[1] * random.Random(3).gauss(0, 1),
    "random.shuffle": lambda v: (r := random.Random(1), w := list(range(3)), r.shuffle(w), v[w[0]] * v[w[1]])[-1],
    "inspect.signature": lambda v: v[0] * len(inspect.signature(timed).parameters),
    "typing.cast": lambda v: typing.cast(float, v[0]) * v[1],
    "types.MappingProxyType": lambda v: types.MappingProxyType({"a": v[0]})["a"] * v[1],
    "statistics.mean-by-hand": lambda v: math.sqrt(sum((x - sum(v) / 3) ** 2 for x in v)),
    "math-of-ints": lambda v: v[0] * math.factorial(4) + v[1] * math.comb(5, 2) + v[2] * math.gcd(12, 18),
    "numpy-constants": lambda v: v[0] * np.linspace(0, 1, 5)[2] + v[1] * np.arange(3).sum() + np.eye(2)[0, 0] * v[2],
    "numpy-of-scalars": lambda v: (np.array(v) * np.array([[v[0]], [v[1]]])).sum() + np.full(2, v[2]).prod(),
    "numpy-mixed-nesting": lambda v: np.array([[1, v[0], 2], [v[1], np.float64(3), v[2] * 2]]).prod(axis=1).sum(),
    "numpy-of-arrays": lambda v: (
        np.stack([np.array(v), np.array(v) * v[0]]).sum() + np.array([np.ones(2) * v[1]]).sum()
    ),
    "numpy-asarray": lambda v: np.asarray(v) @ np.array(v),
    "tolist": lambda v: sum(x * k for k, x in enumerate((np.array(v) * v[0]).tolist())),
    "item": lambda v: (np.array(v) * v[1]).sum().item() * np.array(v).item(1),
    "float-of-array": lambda v: float(np.array(v).sum()) * float(np.array(v[0])),
    "iterate-array": lambda v: sum(x * y for x, y in zip(np.array(v), reversed(np.array(v)))),
    "array-to-list-tuple-dict": lambda v: (
        list(np.array(v))[0] * tuple(np.array(v))[1] * dict(enumerate(np.array(v)))[2]
    ),
    "array-flat": lambda v: sum(x * k for k, x in enumerate(np.outer(v, v).flat)),
    "ndenumerate": lambda v: sum(i[0] * x * i[1] for i, x in np.ndenumerate(np.outer(v, v))),
    "ndindex": lambda v: sum(np.outer(v, v)[i] * i[0] for i in np.ndindex(3, 3)),
    "unpacked-array": lambda v: max(*(np.array(v) * v[0])) * min(np.array(v)),
    "vectorize": lambda v: np.vectorize(lambda x: x * x + v[0])(np.array(v)).sum(),
    "ufunc-methods": lambda v: np.add.reduce(np.array(v)) * np.multiply.reduce(v) + np.multiply.outer(v, v)[0, 1],
    "ufunc-accumulate": lambda v: np.add.accumulate(np.array(v))[1] * np.multiply.accumulate(np.array(v))[2],
    "direct-dunders": lambda v: (
        v[0].__mul__(v[1]) + float.__add__(v[0], v[2]) + np.ndarray.__mul__(np.array(v), 2.0)[0]
    ),
    "deque-and-defaultdict": lambda v: deque(v)[1] * defaultdict(float, a=v[0])["a"] * OrderedDict(b=v[2])["b"],
    "string-formatting": lambda v: v[0] * len("%.1f" % v[1]) + v[1] * len("{:.0f}".format(v[2])),  # noqa: UP031, UP032
    "list-of-lists-transpose": lambda v: sum(a * b for a, b in zip(*[v, [x * x for x in v]])),
    "bytes-and-hex": lambda v: v[0] * int("ff", 16) + v[1] * int.from_bytes(b"\x01\x02", "big"),
}


@pytest.mark.parametrize("name", PASSING)
def test_library_call(check, name):
    check(PASSING[name], V)


INTEGERS = {
    "range": lambda x, n: sum(x**i for i in range(n)),
    "index": lambda x, n: [1.0, x, x * x, 7.0][n - 1] * x,
    "repeat": lambda x, n: sum([x] * n) + len("ab" * n) * x,
    "zeros": lambda x, n: (np.zeros(n) + x).sum() + np.ones((n, n)).sum() * x,
    "reshape": lambda x, n: (np.arange(6).reshape(n, -1)[n - 1] * x).sum(),
    "arange": lambda x, n: (np.arange(n) * x).sum(),
    "key": lambda x, n: {3: x, "a": 1.0}[n] * x,
    "bits": lambda x, n: x * (n & 1) + x * (n >> 1) + x * n.bit_length(),
    "factorial": lambda x, n: x * math.factorial(n) + x * math.comb(5, n),
    "format": lambda x, n: x * len(f"{n:03d}") + x * len(str(n)) + x * len("%d" % n),  # noqa: UP031
    "json": lambda x, n: x * json.loads(json.dumps(n)),
    "match": lambda x, n: x * x if n == 3 and isinstance(n, int) else 0.0,
    "bool": lambda x, n: x if n and not (n - 3) else 0.0,
    "round": lambda x, n: x * round(2.34567, n) + x * divmod(7, n)[1],
    "numpy-axis": lambda x, n: (np.ones((2, 2, 2, 2)).sum(axis=n) * x).sum(),
    "int64": lambda x, n: x * int(np.int64(n)) + x * (np.arange(n) + 1).sum() + np.array([n, 2]).size * x,
    "size": lambda x, n: x * np.full((n, 2), x).sum() + np.repeat(x, n).sum() + np.tile([x], (n, 2)).sum(),
    "random": lambda x, n: x * np.random.default_rng(0).integers(0, n, size=n).sum(),
    "place": lambda x, n: np.roll([x, 2.0, 3.0, 4.0], n)[np.array([n, 0])].sum() * [x, 1.0, 2.0, 3.0][np.int64(n)],
    "slice": lambda x, n: (np.arange(5.0)[:n] * x).sum() + sum([x, 2.0, 3.0, 4.0][:n]),
    "power": lambda x, n: x**n,
    "while": lambda x, n: [n := n - 1 or 0 for _ in range(3)][0] * 0 + x,
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_arguments_count_and_index(name):
    f = INTEGERS[name]
    slope, _ = ridders(lambda h: f(1.5 + h, 3), 0.01)
    assert mo.grad(f)(1.5, 3) == pytest.approx(slope, rel=1e-6)
    assert mo.gradient(f, 1.5, 3)[0] == pytest.approx(slope, rel=1e-6)
