"""Names that a loop swaps: a later write through one of them reaches the right object, or is refused."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo

STARTS = {"fresh": "np.zeros(2)", "copied": "a * 2", "given": "a", "second": "b", "alias": "{other}"}
LOOPS = {
    "for": "for k in range(n):",
    "while": "while n > 0:",
    "if": "for k in range(n):\n        if a0 > k:",
}
WRITES = ["{x}[0] = 5.0", "{x} += 1.5", "np.multiply({x}, 3.0, out={x})", "{x}[:] = 7.0"]


def program(seed):
    """The text of a program that exchanges some of three names in a loop, writes to one, and reads all."""
    draw = random.Random(seed)
    names = ["u", "v", "w"]
    lines = ["a0 = a[0] + 1"]
    for k, name in enumerate(names):
        kind = draw.choice(["fresh", "copied", "given", "second", "alias" if k else "fresh"])
        lines.append(f"{name} = {STARTS[kind].format(other=draw.choice(names[:k] or names))}")
    moved = draw.sample(names, draw.choice([2, 3]))
    sources = moved[1:] + moved[:1] if draw.random() < 0.7 else [draw.choice(names) for _ in moved]
    kind = draw.choice(list(LOOPS))
    indent = "    " * (2 if kind == "if" else 1)
    lines.append(LOOPS[kind].replace("\n        ", "\n    "))
    lines.append(f"{indent}{', '.join(moved)} = {', '.join(sources)}")
    if kind == "while":
        lines.append(f"{indent}n = n - 1")
    if draw.random() < 0.3:
        lines.insert(len(lines) - (kind == "while"), f"{indent}{draw.choice(moved)}[1] += 2.0")
    lines.append(draw.choice(WRITES).format(x=draw.choice(names)))
    lines.append("return u.sum() + 10 * v.sum() + 100 * w.sum()")
    return "def f(a, b, n):\n" + "".join(f"    {part}\n" for line in lines for part in line.split("\n"))


def compiled_from(text, tmp_path):
    path = tmp_path / "exchange.py"
    path.write_text("import numpy as np\n\n" + text)
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["f"]


def agrees(f, jitted, *given):
    """Whether a compiled program gives and writes what Python does; False if it is refused."""
    expected, found = [np.copy(x) for x in given], [np.copy(x) for x in given]
    y = f(*expected[:-1], int(given[-1]))
    try:
        made = jitted(*found[:-1], int(given[-1]))
    except mo.BadInput as error:
        assert "copy" in str(error)
        return False
    assert np.array_equal(made, y) and all(map(np.array_equal, found, expected))
    return True


@pytest.mark.parametrize("part", range(6))
def test_random_exchanges(part, tmp_path):
    right = 0
    for seed in range(20 * part, 20 * part + 20):
        f = compiled_from(program(seed), tmp_path)
        jitted = mo.jit(f, target="xla" if seed % 20 == 0 else "native")
        right += all([agrees(f, jitted, np.array([1.0, 2.0]), np.array([3.0, 4.0]), n) for n in (0, 1, 2, 3)])
    assert right


def by_a_list(a, n):
    held = [np.zeros(2), a]
    for _ in range(n):
        held[0], held[1] = held[1], held[0]
    held[0][0] = 5.0
    return held[0].sum()


def by_attributes(a, n):
    o = SimpleNamespace(v=np.zeros(2), w=a)
    for _ in range(n):
        o.v, o.w = o.w, o.v
    o.v[0] = 5.0
    return o.v.sum()


def by_a_third_name(a, n):
    v = np.zeros(2)
    w = v
    for _ in range(n):
        w = a
        a = v
        v = w
    w[0] = 5.0
    return w.sum()


def two_buffers(a, n):
    old, new = a.copy(), np.zeros_like(a)
    for _ in range(n):
        new[:] = old * 1.5
        old, new = new, old
    old[0] = 7.0
    return old.sum() + new.sum()


def only_read(a, n):
    v = np.zeros(2)
    for _ in range(n):
        v, a = a, v
    return v[1] + 10 * a[1]


@pytest.mark.parametrize(
    "f", [by_a_list, by_attributes, by_a_third_name, two_buffers, only_read], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("target", ["native", "xla"])
def test_exchanges(f, target):
    jitted = mo.jit(f, target=target)
    compiles = [agrees(f, jitted, np.ones(2), n) for n in (0, 1, 2, 3)]
    assert all(compiles) == (f in (two_buffers, only_read))


def test_lists():
    def f(a, n):
        v = [0.0, 0.0]
        for _ in range(n):
            v, a = a, v
        v[0] = 5.0
        return v[0] + v[1]

    given = [1.0, 1.0]
    with pytest.raises(
        mo.BadInput, match="after a loop that assigns it, v may be the same object as another variable; copy it"
    ):
        mo.jit(f)(given, 3)
    assert given == [1.0, 1.0]
