"""Walks over structures: leaves and paths, one vector and back, comparison."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import morula as mo
from morula.core.values.tree import flatten, leaves, leaves_with_paths, map_leaves, require_same_structure

Pair = namedtuple("Pair", "first second")


class Plain:
    def __init__(self, w, bias):
        self.w, self.bias = w, bias


class Slotted:
    __slots__ = ("__hidden", "shown")

    def __init__(self, hidden, shown):
        self.__hidden, self.shown = hidden, shown

    def hidden(self):
        return self.__hidden


@dataclass
class Mutable:
    w: object
    bias: object


@dataclass(frozen=True)
class Frozen:
    w: object
    bias: object


@dataclass(frozen=True, slots=True)
class FrozenSlotted:
    w: object
    bias: object


HOLDERS = [Pair, Plain, Slotted, Mutable, Frozen, FrozenSlotted]


def same(a, b):
    """Whether two leaves have one class, shape and dtype, and the same bits but for those of NaN."""
    if type(a) is not type(b) or np.shape(a) != np.shape(b) or np.asarray(a).dtype != np.asarray(b).dtype:
        return False
    parts = [(np.real(a), np.real(b)), (np.imag(a), np.imag(b))]
    return all(np.array_equal(x, y, equal_nan=True) and np.all(np.signbit(x) == np.signbit(y)) for x, y in parts)


# ---- leaves and paths


def test_the_walks_are_public():
    assert mo.tree is mo.core.tree and set(mo.tree.__all__) <= set(vars(mo.tree))


def test_a_path_is_what_a_user_would_write():
    params = {"w": [Plain(np.ones(2), 2.0)], 3: (1.0, Pair(4.0, 5.0)), "n": 7, "name": None}
    assert [path for path, _ in leaves_with_paths(params, "params")] == [
        "params['w'][0].w",
        "params['w'][0].bias",
        "params[3][0]",
        "params[3][1][0]",
        "params[3][1][1]",
    ]
    for path, leaf in leaves_with_paths(params, "params"):
        assert eval(path, {"params": params}) is leaf


def test_ints_bools_strings_none_and_arrays_of_them_are_constants():
    assert leaves([1, True, "a", None, np.arange(3), np.array([True]), {1.0, 2.0}, np.int64(1)]) == []


def test_leaves_come_in_the_order_of_the_dict_and_of_the_attributes():
    assert leaves({"b": 1.0, "a": 2.0}) == [1.0, 2.0]
    assert leaves(Frozen(w=1.0, bias=2.0)) == [1.0, 2.0]


def test_an_array_at_two_places_is_one_leaf_and_a_number_is_two():
    a = np.ones(2)
    assert [path for path, _ in leaves_with_paths([a, a])] == ["[0]"]
    assert len(leaves([1.0, 1.0])) == 2
    doubled = map_leaves(lambda x: 2 * x, [a, {"again": a}])
    assert doubled[0] is doubled[1]["again"]


@pytest.mark.parametrize("holder", HOLDERS)
def test_holders_of_every_kind_are_made_anew_without_their_constructors(holder):
    given_ = holder(np.array([1.0, 2.0]), 3.0)
    made = map_leaves(lambda x: 2 * x, given_)
    assert type(made) is holder and made is not given_
    assert [np.asarray(x).tolist() for x in leaves(made)] == [[2.0, 4.0], 6.0]
    assert [np.asarray(x).tolist() for x in leaves(given_)] == [[1.0, 2.0], 3.0]


def test_private_slots_are_leaves():
    assert map_leaves(lambda x: -x, Slotted(1.0, 2.0)).hidden() == -1.0


# ---- one vector and back

FLOATS = st.floats(width=32, allow_nan=True)
DTYPES = st.sampled_from([np.float16, np.float32, np.float64, np.complex64, np.complex128])
ARRAYS = DTYPES.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)))
LEAVES = st.one_of(FLOATS, st.complex_numbers(width=64), ARRAYS, FLOATS.map(np.float32), FLOATS.map(np.float64))
CONSTANTS = st.one_of(st.integers(), st.booleans(), st.text(max_size=2), st.none())
STRUCTURES = st.recursive(
    LEAVES | CONSTANTS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(deque),
        st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict),
        st.lists(inner, min_size=1, max_size=2).map(lambda xs: [xs[0], xs]),  # sharing
        *[st.builds(holder, inner, inner) for holder in HOLDERS],
    ),
    max_leaves=8,
)


@given(STRUCTURES)
def test_any_structure_survives_being_made_a_vector(structure):
    vector, unflatten = flatten(structure)
    again = unflatten(vector)
    require_same_structure(structure, again)
    before, after = leaves_with_paths(structure), leaves_with_paths(again)
    assert [path for path, _ in before] == [path for path, _ in after]
    assert all(same(x, y) for (_, x), (_, y) in zip(before, after, strict=True))
    assert not any(isinstance(y, np.ndarray) and np.shares_memory(x, y) for (_, x), (_, y) in zip(before, after))


@given(STRUCTURES)
def test_the_vector_is_that_of_what_is_made_of_it(structure):
    vector, unflatten = flatten(structure)
    again, _ = flatten(unflatten(vector))
    assert vector.dtype.kind == "f" and same(vector, again)


def test_sharing_survives():
    a, layer = np.ones(2), Plain(1.0, 2.0)
    vector, unflatten = flatten([a, layer, a, layer])
    assert vector.tolist() == [1.0, 1.0, 1.0, 2.0]
    first, one, second, other = unflatten(vector)
    assert first is second and one is other


def test_the_vector_has_the_least_dtype_that_holds_all():
    assert flatten([np.float32(1), np.zeros(1, np.complex64)])[0].dtype == np.float32
    assert flatten([np.float32(1), 1.0])[0].dtype == np.float64
    assert flatten({"n": 1})[0].tolist() == []


def test_unflatten_does_not_depend_on_later_writes_into_the_structure():
    params = {"w": np.ones(2), "rates": [1.0]}
    vector, unflatten = flatten(params)
    params["w"][:] = 7.0
    params["rates"].append(3.0)
    assert vector.tolist() == [1.0, 1.0, 1.0]
    assert unflatten(vector)["rates"] == [1.0]


@pytest.mark.parametrize(
    "vector, message",
    [
        (np.zeros(2), r"this structure has 3 numbers: expected a vector of that length, not the shape \(2,\)"),
        (np.zeros((1, 3)), r"not the shape \(1, 3\)"),
        (np.zeros(3, complex), "takes a vector of 3 real numbers, not of dtype complex128"),
        ("abc", r"not the shape \(\)"),
    ],
)
def test_unflatten_refuses_another_form(vector, message):
    _, unflatten = flatten({"w": np.zeros(3)}, "params")
    with pytest.raises(mo.BadInput, match=message):
        unflatten(vector)


class Kelvin(float):
    pass


@pytest.mark.parametrize(
    "leaf, message",
    [
        (np.array([1.0, 2.0], object), r"params\['w'\] is an array of Python objects"),
        (np.ma.masked_array([1.0]), r"params\['w'\] is a MaskedArray: expected a plain number or array"),
        (Kelvin(1.0), r"params\['w'\] is a Kelvin"),
    ],
)
def test_flatten_refuses_what_a_vector_would_not_give_back(leaf, message):
    with pytest.raises(mo.BadInput, match=message):
        flatten({"w": leaf}, "params")


# ---- derivatives, eager and compiled

W = np.array([[0.5, -1.5], [2.0, 0.25]])
MODELS = {
    "nested": {"a": [W, 1.5], "b": (np.array([0.5, 2.0]), np.float64(0.75)), "name": "n"},
    "objects": Mutable(Frozen(W, 0.5), Slotted(1.25, np.array(0.5))),
    "shared": [W, {"again": W}, 2.0],
    "complex": {"z": np.array([1 + 2j, 0.5 - 1j]), "s": 1.5 - 0.5j, "r": 2.0},
    "one array": W,
    "number": 1.5,
}


def through_the_vector(model):
    """Goes to a vector, on to a structure, and to a vector again."""
    vector, unflatten = flatten(model)
    again, _ = flatten(unflatten(np.sin(vector) * vector))
    return np.sum(again**3 * np.cos(vector))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_gradients_through_flatten_agree_with_differences(model):
    mo.testing.check_gradients(through_the_vector, model, order=2)
    vector, unflatten = flatten(model)
    mo.testing.check_gradients(lambda v: through_the_vector(unflatten(v)), vector, order=2)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_flatten_compiles(model):
    assert np.isclose(mo.jit(through_the_vector)(model), through_the_vector(model), rtol=1e-13)
    vector, unflatten = flatten(model)

    def of_vector(v):
        return through_the_vector(unflatten(v))

    assert np.allclose(mo.jit(mo.grad(of_vector))(vector), mo.grad(of_vector)(vector), rtol=1e-12)


def test_the_gradient_of_a_structure_flattens_like_the_structure():
    model = MODELS["nested"]
    vector, unflatten = flatten(model)
    of_structure = flatten(mo.grad(through_the_vector)(model))[0]
    assert np.allclose(of_structure, mo.grad(lambda v: through_the_vector(unflatten(v)))(vector), rtol=1e-12)


# ---- comparison

A = np.zeros(2)


@pytest.mark.parametrize(
    "a, b",
    [
        ([1.0, 2], [3.0, 4]),
        ({"a": 1.0, "b": A}, {"b": A + 1, "a": 2.0}),
        (np.float64(1.0), 2.0),
        ([A, A], [B := np.ones(2), B]),
        (Frozen(1.0, None), Frozen(2.0, None)),
    ],
)
def test_structures_that_differ_in_values_alone_are_the_same(a, b):
    require_same_structure(a, b)


@pytest.mark.parametrize(
    "a, b, message",
    [
        ([1.0, 2.0], (1.0, 2.0), r"^b is a tuple: expected the structure of a, a list$"),
        ({"w": [1.0]}, {"w": [1.0, 2.0]}, r"^b\['w'\] has 2 entries: expected 1, like a$"),
        ({"w": 1.0, "v": 1.0}, {"w": 1.0}, r"^a\['v'\] has no counterpart in b$"),
        ({"w": 1.0}, {"w": 1.0, "v": 1.0}, r"^b\['v'\] has no counterpart in a$"),
        (Plain(1.0, 2.0), Plain(1.0, A), r"^b\.bias is an array of shape \(2,\) .* but a\.bias is a float$"),
        (Plain(1.0, 2.0), Mutable(1.0, 2.0), r"^b is a Mutable: expected the structure of a, a Plain$"),
        ([A], [np.zeros(3)], r"^b\[0\] is an array of shape \(3,\)"),
        ([A], [A.astype(np.float32)], r"^b\[0\] is an array of shape \(2,\) and dtype float32"),
        ([1.0], [1j], r"^b\[0\] is a complex, but a\[0\] is a float$"),
        ([None], [1.0], r"^b\[0\] is a float, but a\[0\] is a NoneType$"),
        ([1.0], [None], r"^b\[0\] is a NoneType, but a\[0\] is a float$"),
        ([[1.0]], [None], r"^b\[0\] is a NoneType: expected the structure of a, a list$"),
        ([[]], [None], r"^b\[0\] is a NoneType"),
        ([1], ["a"], r"^b\[0\] is a str, but a\[0\] is a int$"),
        (
            [A, A],
            [np.zeros(2), np.zeros(2)],
            r"^a\[0\] and a\[1\] are the same object, but their counterparts are two objects$",
        ),
        (
            [np.zeros(2), np.zeros(2)],
            [A, A],
            r"^b\[0\] and b\[1\] are the same object, but their counterparts are two objects$",
        ),
    ],
)
def test_the_first_difference_is_named(a, b, message):
    with pytest.raises(mo.BadInput, match=message):
        require_same_structure(a, b, ("a", "b"))


@given(STRUCTURES)
def test_a_structure_is_the_same_as_what_map_makes_of_it(structure):
    require_same_structure(structure, map_leaves(lambda x: x.copy() if isinstance(x, np.ndarray) else x, structure))


def test_comparison_in_differentiated_and_compiled_code():
    like = {"w": [np.zeros(2)], "b": 0.0}

    def checked(model):
        require_same_structure(model, like, ("model", "like"))
        return np.sum(model["w"][0] ** 2) + model["b"]

    model = {"w": [np.array([1.0, 3.0])], "b": 2.0}
    assert mo.grad(checked)(model)["w"][0].tolist() == [2.0, 6.0]
    assert mo.jit(checked)(model) == 12.0
    for program in (mo.grad(checked), mo.jit(checked)):
        with pytest.raises(mo.BadInput, match=r"like\['w'\]\[0\] is an array of shape \(2,\)"):
            program({"w": [np.ones(3)], "b": 2.0})


def _one_or_two(a):
    return [a] if a > 0 else [a, a]


def _grown(a):
    found = []
    while a < 10.0:
        found.append(a)
        a = a * 2.0
    return found


WALKS = {
    "map_leaves": lambda x: mo.tree.map_leaves(lambda v: 2.0 * v, x),
    "leaves": mo.tree.leaves,
    "flatten": lambda x: mo.tree.flatten(x)[0],
    "with a partner": lambda x: mo.tree.map_leaves(lambda v, w: v * w, x, x),
    "in an object": lambda x: mo.tree.leaves({"a": (x, 1.0)}),
}


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("make", [_one_or_two, _grown])
@pytest.mark.parametrize("walk", WALKS)
def test_lists_whose_length_the_program_decides_are_walked_whole_or_refused(walk, make, target):
    compiled = mo.jit(lambda a: WALKS[walk](make(a)), target=target)
    for a in (-1.0, 3.0) if make is _one_or_two else (1.0, 3.0):
        expected = WALKS[walk](make(a))
        try:
            found = compiled(a)
        except mo.BadInput as error:
            assert "must be known while compiling" in str(error) or "fixed upper bound" in str(error)
            continue
        np.testing.assert_array_equal(found, expected)
