"""The intermediate representation: its printed form, the verifier's errors, and the validity of generated IR."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import morula as mo
from morula.core.eager.structured import functions as structured
from morula.core.errors import InvalidIR
from morula.core.ir.dynamic import Block, Function, Method, Operation, Value, verify


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def branches(x, y):
    if x > 0 and y < 1:
        return x * y
    elif x < -1:
        z = np.sum(y, axis=0)
    else:
        z = y.sum()
    return z


def polynomial(c, x):
    y = 0.0
    for a in c:
        y = y * x + a
    return y


def calls(x, y):
    return polynomial(y[0], x) + power(x, 2) if x > 0 else np.sum(y)


def test_a_loop_prints_with_its_blocks():
    assert str(mo.ir(power)) == (
        "function power(%x, %n):\n"
        "  %n.1, %r = while %n, 1\n"
        "    condition(%n.2, %r.1):\n"
        "      %t = operator.gt(%n.2, 0)\n"
        "      yield %t\n"
        "    body(%n.3, %r.2):\n"
        "      %n.4 = operator.isub(%n.3, 1)\n"
        "      %r.3 = operator.imul(%r.2, %x)\n"
        "      yield %n.4, %r.3\n"
        "  yield %r"
    )


def test_a_for_loop_prints_its_element_before_what_it_carries():
    text = str(mo.ir(polynomial))
    assert "%y = for %c, 0.0" in text
    assert "body(%a, %y.1):" in text


def test_branches_methods_and_keywords_print():
    text = str(mo.ir(branches))
    assert "then():" in text and "else():" in text
    assert ".sum(%y)" in text
    assert "sum(%y, axis=0)" in text


def test_types_print_where_a_value_is_defined():
    x, y = Value("x", type="real"), Value("y", type="real")
    f = Function("f", [x], Block([], [Operation("call", operator.neg, [x], results=[y])], [y]))
    assert str(verify(f)) == "function f(%x: real):\n  %y: real = operator.neg(%x)\n  yield %y"


def test_constants_print_by_value_and_callables_by_name():
    y = Value("y")
    values = [Value(constant=c) for c in (1, 2.5, "a", None, np.sin)]
    f = Function("f", [], Block([], [Operation("call", Method("g"), values, ("k",), results=[y])], [y]))
    text = str(f)
    assert ".g(1, 2.5, 'a', None, k=<" in text and "sin" in text


def call(result: Value, *operands: Value) -> Operation:
    return Operation("call", operator.add, list(operands), results=[result])


def malformed():
    x, y, z = Value("x"), Value("y"), Value("z")
    one = Value(constant=1)
    p, q = Value("p"), Value("q")
    yield (
        "a use before the definition",
        [x],
        Block([], [call(y, x, z), call(z, x, x)], [y]),
        "uses 'z', which is not in",
    )
    yield "a value of nowhere", [x], Block([], [], [z]), "yields 'z', which is not in scope"
    yield "two definitions", [x], Block([], [call(y, x, x), call(y, x, one)], [y]), "value 'y' is defined twice"
    yield "a parameter defined again", [x], Block([], [call(x, x, x)], [x]), "value 'x' is defined twice"
    yield "a constant as result", [x], Block([], [call(one, x, x)], [x]), "the constant 1 is defined as a result"
    yield "a call of nothing", [x], Block([], [Operation("call", None, [x], results=[y])], [y]), "of a call do not fit"
    inner = Block([], [call(p, x, x)], [p])
    escape = Operation("if", None, [x], blocks=[inner, Block([], [], [x])], results=[y])
    yield "a value of a branch used outside", [x], Block([], [escape], [p]), "yields 'p', which is not in scope"
    uneven = Operation("if", None, [x], blocks=[Block([], [], [x]), Block()], results=[y])
    yield "branches that differ", [x], Block([], [uneven], [y]), "the blocks of a if do not fit"
    no_condition = Operation("if", None, [], blocks=[Block(), Block()])
    yield "a branch without a condition", [x], Block([], [no_condition], [x]), "the blocks of a if do not fit"
    two_tests = Operation("while", None, [x], blocks=[Block([p], [], [p, p]), Block([q], [], [q])], results=[y])
    yield "a while with two conditions", [x], Block([], [two_tests], [y]), "the blocks of a while do not fit"
    p, q = Value("p"), Value("q")
    loses = Operation("while", None, [x], blocks=[Block([p], [], [p]), Block([], [], [])], results=[y])
    yield "a while that loses a value", [x], Block([], [loses], [y]), "the blocks of a while do not fit"
    no_item = Operation("for", None, [x, x], blocks=[Block([p], [], [p])], results=[y])
    yield "a for without an element", [x], Block([], [no_item], [y]), "the blocks of a for do not fit"
    p, q = Value("p"), Value("q")
    dropped = Operation("for", None, [x, x], blocks=[Block([p, q], [], [])], results=[y])
    yield "a for that yields too little", [x], Block([], [dropped], [y]), "the blocks of a for do not fit"


@pytest.mark.parametrize("parameters, block, message", [m[1:] for m in malformed()], ids=[m[0] for m in malformed()])
def test_the_verifier_refuses(parameters, block, message):
    with pytest.raises(InvalidIR) as error:
        verify(Function("f", parameters, block))
    assert str(error.value).startswith("f: ") and message in str(error.value)


def test_the_message_of_the_verifier_shows_the_function():
    x, y = Value("x"), Value("y")
    with pytest.raises(InvalidIR, match=r"function f\(%x\):"):
        verify(Function("f", [x], Block([], [], [y])))


def test_a_construct_without_structured_form_is_named_with_its_line():
    def guarded(x):
        with open(x) as file:
            return file

    line = guarded.__code__.co_firstlineno + 1
    with pytest.raises(
        mo.MorulaError, match=rf"the statement With in .*guarded .*, line {line}, has no structured form"
    ):
        mo.ir(guarded)


@pytest.mark.parametrize(
    "f, args",
    [
        (power, (2.0, 3)),
        (polynomial, (np.ones(3), 2.0)),
        (polynomial, (np.ones((3, 2)), 2.0)),
        (calls, (2.0, np.ones((2, 3)))),
    ],
)
def test_both_sweeps_of_every_reversal_are_verified(f, args, monkeypatch):
    seen = []
    monkeypatch.setattr(structured, "verify", lambda function: seen.append(function.name) or verify(function))
    structured.forget()
    mo.vjp(f, *args)
    structured.forget()
    assert seen[-2:] == [f"{f.__name__}_forward", f"{f.__name__}_backward"]
