"""Numbers and arrays with branches, loops and calls: programs for the structured tier and the compilers."""

from __future__ import annotations

import itertools
import linecache
import random

import numpy as np

ARGUMENTS = {"x": "f", "y": "f", "v": "3", "u": "3", "w": "1", "m": "23"}
SHAPES = {"f": (), "3": (3,), "1": (1,), "23": (2, 3)}
WIDER = {"3": ["3", "3", "1", "f"], "23": ["23", "23", "3", "1", "f"], "1": ["1", "f"], "f": ["f"]}


class Program:
    """Source text of a few functions, the last of which is ``program(x, y, v, u, w, m)``."""

    def __init__(self, choices: random.Random) -> None:
        self.r = choices
        self.serial = itertools.count()
        self.helpers: list[tuple[str, list[str], list[str]]] = []  # name, types of the parameters and of the results
        self.lines = ["import math", "import numpy as np", ""]
        for _ in range(self.r.randrange(3)):
            self.helper()
        self.lines.append(f"def program({', '.join(ARGUMENTS)}):")
        env = self.body(dict(ARGUMENTS), 1, self.r.randrange(2, 7))
        results = [self.scalar(env) for _ in range(self.r.choice([1, 1, 2]))]
        self.write(f"return {' + '.join(results)}", 1)
        self.text = "\n".join(self.lines) + "\n"

    def helper(self) -> None:
        name = f"helper{next(self.serial)}"
        parameters = [self.r.choice(["f", "f", "3", "23", "1"]) for _ in range(self.r.randrange(1, 4))]
        results = [self.r.choice(["f", "f", "3", "23"]) for _ in range(self.r.choice([1, 1, 2]))]
        env = {f"p{i}": kind for i, kind in enumerate(parameters)}
        self.lines.append(f"def {name}({', '.join(env)}):")
        env = self.body(env, 1, self.r.randrange(3))
        if self.r.random() < 0.4:
            self.write(f"if {self.condition(env)}:", 1)
            self.write(f"return {self.result(env, results)}", 2)
            env = self.body(env, 1, self.r.randrange(2))
        self.write(f"return {self.result(env, results)}", 1)
        self.lines.append("")
        self.helpers.append((name, parameters, results))

    def result(self, env: dict[str, str], kinds: list[str]) -> str:
        return ", ".join(self.expression(env, kind) for kind in kinds)

    def write(self, line: str, indent: int) -> None:
        self.lines.append("    " * indent + line)

    # Statements

    def body(self, env: dict[str, str], indent: int, length: int) -> dict[str, str]:
        """Write random statements, which may use the names of ``env``; return the environment after them."""
        env = dict(env)
        for _ in range(length):
            kinds = [self.assign, self.assign, self.update, self.branch, self.count, self.until, self.over, self.call]
            self.r.choice([*kinds, self.unpack, self.swap])(env, indent)
        return env

    def target(self, env: dict[str, str], kind: str) -> str:
        known = [n for n, k in env.items() if k == kind and not n.startswith(("i", "k"))]
        return self.r.choice(known) if known and self.r.random() < 0.6 else f"t{next(self.serial)}"

    def assign(self, env: dict[str, str], indent: int) -> None:
        kind = self.r.choice(list(SHAPES))
        value, name = self.expression(env, kind), self.target(env, kind)
        self.write(f"{name} = {value}", indent)
        env[name] = kind

    def update(self, env: dict[str, str], indent: int) -> None:
        name = self.target(env, "f")
        if name in env:
            self.write(f"{name} {self.r.choice(['+=', '-=', '*='])} {self.expression(env, 'f')}", indent)
        else:
            self.assign(env, indent)

    def branch(self, env: dict[str, str], indent: int) -> None:
        self.write(f"if {self.condition(env)}:", indent)
        self.write("pass", indent + 1)
        then = self.nested(env, indent)
        if self.r.random() < 0.5:
            self.write("else:", indent)
            self.write("pass", indent + 1)
            other = self.nested(env, indent)
            env.update((n, k) for n, k in then.items() if other.get(n) == k)

    def nested(self, env: dict[str, str], indent: int) -> dict[str, str]:
        if indent > 3:
            start = dict(env)
            self.assign(start, indent + 1)
            return start
        return self.body(env, indent + 1, self.r.randrange(1, 4))

    def loop(self, env: dict[str, str], indent: int) -> None:
        """Write the body of a loop, sometimes with a ``continue``."""
        self.write("pass", indent + 1)
        if self.r.random() < 0.2:
            self.write(f"if {self.condition(env)}:", indent + 1)
            self.assign(dict(env), indent + 2)
            self.write("continue", indent + 2)
        self.nested(env, indent)

    def count(self, env: dict[str, str], indent: int) -> None:
        index = f"i{next(self.serial)}"
        self.write(f"for {index} in range({self.r.choice([0, 1, 2, 3, 3])}):", indent)
        self.loop({**env, index: "i"}, indent)

    def until(self, env: dict[str, str], indent: int) -> None:
        index = f"k{next(self.serial)}"
        self.write(f"{index} = 0", indent)
        self.write(f"while {index} < {self.r.choice([0, 2, 3])}:", indent)
        self.write(f"{index} += 1", indent + 1)
        if self.r.random() < 0.4:
            self.write(f"if {self.condition(env)}:", indent + 1)
            self.assign(dict(env), indent + 2)
            self.write("break", indent + 2)
        self.loop(env, indent)

    def over(self, env: dict[str, str], indent: int) -> None:
        kind = self.r.choice(["3", "23"])
        array, item = self.variable(env, kind), f"e{next(self.serial)}"
        if array is None:
            return
        self.write(f"for {item} in {array}:", indent)
        self.loop({**env, item: "f" if kind == "3" else "3"}, indent)

    def call(self, env: dict[str, str], indent: int) -> None:
        if not self.helpers:
            return
        name, parameters, results = self.r.choice(self.helpers)
        names: list[str] = []
        for kind in results:
            names.append(next(n for n in iter(lambda kind=kind: self.target(env, kind), None) if n not in names))
        arguments = ", ".join(self.expression(env, kind, 1) for kind in parameters)
        self.write(f"{', '.join(names)} = {name}({arguments})", indent)
        env.update(zip(names, results))

    def unpack(self, env: dict[str, str], indent: int) -> None:
        names = [f"t{next(self.serial)}" for _ in range(3)]
        self.write(f"{', '.join(names)} = {self.variable(env, '3') or 'np.array([0.3, 0.8, 0.2])'}", indent)
        env.update((n, "f") for n in names)

    def swap(self, env: dict[str, str], indent: int) -> None:
        kind = self.r.choice(list(SHAPES))
        known = [n for n, k in env.items() if k == kind and not n.startswith(("i", "k"))]
        if len(known) > 1:
            a, b = self.r.sample(known, 2)
            self.write(f"{a}, {b} = {b}, {self.r.choice([a, b, self.expression(env, kind, 1)])}", indent)

    # Expressions

    def variable(self, env: dict[str, str], kind: str) -> str | None:
        known = [n for n, k in env.items() if k == kind]
        return self.r.choice(known) if known else None

    def condition(self, env: dict[str, str]) -> str:
        test = (
            f"{self.expression(env, 'f', 1)} {self.r.choice(['<', '>', '>='])} {self.r.choice(['0.1', '-0.2', '0.5'])}"
        )
        return f"{test} {self.r.choice(['and', 'or'])} {self.condition(env)}" if self.r.random() < 0.2 else test

    def index(self, env: dict[str, str], size: int) -> str:
        index = self.variable(env, "i")
        return f"{index} % {size}" if index and self.r.random() < 0.7 else str(self.r.randrange(-size, size))

    def scalar(self, env: dict[str, str]) -> str:
        kind = self.r.choice(list(SHAPES))
        name = self.variable(env, kind)
        return "x" if name is None else name if kind == "f" else f"np.sum({name} * {self.expression(env, kind, 1)})"

    def expression(self, env: dict[str, str], kind: str, depth: int = 2) -> str:
        if depth == 0 or self.r.random() < 0.15:
            name = self.variable(env, kind)
            if name is not None:
                return name
            if kind == "f":
                return self.r.choice(["0.7", "(-1.3)", "2.0"])
            if depth == 0:
                return {"3": "np.array([0.4, -0.6, 0.9])", "1": "np.array([0.8])", "23": "np.array([[0.1, 0.2, 0.3], [1, 2, 3]])"}[kind]  # fmt: skip  # noqa: E501
        e = lambda k, d=depth - 1: self.expression(env, k, d)  # noqa: E731
        common = [
            lambda: f"np.{self.r.choice(['sin', 'tanh', 'cos', 'arctan'])}({e(kind)})",
            lambda: self.binary(env, kind, depth),
            lambda: self.binary(env, kind, depth),
            lambda: f"(-{e(kind)})",
            lambda: f"({e(kind)} if {self.condition(env)} else {e(kind)})",
            lambda: f"((1.5 + np.tanh({e(kind)})) ** {self.r.choice(['2', '-1', '0.5', e('f', 0)])})",
        ]
        own = {
            "f": [
                lambda: f"math.{self.r.choice(['sin', 'cos', 'tanh'])}({e('f')})",
                lambda: f"np.{self.r.choice(['sum', 'mean'])}({e(self.r.choice(['3', '23', '1']))})",
                lambda: f"{e('3')}[{self.index(env, 3)}]",
                lambda: f"{e('23', 0)}[{self.index(env, 2)}, {self.index(env, 3)}]",
                lambda: f"({e('3')} @ {e('3')})",
                lambda: f"np.dot({e('1')}, {e('1')})",
                lambda: f"{e('3')}.sum()",
                lambda: f"np.sum({e('3')}[[0, 2, 0]])",
                lambda: f"abs({e('f')})",
            ],
            "3": [
                lambda: f"np.array([{e('f')}, {e('f')}, {e('f')}])",
                lambda: f"{e('23')}[{self.index(env, 2)}]",
                lambda: f"np.sum({e('23')}, axis=0)",
                lambda: f"{e('3')}[[{self.r.randrange(3)}, {self.r.randrange(3)}, {self.r.randrange(3)}]]",
                lambda: f"{e('3')}[::-1]",
                lambda: f"np.concatenate(({e('1')}, {e('3')}[1:]))",
                lambda: f"np.where({e('3')} > 0.1, {e('3')}, {e('f')})",
                lambda: f"({e('23')}.T @ {e('23')})[{self.index(env, 3)}]",
                lambda: f"np.cumsum({e('3')})",
            ],
            "1": [
                lambda: f"np.array([{e('f')}])",
                lambda: f"{e('3')}[{self.r.choice(['0:1', '1:2', '2:', '[1]'])}]",
            ],
            "23": [
                lambda: f"np.outer({e('3')}[:2], {e('3')})",
                lambda: f"np.stack([{e('3')}, {e('3')}])",
                lambda: f"({e('23')} @ {e('23')}.T @ {e('23')})",
                lambda: f"{e('23')}[[{self.r.randrange(2)}, {self.r.randrange(2)}]]",
                lambda: f"np.array([[{e('f')}, 1.0, {e('f')}], [0.5, {e('f')}, 0.2]])",
                lambda: f"{e('23')}[:, ::-1]",
            ],
        }[kind]
        return self.r.choice([*common, *common, *own])()

    def binary(self, env: dict[str, str], kind: str, depth: int) -> str:
        """An operation whose operands broadcast to ``kind``."""
        a, b = kind, self.r.choice(WIDER[kind])
        if self.r.random() < 0.5:
            a, b = b, a
        left, right = self.expression(env, a, depth - 1), self.expression(env, b, depth - 1)
        op = self.r.choice(["+", "-", "*", "*", "/"])
        return f"({left} / (2.5 + np.sin({right})))" if op == "/" else f"({left} {op} {right})"


