"""Programs that combine unusual features of Python and NumPy, with their arguments."""

from __future__ import annotations

import bisect
import cmath
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import statistics
import types
from dataclasses import dataclass, field, replace

import numpy as np

import morula as mo

PROGRAMS = []


def case(*args, **kw):
    def add(f):
        PROGRAMS.append((f, args, kw))
        return f

    return add


X = np.array([0.7, -1.3, 0.4, 2.1])
Z = np.array([0.7 + 0.2j, -1.3 - 0.4j, 0.4 + 1j])


@case(X)
def empty_slices_aliases_early_return(x):
    y = x.copy()
    for i in range(6):
        v = y[i:]
        w = y[:i]
        v *= 1.0 + 0.1 * i
        w += v.sum() if len(v) else 0.5
        if i == 4 and v.size == 0:
            return float(np.sum(w * w))
    return float(np.sum(y))


@case(X, Z)
def zero_size_broadcast_complex(x, z):
    e = np.zeros((0, 1)) * x  # (0, 4)
    f = e + (1j * x)[None]
    s = f.sum() + (z[:, None] * np.zeros((1, 0))).sum()
    w = np.concatenate([f.sum(axis=0), z])
    w[3:] *= x[0] + 1j * x[1]
    return float(np.abs(w).sum() + s.real + (z[:0] * np.conj(z[:0])).sum().real + np.prod(f).real)


@case([0.7, 1.3, 0.4])
def nested_grad_list_iterator_try(xs):
    def inner(ys):
        it = iter(ys)
        total = 0.0
        try:
            while True:
                a = next(it)
                total = total * a + a**2 * xs[0]
        except StopIteration:
            total = total * 2
        return total

    g = mo.grad(inner)(xs)
    it = iter(g)
    out = next(it)
    try:
        for v in it:
            out = out + v * v
            if v > 1e9:
                raise ValueError(v)
    except ValueError as e:
        out = e.args[0]
    return out


@case(X, rtol=2e-3)
def float32_middle_empty_mask(x):
    y = x.astype(np.float32)
    m = y > 100
    y[m] = 0.0
    z = y[m]
    y[~m] *= np.float32(2.0)
    t = np.where(m, 0, y).astype(np.float64)
    t[m] += z.sum()
    return float((t**2).sum() + z.sum())


@case({"a": 0.7, "b": np.array([1.2, 0.0, 3.0])}, 0.0)
def swap_dict_power_zero(d, p):
    d = dict(d)
    d["a"], d["b"] = d["b"], d["a"]
    d["a"] = d["a"] ** 0 + d["a"] ** 2 + 2.0**p
    d["b"], d["c"] = d["b"] ** 0.0 * d["b"], d["b"]
    return float(d["a"].sum() * d["b"] + d["c"])


class Unit:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        return getattr(obj, self.name) * obj.scale

    def __set__(self, obj, v):
        setattr(obj, self.name, v / obj.scale)


class Base:
    a = Unit()

    def __init__(self, a, s):
        self.scale = s
        self.a = a

    def __iadd__(self, o):
        self.a = self.a + o
        self.log.append(self.a) if hasattr(self, "log") else None
        return self


class Der(Base):
    b = Unit()

    def __init__(self, a, b, s):
        super().__init__(a, s)
        self.b = b
        self.log = []

    def __iadd__(self, o):
        r = super().__iadd__(o)
        r.b *= r.a
        return r


@case(1.5, 0.3, 2.0)
def descriptors_inplace(a, b, s):
    d = Der(a, b, s)
    d += a * b
    d.scale = s * s
    d += b
    return d.a * d.b + sum(d.log)


@case(X)
def recursion_mutates(x):
    acc = np.zeros(4)
    y = x.copy()

    def go(lo, hi):
        if hi - lo <= 1:
            if hi > lo:
                acc[lo] += y[lo] ** 2
            return
        mid = (lo + hi) // 2
        y[lo:mid] *= y[mid:hi].sum()
        go(lo, mid)
        go(mid, hi)
        y[mid:hi] += acc[lo:mid]
        acc[lo:hi] *= 1.1

    go(0, 4)
    return float(acc.sum() + y.sum())


