"""A recursive network on trees of objects with any number of children, each with numbers of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .programs import HIDDEN, Params


@dataclass
class Item:
    features: Any
    weight: float
    parts: list[Item] = field(default_factory=list)


def summary(p: Params, item: Item) -> Any:
    h = p["Wi"] @ item.features
    for part in item.parts:
        h = h + part.weight * np.tanh(p["Uil"] @ summary(p, part))
    return np.tanh(h + p["bi"])


def item_loss(p: Params, item: Item) -> Any:
    return np.sum((summary(p, item) - p["target"]) ** 2)


def items(count: int, seed: int = 0) -> list[Any]:
    rng, draw = np.random.default_rng(seed), random.Random(seed)

    def grow(depth: int) -> Item:
        parts = [grow(depth - 1) for _ in range(draw.randint(0, 4))] if depth else []
        return Item(rng.normal(size=HIDDEN), draw.random(), parts)

    return [grow(4) for _ in range(count)]


PROGRAMS = {"objects with any number of children": (item_loss, items, None)}
