"""A Python int beyond 64 bits is an error, or wraps if asked; NumPy's integers wrap as in NumPy."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import morula as mo
from morula.core.ir import typed
from morula.core.ir.dynamic import walk
from morula.core.ir.evaluate import evaluate

MOST, LEAST = 2**63 - 1, -(2**63)
VALUES = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    63,
    64,
    2**31,
    -(2**31),
    2**32,
    3037000499,
    3037000500,
    2**62,
    -(2**62),
    MOST,
    LEAST,
]
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
    "divmod": lambda a, b: divmod(a, b)[0],
    "sum": lambda a, b: sum([a, b, a]),
    "prod": lambda a, b: math.prod([a, b]),
    "in place": lambda a, b: operator.iadd(a, b),
}
UNARY = {
    "-": operator.neg,
    "abs": abs,
    "~": operator.invert,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "twice": lambda a: 2 * a,
}


def test_a_constant_beyond_64_bits_is_never_caught(target):
    """Python's ints do not overflow, so a handler that caught it would run where Python's does not."""

    def caught(n):
        try:
            return n + 2**70
        except OverflowError:
            return -1

    def of_another_kind(n):
        try:
            return n + 2**70
        except ValueError:
            return -1

    with pytest.raises(mo.BadInput, match="an int needs more than 64 bits in a try that catches OverflowError"):
        mo.jit(caught, target=target)(2)
    with pytest.raises(OverflowError, match="64 bits"):
        mo.jit(of_another_kind, target=target)(2)


def expected(f, args):
    """What Python gives; OverflowError where it is out of range, None where nothing is asked of compiled code."""
    if f is operator.pow and args[1] < 0:
        return None
    if f is operator.pow and args[1] > 64 and abs(args[0]) > 1 or f is operator.lshift and args[1] > 64 and args[0]:
        return OverflowError
    try:
        y = f(*args)
    except (ZeroDivisionError, ValueError) as error:
        return type(error)
    return y if LEAST <= y <= MOST else OverflowError


def found(f, args):
    try:
        return f(*args)
    except (ZeroDivisionError, ValueError, OverflowError) as error:
        return type(error)


def check(f, target, cases):
    compiled = mo.jit(f, target=target)
    for args in cases:
        y = expected(f, args)
        if y is not None:
            assert found(compiled, args) == y, args
    lowered = mo.jit(f, target=target).lower(*cases[0]).compilation.function
    for args in cases[::7]:
        y = expected(f, args)
        if y is not None:
            run = found(lambda *args: evaluate(lowered, list(map(np.int64, args)))[0], args)  # noqa: B023
            assert run == y, args


@pytest.mark.parametrize("name", BINARY)
def test_an_operator_of_two_ints(name, target):
    check(BINARY[name], target, [(a, b) for a in VALUES for b in VALUES])


@pytest.mark.parametrize("name", UNARY)
def test_an_operator_of_one_int(name, target):
    check(UNARY[name], target, [(a,) for a in VALUES])


def factorial(n):
    r = 1
    for i in range(2, n + 1):
        r *= i
    return r


def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a


def total(values, k):
    return sum(values) + k


def of_large_floats(x):
    return int(x) + 1


def in_a_branch(n, k):
    if k > 0:
        n = n * n
    return n


@pytest.mark.parametrize(
    "f, fits, fails",
    [
        (factorial, [(0,), (20,)], [(21,), (25,), (100,)]),
        (fibonacci, [(0,), (90,)], [(95,), (200,)]),
        (total, [([1, 2], 3), ([MOST, -5], 5)], [([MOST, 5], 0), ([MOST, 0], 1)]),
        (of_large_floats, [(2.0**62,), (-(2.0**63),)], [(2.0**63,), (1e300,), (-1e19,), (math.inf,)]),
        (in_a_branch, [(2**40, 0), (2**31, 1)], [(2**40, 1)]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_programs(f, fits, fails, target):
    compiled = mo.jit(f, target=target)
    for args in fits:
        assert compiled(*args) == f(*args)
    for args in fails:
        with pytest.raises(OverflowError):
            compiled(*args)


def test_the_error_says_where_and_what_to_do(target):
    with pytest.raises(OverflowError) as raised:
        mo.jit(factorial, target=target)(25)
    text = str(raised.value)
    assert "64 bits" in text and "overflow_check=False" in text and "np.int64" in text
    assert f"in factorial ({__file__}:{factorial.__code__.co_firstlineno + 3})" in text and len(text) < 450


def test_ints_wrap_around_if_asked(target):
    with np.errstate(over="ignore"):
        wrapped = int(np.prod(np.arange(1, 26)))
    assert mo.jit(factorial, target=target, overflow_check=False)(25) == wrapped
    assert mo.jit(target=target, overflow_check=False)(factorial)(25) == wrapped


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integers_of_numpy_wrap(dtype, target):
    top = np.iinfo(dtype).max
    compiled = mo.jit(lambda a, x: (a + x, a * a, -a, x * x + 1), target=target)
    with np.errstate(over="ignore"):
        a, x = np.array([top, 1, 3], dtype), dtype(top)
        plain = a + x, a * a, -a, x * x + 1
        for y, z in zip(compiled(a, x), plain, strict=True):
            assert np.array_equal(y, z) and y.dtype == z.dtype


def test_an_unsigned_integer_that_int64_does_not_hold(target):
    compiled = mo.jit(lambda x: int(x), target=target)
    assert compiled(np.uint64(5)) == 5
    with pytest.raises(OverflowError):
        compiled(np.uint64(2**63))


@pytest.mark.parametrize("f", [lambda n: n + 2**70, lambda n: n * 2**64, lambda n: 2**64 - n])
def test_a_known_int_that_is_too_large(f, target):
    with pytest.raises(OverflowError, match="(?s)64 bits.*test_int_overflow"):
        mo.jit(f, target=target)(1)


def test_a_known_int_of_any_size_beside_floats_and_in_comparisons(target):
    f = mo.jit(lambda x, n: (x * 2**70, 2**64 / x, n < 2**70, n == 2**64, -(2**70) < n), target=target)
    assert f(1.5, 3) == (1.5 * 2**70, 2**64 / 1.5, True, False, True)


def test_an_argument_that_is_too_large(target):
    compiled = mo.jit(lambda n: n + 1, target=target)
    assert [compiled(n) for n in (2**64, 5, 2**65)] == [2**64 + 1, 6, 2**65 + 1]  # known while compiling, so exact


def test_a_gradient_through_ints_that_overflow(target):
    def f(x, n):
        return x * factorial(n)

    assert mo.jit(mo.grad(f), target=target)(2.0, 5) == 120.0
    with pytest.raises(OverflowError):
        mo.jit(mo.grad(f), target=target)(2.0, 30)


# Checks that cannot fail are not there.


def counters(a):
    s, k, down = 0.0, 0, len(a)
    for i in range(len(a)):
        k += 2
        down -= 1
        s += a[i] * (i + 1) + a[down] + k
    return s


def a_while_loop(a, n):
    i = 0
    s = 0.0
    while i < n:
        s += a[i % 5] * (2 * (i % 7) - 1)
        i += 1
    return s


def two_dimensions(a):
    s = 0.0
    m, n = a.shape
    for i in range(1, m - 1):
        for j in range(i + 1, n - 1):
            s += a[i - 1, j + 1] * (i * n + j)
    return s


def numbers_of_a_bisection(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def counted_events(a):
    n = 0
    for i in range(len(a)):
        if a[i] > 0:
            n += 1
    return n


A = np.linspace(-1.0, 1.0, 9)


@pytest.mark.parametrize(
    "f, args",
    [
        (counters, (A,)),
        (a_while_loop, (A, 40)),
        (two_dimensions, (np.ones((4, 5)),)),
        (counted_events, (A,)),
        (lambda k, x: x * (k % 10 + 3) * (min(max(k, 0), 100) * 2 + 1), (5, 1.5)),
    ],
)
def test_checks_that_cannot_fail_are_left_out(f, args, target):
    compiled = mo.jit(f, target=target)
    function = compiled.lower(*args).compilation.function
    assert [op for op in walk(function.block) if op.callee is typed.overflows] == []
    assert compiled(*args) == pytest.approx(f(*args))


def test_what_cannot_be_proved_is_right_all_the_same(target):
    compiled = mo.jit(numbers_of_a_bisection, target=target)
    for x in (-2.0, -0.3, 0.0, 0.6, 2.0):
        assert compiled(A, x) == np.searchsorted(A, x)


def caught(n, k):
    try:
        for _ in range(k):
            n = n * n
    except OverflowError:
        return -1
    return n


def test_no_handler_catches_it_since_python_raises_nothing_there(target):
    compiled = mo.jit(caught, target=target)
    assert compiled(3, 2) == 81 and compiled(0, 100) == 0
    with pytest.raises(OverflowError):
        compiled(3, 10)
