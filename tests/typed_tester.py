"""Programs written in typed IR, and one tester of their gradients against extrapolated differences, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType
from morula.core.passes.forward import forward
from morula.core.passes.inline import inline
from morula.core.passes.reverse import reverse
from morula.core.passes.simplify import simplify
from morula.core.testing.differences import vjp_by_differences

TARGETS = ("native", "xla")


def vector(n: int, dtype: Any = float) -> ArrayType:
    return ArrayType(np.dtype(dtype), (n,))


def program(body: Callable[..., Sequence[Value]], *types: ArrayType) -> Function:
    """The typed function that ``body(builder, *parameters)`` writes."""
    b = Builder()
    parameters = [Value("xyzuvw"[i], t) for i, t in enumerate(types)]
    with b.block(parameters) as block:
        block.results = list(body(b, *parameters))
    block.parameters = []
    return verify(Function("f", parameters, block))


def gradient(f: Function, active: Sequence[bool], target: str = "native") -> Function:
    """Value and gradient of a function whose first result is a number, both sweeps in one function."""
    sweeps = reverse(f, active, target)
    verify(sweeps.forward)
    verify(sweeps.backward)
    b = Builder()
    parameters = [Value(p.name, p.type) for p in f.parameters]
    with b.block(parameters) as block:
        y, *rest = inline(b, sweeps.forward, parameters)
        kind = y.type.dtype
        block.results = [y, *inline(b, sweeps.backward, [*rest, b.constant(1, kind)])]
    block.parameters = []
    return verify(Function("value_and_gradient", parameters, block))


def numerical(f: Function, args: Sequence[Any], i: int) -> Any:
    """The gradient of a real result in argument i by extrapolated differences."""

    def at(x: Any) -> Any:
        return np.real(evaluate(f, [*args[:i], x, *args[i + 1 :]])[0])

    return vjp_by_differences(at, 1.0, (np.asarray(args[i]),), step=0.05)[0][0]


def check(
    f: Function,
    *args: Any,
    active: Sequence[bool] | None = None,
    rtol: float = 1e-8,
    order: int = 1,
    targets: Sequence[str] = TARGETS,
) -> None:
    """Compare value and gradient with differences, for every target."""
    inexact = [a.type.is_inexact for a in f.parameters] if active is None else active
    for target in targets:
        g = gradient(f, inexact, target)
        y, *found = evaluate(g, args)
        for a, b in zip([y, *found], evaluate(verify(simplify(g)), args), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(y, evaluate(f, args)[0])
        for i, dx in zip([i for i, on in enumerate(inexact) if on], found):
            expected = numerical(f, args, i)
            np.testing.assert_allclose(dx, expected, rtol=rtol, atol=1e-9 * (1 + np.abs(expected).max(initial=0)))
        check_tangent(f, args, inexact, target, found, rtol)
        if order > 1:
            k = inexact.index(True)
            weights = np.random.default_rng(0).normal(size=np.shape(args[k]))
            h = program(
                lambda b, *p: [contracted(b, inline(b, g, p)[1], weights)], *(p.type for p in f.parameters)
            )  # fmt: skip
            check(h, *args, active=active, rtol=max(rtol, 1e-6), order=order - 1, targets=[target])


def check_tangent(
    f: Function, args: Sequence[Any], active: Sequence[bool], target: str, gradient: Sequence[Any], rtol: float
) -> None:
    """Compare the tangent that forward mode gives for random tangents of the arguments with their product with the gradient."""
    pushed = verify(forward(f, active, target))
    random = np.random.default_rng(5)
    dxs = [np.asarray(random.normal(size=np.shape(g)), np.asarray(g).dtype) for g in gradient]
    dxs = [dx * (1 + 2j) if np.iscomplexobj(dx) else dx for dx in dxs]
    results = evaluate(pushed, [*args, *dxs])
    for a, b in zip(results, evaluate(verify(simplify(pushed)), [*args, *dxs]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(results[0], evaluate(f, args)[0])
    parts = [np.sum(np.real(np.conj(g) * dx)) for g, dx in zip(gradient, dxs)]
    expected, size = sum(parts), sum(np.sum(np.abs(g * dx)) for g, dx in zip(gradient, dxs))
    dy = np.real(results[len(f.block.results)])
    np.testing.assert_allclose(dy, expected, rtol=rtol, atol=rtol * size + 1e-12)


def total(b: Builder, x: Value) -> Value:
    """The sum of all elements."""
    return b.reduce(np.sum, x, range(x.type.ndim)) if x.type.ndim else x


def contracted(b: Builder, x: Value, weights: Any) -> Value:
    """A number that depends on every element, with these weights or with random ones."""
    weights = np.random.default_rng(1).normal(size=x.type.shape) if weights is None else weights
    return total(b, b.ufunc(np.multiply, x, b.constant(np.asarray(weights, x.type.dtype))))
