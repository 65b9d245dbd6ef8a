"""Arrays: calling forms with ``out`` and ``where``, constant indices, non-finite values, kinks, float32."""

from __future__ import annotations

from ..grammar import Family

WRITES = [
    "{V}[{i}] = {f}",
    "{V}[{i}] += {f}",
    "{V}[1:] *= {v}[:-1]",
    "{V}[::-1] += {v}",
    "{M}[{j}] = {v}",
    "{M}[:, {i}] *= {f}",
]
OUT = Family(
    "out_where",
    statements=[
        *WRITES,
        "np.add({v}, {v}, {V})",
        "np.add({v}, {v}, out={V})",
        "np.multiply({V}, {v}, out={V})",
        "np.multiply({v}, {v}, {V}, where={w})",
        "np.subtract({v}, {v}, out={V}, where={w})",
        "np.subtract({V}, {v}, {V}, where={w})",
        "np.tanh({v}, {V})",
        "np.sin({V}, {V}, where={w})",
        "np.negative({V}[::-1], out={V})",
        "np.clip({V}, -0.7, {k}, {V})",
        "np.clip({v}, -0.7, 0.9, out={V})",
        "{V}.clip(-0.7, 0.8, {V})",
        "np.maximum({v}, {v}, {V})",
        "np.divide({v}, 2.0 + {v} ** 2, out={V}, where={w})",
        "np.power(1.5 + np.tanh({v}), {k}, {V})",
        "np.sum({m}, 0, None, {V})",
        "np.sum({m}, axis=0, out={V})",
        "{M}.sum(axis=0, out={V})",
        "np.add.reduce({m}, 0, None, {V})",
        "np.add.reduce({m}, axis=0, out={V}, where={w})",
        "np.subtract.reduce({m}, axis=0, out={V})",
        "np.multiply.reduce({m}, axis=0, out={V})",
        "np.cumsum({v}, out={V})",
        "np.add.accumulate({v}, 0, None, {V})",
        "np.mean({m}, 0, out={V})",
        "np.mean({m}, axis=0, out={V}, where={w})",
        "np.max({m}, axis=0, out={V})",
        "np.var({m}, axis=0, out={V})",
        "np.dot({m}, {v}, out={V}[:2])",
        "np.matmul({m}, {v}, {V}[1:])",
        "np.outer({v}[:2], {v}, {M})",
        "np.take({v}, [2, 0, 0], out={V}, mode='clip')",
        "np.copyto({V}, {v}, where={w})",
        "np.copyto({V}, {v})",
        "np.put({V}, [0, 2], {v}[:2])",
        "np.putmask({V}, {w}, {v})",
        "np.place({V}, {w}, [{f}])",
        "np.add.at({V}, [0, 0, {i}], {v})",
        "np.fill_diagonal({M}, {f})",
        "np.einsum('ij,j->i', {m}, {v}, out={V}[:2])",
        "np.concatenate([{v}[:1], {v}[1:]], out={V})",
        "np.stack([{v}, {v}], out={M})",
        "np.percentile({m}, 30.0, 0, {V})",
        "np.quantile({m}, 0.3, axis=0, out={V})",
        "np.median({m}, axis=0, out={V})",
        "{V}.fill({f})",
        "{V}.flat[{i}] = {f}",
        "{V}.flat = {v}",
        "{V}[{w}] = {f}",
        "{V}[{w}] *= {v}[{W}]",
        "{=w} = {V} > {k}",
        "{+t}, {+u} = np.modf({v}, {V}, np.empty(3))",
        "np.round({v}, 1, {V})",
        "np.trace({m}[:, :2], out={V}[0:1].reshape(()))",
        "np.compress([True, False, True], {v}, out={V}[:2])",
        "{V}.sort()",
        "{V}[...] = np.sort({v})",
    ],
    start=("{=v} = np.zeros(3)", "{=w} = np.array([True, False, True])"),
    expressions={
        "f": [
            "np.sum({v}, where={w})",
            "np.sum({v}, where={w}, initial={f})",
            "np.mean({v}, where={w})",
            "np.max({v}, where={w}, initial=-9.0)",
            "np.prod({v}, initial={f})",
            "{V}.sum(where={w})",
            "np.add.reduce({v}, initial={f}, where={w})",
            "np.linalg.norm({v})",
            "np.std({v}, where={w})",
            "np.sum({v}, initial={f})",
            "float({V}.dot([1.0, {f}, 2.0]))",
        ],
        "v": ["np.add({v}, {v}, np.zeros(3))", "np.multiply({v}, {v}, where={w}, out={v} * 1.0)"],
        "w": ["{W}", "({V} > 0.13)", "np.array([False, True, True])", "[True, True, False]", "({v} < {f})"],
    },
)

