"""Layers: callable objects whose array attributes are their parameters."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..core import BadInput


def glorot_uniform(
    rng: np.random.Generator, inputs: int, outputs: int, dtype: DTypeLike = np.float64
) -> NDArray[np.floating[Any]]:
    """Draw initial weights that keep the variance of signals, forward and backward.

    Args:
        rng: the generator to draw from.
        inputs, outputs: the sizes of the layer.
        dtype: float32 or float64.

    Returns:
        An array of shape (inputs, outputs), uniform between +-sqrt(6 / (inputs + outputs)).

    Source: X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural networks (2010),
    equation 16.

    >>> glorot_uniform(np.random.default_rng(0), 2, 3).shape
    (2, 3)
    """
    limit = sqrt(6.0 / (inputs + outputs))
    return rng.uniform(-limit, limit, (inputs, outputs)).astype(dtype)


class Dense:
    """A fully connected layer: ``activation(x @ weights + bias)`` for x of shape (..., inputs).

    Args:
        inputs, outputs: the lengths of the last axis of the input and of the output.
        activation: element-wise function; None for an affine layer.
        rng: the generator for the initial weights, drawn by ``glorot_uniform``; the bias starts at zero.
        dtype: the dtype of the parameters, float32 or float64.

    Raises:
        BadInput: a size is not a positive integer, ``rng`` is not a generator, ``activation`` is not callable, or
            ``dtype`` is not floating-point; when called, the last axis of x does not have length ``inputs``.

    >>> layer = Dense(3, 2, np.tanh, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3))).shape
    (5, 2)
    """

    weights: NDArray[np.floating[Any]]
    bias: NDArray[np.floating[Any]]

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable[[Any], Any] | None = None,
        *,
        rng: np.random.Generator,
        dtype: DTypeLike = np.float64,
    ) -> None:
        for name, size in (("inputs", inputs), ("outputs", outputs)):
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
                raise BadInput(f"Dense: {name} is {size!r}; expected a positive integer, the number of features")
        if not isinstance(rng, np.random.Generator):
            raise BadInput(
                f"Dense: rng is a {type(rng).__name__}; expected a generator, as from np.random.default_rng(0)"
            )
        if activation is not None and not callable(activation):
            raise BadInput(f"Dense: activation is a {type(activation).__name__}; expected a function such as np.tanh")
        if np.dtype(dtype).kind != "f":
            raise BadInput(f"Dense: dtype is {np.dtype(dtype)}; expected a floating-point type")
        self.weights = glorot_uniform(rng, int(inputs), int(outputs), dtype)
        self.bias = np.zeros(int(outputs), dtype)
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        if np.ndim(x) == 0 or np.shape(x)[-1] != self.weights.shape[0]:
            raise BadInput(
                f"Dense: the input has shape {np.shape(x)}; expected (..., {self.weights.shape[0]}),"
                f" for weights of shape {self.weights.shape}"
            )
        y = x @ self.weights + self.bias
        return y if self.activation is None else self.activation(y)

    def __repr__(self) -> str:
        inputs, outputs = self.weights.shape
        activation = getattr(self.activation, "__name__", self.activation)
        return f"Dense({inputs}, {outputs}{'' if activation is None else f', {activation}'})"


class Chain:
    """Functions of one argument, such as layers, applied one after the other; ``chain[i]`` is the i-th.

    Args:
        layers: the functions, the first one to be applied first.

    Raises:
        BadInput: a layer is not callable.

    >>> chain = Chain(Dense(2, 3, np.tanh, rng=np.random.default_rng(0)), np.sum)
    >>> chain
    Chain(Dense(2, 3, tanh), sum)
    >>> chain[0](np.zeros(2)).tolist()
    [0.0, 0.0, 0.0]
    """

    layers: tuple[Callable[[Any], Any], ...]

    def __init__(self, *layers: Callable[[Any], Any]) -> None:
        for i, layer in enumerate(layers):
            if not callable(layer):
                raise BadInput(
                    f"Chain: layer {i} is a {type(layer).__name__}; expected something to call with one argument"
                )
        self.layers = layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def __getitem__(self, i: int) -> Callable[[Any], Any]:
        return self.layers[i]

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        return f"Chain({', '.join(getattr(layer, '__name__', None) or repr(layer) for layer in self.layers)})"
