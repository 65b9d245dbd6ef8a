"""Writes, views, branches, loops, calls and containers; and a family with the subset that can be compiled."""

from __future__ import annotations

import itertools
import random

import numpy as np

from .structured import module_of

PRELUDE = """\
def blend(p, q=0.5, *, k=2.0):
    return p * q + k * math.tanh(q) if q > 0 else p - k


def smear(v, s):
    for j in range(1, len(v)):
        v[j] = math.tanh(v[j] + s * v[j - 1])
    return v[-1:]


def halves(s):
    while True:
        s = s * 0.5
        yield s


def guarded(v, s):
    v[0] *= 0.5
    if s > 0.2:
        raise ValueError(s)
    return s


def mix(p, q):
    if p > q:
        p = p * q
    return math.tanh(p) - q


def fold(s, n):
    return s if n == 0 else 0.5 * fold(math.sin(s), n - 1)


class Cell:
    def __init__(self, s):
        self.s = s

    def step(self, t):
        self.s += 0.3 * t
        return math.sin(self.s)


"""

READS = [
    "{}",
    "{}[1:]",
    "{}[:-1]",
    "{}[::-1]",
    "{}[::2]",
    "{}[1:-1]",
    "{}[0]",
    "{}[-1]",
    "{}[1]",
    "{}[:, 1]",
    "{}[0, 1:]",
]
READS += ["{}.T", "{}.reshape(-1)", "{}.ravel()", "{}.reshape(3, 2)", "{}.T.reshape(-1)", "{}[..., 0]", "{}.copy()"]
READS += ["{}[[0, 1]]", "{}[[1, 1, 0]]", "{}[np.array([2, 0])]", "np.split({}, 2)[1]", "{}.sum(axis=0)", "{}.sum()"]
WRITES = [read for read in READS if read.startswith("{}") and read.endswith("]")]


def shape_of(template, shape):
    """The shape of a read of an array, or None where it is out of bounds."""
    try:
        return np.shape(eval(template.format("v"), {"v": np.zeros(shape), "np": np}))
    except (IndexError, ValueError):
        return None


