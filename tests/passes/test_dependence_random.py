"""The patterns of random programs contain every entry of their derivatives that is different from zero, at several points."""

from __future__ import annotations

import numpy as np
import pytest
from dependence_limits import WAYS, limits
from hypothesis import given, settings, strategies as st
from random_typed import programs

from morula.core.compilation import transformed_calls  # noqa: F401  traces rules
from morula.core.errors import NoDerivative
from morula.core.ir.dynamic import Block, Function
from morula.core.ir.evaluate import evaluate
from morula.core.passes.dependence import dependence
from morula.core.passes.forward import forward
from morula.core.passes.simplify import simplify

X = 1
"""The number of the parameter, a vector of four floats, by which the programs are differentiated."""


def with_one_result(function, k):
    block = Block(function.block.parameters, function.block.operations, [function.block.results[k]])
    return Function(function.name, function.parameters, block)


def tangents_of(function):
    """The programs of the tangent of each real result, linear in their last parameter."""
    count = len(function.block.results)
    active = [i == X for i in range(len(function.parameters))]
    made = forward(function, active, is_differentiated=True)
    inexact = [v for v in function.block.results if v.type.is_inexact]
    for k, v in enumerate(inexact):
        if v.type.dtype.kind == "f" and v.type.is_static:
            yield simplify(with_one_result(made, count + k))


def points(arguments, seed):
    """The arguments, with other floats and the same ints."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        yield [
            np.asarray(rng.normal(size=np.shape(x)), x.dtype)[()] if np.asarray(x).dtype.kind == "f" else x
            for x in arguments
        ]


def directions(n):
    return list(np.eye(n))


def entries_of_jacobian(function, arguments):
    """The entries that are different from zero at some point."""
    found = 0
    for point in points(arguments, 0):
        columns = [np.ravel(evaluate(function, [*point, dx])[0]) for dx in directions(4)]
        found = found + (np.nan_to_num(np.stack(columns, 1), nan=1.0) != 0)
    return found > 0


def entries_of_hessian(function, arguments):
    active = [i == X for i in range(len(function.parameters))]
    second = forward(function, active, is_differentiated=False)
    found = 0
    for point in points(arguments, 0):
        rows = []
        for dx in directions(4):
            # The tangent of each element's tangent, along dx, in the directions of the argument.
            columns = [np.ravel(evaluate(second, [*point, dx, ddx])[-1]) for ddx in directions(4)]
            rows.append(np.stack(columns, 1))
        found = found + (np.nan_to_num(np.stack(rows, 2), nan=1.0) != 0).any(0)
    return found > 0


def check(way, data, dynamic, is_second):
    function, arguments = data.draw(programs(dynamic))
    ints = {i: np.asarray(x) for i, x in enumerate(arguments) if np.asarray(x).dtype.kind in "ib"}
    numbers = ints if data.draw(st.booleans()) else {}
    try:
        found = list(tangents_of(function))
    except NoDerivative:
        return
    for tangent in found:
        with limits(way):
            pattern = dependence(tangent, len(arguments), numbers, X if is_second else None).pattern.toarray()
        entries = (entries_of_hessian if is_second else entries_of_jacobian)(tangent, arguments)
        assert pattern.shape == entries.shape and not (entries & ~pattern).any()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_pattern_contains_every_entry_of_the_jacobian(way, dynamic, data):
    check(way, data, dynamic, is_second=False)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_pattern_contains_every_entry_of_the_second_derivative(way, data):
    check(way, data, dynamic=False, is_second=True)
