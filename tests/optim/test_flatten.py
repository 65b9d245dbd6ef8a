"""A structure of numbers as one vector: every container is flattened and rebuilt, or refused."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

import morula as mo
from morula.optim.flatten import Layout

Pair = namedtuple("Pair", "first second")


@dataclass(frozen=True, slots=True)
class Slotted:
    a: float
    b: np.ndarray


@dataclass
class Layer:
    weight: np.ndarray
    activation: object = np.tanh
    name: str = "layer"
    inner: list = field(default_factory=list)


@pytest.mark.parametrize(
    "structure, numbers",
    [
        (2.0, [2]),
        (3, [3]),
        (1 - 2j, [1, -2]),
        (np.float32(0.5), [0.5]),
        (np.array(7.0), [7]),
        (np.arange(6.0).reshape(2, 3), range(6)),
        (np.array([1 + 2j, 3j]), [1, 2, 0, 3]),
        ({"b": 1.0, "a": [2.0, (3.0,)], "s": "text", "n": None, "t": True}, [1, 2, 3]),
        (Pair(np.ones(2), -1.0), [1, 1, -1]),
        (Slotted(1.0, np.zeros(1)), [1, 0]),
        (Layer(np.ones(2), inner=[Layer(np.zeros(1))]), [1, 1, 0]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_goes_there_and_back(structure, numbers):
    layout = Layout(structure)
    assert layout.vector(layout.start).tolist() == list(numbers)
    vector = np.arange(10.0, 10 + layout.size)
    again = layout.structure(vector)
    assert type(again) is type(layout.start)
    assert layout.vector(again).tolist() == vector.tolist()


def test_types_stay_and_integers_become_floats():
    start = Layout({"i": 1, "ii": np.array([1, 2]), "f": np.ones(2, np.float32), "z": np.ones(1, np.complex64)}).start
    assert type(start["i"]) is float
    assert [start[k].dtype for k in ("ii", "f", "z")] == [np.float64, np.float32, np.complex64]


def test_the_structure_that_was_given_is_left_alone():
    given = {"w": np.ones(2), "n": [1]}
    layout = Layout(given)
    layout.structure(np.zeros(3))["w"][:] = 9.0
    assert given["w"].tolist() == [1, 1] and given["n"] == [1]


def test_nothing_stands_for_zeros():
    layout = Layout({"a": 1.0, "b": [np.ones(2), 1j]})
    assert layout.vector(None).tolist() == [0] * 5
    assert layout.vector({"a": 5.0, "b": None}).tolist() == [5, 0, 0, 0, 0]
    assert layout.vector({"b": [None, 1 + 2j]}).tolist() == [0, 0, 0, 1, 2]


def test_constants_may_be_shared():
    silent = {"kind": "relu"}
    assert Layout([Layer(np.ones(1), silent), Layer(np.ones(1), silent)]).size == 2


def test_precision_is_that_of_the_coarsest_number():
    assert Layout([1.0, np.float32(1)]).eps == np.finfo(np.float32).eps


class Private:
    __slots__ = ("__w",)

    def __init__(self, w):
        self.__w = w


def test_private_slots_hold_unknowns():
    layout = Layout(Private(np.ones(2)))
    assert layout.size == 2
    assert layout.structure(np.array([3.0, 4.0]))._Private__w.tolist() == [3, 4]


@pytest.mark.parametrize("dtype", [float, int, np.complex64])
def test_an_array_or_object_that_stands_twice_is_one_block(dtype):
    w = np.ones(2, dtype)
    layer = Layer(w)
    layout = Layout({"a": w, "b": [w, layer], "c": layer, "d": 5.0, "e": 5.0})
    n = 4 if dtype is np.complex64 else 2
    assert layout.size == n + 2
    new = layout.structure(np.arange(n + 2.0))
    assert new["a"] is new["b"][0] is new["b"][1].weight and new["b"][1] is new["c"]
    assert (new["d"], new["e"]) == (n, n + 1)
    assert layout.vector(new).tolist() == list(range(n + 2))


def test_a_structure_may_contain_itself():
    loop = [1.0, np.ones(2)]
    loop.append(loop)
    new = Layout(loop).structure(np.arange(3.0))
    assert new[2] is new and new[0] == 0.0 and new[1].tolist() == [1, 2]


@pytest.mark.parametrize(
    "structure, message",
    [
        ([{}, "a", None], "x0 holds no number to vary"),
        (np.zeros(0), "x0 holds no number to vary"),
        ({"a": Fraction(1, 2)}, r"x0\['a'\] is a Fraction: expected a float"),
        ([1.0, float("nan")], "x0 holds NaN or Inf"),
        (np.array([1.0, "a"], object), "array of Python objects"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(structure, message):
    with pytest.raises(mo.BadInput, match=message):
        Layout(structure)


@pytest.mark.parametrize(
    "other, message",
    [
        ({"a": np.ones(3), "b": [1.0]}, r"g\['a'\] has shape \(3,\): expected \(2,\), like x0"),
        ({"a": np.ones(2), "b": [1.0, 2.0]}, r"g\['b'\] has 2 entries: expected 1, like x0"),
        ({"a": np.ones(2), "b": 3.0}, r"g\['b'\] is a float: expected the structure of x0, a list"),
        ({"a": np.ones(2) * 1j, "b": [1.0]}, r"g\['a'\] is of dtype complex128: expected real numbers"),
    ],
)
def test_a_structure_that_does_not_fit_is_refused(other, message):
    with pytest.raises(mo.BadInput, match=message):
        Layout({"a": np.ones(2), "b": [1.0]}).vector(other, "g")
