"""Straight-line programs of doubling length: compilation should take twice as long each time, a call hardly longer."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..program import Program

LENGTHS = (125, 250, 500, 1000)


def straight(length: int, module: Any, name: str) -> Callable[..., Any]:
    """A function of that many lines; ``name`` is what they call ``module``."""
    body = [f"    {a} = {name}.sin({a}) * 0.9 + {b} * 0.1" for a, b in ("xy", "yz", "zx")]
    text = "\n".join(["def straight(x, y, z):", *(body[i % 3] for i in range(length)), "    return x + y * z\n"])
    file = f"<straight {name} {length}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope: dict[str, Any] = {name: module, "__name__": __name__}
    exec(compile(text, file, "exec"), scope)
    return scope["straight"]


def _inputs(length):
    return 0.5, 0.25, 1.5


def _by_hand(length):
    def gradient(x, y, z):
        values = [x, y, z]
        kept = []
        for i in range(length):
            a, b = values[i % 3], values[(i + 1) % 3]
            kept.append(a)
            values[i % 3] = math.sin(a) * 0.9 + b * 0.1
        x, y, z = values
        d = [1.0, z, y]
        for i in range(length - 1, -1, -1):
            g = d[i % 3]
            d[(i + 1) % 3] += 0.1 * g
            d[i % 3] = 0.9 * g * math.cos(kept[i])
        return x + y * z, tuple(d)

    return gradient


PROGRAMS = tuple(
    Program(
        f"straight_{n}",
        straight(n, np, "np"),
        _inputs,
        n,
        n,
        (0, 1, 2),
        _by_hand(n),
        straight(n, jnp, "jnp"),
    )
    for n in LENGTHS
)
