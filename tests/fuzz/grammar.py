"""Random programs from tables of templates: a family lists statements and expressions, and ``Writer`` fills them in.

In a template, ``{f}`` is an expression of kind ``f``, ``{F}`` a variable of that kind, ``{=f}`` a target of that kind (a new
or an existing name), ``{+f}`` a new name, ``{1}`` the first name that the template has created, ``{2}`` the second.
``{c}`` is a condition, ``{k}`` a literal number, ``{i}`` an index into three elements, ``{block}`` some statements.

All families have the kinds ``f`` (a float), ``n`` (a small int), ``v`` (an array of three) and ``m`` (an array of
2 x 3), and may add their own.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

PRELUDE = """\
import functools
import math

import numpy as np

import morula as mo

"""

HOLE = re.compile(r"\{([=+]?)([a-z]+|[A-Z]+|[1-9])\}")

EXPRESSIONS = {
    "f": [
        "({f} + {f})",
        "({f} - {f})",
        "{f} * {f}",
        "{f} * {f}",
        "({f} / (1.5 + {f} ** 2))",
        "math.sin({f})",
        "math.tanh({f})",
        "np.cos({f})",
        "(-{f})",
        "({f} if {c} else {f})",
        "{V}[{i}]",
        "{V}.sum()",
        "np.sum({v} * {v})",
        "({v} @ {v})",
        "{n} * {f}",
        "{k}",
        "float(np.mean({m}))",
    ],
    "v": [
        "({v} + {v})",
        "{v} * {v}",
        "({v} - {f})",
        "{f} * {v}",
        "np.tanh({v})",
        "np.sin({v})",
        "{V}[::-1]",
        "{M}[{j}]",
        "{m}.sum(axis=0)",
        "np.array([{f}, {f}, {f}])",
        "np.where({V} > 0.1, {v}, {v})",
        "{V}.copy()",
        "{v} / (2.0 + {v} ** 2)",
    ],
    "m": ["{m} * {v}", "np.tanh({m})", "({m} + {m})", "np.stack([{v}, {v}])", "np.outer({v}[:2], {v})", "{M} * {f}"],
    "n": ["1", "2", "3", "{N}", "({N} + 1)", "len({V})"],
}
LAST = {"f": ["0.7", "-1.3"], "v": ["np.array([0.4, -0.6, 0.9])"], "m": ["np.ones((2, 3))"], "n": ["2"]}
STATEMENTS = [
    "{=f} = {f}",
    "{=f} = math.sin({f})",
    "{=v} = np.tanh({v})",
    "{=m} = np.tanh({m})",
    "{F} += math.tanh({f})",
    "{F} *= {f}",
    "if {c}:\n    {block}",
    "if {c}:\n    {block}\nelse:\n    {block}",
    "for {+n} in range(3):\n    {block}",
]
OBSERVED = {"f": "{x}", "v": "({x} * np.array([0.3, -0.7, 1.1])).sum()", "m": "(0.4 * {x} * {x}).sum()"}


@dataclass
class Family:
    """The templates of one kind of programs, in addition to the common statements and expressions."""

    name: str
    prelude: str = ""
    statements: Sequence[str] = ()
    expressions: dict[str, Sequence[str]] = field(default_factory=dict)
    start: Sequence[str] = ()
    """The first statements of each program."""
    observed: dict[str, str] = field(default_factory=dict)
    """Kind -> an expression that depends on all of ``{x}`` and is added to the result."""
    leaves: Sequence[str] = ("f", "f", "v", "m")
    arguments: Sequence[str] = ()
    """Additional arguments: ``kind = text with the leaves' names a, b, c...``"""
    settings: Sequence[str] = ()
    """Lines at the top of the program, such as ``ORDER = 2``; ``LINE?`` is included in one program of twelve."""
    length: tuple[int, int] = (2, 6)
    common: float = 0.4
    """The share of common statements."""
    refused: float = 0.1
    """The largest permitted share of refused programs."""
    draw: dict[str, str] = field(default_factory=dict)
    """Kind -> how to draw a leaf of it, instead of ``DRAW``."""
    base: bool = True
    """Whether the family uses the common expressions."""
    unbound: float = 1.0
    """How often names bound inside an ``if``, a loop or a ``try`` are used after it, where they may be unbound."""

    def write(self, seed: int) -> str:
        return Writer(self, random.Random(f"{self.name} {seed}")).text()


TIED = (0.5, 0.7, 1.3, -1.1)
"""A few numbers, so that ties are common; not simple functions of each other, as computed ties do not move together."""

DRAW = {
    "f": lambda r: repr(round(r.uniform(-1.5, 1.5), 3)),
    "n": lambda r: str(r.choice([1, 2, 3, -2])),
    "v": lambda r: f"np.array({[round(r.uniform(-1.5, 1.5), 3) for _ in range(3)]})",
    "m": lambda r: f"np.array({[[round(r.uniform(-1.5, 1.5), 3) for _ in range(3)] for _ in range(2)]})",
    "z": lambda r: repr(complex(round(r.uniform(-1.5, 1.5), 3), round(r.uniform(-1.5, 1.5), 3))),
    "u": lambda r: (
        f"np.array({[complex(round(r.uniform(-1.5, 1.5), 3), round(r.uniform(-1.5, 1.5), 3)) for _ in range(3)]})"
    ),  # noqa: E501
    "tie": lambda r: repr(r.choice(TIED)),
    "ties": lambda r: f"np.array({[r.choice(TIED) for _ in range(3)]})",
    "single": lambda r: f"np.array({[round(r.uniform(-1.5, 1.5), 3) for _ in range(3)]}, np.float32)",
    "guarded": lambda r: f"np.array({[r.choice([0.0, -1.0, 0.7, 1.3, 2.0]) for _ in range(3)]})",
}


