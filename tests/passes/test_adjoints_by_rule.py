"""Typed IR defines adjoints only for its own operations and a few NumPy functions, where they agree with the rules."""

from __future__ import annotations

import numpy as np
import pytest
from typed_tester import contracted, gradient, program

from morula.core.ir import typed
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType
from morula.core.passes.reverse import structural
from morula.core.rules import find_rule

FASTER = {np.where, np.sum, np.matmul}
"""Functions of NumPy whose adjoint is written out, because interpreting the rule takes longer."""


def test_the_adjoints_are_those_of_the_ir_itself():
    others = {
        f
        for f in structural.ADJOINTS
        if getattr(f, "__module__", "") != typed.__name__ and f not in vars(typed).values()
    }
    assert others == FASTER
    assert all(find_rule(f) for f in FASTER)


def random(shape, dtype, seed):
    x = np.random.default_rng(seed).normal(size=(2, *shape))
    return x[0] + 1j * x[1] if dtype is complex else x[0]


def both(monkeypatch, f, active, args):
    """The gradient of a program by the adjoints, and by the rules alone."""
    for alone in (False, True):
        with monkeypatch.context() as patch:
            for function in FASTER if alone else ():
                patch.delitem(structural.ADJOINTS, function)
            written = gradient(f, active)
        yield evaluate(written, args)[1:]


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 0), (0, 4)), ((1, 1), (1, 1))], ids=str
)
def test_products_of_matrices(monkeypatch, shapes, dtype):
    f = program(
        lambda b, x, y: [b.cast(contracted(b, b.matmul(x, y), None), float)],
        *(ArrayType(np.dtype(dtype), shape) for shape in shapes),
    )
    args = [random(shape, dtype, i) for i, shape in enumerate(shapes)]
    for g, h in zip(*both(monkeypatch, f, [True, True], args), strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("dtype", [float, complex])
def test_sums(monkeypatch, axes, dtype):
    def body(b, x):
        y = b.reduce(np.sum, x, axes)
        return [b.cast(contracted(b, b.ufunc(np.multiply, y, y), None), float)]

    f = program(body, ArrayType(np.dtype(dtype), (2, 3, 4)))
    mine, ruled = both(monkeypatch, f, [True], [random((2, 3, 4), dtype, 3)])
    np.testing.assert_allclose(mine, ruled, rtol=1e-14)


@pytest.mark.parametrize(
    "shapes", [((3,), (2, 3), (2, 3)), ((2, 3), (3,), ()), ((2, 1), (3,), (1, 3)), ((), (2,), ())], ids=str
)
@pytest.mark.parametrize("dtype", [float, complex])
def test_selections(monkeypatch, shapes, dtype):
    f = program(
        lambda b, condition, x, y: [b.cast(contracted(b, b.where(condition, x, y), None), float)],
        *(ArrayType(np.dtype(kind), shape) for kind, shape in zip((bool, dtype, dtype), shapes)),
    )
    args = [random(shapes[0], float, 0) > 0, *(random(shape, dtype, i) for i, shape in enumerate(shapes[1:], 1))]
    for g, h in zip(*both(monkeypatch, f, [False, True, True], args), strict=True):
        np.testing.assert_allclose(g, h, rtol=1e-14)
