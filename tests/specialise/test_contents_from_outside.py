"""Compiled programs read outside containers anew at each call: items, order, length and keys."""

from __future__ import annotations

import copy
import statistics
from array import array
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from functools import partial
from types import ModuleType

import numpy as np
import pytest

import morula as mo


class Settings:
    rate = 1.0


NUMBERS = [1.0, 2.0, 3.0]
ROWS = [[1.0, 2.0], [3.0, 4.0]]
ARRAYS = [np.ones(2), np.zeros(2)]
TABLE = {"a": 1.0, "b": 2.0}
NAMED = {"a": np.ones(2)}
MEMBERS = {1, 2}
QUEUE = deque([1.0, 2.0])
ORDERED = OrderedDict(a=1.0, b=2.0)
COUNTS = Counter(a=1)
FALLING_BACK = defaultdict(list, a=[1.0])
NESTED = ([1.0], {"k": [2.0]})
SETTINGS = Settings()


class Slotted:
    __slots__ = ("a", "b")


SLOTTED = Slotted()
SLOTTED.a = 1.0
PAIR = namedtuple("Pair", "first second")(1.0, [2.0])
CHAINED = ChainMap({"a": 1.0}, {"b": 2.0})
BYTES = bytearray(b"ab")
DOUBLES = array("d", [1.0, 2.0])
MODULE = ModuleType("of_the_test")
MODULE.items = [1.0]
BOUND = partial(lambda x, k, v: x * k + sum(v), k=2.0, v=[1.0])


def of_defaults(x, *, weights=[1.0]):  # noqa: B006 - it is changed
    return x * sum(weights)


PLACES = ["NUMBERS", "ROWS", "ARRAYS", "TABLE", "NAMED", "MEMBERS", "QUEUE", "ORDERED", "COUNTS", "FALLING_BACK", "NESTED", "CHAINED", "BYTES", "DOUBLES"]  # fmt: skip


def grown():
    NUMBERS.append(4.0)
    ROWS[0].append(5.0)
    ROWS[1].append(6.0)
    ARRAYS[0][0] += 5.0
    ARRAYS.append(np.ones(2))
    TABLE["c"] = 7.0
    NAMED["a"][0] = 3.0
    NAMED["b"] = np.zeros(2)
    MEMBERS.add(3)
    QUEUE.append(3.0)
    ORDERED.move_to_end("a")
    COUNTS["b"] += 2
    FALLING_BACK["b"].append(3.0)
    NESTED[0].append(9.0)
    NESTED[1]["k"].append(9.0)
    SETTINGS.rate = 3.0
    SETTINGS.more = 4.0
    SLOTTED.b = 2.0
    PAIR.second.append(3.0)
    CHAINED["b"] = 9.0
    BYTES.append(3)
    DOUBLES[0] = 7.0
    MODULE.more = 3.0
    MODULE.items.append(2.0)
    BOUND.keywords["v"].append(2.0)
    of_defaults.__kwdefaults__["weights"].append(2.0)


def shrunk():
    NUMBERS[:] = [5.0]
    ROWS.pop()
    ARRAYS.pop(0)
    del TABLE["a"]
    NAMED["a"] = np.full(2, 8.0)
    MEMBERS.clear()
    QUEUE.rotate()
    ORDERED["a"] = 9.0
    COUNTS.clear()
    FALLING_BACK.clear()
    NESTED[1].clear()
    del SETTINGS.rate


def unpacked(x):
    try:
        a, b = QUEUE
    except ValueError:
        return -x
    return (a + b) * x


def looped(x):
    for i, v in enumerate(QUEUE):
        x += i * v
    return x


def while_long(x):
    i = 0
    while i < len(NUMBERS):
        x += NUMBERS[i]
        i += 1
    return x


def matched(x):
    match ROWS:
        case [[a, b], c]:
            return a * x
        case _:
            return -x


def matched_key(x):
    match TABLE:
        case {"c": c, **rest}:
            return c * len(rest)
        case _:
            return x


def starred(x):
    def count(*args, **kwargs):
        return len(args) + 10 * len(kwargs)

    return count(*NUMBERS, **TABLE) * x


def chosen(x):
    items = NUMBERS if x > 0 else [x]
    return sum(items)


def missing(x):
    try:
        return TABLE["c"] * x
    except KeyError:
        return -x


def too_far(x):
    try:
        return NUMBERS[3] * x
    except IndexError:
        return -x


