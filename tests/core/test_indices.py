"""An entry that an index names twice counts twice: for every kind and source of an index, on every path.

The programs are texts, because the front end distinguishes names, literals, attributes and closure variables.  Each is
a polynomial of degree two in ``x``, so that central differences of the plain program are exact up to rounding.
"""

from __future__ import annotations

import linecache
from collections import UserList, namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from path_tester import PATHS

import morula as mo
from morula.core.eager.recorded.compiled_calls import parameters
from morula.core.eager.structured.functions import compiled_for

VECTOR, MATRIX = (4,), (3, 4)
Place = namedtuple("Place", "row column")
NAMES = {"np": np, "Place": Place, "UserList": UserList}

KINDS = {
    # name: (shape of x, the index as it is written)
    "array": (VECTOR, "np.array([0, 2, 3])"),
    "array of duplicates": (VECTOR, "np.array([0, 0, 1])"),
    "array of int32": (VECTOR, "np.array([3, 3, 1], np.int32)"),
    "array of two axes": (VECTOR, "np.array([[0, 1], [1, 1]])"),
    "array of no axis": (VECTOR, "np.array(2)"),
    "empty array": (VECTOR, "np.array([], int)"),
    "negative duplicates": (VECTOR, "np.array([-1, 3, -2, 2])"),
    "list": (VECTOR, "[2, 0]"),
    "list of duplicates": (VECTOR, "[1, 1, 3]"),
    "negative list": (VECTOR, "[-1, 3, 0]"),
    "mask": (VECTOR, "np.array([True, False, True, True])"),
    "list of bools": (VECTOR, "[True, False, True, False]"),
    "number": (VECTOR, "2"),
    "negative number": (VECTOR, "-1"),
    "numpy number": (VECTOR, "np.int64(1)"),
    "slice": (VECTOR, "slice(1, None, 2)"),
    "backward slice": (VECTOR, "slice(None, None, -1)"),
    "ellipsis": (VECTOR, "..."),
    "none": (VECTOR, "None"),
    "array of rows": (MATRIX, "np.array([0, 2, 0])"),
    "list of rows": (MATRIX, "[1, 1]"),
    "tuple of numbers": (MATRIX, "(1, -1)"),
    "tuple of arrays": (MATRIX, "(np.array([0, 1, 0]), np.array([2, 2, 2]))"),
    "tuple of lists": (MATRIX, "([0, 1, 0], [3, 3, 3])"),
    "array and number": (MATRIX, "(np.array([1, 1, 2]), 0)"),
    "slice and array": (MATRIX, "(slice(None), np.array([0, 0, 3]))"),
    "array and slice": (MATRIX, "(np.array([-1, 2, 0]), slice(1, 3))"),
    "slice and list": (MATRIX, "(slice(0, 2), [3, 3])"),
    "ellipsis and array": (MATRIX, "(..., np.array([1, 1]))"),
    "ellipsis and number": (MATRIX, "(..., 1)"),
    "array and none": (MATRIX, "(np.array([0, 0]), None)"),
    "none and list": (MATRIX, "(None, [2, 2], 1)"),
    "outer": (MATRIX, "(np.array([[0], [0]]), np.array([1, 2, 1]))"),
    "rows mask": (MATRIX, "np.array([True, False, True])"),
    "full mask": (MATRIX, "np.eye(3, 4) > 0"),
    "tuple of tuples": (MATRIX, "((0, 1, 0), (3, 3, 3))"),
    "slice and tuple": (MATRIX, "(slice(None), (0, 0, 3))"),
    "tuple and number": (MATRIX, "((2, 2), 1)"),
    "nested tuple": (MATRIX, "((((0, 1), (0, 0)),), 3)"),
    "list of tuples": (MATRIX, "[(0, 0), (1, 1)]"),
    "tuple of bools": (MATRIX, "((True, False, True),)"),
    "range": (VECTOR, "range(1, 4)"),
    "ranges": (MATRIX, "(range(3), range(3))"),
    "named tuple": (MATRIX, "Place([0, 1, 0], [2, 2, 2])"),
    "list of a class": (VECTOR, "UserList([1, 1, 0])"),
    "mask and list": (MATRIX, "(np.array([True, False, True]), [1, 1])"),
    "mask and slice": (MATRIX, "(np.array([False, True, True]), slice(2))"),
}

PLACES = ("global", "closure", "literal", "argument", "attribute")

