"""The traceback of an exception in a compiled program shows the user's lines, as Python's does."""

from __future__ import annotations

import functools
import math
import traceback

import numpy as np
import pytest
from raised_lines import raised_lines

import morula as mo


def lines(error):
    return raised_lines(error, __file__, "raised")


def raised(f, x):
    try:
        f(x)
    except Exception as error:
        return error
    return None


class Spring:
    def __init__(self, k):
        self.k = k

    @property
    def softness(self):
        return 1.0 / self.k

    def __call__(self, x):
        return self.force(x) * self.softness

    def force(self, x):
        if x > 10.0:
            raise OverflowError(f"too long: {x}")
        return self.k * x


def of_a_method(x):
    return Spring(x)(11.0 + x)


def of_a_property(x):
    return Spring(x - x)(1.0)


def of_a_closure(x):
    def inner(y):
        return math.log(y - 2.0)

    z = x + 1.0
    return inner(z) + 1.0


def of_a_lambda(x):
    g = lambda y: y // (x - 1.0)  # noqa: E731
    return g(x) * 2.0


def of_a_loop(x):
    total = 0.0
    while total < 10.0:
        total += 1.0
        total += math.sqrt(5.0 - total) * x
    return total


def of_an_index(x):
    a = np.arange(3.0)
    for i in range(int(x) + 3):
        a[i] *= x
    return a


def of_an_iterator(x):
    def items(n):
        yield n
        yield 1 / (n - 1.0)

    total = 0.0
    for item in items(x):
        total += item
    return total


def wrapped(f):
    @functools.wraps(f)
    def around(x):
        return 2.0 * f(x)

    return around


@wrapped
def of_a_decorated_function(x):
    assert x < 0.0, "negative"
    return x


def of_a_library_call(x):
    a = np.zeros((2, 2))
    a[0, 0] = x
    return np.linalg.solve(a, a)


def called_back(x):
    raise KeyError(float(x))


def of_a_callback(x):
    y = x + 1.0
    return mo.callback(called_back, 0.0, y)


def of_a_multiple_line_call(x):
    return Spring(x).force(
        Spring(x).force(
            3.0 * x,
        )
        + 11.0,
    )


def left_by_finally(x):
    y = 0.0
    try:
        y = math.sqrt(x - 2.0)
    finally:
        y += 1.0
    return y


def raised_again(x):
    try:
        return math.sqrt(x - 2.0)
    except ValueError:
        x = x + 1.0
        raise


def one_of_two(x):
    a = np.arange(2.0)
    i = int(x)
    try:
        if x > 0.0:
            a[i + 4] = 1.0
        else:
            a[i + 5] = 1.0
    except KeyError:
        pass
    return a


def recursive(x):
    return recursive(x - 1.0) if x > -3.0 else math.sqrt(x)


def of_a_known_index(x):
    known = [x, 2.0 * x]
    return known[2]


OWN = [
    of_a_method, of_a_property, of_a_closure, of_a_lambda, of_a_loop, of_an_index, of_an_iterator, of_a_decorated_function,
    of_a_library_call, of_a_callback, of_a_multiple_line_call, left_by_finally, raised_again, one_of_two, of_a_known_index,
]  # fmt: skip


@pytest.mark.parametrize("f", OWN)
def test_programs_that_raise(target, f):
    assert lines(raised(mo.jit(f, target=target), 1.0)) == lines(raised(f, 1.0)) != []


def test_calls_of_a_recursive_function_are_told_once():
    error = raised(mo.jit(recursive, target="native"), 1.0)
    assert {name for name, _ in lines(error)} == {"recursive"}


@pytest.mark.parametrize("f", [of_a_closure, of_a_method, of_a_loop])
def test_derivatives_of_programs_that_raise(target, f):
    expected = lines(raised(f, 1.0))
    assert lines(raised(mo.jit(mo.grad(f), target=target), 1.0)) == expected
    assert lines(raised(mo.grad(mo.jit(f, target=target)), 1.0)) == expected


SOURCE = """
import math

def root(x):
    return math.sqrt(x)

def f(x):
    return root(x) + 1.0
"""


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_program_from_the_cache_tells_the_lines_of_today(target, tmp_path, monkeypatch):
    monkeypatch.setenv("MORULA_CACHE", "1")
    monkeypatch.setenv("MORULA_CACHE_DIR", str(tmp_path / "cache"))
    for before in (0, 3):
        path = tmp_path / f"program{before}.py"
        path.write_text("\n" * before + SOURCE)
        space = {"__name__": f"program{before}"}
        exec(compile(path.read_text(), str(path), "exec"), space)
        error = raised(mo.jit(space["f"], target=target), -1.0)
        found = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        assert found == [(str(path), before + 8), (str(path), before + 5)]
    assert len([p for p in (tmp_path / "cache").rglob("*") if p.is_file()]) == 1


def test_no_marks_under_a_line_and_no_frames_of_the_engine(target, monkeypatch):
    monkeypatch.delenv("MORULA_TRACEBACK", raising=False)
    error = raised(mo.jit(of_a_closure, target=target), 0.5)
    text = "".join(traceback.format_exception(error)).partition("in __call__")[2]
    assert "return math.log(y - 2.0)" in text
    assert "^" not in text.partition("in of_a_closure")[2]
    assert "morula/core" not in text
