"""Decisions by reference counts, which differ between Python versions: tested on objects with known holders."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import morula as mo
from morula.core.eager.recorded.outliving import escapes, is_shared
from morula.core.eager.recorded.tape import Tape
from morula.core.eager.unrecorded.held import exposed
from morula.core.values.memory import is_known


def record(*held):
    return (lambda table, record: None, *held)


def test_an_array_that_only_the_tape_holds_is_not_exposed():
    tape = Tape()
    tape.records = [record(np.ones(2), (np.zeros(3), [np.ones(1)])), record(np.ones(2))]
    assert exposed(tape, 0) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_array_that_somebody_else_holds_is_exposed(place):
    tape = Tape()
    arrays = [np.ones(2), np.zeros(3), np.ones(1)]
    tape.records = [record(arrays[0], (arrays[1], [arrays[2]])), record(arrays[1])]
    other = [arrays[place]]
    del arrays
    (found,) = exposed(tape, 0)
    assert found is other[0]


def test_the_engines_own_references_to_an_input_are_not_others():
    tape = Tape()
    tape.inputs = [np.ones(2)]
    tape.records = [record(tape.inputs[0])]
    assert exposed(tape, 1) == []
    other = tape.inputs[0]
    (found,) = exposed(tape, 1)
    assert found is other


def results():
    return float(np.random.default_rng(1).random()), np.ones(2), np.arange(3.0)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_results_of_records_escape_where_somebody_else_holds_them(place):
    x, a, b = results()
    made = [record(x), record(a, x), record(b, (a, [x]))]
    kept = [(x, a, b)[place]]
    del x, a, b
    assert escapes(made, None, set())
    kept.clear()
    assert not escapes(made, None, set())


def test_a_container_that_somebody_else_holds_lets_its_entries_escape():
    inner = [np.ones(2)]
    made = [record(inner[0], (inner, 1.0))]
    assert escapes(made, None, set())
    del inner
    assert not escapes(made, None, set())


def capsule():
    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return ctypes.pythonapi.PyCapsule_New(1, None, None)


class Held:
    """In place of an array that C code has made on memory of its own."""


def test_memory_that_c_code_made_for_one_array_is_known(monkeypatch):
    monkeypatch.setattr(sys.modules[is_known.__module__], "np", type("np", (), {"ndarray": Held}))
    array, other = Held(), Held()
    array.base = capsule()
    assert is_known(array)
    other.base = array.base
    assert not is_known(array)


def test_a_checkpoint_frees_what_nobody_holds():
    kept = []

    def f(x):
        y = np.sin(x)
        kept.append(y)
        return np.sum(y * y)

    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(mo.grad(lambda x: mo.checkpoint(f, x))(x), np.sin(2 * x), rtol=1e-14)


def test_a_value_of_an_earlier_step_that_somebody_else_holds_escapes():
    before, y = (np.ones(2), np.zeros(3)), (np.ones(1),)
    made = [record(y[0], before[0])]
    assert not escapes(made, y, set(), before)
    other = [before[1]]
    assert escapes(made, y, set(), before)
    assert not escapes(made, y, {id(other[0])}, before)


def test_a_state_is_shared_if_somebody_else_holds_a_part_of_it_or_what_a_part_shows():
    whole = np.ones(4)
    state = (np.zeros(3), whole[1:], 0.5 * len(whole))
    assert is_shared(state, set())
    del whole
    assert not is_shared(state, set())
    other = state[2]
    assert is_shared(state, set()) and not is_shared(state, {id(other)})