@case(X)
def generators_write(x):
    buf = np.zeros(4)

    def gen(n):
        for i in range(n):
            buf[i] += x[i] ** 2
            got = yield buf[: i + 1]
            if got is not None:
                buf[i] *= got

    g = gen(4)
    v = next(g)
    t = 0.0
    try:
        while True:
            t += v.sum()
            v = g.send(x[0] if t < 3 else None)
    except StopIteration:
        pass
    return float(t + buf.sum())


@case(X)
def views_of_views_nested(x):
    m = np.outer(x, x)

    def lower(v):
        w = v[1:, ::-1]

        def inner(u):
            u[...] = u * 2
            u.T[0] += 1 * x[2]

        inner(w[::2])
        return w.reshape(-1)[:3]

    r = lower(m.T)
    m[1, 1] = 5 * x[1]
    return float(r.sum() + (m * m).sum())


@case(X)
def closures_over_loop(x):
    fs, gs = [], []
    for i in range(4):
        c = x[i] * i
        fs.append(lambda v: v * c)
        gs.append(lambda v, c=c: v * c)
    c = c * x[0]
    return float(sum(f(x[j]) for j, f in enumerate(fs)) + sum(g(x[j]) for j, g in enumerate(gs)))


@case(1.3, 0.4)
def decorators_with_state(a, b):
    def counted(scale):
        def deco(f):
            total = 0.0

            @functools.wraps(f)
            def w(*p, **k):
                nonlocal total
                total += f(*p, **k) * scale
                w.last = total
                return total

            return w

        return deco

    @counted(a)
    @counted(b)
    def h(x, y=2.0):
        return x * x * y

    h(a)
    h(b, y=a)
    return h(a + b) + h.last * h.__wrapped__.last


@case(X)
def context_managers_restore(x):
    y = x.copy()

    @contextlib.contextmanager
    def scaled(v, s):
        old = v.copy()
        v *= s
        try:
            yield v
        finally:
            v[:] = old

    class Sav:
        def __init__(self, v):
            self.v = v

        def __enter__(self):
            self.old = self.v[1]
            self.v[1] = self.v[0] * 3
            return self

        def __exit__(self, t, e, tb):
            self.v[1] = self.old * (2 if t else 1)
            return t is not None

    t = 0.0
    with scaled(y, x[0]) as v:
        t += (v**2).sum()
        with Sav(v) as s:
            t += v[1] * s.old
            raise KeyError("out")
        t += v[1]
    return float(t + y.sum() * y[1])


class It:
    def __init__(self, k, v):
        self.k, self.v = k, v

    def __lt__(self, o):
        self.v = self.v * 1.01
        return self.k < o.k


@case(X)
def sort_objects(x):
    its = [It(v * v, v) for v in x]
    s = sorted(its)
    its.sort(key=lambda i: -i.v)
    s.sort(key=operator.attrgetter("k"), reverse=True)
    return float(sum(i * o.v * o.k for i, o in enumerate(s)) + its[0].v * 3 + max(its, key=lambda o: o.k).v)


@case([3.0, 1.0, 2.5, 0.5])
def priority_queue(xs):
    h = []
    for i, v in enumerate(xs):
        heapq.heappush(h, (v * v, i, [v]))
    t = 0.0
    while len(h) > 1:
        a = heapq.heappop(h)
        b = heapq.heapreplace(h, (a[0] + 1.3, 9, a[2] + [a[0]]))
        t = t * 0.5 + b[0] * sum(b[2])
        if t > 40:
            break
        heapq.heappop(h)
    return t + heapq.nlargest(1, xs)[0] + heapq.nsmallest(2, xs, key=lambda v: -v)[1]


@case(0.7)
def memo_table(x):
    memo = {}

    def f(n):
        if n in memo:
            return memo[n]
        r = x if n < 2 else f(n - 1) * x + f(n - 2)
        return memo.setdefault(n, r)

    @functools.cache
    def g(n):
        return x if n < 2 else g(n - 1) * g(n - 2) + 0.5

    class D(dict):
        def __missing__(self, k):
            self[k] = v = x**k
            return v

    d = D()
    return f(10) + g(8) + d[3] + d[3] * d[2]


