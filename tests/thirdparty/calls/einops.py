"""Axes named in a text: parsed once, kept in a cache, carried out by a back end chosen by the array's type."""

from __future__ import annotations

import numpy as np
from einops import einsum, pack, rearrange, reduce, repeat, unpack

from thirdparty.harness import Call

DISTRIBUTION = "einops"
FIELD = "arrays"
HELD_OUT = True

IMAGES = np.sin(np.arange(48.0)).reshape(2, 4, 3, 2)


def tiled(images: np.ndarray) -> np.ndarray:
    return rearrange(images, "b (h two) w c -> (b h) (two w) c", two=2) ** 2


def pooled(images: np.ndarray) -> np.ndarray:
    return reduce(images, "b (h h2) w c -> b h c", "mean", h2=2) * reduce(images, "b h w c -> b 1 c", "max")


def repeated(row: np.ndarray) -> np.ndarray:
    return repeat(row, "w -> h (w two)", h=3, two=2) * np.arange(8.0)


def attention(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    scores = einsum(queries, keys, "head i d, head j d -> head i j")
    weights = np.exp(scores) / reduce(np.exp(scores), "head i j -> head i 1", "sum")
    return rearrange(einsum(weights, keys, "head i j, head j d -> i head d"), "i head d -> i (head d)")


def packed(images: np.ndarray, row: np.ndarray) -> np.ndarray:
    together, shapes = pack([images, row], "*")
    images, row = unpack(together * together, shapes, "*")
    return images.sum(0) * row[0]


CALLS = {
    "tiled": Call(tiled, IMAGES),
    "pooled": Call(pooled, IMAGES),
    "repeated": Call(repeated, np.array([0.3, 0.5, -0.2, 1.0])),
    "attention": Call(attention, np.sin(np.arange(12.0)).reshape(2, 3, 2), np.cos(np.arange(16.0)).reshape(2, 4, 2)),
    "packed": Call(packed, IMAGES, np.array([0.3, 0.5, -0.2])),
}
