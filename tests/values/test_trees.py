"""``mo.tree``: a structure as one vector and back, and the places of its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import morula as mo

LEAVES = st.one_of(
    st.floats(-10, 10),
    st.complex_numbers(max_magnitude=10),
    st.floats(-10, 10).map(np.float32),
    st.lists(st.floats(-10, 10), max_size=4).map(lambda xs: np.array(xs, float)),
    st.integers(),
    st.none(),
    st.text(max_size=2),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Layer:
    weight: np.ndarray
    bias: float
    name: str = "layer"


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    else:
        assert a == b


@settings(deadline=None, max_examples=60)
@given(TREES)
def test_a_structure_survives_the_way_to_a_vector_and_back(tree):
    vector, unflatten = mo.tree.flatten(tree)
    assert vector.ndim == 1 and vector.dtype.kind == "f"
    same(unflatten(vector), tree)
    assert len(mo.tree.leaves_with_paths(tree)) == len(mo.tree.leaves(tree))


def test_paths_lead_to_the_leaves():
    tree = {"w": [Layer(np.ones(2), 2.0), (3.0,)], "n": 3}
    assert [path for path, _ in mo.tree.leaves_with_paths(tree)] == ["['w'][0].weight", "['w'][0].bias", "['w'][1][0]"]
    for path, leaf in mo.tree.leaves_with_paths(tree):
        assert eval(f"tree{path}") is leaf


def test_a_shared_array_is_one_block():
    shared = np.arange(3.0)
    vector, unflatten = mo.tree.flatten([shared, {"again": shared}])
    assert vector.size == 3
    found = unflatten(vector + 1)
    assert found[0] is found[1]["again"]


def loss(tree):
    return np.sum(tree["w"] ** 3) * tree["b"] + abs(tree["z"]) ** 2


TREE = {"w": np.array([[1.0, 2.0]]), "b": 0.5, "z": 1 + 2j}


def test_gradients_pass_through_the_vector():
    vector, unflatten = mo.tree.flatten(TREE)
    found = mo.grad(lambda v: loss(unflatten(v)))(vector)
    np.testing.assert_allclose(found, mo.tree.flatten(mo.grad(loss)(TREE))[0])
    through = mo.grad(lambda tree: np.sum(mo.tree.flatten(tree)[0] ** 2))(TREE)
    np.testing.assert_allclose(through["w"], 2 * TREE["w"])
    assert through["b"] == 1.0 and through["z"] == 2 * TREE["z"]


def test_the_way_back_compiles():
    vector, unflatten = mo.tree.flatten(TREE)
    gradient = mo.grad(lambda v: loss(unflatten(v)))
    np.testing.assert_allclose(mo.jit(gradient)(vector), gradient(vector))


def test_a_vector_of_another_length_is_refused():
    _, unflatten = mo.tree.flatten(TREE)
    with pytest.raises(
        mo.BadInput, match=r"this structure has 5 numbers: expected a vector of that length, not the shape \(4,\)"
    ):
        unflatten(np.zeros(4))
