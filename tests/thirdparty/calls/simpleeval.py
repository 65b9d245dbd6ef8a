"""Expressions in text, parsed and evaluated node by node with names and functions from dictionaries."""

from __future__ import annotations

import math

from simpleeval import EvalWithCompoundTypes, SimpleEval, simple_eval

from thirdparty.harness import Call

DISTRIBUTION = "simpleeval"
FIELD = "interpreters"
HELD_OUT = True


def arithmetic(a: float, b: float) -> float:
    return simple_eval("a ** 2 / b + 3 * (a - b) % 5", names={"a": a, "b": b})


def functions(a: float, b: float) -> float:
    known = {"sin": math.sin, "hypot": math.hypot, "square": lambda x: x * x}
    return simple_eval("sin(a) * square(b) + hypot(a, b)", names={"a": a, "b": b}, functions=known)


def conditions(a: float, b: float) -> float:
    return simple_eval("a * 3 if a > b and not b > 2 else (b or a)", names={"a": a, "b": b})


def containers(a: float, b: float) -> float:
    evaluator = EvalWithCompoundTypes(names={"a": a, "b": b, "row": [a, b, a * b]})
    evaluator.functions["sum"] = sum
    return evaluator.eval("sum([x * b for x in row]) + {'k': (a, b)}['k'][1]")


def parsed_once(a: float) -> float:
    evaluator = SimpleEval()
    tree, x = evaluator.parse("x - (x * x - a) / (2 * x)"), 1.0
    for _ in range(5):
        evaluator.names = {"x": x, "a": a}
        x = evaluator.eval("", previously_parsed=tree)
    return x


CALLS = {
    "arithmetic": Call(arithmetic, 1.3, 0.7),
    "functions": Call(functions, 1.3, 0.7),
    "conditions": Call(conditions, 1.3, 0.7),
    "containers": Call(containers, 1.3, 0.7),
    "parsed_once": Call(parsed_once, 2.0),
}
