"""Shared arguments: one array, list or object in several places, and changed; threads; checkpoints with state."""

from __future__ import annotations

from ..grammar import Family

CLASSES = """\
class Box:
    def __init__(self, w, s):
        self.w, self.s = w, s
        self.kept = None

    def total(self):
        return np.sum(self.w) * self.s

    def keep(self):
        if self.kept is None:
            self.kept = self.s * 2.0
        return self.kept

    def grow(self, s):
        self.w *= s
        self.s = self.s + s


def total(x):
    if isinstance(x, dict):
        return sum(total(x[k]) for k in x)
    if isinstance(x, (list, tuple)):
        return sum(total(e) for e in x)
    if isinstance(x, Box):
        return x.total()
    return np.sum(x)


def walk(tree, s):
    for key, x in tree.items():
        if isinstance(x, np.ndarray):
            tree[key] = x * s
    return tree

"""

READS = [
    "{D}['a'] @ {D}['b']",
    "{D}['a'][{i}]",
    "{D}['l'][0]",
    "total({D})",
    "total({L})",
    "{L}[0].sum()",
    "{L}[1] * {f}",
    "{O}.s",
    "{O}.total()",
    "{O}.keep()",
    "{O}.w[{i}]",
    "np.sum({D}['a'] * {L}[0])",
    "{D}.get('s', {f})",
    "sum(np.sum(e) for e in {L})",
    "{D}['o'].s",
    "len({L}) * {f}",
]
SHARED = Family(
    "shared",
    prelude=CLASSES,
    leaves=("v", "v", "f", "f", "v", "v", "v"),
    arguments=(
        "d = {'a': a, 'b': a, 'l': [c, b], 'o': Box(a, c), 's': d}",
        "l = [e, c, f, e]",
        "o = Box(g, d)",
        "f = c",
        "f = d",
    ),
    expressions={"f": READS, "v": ["{D}['a']", "{L}[0]", "{O}.w", "({O}.w + {D}['b'])"]},
    statements=[
        "{D}['a'] *= {f}",
        "{D}['b'] = {D}['b'] * {f}",
        "{D}['a'][{i}] = {f}",
        "{D}['s'] = {f}",
        "{D}['l'].append({f})",
        "{D}['l'][0] = {f}",
        "{D}['new'] = {f}",
        "{D}['o'].grow({f})",
        "{L}[0] += {f}",
        "{L}[0] = {v}",
        "{L}.append({v})",
        "{L}.reverse()",
        "{L}[1], {L}[2] = {L}[2], {L}[1]",
        "{L}[{i}] = {v}",
        "{O}.grow({f})",
        "{O}.w = {v}",
        "{O}.w = {D}['a']",
        "{O}.s *= {f}",
        "{=v} = {v}",
        "{=v} = {D}['b']\n{1}[{i}] *= {f}",
        "{=v} = {L}[0]\n{1} += {v}",
        "walk({D}, {f})",
        "for {+e} in tuple({L}):\n    {block}",
        "for {+e}, {+y} in list({D}.items()):\n    {block}",
        "{=o} = Box({v}, {f})",
        "{=l} = [{v}, {f}, {v}]",
        "{=l} = {L}[::-1] + [{f}]",
        "del {D}['s']\n{D}['s'] = {f}",
        "{+t} = {D}.pop('s')\n{=f} = {1} * {f}\n{D}['s'] = {1}",
        "{=f} = {D}['o'].keep() * {f}",
    ],
    observed={"d": "total({x})", "l": "total({x})", "o": "{x}.total()"},
    common=0.25,
)

SHARED_CONTAINERS = Family(
    "shared_containers",
    prelude=CLASSES
    + """\


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

""",
    leaves=("v", "v", "f", "f"),
    arguments=(
        "p = Pair(*(2 * [Box(a, c)]))",
        "d = (lambda i: {'p': i, 'q': i, 'w': b, 'v': (b, [b])})([d, c])",
        "f = c",
        "f = d",
    ),
    expressions={
        "f": [
            "{P}.left.s",
            "{P}.right.total()",
            "{P}.left.keep()",
            "{D}['p'][0]",
            "{D}['q'][{j}]",
            "total({D})",
            "{D}['w'].sum()",
            "{D}['v'][1][0][{i}]",
            "{D}['v'][0] @ {D}['w']",
            "({f} if {P}.left is {P}.right else 100.0)",
        ],
        "v": ["{P}.left.w", "{P}.right.w", "{D}['w']", "{D}['v'][0]"],
    },
    statements=[
        "{P}.left.s = {f}",
        "{P}.left.grow({f})",
        "{P}.right.w[{i}] = {f}",
        "{P}.left = Box({v}, {f})",
        "{P}.left, {P}.right = {P}.right, {P}.left",
        "{D}['p'][0] = {f}",
        "{D}['q'].append({f})",
        "{D}['p'] = [{f}, {f}]",
        "{D}['w'] *= {f}",
        "{D}['v'][1][0] = {v}",
        "{D}['v'][0][{i}] = {f}",
        "{D}['w'] = {v}",
        "{=v} = {D}['w']\n{1} *= {v}",
        "{=v} = {P}.right.w",
    ],
    observed={"p": "({x}.left.total() + {x}.right.total())", "d": "total({x})"},
    common=0.25,
)

