"""Steps that treat a parameter as a matrix: orthogonalised momentum, and preconditioners on both sides.

An array of more than two axes is the matrix of its first axis by all others. Numbers and vectors are left to the rest of the
chain or to Adam's step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .moments import Adaptive
from .optimiser import Step

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients of an odd polynomial whose fifth iterate maps singular values in [0.01, 1] to about 1 (Jordan, 2024)."""


def orthogonalised(M: Any, turns: int = 5) -> Any:
    """Return about U Vᵀ for M = U S Vᵀ, by products only."""
    a, b, c = NEWTON_SCHULZ
    tall = M.shape[0] > M.shape[1]
    X = M.T if tall else M
    X = X / (np.sum(X * X) ** 0.5 + 1e-7)
    for _ in range(turns):
        G = X @ X.T
        X = a * X + (b * G + c * (G @ G)) @ X
    return X.T if tall else X


@dataclass(frozen=True)
class Orthogonal(Step):
    """Orthogonalised momentum for matrices, Adam's step for numbers and vectors (Muon)."""

    momentum: float
    vectors: Adaptive

    def remember(self, x: Any) -> tuple[Any, ...]:
        return (0 * x,) if np.ndim(x) >= 2 else self.vectors.remember(x)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        if np.ndim(x) < 2:
            return self.vectors.turn(number, x, direction, *memory)
        velocity = self.momentum * memory[0] + direction
        ahead = np.reshape(self.momentum * velocity + direction, (x.shape[0], -1))
        size = max(1.0, ahead.shape[0] / ahead.shape[1]) ** 0.5
        return size * np.reshape(orthogonalised(ahead), x.shape), velocity


@dataclass(frozen=True)
class Kronecker(Step):
    """G multiplied on both sides by inverse fourth roots of the sums of G Gᵀ and Gᵀ G (Shampoo)."""

    decay: float
    epsilon: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        if np.ndim(x) < 2:
            return (0 * abs(x),)
        rows = x.shape[0]
        columns = x.size // rows
        return np.zeros((rows, rows), x.dtype), np.zeros((columns, columns), x.dtype)

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        share = 1.0 - self.decay if self.decay < 1.0 else 1.0
        if np.ndim(x) < 2:
            square = self.decay * memory[0] + share * direction * direction
            return direction / (square + self.epsilon) ** 0.5, square
        G = np.reshape(direction, (x.shape[0], -1))
        left, right = self.decay * memory[0] + share * (G @ G.T), self.decay * memory[1] + share * (G.T @ G)
        turned = self._root(left) @ G @ self._root(right)
        return np.reshape(turned, x.shape), left, right

    def _root(self, M: Any) -> Any:
        values, vectors = np.linalg.eigh(M + self.epsilon * np.eye(M.shape[0], dtype=M.dtype))
        return (vectors * np.maximum(values, self.epsilon) ** -0.25) @ vectors.T


@dataclass(frozen=True)
class Rotated(Step):
    """Adam's step in the eigenvectors of the running means of G Gᵀ and Gᵀ G (SOAP); plain for numbers and vectors."""

    adaptive: Adaptive
    decay: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        memory = self.adaptive.remember(x)
        if np.ndim(x) < 2:
            return memory
        rows = x.shape[0]
        columns = x.size // rows
        return (*memory, np.zeros((rows, rows), x.dtype), np.zeros((columns, columns), x.dtype))

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        if np.ndim(x) < 2:
            return self.adaptive.turn(number, x, direction, *memory)
        mean, square, left, right = memory
        G = np.reshape(direction, (x.shape[0], -1))
        left = self.decay * left + (1.0 - self.decay) * (G @ G.T)
        right = self.decay * right + (1.0 - self.decay) * (G.T @ G)
        U, V = np.linalg.eigh(left)[1], np.linalg.eigh(right)[1]
        # The mean is kept in the user's axes and turned; the squares are those of the present axes.
        beta1, beta2 = self.adaptive.beta1, self.adaptive.beta2
        mean = beta1 * mean + (1 - beta1) * direction
        square = beta2 * square + (1 - beta2) * np.reshape((U.T @ G @ V) ** 2, x.shape)
        turned = np.reshape(U.T @ np.reshape(mean, G.shape) @ V, x.shape) / (1 - beta1**number)
        turned = turned / ((square / (1 - beta2**number)) ** 0.5 + self.adaptive.epsilon)
        return np.reshape(U @ np.reshape(turned, G.shape) @ V.T, x.shape), mean, square, left, right
