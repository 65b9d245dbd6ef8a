"""``copy.copy`` and ``copy.deepcopy`` call the copy methods of a class, and keep the identity of objects."""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from typing import Any

import numpy as np
import pytest

BOTH = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Doubled(Pair):
    def __copy__(self) -> Doubled:
        return Doubled(self.a * 2, self.b)

    def __deepcopy__(self, memo: dict[int, Any]) -> Doubled:
        return Doubled(self.a * 2, copy.deepcopy(self.b, memo))


class Reduced(Pair):
    def __reduce__(self) -> Any:
        return Reduced, (self.a * 2, self.b)


class State(Pair):
    def __getstate__(self) -> Any:
        return {"a": self.a * 3, "b": self.b}

    def __setstate__(self, state: Any) -> None:
        self.a, self.b = state["a"], state["b"] * 2


class NewArguments(Pair):
    def __new__(cls, *args: Any) -> NewArguments:
        x = super().__new__(cls)
        x.c = args[0] * 5
        return x

    def __getnewargs__(self) -> Any:
        return (self.a * self.a,)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Metres(float):
    pass


class Field(np.ndarray):
    pass


@BOTH
@pytest.mark.parametrize("cls", [Pair, Doubled, Reduced, State, NewArguments, Slots])
def test_a_class_decides_how_it_is_copied(check, copied, cls):
    def f(a, b):
        q = copied([{"k": cls(a, b)}])[0]["k"]
        r = copied(cls(a, b))
        return q.a * np.sum(q.b) + r.a * np.sum(r.b * r.b) + getattr(r, "c", 0.0)

    check(f, 2.0, np.array([1.0, 3.0]))


@BOTH
def test_numbers_of_every_class(check, copied):
    def f(x, n, k):
        big = copied(np.float64(x) * 2)
        assert type(big) is np.float64
        length = copied(Metres(x))
        assert type(length) is Metres
        return big * length + copied(k) * copied(n) + (np.float64(x) * n).copy()

    check(f, 2.0, 3.0, 5)


@BOTH
def test_an_array_of_a_subclass_stays_one(check, copied):
    def f(x):
        a = x.view(Field)
        for b in (copied(a), a.copy()):
            assert type(b) is Field
            a = a + b * b
        return float(np.sum(np.asarray(a)))

    check(f, np.array([1.0, 2.0]))


@BOTH
def test_containers_of_the_standard_library(check, copied):
    def f(x):
        made = copied(defaultdict(list, {"x": [x, x * x]}))
        line = copied(deque([x * 3, x]))
        error = copied(ValueError(x * x))
        return made["x"][1] * line[0] * error.args[0] + sum(copied({x, x * 7}))

    check(f, 2.0)


def test_what_is_shared_or_circular_stays_so(check):
    def f(x):
        both = [x, x]
        q = copy.deepcopy([both, both])
        q[0][0] = q[0][0] * 5
        p = Pair(x, None)
        p.b = p
        return q[1][0] * both[0] + copy.deepcopy(p).b.b.a

    check(f, 3.0)
