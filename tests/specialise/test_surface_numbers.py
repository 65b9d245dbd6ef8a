"""Python's operators, built-in functions and ``math`` on traced numbers: Python's types, values and errors."""

from __future__ import annotations

import cmath
import math
import operator

import numpy as np
import pytest
from surface_trace import call, check, raises_when_run, traced

from morula.core.errors import BadInput

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
NUMBERS = [True, 3, -7, 2.5, -0.75, np.float32(1.5), np.float64(-2.25), np.int32(5), np.uint8(200), np.bool_(True)]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
@pytest.mark.parametrize("y", [True, 2, -1.5, np.float32(0.5), np.int16(3), np.int64(-4)], ids=repr)
def test_operators_have_the_types_of_python_and_numpy(x, y):
    def every(x, y):
        if isinstance(x_, (bool, np.bool_)) and isinstance(y_, (bool, np.bool_)) and type(x_) is not type(y_):
            return ()
        numbers = [f for f in BINARY if f is not operator.sub or not np.bool_ in (type(x_), type(y_))]
        return tuple(f(x, y) for f in (*numbers, *COMPARISONS))

    x_, y_ = x, y
    if isinstance(x, np.uint8) and isinstance(y, int) and y < 0:
        return
    check(every, x, y)


@pytest.mark.parametrize("x", [True, 3, -7, 2.5, 1 + 2j, np.float32(1.5), np.int32(5)], ids=repr)
def test_unary_operators_and_constants(x):
    check(lambda x: (-x, abs(x), +x, x**2, x * 2, 2 * x, x + 1.5, 1 - x, x == 3, x != 3), x)


def test_bits_of_ints_and_bools():
    check(lambda a, b: (a & b, a | b, a ^ b, ~a, a << 2, a >> 1), 13, 6)
    check(lambda a, b: (a & b, a | b, a ^ b, a + b, a * b, -a), True, False)
    check(lambda a, b: (a & b, a | b, a ^ b, ~a, a + b, a * b), np.bool_(True), np.bool_(False))


@pytest.mark.parametrize("x, n", [(2, 5), (-3, 3), (2.5, 3), (2.5, -2), (2.0, 0.5), (-8.0, 3), (9, 0.5), (2, 0)])
def test_powers(x, n):
    check(lambda x, n: x**n, x, n)
    check(lambda x: (x**2, x**3, x**-1, x**0.5 if x_ > 0 else x, 2**x if x_ > 0 else x), x_ := x)


