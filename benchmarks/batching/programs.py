"""A tree-LSTM (Tai, Socher and Manning, 2015) on 256 binary trees of 5 to 50 leaves, and a recurrent network on 256 sequences."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

HIDDEN = 32
WORDS = 100
Params = dict[str, Any]


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def params() -> Params:
    rng = np.random.default_rng(0)
    names = ["Wi", "Wo", "Wu", *(f"U{gate}{side}" for gate in "ioufg" for side in "lr")]
    found: Params = {name: 0.3 * rng.normal(size=(HIDDEN, HIDDEN)) for name in names}
    found |= {f"b{gate}": np.zeros(HIDDEN) for gate in "ioufg"}
    return found | {"words": rng.normal(size=(WORDS, HIDDEN)), "target": rng.normal(size=HIDDEN)}


def leaf(p: Params, x: Any) -> Any:
    i, o = sigmoid(p["Wi"] @ x + p["bi"]), sigmoid(p["Wo"] @ x + p["bo"])
    c = i * np.tanh(p["Wu"] @ x + p["bu"])
    return o * np.tanh(c), c


def inner(p: Params, left: Any, right: Any) -> Any:
    (hl, cl), (hr, cr) = left, right

    def gate(k: str) -> Any:
        return p[f"U{k}l"] @ hl + p[f"U{k}r"] @ hr + p[f"b{k}"]

    c = sigmoid(gate("i")) * np.tanh(gate("u")) + sigmoid(gate("f")) * cl + sigmoid(gate("g")) * cr
    return sigmoid(gate("o")) * np.tanh(c), c


def encode(p: Params, tree: Any) -> Any:
    if isinstance(tree, tuple):
        return inner(p, encode(p, tree[0]), encode(p, tree[1]))
    return leaf(p, p["words"][tree])


def tree_loss(p: Params, tree: Any) -> Any:
    h, _ = encode(p, tree)
    return np.sum((h - p["target"]) ** 2)


def trees(count: int, seed: int = 0) -> list[Any]:
    draw = random.Random(seed)

    def grow(leaves: int) -> Any:
        if leaves == 1:
            return draw.randrange(WORDS)
        left = draw.randint(1, leaves - 1)
        return grow(left), grow(leaves - left)

    return [grow(draw.randint(5, 50)) for _ in range(count)]


def trees_by_hand(p: Params, samples: list[Any]) -> Params:
    """The gradient of the summed loss, for all nodes of one height at once."""
    parts: list[tuple[int, int]] = []
    heights: list[int] = []
    words: list[int] = []

    def visit(tree: Any) -> int:
        if isinstance(tree, tuple):
            left, right = visit(tree[0]), visit(tree[1])
            parts.append((left, right))
            heights.append(1 + max(heights[left], heights[right]))
            words.append(-1)
        else:
            parts.append((-1, -1))
            heights.append(0)
            words.append(tree)
        return len(parts) - 1

    roots = np.array([visit(tree) for tree in samples])
    of, height, word = np.array(parts), np.array(heights), np.array(words)
    h, c = np.empty((len(of), HIDDEN)), np.empty((len(of), HIDDEN))
    leaves = np.flatnonzero(height == 0)
    x = p["words"][word[leaves]]
    i, o = sigmoid(x @ p["Wi"].T + p["bi"]), sigmoid(x @ p["Wo"].T + p["bo"])
    u = np.tanh(x @ p["Wu"].T + p["bu"])
    c[leaves] = i * u
    t = np.tanh(c[leaves])
    h[leaves] = o * t
    levels = []
    for k in range(1, height.max() + 1):
        rows = np.flatnonzero(height == k)
        a, b = of[rows].T
        z = {q: h[a] @ p[f"U{q}l"].T + h[b] @ p[f"U{q}r"].T + p[f"b{q}"] for q in "ioufg"}
        g = {q: np.tanh(z[q]) if q == "u" else sigmoid(z[q]) for q in "ioufg"}
        c[rows] = g["i"] * g["u"] + g["f"] * c[a] + g["g"] * c[b]
        tanh = np.tanh(c[rows])
        h[rows] = g["o"] * tanh
        levels.append((rows, a, b, g, tanh))
    dp = {name: np.zeros_like(v) for name, v in p.items()}
    dh, dc = np.zeros_like(h), np.zeros_like(c)
    dh[roots] = 2.0 * (h[roots] - p["target"])
    dp["target"] -= dh[roots].sum(0)
    for rows, a, b, g, tanh in reversed(levels):
        d = dh[rows]
        e = dc[rows] + d * g["o"] * (1.0 - tanh * tanh)
        dz = {
            "o": d * tanh * g["o"] * (1.0 - g["o"]),
            "i": e * g["u"] * g["i"] * (1.0 - g["i"]),
            "u": e * g["i"] * (1.0 - g["u"] ** 2),
            "f": e * c[a] * g["f"] * (1.0 - g["f"]),
            "g": e * c[b] * g["g"] * (1.0 - g["g"]),
        }
        for q, v in dz.items():
            dp[f"U{q}l"] += v.T @ h[a]
            dp[f"U{q}r"] += v.T @ h[b]
            dp[f"b{q}"] += v.sum(0)
            dh[a] += v @ p[f"U{q}l"]
            dh[b] += v @ p[f"U{q}r"]
        dc[a] += e * g["f"]
        dc[b] += e * g["g"]
    d = dh[leaves]
    e = dc[leaves] + d * o * (1.0 - t * t)
    dx = np.zeros_like(x)
    for q, v in (("o", d * t * o * (1.0 - o)), ("i", e * u * i * (1.0 - i)), ("u", e * i * (1.0 - u * u))):
        dp[f"W{q}"] += v.T @ x
        dp[f"b{q}"] += v.sum(0)
        dx += v @ p[f"W{q}"]
    np.add.at(dp["words"], word[leaves], dx)
    return dp


def sequence_loss(p: Params, xs: Any) -> Any:
    h = np.zeros(HIDDEN)
    for x in xs:
        h = np.tanh(p["Uil"] @ h + p["Wi"] @ x + p["bi"])
    return np.sum((h - p["target"]) ** 2)


def sequences(count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [list(rng.normal(size=(rng.integers(5, 51), HIDDEN))) for _ in range(count)]


def sequences_by_hand(p: Params, samples: list[Any]) -> Params:
    """The gradient of the summed loss, for all sequences at once; those that have ended keep their state."""
    count, steps = len(samples), max(map(len, samples))
    x = np.zeros((steps, count, HIDDEN))
    for i, xs in enumerate(samples):
        x[: len(xs), i] = xs
    runs = np.arange(steps)[:, None] < np.array([len(xs) for xs in samples])
    h = [np.zeros((count, HIDDEN))]
    for t in range(steps):
        new = np.tanh(h[-1] @ p["Uil"].T + x[t] @ p["Wi"].T + p["bi"])
        h.append(np.where(runs[t][:, None], new, h[-1]))
    dp = {name: np.zeros_like(v) for name, v in p.items()}
    dh = 2.0 * (h[-1] - p["target"])
    dp["target"] -= dh.sum(0)
    for t in reversed(range(steps)):
        dz = np.where(runs[t][:, None], dh * (1.0 - h[t + 1] ** 2), 0.0)
        dp["Uil"] += dz.T @ h[t]
        dp["Wi"] += dz.T @ x[t]
        dp["bi"] += dz.sum(0)
        dh = np.where(runs[t][:, None], dz @ p["Uil"], dh)
    return dp


PROGRAMS = {
    "tree-LSTM": (tree_loss, trees, trees_by_hand),
    "recurrent network": (sequence_loss, sequences, sequences_by_hand),
}
