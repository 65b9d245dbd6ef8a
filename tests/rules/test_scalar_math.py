"""The rules of ``math`` and ``cmath``, each checked by the rule tester; floats stay floats."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from rule_tester import check_rule
from scipy import special

import morula as mo
from morula.core.rules import find_rule
from morula.core.rules.scalar_math import digamma
from morula.core.rules.table import RULES, pull

find_rule(math.sin)

UNARY = [
    *[(f, 0.7) for f in "sin cos tan asin acos atan sinh cosh tanh asinh atanh exp expm1 exp2 erf erfc".split()],
    *[(f, 1.7) for f in "sqrt log log2 log10 log1p cbrt acosh gamma lgamma degrees radians fabs".split()],
    *[(f, -1.7) for f in "gamma lgamma cbrt fabs erf modf frexp".split()],
    *[(f, 1.7) for f in "floor ceil trunc ulp modf frexp".split()],
]

MANY = [
    (math.atan2, (0.4, -1.3)),
    (math.pow, (1.4, 2.3)),
    (math.pow, (-1.4, 2)),
    (math.log, (2.4, 3.0)),
    (math.copysign, (1.4, -2.0)),
    (math.fmod, (5.3, -1.7)),
    (math.remainder, (5.3, 1.9)),
    (math.hypot, (3.0, -4.0, 1.0)),
    (math.hypot, (2.0,)),
    (math.dist, ([1.0, 2.0], [0.3, -1.0])),
    (math.dist, ((1.0, 2.0), np.array([0.3, -1.0]))),
    (math.prod, ([1.5, -2.0, 0.7],)),
    (math.prod, ((1.5, 0.0, 0.7),)),
    (math.prod, ([0.0, 0.0, 0.7],)),
    (math.fsum, ([1.5, -2.0, 0.7],)),
]

HOLOMORPHIC = [
    getattr(cmath, f)
    for f in "sqrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh polar phase".split()
]


def name(case):
    return getattr(case, "__name__", "") if callable(case) else None


@pytest.mark.parametrize(("f", "x"), UNARY)
def test_functions_of_one_float(f, x):
    check_rule(getattr(math, f), x, known=() if f == "ulp" else None)


@pytest.mark.parametrize(("f", "args"), MANY, ids=name)
def test_functions_of_several_floats(f, args):
    check_rule(f, *args, known=(0,) if args == (-1.4, 2) or f is math.copysign else None)


def test_sums_of_products_and_fused_multiplication_where_python_has_them():
    if hasattr(math, "sumprod"):
        check_rule(math.sumprod, [1.5, -2.0], [0.3, 0.7])
    if hasattr(math, "fma"):
        check_rule(math.fma, 1.5, -2.0, 0.3)


@pytest.mark.parametrize("z", [0.6 + 0.4j, -0.7 + 1.3j, 0.2 - 1.8j], ids=str)
@pytest.mark.parametrize("f", HOLOMORPHIC, ids=name)
def test_functions_of_a_complex_number(f, z):
    check_rule(f, z)


@pytest.mark.parametrize("f", [cmath.sqrt, cmath.log, cmath.acos], ids=name)
def test_real_numbers_outside_the_real_domain(f):
    check_rule(f, -1.7)


def test_complex_logarithm_to_a_base_and_polar_form():
    check_rule(cmath.log, 1 + 1j, 2 - 0.5j)
    check_rule(cmath.rect, 1.4, 0.6)


@pytest.mark.parametrize("x", [-5.3, -0.7, -1e-5, 0.1, 0.5, 1.0, 3.0, 50.0, 1e6])
def test_digamma_and_its_derivative_are_good_to_rounding(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-13)
    assert mo.grad(digamma)(x) == pytest.approx(float(special.polygamma(1, x)), rel=1e-12)
    assert mo.grad(mo.grad(digamma))(x) == pytest.approx(float(_tetragamma(x)), rel=1e-11)


def _tetragamma(x):
    import mpmath

    return mpmath.polygamma(2, x)


def test_floats_stay_floats():
    for f, x in UNARY:
        if f not in ("modf", "frexp", "floor", "ceil", "trunc", "ulp"):
            f = getattr(math, f)
            assert [type(g) for g in pull(RULES[f], 1.0, f(x), (x,), {})] == [float]


def test_lengths_have_slope_zero_at_the_origin():
    assert pull(RULES[math.hypot], 1.0, 0.0, (0.0, 0.0), {}) == [0.0, 0.0]
    assert pull(RULES[math.dist], 1.0, 0.0, ([1.0], [1.0]), {}) == [[0.0], [0.0]]
    assert pull(RULES[math.fabs], 1.0, 0.0, (0.0,), {}) == [0.0]


def test_products_take_a_start():
    assert pull(RULES[math.prod], 1.0, 12.0, ([2.0, 3.0],), {"start": 2.0}) == [[6.0, 4.0]]
    check_rule(math.prod, [2.0, 0.0, 3.0], start=2.0)


def test_sums_and_products_of_generators():
    mo.testing.check_gradients(lambda x: math.prod(k * x for k in (1.0, 2.0)), 3.0)
    mo.testing.check_gradients(lambda x: math.fsum(k * x for k in (1.0, 2.0)), 3.0)


def test_integers_have_derivative_zero():
    for f, args in [(math.factorial, (5,)), (math.comb, (5, 2)), (math.gcd, (6, 4)), (math.isqrt, (17,))]:
        assert pull(RULES[f], 1.0, f(*args), args, {}) == []


def test_the_slope_of_a_float_is_infinite_where_pythons_arithmetic_would_raise():
    for f, x, slope in [
        (math.sqrt, 0.0, math.inf),
        (lambda x: x**0.5, 0.0, math.inf),
        (lambda x: pow(x, 0.5), 0.0, math.inf),
        (math.asin, 1.0, math.inf),
        (math.acos, 1.0, -math.inf),
        (math.acosh, 1.0, math.inf),
    ]:
        assert mo.gradient(f, x) == (slope,)


def test_an_infinite_slope_passes_nothing_on_where_no_cotangent_arrives():
    assert mo.gradient(lambda x: math.sqrt(x) ** 3, 0.0) == (0.0,)
    assert mo.gradient(lambda x: math.sqrt(x - 1) * (x - 1) + x**2, 1.0) == (2.0,)


def test_an_infinite_slope_of_a_complex_number_is_no_exception():
    for f in (cmath.acos, cmath.asin, cmath.acosh, cmath.sqrt):
        assert not cmath.isfinite(mo.gradient(lambda z: f(z).real, complex(f is not cmath.sqrt))[0])
        assert mo.grad(lambda x: x * x + abs(f(complex(f is not cmath.sqrt))))(3.0) == 6.0


def recorded(f):
    """``f`` with a statement that only the tape takes."""

    def program(*args):
        [args].clear()
        return f(*args)

    return program


@pytest.mark.parametrize("tier", [lambda f: f, recorded], ids=["structured", "recorded"])
def test_an_infinite_slope_at_a_constant_is_not_asked_for(tier):
    def density(t):
        tau = 1 - t if t < 1 else 0.0
        return tau**0.35 + math.sqrt(tau) + math.acos(tau + 1) + t**2

    f = tier(density)
    assert mo.grad(f)(3.0) == 6.0
    assert mo.grad(mo.grad(f))(3.0) == 2.0
    assert mo.grad(tier(lambda x: x * tier(density)(x)))(3.0) == density(3.0) + 18.0


@pytest.mark.parametrize("f", [cmath.exp, cmath.log, cmath.asin, cmath.acosh, cmath.sqrt], ids=lambda f: f.__name__)
@pytest.mark.parametrize("z", [complex(2.0, -0.0), complex(-2.0, -0.0), complex(math.inf, 1.0)], ids=str)
def test_a_complex_argument_keeps_its_infinities_and_signs_of_zero(f, z):
    y, _ = mo.pullback(lambda z: (f(z), z), z)
    assert str(y) == str((f(z), z))


def test_remainders_of_nan_are_nan():
    assert math.isnan(mo.gradient(math.fmod, math.nan, 2.0)[1])
