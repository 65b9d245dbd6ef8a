"""A place that holds None or a number, one text or another, by a traced condition: every operation does as in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from specialise.state_tester import verdict

import morula as mo
from morula.testing import check_gradients

PROGRAMS = {}


def of(*calls):
    def add(f):
        PROGRAMS[f.__name__] = (f, calls)
        return f

    return add


@of((0.7,), (3.5,), (-1.0,))
def none_between_iterations(x):
    a = None
    total = 0.0
    for i in range(9):
        if a is not None:
            total = total + a * x
        a = x * (i + 1.0) if total < 3.0 else None
    return total


@of((1.3,), (7.0,))
def a_status(x):
    status = "start"
    for _ in range(9):
        if status == "start":
            x = x * 2.0
            status = "go" if x < 10.0 else "stop"
        elif status == "go":
            x = x + 1.0
            if x > 9.0:
                status = "stop"
        else:
            x = x * 0.5
            status = "start"
    return x


@of((0.4,), (0.95,))
def the_best_so_far(x):
    best = None
    for y in (x, 0.9 * x, x * x, 0.7, x + 0.1):
        if y > 0.5 and (best is None or y < best):
            best = y * x
    return -x if best is None else best


@of((1.0,), (1.7,))
def a_bracket(x):
    low = high = None
    for _ in range(12):
        y = x * x - 2.0
        if y < 0.0:
            low = x
        else:
            high = x
        if low is not None and high is not None:
            x = 0.5 * (low + high) - 0.01 * y
        elif low is None:
            x = x - 1.0
        else:
            x = x + 1.0
    return x


@of((2.0,), (0.1,))
def none_where_a_number_is_needed(x):
    a = None
    for i in range(5):
        if x * i > 3.0:
            a = x
        if i > 3:
            x = x + a
    return x


@of((0.4,), (1.9,))
def an_error_that_is_caught(x):
    last, count = None, 0
    for _ in range(9):
        try:
            x = x + last
        except TypeError:
            count = count + 1
            x = x + 0.3
        last = x * 0.1 if x < 2.0 else None
    return x * count


@of((0.6,), (3.0,))
def a_pair_or_nothing(x):
    pair = None
    for i in range(9):
        if pair is not None:
            a, b = pair
            x = x + a * b
        pair = (x, 0.1 * i) if x < 2.0 else None
    return x


@of((0.6,), (3.0,))
def a_list_to_walk_or_nothing(x):
    items = None
    for _ in range(9):
        if items:
            for e in items:
                x = x + e
        items = [0.1 * x, 0.2] if x < 2.5 else None
    return x


@of((0.6,), (3.0,))
def a_default(x):
    d = None
    for _ in range(9):
        x = x + (d or 0.5)
        d = x * 0.1 if x < 3.0 else None
    return x


@of((0.7,))
def a_key(x):
    costs = {"low": 1.0, "high": 3.0}
    state, total = "low", 0.0
    for _ in range(9):
        total = total + costs[state] * x
        state = "high" if total % 2.0 < 1.0 else "low"
    return total


@of((0.3,))
def a_function(x):
    f = math.sin
    for _ in range(9):
        x = f(x) + 0.5
        f = math.cos if x > 0.7 else math.sin
    return x


@of((0.6,))
def a_class(x):
    kind = float
    for i in range(7):
        x = x + kind(0.7 + i)
        kind = int if x > 2.0 else float
    return x


@of((0.6,), (2.9,))
def a_pattern(x):
    mode = None
    for _ in range(30):
        match mode:
            case None:
                x = x + 1.0
                mode = "up"
            case "up":
                x = x * 1.1
                if x > 3.0:
                    mode = "down"
            case "down":
                x = x * 0.5
                if x < 1.0:
                    mode = None
    return x


@of((0.6,), (4.0,))
def the_last_value_of_a_while(x):
    before, count = None, 0
    while before is None or abs(x - before) > 1e-10:
        before = x
        x = 0.5 * (x + 2.0 / x)
        count += 1
        if count > 50:
            break
    return x


class Solver:
    def __init__(self):
        self.best, self.status = None, "new"

    def step(self, x):
        if self.best is None or x < self.best:
            self.best, self.status = x, "better"
        else:
            self.status = "same"


@of((0.2,), (0.5,), (1.5,))
def attributes(x):
    solver = Solver()
    for i in range(6):
        if x * i > 0.9:
            solver.step(x * x * (3.0 - i))
    if solver.status == "better":
        return solver.best * 2.0
    return x if solver.status in ("new",) else solver.best


@of((0.6,), (0.006,))
def a_returned_dict(x):
    out = {"status": None, "value": None}
    for _ in range(9):
        if x > 2.0:
            out["status"], out["value"] = "big", x
            break
        x = x * 1.3
    return out


def found(x, i):
    return None if x > i else x * i


@of((2.3,))
def a_function_that_returns_none(x):
    total = 0.0
    for i in range(4):
        for j in range(4):
            y = found(x, i + j)
            if y is None:
                continue
            total = total + y
    return total


@of((2.0,), (0.5,))
def texts_are_returned(x):
    text = "a" if x > 1 else "b"
    return {"text": text, "both": [text, x], "said": f"<{text}>", "long": text * 2 + "!"}


@of((np.array([1.5, 2.0]),), (np.array([-1.5, 2.0]),))
def an_array_that_is_written_to(a):
    kept = None
    for i in range(4):
        if a[0] > i:
            kept = a * i
        elif kept is not None:
            kept[0] = kept[0] + 1.0
    return a * 2.0 if kept is None else kept


@of((2.0, [1.0, 2.0]), (-2.0, [1.0, 2.0]))
def an_argument_is_changed(x, items):
    for i in range(5):
        items[0] = None if x * i > 3.0 else x
    return x


JUMPS = {"none_between_iterations", "a_bracket", "a_class"}
"""Programs with jumps near the points of their calls: differences do not apply."""


def number(y):
    y = y["value"] if isinstance(y, dict) and "value" in y else y
    return np.sum(y) if isinstance(y, np.ndarray) else y


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_as_python(name, target):
    f, calls = PROGRAMS[name]
    compiled = mo.jit(f, target=target)
    for args in calls:
        assert verdict(f, compiled, args) == ("right", "")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "texts_are_returned"])
def test_gradients_are_the_eager_ones(name, target):
    f, calls = PROGRAMS[name]
    gradient = mo.grad(lambda x, *rest: number(f(x, *rest)))
    compiled = mo.jit(gradient, target=target)
    for args in calls:
        try:
            expected = gradient(*args)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(*args)
            continue
        np.testing.assert_allclose(compiled(*args), expected, rtol=1e-12)
        if type(args[0]) is float and name not in JUMPS:
            check_gradients(lambda x, rest=args[1:]: number(f(x, *map(list, rest))), args[0], order=1, rtol=1e-5)


def test_a_second_derivative(target):
    for f in (none_between_iterations, a_bracket, the_best_so_far):
        second = mo.grad(mo.grad(f))
        assert mo.jit(second, target=target)(0.95) == pytest.approx(second(0.95), rel=1e-10)


def test_an_argument_that_may_be_the_result_is_itself(target):
    def f(x, a):
        kept = None
        for i in range(3):
            kept = a if x > i else None
        return kept

    a = np.array([1.0, 2.0])
    compiled = mo.jit(f, target=target)
    assert compiled(0.5, a) is None
    np.testing.assert_array_equal(compiled(5.0, a), a)


def refused_as_a_scalar(x):
    return None if x > 1.0 else "text" if x > 0.5 else x * x


def test_the_gradient_of_what_is_no_number_on_this_path_is_an_error(target):
    compiled = mo.jit(mo.grad(refused_as_a_scalar), target=target)
    assert compiled(0.25) == 0.5
    with pytest.raises(mo.BadInput, match=r"returned None, which has no derivative"):
        compiled(2.0)
    with pytest.raises(mo.BadInput, match=r"needs a real scalar output, but .* returned str 'text'"):
        compiled(0.75)


def none_on_a_path(x):
    return None if x > 1.0 else x * x


def a_list_on_a_path(x):
    return [x] if x > 1.0 else x * x


@pytest.mark.parametrize("f", [none_on_a_path, a_list_on_a_path])
def test_a_cotangent_of_two_kinds_is_refused(f, target):
    def pulled(x, n):
        for _ in range(n):
            _, back = mo.pullback(f, x)
            x = x + back(1.0)[0]
        return x

    with pytest.raises(
        mo.BadInput,
        match=r"its cotangent is ambiguous|on one path and a list of length 1 on|a list of length 1 on one path and",
    ):
        mo.jit(pulled, target=target)(0.25, 5)


def test_an_array_of_two_kinds_is_refused():
    def f(x):
        a = np.zeros(2)
        for i in range(3):
            kept = None if x > i else "text"
            a[i % 2] = np.sum([kept, x])
        return a

    with pytest.raises(mo.BadInput, match=r"a number or an array is needed, but this is a NoneType"):
        mo.jit(f)(0.25)


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_questions_about_a_value_that_a_call_returns(x):
    def kind(x):
        return np.ones(2) if x > 0.0 else None

    def f(x):
        return kind(x) is None, isinstance(kind(x), np.ndarray), hasattr(kind(x), "shape"), type(kind(x)) is np.ndarray

    assert mo.jit(f, target="native")(x) == f(x)
