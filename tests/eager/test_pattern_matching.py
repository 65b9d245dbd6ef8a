"""`match`: every kind of pattern, with active subjects and captures."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo


@pytest.mark.parametrize("command", ["double", "square", "other", 3, None, True])
def test_literal_patterns(check, command):
    def f(x, command):
        match command:
            case "double":
                return 2 * x
            case "square":
                return x * x
            case 3:
                return x**3
            case None:
                return math.sin(x)
            case True:
                return -x
            case _:
                return 1 / x

    check(f, 1.5, command)


def test_no_case_matches(check):
    def f(x):
        y = x
        match "nothing":
            case "something":
                y = 0.0
        return y * y

    check(f, 1.5)


def test_a_capture_pattern_binds_an_active_value(check):
    def f(x):
        match x * x:
            case y:
                return y * x + y

    check(f, 1.5)


def test_or_patterns(check):
    def f(x):
        total = 0.0
        for k in range(5):
            match k:
                case 0 | 2 | 4:
                    total += x * k
                case 1 | 3 as odd:
                    total *= x + odd
        return total

    check(f, 1.2)


def test_sequence_patterns(check):
    def norm(v):
        match v:
            case []:
                return 0.0
            case [x]:
                return abs(x)
            case [x, y]:
                return math.hypot(x, y)
            case (x, *rest):
                return x * norm(rest) + len(rest)

    check(lambda v: norm(v) + norm(v[:1]) + norm(tuple(v[2:])) + norm([]), [1.0, 2.0, 3.0, 4.0])


def test_a_starred_middle(check):
    def f(v):
        match v:
            case [first, *middle, last]:
                return first * last + sum(m * m for m in middle)

    check(f, [1.0, 2.0, 3.0, 4.0])


def test_mapping_patterns(check):
    def energy(shape):
        match shape:
            case {"kind": "circle", "r": r}:
                return math.pi * r**2
            case {"kind": "box", "size": [w, h], **rest}:
                return w * h + len(rest) * w
            case {}:
                return 0.0

    def f(x, y):
        return (
            energy({"kind": "circle", "r": x, "name": "c"})
            + energy({"kind": "box", "size": (x, y), "extra": 1, "more": 2})
            + energy({"kind": "none"})
        )

    check(f, 1.5, 2.0)


def test_a_double_star_captures_the_rest(check):
    def f(d):
        match d:
            case {"a": a, **rest}:
                return a * sum(rest.values())

    check(f, {"a": 1.5, "b": 2.0, "c": 3.0})


@dataclass
class Add:
    left: object
    right: object


@dataclass
class Mul:
    left: object
    right: object


class Leaf:
    __match_args__ = ("value",)

    def __init__(self, value):
        self.value = value


def evaluate(tree):
    match tree:
        case Add(Leaf(a), Leaf(b)):
            return a + b
        case Add(left, right):
            return evaluate(left) + evaluate(right)
        case Mul(left=Leaf(value=0.0)) | Mul(right=Leaf(value=0.0)):
            return 0.0
        case Mul(left, right=r):
            return evaluate(left) * evaluate(r)
        case Leaf(v):
            return v
        case float() | int():
            return tree


def test_class_patterns_evaluate_an_expression_tree(check):
    def f(x, y):
        return evaluate(Mul(Add(Leaf(x), Leaf(y)), Add(Mul(Leaf(x), Leaf(x)), y))) + evaluate(Mul(x, Leaf(0.0)))

    check(f, 1.5, 2.0)


def test_builtin_class_patterns_capture_their_subject(check):
    def f(items):
        total = 0.0
        for item in items:
            match item:
                case bool():
                    total *= 2
                case int(n):
                    total *= n
                case float(x):
                    total += x * x
                case str() as s:
                    total += len(s)
                case np.ndarray(shape=(n,)) as a:
                    total += n * a.sum()
        return total

    check(f, [1.5, "abc", 3, True, np.array([1.0, 2.0]), 2.5])


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5, 5.0])
def test_guards(check, x):
    def f(x):
        match (x, x * x):
            case (a, b) if b < 1:
                return a + b
            case (a, b) if (c := a * b) < 5:
                return c * a
            case (a, _) if a > 4:
                return a
        return x**3

    check(f, x)


def test_a_name_captured_by_a_failed_guard_stays_bound(check):
    def f(x):
        match x * x:
            case y if y > 100:
                z = 0.0
            case _:
                z = y * 2
        return z

    check(f, 1.5)


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


def test_value_patterns(check):
    def f(x):
        y = 0.0
        for mode in (Mode.FAST, Mode.SLOW, None):
            match mode:
                case Mode.FAST:
                    y += x * x
                case Mode.SLOW:
                    y *= x
                case math.pi:
                    y = 0.0
        return y

    check(f, 1.5)


def test_nested_patterns_with_as(check):
    def f(state):
        match state:
            case {"pair": (Leaf(a) as leaf, [b, *_]), "scale": (float() | int()) as k}:
                leaf.value = a * b
                return leaf.value * k + a
        return 0.0

    check(lambda x, k: f({"pair": (Leaf(x), [x * 2, 1, 2]), "scale": k}), 1.5, 2.0)


def test_literal_numbers_compare_by_value():
    def f(x):
        match x:
            case -1.5:
                return x * x
            case 2 + 1j:
                return 0.0
            case 1.5:
                return x**3
        return 0.0

    assert mo.gradient(f, 1.5) == (6.75,)
    assert mo.gradient(f, -1.5) == (-3.0,)


def test_match_in_a_loop_with_break_and_return(check):
    def f(x):
        stack, total = ["push", "add", "push", "mul", "stop", "add"], x
        for op in stack:
            match op:
                case "push":
                    continue
                case "add":
                    total += x
                case "mul":
                    total *= x
                case "stop":
                    break
        else:
            return 0.0
        return total

    check(f, 1.5)


class Polar:
    """Its attributes are computed where a pattern reads them."""

    __match_args__ = ("r", "sum")

    def __init__(self, a, b):
        self.a, self.b = a, b

    @property
    def r(self):
        return self.a * self.b

    @property
    def sum(self):
        return self.a + self.b


class Powers(Sequence):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError
        return self.x ** (i + 2)


class Squares(Mapping):
    def __init__(self, **entries):
        self.entries = entries

    def __getitem__(self, key):
        return self.entries[key] * self.entries[key]

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)


def test_what_a_pattern_reads_of_an_object_is_computed_on_the_tape(check):
    def f(o):
        match o:
            case Polar(r=r) if r > 100:
                return r
            case Polar(r, sum=(float() as s)):
                return r * s
            case [first, Polar(q, _), *rest]:
                return first * q + len(rest)
            case [a, b, c] | {"a": a, "b": b, "c": c}:
                return a * b + c
            case {"a": a, **others}:
                return a * sum(others.values())
            case float(x) | Polar(x):
                return x
        return 0.0

    def program(x, y):
        given = [Polar(x, y), (x, Polar(x, y), 1, 2), Powers(x), Squares(a=x, b=y, c=x), Squares(a=y, d=x), x * y, "no"]
        return sum(k * f(o) for k, o in enumerate(given, 1))

    check(program, 1.5, 0.7)


def test_the_errors_of_patterns_are_python_s():
    def positional(x):
        match x:
            case Polar(a, b, c):
                return a * b * c

    def twice(x):
        match x:
            case Polar(a, r=b):
                return a * b

    for f in (positional, twice):
        with pytest.raises(TypeError) as plain:
            f(Polar(1.5, 0.7))
        with pytest.raises(TypeError) as ours:
            mo.gradient(lambda x, f=f: f(Polar(x, 0.7)), 1.5)
        assert str(ours.value) == str(plain.value)


def test_a_match_leaves_loops_and_functions_as_its_bodies_say(check):
    def f(x, y):
        total = 0.0
        for item in ([x, 1.0], [], [y], {"stop": x}, [x]):
            match item:
                case []:
                    continue
                case [a]:
                    total += a
                case [a, b] if a > 100:
                    return b
                case [a, _]:
                    total += a * a
                case {"stop": s}:
                    total *= s
                    break
        else:
            return 0.0
        return total * a

    check(f, 1.5, 0.7)
