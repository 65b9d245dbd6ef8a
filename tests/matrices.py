"""Random matrices for the tests of linear algebra, the same on every run."""

from __future__ import annotations

import numpy as np
import pytest

KINDS = pytest.mark.parametrize("kind", ["real", "complex"])
SHAPES = {"square": (2, 2), "tall": (3, 2), "wide": (2, 3)}


def random(shape, kind="real", seed=0):
    """A matrix whose singular values are apart, so that differences see a smooth function."""
    source = np.random.default_rng((seed, *shape))
    x = source.uniform(-1, 1, shape)
    if kind == "complex":
        x = x + 1j * source.uniform(-1, 1, shape)
    if len(shape) > 1:
        x = x + np.eye(*shape[-2:]) * (1.5 + np.arange(shape[-1]))
    return x


def positive(shape, kind="real", seed=0):
    x = random(shape, kind, seed)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 0.5 * np.eye(shape[-1])


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))
