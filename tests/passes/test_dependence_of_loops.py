"""The patterns of random loops over elements contain every entry of the Jacobian, whichever way the iterations are interpreted."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from dependence_limits import WAYS, limits
from hypothesis import HealthCheck, given, settings, strategies as st

import morula as mo

N = 7
ARRAYS = ("x", "u", "r", "t")


class Writer:
    """Writes a function whose loops read and write elements of the arrays u, r and t, and the numbers s and p."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.lines = [
            "def f(x):",
            "    n = len(x)",
            "    u, r, t = x.copy(), np.zeros(n), np.zeros(n)",
            "    s = p = 0.0",
        ]

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def place(self, index):
        return self.pick(
            f"{index}", f"{index} - 1", f"({index} + 1) % n", f"max({index} - 2, 0)", "0", "2", f"n - 1 - {index}"
        )

    def atom(self, index):
        array = self.pick(*ARRAYS, "")
        return f"{array}[{self.place(index)}]" if array else self.pick("s", "p", f"np.sum({self.pick(*ARRAYS)}[:2])")

    def term(self, index):
        return self.pick("{} * {}", "{} + {}", "np.sin({}) - {}", "{0}").format(self.atom(index), self.atom(index))

    def statement(self, index, indent, depth):
        kinds = ["write", "write", "add", "number", "fold", "copy", "shift", "swap", "scratch", "row"]
        kind = self.pick(*kinds, *(["branch", "choice", "inner"] if depth < 2 else []))
        target = self.pick("u", "r", "t")
        lines = {
            "write": [f"{target}[{self.place(index)}] = {self.term(index)}"],
            "add": [f"{target}[{self.place(index)}] += {self.term(index)}"],
            "number": [f"p = {self.term(index)}"],
            "fold": [f"s = 0.5 * s + {self.term(index)}"],
            "copy": [
                "w = u.copy()",
                f"w[{self.place(index)}] = {self.term(index)}",
                f"{target}[{self.place(index)}] += w[{self.place(index)}]",
            ],
            "shift": [f"{target} = np.roll({target}, 1) * 0.5"],
            "swap": ["u, r = r.copy(), u.copy()"],
            "scratch": [f"t[{index} % 3] = {self.term(index)}"],
            "row": [f"{target}[1:3] = {self.pick(*ARRAYS)}[max({index} - 1, 0) : max({index} - 1, 0) + 2]"],
        }
        if kind in lines:
            self.lines += [" " * indent + line for line in lines[kind]]
        elif kind == "inner":
            inner = chr(ord(index) + 1)
            bounds = self.pick("2", "n", f"{index}", f"max({index} - 1, 0), min({index} + 2, n)")
            self.lines.append(" " * indent + f"for {inner} in range({bounds}):")
            self.body(self.pick(index, inner), indent + 4, depth + 1)
        else:
            condition = {"branch": f"{index} > 2", "choice": f"x[{index}] > 0.5"}[kind]
            self.lines.append(" " * indent + f"if {condition}:")
            self.body(index, indent + 4, depth + 1)

    def body(self, index, indent, depth):
        for _ in range(self.draw(st.integers(1, 3))):
            self.statement(index, indent, depth)

    def text(self):
        for _ in range(self.draw(st.integers(1, 2))):
            self.lines.append(f"    for i in range({self.pick('n', '1, n', 'n - 1', 'n - 1, -1, -1', '2')}):")
            self.body("i", 8, 0)
        return "\n".join(
            ["import numpy as np", "", "", *self.lines, "    return np.concatenate([u, r, t, np.array([s, p])])", ""]
        )


@st.composite
def programs(draw):
    return Writer(draw).text()


def loaded(text, folder):
    path = folder / f"program_{abs(hash(text))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=programs())
def test_a_pattern_contains_every_entry_of_the_jacobian_of_a_loop(way, tmp_path, text):
    f = loaded(text, tmp_path)
    try:
        with limits(way):
            pattern = mo.sparse_jacobian(f, mode="forward").pattern(np.ones(N)).toarray()
    except mo.BadInput as error:
        assert "cannot be compiled" in str(error), text
        return
    rng = np.random.default_rng(0)
    for _ in range(3):
        entries = mo.jacobian(f, mode="forward")(rng.random(N)) != 0
        assert not (entries & ~pattern).any(), text
