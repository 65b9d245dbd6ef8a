"""Programs on which nothing was tuned: a network of springs, a lattice of oscillators, a step of a method for stiff equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .program import Program


def _links(n: int) -> np.ndarray:
    """Pairs of points that a spring joins: each with its neighbour, and with one further away."""
    i = np.arange(n)
    return np.concatenate([np.stack([i[:-1], i[1:]], 1), np.stack([i[:-7:2], i[7::2]], 1)])


def network(x: Any) -> Any:
    """Forces at the points of a network of springs that harden, which come from a list of links."""
    links = _links(len(x))
    stretch = x[links[:, 1]] - x[links[:, 0]]
    force = stretch + 0.1 * stretch**3
    r = np.zeros(len(x))
    np.add.at(r, links[:, 0], force)
    np.add.at(r, links[:, 1], -force)
    return r


def lattice(x: Any) -> Any:
    """The energy of coupled oscillators on a square, by loops; links beyond the ends are left out."""
    n = round(len(x) ** 0.5)
    energy = 0.0
    for i in range(n):
        for j in range(n):
            q = x[i * n + j]
            energy += 0.5 * q * q + 0.1 * q**4
            if i + 1 < n:
                energy += 1.0 - np.cos(x[(i + 1) * n + j] - q)
            if j + 1 < n:
                energy += 1.0 - np.cos(x[i * n + j + 1] - q)
    return energy


def midpoint_residual(x: Any, xp: Any = np) -> Any:
    """The residual of a step of the implicit midpoint rule for the Lorenz-96 model."""
    start = 8.0 + 0.01 * xp.arange(x.shape[0]) / x.shape[0]
    middle = 0.5 * (start + x)
    slope = (xp.roll(middle, -1) - xp.roll(middle, 2)) * xp.roll(middle, 1) - middle + 8.0
    return x - start - 0.05 * slope


PROGRAMS = {
    "network of springs, arrays": Program(network, 100_000),
    "lattice of oscillators, elements": Program(lattice, 316**2, True, small=49),
    "midpoint rule of Lorenz-96, arrays": Program(midpoint_residual, 100_000, with_xp=midpoint_residual),
}