BODIES = {
    "read": ["return np.sum(W * (y[{i}] * x[{i}]))"],
    "write": ["y[{i}] = 3 * V * y[{i}]", "return np.sum(M * y * x)"],
    "update": ["y[{i}] += V * y[{i}]", "return np.sum(M * y * x)"],
    "scaled update": ["y[{i}] *= V", "return np.sum(M * y * x)"],
}
"""``y`` is a copy of ``x``.  Written values depend on the position, so the result shows which write came last."""


def program(kind: str, place: str, use: str, recorded: bool) -> tuple[Any, tuple[Any, ...]]:
    """The function and its arguments; the first argument is differentiated."""
    shape, index = KINDS[kind]
    numbers = np.random.default_rng(5)
    x = numbers.uniform(0.5, 2, shape)
    value = eval(index, dict(NAMES))
    part = x[value]
    scope = {
        **{**NAMES, "T": value, "W": numbers.uniform(1, 2, np.shape(part)), "M": numbers.uniform(1, 2, shape)},
        "V": numbers.uniform(1, 2, np.shape(part)),
    }
    name = {"global": "T", "closure": "t", "literal": index, "argument": "t", "attribute": "t.index"}[place]
    if place == "literal" and index.startswith("(") and not index.startswith("(np.array([[") and "slice" not in index:
        name = index[1:-1]
    lines = ["y = x * 1.0" if use == "read" else "y = x + 0.0", *(line.format(i=name) for line in BODIES[use])]
    if recorded:  # the structured tier does not take ``finally``
        lines = ["try:", *("    " + line for line in lines), "finally:", "    pass"]
    header = "def f(x, t):" if place in ("argument", "attribute") else "def f(x):"
    text = "\n".join([header, *("    " + line for line in lines)])
    if place == "closure":
        text = "def made(t):\n" + "\n".join("    " + line for line in text.split("\n")) + "\n    return f\nf = made(T)"
    filename = f"<{kind}, {place}, {use}, {recorded}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), scope)
    given = (SimpleNamespace(index=value),) if place == "attribute" else (value,) if place == "argument" else ()
    return scope["f"], (x, *given)


def slopes(f: Any, x: np.ndarray, *rest: Any) -> np.ndarray:
    """Central differences, which are exact for a polynomial of degree two."""
    g = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 0.5
        g[place] = f(x + step, *rest) - f(x - step, *rest)
    return g


@pytest.mark.parametrize("recorded", [False, True], ids=["structured", "recorded"])
@pytest.mark.parametrize("use", BODIES)
@pytest.mark.parametrize("place", PLACES)
def test_an_entry_that_an_index_names_several_times_counts_as_often(place, use, recorded):
    wrong = {}
    taken = 0
    for kind in KINDS:
        f, args = program(kind, place, use, recorded)
        taken += compiled_for(f, parameters(f, args)) is not None
        value, gradient = mo.value_and_grad(f)(*args)
        expected = slopes(f, *args)
        if value != f(*args) or not np.allclose(gradient, expected, 1e-9, 1e-9):
            wrong[kind] = gradient, expected
    assert not wrong
    assert not (recorded and taken), "meant for the tape, and compiled"


REPEATED = (
    *("array of duplicates", "negative duplicates", "negative list", "list of rows", "tuple of lists"),
    *("slice and array", "mask and list", "outer"),
)
"""The kinds of index that are compiled from every source; all other kinds are compiled from a global only."""


@pytest.mark.parametrize("target", [p for p in PATHS if p != "eager"])
@pytest.mark.parametrize("place", PLACES)
def test_compiled_programs_count_it_as_often(place, target):
    """One program with many indices, each with its own ``x``, because most of the time goes into compiling."""
    names = [(kind, use) for kind in (KINDS if place == "global" else REPEATED) for use in ("read", "write")]
    programs = [program(kind, place, use, recorded=False) for kind, use in names]

    def joined(xs):
        total = 0.0
        for x, (f, args) in zip(xs, programs):
            total = total + f(x, *args[1:])
        return total

    xs = [args[0] for _, args in programs]
    value, gradients = mo.jit(mo.value_and_grad(joined), target=target)(xs)
    assert np.isclose(value, joined(xs), rtol=1e-12)
    wrong = {
        name: (gradient, expected)
        for name, gradient, (f, args) in zip(names, gradients, programs)
        if not np.allclose(gradient, expected := slopes(f, *args), 1e-9, 1e-9)
    }
    assert not wrong
