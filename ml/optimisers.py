"""First-order optimisers: an update rule for one array, which the base class applies to every leaf of a model.

An optimiser holds only its settings. Its memory is a ``State`` that the caller passes from step to step, so an update
depends only on its arguments: it can be repeated, saved, compiled and differentiated.

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
    """The memory of an optimiser between two updates.

    >>> sgd(0.1, momentum=0.9).init([2.0, 3.0])
    State(updates=0, memory=[(0.0,), (0.0,)])
    """

    updates: int
    """The number of updates made."""
    memory: Sequence[tuple[Any, ...]]
    """The optimiser's memory for each leaf, in the order of ``tree.leaves``; a shared leaf has one entry."""


class Optimiser(ABC):
    """A rule that improves parameters with a gradient.

    A subclass defines the initial memory of a leaf (``remember``) and the update of a leaf (``move``).

    >>> class SignDescent(Optimiser):
    ...     def remember(self, x):
    ...         return ()
    ...     def move(self, update, x, gradient, *memory):
    ...         return (x - 0.1 * np.sign(gradient),)
    >>> method = SignDescent()
    >>> method.update(2.0, 5.0, method.init(2.0))[0].item()
    1.9
    """

    @abstractmethod
    def remember(self, x: Any) -> tuple[Any, ...]:
        """Return the memory of a leaf before its first update.

        Args:
            x: the leaf, a number or an array.

        >>> sgd(0.1, momentum=0.9).remember(2.0)
        (0.0,)
        """

    @abstractmethod
    def move(self, update: int, x: Any, gradient: Any, *memory: Any) -> tuple[Any, ...]:
        """Return the new value of a leaf, followed by its new memory.

        Args:
            update: the number of this update, from 1.
            x: the leaf, a number or an array.
            gradient: in the shape of ``x``.
            *memory: what ``remember`` or the previous update returned for this leaf.

        >>> sgd(0.5).move(1, 2.0, 1.0)
        (1.5,)
        """

    def init(self, parameters: Any) -> State:
        """Return the state before the first update of ``parameters``.

        Args:
            parameters: a float, an array, or dicts, lists, tuples and objects of them.

        Returns:
            The state to pass to the first ``update``.

        Raises:
            BadInput: ``parameters`` holds no float and no array of floats.

        >>> sgd(0.1).init({"w": np.ones(2)})
        State(updates=0, memory=[()])
        """
        found = tree.leaves(parameters)
        if not found:
            raise BadInput(
                f"{type(self).__name__}: the {type(parameters).__name__} given holds no parameter;"
                " expected a float, an array of floats, or a structure of them (integers are settings)"
            )
        return State(0, [self.remember(x) for x in found])

    def update(self, parameters: Any, gradient: Any, state: State) -> tuple[Any, State]:
        """Return the parameters after one step, and the new state.

        Args:
            parameters: a float, an array, or dicts, lists, tuples and objects of them; not changed.
            gradient: in the structure of ``parameters``, as ``grad`` returns it; a leaf whose gradient is None stays.
            state: from ``init`` or the previous update.

        Returns:
            New parameters in the same structure, and the state for the next update.

        Raises:
            BadInput: the gradient or the state does not fit the parameters.

        >>> method = sgd(0.5)
        >>> method.update([2.0], [1.0], method.init([2.0]))[0]
        [1.5]
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
    """Gradient descent with momentum; ``sgd`` makes it, checks its settings, and describes them."""

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
    """Adaptive moment estimation; ``adam`` makes it, checks its settings, and describes them."""

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
    """Make gradient descent with momentum: v <- momentum v - learning_rate g, then x <- x + v.

    Args:
        learning_rate: positive.
        momentum: in [0, 1); 0 is plain gradient descent.
        nesterov: use Nesterov's momentum, which looks ahead along the velocity.

    Returns:
        The optimiser.

    Raises:
        BadInput: a setting is outside its range.

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
    """Make Adam, whose steps have about the size of the learning rate whatever the scale of the gradient.

    Args:
        learning_rate: positive; approximately the largest change of a parameter in one step.
        beta1, beta2: in [0, 1); the decay rates of the running means of the gradient and of its square.
        epsilon: positive; added to the denominator, so that it does not vanish with the gradient.

    Returns:
        The optimiser.

    Raises:
        BadInput: a setting is outside its range.

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
