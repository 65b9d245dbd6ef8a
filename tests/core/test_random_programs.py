"""Random programs: the gradient of anything built of writes, views, branches, loops, calls and containers.

The reference is another way to differentiate, exact and without steps: forward mode on dual numbers, run through NumPy
arrays of Python objects.  Views, in-place writes and fancy indices of such arrays are NumPy's own, so every aliasing rule
of the program is kept, and nothing is shared with the engine under test.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings, strategies as st

import morula as mo
from morula.core.testing import ridders


class Dual:
    """A number with its derivatives with respect to all inputs at once."""

    def __init__(self, value, slope):
        self.value, self.slope = float(value), slope

    def __add__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = lift(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = lift(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return NotImplemented if isinstance(other, np.ndarray) else self + -lift(other)

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = lift(other)
        return self * Dual(1 / other.value, -other.slope / other.value**2)

    def __rtruediv__(self, other):
        return lift(other) / self

    def __pow__(self, n):
        return Dual(self.value**n, n * self.value ** (n - 1) * self.slope)

    def __gt__(self, other):
        return self.value > lift(other).value

    def __lt__(self, other):
        return self.value < lift(other).value

    def sin(self):
        return Dual(np.sin(self.value), self.slope * np.cos(self.value))

    def tanh(self):
        y = np.tanh(self.value)
        return Dual(y, self.slope * (1 - y * y))


def lift(x):
    if isinstance(x, np.ndarray):  # without dimensions
        x = x[()]
    return x if isinstance(x, Dual) else Dual(x, 0.0)


class DualNumPy:
    """NumPy, making arrays of objects where a program would make arrays of floats."""

    def __getattr__(self, name):
        return getattr(np, name)

    def zeros(self, shape):
        return np.zeros(shape, object)


def forward_gradient(f, args):
    """The gradient by forward mode, in the structure of args: floats and float arrays."""
    size = sum(np.size(x) for x in args)
    units = iter(np.eye(size))
    duals = [np.vectorize(lambda v: Dual(v, next(units)), otypes=[object])(x) for x in args]
    y = f(*(d if d.ndim else d[()] for d in duals))
    ends = list(itertools.accumulate(np.size(x) for x in args))
    slope = np.broadcast_to(lift(y).slope, (size,))
    return [s.reshape(np.shape(x)) for s, x in zip(np.split(slope, ends), args)]


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
    """Writes a program statement by statement; every name in `shapes` is bound wherever the next line stands."""

    jumps = ["break", "continue", "return {} + a.sum() * b[0]"]

    def __init__(self, draw):
        self.draw, self.depth, self.fresh = draw, 1, itertools.count()
        self.shapes = {"x": (), "y": (), "a": (4,), "b": (4,), "m": (2, 3)}
        self.counters, self.lines = [], ["items, cell = [x, y], Cell(x)"]

    def pick(self, options):
        return self.draw(st.sampled_from(options))

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
        for _ in range(self.draw(st.integers(1, size))):
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
        value = self.array(shape) if shape and self.draw(st.booleans()) else self.scalar(1)
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
        if self.draw(st.booleans()):
            self.emit("else:")
            self.block(2)

    def loop(self):
        i = f"i{next(self.fresh)}"
        self.emit(f"for {i} in range({self.draw(st.integers(0, 3))}):")
        self.counters.append(i)
        self.block(2)
        if self.draw(st.booleans()):
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
        if self.draw(st.booleans()):
            self.emit("finally:")
            self.block(1)

    def finish(self):
        terms = [f"{k / 7:.3f} * {n}{'.sum()' if s else ''}" for k, (n, s) in enumerate(self.shapes.items(), 1)]
        self.emit(f"return {' + '.join(terms)} + (a * b).sum() + (m * m).sum() + sum(items) * cell.s")
        return PRELUDE + "def program(x, y, a, b, m):\n" + "".join(f"    {line}\n" for line in self.lines)


UNCOMPILED = ("reshape", "copy", "ravel", "split")


class PureWriter(Writer):
    """Writes programs without containers, views and in-place writes: what can be compiled rather than recorded."""

    jumps = ["break", "continue"]

    def __init__(self, draw):
        super().__init__(draw)
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


@st.composite
def programs(draw, writer=Writer):
    writer = (draw(writer) if isinstance(writer, st.SearchStrategy) else writer)(draw)
    for _ in range(draw(st.integers(2, 8))):
        writer.statement(2)
    return writer.finish()


POINT = (
    0.83,
    -0.47,
    np.array([0.31, -0.62, 1.17, 0.54]),
    np.array([-0.28, 0.91, 0.44, -1.05]),
    np.array([[0.66, -0.39, 0.12], [0.27, 1.08, -0.71]]),
)
numbers = itertools.count()


def load(source, **modules):
    """The function `program` of a source text, which tracebacks and the engine can read back."""
    name = f"<random program {next(numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = dict(modules)
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def compare(program, reference):
    """Value, effects and gradient of `program` at POINT, against Python's own and those of forward mode."""
    plain_args, args = copy.deepcopy(POINT), copy.deepcopy(POINT)
    plain = program(*plain_args)
    y, back = mo.vjp(program, *args)
    gradient = back(1.0)
    assert y == plain
    for got, expected in zip(args, plain_args):
        assert np.array_equal(got, expected), "the arguments are not as Python leaves them"
    scale = max(1.0, *(np.abs(e).max() for e in reference))
    for name, got, e in zip("xyabm", gradient, reference):
        assert np.shape(got) == e.shape
        assert np.allclose(got, e, rtol=1e-8, atol=1e-9 * scale), f"d{name} is {got}, forward mode gives {e}"


