"""The walk over models: parameters, constants that are kept, and arrays shared by two places."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.ml import leaves, map_leaves, with_leaves

Point = namedtuple("Point", "x y")


class Slotted:
    __slots__ = ("name", "rate")

    def __init__(self, rate: float, name: str) -> None:
        self.rate, self.name = rate, name


@dataclass(frozen=True)
class Frozen:
    rate: float
    layers: tuple[np.ndarray, ...]


def double(x):
    return 2 * x


def test_floats_complex_numbers_and_arrays_of_them_are_parameters_and_nothing_else_is():
    constants = [1, True, "text", None, np.arange(3), np.array([True]), np.tanh, len, str, np, np.float64, np.int64(3)]
    parameters = [1.0, 2j, np.ones(2, np.float32), np.float32(3), np.ones(1, complex), np.array(1.0)]
    assert leaves(constants) == []
    assert len(leaves(parameters)) == len(parameters)
    assert all(new is old for new, old in zip(map_leaves(double, constants), constants, strict=True))


def test_every_container_keeps_its_type():
    tree = {"a": [1.0, (2.0, 3.0)], "b": Point(4.0, 5), "c": OrderedDict(z=6.0), "d": defaultdict(list, k=7.0)}
    new = map_leaves(double, tree)
    assert new == {"a": [2.0, (4.0, 6.0)], "b": Point(8.0, 5), "c": OrderedDict(z=12.0), "d": {"k": 14.0}}
    assert type(new["b"]) is Point and type(new["c"]) is OrderedDict and new["d"].default_factory is list
    assert tree["a"] == [1.0, (2.0, 3.0)]


def test_objects_are_rebuilt_without_init_with_slots_and_when_frozen():
    frozen = map_leaves(double, Frozen(1.0, (np.ones(2),)))
    assert type(frozen) is Frozen and frozen.rate == 2.0 and frozen.layers[0].tolist() == [2.0, 2.0]
    slotted = map_leaves(double, Slotted(3.0, "n"))
    assert type(slotted) is Slotted and (slotted.rate, slotted.name) == (6.0, "n")


def test_an_array_in_two_places_is_one_parameter():
    shared = np.ones(2)
    tree = {"encoder": shared, "decoder": [shared]}
    assert len(leaves(tree)) == 1
    new = map_leaves(double, tree)
    assert new["encoder"] is new["decoder"][0]
    # Equal numbers are not one number.
    assert len(leaves([1.0, 1.0])) == 2


def test_a_structure_may_contain_itself():
    tree: dict = {"x": 1.0}
    tree["self"] = tree
    new = map_leaves(double, tree)
    assert new["x"] == 2.0 and new["self"] is new


def test_other_structures_are_walked_in_parallel_and_none_stands_for_a_subtree():
    assert leaves({"a": 1.0, "b": [2.0]}, {"a": 3.0, "b": None}) == [(1.0, 3.0), (2.0, None)]


@pytest.mark.parametrize("other", [{"a": [1.0]}, {"a": (1.0, 2.0)}, {"b": [1.0, 2.0]}, [1.0, 2.0]])
def test_another_structure_is_refused(other):
    with pytest.raises(mo.MorulaError, match="tree"):
        leaves({"a": [1.0, 2.0]}, other)


def test_with_leaves_undoes_leaves():
    tree = Frozen(1.0, (np.arange(2.0), np.ones((2, 2))))
    again = with_leaves(tree, leaves(tree))
    assert again.rate == tree.rate and all(np.array_equal(a, b) for a, b in zip(again.layers, tree.layers, strict=True))
