"""``no_derivative``: a derivative that would silently be zero is an error, only where the program takes it."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, run_on

import morula as mo

REASON = "the cube has no derivative by tolerance: it only ends the search; hold it constant"


def cube(a, tolerance):
    return mo.no_derivative(a * a, REASON, tolerance) * a


def of_structures(p):
    first, second = mo.no_derivative([2.0 * p["a"], (p["a"] ** 2).sum()], REASON, {"inner": [p["b"]]})
    return first.sum() + second


def along(f, a, b, da, db):
    return mo.jvp(f, (a, b), (da, db))[1]


REFUSED = {
    "reverse mode": lambda a, b: mo.grad(cube, 1)(a, b),
    "both arguments": lambda a, b: mo.grad(cube, (0, 1))(a, b),
    "forward mode": lambda a, b: mo.jvp(lambda b: cube(a, b), (b,), (1.0,)),
    "itself": lambda a, b: mo.grad(lambda a: mo.no_derivative(a, REASON))(a),
    "a computed tolerance": lambda a, b: mo.grad(lambda a: cube(a, 1e-3 * abs(a)))(a),
    "the outer of two derivatives": lambda a, b: mo.grad(lambda b: mo.grad(cube)(a, b))(b),
    "forward over reverse": lambda a, b: mo.jvp(lambda b: mo.grad(cube)(a, b), (b,), (1.0,)),
    "the inner of two derivatives": lambda a, b: mo.grad(lambda a: mo.grad(cube, 1)(a, b))(a),
    "a Hessian": lambda a, b: mo.hessian(lambda v: cube(v[0], v[1]))(np.stack([a, b])),
    "a Taylor series": lambda a, b: mo.taylor(lambda b: cube(a, b), b, 3),
    "structures": lambda a, b: mo.grad(lambda b: of_structures({"a": np.stack([a, a]), "b": b}))(b),
    "a batch": lambda a, b: mo.grad(lambda b: mo.vmap(lambda a: cube(a, b))(np.stack([a, a])).sum())(b),
    "a loop": lambda a, b: mo.grad(_in_a_loop, 1)(a, b),
    "a constant": lambda a, b: mo.grad(lambda b: mo.no_derivative(2.0, REASON, b) * 1.0)(b),
}


def _in_a_loop(a, b):
    for _ in range(3):
        a = cube(a, b) / a
    return a


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("path", PATHS)
def test_a_derivative_that_is_taken_is_an_error_with_the_reason(path, kind):
    with pytest.raises(mo.NoDerivative, match="no derivative by tolerance: it only ends the search"):
        run_on(path)(REFUSED[kind])(2.0, 3.0)


TAKEN = {
    "the value": (lambda a, b: cube(a, b), 8.0),
    "reverse mode": (lambda a, b: mo.grad(cube)(a, b), 12.0),
    "forward mode": (lambda a, b: mo.jvp(lambda a: cube(a, b), (a,), (1.0,))[1], 12.0),
    "a second derivative": (lambda a, b: mo.grad(lambda a: mo.grad(cube)(a, b))(a), 12.0),
    "forward over reverse": (lambda a, b: mo.jvp(lambda a: mo.grad(cube)(a, b), (a,), (1.0,))[1], 12.0),
    "a Taylor series": (lambda a, b: mo.taylor(lambda a: cube(a, b), a, 3)[3], 1.0),
    "a tolerance held constant": (lambda a, b: mo.grad(lambda a: cube(a, 1e-3 * mo.stop_gradient(a)))(a), 12.0),
    "structures": (lambda a, b: mo.grad(lambda a: of_structures({"a": np.stack([a, a]), "b": b}))(a), 12.0),
    "a batch": (lambda a, b: mo.grad(lambda a: mo.vmap(cube)(np.stack([a, a]), np.stack([b, b])).sum())(a), 24.0),
    "what does not affect the result": (lambda a, b: mo.grad(lambda b: (cube(a, b), b * b)[1])(b), 6.0),
    "a loop": (lambda a, b: mo.grad(_in_a_loop)(a, b), 1024.0),
}


@pytest.mark.parametrize("kind", TAKEN)
@pytest.mark.parametrize("path", PATHS)
def test_all_other_derivatives_pass(path, kind):
    program, expected = TAKEN[kind]
    assert run_on(path)(program)(2.0, 3.0) == pytest.approx(expected)


def test_a_derivative_that_is_zero_is_none():
    assert mo.grad(lambda b: 0.0 * cube(2.0, b) + b)(3.0) == 1.0
    assert along(cube, 2.0, 3.0, 1.0, 0.0) == 12.0


def test_a_compiled_function_in_a_derivative_is_refused_by_what_it_is_differentiated_by():
    compiled = mo.jit(cube)
    assert mo.grad(lambda a: compiled(a, 1e-3))(2.0) == pytest.approx(12.0)
    with pytest.raises(mo.NoDerivative, match="by tolerance"):
        mo.grad(compiled, 1)(2.0, 1e-3)


def test_a_sparse_jacobian_passes():
    y = mo.sparse_jacobian(lambda a: mo.no_derivative(a * a, REASON, 1e-3))(np.array([1.0, 2.0]))
    assert y.toarray().tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_numbers_arrays_and_containers_keep_their_kind():
    for x in (1.0, 2 + 1j, np.float32(1.0), np.ones(2, np.float32), [1.0, (2.0,)], {"a": 1.0}):
        assert type(mo.no_derivative(x, REASON)) is type(x)
        assert type(mo.pullback(lambda x: mo.no_derivative(x, REASON, 1.0), x)[0]) is type(x)


@pytest.mark.parametrize("reason", [None, "", 3])
def test_the_reason_is_a_text(reason):
    with pytest.raises(mo.BadInput, match="expected the text of the error"):
        mo.no_derivative(1.0, reason)