THREADS = Family(
    "threads",
    prelude=CLASSES,
    leaves=("v", "v", "f", "f"),
    arguments=("d = {'a': a, 'l': [c, b], 'o': Box(a, c), 's': d}", "l = [b, c]", "o = Box(b, d)", "f = c"),
    expressions={"f": ["{D}['a'][{i}]", "{D}['l'][0]", "total({D})", "{O}.s", "{O}.total()", "np.sum({D}['a'] * {L}[0])", "total({L})"],
                 "v": ["{D}['a']", "{L}[0]", "{O}.w", "{O}.w.copy()"]},
    statements=[
        "{=o} = Box({v}, {f})",
        "{=l} = [{v}, {f}]",
        "{=f} = {f} * {f}",
        "for {+e} in {L}:\n    {F} += np.sum({1}) * {f}",
        "{=d} = {**{D}, 's': {f}}",
    ],
    settings=["THREADS = 4"],
    observed={"d": "total({x})", "l": "total({x})", "o": "{x}.total()"},
    common=0.4,
    length=(1, 4),
)  # fmt: skip

CHECKPOINTS = Family(
    "checkpoints",
    prelude="""\
LOG = [0.5]


class Cell:
    def __init__(self, s):
        self.s, self.h = s, s * 0.5

    def step(self, x):
        self.h = math.tanh(self.h * self.s + x)
        return self.h

    def run(self, xs):
        return sum([mo.checkpoint(self.step, x) for x in xs])


def pure(x, y=0.5):
    return math.sin(x * y) * x


def logged(x):
    LOG.append(x * 2.0)
    return x * x


def writes(v, s):
    v[0] = v[0] * s
    return v.sum()


def stores(d, x):
    d["x"] = x * x
    return x


def fills(items, x):
    items.append(x)
    items[0] = items[0] * x
    return sum(items)


def pairs(x, v):
    return x * 2.0, v * x


def counting(s):
    n = 0.0

    def add(x):
        nonlocal n
        n = n + x * s
        return n * x

    return add, lambda: n

""",
    start=("{=o} = Cell({f})", "{=d} = {'x': {f}}", "{=l} = [{f}]", "{=add}, {=read} = counting({f})"),
    expressions={
        "f": [
            "mo.checkpoint(pure, {f})",
            "mo.checkpoint(pure, {f}, y={f})",
            "mo.checkpoint(logged, {f})",
            "mo.checkpoint(lambda q: q * {F} + {f}, {f})",
            "mo.checkpoint({O}.step, {f})",
            "{O}.run([{f}, {f}])",
            "{O}.h",
            "sum(LOG)",
            "mo.checkpoint(stores, {D}, {f})",
            "{D}['x']",
            "mo.checkpoint(fills, {L}, {f})",
            "{L}[0]",
            "mo.checkpoint(writes, {V}, {f})",
            "mo.checkpoint({ADD}, {f})",
            "{READ}()",
            "mo.checkpoint(lambda: {F} * {f})",
            "mo.checkpoint(pairs, {f}, {v})[1].sum()",
            "mo.checkpoint(math.sin, {f})",
            "mo.checkpoint(lambda q: mo.checkpoint(pure, q) * {f}, {f})",
        ]
    },
    statements=[
        "{=f} = mo.checkpoint({O}.step, {f})",
        "mo.checkpoint(writes, {V}, {f})",
        "mo.checkpoint(stores, {D}, {f})",
        "mo.checkpoint(fills, {L}, {f})",
        "{=f}, {=v} = mo.checkpoint(pairs, {f}, {v})",
        "mo.checkpoint({L}.append, {f})",
        "mo.checkpoint(setattr, {O}, 's', {f})",
        "for {+n} in range(3):\n    {F} = mo.checkpoint({O}.step, {F})",
        "def {+y}(q):\n    {O}.h = {O}.h * q\n    return q * {f}\n{=f} = mo.checkpoint({1}, {f})",
        "{O}.s = {f}",
        "{V}[{i}] *= {f}",
        "{L}.append({f})",
    ],
    observed={"o": "({x}.h + {x}.s)", "d": "{x}['x']", "l": "sum({x})", "read": "{x}()"},
    common=0.2,
    length=(1, 5),
)

SAME_ARGUMENTS = Family(
    "same_arguments",
    prelude=CLASSES,
    leaves=("v", "v", "f", "f"),
    arguments=("d = {'a': a, 'b': b, 's': c}", "l = [a, c, b]", "o = Box(b, c)", "v = a", "v = a", "f = c", "f = c"),
    expressions={
        "f": ["{D}['a'] @ {V}", "{D}['s']", "{L}[1]", "{O}.total()", "total({L})"],
        "v": ["{D}['b']", "{L}[0]"],
    },
    statements=["{=v} = {V} * {v}", "{=l} = [{v}, {f}, {v}]", "{=f} = {f} * {f}", "{=o} = Box({v}, {f})"],
    observed={"d": "total({x})", "l": "total({x})", "o": "{x}.total()"},
    length=(1, 4),
)

FAMILIES = (SHARED, SAME_ARGUMENTS, SHARED_CONTAINERS, THREADS, CHECKPOINTS)
