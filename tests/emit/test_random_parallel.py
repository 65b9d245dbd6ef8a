"""Random loops over elements of arrays, in one thread and in several: whatever runs in parallel gives the same values and gradients."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from sample_sizes import drawn

import morula as mo
from morula.core.emit.native import parallel_loops, thread_pool

pytestmark = pytest.mark.skipif(bool(thread_pool.why_serial()), reason="this system has no POSIX threads")
N, M = 40, 7


class Writer:
    """Writes a function of a vector ``x``, a matrix ``a`` and a vector ``k`` of ints."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        """Return an index of the arrays of length 2 N + 8, which is in range."""
        choices = ["i", "i", "i", "i + 1", "i - 1", "i + 3", f"{N} - i", "2 * i", "2 * i + 1", "5", "k[i]"]
        return self.pick(*choices, *(["i + j", "j", f"{M} * (i % 5) + j"] if self.inner else []))

    def column(self) -> str:
        return self.pick("j", "0", f"{M - 1} - j", "2") if self.inner else self.pick("0", "2", f"i % {M}")

    def place(self) -> str:
        return self.pick(f"y[{self.index()}]", f"z[{self.index()}]", f"b[{self.index()}, {self.column()}]")

    def element(self) -> str:
        reads = [f"x[{self.index()}]", f"x[{self.index()}]", f"a[{self.index()}, {self.column()}]", "0.5", "t"]
        return self.pick(*reads, self.place() if self.random.random() < 0.3 else "0.25")

    def expression(self, depth: int = 2) -> str:
        if not depth or self.random.random() < 0.3:
            return self.element()
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        return self.pick(f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"np.sin({x})", f"np.tanh({x})")

    def statement(self, depth: int) -> None:
        kind = self.random.random()
        pad = "    " * depth
        if kind < 0.3:
            self.lines.append(f"{pad}{self.place()} = {self.expression()}")
        elif kind < 0.55:
            self.lines.append(f"{pad}{self.place()} {self.pick('+=', '+=', '-=')} {self.expression()}")
        elif kind < 0.7:
            name = self.pick("total", "total", "other")
            change = self.pick("{0} += {1}", "{0} -= {1}", "{0} = max({0}, {1})", "{0} = 0.5 * {0} + {1}", "{0} = {1}")
            self.lines.append(f"{pad}{change.format(name, self.expression())}")
        elif kind < 0.8:
            self.lines.append(f"{pad}t = {self.expression()}")
        elif kind < 0.9 and depth < 4:
            self.lines.append(f"{pad}if {self.element()} > {self.pick('0.2', '0.4', '0.1')}:")
            self.block(depth + 1)
        elif not self.inner:
            self.lines.append(f"{pad}for j in range({self.pick(str(M), 'i % 4', str(M))}):")
            self.inner = True
            self.block(depth + 1)
            self.inner = False

        else:
            self.lines.append(f"{pad}t = t + {self.element()}")

    def block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth)

    def function(self) -> str:
        self.inner = False
        self.lines = ["def f(x, a, k):", f"    y, z, b = np.zeros({2 * N + 8}), x.copy(), np.zeros(({2 * N + 8}, {M}))"]
        self.lines += ["    total, other, t = 0.0, 1.0, 0.5"]
        for _ in range(self.random.randint(1, 2)):
            loop = self.pick(f"range(1, {N})", f"range(1, {N})", f"range({N} - 1, 0, -1)", f"range(1, {N}, 3)")
            self.lines += [f"    for i in {loop}:"]
            if self.random.random() < 0.5:
                self.lines.append("        t = 0.1 * x[i]")
            self.block(2)
        self.lines.append("    return np.sum(np.sin(y)) + np.sum(z * z) + np.sum(np.cos(b)) + total + other * 0.5 + t")
        return "\n".join(self.lines) + "\n"


def compiled_from(seed: int):
    source, name = Writer(seed).function(), f"<random parallel loop {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"], source


@pytest.mark.parametrize("seed", range(drawn(160)))
def test_random_loops_agree(seed, monkeypatch):
    monkeypatch.setattr(parallel_loops, "LEAST", 1)
    monkeypatch.setattr(parallel_loops, "GRAIN", 1)
    monkeypatch.setenv("MORULA_CACHE", "0")
    f, source = compiled_from(seed)
    rng = np.random.default_rng(seed)
    size = 2 * N + 8
    args = rng.random(size), rng.random((size, M)), rng.permutation(size)
    gradient = lambda x, a, k: mo.value_and_grad(f, argnums=(0, 1))(x, a, k)  # noqa: E731
    np.testing.assert_allclose(mo.jit(f, target="native", parallel=3)(*args), f(*args), rtol=1e-10, err_msg=source)
    one = mo.tree.leaves(mo.jit(gradient, target="native")(*args))
    several = mo.jit(gradient, target="native", parallel=3)
    found = [mo.tree.leaves(several(*args)) for _ in range(2)]
    for expected, first, again in zip(one, *found, strict=True):
        np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-11, err_msg=source)
        np.testing.assert_array_equal(first, again, err_msg=source)
