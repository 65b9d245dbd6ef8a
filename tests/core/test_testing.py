"""Numerical derivatives, and ``check_gradients``, which must detect a wrong gradient and name its leaf."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import numeric_leaves, numerical_vjp, rebuild_numbers, ridders


@dataclass
class Spring:
    stiffness: float
    rest: np.ndarray
    name: str = "spring"


@pytest.mark.parametrize(
    ("phi", "slope"),
    [
        (math.exp, 1.0),
        (math.sin, 1.0),
        (lambda t: math.sin(100 * t), 100.0),
        (lambda t: math.log(1e-3 + t), 1e3),
        (lambda t: abs(t + 0.01), 1.0),
        (lambda t: 1e8 + t, 1.0),
        (lambda t: t**9, 0.0),
        (lambda t: 3.0, 0.0),
    ],
)
def test_ridders_finds_the_slope_and_does_not_promise_more_than_it_has(phi, slope):
    found, error = ridders(phi, 0.1)
    assert abs(found - slope) <= 1e-6 * max(1.0, abs(slope))
    assert abs(found - slope) <= 10 * error + 1e-12


def test_ridders_reports_a_jump_as_an_error_that_is_not_small():
    _, error = ridders(lambda t: 1.0 if t > 0 else 0.0, 0.1)
    assert error > 1.0


def test_ridders_of_a_function_without_values_is_nan():
    def nowhere(t):
        raise ValueError("math domain error")

    assert all(map(math.isnan, ridders(nowhere, 0.1)))


def test_numerical_vjp_keeps_the_structure_of_the_arguments():
    def energy(spring, options, scale):
        return {"e": spring.stiffness * np.sum(spring.rest**2) * options["k"][0] * scale}

    (spring, options, scale), errors = numerical_vjp(
        energy, {"e": 2.0}, Spring(1.5, np.array([1.0, 2.0])), {"k": [3.0, "unit"]}, 2
    )
    assert isinstance(spring, Spring)
    assert spring.name is None
    assert spring.stiffness == pytest.approx(60.0)
    np.testing.assert_allclose(spring.rest, [36.0, 72.0], rtol=1e-8)
    assert options["k"][0] == pytest.approx(30.0)
    assert options["k"][1] is None
    assert scale == pytest.approx(45.0)
    assert errors[0].stiffness < 1e-6


def test_numerical_vjp_of_a_complex_number_points_up_the_slope():
    (gradient,), _ = numerical_vjp(abs, 1.0, 3 + 4j)
    assert gradient == pytest.approx(0.6 + 0.8j)
    (gradient,), _ = numerical_vjp(cmath.exp, 1 - 2j, 0.3 + 0.7j)
    assert gradient == pytest.approx((1 - 2j) * cmath.exp(0.3 + 0.7j).conjugate())


def test_numerical_vjp_of_single_precision_is_as_good_as_it_says():
    (gradient,), (error,) = numerical_vjp(lambda x: x * x, np.ones(2, np.float32), np.array([1, 2], np.float32))
    assert gradient.dtype == np.float32
    assert np.all(np.abs(gradient - [2, 4]) <= 10 * error)


def test_arguments_are_not_written_to():
    x = np.array([1.0, 2.0])

    def overwrite(x):
        x *= 2
        return np.sum(x)

    numerical_vjp(overwrite, 1.0, x)
    assert x.tolist() == [1.0, 2.0]


def test_leaves_are_numbers_and_inexact_arrays_and_cycles_end():
    class Node:
        pass

    node = Node()
    node.value, node.next = 1.0, node
    structure = (True, 1, 2.0, 1j, "text", None, np.arange(3), np.ones(2), np.float32(1), print, node)
    assert len(numeric_leaves(structure)) == 6
    copied = rebuild_numbers(node, lambda path, x: x + 1)
    assert copied.value == 2.0
    assert copied.next is copied


def test_right_gradients_pass():
    def program(spring, ts, scale):
        total = 0.0
        for t in ts:
            total += math.sin(t) * spring.stiffness
        return {"a": total * scale, "b": [np.exp(spring.rest) * total]}

    mo.testing.check_gradients(program, Spring(1.5, np.array([0.1, 0.2])), [1.0, 2.0], 2.0)
    mo.testing.check_gradients(lambda z: z * z.conjugate() + cmath.sin(z), 0.4 + 0.2j)
    mo.testing.check_gradients(lambda x: np.cumsum(x**2), np.linspace(1, 2, 20))
    mo.testing.check_gradients(lambda x: np.tanh(x), np.array([0.3, 0.7], np.float32))
    mo.testing.check_gradients(lambda x, n: sum(x**k for k in range(n)), 0.7, 4)
    mo.testing.check_gradients(lambda x, *, p: x**p, 1.3, p=3)


def wrong(factor):
    def square(x):
        return x * x

    @mo.adjoint(square)
    def square_pullback(x):
        return x * x, lambda dy: dy * (2 * x + factor)

    return square


def test_a_wrong_gradient_is_found_and_its_leaf_is_named():
    square = wrong(1e-3)
    with pytest.raises(AssertionError, match=r"gradient of params\['w'\]\[1\] is .* but differences give"):
        mo.testing.check_gradients(lambda params: square(params["w"][1]) + params["w"][0], {"w": [1.0, 2.0]})


def test_a_wrong_element_of_an_array_is_named():
    def first(x):
        return np.sum(x)

    @mo.adjoint(first)
    def first_pullback(x):
        return np.sum(x), lambda dy: dy * np.array([1.0, 1.0, 1.5])

    with pytest.raises(AssertionError, match=r"gradient of x\[2\] is"):
        mo.testing.check_gradients(lambda x: first(x), np.array([1.0, 2.0, 3.0]))


def test_a_wrong_second_derivative_is_found():
    def cube(x):
        return x**3

    @mo.adjoint(cube)
    def cube_pullback(x):
        slope = mo.stop_gradient(3 * x**2)
        return x**3, lambda dy: dy * slope

    mo.testing.check_gradients(lambda x: cube(x), 1.5, order=1)
    with pytest.raises(AssertionError, match="gradient of "):
        mo.testing.check_gradients(lambda x: cube(x), 1.5)


def test_a_kink_and_a_random_function_are_reported_as_such():
    random = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="is f random, not smooth there"):
        mo.testing.check_gradients(lambda x: np.floor(x), 2.0, order=1)
    noise = iter(random.normal(size=10_000))

    def noisy(x):
        return x + float(next(noise))

    with pytest.raises(AssertionError, match="changed its value|is f random"):
        mo.testing.check_gradients(noisy, 2.0, order=1)


def test_bad_input_is_refused():
    with pytest.raises(mo.BadInput, match="order must be at least 1, not 0"):
        mo.testing.check_gradients(math.sin, 1.0, order=0)
    with pytest.raises(mo.BadInput, match="f must be a function, not 1.0"):
        mo.testing.check_gradients(1.0, math.sin)


# Shared leaves and private slots


class Hidden:
    __slots__ = ("__v", "__w")

    def __init__(self, v, w):
        self.__v, self.__w = v, w

    def product(self):
        return self.__v * self.__w


def dict_of(w):
    return {"a": w, "b": [w]}


def product_of_dict(p):
    return p["a"] * p["b"][0]


@pytest.mark.parametrize(
    "f, make", [(product_of_dict, dict_of), (Hidden.product, lambda w: Hidden(w, w))], ids=["dict", "private slots"]
)
def test_an_array_in_two_places_is_perturbed_as_one(f, make):
    w = np.array([1.5, -2.0])
    mo.testing.check_gradients(f, make(w))
    ((g,), _) = numerical_vjp(f, np.ones(2), make(w))
    assert all(np.allclose(x, 2 * w) for _, x in numeric_leaves(g)) and len(numeric_leaves(g)) == 2
    mo.testing.check_gradients(lambda x, y: x * y**2, w, w)  # two arguments are two variables


def test_a_gradient_that_forgets_a_place_is_found():
    def product(p):
        return p["a"] * p["b"][0]

    @mo.adjoint(product)
    def _(p):
        return product(p), lambda dy: ({"a": dy * p["b"][0], "b": [None]},)

    with pytest.raises(AssertionError, match=r"the gradient of p\['a'\]"):
        mo.testing.check_gradients(product, dict_of(np.array([1.5, -2.0])), order=1)


def test_a_wrong_gradient_behind_a_private_slot_is_found():
    @mo.adjoint(half)
    def _(x):
        return half(x), lambda dy: (dy,)

    with pytest.raises(AssertionError, match=r"_Hidden__v"):
        mo.testing.check_gradients(lambda p: half(p.product()), Hidden(np.ones(2), np.ones(2)), order=1)


def half(x):
    return 0.5 * x


# ---- modes


@pytest.mark.parametrize(
    "mode", ["reverse", "forward", "all", ("reverse", "forward"), ("forward", "forward", "reverse")]
)
def test_every_mode(mode):
    def f(d, n):
        return {"a": d["w"] * d["s"] ** n, "b": [np.sin(d["w"]).sum(), "text"]}

    mo.testing.check_gradients(lambda x, n: x**n, 1.5, 2.5, mode=mode, order=3)
    mo.testing.check_gradients(f, {"w": np.array([1.0, 2.0]), "s": 0.5, "name": "q"}, 3, mode=mode)
    mo.testing.check_gradients(lambda z: z * np.exp(z) * np.conj(z), np.array([1 + 2j, 0.3]), mode=mode)
    mo.testing.check_gradients(lambda i, x: x[i] ** 2, 1, np.array([1.0, 2.0]), mode=mode)
    mo.testing.check_gradients(lambda x: np.sum(x**2), np.array([1.0, 2.0], np.float32), mode=mode)
    mo.testing.check_gradients(mo.jit(lambda x: (np.sum(x**3), x)), np.array([1.0, 2.0]), mode=mode)


@pytest.mark.parametrize("mode", ["forward", ("reverse", "forward"), ("forward", "reverse"), "all"])
def test_a_wrong_tangent_is_found(mode):
    def half(x):
        return x / 2

    @mo.tangent(half)
    def _(x):
        return half(x), lambda dx: 0.6 * dx

    @mo.adjoint(half)
    def _(x):
        return half(x), lambda dy: 0.5 * dy

    mo.testing.check_gradients(lambda x: half(x) * x, 2.0)
    with pytest.raises(AssertionError, match="tangent along a random direction is .*, but differences give"):
        mo.testing.check_gradients(lambda x: half(x) * x, 2.0, mode=mode)


def test_a_wrong_second_derivative_is_found_in_the_mode_that_has_it():
    def square(x):
        return x * x

    @mo.adjoint(square)
    def _(x):
        return square(x), lambda dy: 2 * dy * mo.stop_gradient(x)

    mo.testing.check_gradients(square, 2.0, order=1, mode="all")
    for mode in (("reverse", "forward"), ("reverse", "reverse")):
        with pytest.raises(AssertionError, match="gradient of .*square.*: the"):
            mo.testing.check_gradients(square, 2.0, mode=mode)


@pytest.mark.parametrize("mode", ["sideways", ("reverse", "back"), ()])
def test_an_unknown_mode_is_refused(mode):
    with pytest.raises(
        mo.BadInput, match='mode must be "reverse", "forward", "all" or a sequence of the first two, not '
    ):
        mo.testing.check_gradients(np.sin, 1.0, mode=mode)