def forward_reference(source):
    """The gradient at POINT by forward mode, or None where a program is chaotic and magnifies rounding past comparing."""
    program = load(source, np=DualNumPy(), math=SimpleNamespace(sin=np.sin, tanh=np.tanh, pi=math.pi))
    with np.errstate(all="ignore"):
        try:
            gradient = forward_gradient(program, copy.deepcopy(POINT))
        except (ValueError, OverflowError):
            return None
    return gradient if all(np.abs(g).max() < 1e6 for g in gradient) else None


@settings(max_examples=70, suppress_health_check=list(HealthCheck))
@given(programs())
def test_a_random_program_has_the_gradient_of_forward_mode(source):
    reference = forward_reference(source)
    assume(reference is not None)
    note(source)
    compare(load(source, np=np, math=math), reference)


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(programs(PureWriter))
def test_a_random_pure_program_has_the_gradient_of_forward_mode(source):
    reference = forward_reference(source)
    assume(reference is not None)
    note(source)
    compare(load(source, np=np, math=math), reference)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(programs(st.sampled_from([Writer, PureWriter])))
def test_a_random_program_has_second_derivatives(source):
    assume(forward_reference(source) is not None)
    program = load(source, np=np, math=math)

    def slope(x, y):
        _, _, a, b, m = copy.deepcopy(POINT)
        return mo.gradient(program, x, y, a, b, m)[0]

    note(source)
    x, y = POINT[:2]
    for got, along in zip(mo.gradient(slope, x, y), (lambda t: slope(x + t, y), lambda t: slope(x, y + t))):
        expected, error = ridders(along, 1e-3, levels=5)
        assume(error < 1e-6 * max(1.0, abs(expected)))  # a branch switches, or rounding is magnified
        assert got == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        "    a[1:] += a[:-1]\n    v = a[::-1]\n    v *= x\n    a[0] = y\n    return (v * b).sum()\n",
        "    t = m.T\n    t[0] *= x\n    w = m.reshape(-1)\n    w[1:] = np.tanh(w[:-1] * y)\n    return (t * t).sum() + w[2]\n",
        "    c = np.zeros(4)\n    for i in range(4):\n        c[i] = x * c[i - 1] + a[i]\n    return c @ b\n",
    ],
    ids=["overlapping", "reshaped", "filled"],
)
def test_forward_mode_agrees_with_differences(check, body):
    source = "def program(x, y, a, b, m):\n" + body
    program = load(source, np=np, math=math)
    check(program, *POINT)
    compare(program, forward_reference(source))
