"""Jacobians computed by rows and by columns, eager and compiled, are equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from path_tester import PATHS, run_on

import morula as mo
from morula.core.jacobians import matrices as jacobians

T = np.linspace(0.1, 3.0, 40)


def decay(b):
    return b[0] * np.exp(-b[1] * T)


def written(b):
    out = np.zeros(30)
    for i in range(30):
        out[i] = b[0] * np.sin(0.1 * i * b[1])
    return out


def twice(b):
    y = decay(b)
    return y, y


@pytest.fixture(params=PATHS)
def jacobian(request):
    """``mo.jacobian`` on each path."""
    return lambda f: run_on(request.param)(mo.jacobian(f))


def by_rows(monkeypatch, jacobian, f, *args):
    with monkeypatch.context() as context:
        context.setattr(jacobians, "FEWER", 10**9)
        return jacobian(f)(*args)


@pytest.mark.parametrize(
    "f", [decay, written, lambda b: np.outer(decay(b), b), lambda b: (decay(b), b[0] * b[1], [T * b[1]]), twice]
)
def test_columns_are_rows(f, jacobian, monkeypatch):
    b = np.array([2.0, 0.5])
    columns, rows = jacobian(f)(b), by_rows(monkeypatch, jacobian, f, b)
    assert type(columns) is type(rows)
    for c, r in zip(mo.tree.leaves(columns), mo.tree.leaves(rows), strict=True):
        assert c.shape == r.shape and c.dtype == r.dtype
        np.testing.assert_allclose(c, r, rtol=1e-13, atol=1e-15)


def test_a_tall_jacobian_takes_one_run_and_a_sweep_for_each_column(monkeypatch):
    passes = []

    @mo.adjoint(lambda x: x)
    def _(x):
        return x, lambda dy: dy

    def f(b):
        return mo.hook(lambda g: (passes.append(1), g)[1], decay(b))

    jacobian = mo.jacobian(f)(np.array([2.0, 0.5]))
    assert jacobian.shape == (40, 2)
    assert len(passes) <= 2
    np.testing.assert_allclose(jacobian[:, 0], np.exp(-0.5 * T), rtol=1e-14)


def test_closed_form_in_single_precision(jacobian):
    b = np.array([2.0, 0.5], np.float32)
    found = jacobian(lambda b: b[0] * np.exp(-b[1] * T.astype(np.float32)))(b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.stack([np.exp(-0.5 * T), -2 * T * np.exp(-0.5 * T)], -1), rtol=1e-5)


def test_structures_of_arguments_and_results(jacobian):
    found = jacobian(lambda p: {"y": p["a"] * p["w"][0] * T, "z": p["a"] ** 2})({"a": 2.0, "w": [np.array([3.0]), 1.0]})
    np.testing.assert_allclose(found["y"]["a"], 3.0 * T)
    np.testing.assert_allclose(found["y"]["w"][0], 2.0 * T[:, None])
    assert not found["y"]["w"][1].any()
    assert found["z"]["a"] == 4.0 and found["z"]["w"][1] == 0.0


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Line:
    slope: Any
    offset: Any
    name: Any = None


@pytest.mark.parametrize("n", [2, 40])
def test_an_argument_with_ints_and_constants(n, jacobian):
    given = {"x": 2.0, "n": 3, "name": "a", "k": np.arange(2), "is": True, "line": Line(1.5, 4, "b")}
    found = jacobian(lambda p: p["x"] * p["n"] * p["line"].slope * np.ones(n))(given)
    assert found["name"] is None and found["k"] is None and found["is"] is None and found["line"].name is None
    for entry, slope in ((found["x"], 4.5), (found["n"], 3.0), (found["line"].slope, 6.0), (found["line"].offset, 0.0)):
        np.testing.assert_allclose(entry, np.full(n, slope))


@pytest.mark.parametrize("make", [Pair, Line])
@pytest.mark.parametrize("n", [2, 40])
def test_a_result_keeps_its_class(make, n, jacobian):
    found = jacobian(lambda x: make(x**2 * np.ones(n), [x, None, 5]))(3.0)
    assert type(found) is make
    first, second = (found.a, found.b) if make is Pair else (found.slope, found.offset)
    np.testing.assert_allclose(first, np.full(n, 6.0))
    assert second == [1.0, None, 0.0]


def test_a_container_in_two_places_of_a_result_counts_once_in_each(jacobian):
    def f(x):
        inside = [x * x * T]
        return inside, inside

    first, second = jacobian(f)(3.0)
    np.testing.assert_allclose([first[0], second[0]], [6.0 * T, 6.0 * T])


@pytest.mark.parametrize(
    "given", [{"a": 2.0, "b": 3.0}, Pair(2.0, 3.0), Line(2.0, 3.0, "a line")], ids=["dict", "named tuple", "object"]
)
def test_hessian_of_a_structure(given, jacobian):
    def entries(p):
        return (p["a"], p["b"]) if isinstance(p, dict) else (p.a, p.b) if isinstance(p, Pair) else (p.slope, p.offset)

    def f(p):
        a, b = entries(p)
        return a**2 * b**3

    found = jacobian(mo.grad(f))(given)
    assert type(found) is type(given)
    np.testing.assert_allclose([entries(row) for row in entries(found)], [[54.0, 108.0], [108.0, 72.0]])


def test_columns_are_differentiated():
    k = np.arange(20)

    def total(x):
        return np.sum(mo.jacobian(lambda y: np.sin(y * k))(x))

    assert mo.grad(total)(0.3) == pytest.approx(-np.sum(np.sin(0.3 * k) * k**2), rel=1e-13)
    assert mo.grad(mo.grad(total))(0.3) == pytest.approx(-np.sum(np.cos(0.3 * k) * k**3), rel=1e-13)


def test_a_hook_that_is_not_linear_sees_each_row(jacobian):
    found = jacobian(lambda x: mo.hook(lambda g: np.clip(g, -1.0, 1.0), x * 3.0) * np.arange(1.0, 30.0))(1.0)
    assert found.tolist() == [3.0] * 29


def test_infinite_slopes(jacobian):
    assert np.isinf(jacobian(lambda x: np.sqrt(x) * np.ones(10))(0.0)).all()
    at_kink = jacobian(lambda x: np.where(x > 0, np.sqrt(x), x) * np.ones(10))
    assert at_kink(np.zeros(1)).tolist() == [[1.0]] * 10
    two = jacobian(lambda x: np.concatenate([np.sqrt(x), *[x] * 9]))(np.array([0.0, 4.0]))
    assert two[:2].tolist() == [[np.inf, 0.0], [0.0, 0.25]]


def test_results_without_rows_and_arguments_that_are_not_used(jacobian):
    assert jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
    assert not jacobian(lambda x: T)(np.ones(2)).any()
    assert jacobian(lambda x: T)(np.ones(0)).shape == (40, 0)


def test_derivatives_by_hand_without_one_of_their_own(jacobian):
    def f(x):
        return x**3 * np.ones(9)

    @mo.adjoint(f)
    def _(x):
        return f(x), lambda dy: float(np.sum(dy).item()) * 3 * x**2

    assert jacobian(f)(2.0).tolist() == [12.0] * 9


def test_complex_numbers_are_refused(jacobian):
    with pytest.raises(
        mo.BadInput,
        match=r"real numbers and arrays in argument 0, not a complex; use morula.pullback, or split complex numbers",
    ):
        jacobian(lambda z: z)(1j)
    with pytest.raises(mo.BadInput, match="jacobian needs a real output"):
        jacobian(lambda x: x * 1j)(1.0)


def test_a_result_without_numbers_is_refused(jacobian):
    with pytest.raises(mo.BadInput, match="jacobian needs a result of numbers or arrays, not a tuple of length 2"):
        jacobian(lambda x: ("a", None))(1.0)
