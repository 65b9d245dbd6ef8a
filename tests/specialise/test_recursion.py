"""Recursion on numbers that are known only at run time: native code calls itself."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on

import morula as mo


def fibonacci(n, x):
    if n < 2:
        return x
    return fibonacci(n - 1, x) * 0.5 + fibonacci(n - 2, x) * x


@pytest.mark.parametrize("n", [0, 1, 7])
def test_recursion_on_a_number_that_is_not_known(n):
    assert np.isclose(run_on("native")(fibonacci)(n, 0.9), fibonacci(n, 0.9))


def test_xla_has_no_recursion():
    with pytest.raises(mo.BadInput, match="(?s)fibonacci.*recurs.*native"):
        mo.jit(fibonacci, target="xla")(5, 0.9)


def sum_with_a_constant_part(n, x):
    return 0.0 if n <= 0 else 3.0 * x + mo.stop_gradient(x) + sum_with_a_constant_part(n - 1, 0.5 * x)


def test_a_derivative_given_by_hand_in_a_recursive_function():
    found = mo.jit(mo.value_and_grad(sum_with_a_constant_part, 1), target="native")(5, 3.0)
    assert np.allclose(found, mo.value_and_grad(sum_with_a_constant_part, 1)(5, 3.0))


class Held:
    def __init__(self, a):
        self.a = a


def doubles_in_a_list(n, held):
    if n <= 0:
        return 0.0
    held[0] = held[0] * 2
    return doubles_in_a_list(n - 1, held) + 1.0


def doubles_in_a_dict(n, held):
    if n <= 0:
        return held["a"]
    held["a"] = held["a"] * 2
    return doubles_in_a_dict(n - 1, held) + held["a"]


def doubles_in_an_object(n, held):
    if n <= 0:
        return 0.0
    held.a = held.a * 2
    return doubles_in_an_object(n - 1, held) + 1.0


def doubles_under_one_of_two_names(n, held, other):
    if n <= 0:
        return held[0] + other[0]
    held[0] = 2.0 * held[0]
    return doubles_under_one_of_two_names(n - 1, held, other)


def in_a_list(n, x):
    held = [x]
    return doubles_in_a_list(n, held) + held[0]


def in_a_dict(n, x):
    held = {"a": x}
    return doubles_in_a_dict(n, held) + held["a"]


def in_an_object(n, x):
    held = Held(x)
    return doubles_in_an_object(n, held) + held.a


def under_two_names(n, x):
    held = [x]
    return doubles_under_one_of_two_names(n, held, held)


@pytest.mark.parametrize(
    ("program", "kind"), [(in_a_list, "list"), (in_a_dict, "dict"), (in_an_object, "Held"), (under_two_names, "list")]
)
def test_what_a_recursive_function_changes_in_its_arguments_is_refused(program, kind):
    with pytest.raises(mo.BadInput, match=f"calls itself and changes its {kind} argument; return a new one"):
        mo.jit(program, target="native")(3.0, 1.5)


def without_an_end(n, x):
    if n <= 0:
        raise ValueError("no")
    return without_an_end(n - 1, x)


def test_a_recursive_function_that_returns_on_no_path_is_refused():
    def program(n, x):
        try:
            return without_an_end(n, x)
        except ValueError:
            return x

    with pytest.raises(mo.BadInput, match="without_an_end calls itself, and raises on every path"):
        mo.jit(program, target="native")(3.0, 1.5)


def halved(x, n):
    return x if n <= 0.0 else halved(x * 0.5, n - 1.0)


@pytest.mark.parametrize("program", [halved, mo.grad(halved), mo.value_and_grad(lambda x, n: halved(x, n) ** 2)])
def test_xla_refuses_recursion_and_its_gradient_by_name(program):
    with pytest.raises(
        mo.BadInput,
        match="halved calls itself to a depth that is known only when the program runs; XLA has no recursion",
    ):
        mo.jit(program, target="xla")(1.0, 3.0)
