"""Every function of ``math`` and ``cmath`` and its derivative: compiled with the eager result, or refused."""

from __future__ import annotations

import cmath
import inspect
import math
import re

import numpy as np
import pytest
from scipy import special

import morula as mo

SPECIAL = {"dist", "sumprod", "fsum", "prod", "ldexp", "pow", "isclose", "log", "hypot", "nextafter", "fma", "rect"}
OF_INTS = {"factorial", "comb", "perm", "isqrt", "gcd", "lcm"}
PAIRS = {"modf", "frexp"}


def functions_of_a_number(module):
    named = {n: f for n, f in vars(module).items() if inspect.isbuiltin(f) and n not in SPECIAL | OF_INTS | PAIRS}
    two = {n for n in named if n in ("atan2", "copysign", "fmod", "remainder")}
    return {n: (lambda x, f=f: f(x, 0.5)) if n in two else f for n, f in named.items()}


NUMBERS = {
    **functions_of_a_number(math),
    "acosh": lambda x: math.acosh(1 + x),
    "dist": lambda x: math.dist((x, 1.0), (0.2, x * x)),
    "fsum": lambda x: math.fsum([x, x * x, 0.1]),
    "prod": lambda x: math.prod([x, x + 1, 2.0]),
    "ldexp": lambda x: math.ldexp(x, 3),
    "ldexp down": lambda x: math.ldexp(x, -2),
    "pow": lambda x: math.pow(x, 2.5),
    "isclose": lambda x: x * math.isclose(x, 0.4),
    "log of a base": lambda x: math.log(x, 3),
    "hypot of three": lambda x: math.hypot(x, 0.5, x),
    "rect": lambda x: cmath.rect(x, x + 1).imag,
    "fsum of an iterator": lambda x: math.fsum(x * i for i in range(4)),
    "prod of an iterator": lambda x: math.prod(map(lambda i: x + i, range(4))),
    "modf": lambda x: math.modf(3 * x)[0] + 2 * math.modf(3 * x)[1],
    "remainder of a divisor": lambda x: (
        math.remainder(7.3, x) + math.remainder(-7.3, -x) + math.remainder(5 * x, x + 1)
    ),
    "of ints": lambda x: (
        x * math.comb(int(20 * x), int(10 * x)) + math.factorial(int(10 * x)) + math.isqrt(int(x * 99))
    ),
    "nextafter": lambda x: math.nextafter(x, 2.0),
}
COMPLEX = {**functions_of_a_number(cmath), "log of a base": lambda z: cmath.log(z, 2 + 1j)}


def values(x):
    return [f(x) for f in NUMBERS.values()]


def slopes(x):
    return [mo.grad(lambda t: f(t) * 1.5)(x) for f in NUMBERS.values()]


def complex_values(z):
    return [f(z) for f in COMPLEX.values()]


def complex_slopes(z):
    return [mo.grad(lambda t: abs(f(t) * (1 + 0.5j)))(z) for n, f in COMPLEX.items() if n not in ("polar", "isclose")]


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize(
    "program, x", [(values, 0.4), (slopes, 0.4), (complex_values, 0.4 + 0.3j), (complex_slopes, 0.4 + 0.3j)]
)
def test_compiled_as_in_python(program, x, target):
    found, expected = mo.jit(program, target=target)(x), program(x)
    names = [*(COMPLEX if isinstance(x, complex) else NUMBERS)]
    for name, a, b in zip(names, found, expected):
        assert type(a) is type(b), name
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("name", sorted(OF_INTS))
def test_of_ints(name, target):
    f = getattr(math, name)
    compiled = mo.jit(lambda *args: f(*(a * 1 for a in args)), target=target)
    two = name in ("comb", "perm", "gcd", "lcm")
    for args in [(7, 3), (3, 7), (0, 0), (61, 30 if name == "comb" else 2)] if two else [(0,), (1,), (20,)]:
        assert compiled(*args) == f(*args)
    if name == "isqrt":
        for n in (2**53 - 1, 3037000499**2, 3037000499**2 - 1, 2**63 - 1):
            assert compiled(n) == f(n)
    for args in [(-1, 2), (2, -1)] if two and "m" != name[1] and name not in ("gcd", "lcm") else [(-1,)][two:]:
        with pytest.raises(ValueError) as raised:
            f(*args)
        with pytest.raises(ValueError, match=re.escape(str(raised.value))):
            compiled(*args)


def test_the_remainder_of_halves_and_infinities(target):
    compiled = mo.jit(math.remainder, target=target)
    numbers = (0.0, -0.0, 1.0, 1.5, -2.5, 2.5, 3.5, -7.0, 1e300, math.inf, -math.inf, math.nan)
    for x in numbers:
        for y in numbers:
            try:
                expected = math.remainder(x, y)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)):
                    compiled(x, y)
            else:
                assert repr(compiled(x, y)) == repr(expected), (x, y)


def test_the_parts_of_infinities_and_zeros(target):
    compiled = mo.jit(math.modf, target=target)
    for x in (0.0, -0.0, 2.0, -2.75, math.inf, -math.inf, math.nan):
        assert repr(compiled(x)) == repr(math.modf(x))


def test_frexp_is_refused(target):
    with pytest.raises(mo.BadInput, match="math.frexp .*use math.log2"):
        mo.jit(lambda x: math.frexp(x * 1.0), target=target)(7.5)


@pytest.mark.parametrize(
    "z", [complex(-1, -0.0), complex(math.inf, 1.0), complex(1.0, -math.inf), complex(math.nan, 2.0)]
)
def test_an_imaginary_part_beside_any_real_one(target, z):
    def f(z, x):
        return z.imag, np.imag(x)[0], np.angle(z)

    found = mo.jit(f, target=target)(z, np.array([z]))
    assert repr([float(y) for y in found]) == repr([float(y) for y in f(z, np.array([z]))])


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "jve", "yve", "ive", "kve"])
def test_special_functions_of_a_real_order_and_complex_numbers(name, target):
    """The operands have different dtypes, and the result is used by the next operation on elements."""
    function = getattr(special, name)

    def f(z):
        return np.sum(np.abs(function(1.5, z) * 2.0) ** 2)

    def square_of_the_gradient(z):
        g = mo.grad(f)(z)
        return np.sum((g * np.conj(g)).real)

    z = np.array([1.0 + 0.5j, 2.0 - 0.3j])
    for program in (f, mo.grad(f), mo.grad(square_of_the_gradient)):
        np.testing.assert_allclose(mo.jit(program, target=target)(z), program(z), rtol=1e-10)
