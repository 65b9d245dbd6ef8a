"""No message names a class of the engine; internal errors are refused as faults, with the user's line and cause."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import morula as mo
from morula.core.compilation import compiled
from morula.core.specialise import expressions

INTERNAL = re.compile(
    r"\b(Scalar|Array|Conflict|Closure|Traced\w*|Storage|Late|Unread|Unbound|InvalidIR|Jump|Region|Sequence|Walk|Suspended|Text)\b"
    r"|object at 0x|morula\.core\.\w+\.\w+ "
)


class Bound:
    def method(self):
        return 1


PROGRAMS = [
    (lambda x: x(3), "'float' object is not callable"),
    (lambda x: (lambda y: y) + x, "'function' and 'float'"),
    (lambda x: [*(lambda: 1)], "'function' object is not iterable"),
    (lambda x: len(lambda: 1), "object of type 'function' has no len"),
    (lambda x: f"{x}" + 1, 'can only concatenate str .not "int". to str'),
    (lambda x: (lambda: 1).foo, "'function' object has no attribute 'foo'"),
    (lambda x: x.foo, "'float' object has no attribute 'foo'"),
    (lambda x: x.sum(), "'float' object has no attribute 'sum'"),
    (lambda x: x[0], "'float' object is not subscriptable"),
    (lambda x: math.sqrt(lambda: 1), "must be real number, not function"),
    (lambda x: next(x), "'float' object is not an iterator"),
    (lambda x: Bound().method + x, "'method' and 'float'"),
    (lambda x: x + "a", r"unsupported operand type\(s\) for \+: 'float' and 'str'"),
    (lambda x: x < "a", "'<' not supported between instances of 'float' and 'str'"),
    (lambda x: -"a", "bad operand type for unary -: 'str'"),
    (lambda x: f"{x}".foo, "'str' object has no attribute 'foo'"),
    (lambda x: hash(x), "the hash of a number"),
    (lambda x: {x: 1}, "a key of a dict"),
    (lambda x: max(lambda: 1, x), "a number or an array is needed, but this is a function"),
    (lambda x: [1.0, 2.0][x], "the value of an integer|an index into a list|indices must be integers"),
    (lambda x: ValueError(x), "returns an exception that holds numbers"),
]


@pytest.mark.parametrize("f, text", PROGRAMS, ids=[str(i) for i in range(len(PROGRAMS))])
def test_a_message_speaks_of_the_programs_own_objects(f, text):
    with pytest.raises((mo.BadInput, TypeError, AttributeError), match=text) as caught:
        mo.jit(f, target="native")(2.0)
    assert not INTERNAL.search(str(caught.value))


def test_a_slice_that_is_returned_holds_numbers():
    assert mo.jit(lambda x: slice(x, None), target="native")(2.0) == slice(2.0, None)


def squared(x):
    y = x * x
    return y


def test_a_fault_while_a_function_is_traced_is_refused_with_its_line(monkeypatch):
    def eval_BinOp(self, node):
        return {}["no such key"]

    monkeypatch.setattr(expressions.Expressions, "eval_BinOp", eval_BinOp)
    monkeypatch.setitem(eval_BinOp.__globals__, "__name__", "morula.core.specialise.expressions")
    with pytest.raises(
        mo.BadInput, match=r"a fault of morula.*KeyError: no such key(.|\n)*in squared \(.*:\d+\)"
    ) as caught:
        mo.jit(squared, target="native")(2.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_fault_in_a_pass_is_refused_with_the_function(monkeypatch):
    def wrong(function):
        raise AssertionError("this cannot be")

    monkeypatch.setattr(compiled, "_passes", lambda target: [("wrong", wrong)])
    with pytest.raises(
        mo.BadInput, match=r"a fault of morula.*AssertionError: this cannot be(.|\n)*in squared"
    ) as caught:
        mo.jit(squared, target="native")(2.0)
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_program_cannot_catch_a_fault(monkeypatch):
    def eval_BinOp(self, node):
        return {}["no such key"]

    def catching(x):
        try:
            return x * x
        except Exception:
            return np.inf

    monkeypatch.setattr(expressions.Expressions, "eval_BinOp", eval_BinOp)
    monkeypatch.setitem(eval_BinOp.__globals__, "__name__", "morula.core.specialise.expressions")
    with pytest.raises(mo.BadInput, match="a fault of morula"):
        mo.jit(catching, target="native")(2.0)


def test_a_program_cannot_catch_a_fault_on_one_path(monkeypatch):
    def eval_BinOp(self, node):
        return [].no_such_attribute

    def catching(x):
        try:
            y = x * x if x > 0.0 else x
        except AttributeError:
            y = np.inf
        return y

    monkeypatch.setattr(expressions.Expressions, "eval_BinOp", eval_BinOp)
    monkeypatch.setitem(eval_BinOp.__globals__, "__name__", "morula.core.specialise.expressions")
    with pytest.raises(mo.BadInput, match="a fault of morula"):
        mo.jit(catching, target="native")(2.0)
