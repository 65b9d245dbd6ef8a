"""More programs that combine unusual features of Python and NumPy."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import dataclasses
import functools
import itertools
import math
import operator
import types
import typing
import weakref
from dataclasses import dataclass

import numpy as np
from odd_programs import X, Z, case

import morula as mo


@case(X)
def windows(x):
    y = np.concatenate([x, x * x])
    w = np.lib.stride_tricks.sliding_window_view(y, 3)
    s = np.lib.stride_tricks.as_strided(y, (3, 2), (y.strides[0] * 2, y.strides[0]), writeable=False)
    return float((w**2).sum() + (w[1] * w[2]).sum() + (s * s).sum() + s[2, 1])


@case(X)
def numpy_calls_back(x):
    seen = []

    def f(v):
        seen.append(v * x[0])
        return v * v

    a = np.vectorize(f, otypes=[float])(x)
    b = np.apply_along_axis(lambda r: r * r.sum(), 0, np.outer(x, x))
    c = np.fromiter((v * v for v in x), float)
    d = np.piecewise(x, [x < 0, x >= 0], [lambda v: v**2, lambda v: v**3])
    e = np.frompyfunc(lambda p, q: p * q, 2, 1)(x, x[::-1]).astype(float)
    g = np.fromfunction(lambda i, j: i * x[0] + j * x[1], (2, 2))
    return float(a.sum() + b.sum() + (c * d).sum() + e.sum() + g.sum() + sum(seen))


@case(X)
def selection(x):
    a = np.select([x > 1, x < 0], [x**2, -x], x)
    b = np.choose([0, 1, 1, 0], [x, x[::-1] ** 2])
    c = np.block([[np.outer(x[:2], x[2:]), x[:2, None]], [x[None, :3]]])
    d = np.r_[x, x[0] * 2, 1.0]
    e = np.c_[x, x**2]
    m = np.outer(x, x)[np.ix_([0, 2], [1, 3])]
    u, inv = np.unique(np.round(x), return_inverse=True)
    h = np.bincount([0, 1, 0, 2], weights=x) ** 2
    hh = np.histogram([0.1, 0.2, 0.7, 0.9], bins=2, range=(0, 1), weights=x)[0]
    ra = np.add.reduceat(x * x, [0, 2, 3])
    acc = np.multiply.accumulate(x)
    mx = np.zeros(2)
    np.maximum.at(mx, [0, 1, 0, 1], x)
    return float(
        a.sum()
        + b.sum()
        + (c**2).sum()
        + d.sum()
        + e.sum()
        + m.sum()
        + h.sum()
        + (hh * hh).sum()
        + (ra**2).sum()
        + acc.sum()
        + mx[0] * mx[1]
    )


@case(Z)
def complex_parts(z):
    w = z.copy()
    w.real = w.imag * 2
    w.imag[1:] += z.real[:2] ** 2
    f = w.view(float)
    f[0] *= 3.0
    r = w.real.copy()
    r *= r
    c = np.conj(w) * z
    c[c.real > 0] *= 1j
    return float(np.abs(c).sum() + r.sum() + np.angle(z).sum() + (w * w.conjugate()).real.sum() + np.vdot(z, w).imag)


class Tagged(np.ndarray):
    def __new__(cls, a, tag=1.0):
        o = np.asarray(a).view(cls)
        o.tag = tag
        return o

    def __array_finalize__(self, o):
        self.tag = getattr(o, "tag", 1.0)

    def scaled(self):
        return self * self.tag


@case(X, 1.4)
def subclass_with_attributes(x, t):
    a = Tagged(x.copy(), t)
    b = a[1:]
    b *= b.tag
    c = (a * 2).scaled()
    c[0] = b.tag * t
    return float(np.asarray(c).sum() + a.scaled().sum() + b.tag)


class Duck:
    def __init__(s, a):
        s.a = a

    def __array__(s, dtype=None, copy=None):
        return s.a * 2

    __array_priority__ = 5

    def __rmul__(s, o):
        return Duck(o * s.a)

    def __array_ufunc__(s, u, m, *i, **k):
        return getattr(u, m)(*[v.a if isinstance(v, Duck) else v for v in i], **k) * 3

    def __array_function__(s, f, t, a, k):
        return f(*[v.a if isinstance(v, Duck) else v for v in a], **k) * 5


@case(X)
def duck_arrays(x):
    d = Duck(x)
    return float((np.exp(d) + x * 1.0).sum() + np.sum(d) + np.asarray(d).sum() + (x + d).sum())


@case(X)
def generator_throw_close(x):
    log = []

    def g():
        t = 0.0
        try:
            while True:
                try:
                    v = yield t
                    t += v * v
                except KeyError as e:
                    t *= e.args[0]
        finally:
            log.append(t * x[0])

    it = g()
    next(it)
    it.send(x[1])
    it.throw(KeyError(x[2]))
    it.send(x[3])
    it.close()

    def outer():
        r = yield from inner()
        yield r

    def inner():
        yield x[0]
        return x[1] ** 2

    return float(log[0] + sum(outer()))


@case(X)
def exit_stack(x):
    out = np.zeros(2)
    with contextlib.ExitStack() as s:
        s.callback(lambda: out.__setitem__(0, out[0] * x[0]))
        s.callback(out.__iadd__, x[1:3])

        @s.push
        def _(t, e, tb):
            out[1] += e.args[0]
            return True

        with contextlib.suppress(ZeroDivisionError):
            out[0] = x[3]
            1 // 0
        raise ValueError(x[0] * x[3])
    return float(out[0] * 2 + out[1] ** 2)


@case(0.8)
def weak_and_del(x):
    got = []

    class O:
        def __init__(s, v):
            s.v = v

        def __del__(s):
            got.append(s.v * 2)

    o = O(x * x)
    r = weakref.ref(o, lambda _: got.append(x))
    v = r().v
    del o
    d = weakref.WeakValueDictionary()
    k = O(x)
    d["k"] = k
    w = d["k"].v
    del k
    return sum(got) * v + w


var = contextvars.ContextVar("var", default=1.0)


@functools.singledispatch
def size(v):
    return v * 2


@size.register(list)
def _(v):
    return sum(map(size, v))


@size.register(tuple)
def _(v):
    return math.prod(v)


class Meta(type):
    def __call__(cls, *a):
        o = super().__call__(*a)
        o.extra = o.v * 3
        return o

    def __getitem__(cls, k):
        return cls(k * 2)


class Reg:
    kinds = {}

    def __init_subclass__(cls, k=None, **kw):
        super().__init_subclass__(**kw)
        Reg.kinds[k] = cls


class MV(Reg, metaclass=type("M2", (Meta, type(Reg)), {}), k="mv"):
    def __init__(s, v):
        s.v = v

    @functools.cached_property
    def sq(s):
        return s.v**2

    def __class_getitem__(cls, k):
        return k

    def __getattr__(s, n):
        if n.startswith("x"):
            return s.v * int(n[1:])
        raise AttributeError(n)

    def __format__(s, spec):
        s.f = s.v * len(spec)
        return "f"


@case(1.3)
def metaclasses(x):
    o = MV(x)
    p = MV[x]
    f"{o:ab}"
    q = Reg.kinds["mv"](x * x)
    return o.extra * o.sq + o.sq + p.v + o.x3 + o.f + q.x2 + size([x, (x, x), [x]])


class NT(typing.NamedTuple):
    a: float
    b: list

    def dot(self):
        return self.a * sum(self.b)


@dataclass(slots=True)
class SD:
    a: float
    b: float = 2.0

    def __post_init__(self):
        self.b *= self.a


@case([0.4, 1.1])
def named_tuples(v):
    n = NT(v[0], list(v))
    m = n._replace(a=n.a * 2)
    m.b.append(v[1])
    s = SD(v[1])
    t = copy.copy(s)
    t.a *= v[0]
    u = dataclasses.replace(s, a=s.b)
    a, (b, *c) = n
    return (
        n.dot() * m.dot()
        + s.a * t.a
        + t.b
        + u.b
        + a * b
        + sum(c)
        + m._asdict()["a"]
        + operator.attrgetter("a", "b")(t)[1]
    )


@case(0.9)
def defaults_and_calls(x):
    def f(a, /, b=x, *c, k=x * x, **d):
        return a * b + sum(c) * k + sum(d.values())

    def acc(v, into=[]):
        into.append(v)
        return sum(into)

    g = lambda a, b=x**3: a * b
    args = (x, 2.0, 3.0)
    kw = {"k": x, "z": x * 2}
    return (
        f(*args, **kw)
        + f(x)
        + f(x, k=1.0)
        + acc(x)
        + acc(x * x)
        + g(x)
        + (lambda *a, **k: a[0] * k["q"])(*[x], **dict(q=x))
    )


@case(X)
def evaluation_order(x):
    i = [0]
    y = x.copy()

    def k():
        i[0] += 1
        return i[0] - 1

    y[k()] += x[k()] * 2
    y[k()] *= y[k() - 3]
    j = 0
    l = [1.0 * x[0], 2.0 * x[1], x[2]]
    j, l[j] = 2, x[3]
    l[0], l = l[j] * 2, [*l, x[1]]
    a = b = y[1:]
    a += b[::-1].copy()
    a, a[0] = y[:2], 5.0 * x[2]
    n = (m := y[0] * 2) + m * m
    return float(y.sum() + sum(l) + n + (m if 0 < m < 10 else -m) + a.sum() * i[0])


@case(X)
def finally_returns(x):
    def f(n):
        t = 0.0
        for i in range(4):
            try:
                if i == n:
                    return t * 2
                if i == 2:
                    raise ValueError
                t += x[i]
            except ValueError:
                t *= x[3]
                continue
            else:
                t += x[i] ** 2
            finally:
                t += 0.1 * x[0]
                if n == 9 and i == 3:
                    return t * t
        return t

    return float(f(1) * f(9) + f(5))


@case(X)
def comprehensions(x):
    fs = [lambda v, i=i: v * x[i] for i in range(4)]
    m = {i: [a * b for b in x if b > 0] for i, a in enumerate(x) if i}
    s = {round(float(v), 1) for v in x}
    t = sum((y := v * 2) + y * y for v in x) + y
    g = ((a, b) for a in x for b in (a * a,) if b > 0.2)
    z = [*map(lambda p: p[0] * p[1], g)]
    return float(sum(f(2.0) for f in fs) * sum(map(sum, m.values())) + t + sum(z) + len(s) * x[0])


@case([1.0, 2.0, 3.0], 0.5)
def linked_list(v, w):
    class Node:
        __slots__ = ("val", "next", "__weakref__")

        def __init__(s, a, n=None):
            s.val, s.next = a, n

        def __iter__(s):
            while s:
                yield s.val
                s = s.next

    head = None
    for a in v:
        head = Node(a * w, head)
    n = head
    p = None
    while n:
        n.next, p, n = p, n, n.next
    p.next.val *= p.val
    t = Node(1.0)
    t.next = t
    t.val = w
    t.next.next.val *= 3
    return sum(i * a for i, a in enumerate(p, 1)) + t.val


@case(X)
def cyclic_graph(x):
    class V:
        pass

    vs = [V() for _ in x]
    for i, v in enumerate(vs):
        v.w = x[i]
        v.nb = [vs[i - 1], vs[(i + 1) % 4]]
    for _ in range(2):
        new = [v.w * 0.5 + sum(u.w for u in v.nb) for v in vs]
        for v, w in zip(vs, new):
            v.w = w
    best = max(vs, key=lambda v: v.w)
    best.nb[0].w *= best.w
    return float(sum(v.w**2 for v in vs))


@case(X)
def interpreter(x):
    code = [
        ("push", 0),
        ("push", 1),
        ("mul",),
        ("dup",),
        ("push", 3),
        ("add",),
        ("mul",),
        ("store", "a"),
        ("load", "a"),
        ("push", 2),
        ("sub",),
        ("load", "a"),
        ("mul",),
    ]
    st, env = [], {}
    ops = {"mul": operator.mul, "add": operator.add, "sub": operator.sub}
    for op, *a in code:
        match op, a:
            case "push", [i]:
                st.append(x[i])
            case "dup", _:
                st.append(st[-1])
            case "store", [n]:
                env[n] = st.pop()
            case "load", [n]:
                st.append(env[n])
            case _, _:
                b = st.pop()
                st.append(ops[op](st.pop(), b))
    return float(st.pop())


@case(X)
def dynamic_programming(x):
    n = 4
    t = [[math.inf] * (n + 1) for _ in range(n + 1)]
    t[0][0] = 0.0
    for i in range(n):
        for j in range(n):
            c = (x[i] - x[j] * 0.9) ** 2
            t[i + 1][j + 1] = c + min(t[i][j], t[i][j + 1] + 0.1 * x[0] ** 2, t[i + 1][j] + 0.2)
    return float(t[n][n])


@case(X)
def attribute_games(x):
    class A:
        cls = 0.0

    a = A()
    setattr(a, "v", x[0])
    a.__dict__["w"] = x[1] * getattr(a, "v")
    A.cls = A.cls + x[2]
    vars(a).update(q=x[3], r=a.w)
    delattr(a, "r")
    f = types.MethodType(lambda s, k: s.v * k, a)
    A.late = lambda s: s.q * s.cls
    A.p = property(lambda s: s.v * 2, lambda s, n: setattr(s, "v", n * s.w))
    a.p = 3.0
    r = a.late() + a.p + f(2) + sum(v for k, v in vars(a).items()) + getattr(a, "zz", x[0]) + hasattr(a, "v")
    b = object.__new__(A)
    b.__dict__ = dict(a.__dict__)
    b.v *= 2
    a.__class__ = type("B", (A,), {"late": lambda s: s.v})
    return float(r + a.late() * b.late())


@case(X)
def string_keys_and_sort(x):
    d = {f"k{i}": v for i, v in enumerate(x)}
    o = sorted(d, key=d.get)
    t = 0.0
    for r, k in enumerate(o):
        t += d[k] * r
        d[k + "x"] = d.pop(k) ** 2
    g = itertools.groupby(sorted(x, key=lambda v: (v > 0, -v)), key=lambda v: v > 0)
    z = {k: functools.reduce(operator.mul, v) for k, v in g}
    return float(t + sum(d.values()) + z[True] * z[False] + min(d.values(), default=0) + d[max(d, key=d.__getitem__)])


@case(np.array([[2.0, 0.3], [0.1, 1.5]]))
def linalg_in_place(A):
    B = A.copy()
    B[0] /= B[0, 0]
    B[1] -= B[1, 0] * B[0]
    L = np.linalg.cholesky(A @ A.T)
    U, s, V = np.linalg.svd(A)
    w = np.linalg.eigvals(A)
    q, r = np.linalg.qr(A)
    sign, ld = np.linalg.slogdet(A)
    x = np.linalg.lstsq(A, A[0], rcond=None)[0]
    return float(
        B.sum()
        + L.sum()
        + s[0]
        + abs(w[0])
        + np.abs(np.diag(r)).sum()
        + ld
        + x.sum()
        + np.linalg.matrix_power(A, 3).trace()
        + np.kron(A, A)[1, 2]
        + np.linalg.inv(A)[0, 1]
        + np.linalg.cond(A)
    )


@case(X)
def masked_and_where_writes(x):
    y = np.zeros(4)
    m = x > 0
    np.multiply(x, 2, out=y, where=m)
    y[~m] = x[~m] ** 2
    y[np.flatnonzero(m)[::-1]] -= x[m]
    z = np.where(m[:, None], np.outer(x, x), 0.0)
    z[m, m] += 1 * x[m]
    z[m][:, 0] = 99.0
    z[np.triu_indices(4, 1)] *= 0.5
    z[..., -1] = z[:, 0]
    z[1] = x
    return float((y * y).sum() + (z**2).sum())


@case(X)
def zero_d(x):
    a = np.array(x[0])
    b = a
    b += x[1]
    c = a[()]
    a[...] *= 2
    d = np.float64(x[2])
    e = d
    e *= 3
    f = x[:1].reshape(())
    g = np.asarray(x[3]).item()
    h = np.sum(x, keepdims=True)[0]
    i = np.squeeze(x[None, :2].T)[1]
    return float(a + b + c * d + e + f + g * h + i + np.array([[x[0]]]).item() + np.ndarray.item(x, 2))


@case(2.0, np.float32(1.5), rtol=3e-3)
def promotions(x, y):
    a = np.arange(3) * x
    b = a.astype(np.float32) * y
    c = np.int64(3) * y
    d = True + x
    e = np.array([1, 2]) / x
    e[0] = y
    f = np.array([1, 2], dtype=np.int32) * y
    g = np.linspace(0, x, 5)[3] + np.arange(0, 3 * x, x).sum() + np.full(2, x).sum() + np.full_like(a, y).sum()
    return float(b.sum() + c + d + e.sum() + f.sum() + g + np.result_type(a, b).itemsize * x)


@case(X)
def grad_inside_with_state(x):
    calls = []

    def loss(w, scale):
        calls.append(w[0])
        return np.sum(w**3) * scale

    w = x.copy()
    for k in range(3):
        g, gs = mo.gradient(loss, w, x[0])
        w -= 0.01 * g * gs**0
        w[k] += 0.001 * gs
    v, back = mo.vjp(lambda u: u * u * w, w)
    (h,) = back(x)
    return float(w.sum() + h.sum() + sum(calls) + mo.grad(lambda t: mo.grad(lambda u: u**2 * t)(x[1]))(x[2]))


@case(X)
def checkpointed(x):
    store = []

    def f(v, s):
        store.append(v.sum())
        v = v * s
        return v * v

    y = x
    for i in range(3):
        y = mo.checkpoint(f, y, x[i])
    return float(y.sum() + sum(store))


@case(X)
def hooks_and_stops(x):
    y = mo.stop_gradient(x * 1.0) * 0 + x
    z = y.copy()
    z[0] *= 2
    return float((z * z).sum() + (x * 0 + 1).sum())
