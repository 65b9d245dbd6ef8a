"""A whole training step (forward, backward, optimiser) on nested parameters compiles to one program."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from path_tester import assert_same, run_on

import morula as mo


class Linear:
    def __init__(self, random, n, m):
        self.weight = random.standard_normal((n, m)) / np.sqrt(n)
        self.bias = np.zeros(m)

    def __call__(self, x):
        return x @ self.weight + self.bias


@dataclass
class Network:
    layers: list
    output: dict

    def __call__(self, x):
        for layer in self.layers:
            x = np.tanh(layer(x))
        return x @ self.output["w"] * self.output["scale"]


class Momentum:
    def __init__(self, network, rate):
        self.rate = rate
        self.velocity = _zeros(network)
        self.steps = 0

    def update(self, network, gradient):
        self.steps += 1
        for layer, slope, v in zip(network.layers, gradient.layers, self.velocity):
            v["weight"] = 0.9 * v["weight"] + slope.weight
            v["bias"] = 0.9 * v["bias"] + slope.bias
            layer.weight -= self.rate * v["weight"]
            layer.bias = layer.bias - self.rate * v["bias"]
        for name in network.output:
            network.output[name] = network.output[name] - self.rate / self.steps * gradient.output[name]


def _zeros(network):
    return [{"weight": 0 * layer.weight, "bias": 0 * layer.bias} for layer in network.layers]


def loss(network, x, y):
    return np.mean((network(x) - y) ** 2)


def step(network, optimiser, x, y):
    value, gradient = mo.value_and_grad(loss)(network, x, y)
    optimiser.update(network, gradient)
    return value


def problem():
    random = np.random.default_rng(1)
    layers = [Linear(random, 2, 5), Linear(random, 5, 5)]
    network = Network(layers, {"w": random.standard_normal((5, 1)), "scale": 1.0})
    x = random.standard_normal((20, 2))
    return network, Momentum(network, 0.05), x, np.sin(x[:, :1]) * x[:, 1:]


def test_a_training_step_changes_the_objects_it_is_given(path):
    network, optimiser, x, y = problem()
    plain_network, plain_optimiser = copy.deepcopy((network, optimiser))
    compiled = run_on(path)(step)
    values = [compiled(network, optimiser, x, y) for _ in range(5)]
    expected = [step(plain_network, plain_optimiser, x, y) for _ in range(5)]
    assert np.allclose(values, expected) and values[-1] < values[0]
    assert_same(network, plain_network, 1e-9, "the network")
    assert_same(optimiser, plain_optimiser, 1e-9, "the optimiser")


def pure_step(parameters, moments, t, x, y):
    """Adam: Kingma and Ba, ICLR 2015, algorithm 1."""
    value, gradient = mo.value_and_grad(pure_loss)(parameters, x, y)
    t = t + 1
    new, state = {}, {}
    for name, g in gradient.items():
        m, v = moments[name]
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        new[name] = parameters[name] - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        state[name] = (m, v)
    return value, new, state, t


def pure_loss(parameters, x, y):
    h = np.maximum(x @ parameters["w1"] + parameters["b1"], 0)
    return ((h @ parameters["w2"] - y) ** 2).mean()


def pure_problem(dtype):
    random = np.random.default_rng(2)
    shapes = {"w1": (2, 6), "b1": (6,), "w2": (6, 1)}
    parameters = {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    moments = {name: (0 * p, 0 * p) for name, p in parameters.items()}
    x = random.standard_normal((16, 2)).astype(dtype)
    return parameters, moments, 0, x, np.sin(x[:, :1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pure_training_step(path, dtype):
    parameters, moments, t, x, y = pure_problem(dtype)
    expected = parameters, moments, t
    for _ in range(3):
        value, *state = run_on(path)(pure_step)(parameters, moments, t, x, y)
        parameters, moments, t = state
        wanted, *expected = pure_step(*expected, x, y)
        assert_same((value, *state), (wanted, *expected), 1e-9 if dtype == "float64" else 1e-4, "the step")


def test_xla_runs_a_step_as_one_executable():
    from jax import monitoring

    compilations = []

    def count(event, *_, **__):
        if event == "/jax/core/compile/backend_compile_duration":
            compilations.append(event)

    monitoring.register_event_duration_secs_listener(count)
    compiled = mo.jit(step, target="xla")
    network, optimiser, x, y = problem()
    for _ in range(3):
        compiled(network, optimiser, x, y)
    assert len(compilations) == 1


def sgd(parameters, x, y, rate, steps):
    parameters = dict(parameters)
    value = 0.0
    for _ in range(steps):
        value, gradient = mo.value_and_grad(pure_loss)(parameters, x, y)
        for name in parameters:
            parameters[name] = parameters[name] - rate * gradient[name]
    return value


def test_training_inside_a_loop_and_the_gradient_through_it(check):
    parameters, _, _, x, y = pure_problem("float64")
    check(sgd, parameters, x, y, 0.05, 3, argnums=(3,))