def compile_program(text: str):
    filename = f"<random structured program {next(_files)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    namespace: dict = {"__name__": "random_structured_program"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["program"]


_files = itertools.count()


def arguments(choices: random.Random) -> tuple:
    values = []
    for kind in ARGUMENTS.values():
        drawn = [round(choices.uniform(-1.5, 1.5), 3) for _ in range(int(np.prod(SHAPES[kind], dtype=int)))]
        values.append(np.array(drawn).reshape(SHAPES[kind]) if SHAPES[kind] else drawn[0])
    return tuple(values)


def case(choices: random.Random) -> tuple[str, tuple, tuple]:
    return Program(choices).text, arguments(choices), arguments(choices)


class Structured:
    """These programs as a family."""

    name, refused = "structured", 0.0

    def write(self, seed: int) -> str:
        text, args, _ = case(random.Random(seed))
        return module_of(text, dict(zip(ARGUMENTS, args)))


def module_of(text: str, leaves: dict) -> str:
    """The text of a program with its leaves, which are its arguments."""
    values = ", ".join(f"{name}={literal(x)}" for name, x in leaves.items())
    names = ", ".join(leaves)
    return f"{text}\n\nLEAVES = dict({values})\n\n\ndef arguments({names}):\n    return ({names},)\n"


def literal(x) -> str:
    if not isinstance(x, np.ndarray):
        return repr(x)
    order = ", order='F'" if x.ndim > 1 and not x.flags.c_contiguous else ""
    return f"np.array({x.tolist()!r}, {x.dtype.name!r}{order})"


FAMILIES = (Structured(),)
