"""Programs for ``autobatch``: trees of several forms, expressions, sequences, arrays of several lengths."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RNG = np.random.default_rng(5)
N = 3
PARAMS = {
    "w": 0.5 * RNG.normal(size=(N, N)),
    "u": 0.5 * RNG.normal(size=(N, N)),
    "b": RNG.normal(size=N),
    "embedding": RNG.normal(size=(7, N)),
    "scale": 0.7,
}


def binary(draw: random.Random, leaves: int, leaf: Any) -> Any:
    """A tree of pairs."""
    if leaves == 1:
        return leaf(draw)
    left = draw.randint(1, leaves - 1)
    return binary(draw, left, leaf), binary(draw, leaves - left, leaf)


def of_pairs(p, tree):
    if isinstance(tree, tuple):
        left, right = of_pairs(p, tree[0]), of_pairs(p, tree[1])
        return np.tanh(p["w"] @ left + p["u"] @ right + p["b"])
    return p["embedding"][tree]


def of_pairs_in_a_function(p, tree):
    return p["scale"] * np.sum(of_pairs(p, tree) ** 2)


@dataclass
class Node:
    value: float
    vector: Any
    children: list[Any] = field(default_factory=list)


def node(draw: random.Random, depth: int) -> Node:
    count = draw.randint(0, 3) if depth else 0
    vector = np.array([draw.random() for _ in range(N)])
    return Node(draw.random(), vector, [node(draw, depth - draw.randint(1, 2)) for _ in range(count) if depth > 1])


def of_nodes(p, tree):
    total = p["w"] @ tree.vector * tree.value
    for child in tree.children:
        total = total + np.tanh(of_nodes(p, child))
    return total


class Binary:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right


def with_none(draw: random.Random, depth: int) -> Binary:
    def child():
        return with_none(draw, depth - 1) if depth and draw.random() < 0.7 else None

    return Binary(draw.random(), child(), child())


def of_binary(p, tree):
    y = p["scale"] * tree.value
    if tree.left is not None:
        y = y + 0.5 * np.sin(of_binary(p, tree.left)[0])
    if tree.right is not None:
        y = y * of_binary(p, tree.right)[0]
    return y, tree.value


def expression(draw: random.Random, depth: int) -> Any:
    if not depth:
        return draw.choice(["x", draw.random()])
    kind = draw.choice(["add", "mul", "sin"])
    parts = [expression(draw, depth - draw.randint(1, depth)) for _ in range(1 if kind == "sin" else 2)]
    return {"kind": kind, "parts": parts}


def evaluated(p, e):
    if isinstance(e, float):
        return e
    if isinstance(e, str):
        return p["scale"]
    if e["kind"] == "sin":
        return np.sin(evaluated(p, e["parts"][0]))
    a, b = e["parts"]
    return evaluated(p, a) + evaluated(p, b) if e["kind"] == "add" else evaluated(p, a) * evaluated(p, b)


def even(p, tree):
    """Two functions that call each other, with a loop in one of them."""
    if isinstance(tree, int):
        return p["scale"] ** 2
    y = odd(p, tree[0])
    while y > 0.6:
        y = np.sin(y)
    return y + odd(p, tree[1])


def odd(p, tree):
    return 1.0 * tree if isinstance(tree, int) else even(p, tree[0]) * even(p, tree[1])


def of_sequence(p, xs):
    h = np.zeros(N)
    for x in xs:
        h = np.tanh(p["w"] @ h + p["u"] @ x)
    return h


def by_position(p, xs):
    h = 0.0
    for i in range(len(xs)):
        h = p["scale"] * h + np.sin(xs[i]) * (i + 1)
    return h / len(xs)


def of_points(p, x):
    """A sum over the rows of an array: of points, each with all of its neighbours."""
    distances = np.sum((x[:, None] - x[None]) ** 2, axis=2)
    return np.sum(np.exp(-p["scale"] * distances) @ (x @ p["w"])) / len(x)


def of_graph(p, x, edges):
    """A graph: each node takes up the messages of its neighbours."""
    h = x
    for _ in range(2):
        messages = np.zeros_like(h)
        for source, target in edges:
            messages[target] += np.tanh(p["u"] @ h[source])
        h = np.tanh(h @ p["w"] + messages)
    return np.sum(h * h)


@dataclass
class Step:
    x: Any
    gap: float
    is_marked: bool = False
    neighbours: list[int] = field(default_factory=list)


def of_steps(p, steps):
    """A sequence of objects."""
    h = np.zeros(N)
    for step in steps:
        h = np.tanh(p["w"] @ step.x + h * np.exp(-step.gap))
        if step.is_marked:
            h = h + p["b"]
    return h


def of_edges(p, graph):
    """A graph whose nodes and edges are Python objects."""
    h = [np.tanh(p["w"] @ x) for x in graph["nodes"]]
    for _ in range(2):
        messages = [p["b"] for _ in h]
        for i, j, weight in graph["edges"]:
            messages[j] = messages[j] + weight * h[i]
        h = [np.tanh(p["u"] @ m + x) for x, m in zip(h, messages)]
    return np.sum(sum(h) ** 2)


def of_labels(p, tree):
    """A parse tree: the results for the parts are numbers or arrays, as it comes."""
    if "word" in tree:
        return tree["word"]
    y = p["scale"] * np.ones(N) if tree["label"] == "a" else p["b"]
    for part in tree["parts"]:
        y = np.tanh(y + p["w"] @ (of_labels(p, part) * np.ones(N)))
    return y


def parse(draw: random.Random, depth: int) -> Any:
    if not depth or draw.random() < 0.2:
        return {"word": draw.random()}
    parts = [parse(draw, depth - 1) for _ in range(draw.randint(1, 3))]
    return {"label": draw.choice("ab"), "parts": parts}


def weighted(p, tree):
    """A sum over the parts of a node, each with a weight that stands beside it."""
    y = p["scale"] * np.sin(tree["value"])
    for weight, part in tree["parts"]:
        y = y + weight * np.sin(weighted(p, part))
    return y


def with_weights(draw: random.Random, depth: int) -> Any:
    count = draw.randint(1, 5) if depth else 0
    return {"value": draw.random(), "parts": [(draw.random(), with_weights(draw, depth - 1)) for _ in range(count)]}


def many(kind: str, count: int = 9) -> list[Any]:
    draw = random.Random(11)

    def vector():
        return np.array([draw.random() for _ in range(N)])

    def graph():
        n = draw.randint(2, 6)
        edges = [(draw.randrange(n), draw.randrange(n), draw.random()) for _ in range(draw.randint(1, 9))]
        return {"nodes": [vector() for _ in range(n)], "edges": edges}

    made = {
        "steps": lambda: [Step(vector(), draw.random(), draw.random() < 0.4) for _ in range(draw.randint(1, 9))],
        "graphs": graph,
        "parses": lambda: parse(draw, 3),
        "weighted": lambda: with_weights(draw, 2),
        "pairs": lambda: binary(draw, draw.randint(1, 9), lambda d: d.randrange(7)),
        "nodes": lambda: node(draw, 3),
        "with none": lambda: with_none(draw, 3),
        "expressions": lambda: expression(draw, 3),
        "lists": lambda: [np.array([draw.random() for _ in range(N)]) for _ in range(draw.randint(1, 9))],
        "numbers": lambda: [draw.random() for _ in range(draw.randint(1, 9))],
        "arrays": lambda: np.array([[draw.random() for _ in range(N)] for _ in range(draw.randint(1, 9))]),
    }[kind]
    return [made() for _ in range(count)]


def graphs(count: int = 5) -> tuple[list[Any], list[Any]]:
    draw = random.Random(3)
    nodes = [np.array([[draw.random() for _ in range(N)] for _ in range(draw.randint(2, 6))]) for _ in range(count)]
    edges = [
        np.array([[draw.randrange(len(x)), draw.randrange(len(x))] for _ in range(draw.randint(1, 8))]) for x in nodes
    ]
    return nodes, edges


PROGRAMS = {
    "pairs": (of_pairs, "pairs"),
    "pairs in a function": (of_pairs_in_a_function, "pairs"),
    "nodes": (of_nodes, "nodes"),
    "none": (of_binary, "with none"),
    "expressions": (evaluated, "expressions"),
    "two functions": (even, "pairs"),
    "sequences": (of_sequence, "lists"),
    "sequences as arrays": (of_sequence, "arrays"),
    "by position": (by_position, "numbers"),
    "points": (of_points, "arrays"),
    "steps": (of_steps, "steps"),
    "graphs of objects": (of_edges, "graphs"),
    "labels": (of_labels, "parses"),
    "weighted": (weighted, "weighted"),
}
