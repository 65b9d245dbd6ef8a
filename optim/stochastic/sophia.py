"""Sophia: the mean gradient over an estimate of the diagonal of the Hessian, clipped.

H. Liu, Z. Li, D. Hall, P. Liang and T. Ma, Sophia: a scalable stochastic second-order optimizer (2024), algorithm 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, grad, jvp, tree
from .optimiser import Call, Step


@dataclass(frozen=True)
class Curved(Step):
    """The running means of gradient and curvature."""

    beta1: float
    beta2: float
    gamma: float
    epsilon: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return 0 * x, 0 * x

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        mean, curvature = memory
        mean = self.beta1 * mean + (1 - self.beta1) * direction
        ratio = mean / np.maximum(self.gamma * curvature, self.epsilon)
        return np.minimum(np.maximum(ratio, -1.0), 1.0), mean, curvature

    def turn_all(
        self, call: Call, xs: list[Any], directions: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        if call.curvatures is not None:
            memories = [
                (mean, self.beta2 * old + (1 - self.beta2) * new)
                for (mean, old), new in zip(memories, call.curvatures, strict=True)
            ]
        elif isinstance(call.number, int) and call.number == 1:
            raise BadInput(
                "sophia: the first update needs curvature=, such as curvature_estimate(loss, parameters, rng)"
            )
        return super().turn_all(call, xs, directions, memories)


def curvature_estimate(loss: Callable[[Any], Any], parameters: Any, rng: np.random.Generator) -> Any:
    """Return an unbiased estimate of the diagonal of the Hessian of ``loss``, in the structure of ``parameters``.

    It is v * (H v) for a vector v of random signs; one product with the Hessian.

    Args:
        loss: a real function of ``parameters``.
        parameters: a float, an array, or a structure of them.
        rng: draws the signs.

    Source: M.F. Hutchinson, Commun. Stat. Simul. Comput. 18 (1989) 1059-1076; Bekas, Kokiopoulou and Saad (2007).

    >>> curvature_estimate(lambda x: np.sum(np.array([1.0, 2.0]) * x**2), np.ones(2), np.random.default_rng(0)).tolist()
    [2.0, 4.0]
    """
    vector, restore = tree.flatten(parameters)
    signs = np.where(rng.random(vector.size) < 0.5, -1.0, 1.0)
    product = jvp(grad(lambda v: loss(restore(v))), (vector,), (signs,))[1]
    return restore(signs * product)
