"""Layers: shapes, initial weights, gradients with respect to parameters and input."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ml import Chain, Dense, cross_entropy, glorot_uniform, mean_squared_error

rng = np.random.default_rng


def small_network(dtype=np.float64):
    return Chain(
        Dense(2, 4, np.tanh, rng=rng(0), dtype=dtype),
        Dense(4, 3, np.sin, rng=rng(1), dtype=dtype),
        Dense(3, 2, rng=rng(2), dtype=dtype),
    )


def test_dense_is_an_affine_map_and_an_activation_over_the_last_axis():
    layer = Dense(3, 2, np.tanh, rng=rng(0))
    x = rng(1).normal(size=(4, 5, 3))
    assert np.allclose(layer(x), np.tanh(np.einsum("abi,io->abo", x, layer.weights) + layer.bias))
    assert layer(x[0, 0]).shape == (2,)


def test_weights_are_glorot_uniform_and_the_same_for_the_same_generator():
    weights = glorot_uniform(rng(0), 200, 300)
    limit = np.sqrt(6 / 500)
    assert abs(weights).max() <= limit
    assert weights.var() == pytest.approx(limit**2 / 3, rel=0.02)
    assert np.array_equal(weights, glorot_uniform(rng(0), 200, 300))


def test_single_precision_stays_single():
    network = small_network(np.float32)
    assert network(np.ones((3, 2), np.float32)).dtype == np.float32


def test_a_chain_calls_any_functions_in_order():
    chain = Chain(np.negative, lambda x: x + 1, np.sum)
    assert chain(np.array([1.0, 2.0])) == -1.0
    assert len(chain) == 3 and chain[0] is np.negative
    assert Chain()(5.0) == 5.0
    assert repr(Chain(Dense(2, 3, np.tanh, rng=rng(0)), np.exp)) == "Chain(Dense(2, 3, tanh), exp)"


def test_gradients_of_a_chain_agree_with_differences():
    x, y = rng(3).normal(size=(5, 2)), rng(4).normal(size=(5, 2))
    mo.testing.check_gradients(lambda network, x: mean_squared_error(network(x), y), small_network(), x, order=1)


def test_second_derivatives_of_a_layer_agree_with_differences():
    x = rng(3).normal(size=(3, 2))
    mo.testing.check_gradients(lambda layer: np.sum(layer(x) ** 2), Dense(2, 2, np.tanh, rng=rng(0)), order=2)


def test_the_gradient_of_a_chain_is_a_chain_of_layers_that_hold_cotangents():
    network = small_network(np.float32)
    x = np.ones((3, 2), np.float32)
    (gradient,) = mo.gradient(lambda network: np.sum(network(x)), network)
    assert type(gradient) is Chain and type(gradient[0]) is Dense
    assert gradient[0].weights.shape == (2, 4) and gradient[0].weights.dtype == np.float32
    assert gradient[0].activation is None
    assert gradient[2].bias.tolist() == [3.0, 3.0]


def test_cross_entropy_is_that_of_the_softmax_and_does_not_overflow():
    logits = rng(0).normal(size=(6, 4))
    labels = rng(1).integers(4, size=6)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert cross_entropy(logits, labels) == pytest.approx(-np.mean(np.log(p[np.arange(6), labels])))
    assert cross_entropy(np.array([[1000.0, 0.0]]), np.array([1])) == 1000.0
    (gradient,) = mo.gradient(lambda z: cross_entropy(z, labels), logits)
    assert np.allclose(gradient, (p - np.eye(4)[labels]) / 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Dense(0, 2, rng=rng(0)), "inputs is 0; expected a positive integer"),
        (lambda: Dense(2, 2.5, rng=rng(0)), "outputs is 2.5"),
        (lambda: Dense(2, 2, rng=0), "rng is a int; expected a generator"),
        (lambda: Dense(2, 2, "tanh", rng=rng(0)), "activation is a str; expected a function"),
        (lambda: Dense(2, 2, rng=rng(0), dtype=int), "expected a floating-point type"),
        (lambda: Dense(2, 2, rng=rng(0))(np.ones(3)), r"shape \(3,\); expected \(..., 2\)"),
        (lambda: Dense(2, 2, rng=rng(0))(1.0), r"shape \(\)"),
        (lambda: Chain(np.tanh, 3), "layer 1 is a int"),
        (lambda: mean_squared_error(np.ones((3, 1)), np.ones(3)), r"\(3, 1\) and the target \(3,\)"),
        (lambda: cross_entropy(np.ones((3, 2)), np.ones(3)), "expected integers"),
        (lambda: cross_entropy(np.ones((3, 2)), np.array([0, 1, 2])), "labels run from 0 to 2; expected 0 to 1"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(call, message):
    with pytest.raises(mo.MorulaError, match=message):
        call()
