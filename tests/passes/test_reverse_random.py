"""Random typed programs with branches, loops and writes: their gradients against extrapolated differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from random_typed import programs
from sample_sizes import drawn
from typed_tester import gradient, total

import morula.core.specialise  # noqa: F401  rules are traced
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, operands, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType
from morula.core.passes.inline import inline
from morula.core.passes.simplify import simplify
from morula.core.testing.differences import ridders


def loss_of(f: Function) -> Function:
    """A number that depends on every inexact result."""
    b = Builder()
    parameters = [Value(p.name, p.type) for p in f.parameters]
    with b.block(parameters) as block:
        loss = b.constant(0.0, float)
        for y in inline(b, f, parameters):
            if y.type.is_inexact:
                one = np.ones(()) * (1.3 - 0.4j if y.type.dtype.kind == "c" else 0.7)
                weighted = b.ufunc(np.multiply, y, b.constant(one.astype(y.type.dtype)[()]))
                loss = b.ufunc(np.add, loss, b.cast(total(b, weighted), float))
        block.results = [loss]
    block.parameters = []
    return verify(Function("loss", parameters, block))


def is_double(f: Function) -> bool:
    kinds = {v.type for v in operands(f.block) if isinstance(v.type, ArrayType)}
    return not any(k.dtype.name in ("float32", "complex64") for k in kinds)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("target", ["native", "xla"])
def test_random_programs(target, dynamic):
    @settings(max_examples=drawn(25), suppress_health_check=list(HealthCheck))
    @given(programs(dynamic=dynamic))
    def run(case):
        f, args = case
        assume(is_double(f))
        loss = loss_of(f)
        active = [p.type.is_inexact for p in loss.parameters]
        assume(any(active))
        g = gradient(loss, active, target)
        y, *found = evaluate(g, args)
        for a, e in zip([y, *found], evaluate(verify(simplify(g)), args), strict=True):
            np.testing.assert_array_equal(a, e)
        check_slope(loss, args, active, found)

    run()


@settings(max_examples=drawn(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(dynamic=False))
def test_gradients_of_gradients(case):
    """The backward sweep pops residuals that have no derivative themselves, beside others that have one."""
    f, args = case
    assume(is_double(f))
    loss = loss_of(f)
    active = [p.type.is_inexact for p in loss.parameters]
    assume(any(active))
    first = loss_of(simplify(gradient(loss, active)))
    _, *found = evaluate(gradient(first, active), args)
    check_slope(first, args, active, found)


def check_slope(loss, args, active, gradients):
    """Compare gradients with the slope along a random direction."""
    random = np.random.default_rng(0)
    direction = [_direction(a, random) if on else None for a, on in zip(args, active)]

    def phi(t: float) -> float:
        return float(evaluate(loss, [a if d is None else a + t * d for a, d in zip(args, direction)])[0])

    slope, error = ridders(phi, 1e-2)
    along = sum(np.real(np.vdot(dx, d)) for dx, d in zip(gradients, [d for d in direction if d is not None]))
    assume(error < 1e-6)  # not at a kink
    assert abs(along - slope) <= 1e-5 * (1 + abs(slope))


def _direction(x, random):
    d = random.normal(size=np.shape(x))
    return np.asarray(d + 1j * random.normal(size=np.shape(x)) if np.iscomplexobj(x) else d, np.asarray(x).dtype)
