"""Random programs of writes, views, branches, loops, calls and containers, against dual numbers.

The reference is forward mode on dual numbers in NumPy arrays of Python objects: exact, and independent of the engine.
Views, in-place writes and fancy indices of such arrays are NumPy's own, so that aliasing is that of the program.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import math
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz.duals import DualNumPy, forward_gradient
from fuzz.families.mutation import POINT, PureWriter, Writer, program
from hypothesis import HealthCheck, assume, given, note, settings, strategies as st
from sample_sizes import drawn

import morula as mo
from morula.core.testing.differences import ridders

numbers = itertools.count()


def load(source, **modules):
    """The function `program` of a source text, which tracebacks and the engine can read back."""
    name = f"<random program {next(numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = dict(modules)
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def compare(program, reference):
    """Value, effects and gradient of `program` at POINT, against Python's own and those of forward mode."""
    plain_args, args = copy.deepcopy(POINT), copy.deepcopy(POINT)
    plain = program(*plain_args)
    y, back = mo.vjp(program, *args)
    gradient = back(1.0)
    assert y == plain
    for got, expected in zip(args, plain_args):
        assert np.array_equal(got, expected), "the arguments are not as Python leaves them"
    scale = max(1.0, *(np.abs(e).max() for e in reference))
    for name, got, e in zip("xyabm", gradient, reference):
        assert np.shape(got) == e.shape
        assert np.allclose(got, e, rtol=1e-8, atol=1e-9 * scale), f"d{name} is {got}, forward mode gives {e}"


def forward_reference(source):
    """The gradient at POINT by forward mode, or None where a program is chaotic and magnifies rounding past comparing."""
    program = load(source, np=DualNumPy(), math=SimpleNamespace(sin=np.sin, tanh=np.tanh, pi=math.pi))
    with np.errstate(all="ignore"):
        try:
            gradient = forward_gradient(program, copy.deepcopy(POINT))
        except (ValueError, OverflowError):
            return None
    return gradient if all(np.abs(g).max() < 1e6 for g in gradient) else None


@settings(max_examples=drawn(70), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_a_random_program_has_the_gradient_of_forward_mode(seed):
    source = program(seed)
    reference = forward_reference(source)
    assume(reference is not None)
    note(source)
    compare(load(source, np=np, math=math), reference)


@settings(max_examples=drawn(50), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_a_random_pure_program_has_the_gradient_of_forward_mode(seed):
    source = program(seed, PureWriter)
    reference = forward_reference(source)
    assume(reference is not None)
    note(source)
    compare(load(source, np=np, math=math), reference)


@settings(max_examples=drawn(12), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.sampled_from([Writer, PureWriter]))
def test_a_random_program_has_second_derivatives(seed, writer):
    source = program(seed, writer)
    assume(forward_reference(source) is not None)
    f = load(source, np=np, math=math)

    def slope(x, y):
        _, _, a, b, m = copy.deepcopy(POINT)
        return mo.gradient(f, x, y, a, b, m)[0]

    note(source)
    x, y = POINT[:2]
    for got, along in zip(mo.gradient(slope, x, y), (lambda t: slope(x + t, y), lambda t: slope(x, y + t))):
        expected, error = ridders(along, 1e-3, levels=5)
        assume(error < 1e-6 * max(1.0, abs(expected)))  # a branch switches, or rounding is magnified
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "    a[1:] += a[:-1]\n    v = a[::-1]\n    v *= x\n    a[0] = y\n    return (v * b).sum()\n",
        "    t = m.T\n    t[0] *= x\n    w = m.reshape(-1)\n    w[1:] = np.tanh(w[:-1] * y)\n    return (t * t).sum() + w[2]\n",
        "    c = np.zeros(4)\n    for i in range(4):\n        c[i] = x * c[i - 1] + a[i]\n    return c @ b\n",
    ],
    ids=["overlapping", "reshaped", "filled"],
)
def test_forward_mode_agrees_with_differences(check, body):
    source = "def program(x, y, a, b, m):\n" + body
    program = load(source, np=np, math=math)
    check(program, *POINT)
    compare(program, forward_reference(source))
