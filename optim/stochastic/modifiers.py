"""Steps that change directions for all methods: clipping, weight decay with masks, trust ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .moments import norm_of, square_of
from .optimiser import Call, Step, check


@dataclass(frozen=True)
class Clip(Step):
    limit: float

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        return (direction * np.minimum(1.0, self.limit / np.maximum(abs(direction), 1e-300)),)


@dataclass(frozen=True)
class ClipNorm(Step):
    limit: float

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        return (direction * np.minimum(1.0, self.limit / np.maximum(norm_of(direction), 1e-300)),)

    def turn_all(
        self, call: Call, xs: list[Any], directions: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        total = sum(np.sum(square_of(np.asarray(u))) for u in directions) ** 0.5
        factor = float(np.minimum(1.0, self.limit / np.maximum(total, 1e-300)))
        return [factor * u for u in directions], memories


@dataclass(frozen=True)
class Decay(Step):
    rate: float
    mask: Callable[[str, Any], bool] | None

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        return (direction + self.rate * x,)

    def turn_all(
        self, call: Call, xs: list[Any], directions: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        turned = [
            u + self.rate * x if self.mask is None or self.mask(path, x) else u
            for path, x, u in zip(call.paths, xs, directions, strict=True)
        ]
        return turned, memories


@dataclass(frozen=True)
class TrustRatio(Step):
    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        size, length = norm_of(x), norm_of(direction)
        usable = (size > 0.0) & (length > 0.0)
        ratio = np.where(usable, size / np.where(usable, length, 1.0), 1.0)
        return (float(ratio) * direction,)


def clip(limit: float) -> Step:
    """Make a step that limits every entry of the direction to ``[-limit, limit]``.

    >>> clip(1.0).turn(1, 0.0, -3.0)[0].item()
    -1.0
    """
    check("clip", "limit", limit, "a positive number", 0 < limit < np.inf)
    return Clip(limit)


def clip_by_global_norm(limit: float) -> Step:
    """Make a step that scales all directions together so that their joint norm is at most ``limit``.

    Source: R. Pascanu, T. Mikolov and Y. Bengio, On the difficulty of training recurrent neural networks (2013), algorithm 1.
    """
    check("clip_by_global_norm", "limit", limit, "a positive number", 0 < limit < np.inf)
    return ClipNorm(limit)


def decay_weights(rate: float, mask: Callable[[str, Any], bool] | None = None) -> Step:
    """Make a step that adds ``rate`` times the parameters to the direction.

    Args:
        rate: at least 0.
        mask: ``mask(path, leaf)`` says which leaves decay, for example ``lambda path, x: np.ndim(x) >= 2``; all by default.

    Source: I. Loshchilov and F. Hutter, Decoupled weight decay regularization (2019).
    """
    check("decay_weights", "rate", rate, "0 or a positive number", 0 <= rate < np.inf)
    return Decay(rate, mask)


def trust_ratio() -> Step:
    """Make a step that scales each leaf's direction to the norm of the leaf (LAMB).

    Source: Y. You et al., Large batch optimization for deep learning (2020), algorithm 2.
    """
    return TrustRatio()