READS = [
    lambda x: len(NUMBERS) * x, lambda x: sum(NUMBERS) * x, lambda x: max(NUMBERS) * x, lambda x: [v * x for v in NUMBERS],
    lambda x: NUMBERS[1:], lambda x: NUMBERS[-1] * x, lambda x: 4.0 in NUMBERS, lambda x: NUMBERS == [1.0, 2.0, 3.0],
    lambda x: np.array(NUMBERS) * x, lambda x: [*NUMBERS, x], lambda x: NUMBERS + [x], lambda x: tuple(NUMBERS),
    lambda x: sorted(NUMBERS)[-1] * x, lambda x: list(reversed(NUMBERS))[0] * x, lambda x: NUMBERS.count(4.0) * x,
    lambda x: list(zip(NUMBERS, [x] * 9))[-1], lambda x: any(v > 3 for v in NUMBERS), lambda x: (NUMBERS and x) or 0.0,
    lambda x: NUMBERS[int(x)] if len(NUMBERS) > 2 else x, lambda x: NUMBERS.copy()[-1] * x, lambda x: np.sum(NUMBERS) * x,
    lambda x: sum(map(sum, ROWS)) * x, lambda x: [len(row) * x for row in ROWS], lambda x: np.array([ROWS[0]]) * x,
    lambda x: np.mean(ROWS[0]) * x, lambda x: statistics.mean(NUMBERS) * x, lambda x: copy.copy(ARRAYS)[0] * x, lambda x: max(map(len, ROWS)) * x, lambda x: [*ROWS[0], x], lambda x: copy.deepcopy(ROWS)[0],
    lambda x: np.stack(ARRAYS) * x, lambda x: sum(ARRAYS) * x, lambda x: np.sum(ARRAYS[0]) * x, lambda x: np.vstack([ARRAYS[0]]) * x,
    lambda x: list(ARRAYS)[0] * x, lambda x: ARRAYS.copy()[0] * x, lambda x: ARRAYS[0:1][0] * x, lambda x: (ARRAYS + [x])[0] * x,
    lambda x: len(TABLE) * x, lambda x: sum(TABLE.values()) * x, lambda x: list(TABLE), lambda x: TABLE.get("c", x), lambda x: "c" in TABLE,
    lambda x: {**TABLE}, lambda x: TABLE | {"d": x}, lambda x: TABLE.keys() == {"a", "b"}, lambda x: next(iter(reversed(TABLE))) == "b",
    lambda x: {**NAMED}["a"] * x, lambda x: dict(NAMED)["a"] * x, lambda x: NAMED.get("a") * x, lambda x: [v * x for v in NAMED.values()],
    lambda x: 3 in MEMBERS, lambda x: len(MEMBERS) * x, lambda x: MEMBERS | {7}, lambda x: sum(MEMBERS) * x, lambda x: bool(MEMBERS),
    lambda x: sum(QUEUE) * x, lambda x: list(QUEUE), lambda x: QUEUE[-1] * x, lambda x: list(ORDERED), lambda x: list(ORDERED.items())[-1],
    lambda x: sum(COUNTS.values()) * x, lambda x: COUNTS["b"] * x, lambda x: [len(v) * x for v in FALLING_BACK.values()],
    lambda x: np.array(NESTED[0]) * x, lambda x: list(NESTED[1].values()), lambda x: len(NESTED[0]) * x,
    lambda x: SETTINGS.rate * x, lambda x: getattr(SETTINGS, "more", x), lambda x: hasattr(SETTINGS, "more"),
    lambda x: vars(SETTINGS).get("more", x), lambda x: len(SETTINGS.__dict__) * x,
    of_defaults, BOUND, lambda x: BOUND(x), lambda x: of_defaults(x), lambda x: hasattr(SLOTTED, "b"), lambda x: getattr(SLOTTED, "b", x),
    lambda x: len(PAIR.second) * x, lambda x: sum(PAIR.second) * x, lambda x: CHAINED["b"] * x, lambda x: len(BYTES) * x,
    lambda x: sum(DOUBLES) * x, lambda x: np.asarray(DOUBLES) * x, lambda x: hasattr(MODULE, "more"), lambda x: sum(MODULE.items) * x,
    lambda x: f"{NUMBERS} {ROWS}" == "[1.0, 2.0, 3.0] [[1.0, 2.0], [3.0, 4.0]]", lambda x: str(NUMBERS) == "[1.0, 2.0, 3.0]",
    unpacked, looped, while_long, matched, matched_key, starred, chosen, missing, too_far,
]  # fmt: skip


def outcome(f, x):
    try:
        return repr(f(x))
    except (LookupError, ValueError, TypeError) as error:
        return (
            f"{type(error).__name__}: {str(error).splitlines()[0] if not isinstance(error, mo.BadInput) else 'refused'}"
        )


@pytest.fixture
def outside():
    """Puts back what the tests change."""
    before = copy.deepcopy({name: globals()[name] for name in PLACES})
    yield
    globals().update(before)
    vars(SETTINGS).clear()
    MODULE.items[:] = BOUND.keywords["v"][:] = of_defaults.__kwdefaults__["weights"][:] = [1.0]
    PAIR.second[:] = [2.0]
    for holder, name in ((SLOTTED, "b"), (MODULE, "more")):
        if hasattr(holder, name):
            delattr(holder, name)


@pytest.mark.parametrize("f", READS)
def test_a_change_is_seen(outside, f):
    compiled = mo.jit(f, target="native")
    for change in (None, grown, shrunk):
        if change is not None:
            change()
        expected = outcome(f, 2.0)
        if "not in list" not in expected:
            assert outcome(compiled, 2.0) == expected


def test_a_change_is_seen_on_each_target(target, outside):
    def f(x):
        return sum(NUMBERS) * x, np.stack(ARRAYS) * x, list(ORDERED), len(TABLE) * x, SETTINGS.rate * x

    compiled = mo.jit(f, target=target)
    for change in (list, grown, shrunk):
        change()
        assert outcome(compiled, 2.0) == outcome(f, 2.0)


def test_another_entry_may_change(target, outside):
    """A program that reads one entry is compiled once, whatever is done with the others."""
    compiled = mo.jit(lambda x: TABLE["a"] * x + TABLE.get("b", 0.0) + ("c" in TABLE), target=target)
    for k in range(3):
        TABLE[f"step {k}"] = k
        assert compiled(2.0) == 4.0
    assert sum(len(form.programs) for form in compiled.forms.values()) == 1


NAMES, TEXTS = np.array(["a", "b"], dtype=object), np.array(["a", "b"])
DAYS = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")


def test_methods_of_arrays_of_objects_texts_and_dates(target):
    def f(x):
        y = x * len(NAMES.copy()) * len(TEXTS.copy().tolist()) * DAYS.copy().shape[0]
        return y * x * (2.0 if "b" in NAMES.tolist() else 1.0)

    assert mo.jit(mo.value_and_grad(f), target=target)(1.5) == mo.value_and_grad(f)(1.5) == (36.0, 48.0)
