"""Functions made by ``eval`` and ``exec``: read from their bytecode, if the result compiles back to it."""

from __future__ import annotations

import ast
import math

import pytest

from morula.core.source.bytecode import definition_of

FORMULAS = [
    "lambda x, y: -x / y**2",
    "lambda x, y: +x % y",
    "lambda x, y: y",
    "lambda x, y=2.0: x * y",
    "lambda x, y: 1.0 if x >= 0 else -x * y",
    "lambda x, y: x**y * math.log(x) if x > 0 else 0.0 if y > 0 else float('nan')",
    "lambda x, y: math.hypot(x, y) + [x, y][0] * (y, x)[1:][0] * pow(base=x, exp=2)",
    "lambda x, y: (lambda_scale * x).real.conjugate() * y",
    "lambda *x: x[0] * x[1]",
    "lambda x, y: x * y and y * y",
    "lambda x, y: x < 0 or y * y < 0 or x * y",
    "lambda x, y: x is y or x * y",
    "lambda x, y: x is not y and x * y * y",
]
UNREADABLE = [
    "lambda x, y: [x * e for e in (x, y)]",
    "lambda x, y: (yield x)",
    "lambda x, y: lambda z: x * y * z",
    "lambda x, y: x < y < 3.0",
    "lambda x, y: (x and y) * 2.0",
    "lambda x, y: x if x and y else y",
]
STATEMENTS = """
def f(x, y):
    z = x * y
    if z > 1:
        w = math.exp(-z)
        return w * x
    return z + y
"""


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_differentiated(check, text):
    f = eval(text, {"math": math, "lambda_scale": 3.0})
    check(lambda x, y: f(x, y), 1.3, 0.7)


def test_assignments_and_branches_are_read(check):
    scope = {"math": math}
    exec(STATEMENTS, scope)
    f = scope["f"]
    for y in (0.7, 1.7):
        check(lambda x, y: f(x, y), 1.3, y)


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_more_than_a_formula_is_not_guessed_at(text):
    assert definition_of(eval(text).__code__) is None


def test_what_is_read_is_what_was_written():
    definition = definition_of(eval("lambda x, *, y: x - y * 2.0").__code__)
    assert definition is not None
    assert ast.unparse(definition) == "def function(x, *, y):\n    return x - y * 2.0"


def test_a_closure_is_read(check):
    scope: dict = {}
    exec("def scaled(k):\n    return lambda x: k * x * x", scope)
    check(lambda x, k: scope["scaled"](k)(x), 1.3, 2.0)
