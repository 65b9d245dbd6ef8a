"""The adjoint of each operation of typed IR, against extrapolated differences and to the second order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy._core import umath
from typed_tester import check, contracted, gradient, program, total, vector

from morula.core.ir import typed
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, INT64, ArrayType

COMPLEX = ArrayType(np.dtype(complex))
MATRIX = ArrayType(np.dtype(float), (3, 4))
A = np.random.default_rng(3).normal(size=(3, 4))
W = np.random.default_rng(4).normal(size=(3, 4))


def of_matrix(write, *args, order=2, **more):
    """Check a function of a matrix with results of any shape."""

    def body(b, x):
        y = write(b, x)
        return [contracted(b, b.ufunc(np.add, y, b.ufunc(np.multiply, y, y)), None)]

    check(program(body, MATRIX), A, order=order, **more)


@pytest.mark.parametrize(
    "function, points",
    [
        (np.sin, 0.3), (np.cos, 0.3), (np.tan, 0.3), (np.exp, 0.3), (np.log, 0.3), (np.sqrt, 0.3), (np.tanh, 0.3),
        (np.arcsin, 0.3), (np.arctan, 0.3), (np.sinh, 0.3), (np.cosh, 0.3), (np.log1p, 0.3), (np.expm1, 0.3),
        (np.square, 0.3), (np.reciprocal, 0.3), (np.absolute, -0.3), (np.negative, 0.3), (np.cbrt, 0.3),
        (np.log2, 0.3), (np.exp2, 0.3), (np.arcsinh, 0.3), (np.arccosh, 1.3), (np.arctanh, 0.3), (np.sign, 0.3),
        (np.floor, 0.3), (np.deg2rad, 0.3),
    ],
)  # fmt: skip
def test_ufuncs_of_one_number(function, points):
    def body(b, x):
        y = b.ufunc(function, x)
        return [b.ufunc(np.add, b.ufunc(np.multiply, y, y), b.ufunc(np.multiply, x, x))]

    check(program(body, FLOAT64), points, order=2)


@pytest.mark.parametrize(
    "function",
    [np.add, np.subtract, np.multiply, np.divide, np.power, np.arctan2, np.hypot, np.maximum, np.minimum, np.fmax,
     np.logaddexp, np.remainder, np.fmod, np.copysign, np.float_power],
)  # fmt: skip
def test_ufuncs_of_two_numbers(function):
    def body(b, x, y):
        z = b.ufunc(function, x, y)
        return [b.ufunc(np.multiply, z, b.ufunc(np.sin, z))]

    check(program(body, FLOAT64, FLOAT64), 1.7, 0.6, order=2)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.5])
def test_constant_exponents(exponent):
    body = lambda b, x: [b.ufunc(np.multiply, b.ufunc(np.power, x, b.constant(float(exponent))), x)]
    check(program(body, FLOAT64), 1.7, order=2)


def test_integer_exponents_that_are_not_known():
    body = lambda b, x, n: [b.ufunc(np.power, x, b.cast(n, float))]
    check(program(body, FLOAT64, INT64), 1.7, 3, order=2)


def test_clip():
    def body(b, x, low, high):
        return [contracted(b, b.ufunc(umath.clip, x, low, high), W)]

    check(program(body, MATRIX, FLOAT64, FLOAT64), A, -0.5, 0.5)


def test_nothing_comes_from_what_is_not_chosen():
    """sqrt has an infinite slope, and log an infinite value, where they are not chosen."""

    def body(b, x):
        zero = b.constant(0.0, float)
        positive = b.ufunc(np.greater, x, zero)
        y = b.where(positive, b.ufunc(np.sqrt, x), zero)
        z = b.where(positive, b.ufunc(np.divide, b.ufunc(np.log, x), x), zero)
        return [total(b, b.ufunc(np.add, y, z))]

    f = program(body, vector(3))
    for target in ("native", "xla"):
        x = np.array([0.0, 1.0, 4.0])
        _, dx = evaluate(gradient(f, [True], target), [x])
        assert dx[0] == 0
        np.testing.assert_allclose(dx[1:], 0.5 / np.sqrt(x[1:]) + (1 - np.log(x[1:])) / x[1:] ** 2)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min])
def test_reductions(function, axes):
    of_matrix(lambda b, x: b.reduce(function, x, axes))


def test_a_product_with_zeros():
    x = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    kind = ArrayType(np.dtype(float), (2, 3))
    check(program(lambda b, x: [contracted(b, b.reduce(np.prod, x, (1,)), None)], kind), x, order=2)
    for function in (np.cumprod,):
        body = lambda b, x: [contracted(b, b.call(function, [x], [kind], axis=1)[0], None)]
        check(program(body, kind), x, order=2)


def test_equal_maxima_share_equally():
    f = program(lambda b, x: [b.reduce(np.max, x, (0,))], vector(3))
    assert evaluate(gradient(f, [True]), [np.array([2.0, 1.0, 2.0])])[1].tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod, np.sort, np.maximum.accumulate, np.minimum.accumulate])
@pytest.mark.parametrize("axis", [0, 1])
def test_along_an_axis(function, axis):
    of_matrix(lambda b, x: b.call(function, [x], [x.type], axis=axis)[0])


def test_equal_running_maxima_share_equally():
    def body(b, x):
        return [contracted(b, b.call(np.maximum.accumulate, [x], [x.type], axis=0)[0], np.ones(5))]

    _, dx = evaluate(gradient(program(body, vector(5)), [True]), [np.array([1.0, 3.0, 2.0, 3.0, 1.0])])
    assert dx.tolist() == [1, 3, 0, 1, 0]


def test_shapes():
    of_matrix(lambda b, x: b.transpose(x, (1, 0)))
    of_matrix(lambda b, x: b.reshape(x, (2, 6)))
    of_matrix(lambda b, x: b.broadcast_to(b.reshape(x, (3, 1, 4)), (2, 3, 5, 4)))
    of_matrix(lambda b, x: b.full((2, 3), b.reduce(np.sum, x, (0, 1))))
    of_matrix(lambda b, x: b.concatenate([x, b.ufunc(np.sin, x), x], 0, 9))
    of_matrix(lambda b, x: b.cast(b.cast(x, np.float32), float), order=1, rtol=1e-2)


def test_where_broadcasts():
    def body(b, x, y):
        return [contracted(b, b.where(b.ufunc(np.less, x, y), b.ufunc(np.sin, x), y), W)]

    check(program(body, MATRIX, vector(4)), A, A[0] * 0.5, order=2)


INDICES = [
    (("i", ":"), [2], []),
    (("i", "i"), [2, 1], []),
    ((("s", 1), ("s", 2)), [1, 0], [2, 2]),
    ((("s", -1), ":"), [2], [3]),
    (("a", ":"), [np.array([2, 0, 2, 1])], []),
    ((("s", 1), "a"), [0, np.array([[1, 1], [3, 0]])], [2]),
    (("a", "a"), [np.array([[2], [0]]), np.array([1, 1, 3])], []),
    (("i", "a"), [1, np.array([0, 0, 2])], []),
]


@pytest.mark.parametrize("spec, index, lengths", INDICES)
def test_parts(spec, index, lengths):
    """Reads, writes and additions; places that are written twice keep what was written last."""

    def part(b, x):
        return b.getitem(x, [b.constant(i, np.int64) for i in index], spec, lengths)

    of_matrix(part)
    kind = program(lambda b, x: [part(b, x)], MATRIX).block.results[0].type
    v = np.random.default_rng(5).normal(size=kind.shape)
    for write in ("setitem", "add_at"):

        def body(b, x, v):
            y = getattr(b, write)(x, [b.constant(i, np.int64) for i in index], v, spec)
            return [contracted(b, b.ufunc(np.multiply, y, b.ufunc(np.sin, y)), W)]

        check(program(body, MATRIX, kind), A, v, order=2)


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((2, 3), (3, 4)), ((2, 2, 3), (2, 3, 2))])
def test_products(shapes):
    rng = np.random.default_rng(6)
    args = [rng.normal(size=s) for s in shapes]

    def body(b, x, y):
        z = b.matmul(x, y)
        return [contracted(b, b.ufunc(np.add, z, b.ufunc(np.multiply, z, z)), None)]

    check(program(body, *(ArrayType(np.dtype(float), s) for s in shapes)), *args, order=2)


def real_of(b, z):
    return b.cast(z, float)


@pytest.mark.parametrize("function", [np.exp, np.sin, np.sqrt, np.conjugate, np.square, np.reciprocal, np.log, np.tanh])
def test_holomorphic_functions(function):
    def body(b, z, x):
        w = b.ufunc(np.multiply, b.ufunc(function, z), b.ufunc(np.add, b.cast(x, complex), b.constant(0.3 + 0.2j)))
        return [real_of(b, b.ufunc(np.multiply, w, b.constant(1.3 - 0.7j)))]

    check(program(body, COMPLEX, FLOAT64), 0.4 + 0.9j, 0.7, order=2)


def test_the_size_of_a_complex_number():
    def body(b, z):
        return [b.ufunc(np.add, b.ufunc(np.absolute, z), b.call(np.imag, [b.ufunc(np.multiply, z, z)], [FLOAT64])[0])]

    check(program(body, COMPLEX), 0.4 + 0.9j, order=2)


def test_complex_products_of_matrices():
    kind = ArrayType(np.dtype(complex), (2, 2))
    rng = np.random.default_rng(6)
    args = [rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)) for _ in range(2)]

    def body(b, x, y):
        return [contracted(b, real_of(b, b.matmul(x, y)), None)]

    check(program(body, kind, kind), *args)


def test_lengths_known_at_run_time():
    def body(b, x, n):
        dim = typed.Dim(n, 5)
        zero = b.constant(0, np.int64)
        head = b.getitem(x, [zero], (("s", 1),), [dim])
        s = b.reduce(np.sum, b.ufunc(np.sin, head), (0,))
        p = b.reduce(np.prod, b.ufunc(np.multiply, head, head), (0,))
        c = b.call(np.cumsum, [head], [head.type], axis=0)[0]
        y = b.setitem(x, [zero], b.ufunc(np.multiply, c, s), (("s", 1),))
        return [b.ufunc(np.add, p, total(b, b.ufunc(np.multiply, y, y)))]

    f = program(body, vector(5), INT64)
    for n in (0, 1, 3, 5):
        check(f, A.ravel()[:5], n, order=1)
    check(f, A.ravel()[:5], 3, order=2)


def test_single_precision_stays():
    kind = ArrayType(np.dtype(np.float32), (3,))
    f = program(lambda b, x: [b.reduce(np.sum, b.ufunc(np.exp, b.ufunc(np.multiply, x, b.constant(2.0))), (0,))], kind)
    assert {p.type.dtype for p in gradient(f, [True]).block.results} == {np.dtype(np.float32)}


@pytest.mark.parametrize("n", [-0.5, -1.0, -1.5, -2.0])
def test_the_slope_of_a_negative_power_is_that_of_its_formula_where_it_is_extreme(n):
    def body(b, x):
        return [total(b, b.ufunc(np.power, x, b.constant(n)))]

    x = np.array([0.0, -0.0, 1e-120, 1e120, 2.0, -2.0, np.inf])
    with np.errstate(all="ignore"):
        expected = n * x ** (n - 1)
        (_, found) = evaluate(gradient(program(body, vector(7)), [True]), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-13)
