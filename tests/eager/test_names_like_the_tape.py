"""User functions are told from the engine's by the value of their tape, not by the name of a variable."""

from __future__ import annotations

import json
import pickle

import pytest

import morula as mo
from morula.core.testing.differences import ridders

NAMES = ["_tape", "tape", "own_tape"]

METHODS = {
    "__hash__": ("", "7", "{c: 1}[c]"),
    "__eq__": (", other", "True", "{c: 1}[d]"),
    "__repr__": ("", "'text'", "repr({1: c})"),
    "__lt__": (", other", "self.x < other.x", "sorted([c, d])"),
    "__reduce__": ("", "(int, ())", "pickle.dumps(c)"),
    "__str__": ("", "'text'", "print(c)"),
}
"""Methods with their other parameters, what they return, and a line on which C calls them."""

STORES = {"attribute": "self.kept = self.x**2", "nonlocal": "nonlocal held; held = self.x**2"}

PARAMETER = """
def program(x):
    held = 0.0

    class C:
        def __init__(self, x):
            self.x = x

        def {method}({name}{parameters}):
            self = {name}
            {store}
            return {result}

        {other}

    c, d = C(x), C(x)
    {entry}
    return 3.0 * (held + getattr(c, "kept", 0.0) + getattr(d, "kept", 0.0))
"""
VARIABLE = """
def program(x):
    held = 0.0
    {name} = x

    class C:
        def __init__(self, x):
            self.x = x * {name}

        def {method}(self{parameters}):
            nonlocal {name}
            {name} = {name} * 1.0
            {store}
            return {result}

        {other}

    c, d = C(1.0), C(1.0)
    {entry}
    return {name} * (held + getattr(c, "kept", 0.0) + getattr(d, "kept", 0.0))
"""
BEFORE = """
def program_of(box, {name}=2.0):
    def values({name}):
        while True:
            yield {name}[0] * {name}[0]

    return values(box)
"""


def made(text, tmp_path, **parts):
    path = tmp_path / "names_like_the_tape.py"
    path.write_text(text.format(**parts))
    scope = {"json": json, "pickle": pickle, "__name__": "names_like_the_tape"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope


@pytest.mark.parametrize("text", [PARAMETER, VARIABLE], ids=["parameter", "variable"])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMES)
def test_what_c_calls_is_recorded_or_refused_however_its_variables_are_called(
    tmp_path, capsys, name, method, store, text
):
    parameters, result, entry = METHODS[method]
    other = {"__eq__": "def __hash__(self): return 7", "__hash__": "def __eq__(self, other): return True"}.get(
        method, ""
    )
    f = made(
        text, tmp_path, name=name, method=method, parameters=parameters, result=result, entry=entry, store=STORES[store],
        other=other,
    )["program"]  # fmt: skip
    slope = ridders(lambda t: f(1.3 + t), 0.02)[0]
    if method in ("__lt__", "__str__"):
        assert mo.grad(f)(1.3) == pytest.approx(slope)
    else:
        with pytest.raises(mo.NoDerivative, match=rf"C\.{method} \(.*was called by code written in C"):
            mo.grad(f)(1.3)


@pytest.mark.parametrize("name", NAMES)
def test_generators_from_before_are_refused_and_those_of_the_run_recorded(tmp_path, name):
    program_of = made(BEFORE, tmp_path, name=name)["program_of"]
    box = [2.0]
    before = program_of(box)

    def f(x):
        box[0] = x
        return next(before)

    with pytest.raises(mo.NoDerivative, match="created before the differentiated function was called"):
        mo.grad(f)(3.0)
    assert mo.grad(lambda x: next(program_of([x])))(3.0) == 6.0
    moving = made(
        "def program_of(box, {name}=2.0):\n    def values({name}):\n        yield from {name}\n    return values(box)\n",
        tmp_path,
        name=name,
    )
    assert mo.grad(lambda x: next(moving["program_of"]([x])) * x)(3.0) == 6.0
