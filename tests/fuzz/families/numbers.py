"""Numbers other than floats: int arguments, complex numbers."""

from __future__ import annotations

from ..grammar import Family

INTEGERS = Family(
    "integers",
    prelude="""\
def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r = r * x
    return r


def horner(x, *cs):
    r = 0
    for c in cs:
        r = r * x + c
    return r


class Tally:
    count = 0

    def __init__(self, n):
        self.n = n

    def add(self, k):
        self.n += k
        self.count += 1
        return self.n * self.count


""",
    leaves=("n", "f", "n", "v"),
    start=("{=o} = Tally({N})",),
    expressions={
        "n": [
            "({n} + {n})",
            "{n} * {n}",
            "({n} - {n})",
            "-{N}",
            "abs({N})",
            "{N} ** 2",
            "pow({N}, 3)",
            "max({N}, {n} - 7)",
            "min({N}, {n} + 7)",
            "sum([{N}, {N}, 1])",
            "power({N}, 2)",
            "horner({N}, 1, {N}, -2)",
            "{O}.add({n})",
            "{O}.n",
            "({n} if {c} else {n})",
            "functools.reduce(lambda p, q: p * q, [{N}, {N}])",
            "[{n}, {n}][0]",
            "{'k': {n}}['k']",
            "math.prod([{N}, {N}])",
            "int({n})",
            "round({n})",
        ],
        "f": [
            "{n} / 3",
            "{n} * {f}",
            "math.sin({N})",
            "np.tanh({N})",
            "np.sum({N} * {v})",
            "np.array([{N}, {f}]).sum()",
            "float({N})",
            "{f} ** 2 * {N}",
            "math.sqrt(1 + {N} ** 2)",
            "np.multiply({N}, {f})",
            "(1.5 + {f} ** 2) ** ({N} / 4)",
            "divmod({f} ** 2 + 0.7, 2.5)[1] * {N}",
            "np.float64({N}) * {f}",
        ],
    },
    statements=[
        "{N} += {n}",
        "{N} *= 2",
        "{=n} = {n}",
        "{=n}, {=f} = {f} * 0 + {n}, {f}",
        "{=o} = Tally({n})",
        "{O}.n = {n}",
        "for {+q} in range(3):\n    {N} = {N} + {1}\n    {F} = math.sin({f})",
        "{=f} = math.sin({n} * {f})",
    ],
    observed={"n": "math.sin({x})", "o": "math.cos({x}.n)"},
    settings=["ORDER = 2?"],
)

COMPLEX = Family(
    "complex_numbers",
    leaves=("z", "u", "f", "v"),
    expressions={
        "z": [
            "({z} + {z})",
            "{z} * {z}",
            "({z} / (2.5 + abs({z}) ** 2))",
            "{z}.conjugate()",
            "np.conj({z})",
            "complex({f}, {f})",
            "{f} * {z}",
            "(0.3 + 0.4j) * {z}",
            "np.exp(1j * {f}) * {z}",
            "cmath.tanh(0.3 * {z})",
            "np.sin(0.3 * {z})",
            "np.sum({u})",
            "{U}[{i}]",
            "np.vdot({u}, {u})",
            "({u} @ {u})",
            "({z} ** 2)",
            "np.tanh({z} * 0.2) ** 3",
            "complex({F})",
        ],
        "u": [
            "({u} + {v})",
            "{u} * {u}",
            "{z} * {v}",
            "{u}.conj()",
            "np.exp(1j * {v})",
            "{U}[::-1]",
            "np.where({V} > 0.1, {u}, {u})",
            "np.array([{z}, {f}, {z}])",
            "np.fft.fft({v})",
            "np.tanh(0.3 * {v}) * (1 + 2j)",
            "{v} + 1j * {v}",
            "np.sqrt({v} + 2j)",
        ],
        "v": ["{U}.real", "{U}.imag", "np.abs(2.0 + {u})", "np.angle(2.5 + np.tanh({v}) * {u} / (1 + np.abs({u})))"],
        "f": [
            "{Z}.real",
            "{Z}.imag",
            "abs({z} + 3)",
            "np.abs({u}).sum()",
            "np.linalg.norm({u})",
            "math.hypot({Z}.real, {Z}.imag)",
        ],
    },
    statements=[
        "{=z} = {z}",
        "{=u} = {u}",
        "{Z} *= {z}",
        "{Z} += {f}",
        "{U}[{i}] = {z}",
        "{U}[{i}] *= {f}",
        "{U}.real = {v}",
        "{U}.imag *= {f}",
        "{U} += {v}",
        "{U} *= 1j",
        "if abs({z}) > 0.7:\n    {block}",
        "np.multiply({u}, {z}, out={U})",
        "{+t} = {U}.real\n{1}[{i}] = {f}",
    ],
    observed={"z": "abs({x} + 9.0)", "u": "(np.sin({x}.real) + 0.2 * {x}.imag).sum()"},
    prelude="import cmath\n\n",
    settings=["ORDER = 2?"],
)

FAMILIES = (INTEGERS, COMPLEX)
