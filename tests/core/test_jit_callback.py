"""``mo.debug.print`` and ``mo.callback`` in plain Python, on a tape and in typed IR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from morula.core import adjoint, debug, grad, gradient, jit
from morula.core.callbacks import callback
from morula.core.errors import BadInput, NoDerivative
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT, FLOAT64, ArrayType
from morula.core.specialise.traced import FUNCTIONS, Array, Scalar, Storage, Trace

VECTOR = ArrayType(np.dtype(float), (2,))


class Writer(Trace):
    """A trace that only writes operations for traced values."""

    level = 0

    def __init__(self) -> None:
        self.builder = Builder()

    def value(self, x: Any) -> Value:
        if isinstance(x, Scalar):
            return x.ir
        return x.storage.value if isinstance(x, Array) else self.builder.constant(x)

    def wrap(self, value: Value) -> Any:
        return Array(Storage(value)) if value.type.shape else Scalar(value)

    def function(self, types, write):
        parameters = [Value("p", t) for t in types]
        with self.builder.block() as block:
            block.results = [self.value(x) for x in write(*map(self.wrap, parameters))]
        return Function("f", parameters, block)


def squared(x):
    return x.dot(x)


@adjoint(squared)
def _(x):
    return squared(x), lambda dy: 2 * dy * x


def test_print_formats_in_plain_python_and_on_a_tape(capsys):
    def f(x):
        debug.print("x = {:.1f} {y}", x, y=[1])
        return x * x

    assert f(2.0) == 4.0 and gradient(f, 2.0) == (4.0,)
    assert capsys.readouterr().out == "x = 2.0 [1]\n" * 2


def test_print_is_an_operation_of_typed_programs(capsys):
    trace = Writer()

    def write(x, v):
        FUNCTIONS[debug.print](trace, "{{{0:.1f} {name} {s!r:>4} {c}}}", x, name={"v": [v, 2]}, s="s", c=(x,))
        return [x]

    evaluate(trace.function([FLOAT64, VECTOR], write), [3.0, np.ones(2)])
    assert capsys.readouterr().out == "{3.0 {'v': [[1. 1.], 2]}  's' (3.0,)}\n"


@pytest.mark.parametrize(
    "text, message", [("{0.real}", "plain fields"), ("{} {}", "no value for"), ("{y}", "no value for")]
)
def test_print_refuses_formats_that_cannot_wait(text, message):
    trace = Writer()
    with pytest.raises(BadInput, match=message):
        trace.function([FLOAT64], lambda x: [FUNCTIONS[debug.print](trace, text, x)])


def test_plain_print_of_traced_values_warns_once(capsys):
    def write(x):
        for _ in range(2):
            FUNCTIONS[print](trace, "x", x, sep=": ")
        return [x]

    trace = Writer()
    trace.builder.line = 123457
    with pytest.warns(RuntimeWarning, match="print in compiled code \\(line 123457\\)") as caught:
        function = trace.function([FLOAT], write)
    evaluate(function, [1.0])
    assert len(caught) == 1 and capsys.readouterr().out == "x: 1.0\n" * 2


def test_callback_is_a_call_whose_result_is_checked():
    assert callback(lambda x, y: (x + y, np.ones(2)), (0.0, np.zeros(2)), 1.0, 2.0)[0] == 3.0
    with pytest.raises(BadInput, match="returned a float, where result_like says an int"):
        callback(lambda: 1.0, 0)
    with pytest.raises(
        BadInput, match=r"of shape \(3,\), where result_like says an array of dtype float64 of shape \(2,\)"
    ):
        callback(lambda: np.ones(3), np.ones(2))


def test_callback_is_differentiated_by_its_adjoint_alone():
    assert grad(lambda x: callback(squared, np.float64(0), 3 * x))(np.array([1.0, 2.0])).tolist() == [18.0, 36.0]
    assert grad(lambda x: callback(lambda u: 2 * u, 0.0, 1.0) * x)(3.0) == 2.0
    with pytest.raises(NoDerivative):
        grad(lambda x: callback(lambda u: 2 * u, 0.0, x))(3.0)


def test_callback_in_a_typed_program_rebuilds_arguments_and_results():
    trace = Writer()

    def swap(pair, n):
        assert type(pair["a"]) is float and type(pair["b"]) is np.ndarray and n == 3
        return [pair["b"] * n, {"a": pair["a"]}]

    def write(x, v):
        like = [np.zeros(2), {"a": 0.0}]
        first, second = FUNCTIONS[callback](trace, swap, like, {"a": x, "b": v}, 3)
        return [first, second["a"]]

    found = evaluate(trace.function([FLOAT, VECTOR], write), [1.5, np.array([1.0, 2.0])])
    assert found[0].tolist() == [3.0, 6.0] and found[1] == 1.5


def test_callback_in_a_differentiated_program_carries_its_pullback():
    trace = Writer()
    trace.level = 1
    function = trace.function([VECTOR], lambda v: [FUNCTIONS[callback](trace, squared, np.float64(0), v)])
    assert evaluate(function, [np.array([1.0, 2.0])]) == [5.0]
    backward = function.block.operations[-1].named["backward"].constant
    assert evaluate(backward, [np.array([1.0, 2.0]), np.float64(2)])[0].tolist() == [4.0, 8.0]


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled_code_prints_and_calls_back(target, capsys):
    def f(x):
        for i in range(x.size):
            debug.print("{} {:.1f}", i, x[i])
        return callback(lambda u, k: float(u.sum() * k), 0.0, x, 2) + 1

    compiled = jit(f, target=target)
    for _ in range(2):
        assert compiled(np.ones(2)) == 5.0
    assert capsys.readouterr().out == "0 1.0\n1 1.0\n" * 2


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled_code_differentiates_a_callback_by_its_adjoint(target):
    f = jit(grad(lambda x: callback(squared, np.float64(0), 3 * x)), target=target)
    assert f(np.array([1.0, 2.0])).tolist() == [18.0, 36.0]
    with pytest.raises(NoDerivative):
        jit(grad(lambda x: callback(lambda u: 2 * u, 0.0, x)), target=target)(3.0)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_an_exception_in_a_callback_is_raised_by_the_call(target):
    def fails(x):
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        jit(lambda x: callback(fails, 0.0, x), target=target)(1.0)


def test_nothing_is_printed_or_warned_for_known_values(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        debug.print("{}", 1)
    assert capsys.readouterr().out == "1\n"


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_callback_without_traced_arguments_is_called_in_each_run(target):
    calls = []

    def count():
        calls.append(len(calls))
        return float(len(calls))

    f = jit(lambda x: x + callback(count, 0.0), target=target)
    assert f(10.0) == 11.0 and f(10.0) == 12.0


@pytest.mark.parametrize("target", [None, "native", "xla"])
def test_a_callback_without_result_is_called_for_its_effect(target):
    seen = []

    def program(x):
        for i in range(3):
            if i > 0:
                callback(lambda t: seen.append(float(t)), None, x + i)
        return x * x

    run = (lambda f: f) if target is None else lambda f: jit(f, target=target)
    assert run(program)(2.0) == 4.0 and seen == [3.0, 4.0]
    assert run(grad(program))(3.0) == 6.0 and seen == [3.0, 4.0, 4.0, 5.0]


def test_a_callback_that_returns_something_in_place_of_none_is_refused():
    with pytest.raises(BadInput, match="returned a float, where result_like says no numbers"):
        callback(lambda: 1.0, None)
