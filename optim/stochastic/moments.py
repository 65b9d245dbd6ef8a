"""Steps that keep running means of the gradient and its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .optimiser import Step


def square_of(g: Any) -> Any:
    """Return |g|², real also for complex numbers."""
    return (g * g.conjugate()).real


def sign_of(u: Any) -> Any:
    """Return the sign; of a complex number its unit vector."""
    return u / (abs(u) + (abs(u) == 0))


@dataclass(frozen=True)
class Momentum(Step):
    """v <- momentum v + g; the direction is v, or with Nesterov's form momentum v + g."""

    momentum: float
    nesterov: bool

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (0 * x,)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        velocity = self.momentum * memory[0] + direction
        return (self.momentum * velocity + direction if self.nesterov else velocity), velocity


@dataclass(frozen=True)
class Adaptive(Step):
    """The unbiased mean over the root of the unbiased mean square of the gradient, or of its deviation from the mean.

    ``nesterov`` looks one update ahead (NAdam); ``centred`` takes the square of the deviation from the mean (AdaBelief).
    """

    beta1: float
    beta2: float
    epsilon: float
    nesterov: bool = False
    centred: bool = False

    def remember(self, x: Any) -> tuple[Any, ...]:
        return 0 * x, 0 * abs(x)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        mean, square = memory
        g, beta1, beta2 = direction, self.beta1, self.beta2
        mean = beta1 * mean + (1 - beta1) * g
        square = beta2 * square + (1 - beta2) * square_of(g - mean if self.centred else g)
        if self.centred:
            square = square + self.epsilon
        ahead = mean / (1 - beta1**number)
        if self.nesterov:
            ahead = beta1 * mean / (1 - beta1 ** (number + 1)) + (1 - beta1) * g / (1 - beta1**number)
        return ahead / ((square / (1 - beta2**number)) ** 0.5 + self.epsilon), mean, square


@dataclass(frozen=True)
class RootMeanSquare(Step):
    """g over the root of its running mean square, or with ``decay`` 1 of the sum of its squares."""

    decay: float
    epsilon: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (0 * abs(x),)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        share = 1.0 - self.decay if self.decay < 1.0 else 1.0
        square = self.decay * memory[0] + share * square_of(direction)
        return direction / (square**0.5 + self.epsilon), square


@dataclass(frozen=True)
class Sign(Step):
    """The sign of an interpolation between running mean and gradient (Lion)."""

    beta1: float
    beta2: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (0 * x,)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        mean = memory[0]
        turned = sign_of(self.beta1 * mean + (1 - self.beta1) * direction)
        return turned, self.beta2 * mean + (1 - self.beta2) * direction


def norm_of(u: Any) -> Any:
    """Return the Euclidean norm of all entries."""
    return np.sum(square_of(np.asarray(u))) ** 0.5
