"""Built-in functions on active values."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest

import morula as mo

SCALARS = {
    "abs": lambda x, y: abs(-x) * abs(y) + abs(x + 1j * y),
    "round-to-digits": lambda x, y: round(x, 1) * y,
    "divmod": lambda x, y: divmod(x, y)[1] * x + divmod(x, y)[0] * y,
    "pow": lambda x, y: pow(x, y) + pow(x, 3) + pow(2, y),
    "float": lambda x, y: float(x) * y,
    "complex": lambda x, y: (complex(x, y) ** 2).imag,
    "min-of-two": lambda x, y: min(x, y) * 3 + x,
    "max-of-two": lambda x, y: max(x, y) * y,
    "max-of-three": lambda x, y: max(x, y, x * y) + min(x * y, 100, x),
    "min-key": lambda x, y: min(x, y, -3.0, key=abs) * x,
    "max-default": lambda x, y: max([], default=x) * max((x, y), key=lambda a: -a) * y,
    "sum-start": lambda x, y: sum([x, y], x * y) + sum((x, y), start=1.0),
    "sum-of-lists": lambda x, y: sum([[x], [y, x]], [])[2] * y,
    "any-all": lambda x, y: x * any([x > 3, y > 1]) + y * all([x > 1, y > 1]),
    "zip": lambda x, y: sum(a * b for a, b in zip((x, y), (y * y, 2.0, 3.0))),  # noqa: B905
    "zip-transposes": lambda x, y: sum(list(zip(*[(x, y), (y, x * x)]))[1]),  # noqa: B905
    "enumerate": lambda x, y: sum(i * a for i, a in enumerate([x, y, x * y], start=2)),
    "map": lambda x, y: sum(map(lambda a: a * y, [x, y])) + sum(map(math.hypot, (x, y), (y, y))),
    "filter": lambda x, y: sum(filter(lambda a: a > 1.5, [x, y, x * y])) + sum(filter(None, [x, 0.0])),
    "sorted": lambda x, y: sorted([x, y, x * y])[1] * sorted([x, y], reverse=True)[0],
    "sorted-key": lambda x, y: sorted([(x, 1.0), (y, x)], key=lambda p: p[0])[0][1] * y,
    "reversed": lambda x, y: list(reversed([x, y]))[0] * tuple(reversed((x, y * y)))[0],
    "iter-next": lambda x, y: next(iter([x, y])) * next(iter(()), y),
    "iter-sentinel": lambda x, y: sum(iter([1.0, x, y].pop, 1.0)) * x,
    "iter-sentinel-or-end": lambda x, y: sum(iter(iter([x, y]).__next__, 7.0)) * x,
    "list-tuple-set-dict": lambda x, y: list((x, y))[0] * tuple([y])[0] + sum({x, y}) + dict(a=x)["a"],
    "frozenset": lambda x, y: sum(frozenset([x, y])) * x,
    "slice": lambda x, y: sum([x, y, x * y][slice(1, None)]),
    "len-range": lambda x, y: x * len([x, y]) + sum(y * i for i in range(1, 6, 2)),
    "isinstance": lambda x, y: x if isinstance(x, (float, int)) and hasattr(y, "real") else y,
    "bool-int": lambda x, y: x * int(y > 1) + y * bool(x) + int(x) * y,
    "repr-str": lambda x, y: x * len(repr(int(y))) + y * len(str(True)),
    "id-hash-type": lambda x, y: x * (type(y) is float) + y * (id(x) == id(x)) + x * (hash(y) == hash(y)),
    "vars-getattr": lambda x, y: getattr(x, "real") * getattr(y, "none", x),  # noqa: B009
    "math.prod": lambda x, y: math.prod([x, y, x]) + math.prod((x, y), start=x),
    "math.fsum": lambda x, y: math.fsum([x, y, x * y]) * x,
    "math.floor": lambda x, y: math.floor(x) * y + math.ceil(y) * x + math.trunc(x) * y,
    "math.fmod": lambda x, y: math.fmod(x, y) * y,
    "math.dist": lambda x, y: math.dist((x, y), (1.0, x * y)),
    "math.copysign": lambda x, y: math.copysign(x, -y) * y,
    "math.isnan": lambda x, y: x if not math.isnan(y) and math.isfinite(x) and math.isclose(x, x) else y,
    "math.pow": lambda x, y: math.pow(x, y) * math.sqrt(y),
    "float-methods": lambda x, y: x.conjugate() * y.real + y.imag + x * x.is_integer() + x.__add__(y),
    "complex-parts": lambda x, y: (x + 1j * y).real * (x * 1j).imag + ((x + y * 1j) * (x - y * 1j)).real,
    "int-methods": lambda x, y: x * (5).bit_length() + y * (3).conjugate(),
}


@pytest.mark.parametrize("name", SCALARS)
def test_builtin(check, name):
    if name == "round-to-digits":
        assert mo.gradient(SCALARS[name], 2.71, 1.3) == (0.0, 2.7)
    else:
        check(SCALARS[name], 2.7, 1.3)


def test_equal_maxima_share_equally():
    assert mo.gradient(lambda x, y: max(x, y), 2.0, 2.0) == (0.5, 0.5)
    assert mo.gradient(lambda v: min(v), [1.0, 3.0, 1.0]) == ([0.5, 0.0, 0.5],)


def test_abs_at_zero_has_subgradient_zero():
    assert mo.gradient(abs, 0.0) == (0.0,)


class Term:
    """Adds to a number from the right and gives a number."""

    def __init__(self, x):
        self.x = x

    def __radd__(self, other):
        return other + self.x


SUMS = {
    "floats": lambda x: sum([x] * 10),
    "ints first": lambda x: sum([1, True, 2**70, -(2**70), x, 3, x, 0.3]),
    "a float to start from": lambda x: sum([1, -x, 7, x * x], x * 1e-3),
    "ints from a float": lambda x: sum([3, 1, -7], x) * x,
    "a NumPy number among them": lambda x: sum([x] * 10 + [np.float64(x)] + [x] * 10),
    "a NumPy number to start from": lambda x: sum([x] * 10, np.float64(x)),
    "an array to start from": lambda x: sum([x] * 10, np.ones(2)).sum(),
    "objects": lambda x: sum([Term(x), *[x] * 10, Term(x), *[x] * 10, Term(1.0), x]),
    "complex numbers": lambda x: abs(sum([x, 0.3, x * 1j, 0.7j, x, 0.1])),
    "a generator": lambda x: sum(x * k for k in range(1, 11)),
    "of sums": lambda x: sum([sum([x, x * x, 0.3]), sum([]), sum([x]), sum([], x)]),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("x", [0.1, 0.7])
def test_sum_has_the_bits_that_python_gives_it(check, name, x):
    check(SUMS[name], x)
    check(lambda x: mo.gradient(lambda x: SUMS[name](x) ** 2, x)[0], x, rtol=1e-7)


def test_sum_of_floats_that_cancel():
    for x in (0.1, 0.7):
        for terms in ([1e16, 1.0, -1e16], [2**60, 1, -(2**60)], [1e16, 1j, -1e16]):
            y, back = mo.vjp(lambda x: sum([x, *terms, x * x], x), x)
            assert y == sum([x, *terms, x * x], x)
            assert back(1.0) == pytest.approx((2 + 2 * x,))


def test_sum_of_ints_and_floats_that_are_arguments():
    assert mo.gradient(lambda a, b, c: sum([a, b, 0.5], c), 2, 1.5, 3) == (1, 1.0, 1)
    assert mo.gradient(lambda a, b: sum([a, b, a]), 2, 3) == (2, 1)
    assert mo.gradient(lambda a, z: abs(sum([a, z])) ** 2, 2.0, 1 + 4j) == (6.0, 6 + 8j)
    with pytest.raises(TypeError, match="sum.. can't sum strings"):
        mo.gradient(lambda x: x * len(sum(["a", "b"], "")), 1.0)


def test_sum_of_arrays(check):
    check(lambda a: sum([a, a * a], np.ones(2)).prod() + sum(a), np.array([1.0, 2.0]))


def test_min_and_max_of_an_array_by_the_builtins(check):
    check(lambda a: max(a) * min(a * a) + sorted(a)[1], np.array([3.0, 1.0, 2.0]))


def test_map_over_several_iterables_with_a_method(check):
    check(lambda v: sum(map(float.__mul__, v, v[1:])) + sum(map([].append, v) and v), [1.0, 2.0, 3.0])


def test_map_is_lazy(check):
    def f(x):
        log = []
        m = map(lambda k: log.append(x * k) or x * k, [1.0, 2.0, 3.0])
        y = next(m)
        return y + sum(log)

    check(f, 1.5)


def test_fractions_pass_through():
    def f(x):
        return x * fractions.Fraction(1, 2)

    assert mo.gradient(f, 3.0) == (0.5,)


def test_strings_and_bytes_pass_through(check):
    def f(x):
        s = "a,b,c".split(",")
        b = bytes([1, 2, 3])
        return x * len("-".join(s).upper()) + b[1] * x + x * "abc".index("c") + x * len("%d %s" % (3, "x"))  # noqa: UP031

    check(f, 1.5)


def test_input_from_json_passes_through(check):
    import json

    def f(x):
        config = json.loads('{"rates": [1.5, 2.5], "name": "n"}')
        return x * config["rates"][1] + len(config["name"])

    check(f, 1.5)


def test_a_seeded_random_stream_passes_through(check):
    import random

    def f(x):
        rng, gen = random.Random(3), np.random.default_rng(3)
        return x * rng.random() + x * gen.normal(size=2).sum() + x**2 * rng.choice([1, 2, 3])

    check(f, 1.5)


def test_statistics_written_in_python_is_differentiated(check):
    def mean(v):
        return sum(v) / len(v)

    def f(v):
        m = mean(v)
        return mean([(x - m) ** 2 for x in v]) ** 0.5

    check(f, [1.0, 2.0, 4.0])


def test_sorted_by_a_precomputed_order(check):
    def f(v, w):
        order = sorted(range(len(v)), key=v.__getitem__)
        return sum(w[i] * v[i] * k for k, i in enumerate(order))

    check(f, [3.0, 1.0, 2.0], [0.5, 0.25, 1.5])


def test_eval_and_exec_are_refused_or_right():
    def f(x):
        return eval("x * x")

    try:
        (g,) = mo.gradient(f, 1.5)
    except mo.MorulaError:
        return
    assert g == 3.0


def test_locals_may_be_read(check):
    def f(x):
        y = x * x
        return locals()["y"] * 2

    try:
        (g,) = mo.gradient(f, 1.5)
    except mo.MorulaError:
        return
    assert g == 6.0
