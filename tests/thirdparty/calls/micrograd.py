"""A small engine of reverse mode: its values, closures and backward pass are a program like any other."""

from __future__ import annotations

import random

from micrograd.engine import Value
from micrograd.nn import MLP

from thirdparty.harness import Call

DISTRIBUTION = "micrograd"
FIELD = "machine learning"


def expression(a: float, b: float) -> tuple[float, float, float]:
    """The example of the package, with the gradient that it finds itself."""
    x, y = Value(a), Value(b)
    z = x + y
    z += z + 1 + (-x)
    product = x * y + y**3
    product += product * 2 + (y + x).relu()
    result = (z - product) ** 2 / 2.0 + 10.0 / (z - product)
    result.backward()
    return result.data, x.grad, y.grad


def network(x: float, y: float) -> float:
    random.seed(1)
    return MLP(2, [3, 1])([x, y]).data


def gradients_of_a_network(x: float, y: float) -> list[float]:
    random.seed(1)
    model = MLP(2, [3, 1])
    loss = (model([x, y]) - 1.0) ** 2
    loss.backward()
    return [p.grad for p in model.parameters()]


CALLS = {
    "expression": Call(expression, -4.0, 2.0),
    "network": Call(network, 0.5, -0.3),
    "gradients_of_a_network": Call(gradients_of_a_network, 0.5, -0.3),
}