class Writer:
    """Writes a program statement by statement; every name in `shapes` is bound at the next line."""

    jumps = ["break", "continue", "return {} + a.sum() * b[0]"]

    def __init__(self, choices):
        self.r, self.depth, self.fresh = choices, 1, itertools.count()
        self.shapes = {"x": (), "y": (), "a": (4,), "b": (4,), "m": (2, 3)}
        self.counters, self.lines = [], ["items, cell = [x, y], Cell(x)"]

    def pick(self, options):
        return self.r.choice(options)

    def emit(self, line):
        self.lines.append("    " * (self.depth - 1) + line)

    def reads(self, shape, templates):
        return [t.format(n) for n, s in self.shapes.items() if s for t in templates if shape_of(t, s) == shape]

    def scalar(self, depth):
        if depth == 0:
            plain = [n for n, s in self.shapes.items() if not s] + ["0.7", "-1.3", "items[-1]", "items[0]", "cell.s"]
            indices = [f"a[{i} % 4]" for i in self.counters] + [f"m[{i} % 2, {i} % 3]" for i in self.counters]
            return self.pick(plain + indices + self.reads((), READS))
        p, q = self.scalar(depth - 1), self.scalar(depth - 1)
        form = self.pick(
            ["({p} + {q})", "{p} * {q}", "({p} - {q})", "math.sin({p})", "np.tanh({p})", "({p} if {c} else {q})"]
            + ["blend({p}, {q})", "blend({p}, k={q})", "cell.step({p})", "(lambda t: t * {p})({q})", "sum([{p}, {q}])"]
            + ["sum(t * {p} for t in items)", "next(halves({p}))", "({v} @ {w})", "max({p}, {q} + 3.0)"]
        )
        v, w = (self.pick(self.reads((4,), ["{}"])) for _ in "vw")
        return form.format(p=p, q=q, v=v, w=w, c=self.condition(p))

    def condition(self, scalar):
        tests = [f"{scalar} > 0.1", f"{scalar} < 5.0 and {self.scalar(0)} < 0.4", f"not {scalar} > 0.3"]
        return self.pick(tests + [f"{i} % 2 == 0" for i in self.counters])

    def array(self, shape, depth=1):
        reads = self.reads(shape, READS)
        if depth == 0 and reads:
            return self.pick(reads)
        if not reads:
            return f"np.zeros({shape}) + {self.scalar(1)}"
        p, q = self.array(shape, depth - 1), self.array(shape, depth - 1)
        form = self.pick(
            ["{p} * {q}", "{p} + {s}", "{s} * {p}", "np.tanh({p})", "({p} - {q})", "np.sin({p} * {q})"]
            + ["np.where({p} > 0.1, {p}, {q})", "{p} / (2.0 + {q} * {q})", "(1.0 - {p}) ** 2"]
        )
        return form.format(p=p, q=q, s=self.scalar(1))

    def block(self, size):
        shapes, self.depth = dict(self.shapes), self.depth + 1
        for _ in range(self.r.randint(1, size)):
            self.statement(size - 1)
        self.shapes, self.depth = shapes, self.depth - 1

    def statement(self, size):
        simple = [
            self.bind_scalar,
            self.bind_array,
            self.bind_view,
            self.write,
            self.write,
            self.mutate,
            self.container,
        ]
        compound = [self.branch, self.loop, self.while_loop, self.attempt] if size > 0 else []
        self.pick(simple + compound)()

    def bind_scalar(self):
        name = self.pick([n for n, s in self.shapes.items() if not s] + [f"s{next(self.fresh)}"])
        self.emit(f"{name} = math.sin({self.scalar(2)})")
        self.shapes[name] = ()

    def bind_array(self):
        shape = self.pick([(4,), (3,), (2,), (2, 3)])
        name = f"v{next(self.fresh)}"
        self.emit(f"{name} = {self.array(shape)}")
        self.shapes[name] = shape

    def bind_view(self):
        source = self.pick([n for n, s in self.shapes.items() if s])
        template = self.pick([t for t in READS if shape_of(t, self.shapes[source])])
        name = f"v{next(self.fresh)}"
        self.emit(f"{name} = {template.format(source)}")
        self.shapes[name] = shape_of(template, self.shapes[source])

    def write(self):
        name = self.pick([n for n, s in self.shapes.items() if s])
        template = self.pick(["{}[:]", *(t for t in WRITES if shape_of(t, self.shapes[name]) is not None)])
        shape = shape_of(template, self.shapes[name])
        value = self.array(shape) if shape and self.r.random() < 0.5 else self.scalar(1)
        self.emit(f"{template.format(name)} {self.pick(['=', '+=', '*=', '-='])} {value}")

    def mutate(self):
        vectors = [n for n, s in self.shapes.items() if len(s) == 1]
        v, s = self.pick(vectors), self.scalar(1)
        w = self.pick([n for n in vectors if self.shapes[n] == self.shapes[v]])
        form = self.pick(
            [
                "{v} *= {s}",
                "{v} += {w}",
                "{v} -= 0.3 * {v}[::-1]",
                "np.tanh({v}, out={v})",
                "np.add.at({v}, [0, 0], {s})",
            ]
            + ["np.multiply({v}, {w}, out={w})", "{v}[{v} > 0.1] *= {s}", "{v}.fill({s})", "np.copyto({v}, {w})"]
            + ["smear({v}, {s})", "smear({v}, {s})[0] *= {s}", "{v}[1:] += {v}[:-1]", "{v}[:], {w}[:] = {w} * {s}, {v}"]
        )
        self.emit(form.format(v=v, w=w, s=s))

    def container(self):
        s = self.scalar(1)
        form = self.pick(
            ["items.append({s})", "items[0] *= {s}", "items[-1], items[0] = {s}, items[-1]", "cell.s = {s}"]
            + ["items.insert(0, {s})", "items.append(items.pop(0) * {s})", "y, *_ = [t * {s} for t in items]"]
            + ["x, y = y, x + {s}", "items[:1] = [{s}, x]", "cell, other = Cell({s}), cell"]
        )
        self.emit(form.format(s=s))

    def branch(self):
        self.emit(f"if {self.condition(self.scalar(1))}:")
        self.block(2)
        if self.r.random() < 0.5:
            self.emit("else:")
            self.block(2)

    def loop(self):
        i = f"i{next(self.fresh)}"
        self.emit(f"for {i} in range({self.r.randint(0, 3)}):")
        self.counters.append(i)
        self.block(2)
        if self.r.random() < 0.5:
            self.emit(f"    if {self.condition(self.scalar(0))}:")
            self.emit("        " + self.pick(self.jumps).format(self.scalar(1)))
        self.counters.pop()

    def while_loop(self):
        i = f"i{next(self.fresh)}"
        self.emit(f"{i} = 0")
        self.emit(f"while {i} < 3 and {self.scalar(1)} < 2.0:")
        self.emit(f"    {i} += 1")
        self.counters.append(i)
        self.block(2)
        self.counters.pop()

    def attempt(self):
        self.emit("try:")
        self.block(2)
        self.emit(f"    y = guarded({self.pick(['a', 'b', 'm'])}, {self.scalar(1)})")
        self.emit("except ValueError as error:")
        self.emit(f"    y = error.args[0] * {self.scalar(0)}")
        if self.r.random() < 0.5:
            self.emit("finally:")
            self.block(1)

    def finish(self):
        terms = [f"{k / 7:.3f} * {n}{'.sum()' if s else ''}" for k, (n, s) in enumerate(self.shapes.items(), 1)]
        self.emit(f"return {' + '.join(terms)} + (a * b).sum() + (m * m).sum() + sum(items) * cell.s")
        return PRELUDE + "def program(x, y, a, b, m):\n" + "".join(f"    {line}\n" for line in self.lines)


