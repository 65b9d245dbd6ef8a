"""The number of interpretations of nested loops is proportional to the depth, not to a power of it."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import morula as mo
from morula.core.specialise.statements import StatementsOf

BEFORE = {
    "a number": "y = x",
    "an int that becomes a float": "y = 0",
    "an array": "a = np.zeros(4)",
    "a list": "s = [0, x]",
    "a dict that grows": "o = {}; y = 0.0",
    "a branch": "y = 0",
}
AT_EACH_DEPTH = {
    "an int that becomes a float": ["y = y + x"],
    "an array": ["a[0] += i{d} * x"],
    "a list": ["s[0] = s[0] + s[1] * i{d}", "s[1] = s[0]"],
    "a dict that grows": ["t{d} = x * i{d}", "o['k{d}'] = t{d}"],
    "a branch": ["if x > i{d}:", "    y = y + 1", "else:", "    y = y + x"],
}
INNERMOST = {"an array": "a[1] += x * a[0]", "a list": "s[0] = s[0] * 0.5"}
RESULT = {"an array": "a.sum()", "a list": "s[0] + s[1]", "a dict that grows": "y + o['k0']"}
DEPTH = 5


def program(kind, form, depth):
    lines = ["import numpy as np", "def f(x, n):", f"    {BEFORE[kind]}"]
    for d in range(depth):
        indent = "    " * (d + 1)
        if form == "for":
            lines.append(f"{indent}for i{d} in range(n):")
        else:
            lines += [f"{indent}i{d} = 0", f"{indent}while i{d} < n:", f"{indent}    i{d} += 1"]
        lines += [f"{indent}    {line.format(d=d)}" for line in AT_EACH_DEPTH.get(kind, [])]
    lines += ["    " * (depth + 1) + INNERMOST.get(kind, "y = y * 0.5 + x"), f"    return {RESULT.get(kind, 'y')}"]
    return "\n".join(lines) + "\n"


def load(text, path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.fixture
def interpreted(monkeypatch):
    """The statements that have been interpreted so far, one entry for each time."""
    found, statement = [], StatementsOf.statement
    monkeypatch.setattr(StatementsOf, "statement", lambda self, node: (found.append(node), statement(self, node))[1])
    return found


@pytest.mark.parametrize("form", ["for", "while"])
@pytest.mark.parametrize("kind", BEFORE)
def test_statements_are_interpreted_in_proportion_to_their_depth(kind, form, interpreted, tmp_path):
    text = program(kind, form, DEPTH)
    f = load(text, tmp_path / "nested.py")
    mo.jit(f, target="native").lower(1.5, 3)
    lines = text.count("\n") - 2
    assert len(interpreted) <= lines * (DEPTH + 1), f"{len(interpreted)} statements of {lines} lines"


@pytest.mark.parametrize("form", ["for", "while"])
def test_so_they_are_where_the_innermost_is_refused(form, interpreted, tmp_path, monkeypatch):
    monkeypatch.setitem(INNERMOST, "a number", "y = y + (x + y).as_integer_ratio()[0]")
    text = program("a number", form, DEPTH)
    f = load(text, tmp_path / "refused.py")
    with pytest.raises(mo.BadInput, match="as_integer_ratio"):
        mo.jit(f, target="native").lower(1.5, 3)
    lines = text.count("\n") - 2
    assert len(interpreted) <= lines * (DEPTH + 1), f"{len(interpreted)} statements of {lines} lines"


SEARCH = """
class Search:
    low = None
    high = None
    width = None
    value = None
    slope = None

    def step(self, x):
        self.low, self.high, self.width, self.value, self.slope = narrower(
            self.low, self.high, self.width, self.value, self.slope, x
        )
        return self.low + self.high + self.width + self.value + self.slope

def narrower(low, high, width, value, slope, x):
    if low is None:
        low, high, width, value, slope = x, x + 1.0, 1.0, x * x, 2.0 * x
    return low * 0.5 + x, high * 0.5, width * 0.5, value + low, slope * x

def f(x, n):
    found = Search()
    y = 0.0
    for i in range(n):
        y = y + found.step(x)
    return y
"""


@pytest.mark.parametrize("module", ["search", "scipy.search"])
def test_a_call_is_interpreted_once_for_all_options_of_its_arguments(module, interpreted, tmp_path):
    f = load(SEARCH, tmp_path / "search.py")
    f.__globals__["narrower"].__module__ = module
    compiled = mo.jit(mo.value_and_grad(f), target="native")
    compiled.lower(0.5, 3)
    assert len(interpreted) <= 8 * SEARCH.count("\n"), f"{len(interpreted)} statements"
    for n in (1, 4):
        np.testing.assert_allclose(compiled(0.5, n), mo.value_and_grad(f)(0.5, n), rtol=1e-12)


@pytest.mark.parametrize("form", ["for", "while"])
@pytest.mark.parametrize("kind", BEFORE)
def test_they_compute_what_python_computes(kind, form, tmp_path):
    f = load(program(kind, form, 3), tmp_path / "nested.py")
    compiled = mo.jit(mo.value_and_grad(f), target="native")
    for n in (1, 2, 3):
        (y, g), (expected, slope) = compiled(1.5, n), mo.value_and_grad(f)(1.5, n)
        np.testing.assert_allclose((y, g), (expected, slope), rtol=1e-12)


def test_a_function_that_is_called_with_other_types_learns_nothing_from_the_call_before():
    def power(x, n):
        y = 1
        for _ in range(n):
            y = y * x
        return y

    def f(x, n):
        total = 0.0
        for k in range(n):
            total = total + power(x, k) + power(k, 2)
        return total, power(3, n)

    value, count = mo.jit(f, target="native")(1.5, 5)
    expected, expected_count = f(1.5, 5)
    assert value == pytest.approx(expected, rel=1e-14)
    assert count == expected_count and isinstance(count, (int, np.integer))
