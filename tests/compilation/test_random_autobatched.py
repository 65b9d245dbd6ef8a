"""Random recursive programs on random trees: ``autobatch`` gives what one sample after the other gives, with gradients."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sample_sizes import drawn

import morula as mo

HEADER = """
import numpy as np


class Node:
    def __init__(self, value, vector, kind, children, other=None):
        self.value, self.vector, self.kind = value, vector, kind
        self.children, self.other = children, other


"""
STATEMENTS = (
    "y = y + node.value * np.sin(y)",
    "y = y * p['scale'] + np.sum(node.vector * p['w'])",
    "if node.kind == 'aa':\n    y = y + 1.0\nelse:\n    y = y * node.value",
    "if node.value > 0.5:\n    y = np.cos(y)",
    "for _ in range(len(node.kind)):\n    y = 0.5 * y + node.value",
    "for x in node.vector:\n    y = y + x * p['scale']",
    "for c in node.children:\n    y = y + f(p, c)",
    "for i in range(len(node.children)):\n    y = y * 0.5 + f(p, node.children[i])",
    "y = y + sum([f(p, c) for c in node.children])",
    "if node.children:\n    y = y + f(p, node.children[0])",
    "y = y + len(node.children)",
    "if node.other is not None:\n    y = y - 0.3 * f(p, node.other)",
    "if node.other is not None and node.other.value > 0.3:\n    y = y + node.other.value",
    "y = y + sum(c.value for c in node.children)",
    "for c in node.children:\n    y = y + c.value * f(p, c)",
    "for i, c in enumerate(node.children):\n    y = y + i * f(p, c) if c.kind == 'aa' else y * c.value",
    "for c, d in zip(node.children, node.children[1:]):\n    y = y + c.value * d.vector[1]",
    "if not node.children:\n    return y",
    "for c in reversed(node.children):\n    if f(p, c) > 0.5:\n        break\n    y = y * 0.5 + 1.0",
    "buffer = np.zeros(3)\nbuffer[1:] = node.vector[:2] * y\ny = np.sum(buffer)",
)


def program(draw: random.Random) -> str:
    lines = ["def f(p, node):", "    y = node.value * p['scale']"]
    for statement in draw.sample(STATEMENTS, draw.randint(2, 6)):
        lines += ["    " + line for line in statement.split("\n")]
    return HEADER + "\n".join([*lines, "    return y", ""])


def tree(draw: random.Random, node: Any, depth: int) -> Any:
    def part() -> Any:
        return tree(draw, node, depth - 1)

    children = [part() for _ in range(draw.randint(0, 3))] if depth else []
    other = part() if depth and draw.random() < 0.3 else None
    vector = np.array([draw.random() for _ in range(3)])
    return node(draw.random(), vector, draw.choice(["aa", "b"]), children, other)


@pytest.mark.parametrize("seed", range(drawn(24)))
def test_random_programs(seed, tmp_path):
    draw = random.Random(seed)
    file = tmp_path / f"recursive_{seed}.py"
    file.write_text(program(draw))
    scope: dict[str, Any] = {"__name__": f"recursive_{seed}"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    f, samples = scope["f"], [tree(draw, scope["Node"], 2) for _ in range(6)]
    params = {"scale": 0.8, "w": np.array([0.3, -0.2, 0.5])}
    batch = mo.autobatch(f, in_axes=(None, 0))

    def together(p: Any, s: Any) -> Any:
        return sum(np.cos(y) * (i + 1) for i, y in enumerate(batch(p, s)))

    def in_turn(p: Any, s: Any) -> Any:
        return sum(np.cos(f(p, x)) * (i + 1) for i, x in enumerate(s))

    text = program(random.Random(seed)) + batch.reason
    assert np.isclose(together(params, samples), in_turn(params, samples), rtol=1e-10), text
    found, expected = (mo.grad(g, (0, 1))(params, samples) for g in (together, in_turn))
    for a, b in zip(mo.tree.leaves(found), mo.tree.leaves(expected), strict=True):
        assert np.allclose(a, b, rtol=1e-9), text