@pytest.mark.parametrize(
    "function", [operator.truediv, operator.floordiv, operator.mod, divmod], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("zero", [0, 0.0])
def test_pythons_numbers_are_not_divided_by_zero(function, zero):
    raises_when_run(lambda x, y: call(function, x, y), 3, zero, error=ZeroDivisionError)
    raises_when_run(lambda x, y: call(function, x, y), 2.5, zero, error=ZeroDivisionError)


def test_numpys_numbers_are_divided_by_zero():
    check(lambda x, y: (x / y, x // y, x % y), np.float64(3), np.float64(0))
    check(lambda x, y: (x / y, x // y, x % y), np.int64(3), np.int64(0))


def test_a_power_whose_type_depends_on_its_value_is_an_error():
    function, _, _ = traced(lambda x, n: x**n, 2, -1)
    with pytest.raises(ValueError, match="write float"):
        from morula.core.ir.evaluate import evaluate

        evaluate(function, [2, -1])
    raises_when_run(lambda x, y: x**y, 0.0, -1.0, error=ZeroDivisionError)


def test_conversions():
    for x in (2.7, -2.7, 3, True, np.float32(2.5), np.int8(-3)):
        check(
            lambda x: tuple(call(f, x) for f in (float, int, bool, complex, round, abs)),
            x,
        )
    check(lambda x: (call(round, x), call(math.floor, x), call(math.ceil, x), call(math.trunc, x)), -2.5)
    check(lambda x: (call(round, x, 1), call(round, x)), np.float64(2.25))
    check(lambda a: (call(float, a), call(bool, a), a.item()), np.array(2.5))
    check(lambda a: (call(bool, a), a.item()), np.array([2.5]))
    with pytest.raises(TypeError, match="0-dimensional"):
        traced(lambda a: call(float, a), np.arange(3.0))
    with pytest.raises(TypeError, match="complex"):
        traced(lambda z: call(float, z), 1j)
    with pytest.raises(BadInput, match="ambiguous"):
        traced(lambda a: call(bool, a), np.arange(3.0))


@pytest.mark.parametrize("x, error", [(math.nan, ValueError), (math.inf, OverflowError)])
def test_what_is_no_integer_is_not_made_one(x, error):
    raises_when_run(lambda x: call(int, x), x, error=error)
    raises_when_run(lambda x: call(math.floor, x), x, error=error)


def test_least_and_greatest():
    check(
        lambda x, y: (call(min, x, y), call(max, x, y, 2.0), call(min, [x, 1.5, y]), call(max, [y], default=0)),
        3.0,
        2.5,
    )
    check(lambda x, y: (call(min, x, y), call(max, x, 4, y), call(sum, [x, y]), call(sum, [x, y], 1.5)), 3, 2)
    check(
        lambda x, y: (call(min, x, y, key=lambda v: -v), call(sorted, [x, y, 0.0]), call(sorted, [x, y], reverse=True)),
        3.0,
        2.5,
    )
    check(lambda a: (call(min, a), call(max, a), call(sum, a)), np.array([3.0, 1.0, 2.0]))
    check(lambda x: (call(any, [x > 1, x > 2]), call(all, [x > 1, x > 2])), 1.5)


@pytest.mark.parametrize(
    "function",
    [
        *(math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh, math.tanh, math.asinh),
        *(math.atanh, math.exp, math.expm1, math.sqrt, math.log, math.log2, math.log10, math.log1p, math.fabs),
        *(
            math.degrees,
            math.radians,
            math.erf,
            math.erfc,
            math.gamma,
            math.lgamma,
            math.isnan,
            math.isinf,
            math.isfinite,
        ),
        *(math.cbrt, math.exp2),
    ],
    ids=lambda f: f.__name__,
)
def test_functions_of_math(function):
    check(lambda x: call(function, x), 0.6)
    check(lambda x: call(function, x), np.float32(0.5), rtol=1e-6)


def test_functions_of_math_with_several_arguments():
    check(
        lambda x, y: tuple(
            call(f, x, y) for f in (math.atan2, math.copysign, math.fmod, math.pow, math.hypot, math.log)
        ),
        2.5,
        3.5,
    )
    check(lambda x, y: (call(math.dist, [x, y], [1, 2]), call(math.fsum, [x, y]), call(math.prod, [x, y])), 2.5, 3.5)
    check(lambda x, y: (call(math.isclose, x, y), call(math.isclose, x, y, rel_tol=1.0)), 2.5, 3.5)
    check(lambda x, y: (call(math.gcd, x, y), call(math.lcm, x, y)), 12, 18)


@pytest.mark.parametrize(
    "function, x, error",
    [
        (math.sqrt, -1.0, ValueError),
        (math.log, 0.0, ValueError),
        (math.log, -1.0, ValueError),
        (math.acos, 2.0, ValueError),
        (math.atanh, 1.0, ValueError),
        (math.exp, 1000.0, OverflowError),
        (math.cosh, 1000.0, OverflowError),
        (math.sin, math.inf, ValueError),
        (math.gamma, -1.0, ValueError),
    ],
)
def test_errors_of_math_are_raised_when_the_program_runs(function, x, error):
    raises_when_run(lambda x: call(function, x), x, error=error)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "cosh", "atan", "phase", "polar", "isfinite"])
def test_functions_of_cmath(name):
    check(lambda z: call(getattr(cmath, name), z), 0.5 + 0.75j)


def test_parts_of_numbers():
    check(lambda z: (z.real, z.imag, z.conjugate(), abs(z)), 0.5 + 0.75j)
    check(lambda x: (x.real, x.imag), 2.5)
    check(lambda x: (x.real, x.imag), 3)
    check(lambda x: call(complex, x, 2), 1.5)
