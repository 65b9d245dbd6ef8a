"""One array or object in two places of an argument is one variable; a number is a value, and each place is its own.

Every place of a gradient holds the same total cotangent, as one object: eagerly, in derivatives inside compiled code and in
those of compiled functions.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from path_tester import run_on

import morula as mo

W = np.array([0.5, -2.0, 3.0])
V = np.array([1.5, 0.25, -1.0])


class Layer:
    def __init__(self, w, scale=2.0):
        self.w, self.scale = w, scale

    def __call__(self, x):
        return self.scale * self.w * x


@dataclass(slots=True)
class Slotted:
    w: np.ndarray
    other: np.ndarray


class Private:
    __slots__ = ("__v", "__w")

    def __init__(self, v, w):
        self.__v, self.__w = v, w

    def product(self):
        return self.__v * self.__w

    def parts(self):
        return [self.__v, self.__w]


class Derived(Private):
    """A slot of its own, one of the same private name in the base, and a dict."""

    __slots__ = ("__dict__", "__w")

    def __init__(self, v, w, u):
        super().__init__(v, w)
        self.__w, self.u = u, u

    def product(self):
        return super().product() * self.__w

    def parts(self):
        return [*super().parts(), self.__w, self.u]


class Empty:
    __slots__ = ()


CASES = {
    "dict": (lambda p: np.sum(p["a"] * p["b"]), lambda w: {"a": w, "b": w}, lambda p: [p["a"], p["b"]], 2),
    "list": (lambda p: np.sum(p[0] * p[1] * p[2]), lambda w: [w, w, w], list, 3),
    "tuple": (lambda p: np.sum(p[0] * p[1]), lambda w: (w, w), list, 2),
    "deep": (
        lambda p: np.sum(p["x"][0]["w"] * p["y"]),
        lambda w: {"x": [{"w": w}], "y": w},
        lambda p: [p["x"][0]["w"], p["y"]],
        2,
    ),
    "object twice": (
        lambda p: np.sum(p[1](p[0](W)) * V) / 4,
        lambda w: (lambda layer: [layer, layer])(Layer(w)),
        lambda p: [p[0].w, p[1].w],
        2,
    ),
    "array of two objects": (
        lambda p: np.sum(p[1](p[0](W)) * V) / 4,
        lambda w: [Layer(w), Layer(w)],
        lambda p: [p[0].w, p[1].w],
        2,
    ),
    "slots": (lambda p: np.sum(p.w * p.other), lambda w: Slotted(w, w), lambda p: [p.w, p.other], 2),
    "private slots": (lambda p: np.sum(p.product()), lambda w: Private(w, w), lambda p: p.parts(), 2),
    "slots and a dict": (lambda p: np.sum(p.product() * p.u), lambda w: Derived(w, w, w), lambda p: p.parts(), 4),
}
"""A function, how its argument is made of one array, where that stands in it, and the power of it that is summed."""


def expected(name):
    f, make, _, power = CASES[name]
    weights = W * V if name in ("object twice", "array of two objects") else np.ones(3)
    assert np.isclose(f(make(W)), np.sum(weights * W**power))
    return power * weights * W ** (power - 1)


def check_places(name, gradient):
    _, _, places, _ = CASES[name]
    found = places(gradient)
    assert all(g is found[0] for g in found)
    assert np.allclose(found[0], expected(name))


@pytest.mark.parametrize("name", CASES)
def test_each_place_holds_the_total(name, path):
    f, make, _, _ = CASES[name]
    check_places(name, run_on(path)(mo.grad(f))(make(W)))


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_of_a_compiled_function(name, target):
    f, make, _, _ = CASES[name]
    check_places(name, mo.grad(mo.jit(f, target=target))(make(W)))


def value_and_gradient(name):
    f, _, places, _ = CASES[name]

    def both(p):
        value, gradient = mo.value_and_grad(f)(p)
        return value, gradient, np.sum(places(gradient)[-1] ** 2)

    return both


@pytest.mark.parametrize("name", CASES)
def test_a_result_keeps_what_stands_twice(name, path):
    f, make, _, _ = CASES[name]
    value, gradient, square = run_on(path)(value_and_gradient(name))(make(W))
    assert np.isclose(value, f(make(W)))
    check_places(name, gradient)
    assert np.isclose(square, np.sum(expected(name) ** 2))


def cubes(x, y):
    return np.sum(x * y**2)


def test_two_arguments_are_two_variables(path):
    gx, gy = run_on(path)(mo.grad(cubes, (0, 1)))(W, W)
    assert np.allclose(gx, W**2) and np.allclose(gy, 2 * W**2) and gx is not gy


def test_two_arguments_of_a_compiled_function_are_two_variables(target):
    gx, gy = mo.grad(mo.jit(cubes, target=target), (0, 1))(W, W)
    assert np.allclose(gx, W**2) and np.allclose(gy, 2 * W**2)


def test_numbers_are_values(path):
    x = 3.0
    gradient = run_on(path)(mo.grad(lambda p: p["a"] * p["b"][0] ** 2))({"a": x, "b": [x]})
    assert gradient["a"] == 9.0 and gradient["b"] == [18.0]


def alias_made_inside(w):
    p = {"a": w * 1.0}
    p["b"] = p["a"]
    gradient = mo.grad(lambda p: np.sum(p["a"] * p["b"]))(p)
    return gradient["a"] + gradient["b"]


def number_made_inside(x):
    y = x * 1.0
    gradient = mo.grad(lambda p: p["a"] * p["b"] ** 2)({"a": y, "b": y})
    return gradient["a"] + 10 * gradient["b"]


def test_what_is_shared_is_found_inside_a_program(path):
    assert np.allclose(run_on(path)(alias_made_inside)(W), 4 * W)
    assert np.isclose(run_on(path)(number_made_inside)(3.0), 9 + 180)


def second_order(p):
    return np.sum(mo.grad(lambda q: np.sum(q["a"] * q["b"] ** 2))(p)["a"] * V)


def test_second_derivatives(path):
    gradient = run_on(path)(mo.grad(second_order))({"a": W, "b": W})
    assert np.allclose(gradient["a"], 6 * W * V) and gradient["a"] is gradient["b"]


def writes_through_one_place(p):
    p["a"][0] = p["b"][1] * p["b"][2]
    return np.sum(p["a"] * p["b"])


def test_a_write_through_one_place_is_seen_in_the_other(path):
    given = {"a": W.copy()}
    given["b"] = given["a"]
    value, gradient = run_on(path)(mo.value_and_grad(writes_through_one_place))(given)
    a, b = W[1], W[2]
    assert np.isclose(value, (a * b) ** 2 + a * a + b * b)
    assert np.allclose(gradient["a"], [0, 2 * a * b * b + 2 * a, 2 * b * a * a + 2 * b])
    assert gradient["a"] is gradient["b"] and np.isclose(given["b"][0], a * b)


def with_two_names(x):
    layer = Layer(x * 2.0)
    inner = {"w": layer.w, "list": [layer]}
    return {"one": layer, "two": inner, "three": (inner, layer.w)}


def test_objects_that_a_result_holds_twice_are_one(path):
    found = run_on(path)(with_two_names)(W)
    assert found["two"] is found["three"][0] and found["one"] is found["two"]["list"][0]
    assert found["one"].w is found["three"][1] is found["two"]["w"]
    again = run_on(path)(with_two_names)(V)
    assert again["two"] is not found["two"] and np.allclose(again["one"].w, 2 * V)


def changed(p, x):
    p.w = p.other * x
    p.other = Slotted(p.w, p.other).w + 1.0
    return np.sum(p.w * p.other)


def test_attributes_in_slots_are_changed(path):
    given, wanted = Slotted(W, V), Slotted(W, V)
    value = changed(wanted, 2.0)
    assert np.isclose(run_on(path)(changed)(given, 2.0), value)
    assert np.allclose(given.w, wanted.w) and np.allclose(given.other, wanted.other)
    gradient = run_on(path)(mo.grad(changed))(Slotted(W, V), 2.0)
    assert np.allclose(gradient.w, 0) and np.allclose(gradient.other, 2 * (2 * 2 * V) + 2)


def chosen(p, x, n):
    """Objects with slots that branches and loops make anew."""
    for _ in range(n):
        p = Slotted(p.other * x, p.w) if x > 1 else Slotted(p.w, p.other * x)
    return np.sum(p.w * p.other * V)


def test_objects_with_slots_through_branches_and_loops(path):
    p = Slotted(W, V)
    for x in (2.0, 0.5):
        value, gradient = run_on(path)(mo.value_and_grad(chosen))(copy.deepcopy(p), x, 3)
        assert np.isclose(value, chosen(p, x, 3))
        assert np.allclose(gradient.w, x**3 * V * V) and np.allclose(gradient.other, x**3 * W * V * 2 / 2)


def private_in_a_lambda(p):
    return p.squares()


class Squares:
    def __init__(self, w):
        self.__w = w

    def squares(self):
        return sum(map(lambda x: x * self.__w[0], self.__w))


def test_private_names_within_functions_of_methods(path):
    gradient = run_on(path)(mo.grad(private_in_a_lambda))(Squares(W))
    assert np.allclose(gradient._Squares__w, np.sum(W) * np.eye(3)[0] + W[0])


def test_empty_slots(path):
    assert run_on(path)(mo.grad(lambda p: p[0] ** 2))((3.0, Empty()))[0] == 6.0


def by_place(p):
    return np.sum(p["a"] * p["b"])


@mo.adjoint(by_place)
def _(p):
    return by_place(p), lambda dy: ({"a": dy * p["b"], "b": dy * p["a"]},)


def by_total(p):
    return np.sum(p["a"] * p["b"])


@mo.adjoint(by_total)
def _(p):
    y, back = mo.pullback(lambda p: np.sum(p["a"] * p["b"]), p)
    return y, lambda dy: back(dy)


def test_cotangents_of_places_that_are_given_by_hand_are_added(path):
    gradient = run_on(path)(mo.grad(lambda p: by_place(p)))({"a": W, "b": W})
    assert np.allclose(gradient["a"], 2 * W) and gradient["a"] is gradient["b"]
    apart = run_on(path)(mo.grad(lambda p: by_total(p)))({"a": W, "b": V})
    assert np.allclose(apart["a"], V) and np.allclose(apart["b"], W)


class Gate:
    def __init__(self, layer, w):
        self.first, self.w, self.again = layer, w, [layer]


def gated(g, n):
    return np.sum(g.first.w * g.w * g.again[0].w)


@mo.adjoint(gated)
def _(g, n):
    def back(dy):
        half = {"w": dy * g.w * g.first.w}
        return SimpleNamespace(
            first=SimpleNamespace(**half), w=dy * g.first.w**2, again=[SimpleNamespace(w=1.0 * half["w"])]
        ), None

    return gated(g, n), back


def test_cotangents_of_an_object_in_two_places_that_are_given_by_hand_are_added(path):
    def of(w, v):
        return gated(Gate(Layer(w), v), 3)

    dw, dv = run_on(path)(mo.grad(of, (0, 1)))(W, V)
    np.testing.assert_allclose(dw, 2 * V * W)
    np.testing.assert_allclose(dv, W**2)


def test_a_constant_of_an_object_in_two_places(path):
    def of(w, v):
        return gated(Gate(Layer(w), v), 3) * mo.constant(lambda g: np.sum(g.again[0].w))(Gate(Layer(w), v))

    np.testing.assert_allclose(run_on(path)(mo.grad(of))(W, V), 2 * V * W * np.sum(W))


def test_a_hook_of_an_object_in_two_places_counts_it_once(path):
    def of(w, v):
        layer = Layer(w)
        pair = mo.hook(lambda g: g, [layer, v, layer])
        return np.sum(pair[0].w * pair[1] * pair[2].w)

    np.testing.assert_allclose(run_on(path)(mo.grad(of))(W, V), 2 * V * W)


def test_one_cotangent_for_two_places_that_is_given_by_hand_is_refused(path):
    with pytest.raises(mo.NoDerivative, match=r"by_total.*return a copy for each place"):
        run_on(path)(mo.grad(lambda p: by_total(p)))({"a": W, "b": W})


@pytest.mark.parametrize("wrap", [mo.checkpoint, lambda f, p: f(mo.hook(lambda g: g, p))], ids=["checkpoint", "hook"])
def test_through_checkpoint_and_hook(wrap, path):
    gradient = run_on(path)(mo.grad(lambda p: wrap(cubes_of, p)))({"a": W, "b": W})
    assert np.allclose(gradient["a"], 3 * W**2) and gradient["a"] is gradient["b"]


def cubes_of(p):
    return np.sum(p["a"] * p["b"] ** 2)