UNCOMPILED = ("reshape", "copy", "ravel", "split")


class PureWriter(Writer):
    """Writes programs without containers, views and in-place writes, which can be compiled instead of recorded."""

    jumps = ["break", "continue"]

    def __init__(self, choices):
        super().__init__(choices)
        self.lines = ["n = 3"]

    def reads(self, shape, templates):
        return [read for read in super().reads(shape, templates) if not any(word in read for word in UNCOMPILED)]

    def scalar(self, depth):
        if depth == 0:
            plain = [name for name, shape in self.shapes.items() if not shape]
            return self.pick([*plain, *self.counters, "0.7", "-1.3", "n", "2", "a[1]", "m[0, -1]", "b[n]", "math.pi"])
        p, q = self.scalar(depth - 1), self.scalar(depth - 1)
        form = self.pick(
            ["({p} + {q})", "{p} * {q}", "({p} - {q})", "-{p}", "math.sin({p})", "np.tanh({p})", "math.tanh({p}) ** 3"]
            + ["({p} if {c} else {q})", "{p} / (1.5 + {q} * {q})", "mix({p}, {q})", "mix({q}, 0.5)", "({v} @ {w})"]
            + [
                "np.sin({v}).sum()",
                "{v}.mean()",
                "np.sum({v} * {p})",
                "math.sin({p}) ** 2",
                "{w}[::2].sum()",
                "fold({p}, 2)",
            ]
        )
        v, w = (self.pick([n for n, s in self.shapes.items() if s == (4,)]) for _ in "vw")
        return form.format(p=p, q=q, v=v, w=w, c=self.condition(p))

    def statement(self, size):
        simple = [self.bind_scalar, self.bind_scalar, self.bind_array, self.update, self.swap]
        self.pick(simple + ([self.branch, self.loop, self.while_loop] if size > 0 else []))()

    def update(self):
        self.emit(f"{self.pick('xy')} {self.pick(['+=', '*=', '-='])} math.sin({self.scalar(1)})")

    def swap(self):
        self.emit(f"x, y = math.sin({self.scalar(1)}), x + {self.scalar(0)}")

    def finish(self):
        terms = [f"{k / 7:.3f} * {n}{'.sum()' if s else ''}" for k, (n, s) in enumerate(self.shapes.items(), 1)]
        self.emit(f"return {' + '.join(terms)} + (a * b).sum() + (m * m).sum()")
        return PRELUDE + "def program(x, y, a, b, m):\n" + "".join(f"    {line}\n" for line in self.lines)


POINT = (
    0.83,
    -0.47,
    np.array([0.31, -0.62, 1.17, 0.54]),
    np.array([-0.28, 0.91, 0.44, -1.05]),
    np.array([[0.66, -0.39, 0.12], [0.27, 1.08, -0.71]]),
)


def program(seed, writer=Writer):
    """The text of a program, which needs ``np`` and ``math``."""
    choices = random.Random(seed)
    writing = writer(choices)
    for _ in range(choices.randint(2, 8)):
        writing.statement(2)
    return writing.finish()


class Mutation:
    """These programs as a family."""

    refused = 0.0

    def __init__(self, name, writer):
        self.name, self.writer = name, writer

    def write(self, seed: int) -> str:
        text = "import math\n\nimport numpy as np\n\n\n" + program(seed, self.writer)
        return module_of(text, dict(zip("xyabm", POINT)))


FAMILIES = (Mutation("mutation", Writer), Mutation("pure", PureWriter))