@case([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.1, 0.4, 2.0]])
def list_matrix(A):
    n = len(A)
    M = [r[:] for r in A]
    det = 1.0
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(M[r][i]))
        if p != i:
            M[i], M[p] = M[p], M[i]
            det = -det
        det *= M[i][i]
        for r in range(i + 1, n):
            q = M[r][i] / M[i][i]
            M[r] = [a - q * b for a, b in zip(M[r], M[i])]
    T = list(map(list, zip(*A)))
    return det + sum(T[0][j] * A[j][0] for j in range(n))


@case(X)
def nditer_(x):
    y = x.copy()
    t = 0.0
    with np.nditer([y, x], op_flags=[["readwrite"], ["readonly"]]) as it:
        for a, b in it:
            a[...] = a * b
            t = t + float(a)
    return float(t + (y * x).sum())


@case(X)
def ndenumerate_(x):
    m = x.reshape(2, 2) ** 2
    t = 0.0
    for (i, j), v in np.ndenumerate(m):
        t += v * (i + 2 * j)
        m[j, i] = v * x[i]
    for ix in np.ndindex(2, 2):
        t += m[ix] * x[ix[0]]
    return float(t)


@case(X)
def add_at(x):
    y = np.zeros(3)
    np.add.at(y, [0, 1, 0, 2], x)
    np.multiply.at(y, [1, 1], x[:2])
    np.subtract.at(y, (np.array([2]),), x[3] ** 2)
    return float((y**2).sum())


@case(X)
def put_copyto_place(x):
    y = np.zeros((3, 2))
    np.put(y, [0, 3, -1, 0], x[1:4] ** 2, mode="wrap")
    z = np.ones(4)
    np.copyto(z, x * 2, where=[True, False, True, True])
    w = x.copy()
    np.place(w, w > 0.5, [z[0] * 3, z[2]])
    np.putmask(w, w < 0, x**3)
    y[1:, 0] = np.take(w, [2, 1])
    y.put([1], x[0])
    np.fill_diagonal(y, x[2] * y[1, 0])
    q = np.zeros((4, 2))
    np.put_along_axis(q, np.array([[0], [1], [0], [1]]), x[:, None] ** 2, 1)
    return float((y**2).sum() + (z * w).sum() + (q * y[0]).sum())


@case(X)
def structured_dtype(x):
    r = np.zeros(4, dtype=[("a", float), ("b", float, (2,))])
    r["a"] = x**2
    r["b"][:, 0] = x
    r["b"][1] = r["a"][0]
    r[2]["a"] = x[3]
    return float((r["a"] * r["b"].sum(1)).sum() + r[1]["a"])


@case(1.3)
def complex_step(x):
    h = 1e-20

    def f(z):
        return z**3 * np.exp(z)

    return (f(x + 1j * h)).imag / h * x


@case(3, 1.5)
def ints_floats(n, x):
    t = 0
    for i in range(n):
        t += i * x if i % 2 else i
    t //= 1
    u = n / 2 + x // 1 + n % 2
    return t * 0.0 + u * x + divmod(x, 2)[1] + math.comb(n, 2) * x + (n << 1) * x


@case([0.1, 0.7, 1.9])
def sums(xs):
    return (
        math.fsum(v * v for v in xs)
        + statistics.mean(xs) * statistics.stdev(xs)
        + statistics.fmean(xs, weights=xs)
        + statistics.geometric_mean(xs)
        + statistics.median(xs) ** 2
        + statistics.pvariance(xs)
        + math.prod(xs)
        + math.dist(xs, [0, 0, 0])
        + statistics.harmonic_mean(xs)
        + statistics.linear_regression(xs, [v**2 for v in xs]).slope
    )


@case(X)
def reduce_accumulate(x):
    r = functools.reduce(lambda a, b: a * b + x[0], x, 1.0)
    a = list(itertools.accumulate(x, lambda p, q: p * 0.5 + q * q, initial=x[1]))
    c = [sum(p) for p in itertools.pairwise(x)] + [u * v for u, v in itertools.combinations(x, 2)]
    g = {k: list(v) for k, v in itertools.groupby(x, key=lambda v: v > 0)}
    return float(
        r
        + a[-1] * a[2]
        + sum(c)
        + sum(map(sum, g.values())) * x[0]
        + sum(itertools.starmap(operator.mul, zip(x, itertools.islice(itertools.cycle(x), 1, 5))))
    )


