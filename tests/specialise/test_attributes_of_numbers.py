"""Numbers of NumPy and of Python have the attributes and types that they have in Python, known while compiling or not."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

NAMES = (
    *("__len__", "__iter__", "__getitem__", "__array__", "__complex__", "__index__", "shape", "any", "is_integer"),
    *("conjugate", "real", "item", "bit_count", "append", "sort"),
)
NUMBERS = {
    "a float": lambda x, z, n: x,
    "a complex number": lambda x, z, n: z,
    "an int": lambda x, z, n: n,
    "a bool": lambda x, z, n: x < 0,
    "NumPy's float": lambda x, z, n: np.sin(x),
    "NumPy's complex number": lambda x, z, n: np.conj(z),
    "NumPy's int": lambda x, z, n: np.abs(n),
    "NumPy's bool": lambda x, z, n: np.sin(x) < 0,
    "NumPy's bool, negated by Python": lambda x, z, n: not np.sin(x) < 0,
    "an array without axes": lambda x, z, n: np.asarray(x),
    "a constant bool of NumPy": lambda x, z, n: np.asarray(2.0) < 3,
    "a constant of NumPy": lambda x, z, n: np.float64(2.0),
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_numbers_have_pythons_attributes(number):
    def found(x, z, n):
        a = number(x, z, n)
        return [hasattr(a, name) for name in NAMES], type(a).__module__, type(a).__name__, x

    args = 0.5, 1 + 2j, 3
    assert mo.jit(found, target="native")(*args) == found(*args)


def test_methods_of_numpys_bools_that_are_known_while_compiling():
    def checked(x, height=200.0):
        height = np.asarray(height)
        if (height < 0).any() or not (height == 200).all():
            raise ValueError("below the ground")
        return x * height

    assert mo.jit(checked)(2.0) == checked(2.0) == 400.0
    assert mo.grad(mo.jit(checked))(2.0) == 200.0


def test_a_number_of_numpy_has_no_length():
    with pytest.raises(AttributeError, match=r"'numpy.float64' object has no attribute '__len__'"):
        mo.jit(lambda x: np.sin(x).__len__())(1.0)


@pytest.mark.parametrize("number", [f for name, f in NUMBERS.items() if name != "an array without axes"])
def test_an_exception_holds_numbers_of_pythons_classes(number):
    def raising(x, z, n):
        if x > 0:
            raise ValueError(number(x, z, n))
        return x

    def called(x, z, n):
        return number(x, z, n)()

    for f in (raising, called):
        with pytest.raises((ValueError, TypeError)) as expected:
            f(0.5, 1 + 2j, 3)
        with pytest.raises(type(expected.value)) as found:
            mo.jit(f, target="native")(0.5, 1 + 2j, 3)
        assert [type(a) for a in found.value.args] == [type(a) for a in expected.value.args]
        assert found.value.args == expected.value.args


@pytest.mark.parametrize("number", [NUMBERS["a bool"], NUMBERS["NumPy's bool"]], ids=["Python's", "NumPy's"])
def test_a_choice_among_none_and_a_number_keeps_the_class(number):
    def best(x, z, n):
        found = None
        for i in range(n):
            if x > i:
                found = number(x, z, n)
        return found

    for x in (0.5, -0.5):
        found, expected = mo.jit(best, target="native")(x, 1j, 3), best(x, 1j, 3)
        assert type(found) is type(expected) and found == expected


def test_equal_dtypes_with_classes_of_their_own_are_one():
    """``ulonglong`` equals ``uint64``: the program of the first is that of the second, whose numbers are ``uint64``."""
    first = mo.jit(lambda x: (x[0], x[0] + x[1]), target="native")
    first(np.arange(2, dtype=np.ulonglong))
    assert [type(y) for y in first(np.arange(2, dtype=np.uint64))] == [np.uint64, np.uint64]
    other = mo.jit(lambda x: x * x + x, target="native")
    assert type(other(np.uint64(3))) is np.uint64
