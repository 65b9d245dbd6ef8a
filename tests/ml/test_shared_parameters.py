"""Tied parameters train as one: a shared array or object moves once, by the whole gradient, and stays shared."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from private_slots import Private

import morula as mo
from morula.ml import adam, leaves, map_leaves, sgd, train, with_leaves

W = np.array([2.0, -0.5, 1.0])
OPTIMISERS = [sgd(0.1), sgd(0.1, momentum=0.9), sgd(0.1, momentum=0.9, nesterov=True), adam(0.1)]


class Layer:
    def __init__(self, w):
        self.w = w


def dict_of(w):
    return {"a": w, "b": w}, lambda p: (p["a"], p["b"])


def object_twice(w):
    layer = Layer(w)
    return [layer, {"again": layer}], lambda p: (p[0].w, p[1]["again"].w)


def array_of_two_objects(w):
    return (Layer(w), Layer(w)), lambda p: (p[0].w, p[1].w)


def private_slots(w):
    return Private(w, w), lambda p: p.parts()


MAKERS = [dict_of, object_twice, array_of_two_objects, private_slots]


def product(parts):
    return lambda p: np.sum(parts(p)[0] * parts(p)[1])


def test_gradient_descent_moves_by_the_whole_gradient():
    model, parts = dict_of(W)
    optimiser = sgd(0.1)
    new, _ = optimiser.update(model, mo.grad(product(parts))(model), optimiser.init(model))
    assert np.allclose(new["a"], 0.8 * W) and new["a"] is new["b"]


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: f"{type(o).__name__} {getattr(o, 'momentum', '')}")
@pytest.mark.parametrize("make", MAKERS)
def test_training_tied_parameters_is_training_the_one(make, optimiser):
    model, parts = make(W)
    trained, losses = train(product(parts), model, 4, optimiser, progress=False)
    alone, expected = train(lambda w: np.sum(w * w), W, 4, optimiser, progress=False)
    a, b = parts(trained)
    assert a is b and np.allclose(a, alone, rtol=1e-12) and np.allclose(losses, expected, rtol=1e-12)
    assert len(optimiser.init(model).memory) == 1
    assert parts(model)[0] is parts(model)[1] is W  # the model that was given is left alone


def step(optimiser, parts):
    def update(model, state):
        loss, gradient = mo.value_and_grad(product(parts))(model)
        model, state = optimiser.update(model, gradient, state)
        return loss, model, state

    return update


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("make", MAKERS)
def test_a_compiled_step_keeps_parameters_tied(make, target):
    optimiser = adam(0.1)
    model, parts = make(W)
    compiled = mo.jit(step(optimiser, parts), target=target)
    state, expected, memory = optimiser.init(model), model, optimiser.init(model)
    for _ in range(3):
        loss, model, state = compiled(model, state)
        wanted, expected, memory = step(optimiser, parts)(expected, memory)
        assert np.isclose(loss, wanted)
    a, b = parts(model)
    assert a is b and np.allclose(a, parts(expected)[0])


def test_numbers_are_parameters_of_their_own():
    x = 3.0
    model = {"a": x, "b": [x]}
    optimiser = sgd(0.1)
    new, _ = optimiser.update(model, mo.grad(lambda p: p["a"] * p["b"][0] ** 2)(model), optimiser.init(model))
    assert np.isclose(new["a"], 3 - 0.9) and np.isclose(new["b"][0], 3 - 1.8)


def test_leaves_in_a_differentiated_loss_are_counted_once():
    model, parts = dict_of(W)
    penalty = mo.grad(lambda p: sum(np.sum(x**2) for x in leaves(p)))(model)
    assert np.allclose(penalty["a"], 2 * W)
    twice = mo.grad(lambda p: np.sum(map_leaves(lambda x: x**2, p)["b"]))(model)
    assert np.allclose(twice["a"], 2 * W)


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_saved_and_copied_stays_tied(make):
    model, parts = make(W)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), with_leaves(model, leaves(model))):
        assert parts(again)[0] is parts(again)[1]
        assert len(leaves(again)) == 1


def test_private_slots_of_a_class_and_its_base():
    class Derived(Private):
        __slots__ = ("__dict__", "__w")

        def __init__(self, v, w, u):
            super().__init__(v, w)
            self.__w, self.u = u, u

    found = leaves(Derived(1.0, 2.0, W))
    assert sorted(map(np.size, found)) == [1, 1, 3]
