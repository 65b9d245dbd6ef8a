"""Random programs: the typed program computes what Python computes, and compiled gradients are those of the eager path."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
from fuzz.families.structured import case, compile_program
from hypothesis import HealthCheck, assume, given, note, settings, strategies as st
from path_tester import assert_same
from sample_sizes import drawn

import morula as mo
from morula.core.ir.evaluate import evaluate
from morula.core.passes.reverse import reverse
from morula.core.passes.simplify import simplify
from morula.core.specialise import specialise
from morula.core.values.layout import objects_of, scan

QUIET = {"suppress_health_check": list(HealthCheck), "deadline": None}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def program_of(seed):
    """A random program and its arguments; one whose value is of moderate size."""
    text, args, _ = case(random.Random(seed))
    note(text)
    note(str(args))
    f = compile_program(text)
    try:
        value = f(*copy.deepcopy(args))
    except (ArithmeticError, ValueError):  # it overflowed
        value = np.inf
    assume(np.isfinite(value) and abs(value) < 1e6)
    return f, args


@settings(max_examples=drawn(40), **QUIET)
@given(st.integers(0, 2**32))
def test_the_typed_program_computes_what_python_does(seed):
    f, args = program_of(seed)
    program = specialise(f, args, {})
    given_args = copy.deepcopy(args)
    leaves, _ = scan((given_args, {}))
    for function in (program.function, simplify(program.function)):
        results = [x[()] for x in evaluate(function, leaves)]
        assert_same(program.result(results, leaves, objects_of((given_args, {}))), f(*args), 1e-9, "the value")


@settings(max_examples=drawn(12), **QUIET)
@given(st.integers(0, 2**32), st.sampled_from(["native", "xla"]))
def test_the_sweeps_give_the_eager_gradient(seed, target):
    f, args = program_of(seed)
    function = simplify(specialise(f, args, {}).function)
    if not function.block.results:
        return  # an argument as it is
    sweeps = reverse(function, [True] * len(args), target)
    _, *saved = evaluate(sweeps.forward, args)
    found = evaluate(sweeps.backward, [*saved, np.float64(1.0)])
    for got, expected in zip(found, mo.gradient(f, *args)):
        assert np.allclose(got, expected, rtol=1e-8, atol=1e-8 * max(1.0, np.max(np.abs(expected))))


@pytest.mark.parametrize("target", ["native", "xla"])
@settings(max_examples=drawn(6), **QUIET)
@given(seed=st.integers(0, 2**32))
def test_compiled_gradients_are_those_of_the_eager_path(target, seed):
    f, args = program_of(seed)
    derivative = mo.value_and_grad(f, range(len(args)))
    value, gradient = mo.jit(derivative, target=target)(*args)
    expected, slopes = derivative(*args)
    assert_same(value, expected, 1e-9, "the value")
    for got, slope in zip(gradient, slopes):
        assert np.shape(got) == np.shape(slope)
        assert np.allclose(got, slope, rtol=1e-8, atol=1e-8 * max(1.0, np.max(np.abs(slope))))
