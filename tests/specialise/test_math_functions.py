"""Every function of ``math`` and ``cmath`` and its derivative: compiled with the eager result, or refused."""

from __future__ import annotations

import cmath
import inspect
import math

import numpy as np
import pytest
from scipy import special

import morula as mo

SPECIAL = {"dist", "sumprod", "fsum", "prod", "ldexp", "pow", "isclose", "log", "hypot", "nextafter", "fma", "rect"}
REFUSED = {"factorial", "comb", "perm", "isqrt", "gcd", "lcm", "modf", "frexp", "remainder"}
"""Their results or arguments are integers, or pairs; of ints known while compiling they are Python's."""


def functions_of_a_number(module):
    named = {n: f for n, f in vars(module).items() if inspect.isbuiltin(f) and n not in SPECIAL | REFUSED}
    two = {n for n in named if n in ("atan2", "copysign", "fmod")}
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


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_of_what_is_not_known_while_compiling_the_others_are_refused(name):
    f = getattr(math, name)
    args = (7, 3) if name in ("comb", "perm", "gcd", "lcm") else (7.5, 2.0) if name == "remainder" else (7,)
    try:
        found = mo.jit(f, target="native")(*args)
    except mo.BadInput as error:
        assert name in str(error) or "function of math" in str(error) or "of functions of math" in str(error)
    else:
        assert found == f(*args)


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