class A0:
    def __init__(self, v):
        self.v = v

    def __iadd__(self, o):
        self.v = self.v + o
        return self


class B0(A0):
    def __iadd__(self, o):
        super().__iadd__(o * 2)
        self.n = self.v * 2
        return self


class C0(A0):
    def __iadd__(self, o):
        super().__iadd__(o * self.v)
        return self


class D0(B0, C0):
    def __iadd__(self, o):
        r = super().__iadd__(o)
        r.v *= 1.5
        return r


@case(0.7, 1.2)
def mro_iadd(x, y):
    d = D0(x)
    d += y
    d += d.n
    return d.v * d.n


class Win:
    def __init__(self, data, i):
        self._d = data
        self._i = i

    @property
    def v(self):
        return self._d[self._i] * 2

    @v.setter
    def v(self, w):
        self._d[self._i] = w / 2
        self._d[(self._i + 1) % len(self._d)] += w


@case(X)
def property_shared(x):
    d = x.copy()
    ws = [Win(d, i) for i in range(4)]
    for w in ws:
        w.v = w.v * x[0]
    ws[2].v += 1.0
    ws[1].v *= ws[3].v
    return float((d**2).sum())


@dataclass(frozen=True)
class P:
    a: float
    b: np.ndarray
    c: list = field(default_factory=list)

    def __post_init__(self):
        self.c.append(self.a * 2)


@case(1.1, X)
def dataclass_replace(a, x):
    p = P(a, x)
    q = replace(p, a=p.a * a)
    r = replace(q, b=q.b * p.c[-1])
    d = dataclasses.asdict(r)
    return float(r.a * r.b.sum() + sum(p.c) + d["a"] * d["b"][0] + dataclasses.astuple(q)[0])


class NumErr(Exception):
    def __init__(self, v, *a):
        super().__init__(v, *a)
        self.extra = v * 2


@case(1.4)
def exceptions_carry(x):
    def thrower(v):
        if v > 3:
            raise NumErr(v * x, v)
        return thrower(v * 1.5)

    t = 0.0
    try:
        try:
            thrower(x)
        except NumErr as e:
            t += e.args[1] + e.extra
            raise RuntimeError(e.args[0] ** 2) from e
        finally:
            t *= x
    except RuntimeError as e:
        t += e.args[0] * e.__cause__.extra + e.__context__.args[1]
    try:
        raise ExceptionGroup("g", [NumErr(x), ValueError(x * 3)])
    except* ValueError as g:
        t += g.exceptions[0].args[0]
    except* NumErr as g:
        t += g.exceptions[0].extra
    return t


@case(X)
def walrus_match(x):
    t = 0.0

    def area(s):
        match s:
            case {"r": r, **rest}:
                return r * r + sum(rest.values())
            case [a, b, *c] if n := len(c):
                return a * b + c[-1] * n
            case complex(real=re, imag=im):
                return re * im
            case It(k=k, v=v):
                return k / v
            case float() as f:
                return f**3

    for s in [{"r": x[0], "q": x[1]}, [x[0], x[1], x[2]], complex(x[0], x[3]), It(x[1], x[2]), float(x[3])]:
        t += area(s)
    return float(t)


@case(X)
def chain_map_defaultdict(x):
    d = collections.defaultdict(list)
    for i, v in enumerate(x):
        d[i % 2].append(v * i)
    c = collections.ChainMap({}, d)
    c[5] = [x[0] ** 2]
    dq = collections.deque(x, maxlen=3)
    dq.rotate(1)
    dq.appendleft(x[1] * 2)
    dq.extend(d[1])
    od = collections.OrderedDict((str(i), v) for i, v in enumerate(x))
    od.move_to_end("0")
    cn = collections.Counter(a=x[0])
    cn.update(a=x[1], b=x[2])
    cn.subtract({"a": x[3] * x[3]})
    return float(
        sum(sum(v) for v in c.values())
        + sum(q * i for i, q in enumerate(dq))
        + od.popitem()[1] * od.popitem(last=False)[1]
        + cn["a"] * cn["b"]
        + cn.total()
    )


