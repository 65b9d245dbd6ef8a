"""Writes, views and reads of a few arrays whose names alias each other in every way that NumPy supports.

A program is run after each new line, so that the next line can depend on what every name holds: its shape and
dtype, and whether it is writable.
"""

from __future__ import annotations

import copy
import functools
import itertools
import random

import numpy as np

from .structured import module_of

PRELUDE = """\
import math
import numpy as np
from contextlib import suppress

G = np.zeros(4)


class Box:
    def __init__(self, v):
        self.v = v
        self.d = {"k": v}

    def scale(self, s):
        self.v *= s
        return self.v

    def replace(self, s):
        self.v = self.v * s


def bump(v, s):
    v[...] *= s
    return v[..., :1]


def smear(v, s):
    w = v.reshape(-1)
    for i in range(1, w.size):
        w[i] = w[i] * 0.5 + s * w[i - 1]
    return w


def store(v, kept=[]):
    kept.append(v)
    if len(kept) > 2:
        kept.clear()
    return len(kept)


def fail(v, s):
    v[..., 0] = s
    raise ValueError(s, v)


def entries(v, s):
    w = v.reshape(-1)
    for i in range(min(w.size, 3)):
        got = yield w[i]
        w[i] = s if got is None else got * s


def through(p, q):
    p[...] = p + 0.5 * q
    q *= 0.7
    return p.sum() - q.sum()


def deep(v, n, s):
    if n > 0:
        v[..., 0] *= s
        deep(v[..., ::-1], n - 1, s)


"""

START = """\
def program(a, b, m, z, x):
    global G
    G[:] = 0.3, -0.2, 0.5, 0.9
    store.__defaults__[0].clear()
    L, s, o, D = [a, b], x * 0.5, Box(a), {"a": a, "m": m}
"""

FUNCTIONS = ["np.tanh", "np.sin", "np.cos"]


@functools.cache
def world():
    """The names that programs use and change; each program sets them again at its start."""
    scope = {"__name__": "random_aliasing"}
    exec(PRELUDE, scope)
    return scope


def point(choices):
    draw = lambda *shape: np.array([round(choices.uniform(-1.2, 1.2), 3) for _ in range(int(np.prod(shape)))])  # noqa: E731
    z = draw(3) + 1j * draw(3)
    m = draw(12).reshape(3, 4)
    if choices.random() < 0.3:
        m = np.asfortranarray(m)
    return draw(5), draw(4), m, z, round(choices.uniform(0.3, 1.2), 3)


