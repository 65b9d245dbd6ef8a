"""Batching of typed IR, on random programs: all samples at once give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from random_typed import programs
from sample_sizes import drawn

from morula.core.compilation import transformed_calls  # noqa: F401  traces rules
from morula.core.errors import BadInput
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.passes.batch import batch
from morula.core.passes.inline import inline
from morula.core.passes.reverse import reverse

LANES = 3
TARGETS = ["native", "xla"]


def others(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other values of the same type for each sample; the first keeps its own."""
    kind = x.dtype.kind
    made = [x]
    for _ in range(LANES - 1):
        new = rng.normal(size=x.shape) * (3 if kind == "i" else 1)
        made.append(
            (new > 0 if kind == "b" else new + 1j * rng.normal(size=x.shape) if kind == "c" else new).astype(x.dtype)
        )
    return np.stack(made)


def compare(function: Function, arguments: list, varying: list[bool], target: str) -> None:
    rng = np.random.default_rng(5)
    given = [others(np.asarray(x), rng) if on else x for x, on in zip(arguments, varying)]
    expected = [evaluate(function, [x[k] if on else x for x, on in zip(given, varying)]) for k in range(LANES)]
    try:
        made = verify(batch(function, varying, LANES, target))
    except BadInput as error:
        assert "another length in each sample" in str(error)
        return
    found = evaluate(made, given)
    for i, y in enumerate(found):
        alone = np.stack([e[i] for e in expected])
        np.testing.assert_allclose(
            y, alone, rtol=2e-5 if y.dtype.char in "fF" else 1e-10, atol=1e-6 if y.dtype.char in "fF" else 1e-12
        )


@st.composite
def cases(draw, dynamic: bool = False):
    function, arguments = draw(programs(dynamic))
    varying = [draw(st.booleans()) for _ in arguments]
    varying[draw(st.integers(0, len(varying) - 1))] = True
    return function, arguments, varying


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=drawn(200))
@given(case=cases())
def test_samples_are_computed_as_alone(target, case):
    compare(*case, target)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=drawn(100))
@given(case=cases(dynamic=True))
def test_lengths_that_differ_between_samples_are_refused_or_right(target, case):
    compare(*case, target)


def differentiated(function: Function, target: str) -> Function:
    """The gradient of the sum of the inexact results, as a function of the parameters."""
    active = [p.type.is_inexact for p in function.parameters]
    sweeps = reverse(function, active, target)
    b = Builder()
    parameters = [Value(p.name, p.type) for p in function.parameters]
    with b.block() as block:
        found = inline(b, sweeps.forward, parameters)
        count = len(function.block.results)
        seeds = [
            b.broadcast_to(b.constant(1, v.type.dtype), v.type.shape)
            for v in function.block.results
            if v.type.is_inexact
        ]
        block.results = inline(b, sweeps.backward, [*found[count:], *seeds])
    return verify(Function("gradient", parameters, block))


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=drawn(100))
@given(case=cases())
def test_gradients_of_samples_are_computed_as_alone(target, case):
    function, arguments, varying = case
    compare(differentiated(function, target), arguments, varying, target)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=drawn(60))
@given(case=cases())
def test_the_gradient_of_a_batch_is_that_of_its_samples(target, case):
    function, arguments, varying = case
    rng = np.random.default_rng(5)
    given = [others(np.asarray(x), rng) if on else x for x, on in zip(arguments, varying)]
    alone = differentiated(function, target)
    expected = [evaluate(alone, [x[k] if on else x for x, on in zip(given, varying)]) for k in range(LANES)]
    found = evaluate(differentiated(batch(function, varying, LANES, target), target), given)
    inexact = [on for p, on in zip(function.parameters, varying) if p.type.is_inexact]
    for i, (y, on) in enumerate(zip(found, inexact, strict=True)):
        each = np.stack([e[i] for e in expected])
        each = each if on else each.sum(0)
        loose = y.dtype.char in "fF"
        np.testing.assert_allclose(y, each, rtol=1e-4 if loose else 1e-9, atol=1e-5 if loose else 1e-10)
