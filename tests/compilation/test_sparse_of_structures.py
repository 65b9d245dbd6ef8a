"""Sparse derivatives of functions whose arguments and results are dicts, tuples and objects of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morula as mo

N = 30
RNG = np.random.default_rng(5)
U, V = RNG.normal(size=N), RNG.normal(size=(N // 2, 2))


class State:
    def __init__(self, u: Any, v: Any) -> None:
        self.u, self.v = u, v


def reaction(p):
    u, v = p["u"], p["v"].ravel()
    return {"du": p["k"] * u * u * v - p["rate"] * u, "dv": np.concatenate([v[1:], v[:1]]) * u, "name": "reaction"}


def of_objects(s):
    return State(s.u * s.v.ravel(), (s.v**2, s.u[1:]))


def of_an_array(x):
    return {"squares": x * x, "differences": x[1:] - x[:-1]}


def energy(p):
    return np.sum((p["u"][1:] - p["u"][:-1] ** 2) ** 2) + np.sum(p["v"].ravel() ** 2 * p["u"]) + p["rate"] ** 2


PARAMETERS = {"u": U, "v": V, "k": 3, "rate": 0.5}


def dense(f, p):
    """The Jacobian as a dense matrix, by the vectors of ``tree.flatten``."""
    x, back = mo.tree.flatten(p)
    return mo.jacobian(lambda x: mo.tree.flatten(f(back(x)))[0])(x)


@pytest.mark.parametrize(
    "f, p",
    [(reaction, PARAMETERS), (of_objects, State(U, V)), (of_an_array, U)],
    ids=lambda x: getattr(x, "__name__", ""),
)
@pytest.mark.parametrize("mode", ["auto", "reverse"])
def test_rows_and_columns_are_in_the_order_of_the_leaves(f, p, mode):
    found = mo.sparse_jacobian(f, mode=mode)(p)
    np.testing.assert_allclose(found.toarray(), dense(f, p), rtol=1e-12, atol=1e-14)
    assert found.nnz < 0.5 * np.prod(found.shape)


def test_the_constants_of_a_structure_are_those_of_the_call():
    jacobian = mo.sparse_jacobian(reaction)
    for k in (3, 5):
        p = {**PARAMETERS, "k": k}
        np.testing.assert_allclose(jacobian(p).toarray(), dense(reaction, p), rtol=1e-12, atol=1e-14)

    def gathered(p):
        return p["x"][p["places"]]

    of_places = mo.sparse_jacobian(gathered)
    for places in ([0, 2, 1], [3, 3, 0]):
        p = {"x": U[:20], "places": np.array(places)}
        assert of_places(p).indices.tolist() == places


def test_a_hessian():
    p = {"u": U, "v": V, "rate": 0.5}
    x, back = mo.tree.flatten(p)
    expected = mo.hessian(lambda x: energy(back(x)))(x)
    np.testing.assert_allclose(mo.sparse_hessian(energy)(p).toarray(), expected, rtol=1e-12, atol=1e-14)


def test_another_argument_is_chosen_and_the_rest_are_constants():
    def f(a, p, b=1.0):
        return a * p["x"] ** 2 * b, p["y"]

    found = mo.sparse_jacobian(f, argnums=1)(2.0, {"x": U, "y": U[:5]}, b=3.0)
    assert found.shape == (N + 5, N + 5)
    np.testing.assert_allclose(found.diagonal(), [*(12.0 * U), *np.ones(5)])


def test_pattern_and_explain(capsys):
    jacobian = mo.sparse_jacobian(reaction)
    assert jacobian.pattern(PARAMETERS).shape == (2 * N, 2 * N + 1)
    assert f"sparse_jacobian of reaction: {2 * N} x {2 * N + 1}" in jacobian.explain(PARAMETERS)
    assert capsys.readouterr().out


def test_entries_have_a_gradient_in_each_leaf():
    def loss(p):
        return np.sum(mo.sparse_jacobian(lambda p: {"y": p["u"] * p["v"].ravel() ** 2})(p).data ** 2)

    found = mo.grad(loss)({"u": U, "v": V})
    v = V.ravel()
    np.testing.assert_allclose(found["u"], 8 * U * v**2, rtol=1e-12)
    np.testing.assert_allclose(found["v"].ravel(), 4 * v**3 + 8 * U**2 * v, rtol=1e-12)


def test_bad_input():
    with pytest.raises(mo.BadInput, match="needs a result that is an array of real floats or a real number"):
        mo.sparse_jacobian(lambda x: "text")(U)
    with pytest.raises(mo.BadInput, match="sparse_hessian needs a real number as result"):
        mo.sparse_hessian(lambda p: p["u"])({"u": U})
    with pytest.raises(mo.BadInput, match="the Jacobian is 100 % full, so it is not sparse; use jacobian"):
        mo.sparse_jacobian(lambda p: {"y": p["u"] * np.sum(p["u"])})({"u": U})