class Writer:
    def __init__(self, choices):
        self.r = choices
        self.args = point(choices)
        self.body: list[str] = []
        self.fresh = itertools.count()
        self.values = self.run([])
        for _ in range(choices.randrange(4, 12)):
            self.statement()
        self.finish()

    # Running what there is

    def text(self, body):
        return START + "".join(f"    {line}\n" for line in body)

    def run(self, more):
        """The names after ``more`` lines; None if these fail or the values grow too large."""
        lines = [*self.body, *more, "return dict(locals())"]
        scope = world()
        exec(self.text(lines), scope)
        try:
            with np.errstate(all="raise"):
                found = scope["program"](*copy.deepcopy(self.args))
        except (ValueError, TypeError, ArithmeticError, RuntimeError, LookupError, AttributeError):
            return None
        if found is None:
            return None
        found["G"] = scope["G"]
        for i, e in enumerate(found["L"]):
            found[f"L[{i}]"] = e
        for k, e in found["D"].items():
            found[f"D[{k!r}]"] = e
        found["o.v"], found["o.d['k']"] = found["o"].v, found["o"].d["k"]
        numbers = {k: v for k, v in found.items() if isinstance(v, (np.ndarray, float, complex, np.generic))}
        if any(np.size(v) > 60 or not np.all(np.abs(v) < 30) for v in numbers.values()):
            return None
        return numbers

    def add(self, *lines):
        found = self.run(lines)
        if found is not None:
            self.body += lines
            self.values = found

    # Choosing

    def pick(self, options):
        return self.r.choice(list(options))

    def name(self, writeable=False, dtype=None, ndim=None, shape=None):
        found = [
            k
            for k, v in self.values.items()
            if isinstance(v, np.ndarray)
            and (not writeable or v.flags.writeable)
            and (dtype is None or v.dtype == dtype)
            and (ndim is None or v.ndim == ndim)
            and (shape is None or v.shape == shape)
            and v.dtype.kind in "fc"
        ]
        return self.r.choice(found) if found else None

    def index(self, v, basic=False):
        """A subscript for an array."""
        parts = []
        for n in v.shape:
            forms = [
                ":",
                ":",
                f"{self.r.randrange(-n, n)}" if n else ":",
                "::-1",
                "1:",
                ":-1",
                "::2",
                f"{n // 2}:",
                "-2::-1",
            ]
            parts.append(self.pick(forms))
        if not basic and v.ndim and self.r.random() < 0.35:
            axis = self.r.randrange(v.ndim)
            n = v.shape[axis]
            if n:
                k = [self.r.randrange(-n, n) for _ in range(self.r.randrange(1, 4))]
                parts[axis] = self.pick([f"{k}", f"np.array({k})"])
        if self.r.random() < 0.15:
            parts = [*parts[: self.r.randrange(len(parts) + 1)], "..."]
        if self.r.random() < 0.1:
            parts.insert(0, "None")
        return ", ".join(parts) or "..."

    def scalar(self):
        forms = [lambda: "s", lambda: "x", lambda: self.pick(["0.7", "-0.4", "1.1", "2"])]
        forms += [lambda: f"{self.name(dtype=float)}.sum() * 0.3", lambda: f"np.tanh({self.name(dtype=float)}).mean()"]
        forms += [lambda: f"{self.name(dtype=float)}.flat[0]", lambda: f"abs({self.name(dtype=complex)}).sum() * 0.2"]
        forms += [
            lambda: f"float({self.name(dtype=float)}.ravel()[-1])",
            lambda: "G[1]",
            lambda: f"z[{self.r.randrange(3)}].real",
        ]
        forms += [lambda: f"{self.name(dtype=float, ndim=1)}[{self.r.randrange(2)}]"]
        return self.r.choice(forms)()

    def like(self, shape, dtype, depth=1):
        """An expression that broadcasts to a shape."""
        same = [
            k for k, v in self.values.items() if isinstance(v, np.ndarray) and v.shape == shape and v.dtype.kind in "fc"
        ]
        same = [k for k in same if dtype.kind == "c" or self.values[k].dtype.kind == "f"]
        size = int(np.prod(shape, dtype=int))
        other = self.name(dtype=float)
        forms = [lambda: self.scalar(), lambda: f"np.resize({other}, {shape})"]
        if same:
            forms += [lambda: self.pick(same)] * 4
            if len(shape) == 1:
                forms += [lambda: f"{self.pick(same)}[::-1]"] * 2
            if depth:
                inner = lambda: self.like(shape, dtype, 0)  # noqa: E731
                forms += [lambda: f"{self.pick(FUNCTIONS)}({inner()})", lambda: f"{inner()} * {inner()}"]
                forms += [
                    lambda: f"({inner()} + {inner()} * {self.scalar()})",
                    lambda: f"{inner()} / (2 + {self.scalar()} ** 2)",
                ]
                forms += [
                    lambda: f"np.where({self.pick(same)}.real > 0.1, {inner()}, {inner()})",
                    lambda: f"({inner()} + 0).copy()",
                ]
        if 1 < size <= 4:
            forms += [lambda: "[" + ", ".join(self.scalar() for _ in range(size)) + "]"] if len(shape) == 1 else []
        return self.r.choice(forms)()

    # Statements

    def simple(self):
        forms = [
            self.view,
            self.view,
            self.write,
            self.write,
            self.write,
            self.update,
            self.update,
            self.ufunc,
            self.mutate,
        ]
        forms += [self.mutate, self.container, self.container, self.call, self.number, self.swap, self.copied]
        return self.r.choice(forms)()

    def statement(self):
        form = self.r.random()
        if form < 0.78:
            lines = self.simple()
        else:
            lines = self.r.choice([self.branch, self.loop, self.attempt, self.generator])()
        if lines:
            self.add(*lines)

    def block(self):
        lines = [line for _ in range(self.r.randrange(1, 4)) for line in self.simple() or ()]
        return ["    " + line for line in lines] or ["    pass"]

    def view(self):
        source = self.name()
        v = self.values[source]
        size = v.size
        new = f"v{next(self.fresh)}"
        forms = [f"{source}[{self.index(v, basic=True)}]"] * 4 + [
            f"{source}.T",
            f"{source}.reshape(-1)",
            f"{source}.ravel()",
        ]
        forms += [
            f"np.atleast_2d({source})",
            f"{source}[None]",
            f"np.squeeze({source})",
            f"{source}.view()",
            f"np.asarray({source})",
        ]
        forms += [
            f"{source}.real",
            f"{source}.imag",
            f"np.ravel({source}, order='K')",
            f"np.flip({source})",
            f"{source}.swapaxes(0, -1)",
        ]
        forms += [f"np.broadcast_to({source}, (2, *{v.shape}))", f"np.array_split({source}, 2)[{self.r.randrange(2)}]"]
        forms += [f"np.lib.stride_tricks.sliding_window_view({source}, 2, axis=-1)", f"{source}[{self.index(v)}]"]
        forms += [
            f"np.moveaxis({source}, 0, -1)",
            f"np.expand_dims({source}, -1)",
            f"next(iter({source}))",
            f"list({source})[-1]",
        ]
        forms += [
            f"np.asarray(memoryview({source}))",
            f"np.ndarray({v.shape}, {source}.dtype, {source})",
            f"np.rollaxis({source}, -1)",
        ]
        if size % 2 == 0:
            forms += [f"{source}.reshape(2, -1)", f"{source}.reshape(-1, 2).T", f"{source}.reshape((2, -1), order='F')"]
        if v.ndim == 2:
            forms += [
                f"np.diagonal({source})",
                f"np.einsum('ij->ji', {source})",
                f"{source}.diagonal(1)",
                f"*_, {new} = {source}",
            ]
            if v.shape[0] == v.shape[1]:
                forms += [f"np.einsum('ii->i', {source})"]
        if v.dtype == complex:
            forms += [f"{source}.view(float)", f"{source}.conj()"]
        elif size % 2 == 0 and v.ndim == 1:
            forms += [f"{source}.view(complex)"]
        if v.ndim == 1 and size > 3:
            forms += [
                f"np.lib.stride_tricks.as_strided({source}, (2, {size // 2}), ({source}.strides[0] * {size // 2}, {source}.strides[0]))"
            ]
        form = self.pick(forms)
        return [form if form.startswith("*") else f"{new} = {form}"]

    def target(self):
        name = self.name(writeable=True)
        v = self.values[name]
        index = self.index(v)
        try:
            part = eval(f"v[{index}]", {"v": v, "np": np})
        except IndexError:
            return None
        return name, index, np.shape(part), v.dtype

    def write(self):
        found = self.target()
        if found is None:
            return None
        name, index, shape, dtype = found
        return [f"{name}[{index}] = {self.like(shape, dtype)}"]

    def update(self):
        op = self.pick(["+=", "-=", "*=", "*=", "/="])
        if self.r.random() < 0.4:
            name = self.name(writeable=True)
            v = self.values[name]
            value = self.like(v.shape, v.dtype)
            return [f"{name} {op} {value if op != '/=' else f'(1.5 + {self.scalar()} ** 2)'}"]
        found = self.target()
        if found is None:
            return None
        name, index, shape, dtype = found
        return [f"{name}[{index}] {op} {self.like(shape, dtype) if op != '/=' else f'(1.5 + {self.scalar()} ** 2)'}"]

    def ufunc(self):
        out = self.name(writeable=True)
        v = self.values[out]
        p, q = self.like(v.shape, v.dtype, 0), self.like(v.shape, v.dtype, 0)
        forms = [f"np.add({p}, {q}, out={out})", f"np.multiply({p}, {q}, {out})", f"np.tanh({out}, out={out})"]
        forms += [
            f"np.subtract({p}, {q}, out={out}, where={out}.real > 0.1)",
            f"np.negative({out}[..., ::-1], out={out})",
        ]
        forms += [
            f"np.multiply({out}[..., 1:], {out}[..., :-1], out={out}[..., 1:])",
            f"np.add({out}, {out}.T, out={out})",
        ]
        if v.ndim:
            forms += [f"np.cumsum({out}, axis=0, out={out})", f"np.add.accumulate({out}, axis=-1, out={out})"]
            forms += [f"np.take({out}, {list(range(v.shape[0]))[::-1]}, axis=0, out={out}, mode='clip')"]
        if v.dtype == float:
            forms += [
                f"np.clip({out}, -0.8, 0.9, out={out})",
                f"np.maximum({p}, {q}, out={out})",
                f"np.sum({out}, axis=0, out=G[0:1].reshape(()))",
            ]
        return [self.pick(forms)]

    def mutate(self):
        name = self.name(writeable=True)
        v = self.values[name]
        n = max(v.size, 1)
        places = [self.r.randrange(-n, n) for _ in range(2)]
        value = self.like(v.shape, v.dtype, 0)
        forms = [
            f"{name}.fill({self.scalar()})",
            f"np.copyto({name}, {value})",
            f"np.copyto({name}, {value}, where={name}.real > 0)",
        ]
        forms += [
            f"np.put({name}, {places}, [{self.scalar()}, {self.scalar()}])",
            f"np.place({name}, {name}.real > 0, [{self.scalar()}])",
        ]
        forms += [f"np.putmask({name}, {name}.real < 0.2, {value})", f"{name}.flat[{places[0]}] = {self.scalar()}"]
        forms += [
            f"{name}.flat = {value}",
            f"{name}.flat[::2] *= {self.scalar()}",
            f"{name}[{name}.real > 0.2] *= {self.scalar()}",
        ]
        forms += [f"{name}.put({places}, {self.scalar()})", f"{name}.real *= {self.scalar()}"]
        forms += [f"{name}[np.isfinite({name})] = {name}.ravel()[::-1]", f"np.nan_to_num({name}, copy=False)"]
        if v.ndim:
            k = [self.r.randrange(v.shape[0]) for _ in range(3)] if v.shape[0] else [0]
            forms += [
                f"np.add.at({name}, {k}, {self.scalar()})",
                f"np.subtract.at({name}, np.array({k}), {self.scalar()})",
            ]
            forms += [
                f"{name}[{k}] += {self.scalar()}",
                f"{name}[{k}] = {name}[{k[::-1]}]",
                f"np.random.default_rng(1).shuffle({name})",
            ]
            forms += [f"{name}[1:] += {name}[:-1]", f"{name}[:-1] = {name}[1:]", f"{name}[:] = {name}[::-1]"]
        if v.ndim == 2:
            forms += [
                f"np.fill_diagonal({name}, {self.scalar()})",
                f"{name}[[0, -1]] = {name}[[-1, 0]]",
                f"{name}[:, 0], {name}[:, 1] = {name}[:, 1], {name}[:, 0]",
            ]
        if v.dtype == float and v.ndim:
            forms += [f"{name}.sort()", f"{name}.sort(axis=0)", f"{name}.partition(0)"]
        if v.dtype == complex:
            forms += [f"{name}.imag = {self.scalar()}", f"{name}.imag += {name}.real", f"{name} *= 1j"]
        return [self.pick(forms)]

    def container(self):
        name, other = self.name(), self.name(writeable=True)
        forms = [
            f"L.append({name})",
            f"L.insert(0, {name})",
            "L.reverse()",
            "L.append(L.pop(0))",
            f"L[-1] = {name}",
            "L += L[:1]",
        ]
        forms += [
            f"L[0] *= {self.scalar()}",
            f"for e in L: e *= {self.scalar()}",
            f"L[1:] = [{name}, {other}]",
            "L = L[::-1]",
        ]
        forms += [
            f"D['a'] = {name}",
            f"D['n'] = {other}",
            f"D['a'] *= {self.scalar()}",
            f"D['m'] = D['m'] * {self.scalar()}",
            "D.update(m=D['a'])",
        ]
        forms += [
            f"o.v = {name}",
            f"o.v *= {self.scalar()}",
            f"o.scale({self.scalar()})",
            f"o.replace({self.scalar()})",
            f"o.d['k'] = {name}",
        ]
        forms += [
            "o = Box(o.v)",
            f"(o.d['k'], {other})[1][...] += {self.scalar()}",
            f"for k, e in D.items(): e *= {self.scalar()}",
        ]
        forms += [
            "L.sort(key=lambda e: float(abs(e).sum()))",
            "L[0], L[-1] = L[-1], L[0]",
            f"vars(o)['v'] = {name}",
            "del L[1:]",
        ]
        return [self.pick(forms)]

    def call(self):
        name = self.name(writeable=True)
        s, new, v = self.scalar(), f"v{next(self.fresh)}", self.values[name]
        other = self.name(writeable=True, shape=v.shape, dtype=v.dtype)
        forms = [
            f"{new} = bump({name}, {s})",
            f"{new} = smear({name}, 0.3 * {s})",
            f"store({name})",
            f"deep({name}, 3, {s})",
        ]
        forms += [
            f"s = through({name}, {other}).real * 0.1",
            f"(lambda u: bump(u, {s}))({name})",
            f"list(map(lambda u: bump(u, {s}), L))",
        ]
        forms += [f"for e in store.__defaults__[0]: e *= {s}", f"w = [bump(u, {s}) for u in ({name}, {other})]"]
        return [self.pick(forms)]

    def number(self):
        return [
            self.pick(
                [
                    f"s = {self.scalar()} * {self.scalar()}",
                    f"s += {self.scalar()}",
                    f"x, s = s, {self.scalar()}",
                    f"s = math.sin({self.scalar()})",
                ]
            )
        ]

    def swap(self):
        name = self.name(writeable=True)
        v = self.values[name]
        if not v.ndim or v.shape[0] < 2:
            return None
        i, j = (self.r.randrange(-v.shape[0], v.shape[0]) for _ in "ij")
        other = self.name(writeable=True, shape=v.shape)
        return [
            self.pick(
                [
                    f"{name}[{i}], {name}[{j}] = {name}[{j}], {name}[{i}]",
                    f"{name}[:], {other}[:] = {other}, {name}.real",
                ]
            )
        ]

    def copied(self):
        name, new = self.name(), f"v{next(self.fresh)}"
        v = self.values[name]
        forms = [
            f"{name}.copy()",
            f"np.array({name})",
            f"{name} * {self.scalar()}",
            f"np.concatenate([{name}, {name}])",
            f"np.zeros_like({name})",
        ]
        forms += [
            f"np.stack([{name}, {name}])",
            f"{name}.flatten()",
            f"np.sort({name})",
            f"{name} @ {name}.T",
            f"np.outer(b, {name})[:3]",
        ]
        forms += [f"np.roll({name}, 1)", f"np.ascontiguousarray({name})", "np.array(L[0])", f"+{name}"]
        return [f"{new} = {self.pick(forms)}"]

    def condition(self):
        return f"{self.scalar()} > {self.pick(['0.05', '-0.3', '0.4'])}"

    def branch(self):
        lines = [f"if {self.condition()}:", *self.block()]
        return [*lines, "else:", *self.block()] if self.r.random() < 0.5 else lines

    def loop(self):
        head = self.pick(
            ["for i in range(3):", "for i in range(2):", "for i, e in enumerate(list(b)[:3]):", "for e in list(L):"]
        )
        lines = [head, *self.block()]
        if "i" in head.split(" in ")[0] and self.r.random() < 0.6:
            name = self.pick(["b", "a", "m", "G"])
            lines.append(f"    {name}[i] {self.pick(['=', '+=', '*='])} {name}[i - 1] * {self.scalar()}")
        if self.r.random() < 0.2:
            lines += [f"    if {self.condition()}:", f"        {self.pick(['break', 'continue'])}"]
        return lines

    def attempt(self):
        name = self.name(writeable=True)
        if self.r.random() < 0.3:
            return ["with suppress(ValueError):", *self.block(), f"    fail({name}, {self.scalar()})"]
        lines = [
            "try:",
            *self.block(),
            f"    {self.pick([f'fail({name}, {self.scalar()})', f'{name}[...] = np.ones(17)', 'pass'])}",
        ]
        lines += [
            "except ValueError as error:",
            *self.block(),
            "    if len(error.args) > 1:",
            f"        error.args[1][...] *= {self.scalar()}",
        ]
        return [*lines, "finally:", *self.block()] if self.r.random() < 0.5 else lines

    def generator(self):
        name = self.name(writeable=True)
        return [f"for e in entries({name}, {self.scalar()}):", "    s = s * 0.5 + abs(e) * 0.3"]

    def finish(self):
        total = []
        for k, (name, v) in enumerate(self.values.items()):
            weight = f"{np.cos(1.3 * k):.3f}"
            if isinstance(v, np.ndarray) and v.dtype.kind in "fc" and name not in ("s", "x"):
                total.append(
                    f"{weight} * (np.sin({name}.real) * np.cos(np.arange({v.size}.0)).reshape({v.shape})).sum()"
                )
                if v.dtype == complex:
                    total.append(f"{weight} * ({name} * {name}).imag.sum()")
        self.terms = total
        result = f"return {' + '.join(total)} + s * x"
        if self.r.random() < 0.08:
            result = f"raise KeyError({self.scalar()}, len(L))"
        self.body.append(result)
        self.source = self.text(self.body)


class Aliasing:
    """These programs as a family; one of eight is differentiated twice."""

    name, refused = "aliasing", 0.3

    def write(self, seed: int) -> str:
        writer = Writer(random.Random(seed))
        order = "ORDER = 2\n" if seed % 8 == 0 else ""
        return module_of(order + PRELUDE + writer.source, dict(zip("abmzx", writer.args)))


FAMILIES = (Aliasing(),)