@case(X)
def inplace_view_swap(x):
    y = x.copy()
    y[[0, 2]] = y[[2, 0]]
    y[0], y[1] = y[1], y[0] * y[1]
    a, b = y[:2], y[2:]
    a[:], b[:] = b * 2, a.copy() + b
    y[::-1][:2] += y[:2]
    return float((y**3).sum())


@case(X)
def setdefault_views(x):
    store = {}
    for i, v in enumerate(x):
        row = store.setdefault(i % 2, np.zeros(2))
        row[i // 2] += v * x[i - 1]
    m = np.stack([store[k] for k in sorted(store)])
    store[0][0] = 100.0 * x[0]
    del store[1]
    return float(np.linalg.det(m) + store.pop(0).sum() + len(store))


@case(X)
def object_array(x):
    o = np.empty(3, object)
    o[0] = x[0] * 2
    o[1] = [x[1]]
    o[2] = {"k": x[2]}
    o[1].append(o[0])
    o[2]["k"] *= x[3]
    return float(o[0] + sum(o[1]) * o[2]["k"])


@case(2.0, 3.0)
def operators_reflected(a, b):
    class V:
        __slots__ = ("x", "__y")

        def __init__(s, x, y):
            s.x = x
            s.__y = y

        def __mul__(s, o):
            return V(s.x * (o.x if isinstance(o, V) else o), s.__y)

        __rmul__ = __mul__

        def __matmul__(s, o):
            return s.x * o.x + s.__y * o.__y

        def __getattr__(s, n):
            if n == "y":
                return s.__y
            raise AttributeError(n)

        def __call__(s, t):
            return s.x * t + s.y

        def __neg__(s):
            return V(-s.x, -s.__y)

        def __bool__(s):
            s.x *= 1.5
            return s.x > 0

        def __len__(s):
            return 2

        def __iter__(s):
            yield s.x
            yield s.__y

        def __getitem__(s, i):
            return (s.x, s.__y)[i]

        def __contains__(s, v):
            s.__y += v
            return True

        def __eq__(s, o):
            s.x += o.y * 0.1
            return True

        __hash__ = object.__hash__

        def __enter__(s):
            return s.x

        def __exit__(s, *e):
            s.x = 0.0

    v = V(a, b)
    w = 2 * v * a
    t = v @ w + (-v)(b)
    if v and w:
        t += v.x
    if b in v:
        t += v[1]
    if v == w:
        t += sum(v)
    p, q = v
    with w as u:
        t += u * p
    return t + w.x + q


@case(X)
def while_else_del_global(x):
    t, i = 0.0, 0
    while i < 4:
        v = x[i]
        i += 1
        if v < 0:
            continue
        t += v**i
        del v
        for j in range(3):
            if j == 2:
                break
            t *= x[j] ** 2 + 1
        else:
            t = 0
    else:
        t += x[-1]
    return float(t)


@case(X)
def nan_masks(x):
    y = x.copy()
    y[1] = np.nan
    m = np.isnan(y)
    y[m] = np.nanmean(y)
    z = np.ma.masked_less(x, 0.0)
    return float((y**2).sum() + z.sum() + np.nan_to_num(np.log(np.where(m, 1, y)) * m).sum())


@case(X)
def einsum_out_where(x):
    o = np.zeros((4, 4))
    np.multiply.outer(x, x, out=o)
    np.sqrt(np.abs(x), out=o[1], where=x > 0)
    np.add(o[0], o[1], o[2])
    np.cumsum(o[2], out=o[3])
    np.matmul(o, x, out=o[0])
    return float(np.einsum("ij,j->", o, x) + np.einsum("ii", o))


@case(0.6)
def newton_nested_grad(x):
    def f(y):
        return y**3 + x * y - 2

    y = 1.0
    for _ in range(20):
        y = y - f(y) / mo.grad(f)(y)
    return y * mo.grad(mo.grad(lambda t: t**3 * x))(y)


@case(X)
def copies(x):
    o = types.SimpleNamespace(a=x.copy(), l=[x[0], [x[1]]])
    s = copy.copy(o)
    d = copy.deepcopy(o)
    s.a[0] *= 2
    d.a[1] *= 3
    s.l[1][0] = s.l[0] * x[2]
    d.l[0] += 1
    return float(o.a.sum() * d.a.sum() + o.l[1][0] * d.l[1][0] + d.l[0])


@case(X)
def partial_methodcaller(x):
    f = functools.partial(lambda a, b, *, c: a * b + c, x[0], c=x[1])
    g = functools.partialmethod

    class M:
        def __init__(s):
            s.v = x[2]

        def mul(s, k, p=1):
            s.v = s.v * k**p
            return s.v

        sq = functools.partialmethod(mul, p=2)
        st = staticmethod(lambda v: v * 3)

        @classmethod
        def make(cls, v):
            m = cls()
            m.v += v
            return m

        @functools.singledispatchmethod
        def sd(s, v):
            return v

        @sd.register
        def _(s, v: list):
            return sum(v) * s.v

    m = M()
    m.sq(x[3])
    k = M.make(x[0])
    return float(
        f(x[3])
        + operator.methodcaller("mul", x[1], p=2)(m)
        + M.st(k.v)
        + m.sd([x[0], x[1]])
        + m.sd(x[1])
        + operator.itemgetter(0, 2)(x)[1]
    )


@case(X)
def list_slices(x):
    l = list(x)
    l[1:3] = [l[2] * 2, l[1], l[0]]
    l[::2] = [v * v for v in l[::2]]
    del l[1]
    l.insert(1, l[-1] * x[0])
    l *= 2
    l.reverse()
    a, *b, c = l
    l += (a * c,)
    l.sort()
    l.remove(a)
    l.extend(v for v in b[:2])
    return sum(i * v for i, v in enumerate(l)) + l.pop(2) * l.index(l[1])


@case(X)
def bisect_binary(x):
    s = []
    for v in x:
        bisect.insort(s, v * v)
    i = bisect.bisect_left(s, 0.3)
    return float(s[i] * 2 + s[-1] * s[0] + np.searchsorted(s, 1.0) * x[0])


@case(1.7)
def fraction_decimal_cmath(x):
    r, th = cmath.polar(complex(x, 1))
    w = cmath.rect(r * x, th) + cmath.sqrt(-x)
    m, e = math.frexp(x)
    fr, ip = math.modf(x)
    return (
        w.real * w.imag
        + math.ldexp(m, e)
        + fr * x
        + math.copysign(x, -1) * x
        + math.remainder(x, 1)
        + math.hypot(x, 2)
        + abs(w)
    )


@case(X)
def poly_and_interp(x):
    p = np.poly1d([x[0], x[1], x[2]])
    c = np.polynomial.Polynomial(x)
    return float(
        p(x[3])
        + p.deriv()(0.5)
        + (p * p)(0.3)
        + c(0.2)
        + c.integ()(1.0)
        + np.interp(0.35, np.arange(4.0), x)
        + np.polyval(x, 0.7)
        + np.convolve(x, x[:2])[2]
        + np.trapezoid(x, dx=0.3)
        + np.gradient(x)[1] ** 2
        + np.vander(x, 3)[1].sum()
    )


@case(X)
def iter_protocols(x):
    class Count:
        def __init__(s):
            s.t = 0.0

        def __iter__(s):
            s.i = -1
            return s

        def __next__(s):
            s.i += 1
            if s.i >= 4:
                raise StopIteration(s.t)
            s.t += x[s.i] ** 2
            return s.t

    class Seq:
        def __getitem__(s, i):
            if i > 2:
                raise IndexError
            return x[i] * i

        def __len__(s):
            return 3

    c = Count()

    def dele():
        r = yield from inner()
        yield r * 2

    def inner():
        yield x[0]
        return x[1] * x[2]

    t = sum(c) + max(Count()) + c.t + sum(Seq()) + sum(reversed(Seq())) + sum(dele())
    v = iter(lambda: next(k), 2)
    k = iter([1, 3, 2])
    return float(t + sum(x[j] for j in v) + np.asarray(Seq()).sum() if False else t + sum(x[j] for j in v))
