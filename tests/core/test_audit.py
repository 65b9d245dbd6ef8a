"""``audit`` lists where a run drops a derivative or meets a kink, with the user's lines, also in code of libraries."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import struct

import numpy as np
import pytest
from scipy import signal

import morula as mo

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def line(f, text):
    lines, first = inspect.getsourcelines(f)
    return first + next(i for i, source in enumerate(lines) if text in source)


def kinds(report):
    return [finding.kind for finding in report]


def only(report, kind):
    (finding,) = report.of(kind)
    return finding


# ---- equality


def scaled(x, factor=1.0):
    if factor == 1.0:
        return x
    return x * factor


def test_a_default_that_is_compared_and_dropped():
    report = mo.audit(scaled, 2.0, 1.0)
    assert kinds(report) == ["unused argument", "equality"] and report.value == 2.0
    assert only(report, "unused argument").text == "factor"
    found = only(report, "equality")
    assert found.place[:2] == (__file__, line(scaled, "if factor")) and found.source == "if factor == 1.0:"
    assert not mo.audit(scaled, 2.0, 1.5)
    assert not mo.audit(lambda x: scaled(x), 2.0)  # a constant


def test_an_equality_in_code_of_a_library():
    def first(b, a):
        return signal.lfilter_zi(b, a)[0]

    report = mo.audit(first, np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    found = only(report, "equality")
    assert found.source == "if a[0] != 1.0:" and "_signaltools.py" in found.place.within[0]
    assert found.place[:2] == (__file__, line(first, "return")) and "(in lfilter_zi, " in str(found.place)
    assert not mo.audit(first, np.array([1.0, 2.0]), np.array([2.0, 0.5])).of("equality")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1.0 if not x else 2 * x,
        lambda x: 1.0 if x * 2 == 0 else 2 * x,
        lambda x: 1.0 if 0.0 == x and x is not None else 2 * x,
        lambda x: [x for _ in range(1) if x == 0.0 or x > 1][0],
        lambda x: x if np.equal(x, 0.0) else 2 * x,
        lambda x: x if np.isclose(x, 0.0) else 2 * x,
        lambda x: x if (np.array([x, 1.0]) == 0.0).any() else 2 * x,
        lambda x: x if x != 0 else 3.0,
    ],
)
def test_forms_of_equality(f):
    assert "equality" in kinds(mo.audit(f, 0.0))
    assert "equality" not in kinds(mo.audit(f, 1.5))


def test_a_number_compared_with_itself_and_constants_are_no_findings():
    assert not mo.audit(lambda x: 2 * x if x == x and 1.0 == math.sqrt(1.0) else x, 2.0)


# ---- values that only decide the path


def bisected(p):
    low, high = 0.0, 4.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if p * middle**2 - 2 > 0:
            high = middle
        else:
            low = middle
    return low


def test_a_bisection():
    report = mo.audit(bisected, 1.5)
    assert kinds(report) == ["unused argument", "steering"]
    found = only(report, "steering")
    assert found.place == (__file__, line(bisected, "if p *"), None) and found.count == 32
    used_elsewhere = mo.audit(lambda p: p * bisected(p), 1.5)
    assert kinds(used_elsewhere) == ["steering"]


def test_an_iteration_with_a_derivative_is_no_finding():
    def newton(p):
        x = 1.0
        for _ in range(20):
            step = (p * x * x - 2) / (2 * p * x)
            if abs(step) < 1e-12:
                break
            x = x - step
        return x

    assert not mo.audit(newton, 1.5)
    assert not mo.audit(lambda x: x**2 if x > 1 else x**3, 2.0)


# ---- numbers that become data


def rounding(x):
    a = int(x)
    b = round(x)
    c = math.floor(x)
    d = np.ceil(x)
    e = x // 2
    return a + b + c + d + e + x


def test_rounding():
    report = mo.audit(rounding, 2.5)
    first = line(rounding, "int(x)")
    assert [(f.kind, f.place.line - first) for f in report] == [("rounding", i) for i in range(5)]
    assert [f.text for f in report] == [f"{name} of 2.5" for name in ("int", "round", "floor", "ceil", "floordiv")]
    assert not mo.audit(lambda x: x * int(2.5) * round(1.2), 2.0)


@pytest.mark.parametrize(
    "kind, f",
    [
        ("text", lambda x: float(f"{x:.3f}") * x),
        ("text", lambda x: float(str(x)) * x),
        ("text", lambda x: float("%.2f" % x) * x),
        ("text", lambda x: len("{}".format(2 * x)) * x),
        ("text", lambda x: len(repr(x)) * x),
        ("bytes", lambda x: len(struct.pack("d", x)) * x),
        ("bytes", lambda x: len(np.array([x]).tobytes()) * x),
        ("bytes", lambda x: len(pickle.dumps(x)) * x),
    ],
)
def test_text_and_bytes(kind, f):
    found = only(mo.audit(f, 2.5), kind)
    assert found.place[:2] == (__file__, f.__code__.co_firstlineno)
    assert not mo.audit(lambda x: len(json.dumps([1.5])) * x, 2.5)


# ---- kinks


@pytest.mark.parametrize(
    "f, at",
    [
        (lambda x: max(x, 2.0), 2.0),
        (lambda x: abs(x - 2), 2.0),
        (lambda x: 2 * x if x > 2 else x, 2.0),
        (lambda x: np.maximum(x, 2.0), 2.0),
        (lambda x: np.clip(x, 0.0, 2.0), 2.0),
        (lambda x: np.max(x), np.array([1.0, 2.0, 2.0])),
        (lambda x: np.sum(x.max(axis=1)), np.array([[1.0, 2.0, 2.0]])),
        (lambda x: np.sort(x)[0], np.array([1.0, 2.0, 2.0])),
        (lambda x: sorted([x, 2.0])[1], 2.0),
        (lambda x: np.linalg.norm(x - 1), np.ones(3)),
        (lambda x: np.sum(np.abs(x)), np.array([0.0, 1.0])),
    ],
)
def test_ties(f, at):
    found = only(mo.audit(f, at), "tie")
    assert found.place[:2] == (__file__, f.__code__.co_firstlineno)
    other = at + 0.3 * np.arange(1, np.size(at) + 1).reshape(np.shape(at)) if np.ndim(at) else at + 0.3
    assert not mo.audit(f, other)


def test_a_zero_cotangent_that_met_an_infinite_factor():
    def f(x):
        y = np.log(x)
        return np.sum(np.where(x > 0, y, 0.0))

    found = only(mo.audit(f, np.array([0.0, 2.0])), "masked")
    assert found.place.line == line(f, "np.log") and found.text == "log"
    assert not mo.audit(f, np.array([1.0, 2.0]))
    assert (
        kinds(mo.audit(lambda x, m: np.sum((m @ x)[:1]), np.ones(2), np.array([[1.0, 2.0], [np.inf, 1.0]])))[-1]
        == "masked"
    )


# ---- arguments


def test_arguments_on_which_the_result_does_not_depend():
    def f(model, unused, n):
        return model["w"] * n + 0 * int(model["s"][1])

    report = mo.audit(f, {"w": 2.0, "s": [1.0, 3.0], "name": "m"}, np.ones(2), 3)
    assert [x.text for x in report.of("unused argument")] == ["model['s'][0]", "model['s'][1]", "unused"]
    assert not mo.audit(lambda a, i: a[i] ** 2, np.array([1.0, 2.0]), 1)


def test_a_call_without_a_derivative():
    report = mo.audit(lambda x: x * struct.unpack("d", struct.pack("d", x))[0], 2.0)
    assert "no derivative" in kinds(report) and "struct" in only(report, "no derivative").text


# ---- the report


def test_the_report():
    report = mo.audit(bisected, 1.5)
    text = repr(report)
    assert text.startswith("audit of bisected (") and "2 findings" in text
    assert "unused argument: the result does not depend on it" in text
    assert f"  - {__file__}:{line(bisected, 'if p *')}: gt of" in text and "(32 times)\n      if p * middle**2" in text
    assert len(report) == 2 and list(report) == [report[0], report[1]]
    assert repr(mo.audit(lambda x: x * x, 2.0)).endswith("nothing found")


def test_the_program_runs_once_as_in_python():
    calls = []

    class Store:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            calls.append("eq")
            return self.x == other.x

        __hash__ = None

    def f(x, log):
        calls.append("f")
        if Store(x) == Store(2.0):
            log.append(x)
        x[0] = 5.0
        return [x[0] ** 2, {"text": "a"}]

    f(np.array([2.0]), [])
    before, calls[:] = list(calls), []
    x, log = np.array([2.0]), []
    report = mo.audit(f, x, log)
    assert calls == before and report.value == [25.0, {"text": "a"}] and x[0] == 5.0 and len(log) == 1
    assert mo.grad(lambda x: 2 * x if x == 1.0 else x)(1.0) == 2.0  # as before


def test_compiled_functions_and_derivatives_inside():
    assert kinds(mo.audit(mo.jit(scaled), 2.0, 1.0)) == ["unused argument", "equality"]
    report = mo.audit(lambda x: mo.grad(lambda y: y * y if y == 2.0 else y)(x) * x, 2.0)
    assert report.value == 8.0


def test_errors_of_the_program_and_bad_input():
    with pytest.raises(mo.BadInput):
        mo.audit(3.0, 1.0)
    with pytest.raises(ZeroDivisionError):
        mo.audit(lambda x: 1 / x, 0.0)
    assert mo.grad(lambda x: x * x if x > 1 else x)(3.0) == 6.0