class Writer:
    """Writes one program of a family."""

    def __init__(self, family: Family, choices: random.Random) -> None:
        self.family, self.r = family, choices
        self.serial = itertools.count()
        common = EXPRESSIONS if family.base else {}
        kinds = {*common, *family.expressions}
        self.expressions = {k: [*common.get(k, ()), *(2 * list(family.expressions.get(k, ())))] for k in kinds}
        self.lines: list[str] = []
        self.env: dict[str, str] = {}

    def text(self) -> str:
        r, family = self.r, self.family
        names = "abcdefgh"[: len(family.leaves)]
        drawn = {n: DRAW[family.draw.get(kind, kind)](r) for n, kind in zip(names, family.leaves)}
        arguments = [(f"{kind}{i}", kind, made) for i, (kind, made) in enumerate(a.split(" = ", 1) for a in family.arguments)]  # fmt: skip  # noqa: E501
        if arguments:
            parameters, made = [name for name, _, _ in arguments], ", ".join(text for _, _, text in arguments)
            self.env = {name: kind for name, kind, _ in arguments}
        else:
            parameters, made = list(names), ", ".join(names)
            self.env = dict(zip(names, family.leaves))
        self.env = {n: {"tie": "f", "ties": "v", "single": "v", "guarded": "v"}.get(k, k) for n, k in self.env.items()}
        for line in family.start:
            self.expand(line, 1)
        for _ in range(r.randint(*family.length)):
            self.statement(1, 3)
        total = [f"{w:.2f} * {x}" for w, x in zip(itertools.cycle([0.7, -1.1, 0.4, 1.3]), self.observations())]
        settings = [s.removesuffix("?") for s in family.settings if not s.endswith("?") or r.random() < 0.08]
        return "\n".join(
            [
                PRELUDE + "\n".join(settings),
                family.prelude,
                f"LEAVES = dict({', '.join(f'{n}={x}' for n, x in drawn.items())})",
                "",
                "",
                f"def arguments({', '.join(names)}):",
                f"    return ({made},)",
                "",
                "",
                f"def program({', '.join(parameters)}):",
                *self.lines,
                f"    return {' + '.join(total)}",
                "",
            ]
        )

    def observations(self) -> list[str]:
        table = {**OBSERVED, **self.family.observed}
        found = [table[kind].replace("{x}", name) for name, kind in self.env.items() if kind in table]
        return found or ["0.0"]

    def statement(self, indent: int, depth: int) -> None:
        for _ in range(20):
            is_common = self.r.random() < self.family.common or not self.family.statements
            template = self.r.choice(STATEMENTS if is_common else self.family.statements)
            if (depth > 0 or "{block}" not in template) and self.can(template):
                return self.expand(template, indent, depth)

    def can(self, template: str) -> bool:
        needed = {hole[1].lower() for hole in HOLE.findall(template) if hole[1].isupper()}
        return needed <= set(self.env.values())

    def expand(self, template: str, indent: int, depth: int = 3) -> None:
        made: list[str] = []
        before = dict(self.env)
        for line in template.split("\n"):
            pad = "    " * indent + line[: len(line) - len(line.lstrip())]
            if line.strip() == "{block}":
                outer = dict(self.env)
                for _ in range(self.r.randint(1, 2)):
                    self.statement(len(pad) // 4, depth - 1)
                self.env = outer
                continue
            new: dict[str, str] = {}
            self.lines.append(pad + self.fill(line.strip(), 2, made, new))
            self.env.update(new)
        if "\n" in template and self.family.unbound < 1.0 and self.r.random() >= self.family.unbound:
            self.env = before

    def fill(self, template: str, depth: int, made: list[str], new: dict[str, str]) -> str:
        def hole(match: re.Match[str]) -> str:
            mark, kind = match.groups()
            if kind.isdigit():
                return made[int(kind) - 1] if int(kind) <= len(made) else match.group()
            if mark:
                known = [n for n, k in self.env.items() if k == kind and n[0] == "t"]
                reused = mark == "=" and known and self.r.random() < 0.4
                name = self.r.choice(known) if reused else f"{'t' if mark == '=' else 'q'}{next(self.serial)}"
                new[name] = kind
                made.append(name)
                return name
            if kind.isupper():
                return self.variable(kind.lower()) or match.group()
            return self.expression(kind, depth)

        return HOLE.sub(hole, template)

    def variable(self, kind: str) -> str | None:
        known = [n for n, k in self.env.items() if k == kind]
        return self.r.choice(known) if known else None

    def expression(self, kind: str, depth: int) -> str:
        if kind == "i":
            return str(self.r.randrange(-3, 3))
        if kind == "j":
            return str(self.r.randrange(2))
        if kind == "k":
            return self.r.choice(["0.5", "2.0", "-0.8", "1.3"])
        if kind == "c":
            return f"{self.expression('f', 1)} {self.r.choice(['<', '>'])} {self.r.choice(['0.13', '-0.21', '0.55'])}"
        name = self.variable(kind)
        if depth <= 0 or kind not in self.expressions or self.r.random() < 0.15:
            return name or self.r.choice(LAST[kind])
        for _ in range(20):
            template = self.r.choice(self.expressions[kind])
            if self.can(template):
                return self.fill(template, depth - 1, [], {})
        return name or self.r.choice(LAST[kind])
