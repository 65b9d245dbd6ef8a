"""Random programs that set, read and delete variables, attributes and keys on some paths only, compared with Python.

What a program does includes the exceptions that it raises where nothing was assigned.
"""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sample_sizes import drawn

import morula as mo

CONDITIONS = ("x > 1", "x > 2", "x < 3", "y > 0", "x > y", "x + y > 3")
PLACES = ("u", "m.a", "m.b", "vars(m)['a']", "d['k']", "l.a", "vars(l)['a']")
ASKED = (
    "total += x * hasattr(m, 'a')",
    "total += y * ('k' in d)",
    "total += getattr(m, 'b', x)",
    "total += d.get('k', y)",
    "total += x * hasattr(l, 'a')",
)
POINTS = [(0.5, 1.0), (1.5, -1.0), (2.5, 1.0), (3.5, -2.0), (2.5, 3.0)]


class Items(list):
    """A list with attributes."""


def statement(draw: random.Random, depth: int) -> list[str]:
    kind, place = draw.random(), draw.choice(PLACES)
    if kind < 0.2:
        return [f"{place} = {draw.choice(['x', 'y', 'x * y', 'total', '2.0'])}"]
    if kind < 0.4:
        return [f"total += {draw.choice(['2', 'x'])} * {place}"]
    if kind < 0.5:
        return [f"{place} *= {draw.choice(['x', '3'])}"]
    if kind < 0.53:
        return [f"del {place}"]
    if kind < 0.6:
        return [draw.choice(ASKED)]
    if kind < 0.7 and depth < 2:
        return ["try:", *block(draw, depth + 1), "except (AttributeError, KeyError, NameError):", "    total += 0.1"]
    if kind < 0.78 and depth < 2:
        count = draw.choice(["range(3)", "range(2)", "range(int(x))", "range(int(y))"])
        return [f"for _ in {count}:", *block(draw, depth + 1)]
    if depth < 3:
        lines = [f"if {draw.choice(CONDITIONS)}:", *block(draw, depth + 1)]
        return lines if draw.random() < 0.6 else [*lines, "else:", *block(draw, depth + 1)]
    return [f"{place} = x + y"]


def block(draw: random.Random, depth: int) -> list[str]:
    return ["    " + line for _ in range(draw.randint(1, 3)) for line in statement(draw, depth)]


def program(seed: int) -> str:
    draw = random.Random(seed)
    lines = ["m, d, l, total = SimpleNamespace(), {}, Items(), 0.0 * x"]
    for place in PLACES:  # most are there from the beginning, or on one path
        if draw.random() < 0.8:
            lines += [f"if {draw.choice(CONDITIONS)}:"] if draw.random() < 0.4 else ["if True:"]
            lines += [f"    {place} = {draw.choice(['x', 'y', '3.0'])}"]
    for _ in range(draw.randint(3, 5)):
        lines += statement(draw, 0)
    return "def f(x, y):\n" + "\n".join("    " + line for line in [*lines, "return total + 0.0 * y"]) + "\n"


def outcome(f: Any, x: float, y: float) -> tuple[str, Any]:
    try:
        return "returns", f(x, y)
    except mo.MorulaError as error:
        return "refused", str(error)
    except Exception as error:
        return "raises", (type(error), str(error))


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("group", range(4))
def test_compiled_programs_do_as_python_does(path, group, tmp_path):
    count = drawn(60 if path == "native" else 12)
    done = 0
    for seed in range(1000 * group, 1000 * group + count):
        file = tmp_path / f"program_{seed}.py"
        file.write_text(program(seed))
        scope: dict[str, Any] = {"SimpleNamespace": SimpleNamespace, "Items": Items}
        exec(compile(file.read_text(), str(file), "exec"), scope)
        f = scope["f"]
        compiled = mo.jit(mo.value_and_grad(f, (0, 1)), target=path)
        for point in POINTS:
            expected, found = outcome(f, *point), outcome(compiled, *point)
            if found[0] == "refused":
                continue
            done += 1
            assert found[0] == expected[0], f"{found}, not {expected}, at {point}\n{program(seed)}"
            if expected[0] == "raises":
                assert found[1] == expected[1], f"at {point}\n{program(seed)}"
            else:
                eager = mo.value_and_grad(f, (0, 1))(*point)
                assert np.allclose(found[1][0], expected[1]), f"{found}, not {expected}, at {point}\n{program(seed)}"
                assert np.allclose(found[1][1], eager[1]), f"{found}, not {eager}, at {point}\n{program(seed)}"
    assert done > 2 * count