INDICES = Family(
    "indices",
    prelude="""\
TABLE = np.array([0, 0, 1])
LIST = [2, 0, 2]
NEGATIVE = np.array([-1, 1, -1])
MASK = np.array([True, False, True])
MASKS = [True, True, False]
PAIR = ([0, 1, 1], [2, 2, 0])
ROWS = np.array([[0, 1], [1, 0]])
ROW = (1, Ellipsis)
SLICE = slice(None, None, -1)
MIXED = (None, slice(0, 2), [0, 0, 1])
WEIGHTS = np.array([0.5, -1.0, 2.0])


class Layer:
    places = [1, 1, 0]

    def __init__(self, places):
        self.own = places


LAYER = Layer(np.array([0, 2, 2]))


def closure(places):
    return lambda x: x[places]


PICK = closure([0, 0, 2])


def by_default(x, places=(1, 1, 1)):
    return x[list(places)]

""",
    leaves=("f", "v", "v", "m"),
    expressions={
        "v": [
            "{V}[TABLE]",
            "{V}[LIST]",
            "{V}[NEGATIVE]",
            "{V}[LAYER.places]",
            "{V}[LAYER.own]",
            "PICK({v})",
            "by_default({v})",
            "closure([2, 2, 1])({v})",
            "{V}[SLICE]",
            "{M}[PAIR]",
            "{M}[ROW]",
            "{M}[0][TABLE]",
            "{M}[{j}, TABLE]",
            "{M}[TABLE, LIST]",
            "{V}[[0, 0, 1]]",
            "{V}[np.array([1, 1, 1])]",
            "np.take({v}, TABLE)",
            "{V}.take(LIST)",
            "np.where(MASK, {v}, {v}[TABLE])",
            "np.choose(TABLE, [{v}, {v}])",
            "np.select([MASK, {V} > {f}], [{v}, {v}], {f})",
            "np.bincount(TABLE, {v}, minlength=3)",
            "(lambda p: {V}[p])([0, 1, 1])",
            "{V}[[t for t in LIST]]",
            "{V}[tuple([LIST])]",
            "np.take_along_axis({v}, TABLE, 0)",
            "{V}[np.argsort({v})]",
            "{V}[TABLE + 1]",
            "{V}[list(TABLE)]",
        ],
        "m": [
            "{m}[ROWS[0]]",
            "{m}[[1, 1]]",
            "{m}[TABLE][:2]",
            "{m}[..., LIST]",
            "{m}[:, TABLE]",
            "np.take({m}, LIST, 1)",
        ],
        "f": [
            "{V}[MASK].sum()",
            "{V}[MASKS].sum()",
            "{V}[ROWS].sum()",
            "{M}[MIXED[1:]].sum()",
            "{M}[:, MASK].sum()",
            "np.sum({v}[TABLE] * WEIGHTS)",
            "{V}[LIST[{j}]]",
            "{V}[TABLE[{j}]]",
            "{V}[int({n}) % 3]",
            "sum({V}[t] for t in TABLE)",
            "{M}[np.ix_([0, 0], LIST)].sum()",
        ],
    },
    statements=[
        "{V}[TABLE] = {v}",
        "{V}[LIST] += {v}",
        "{V}[MASK] *= {f}",
        "{V}[NEGATIVE] -= {f}",
        "np.add.at({V}, TABLE, {v})",
        "np.add.at({V}, LIST, {f})",
        "np.multiply.at({V}, LAYER.own, {v})",
        "{M}[{j}, LIST] = {v}",
        "{M}[:, TABLE] += {f}",
        "{M}[ROW] *= {v}",
        "{M}[PAIR] = {f}",
        "for {+n} in LIST:\n    {V}[{1}] *= {f}",
        "for {+n} in TABLE:\n    {V}[{1}] = {V}[{1} - 1] * {f}",
        "{=v} = {V}[LIST] * {v}",
        "{=v} = {V}[TABLE]",
        "{V}[[0, 0, 1]] = {v}",
        "LAYER.own = np.array([1, 1, {j}])",
    ],
)

