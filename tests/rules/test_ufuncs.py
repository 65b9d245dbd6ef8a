"""The rules of NumPy's element-wise functions and array operators, each checked by the rule tester."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
from rule_tester import check_rule

import morula as mo
from morula.core.rules import find_rule
from morula.core.rules.table import RULES, pull

find_rule(np.sin)

X = np.array([[-1.3, -0.4, 0.2], [0.7, 1.6, 2.4]])
ROW = np.array([0.8, -1.9, 1.45])
UNIT = np.array([-0.8, -0.15, 0.35, 0.9])
ABOVE = np.array([0.3, 1.2, 2.7])
Z = np.array([0.4 + 0.3j, -1.2 + 0.8j, 0.9 - 1.4j])

ANALYTIC = [
    *[(f, X) for f in (np.positive, np.negative, np.square, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh)],
    *[(f, X) for f in (np.exp, np.exp2, np.expm1, np.arctan, np.arcsinh, np.reciprocal)],
    *[(f, UNIT) for f in (np.arcsin, np.arccos, np.arctanh)],
    *[(f, ABOVE) for f in (np.sqrt, np.log, np.log2, np.log10, np.log1p)],
    (np.arccosh, 1.5 + ABOVE),
]

REAL = [
    *[(f, X) for f in (np.absolute, np.fabs, np.sign, np.cbrt, np.degrees, np.radians, np.rad2deg, np.deg2rad)],
    *[(f, X) for f in (np.sinc, np.i0, np.nan_to_num, np.real, np.imag, np.conjugate, np.angle, np.real_if_close)],
    *[(f, X + 0.03) for f in (np.floor, np.ceil, np.trunc, np.rint, np.fix, np.round, np.modf, np.frexp)],
]

COMPLEX = [np.absolute, np.sign, np.real, np.imag, np.conjugate, np.angle, np.nan_to_num, np.real_if_close, np.sinc]

BINARY = [
    *[(f, X, ROW) for f in (np.add, np.subtract, np.multiply, np.divide, np.logaddexp, np.logaddexp2, np.arctan2)],
    *[(f, X, ROW) for f in (np.hypot, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.fmod, np.remainder)],
    *[(f, X, ROW) for f in (np.floor_divide, np.divmod)],
    *[(f, np.abs(X), ROW) for f in (np.power, np.float_power)],
    *[(f, X, ROW) for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, divmod)],
    *[(f, np.abs(X), ROW) for f in (operator.pow, pow)],
]

COMPLEX_BINARY = [
    *(np.add, np.subtract, np.multiply, np.divide, np.power, np.float_power),
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, pow),
]


def name(case):
    return getattr(case, "__name__", "") if callable(case) else ""


@pytest.mark.parametrize(("f", "x"), ANALYTIC, ids=name)
def test_analytic_functions_agree_with_the_complex_step(f, x):
    check_rule(f, x, complex_step=f not in (np.cbrt,))


@pytest.mark.parametrize(("f", "x"), ANALYTIC, ids=name)
def test_holomorphic_functions_pull_back_by_the_conjugate(f, x):
    check_rule(f, Z)


@pytest.mark.parametrize(("f", "x"), REAL, ids=name)
def test_real_functions(f, x):
    check_rule(f, x, atol=1e-6)


@pytest.mark.parametrize("f", COMPLEX, ids=name)
def test_functions_of_a_complex_number_that_are_not_holomorphic(f):
    check_rule(f, Z)


@pytest.mark.parametrize(("f", "a", "b"), BINARY, ids=name)
def test_two_operands_broadcast(f, a, b):
    check_rule(f, a, b)
    check_rule(f, b[:, None], np.abs(a[0]) + 0.05) if f not in (np.power, np.float_power, pow, operator.pow) else None
    check_rule(f, a[0, 2], b)
    check_rule(f, a, 1.37)


@pytest.mark.parametrize("f", COMPLEX_BINARY, ids=name)
def test_complex_and_real_operands_mix(f):
    check_rule(f, Z, Z[::-1] * 1.1)
    check_rule(f, Z, ABOVE)
    check_rule(f, ABOVE, Z)


@pytest.mark.parametrize(("f", "x"), [*ANALYTIC, *REAL], ids=name)
def test_numbers_empty_and_0d_arrays(f, x):
    check_rule(f, x.flat[-1].item())
    check_rule(f, x.flat[-1])
    check_rule(f, np.array(x.flat[-1]))
    check_rule(f, np.zeros((0, 3)))


@pytest.mark.parametrize(("f", "a", "b"), BINARY, ids=name)
def test_numbers_empty_and_0d_operands(f, a, b):
    check_rule(f, 0.7, 1.9)
    check_rule(f, np.float64(0.7), np.array(1.9))
    check_rule(f, np.zeros((0, 3)), b)


@pytest.mark.parametrize(("f", "x"), [*ANALYTIC, *REAL], ids=name)
def test_single_precision_stays_single(f, x):
    check_rule(f, x.astype(np.float32), order=1, atol=1e-2)


@pytest.mark.parametrize(("f", "a", "b"), BINARY, ids=name)
def test_single_precision_operands_stay_single(f, a, b):
    check_rule(f, np.abs(a[:, :2]).astype(np.float32), b[[0, 2]].astype(np.float32), order=1, atol=1e-2)


@pytest.mark.parametrize("f", [np.sin, np.exp, np.sqrt, np.absolute], ids=name)
def test_single_precision_complex_stays_single(f):
    check_rule(f, Z.astype(np.complex64), order=1, atol=1e-2)


def slopes(f, *args):
    """The partial derivatives at a point, from the table."""
    return [None if g is None else float(g) for g in pull(RULES[f], 1.0, f(*args), args, {})]


def test_equal_maxima_share_equally():
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert slopes(f, 2.0, 2.0) == [0.5, 0.5]
    assert slopes(np.fmax, np.nan, 2.0) == [0.0, 1.0]
    assert slopes(np.fmin, 2.0, np.nan) == [1.0, 0.0]


def test_slopes_at_kinks_are_those_of_the_documentation():
    for f in (np.absolute, np.fabs, np.sign, abs, operator.abs):
        assert slopes(f, 0.0) == [0.0]
    assert slopes(np.absolute, 0j) == [0.0]
    assert slopes(np.hypot, 0.0, 0.0) == [0.0, 0.0]
    assert slopes(np.sinc, 0.0) == [0.0]
    with np.errstate(divide="ignore"):
        assert slopes(np.sqrt, np.float64(0.0)) == [np.inf]
        assert slopes(np.cbrt, np.float64(0.0)) == [np.inf]


@pytest.mark.parametrize("f", [np.power, np.float_power, operator.pow, pow], ids=name)
def test_powers_at_zero_have_no_nan(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert slopes(f, 0.0, 2) == [0.0, 0.0]
        assert slopes(f, 0.0, 2.0) == [0.0, 0.0]
        assert slopes(f, 0.0, 1.0) == [1.0, 0.0]
        assert slopes(f, 0.0, 0.0) == [0.0, 0.0]
        assert slopes(f, 5, 3) == pytest.approx([75.0, 125 * np.log(5)])
        assert slopes(f, 5, 0) == pytest.approx([0.0, np.log(5)])
        x = np.array([0.0, -2.0, 3.0])
        assert pull(RULES[f], np.ones(3), f(x, 2), (x, 2), {})[0].tolist() == [0.0, -4.0, 6.0]
        assert mo.grad(mo.grad(lambda x: f(x, 2)))(0.0) == 2.0
        assert mo.grad(mo.grad(lambda x: f(x, 1)))(0.0) == 0.0


@pytest.mark.parametrize("f", [np.power, operator.pow], ids=name)
def test_a_negative_base_has_no_slope_in_a_real_exponent_but_has_one_in_the_base(f):
    base, exponent = slopes(f, -2.0, 3.0)
    assert base == 12.0
    assert np.isnan(exponent)
    assert mo.gradient(lambda x: f(x, 3), -2.0) == (12.0,)


def test_a_negative_base_has_a_slope_in_a_complex_exponent():
    check_rule(np.power, -2.0, np.array([1.5 + 0.5j]))
    check_rule(operator.pow, -2.0, 1.5 + 0.5j)


def test_logaddexp_of_nothing_is_not_nan():
    assert slopes(np.logaddexp, -np.inf, -np.inf) == [0.0, 0.0]
    assert slopes(np.logaddexp, -np.inf, 1.0) == [0.0, 1.0]


def test_remainders_are_exact_where_the_quotient_rounds():
    assert slopes(np.fmod, 1.0, 0.1) == [1.0, -9.0]
    assert slopes(operator.mod, 1.0, 0.1) == [1.0, -9.0]
    assert slopes(np.remainder, -1.0, 0.3) == [1.0, 4.0]


def test_heaviside_and_ldexp():
    check_rule(np.heaviside, X, 0.5)
    assert slopes(np.heaviside, 0.0, 0.3) == [None, 1.0]
    check_rule(np.ldexp, X, 3, known=(0,))
    check_rule(np.nextafter, X, 2.0, known=(0,))
    assert pull(RULES[np.spacing], 1.0, np.spacing(1.0), (1.0,), {}) == []


def test_clip():
    check_rule(np.clip, X, -0.5, 1.1)
    check_rule(np.clip, X, ROW - 2.0, np.array([[1.3], [0.6]]))
    check_rule(np.clip, X, None, 0.6, known=(0, 2))
    check_rule(np.clip, X, -0.6, None, known=(0, 1))
    check_rule(np.clip, X, 1.0, 0.5)
    y = np.clip(1.0, 1.0, 2.0)
    assert [float(g) for g in pull(RULES[np.clip], 1.0, y, (1.0, 1.0, 2.0), {})] == [1.0, 0.0, 0.0]


def test_clip_by_keywords():
    mo.testing.check_gradients(lambda x, low, high: np.clip(x, a_min=low, a_max=high), X, -0.5, 1.1)
    mo.testing.check_gradients(lambda x, low, high: np.clip(x, min=low, max=high), X, -0.5, 1.1)
    mo.testing.check_gradients(lambda x, low: np.clip(x, min=low), X, -0.5)


def test_nan_to_num_passes_nothing_to_what_it_replaced():
    x = np.array([np.nan, 1.0, np.inf, -np.inf])
    assert pull(RULES[np.nan_to_num], np.ones(4), None, (x,), {})[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    z = np.array([complex(np.nan, 1.0)])
    assert pull(RULES[np.nan_to_num], np.array([1 + 1j]), None, (z,), {})[0].tolist() == [1j]


def test_angle_in_degrees():
    check_rule(np.angle, Z, deg=True)


def test_conversions_pass_the_cotangent():
    for f in (np.float64, np.float32, np.longdouble, np.complex128, float, complex):
        assert slopes(f, 1.5) == [1.0]
    check_rule(complex, 1.5, 0.7)
    check_rule(complex, 1.5 + 1j)


@pytest.mark.parametrize("x", [0.3, -2.0, 2, -0.7 + 0.4j, np.float64(1.2), np.array(-1.4)], ids=str)
def test_absolute_value_of_every_kind_of_number(x):
    check_rule(abs, x)
    check_rule(operator.abs, x)


def test_modular_powers_are_integers():
    assert pull(RULES[pow], 1.0, pow(5, 3, 7), (5, 3, 7), {}) == [0.0, 0.0]
