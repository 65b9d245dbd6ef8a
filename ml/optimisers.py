"""First-order optimisers: a rule for one array, lifted once to whole models.

An optimiser holds its settings only.  What it remembers between steps is a ``State`` that the caller carries, so an
update is a function of its arguments: it can be repeated, saved, compiled and differentiated.

>>> optimiser = sgd(0.1)
>>> parameters = {"slope": 2.0}
>>> state = optimiser.init(parameters)
>>> parameters, state = optimiser.update(parameters, {"slope": 5.0}, state)
>>> parameters
{'slope': 1.5}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import BadInput, tree


@dataclass(frozen=True)
class State:
    """The number of updates made, and what the optimiser remembers of each leaf, in the order of ``tree.leaves``: one that stands twice once."""

    updates: int
    memory: Sequence[tuple[Any, ...]]


class Optimiser(ABC):
    """A rule that takes parameters and a gradient to better parameters.

    A subclass says what it remembers of a leaf (``remember``) and how it moves one (``move``).
    """

    @abstractmethod
    def remember(self, x: Any) -> tuple[Any, ...]:
        """What is known of the leaf ``x`` before the first update."""

    @abstractmethod
    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        """The new ``x`` and the new memory, in update number ``update`` (from 1)."""

    def init(self, parameters: Any) -> State:
        """The state before the first update of ``parameters``.

        Raises:
            BadInput: there is nothing to train in ``parameters``.
        """
        found = tree.leaves(parameters)
        if not found:
            raise BadInput(
                f"{type(self).__name__}: the {type(parameters).__name__} given holds no parameter;"
                " expected a float, an array of floats, or a structure of them (integers are settings)"
            )
        return State(0, [self.remember(x) for x in found])

    def update(self, parameters: Any, gradient: Any, state: State) -> tuple[Any, State]:
        """``parameters`` moved by one step, and the state after it.

        Args:
            parameters: a float, an array, or dicts, lists, tuples and objects of them; not changed.
            gradient: in the structure of ``parameters``, as ``grad`` gives it; where it is None nothing is moved.
            state: from ``init`` or the update before.

        Raises:
            BadInput: the gradient or the state belongs to other parameters.
        """
        pairs = tree.leaves(parameters, gradient)
        if len(pairs) != len(state.memory):
            raise BadInput(
                f"{type(self).__name__}: the state remembers {len(state.memory)} leaves, the parameters have {len(pairs)};"
                " call init again after changing the structure of a model"
            )
        values, memories = [], []
        for (x, g), memory in zip(pairs, state.memory, strict=True):
            if g is not None:
                if np.shape(g) != np.shape(x):
                    raise BadInput(
                        f"{type(self).__name__}: a gradient of shape {np.shape(g)} for a parameter of shape {np.shape(x)};"
                        " expected one shape"
                    )
                x, *memory = self.move(state.updates + 1, x, g, *memory)
            values.append(x)
            memories.append(tuple(memory))
        return tree.with_leaves(parameters, values), State(state.updates + 1, memories)


@dataclass(frozen=True)
class SGD(Optimiser):
    """Gradient descent with momentum; see ``sgd``."""

    learning_rate: float
    momentum: float
    nesterov: bool

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (0 * x,) if self.momentum else ()

    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        step = self.learning_rate * gradient
        if not self.momentum:
            return (x - step,)
        velocity = self.momentum * memory[0] - step
        return x + (self.momentum * velocity - step if self.nesterov else velocity), velocity


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adaptive moment estimation; see ``adam``."""

    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return 0 * x, 0 * abs(x)

    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        mean, square = memory
        mean = self.beta1 * mean + (1 - self.beta1) * gradient
        square = self.beta2 * square + (1 - self.beta2) * (gradient * gradient.conjugate()).real
        unbiased_mean = mean / (1 - self.beta1**update)
        unbiased_square = square / (1 - self.beta2**update)
        return x - self.learning_rate * unbiased_mean / (unbiased_square**0.5 + self.epsilon), mean, square


def sgd(learning_rate: float = 0.01, momentum: float = 0.0, nesterov: bool = False) -> SGD:
    """Gradient descent, with the velocity v <- momentum v - learning_rate g and x <- x + v.

    Args:
        learning_rate: positive.
        momentum: in [0, 1); 0 is plain gradient descent.
        nesterov: look ahead along the velocity.

    Raises:
        BadInput: a setting outside its range.

    Source: I. Sutskever, J. Martens, G. Dahl, G. Hinton, On the importance of initialization and momentum in deep
    learning (2013), equations 1 to 4; Nesterov's form after Y. Bengio, N. Boulanger-Lewandowski, R. Pascanu, Advances in
    optimizing recurrent networks (2013), equation 7.

    >>> sgd(0.1, momentum=0.9)
    SGD(learning_rate=0.1, momentum=0.9, nesterov=False)
    """
    _check("sgd", "learning_rate", learning_rate, "a positive number", 0 < learning_rate < np.inf)
    _check("sgd", "momentum", momentum, "a number in [0, 1)", 0 <= momentum < 1)
    return SGD(learning_rate, momentum, nesterov)


def adam(learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8) -> Adam:
    """Adam: steps of the size of the learning rate, whatever the scale of the gradient.

    Args:
        learning_rate: positive; the largest change of a parameter in a step, about.
        beta1, beta2: in [0, 1); how slowly the means of the gradient and of its square forget.
        epsilon: positive; keeps the division from blowing up where gradients vanish.

    Raises:
        BadInput: a setting outside its range.

    Source: D. P. Kingma and J. L. Ba, Adam: a method for stochastic optimization (2015), algorithm 1.

    >>> adam(0.01)
    Adam(learning_rate=0.01, beta1=0.9, beta2=0.999, epsilon=1e-08)
    """
    _check("adam", "learning_rate", learning_rate, "a positive number", 0 < learning_rate < np.inf)
    _check("adam", "beta1", beta1, "a number in [0, 1)", 0 <= beta1 < 1)
    _check("adam", "beta2", beta2, "a number in [0, 1)", 0 <= beta2 < 1)
    _check("adam", "epsilon", epsilon, "a positive number", 0 < epsilon < np.inf)
    return Adam(learning_rate, beta1, beta2, epsilon)


def _check(method: str, name: str, value: float, expected: str, fits: bool) -> None:
    if not fits:
        raise BadInput(f"{method}: {name} is {value!r}; expected {expected}")