NONFINITE = Family(
    "nonfinite",
    prelude="""\
NAN = np.array([1.0, np.nan, 2.0])
INF = np.array([np.inf, 1.0, 0.5])


def inverse(x):
    return 1.0 / x if x > 0.0 else 0.0


def guarded(v):
    with np.errstate(all="ignore"):
        return np.where(v > 0.0, np.log(v), 0.0)

""",
    leaves=("f", "guarded", "guarded", "v"),
    expressions={
        "f": [
            "np.nansum({v} * NAN)",
            "np.nanmean({v} * NAN)",
            "np.nansum(np.where(MASK_, {v}, NAN))".replace("MASK_", "[True, False, True]"),
            "inverse({f})",
            "inverse({V}[{i}])",
            "np.exp(-(1.5 + {f} ** 2) * np.inf)",
            "math.exp(-(1.5 + {f} ** 2) * math.inf)",
            "min({f}, math.inf)",
            "max({f}, -math.inf)",
            "math.tanh(700.0 * {f}) * {f}",
            "np.nan_to_num({f} / 0.5)",
            "(lambda q: math.log(q) if q > 0.2 else 0.0)({f})",
            "np.sum(np.minimum({v}, INF))",
            "np.max(np.where({V} > 0, {v}, -np.inf), initial=-5.0)",
            "np.nanmax({v} * NAN)",
            "(np.array([0.0, np.inf]) * np.array([1.0, 0.0]))[0] + {f}",
        ],
        "v": [
            "guarded({v})",
            "(lambda q: np.where(q > 0.2, np.sqrt(q), 0.0))({v})",
            "(lambda q: np.where(q > 0.2, np.log(q), {v}))({v})",
            "(lambda q: np.where(q > 0.2, 1.0 / q, 0.0))({v})",
            "(lambda q: np.divide({v}, q, out=np.zeros(3), where=q > 0.2))({v})",
            "(lambda q: np.log(q, out=np.zeros(3), where=q > 0.2))({v})",
            "np.nan_to_num({v} * NAN)",
            "np.where(np.isnan(NAN), {v}, NAN * {v})",
            "np.exp(-INF) * {v}",
            "np.minimum({v}, INF)",
            "np.sqrt(np.maximum({v}, 0.5))",
            "(lambda q: np.where(np.abs(q) < 0.1, 1.0, np.sin(q) / q))({v})",
            "(lambda q: np.select([q > 0.2, q < -0.2], [np.log(q), 1 / q], 0.0))({v})",
            "np.exp(-np.array([1.0, 2.0, np.inf]) * (1.1 + np.tanh({v})))",
        ],
    },
    statements=[
        "{=v} = {v}",
        "{=f} = {f}",
        "if {F} > 0.0:\n    {F} = math.log({F})\nelse:\n    {block}",
        "{V}[{V} < 0.2] = {f}",
    ],
    settings=['np.seterr(all="ignore")'],
    length=(1, 4),
    common=0.2,
)

KINKS = Family(
    "kinks",
    leaves=("tie", "tie", "ties", "ties", "tie"),
    settings=["TIES = True"],
    base=False,
    expressions={
        "f": [
            "max({F}, {F}, {F})",
            "max({F}, {F})",
            "min({F}, {F}, {F})",
            "min([{F}, {F}, {F}])",
            "max({V})",
            "min(*{V})",
            "np.max({V})",
            "np.min({V})",
            "{V}.max()",
            "np.maximum({F}, {F})",
            "np.fmin({F}, {F})",
            "np.median({V})",
            "np.ptp({V})",
            "sorted([{F}, {F}, {F}])[{i}]",
            "np.sort({V})[{i}]",
            "np.clip({F}, {F}, 2.0)",
            "np.max({V}, where=[True, True, False], initial=-3.0)",
            "abs({F} - {F})",
            "math.fabs({F})",
            "np.linalg.norm({V}, np.inf)",
            "np.percentile({V}, 50)",
            "math.hypot({F}, {F})",
            "np.nanmax({V})",
            "np.maximum.reduce({V})",
            "functools.reduce(max, [{F}, {F}, {F}])",
            "max({F}, {F}, key=lambda q: q)",
            "({F} if {F} > {F} else {F})",
            "max([({F}, 1), ({F}, 2)])[0]",
            "np.sum({v})",
            "{F} * {F}",
            "{f} * 0.5",
            "math.sin({f})",
        ],
        "v": [
            "np.maximum({V}, {V})",
            "np.minimum({V}, {F})",
            "np.clip({V}, {F}, 3.0)",
            "np.sort({V})",
            "np.maximum.accumulate({V})",
            "np.abs({V})",
            "np.where({V} > {F}, {V}, {V})",
            "np.fmax({V}, {V})",
            "np.heaviside({V}, 0.5) * {V}",
        ],
        "n": ["2"],
    },
    statements=[
        "{=f} = {f}",
        "{=f} = {f} * {f}",
        "{=v} = {v}",
        "{F} = {f}",
        "for {+n} in range(2):\n    {F} = max({F}, {f})",
    ],
    observed={"f": "math.sin({x})"},
    common=0.0,
    length=(1, 3),
)

SINGLE = Family(
    "single",
    leaves=("f", "single", "single", "f"),
    expressions={
        "v": ["{V}.astype(np.float32)", "{V}.astype(float)", "np.float32(0.5) * {v}", "np.float32({k}) * {v}"],
        "f": ["float(np.float32({f}))", "{V}.mean()", "np.float32(2.0) * {f}"],
    },
    statements=[
        *WRITES,
        "{=v} = {V} * {v}",
        "{=v} = np.zeros(3, np.float32)",
        "{V} += {f}",
        "{V} *= 0.5",
        "{=v} = {V}.astype(np.float32)",
    ],
)

FAMILIES = (OUT, INDICES, NONFINITE, KINKS, SINGLE)
