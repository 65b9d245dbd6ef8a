"""Operands keep the values that a call has read: later changes to a list or an array do not affect the gradient."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

CALLS = {
    # name: (what makes the argument, the call, what changes the argument afterwards)
    "a list as an index": ("[0, 0, 1]", "y = x[a]", "a[0] = 2"),
    "a tuple of lists as an index": ("([0, 0, 1],)", "y = x[a]", "a[0][0] = 2"),
    "an array as an index": ("np.array([0, 0, 1])", "y = x[a]", "a[:] = 2"),
    "a written index": ("[0, 0, 1]", "y = x * 1; y[a] = x**2", "a[0] = 2"),
    "a written mask": ("np.array([True, False, True])", "y = x * 1; y[a] = 3 * x[a]", "a[:] = False"),
    "add.at of a list": ("[0, 0, 1]", "y = x * 1; np.add.at(y, a, x)", "a[0] = 2"),
    "add.at of a tuple of lists": ("([0, 0, 1],)", "y = x * 1; np.add.at(y, a, x)", "a[0][0] = 2"),
    "add.at of an array": ("np.array([0, 0, 1])", "y = x * 1; np.add.at(y, a, x)", "a[:] = 2"),
    "subtract.at of a tuple": ("([0, 0, 1],)", "y = x * 1; np.subtract.at(y, a, x)", "a[0][0] = 2"),
    "take": ("[0, 0, 1]", "y = np.take(x, a)", "a[0] = 2"),
    "put": ("[0, 2, 1]", "y = x * 1; np.put(y, a, x**2)", "a[0] = 2"),
    "choose": ("[0, 1, 0]", "y = np.choose(a, [x, x**2])", "a[0] = 1"),
    "where": ("[True, False, True]", "y = np.where(a, x, x**2)", "a[0] = False"),
    "compress": ("[True, False, True]", "y = np.compress(a, x)", "a[0] = False"),
    "operand": ("[1.0, 2.0, 3.0]", "y = x * a", "a[0] = 7.0"),
    "dot": ("[1.0, 2.0, 3.0]", "y = np.dot(x, a) * x", "a[0] = 7.0"),
    "nested operand": ("[[0.0, 1.0, 2.0], [1.0, 0.0, 5.0]]", "y = np.matmul(a, x)", "a[0][0] = 7.0"),
    "where=": ("np.array([True, True, False])", "y = np.multiply(x, 3.0, out=x * 2, where=a)", "a[:] = False"),
    "repeat": ("[2, 0, 1]", "y = np.repeat(x, a)", "a[0] = 1"),
    "split": ("[1]", "y, z = np.split(x, a); y = y * z[1]", "a[0] = 2"),
    "delete": ("[1]", "y = np.delete(x, a)", "a[0] = 2"),
    "insert": ("[1, 1]", "y = np.insert(x, a, x[:2] ** 2)", "a[0] = 2"),
    "pad": ("[(1, 1)]", "y = np.pad(x, a, mode='edge')", "a[0] = (0, 2)"),
    "transpose": ("[1, 0]", "y = np.transpose(np.outer(x, x**2), a)[0]", "a[:] = [0, 1]"),
    "values of interp": ("[0.0, 1.0, 3.0]", "y = np.interp(x, [0.0, 1.0, 2.0], a) * x", "a[0] = 5.0"),
    "nodes of interp": ("[0.0, 1.0, 2.0]", "y = np.interp(x, a, [0.0, 1.0, 3.0]) * x", "a[0] = 0.5"),
    "coefficients": ("[1.0, 2.0, 3.0]", "y = np.convolve(x, a)", "a[0] = 5.0"),
    "einsum": ("[[0.0, 1.0, 2.0]] * 3", "y = np.einsum('i,ij->j', x, a)", "a[0] = [7.0, 7.0, 7.0]"),
}


def program(name: str):
    made, call, change = CALLS[name]
    text = f"def f(x):\n    a = {made}\n    {call}\n    {change}\n    return np.sum(y**2) + y[-1] ** 3\n"
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np}
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


PROGRAMS = {name: program(name) for name in CALLS}


def all_of_them(xs):
    return sum(f(x) for x, f in zip(xs, PROGRAMS.values()))


X = np.array([1.5, 0.7, 1.2])


@pytest.mark.parametrize("name", CALLS)
def test_what_a_call_has_read_counts_as_it_was_then(name):
    check_gradient("eager", PROGRAMS[name], X)


@pytest.mark.parametrize("path", [p for p in PATHS if p != "eager"])
def test_compiled_programs_read_it_as_it_was_then(path):
    check_gradient(path, all_of_them, [X] * len(PROGRAMS))
